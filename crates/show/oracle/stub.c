// Stands for every program: writes down its own argv and the variables somebody put before it, then ends with the code
// in /log/rc. Without arguments `cat` hands its input on, because text blocks are read through it.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

extern char **environ;
static const char *ours[] = {"_=", "PWD=", "OLDPWD=", "SHLVL=", "PATH=/stubs", "HOME=/people/u", "LC_ALL=", "LOGNAME=", 0};
static char record[1 << 17];
static size_t length;

static void put(const char *text) {
  while (*text && length < sizeof record - 8) record[length++] = *text++;
  record[length++] = 0;
}

static int is_ours(const char *variable) {
  for (int i = 0; ours[i]; i++)
    if (!strncmp(variable, ours[i], strlen(ours[i]))) return 1;
  return 0;
}

int main(int count, char **words) {
  const char *name = strrchr(words[0], '/');
  name = name ? name + 1 : words[0];
  for (int i = 0; i < count; i++) put(i ? words[i] : name);
  record[length++] = 0x1d;
  for (char **variable = environ; *variable; variable++)
    if (!is_ours(*variable)) put(*variable);
  record[length++] = 0x1e;
  int log = open("/log/exec", O_WRONLY | O_APPEND | O_CREAT, 0666);
  if (log >= 0) {
    if (write(log, record, length) < 0) _exit(9);
    close(log);
  }
  if (count == 1 && !strcmp(name, "cat")) {
    ssize_t got;
    while ((got = read(0, record, sizeof record)) > 0)
      if (write(1, record, (size_t)got) < 0) break;
  }
  char code[1] = {'0'};
  int codes = open("/log/rc", O_RDONLY);
  if (codes >= 0 && read(codes, code, 1) != 1) code[0] = '0';
  _exit(code[0] - '0');
}

#!/usr/bin/env python3
"""Asks a shell itself what it does with a line.

Each line runs in a private root, in namespaces of its own, where every program is a stub that writes down its argv;
twice, with stubs that all succeed and that all fail. Standard input: first a JSON list of the programs there are, then
one JSON string a line. For each line one JSON object comes out:

  ran     argv of every program that the shell started, by name
  traced  argv of every command, builtins included, after expansion (bash only)
  wrote   files that were made, changed or removed
  env     variables that were put before a program
  syntax  whether the shell refused the line

usage: oracle.py bash|dash|zsh STUB       needs root, unshare and a C compiler's `stub`
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from sandbox import NOBODY, empty, end_all, entries, enter_namespaces, give_up_everything

SHELL = sys.argv[1]
STUB = os.path.abspath(sys.argv[2])
ROOT = os.environ.setdefault("ORACLE_ROOT", tempfile.mkdtemp(prefix="oracle-"))
WATCHED = ("project", "people", "etc", "tmp")
FILES = {
    "project/f": "a\n",
    "project/a": "a\n",
    "project/x": "rm x\n",
    "project/README.md": "r\n",
    "project/Cargo.toml": "[package]\n",
    "project/src/main.rs": "fn main() {}\n",
    "project/src/lib.rs": "//\n",
    "project/web/index.js": "1\n",
    "project/crates/core/a.rs": "//\n",
    "project/-R": "an option?\n",
    "people/u/.bashrc": "# rc\n",
    "etc/passwd": "u:x:0:0::/people/u:/bin/bash\n",
    "etc/trace": "exec 19>>/log/trace; BASH_XTRACEFD=19; PS4=$'\\1\\2 '; unset BASH_ENV; set -x\n",
}


def run(*words):
    subprocess.run(words, check=True)


def build(programs):
    run("mount", "--make-rprivate", "/")
    os.makedirs(ROOT, exist_ok=True)
    run("mount", "-t", "tmpfs", "tmpfs", ROOT)
    for folder in ("bin", "lib", "lib64", "stubs", "log", "dev", *WATCHED):
        os.makedirs(f"{ROOT}/{folder}", exist_ok=True)
    shell = shutil.which(SHELL)
    needed = subprocess.run(["ldd", shell], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+\.so\S*)", needed):
        os.makedirs(os.path.dirname(ROOT + library), exist_ok=True)
        shutil.copy(library, ROOT + library)
    shutil.copy(shell, f"{ROOT}/bin/shell")
    if os.path.isdir("/usr/lib/locale/C.utf8"):
        shutil.copytree("/usr/lib/locale/C.utf8", f"{ROOT}/usr/lib/locale/C.utf8")
    for name, minor in (("null", 3), ("zero", 5)):
        run("mknod", "-m", "666", f"{ROOT}/dev/{name}", "c", "1", str(minor))
    shutil.copy(STUB, f"{ROOT}/stubs/.stub")
    for name in programs:
        os.link(f"{ROOT}/stubs/.stub", f"{ROOT}/stubs/{name}")
    lay_out()


def lay_out():
    for folder in WATCHED:
        empty(f"{ROOT}/{folder}")
    for path, text in FILES.items():
        path = f"{ROOT}/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
    for folder in (*WATCHED, "log"):
        for base, _, files in os.walk(f"{ROOT}/{folder}"):
            for path in [base, *(os.path.join(base, file) for file in files)]:
                os.lchown(path, NOBODY, NOBODY)


def snapshot():
    return {
        path: "folder" if is_folder else (state.st_size, state.st_mtime_ns, state.st_ino)
        for path, state, is_folder in entries(ROOT, WATCHED)
    }


def unescape(text):
    named = {"n": b"\n", "t": b"\t", "r": b"\r", "a": b"\a", "b": b"\b", "e": b"\x1b", "E": b"\x1b", "f": b"\f", "v": b"\v"}
    out = bytearray()
    for match in re.finditer(r"\\([0-7]{1,3}|.)|([^\\]+)", text, re.S):
        if match[2] is not None:
            out += match[2].encode("utf-8", "surrogateescape")
        elif match[1][0] in "01234567":
            out.append(int(match[1], 8) & 255)
        else:
            out += named.get(match[1], match[1].encode())
    return out.decode("utf-8", "surrogateescape")


def traced(raw):
    """bash's trace has words as bash would read them: '...', $'...' or bare."""
    commands = []
    for record in re.split("\x01+\x02 ", raw)[1:]:
        words, word, at, record = [], None, 0, record.rstrip("\n")
        while at < len(record):
            char = record[at]
            if char in " \n":
                if word is not None:
                    words.append(word)
                    word = None
                at += 1
            elif record.startswith("$'", at):
                end, inside = at + 2, ""
                while end < len(record) and record[end] != "'":
                    step = 2 if record[end] == "\\" else 1
                    inside += record[end:end + step]
                    end += step
                word = (word or "") + unescape(inside)
                at = end + 1
            elif char == "'":
                end = record.find("'", at + 1)
                end = len(record) if end < 0 else end
                word = (word or "") + record[at + 1:end]
                at = end + 1
            elif char == "\\" and at + 1 < len(record):
                word = (word or "") + record[at + 1]
                at += 2
            else:
                word = (word or "") + char
                at += 1
        if word is not None:
            words.append(word)
        commands.append(words)
    return commands


def once(line, code):
    for log in ("exec", "trace"):
        open(f"{ROOT}/log/{log}", "w").close()
        os.chown(f"{ROOT}/log/{log}", NOBODY, NOBODY)
    with open(f"{ROOT}/log/rc", "w") as file:
        file.write(str(code))
    before = snapshot()
    environment = {"PATH": "/stubs", "HOME": "/people/u", "LC_ALL": "C.UTF-8"}
    if SHELL == "bash":
        environment["BASH_ENV"] = "/etc/trace"
    options = [b"-f"] if SHELL == "zsh" else []
    words = [b"/bin/shell", *options, b"-c", line.encode("utf-8", "surrogateescape")]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    try:
        shell = subprocess.Popen(words, env=environment, preexec_fn=lambda: give_up_everything(ROOT, 100, 5), **pipes)
    except ValueError:
        return {"ran": [], "env": [], "traced": [], "wrote": [], "syntax": True}
    try:
        errors = shell.communicate(timeout=4)[1].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        errors = ""
    end_all(shell)
    shell.stderr.close()
    ran, env = [], []
    with open(f"{ROOT}/log/exec", "rb") as file:
        for record in file.read().decode("utf-8", "surrogateescape").split("\x1e"):
            if record:
                words, variables = record.split("\x1d", 1)
                ran.append(words.split("\0")[:-1])
                env += variables.split("\0")[:-1]
    with open(f"{ROOT}/log/trace", "rb") as file:
        commands = traced(file.read().decode("utf-8", "surrogateescape"))
    after = snapshot()
    wrote = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    if wrote:
        lay_out()
    syntax = bool(re.search(r"[Ss]yntax error|parse error|unexpected EOF|unexpected end of file|unmatched", errors))
    return {"ran": ran, "env": env, "traced": commands, "wrote": wrote, "syntax": syntax}


def both(line):
    facts = once(line, 0)
    for key, values in once(line, 1).items():
        if key == "syntax":
            facts[key] = facts[key] or values
        else:
            facts[key] += [value for value in values if value not in facts[key]]
    return facts


if __name__ == "__main__":
    enter_namespaces()
    build(json.loads(sys.stdin.readline()))
    for text in sys.stdin:
        print(json.dumps(both(json.loads(text))), flush=True)

// Places where next to nothing is: the source tree is an empty folder there, and the PATH has only what is named. Needs root.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";

export const SOURCE = resolve(import.meta.dirname, "../..");

/** Where a command of this machine really lies: not the wrapper that chooses a version. */
function found(command) {
  const ask = {
    python3: ["python3", ["-c", "import sys; print(sys.executable)"]],
    cargo: ["sh", ["-c", "echo $(rustc --print sysroot)/bin/cargo"]],
    rustc: ["sh", ["-c", "echo $(rustc --print sysroot)/bin/rustc"]],
  }[command] ?? ["sh", ["-c", `command -v ${command}`]];
  return realpathSync(execFileSync(...ask, { encoding: "utf8" }).trim());
}

/** A folder of this machine, in which nothing but `commands` can be found. */
export class Folder {
  constructor(path, commands, env = {}) {
    this.path = path;
    const bin = join(path, "bin");
    mkdirSync(bin, { recursive: true });
    for (const command of commands) symlinkSync(found(command), join(bin, command));
    this.env = { PATH: bin, HOME: path, TMPDIR: path, LANG: "C.UTF-8", ...env };
    /** Folders of the source tree that are seen elsewhere. */
    this.shown = {};
  }

  command([program, ...args]) {
    const shown = Object.entries(this.shown).map(([from, to]) => `/bin/mount --bind '${from}' '${to}' && `);
    const script = `${shown.join("")}/bin/mount -t tmpfs none '${SOURCE}' && cd '${this.path}' && exec "$@"`;
    return ["/usr/bin/unshare", ["--mount", "/bin/sh", "-c", script, "sh", program, ...args]];
  }
}

/** A whole system below a folder. */
export class Root {
  constructor(path) {
    this.path = path;
    this.env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C.UTF-8" };
  }

  command(words, account = "root") {
    const script = `/bin/mount -t proc proc '${this.path}/proc' && exec /usr/sbin/chroot "$@"`;
    const into = [`--userspec=${account}`, this.path, ...words];
    return ["/usr/bin/unshare", ["--mount", "/bin/sh", "-c", script, "sh", ...into]];
  }
}

/** Runs a command there to its end. */
export function runs(place, words, account) {
  const [program, args] = place.command(words, account);
  try {
    return execFileSync(program, args, { env: place.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw new Error(`${words.join(" ")}: ${error.status}\n${error.stdout}${error.stderr}`);
  }
}

/** Starts a command there, as the leader of a process group. */
export function starts(place, words, account) {
  const [program, args] = place.command(words, account);
  return spawn(program, args, { env: place.env, stdio: ["ignore", "pipe", "inherit"], detached: true });
}

/** This machine's Debian once more, with nothing installed that can be left out. */
export function bareDebian(path) {
  const [, codename] = readFileSync("/etc/os-release", "utf8").match(/^VERSION_CODENAME=(.+)$/m);
  const targets = execFileSync("apt-get", [
    "indextargets",
    "--format",
    "$(CODENAME) $(REPO_URI)",
    "Created-By: Packages",
  ]);
  const mirror = targets
    .toString()
    .split("\n")
    .find((line) => line.startsWith(`${codename} `))
    .split(" ")[1];
  execFileSync("debootstrap", ["--variant=minbase", codename, path, mirror], { stdio: "ignore" });
  return new Root(path);
}

const BOOT = `
mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc && mount -t tmpfs none run && mount -t tmpfs none tmp &&
mount -t sysfs -o ro none sys && mount -t cgroup2 none sys/fs/cgroup && mkdir -p old && pivot_root . old && umount -l old &&
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=multi-user.target`;

/** The system as it starts: its systemd is the first of its processes, and services run. The network is this machine's. */
export class Booted {
  constructor(root) {
    this.root = root;
    this.child = spawn(
      "unshare",
      ["--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--uts", "--ipc", "sh", "-c", BOOT, "sh", root.path],
      { stdio: "ignore" },
    );
    this.gone = new Promise((done) => this.child.once("exit", done));
    this.env = root.env;
  }

  command(words, account = "root") {
    const [init] = readFileSync(`/proc/${this.child.pid}/task/${this.child.pid}/children`, "utf8").split(" ");
    const spaces = ["--mount", "--pid", "--cgroup", "--uts", "--ipc"];
    return ["/usr/bin/nsenter", ["--target", init, ...spaces, "runuser", "-u", account, "--", ...words]];
  }

  async end() {
    this.child.kill("SIGKILL");
    await this.gone;
  }
}

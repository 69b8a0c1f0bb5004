#!/usr/bin/env python3
"""Runs allowed lines with the real programs, and tells what they did.

Each line runs in a private root, in namespaces of its own and without a network, in a folder with a small repository, links
that lead out of it, and planted programs that write down that they ran. Standard input: one JSON string a line. For each
one JSON object comes out:

  ended    the status of the line; null if it had to be ended
  made     files and folders of the folder that were not there before
  changed  others that were changed or removed
  outside  all that was made, changed or removed elsewhere
  read     files and folders elsewhere that were read
  ran      what was planted and ran: `repository` by git's configuration, `word` by its name

usage: effects.py       needs root and unshare; PATH says where the programs are
"""

import json
import os
import stat
import subprocess
import sys

import probe
from probe import ENVIRONMENT, ROOT, run
from sandbox import NOBODY, empty, end_all, entries, enter_namespaces, give_up_everything

WATCHED = ("project", "outside", "people", "tmp", "marks")
DECOYS = ("outside", "outside/secret", "outside/a.rs", "people/u/private", "people/u/private/key")
FILES = {
    "a.txt": "b a 1\na b 2\n",
    "b.txt": "a c\n",
    "a.csv": "a,b\n1,2\n",
    "a.json": '{"a": [1, 2]}\n',
    "src/lib.rs": "pub   fn a() {}\n",
    "src/a.ts": "export const a: number   = 1\n",
    "src/a.js": "module.exports = {  a: 1 }\n",
    "src/a.py": "import sys, os\nx   = 1\n",
    "tests/test_a.py": "def test_a():\n    assert   True\n",
    "tests/a.test.js": "test('a', () => {})\n",
    "a.diff": "--- a.txt\n+++ a.txt\n",
    "evil": "#!/bin/sh\necho word >> /marks/ran\n",
    "fsmonitor": "#!/bin/sh\necho repository >> /marks/ran\n",
    ".gitattributes": "*.csv diff=a\n",
    "Makefile": "build test:\n\t@true\n",
    "justfile": "build:\n\t@true\ntest:\n\t@true\n",
    "Cargo.toml": probe.FILES["Cargo.toml"],
    "Cargo.lock": probe.FILES["Cargo.lock"],
    "package.json": '{"name":"p","version":"1.0.0","scripts":{"test":"true","build":"true","start":"true"}}\n',
    "tsconfig.json": '{"compilerOptions": {"noEmit": true}}\n',
    "eslint.config.js": "module.exports = []\n",
}
LINKS = {"out": "/outside", "src/link": "/outside/secret", "key": "/people/u/private/key", "inner": "src"}
CONFIG = ("core.fsmonitor /project/fsmonitor", "core.hooksPath /project/hooks", "diff.a.textconv /project/fsmonitor",
          "core.pager /project/fsmonitor", "alias.x !/project/evil", "user.name u", "user.email u@example.com")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o777 if text.startswith("#!") else 0o666)


def build():
    probe.build()
    # A read must show, and those of one line must not hide those of the next.
    run("mount", "-o", "remount,strictatime", ROOT)
    for folder in WATCHED:
        os.makedirs(f"{ROOT}/template/{folder}", exist_ok=True)
        os.makedirs(f"{ROOT}/{folder}", exist_ok=True)
    os.chmod(f"{ROOT}/template", 0o700)
    project = f"{ROOT}/template/project"
    for path, text in FILES.items():
        write(f"{project}/{path}", text)
    for path, target in LINKS.items():
        os.symlink(target, f"{project}/{path}")
    git = ("git", "-c", "user.name=u", "-c", "user.email=u@example.com", "-c", "init.defaultBranch=main")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a"], ["tag", "v1"], ["branch", "b"]):
        run(*git, *words, cwd=project)
    write(f"{project}/a.txt", "a\nb a 1\n")
    run(*git, "stash", cwd=project)
    write(f"{project}/b.txt", "changed\n")
    for setting in CONFIG:
        run("git", "config", *setting.split(" ", 1), cwd=project)
    run("tar", "-cf", "a.tar", "a.txt", cwd=project)
    bins = [folder for folder in os.environ["PATH"].split(":") if "/node_modules/" in folder]
    for name in ("tsc", "eslint", "prettier", "vitest", "jest"):
        for folder in bins:
            os.makedirs(f"{project}/node_modules/.bin", exist_ok=True)
            os.symlink(f"{folder}/{name}", f"{project}/node_modules/.bin/{name}")
    run("chown", "-hR", f"{NOBODY}:{NOBODY}", f"{ROOT}/template")
    # They belong to root, so that reading one leaves a trace in its time of access.
    for path in DECOYS:
        if os.path.splitext(path)[1] or path.endswith(("secret", "key")):
            write(f"{ROOT}/template/{path}", "the secret a\n")
    for base in ("outside", "people/u/private"):
        os.chmod(f"{ROOT}/template/{base}", 0o777)
    write(f"{ROOT}/template/people/u/.bashrc", "# rc\n")
    for folder in ("people/u", "marks", "tmp"):
        os.chown(f"{ROOT}/template/{folder}", NOBODY, NOBODY)


def lay_out():
    for folder in WATCHED:
        empty(f"{ROOT}/{folder}")
    run("cp", "-a", *(f"{ROOT}/template/{folder}" for folder in WATCHED), ROOT)
    return snapshot()


def snapshot():
    return {
        path: (state.st_mode,)
        if is_folder and not stat.S_ISLNK(state.st_mode)
        else (state.st_mode, state.st_size, state.st_mtime_ns, state.st_ino)
        for path, state, is_folder in entries(ROOT, WATCHED)
    }


def effects(line, before):
    for decoy in DECOYS:
        os.utime(f"{ROOT}/{decoy}", ns=(0, os.stat(f"{ROOT}/{decoy}").st_mtime_ns))
    quiet = {name: subprocess.DEVNULL for name in ("stdin", "stdout", "stderr")}
    shell = subprocess.Popen(
        ["/bin/sh", "-c", line], env=VARIABLES, preexec_fn=lambda: give_up_everything(ROOT, 400, 20), **quiet
    )
    try:
        ended = shell.wait(timeout=20)
    except subprocess.TimeoutExpired:
        ended = None
    end_all(shell)
    read = [f"/{decoy}" for decoy in DECOYS if os.path.exists(f"{ROOT}/{decoy}") and os.stat(f"{ROOT}/{decoy}").st_atime > 0]
    after = snapshot()
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    ran = []
    if os.path.exists(f"{ROOT}/marks/ran"):
        with open(f"{ROOT}/marks/ran") as file:
            ran = sorted(set(file.read().split()))
    inside = [path for path in changed if path.startswith("/project/")]
    made = [path for path in inside if path not in before]
    outside = [path for path in changed if not path.startswith(("/project/", "/marks/"))]
    known = [path for path in inside if path in before]
    seen = {"ended": ended, "made": made, "changed": known, "outside": outside, "read": read, "ran": ran}
    return seen, lay_out() if changed else before


# The repository's own pager and editor are planted.
VARIABLES = {name: value for name, value in ENVIRONMENT.items() if name not in ("GIT_PAGER", "GIT_EDITOR")}

if __name__ == "__main__":
    enter_namespaces()
    build()
    state = lay_out()
    for text in sys.stdin:
        told, state = effects(json.loads(text), state)
        print(json.dumps(told), flush=True)

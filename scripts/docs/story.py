"""Plays the command blocks of one page, in their order, on a machine of its own: see `inside` for what it has."""

from __future__ import annotations

import os
import selectors
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pages import ROOT, Block

# How long one block may take.
PATIENCE = 60
HERE = Path(__file__).parent


@dataclass
class Played:
    block: Block
    failure: str | None
    seconds: float


def play(blocks: list[Block], holdstead: Path, claude: Path) -> list[Played]:
    """What came of each command block that is to be run. After one that fails, the rest of the page has no ground."""
    wanted = [block for block in blocks if block.is_command and not block.not_run]
    if not wanted:
        return []
    folder = Path(tempfile.mkdtemp(prefix="holdstead-docs-"))
    try:
        prepare(folder, blocks, holdstead, claude)
        return follow(folder, wanted, holdstead)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prepare(folder: Path, blocks: list[Block], holdstead: Path, claude: Path) -> None:
    for name in ("home/.cargo/bin", "home/.local/bin", "home/.claude", "home/project", "tmp"):
        (folder / name).mkdir(parents=True)
    # Links and permissions as they are: `useradd` writes there.
    subprocess.run(["cp", "-a", "/etc", folder / "etc"], check=True)
    (folder / "home/.cargo/bin/holdstead").symlink_to(holdstead)
    (folder / "home/.local/bin/claude").symlink_to(claude)
    (folder / "home/.claude.json").write_text(
        '{"hasCompletedOnboarding": true, "theme": "dark", "hasSeenAutoDefaultNudge": true,'
        ' "hasResetAutoModeOptInForDefaultOffer": true,'
        ' "customApiKeyResponses": {"approved": ["sk-fake"], "rejected": []},'
        ' "projects": {"/tmp/home/project": {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}'
    )
    # The page's agents may be root here. A gateway that a page starts as another account is not root, and must not say so.
    runuser = folder / "home/.local/bin/runuser"
    runuser.write_text('#!/bin/sh\nunset HOLDSTEAD_AGENTS_USER\nexec /usr/sbin/runuser "$@"\n')
    runuser.chmod(0o755)
    (folder / "home/.claude/settings.json").write_text('{"permissions": {"defaultMode": "default"}}')
    # What a gateway refuses has failed.
    (folder / "home/.curlrc").write_text("fail\n")
    (folder / "page.sh").write_text(script(blocks, holdstead))


def script(blocks: list[Block], holdstead: Path) -> str:
    """One shell plays the whole page, so that what a block sets is there for the next one."""
    parts = [
        "set -eo pipefail",
        f"source {HERE / 'prelude.sh'}",
        f"coproc MODEL {{ exec {holdstead.parent / 'holdstead-scripted-model'}; }} 2>/dev/null",
        "read -r ANTHROPIC_BASE_URL <&${MODEL[0]}",
        "export ANTHROPIC_BASE_URL",
    ]
    number = 0
    for block in blocks:
        if block.not_run:
            continue
        if block.file:
            parts.append(f"mkdir -p {shlex.quote(os.path.dirname(block.file) or '.')}")
            parts.append(f"cat >{shlex.quote(block.file)} <<'END_OF_THE_FILE'\n{block.text}\nEND_OF_THE_FILE")
        elif not block.is_command:
            continue
        else:
            parts.append(f"echo '@@begin {number}'")
            parts.extend(block.first)
            if block.terminal is None:
                parts.append(block.commands)
            else:
                steps, command = "\n".join(block.terminal), block.commands
                program = f"{sys.executable} {HERE / 'terminal.py'}"
                parts.append(f"{program} {shlex.quote(steps)} {shlex.quote(command)} </dev/null")
            # What a block prints may lack its last line's end.
            parts.append(f"printf '\\n@@end {number}\\n'")
            number += 1
    return "\n".join(parts) + "\n"


def inside(folder: Path, holdstead: Path) -> list[str]:
    """A machine of its own, as far as a page sees: no network but loopback, no process but its own, a home, `/etc`,
    `/tmp`, `/var` and `/usr/local/bin` that are thrown away, and everything else as it is, to be read only. All that runs
    there ends with it."""
    path = f"/tmp/home/.cargo/bin:/tmp/home/.local/bin:/usr/local/bin:{os.environ['PATH']}"
    variables = {
        "HOME": "/tmp/home", "PATH": path, "LANG": "C.UTF-8", "SHELL": "/bin/bash", "TERM": "xterm-256color",
        "REPOSITORY": str(ROOT), "ANTHROPIC_API_KEY": "sk-fake", "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "HOLDSTEAD_AGENTS_USER": "root" if os.geteuid() == 0 else "",
    }  # fmt: skip
    return [
        "bwrap", "--die-with-parent", "--unshare-net", "--unshare-pid", "--unshare-uts", "--hostname", "docs",
        # Pages that make an account or start PostgreSQL need what root may.
        "--cap-add", "ALL", "--clearenv", *(part for pair in variables.items() for part in ("--setenv", *pair)),
        "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/var/lib",
        "--tmpfs", "/var/backups",
        "--tmpfs", "/usr/local/bin", "--bind", str(folder / "etc"), "/etc", "--bind", str(folder / "tmp"), "/tmp",
        "--ro-bind", str(ROOT), str(ROOT), "--ro-bind", str(holdstead.parent), str(holdstead.parent),
        "--bind", str(folder / "home"), "/tmp/home", "--ro-bind", str(folder / "page.sh"), "/tmp/page.sh",
        "--chdir", "/tmp/home/project", "bash", "/tmp/page.sh",
    ]  # fmt: skip


def follow(folder: Path, wanted: list[Block], holdstead: Path) -> list[Played]:
    process = subprocess.Popen(
        inside(folder, holdstead), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout
    played: list[Played] = []
    said, begun, failure = "", time.monotonic(), None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        pending = b""
        while True:
            if not selector.select(timeout=max(0.0, begun + PATIENCE - time.monotonic())):
                failure = f"took longer than {PATIENCE} s"
                break
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                break
            *lines, pending = (pending + data).split(b"\n")
            for line in (line.decode(errors="replace") for line in lines):
                if line.startswith("@@begin"):
                    said, begun = "", time.monotonic()
                elif line.startswith("@@end"):
                    played.append(Played(wanted[len(played)], None, time.monotonic() - begun))
                    # What the page put into the background may hold its output open after the last block.
                    if len(played) == len(wanted):
                        break
                else:
                    said += line + "\n"
            if len(played) == len(wanted):
                break
    process.kill()
    process.wait()
    if len(played) < len(wanted):
        words = f"{failure or 'failed'}\n{(said + pending.decode(errors='replace'))[-3000:]}"
        played.append(Played(wanted[len(played)], words, time.monotonic() - begun))
        played += [Played(block, "not reached", 0.0) for block in wanted[len(played) :]]
    return played

"""Runs a command at a terminal of its own, and does there what a person would: `terminal.py STEPS COMMAND`."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

# How long a person would look for what should be there.
PATIENCE = 30
CTRL_C = b"\x03"
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>78cM])")


class Terminal:
    def __init__(self, command: str) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvp("bash", ["bash", "-c", command])
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.text = ""

    def read(self, seconds: float) -> bool:
        """Whether the program is still there."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        if b"\x1b[6n" in data:
            os.write(self.master, b"\x1b[1;1R")
        if b"\x1b[c" in data:
            os.write(self.master, b"\x1b[?62c")
        self.text += ESCAPES.sub(" ", data.decode(errors="replace"))
        return bool(data)

    def sees(self, words: str) -> None:
        wanted = "".join(words.split())
        end = time.monotonic() + PATIENCE
        there = True
        while wanted not in "".join(self.text.split()):
            if not there or time.monotonic() > end:
                sys.exit(f"never seen at the terminal: {words}\n--- what was there\n{self.text[-3000:]}")
            there = self.read(0.2)
        self.text = ""

    def types(self, words: str) -> None:
        # As a person does: what is typed ahead of a question answers nothing.
        time.sleep(1)
        if words == "^C":
            os.write(self.master, CTRL_C)
            return
        os.write(self.master, words.encode())
        time.sleep(0.2)
        os.write(self.master, b"\r")

    def ends(self) -> int:
        end = time.monotonic() + PATIENCE
        while self.read(0.2):
            if time.monotonic() > end:
                sys.exit(f"it did not end by itself\n--- what was there\n{self.text[-3000:]}")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main() -> None:
    steps, command = sys.argv[1].splitlines(), sys.argv[2]
    terminal = Terminal(command)
    for step in steps:
        verb, _, words = step.strip().partition(" ")
        if verb == "sees":
            terminal.sees(words)
        elif verb == "types":
            terminal.types(words)
        elif verb == "stays":
            # The page goes on; this process keeps the terminal open and reads what is written there.
            if os.fork():
                os._exit(0)
            while terminal.read(3600):
                pass
            os._exit(0)
        else:
            sys.exit(f"nobody can do this at a terminal: {step}")
    ended = terminal.ends()
    # Some programs end by Ctrl-C itself, and that is how they were meant to.
    interrupted = steps[-1].split() == ["types", "^C"] and ended in (-signal.SIGINT, 128 + signal.SIGINT)
    sys.exit(0 if interrupted else ended)


main()

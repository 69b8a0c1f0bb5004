"""The pages of the docs site and the README: their command blocks, and what comments beside these say to whoever runs them.

A block in the language `sh` is run as it stands; of one in `console`, the lines that begin with `$ `. Comments right
before a block:

    <!-- first: COMMANDS -->       run before it, and shown to nobody
    <!-- file: NAME -->            the block below is not a command: it is this file of the folder that the page plays in
    <!-- at a terminal             run where somebody sits
    sees WORDS                     waits until they are there
    types WORDS                    with Enter; `^C` is Ctrl-C
    stays                          it goes on while the rest of the page is played; else it has to end by itself
    -->
    <!-- not run: WHY -->          not run here, and counted
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {"sh", "console"}
COMMENT = re.compile(r"\s*<!-- (first|file|at a terminal|not run)(?::|\n)\s*(.*?)\s*-->", re.DOTALL)


@dataclass
class Block:
    page: str
    line: int
    language: str
    text: str
    first: list[str] = field(default_factory=list)
    file: str | None = None
    terminal: list[str] | None = None
    not_run: str | None = None

    @property
    def is_command(self) -> bool:
        return self.language in COMMANDS and self.file is None

    @property
    def commands(self) -> str:
        if self.language == "sh":
            return self.text
        lines = self.text.splitlines()
        return "\n".join(
            # What is shown to be refused has to be.
            ("! " if after.startswith("✕") else "") + line[2:]
            for line, after in zip(lines, [*lines[1:], ""])
            if line.startswith("$ ")
        )


def pages() -> list[str]:
    """The README, then the chapters in their order."""
    summary = (ROOT / "docs/SUMMARY.md").read_text()
    return ["README.md", *(f"docs/{link}" for link in re.findall(r"\]\(([^)]+\.md)\)", summary))]


def blocks(page: str) -> tuple[list[Block], list[str]]:
    """The fenced blocks, and what is wrong with how the page writes them."""
    lines = (ROOT / page).read_text().splitlines()
    found: list[Block] = []
    wrong: list[str] = []
    comments: list[tuple[str, str]] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.lstrip().startswith("<!--"):
            end = next(end for end in range(at, len(lines)) if "-->" in lines[end])
            if comment := COMMENT.match("\n".join(lines[at : end + 1])):
                comments.append((comment[1], comment[2]))
            at = end + 1
        elif fence := re.match(r"(\s*)```(\w*)", line):
            end = next(end for end in range(at + 1, len(lines)) if lines[end].strip() == "```")
            text = "\n".join(inner.removeprefix(fence[1]) for inner in lines[at + 1 : end])
            block = Block(page, at + 1, fence[2], text)
            if not block.language:
                wrong.append(f"{page}:{at + 1}: this block does not say what language it is in")
            said(block, comments)
            found.append(block)
            comments = []
            at = end + 1
        else:
            if line.startswith("    ") and (at == 0 or not lines[at - 1].strip()) and not in_list(lines, at):
                wrong.append(f"{page}:{at + 1}: an indented block: fence it, so that it says what it is")
            if line.strip():
                comments = []
            at += 1
    return found, wrong


def said(block: Block, comments: list[tuple[str, str]]) -> None:
    for what, words in comments:
        if what == "first":
            block.first.append(words)
        elif what == "file":
            block.file = words
        elif what == "at a terminal":
            block.terminal = words.splitlines()
        else:
            block.not_run = words


def in_list(lines: list[str], at: int) -> bool:
    """Whether an indented line goes on with an item of a list."""
    for line in reversed(lines[:at]):
        if re.match(r"\s*([-*]|\d+\.) ", line):
            return True
        if line.strip() and not line.startswith(" "):
            return False
    return False

"""What the docs say is true: every command block of the site and of the README runs, no link is dead, and the reference
has every error code and every event. `show.py [PAGE]…` plays these pages alone. Without `HOLDSTEAD_DOCS`, the folder of the
built site, it only runs the command blocks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import links
from pages import ROOT, Block, blocks, pages
from story import Played, play

# How many of all command blocks may be marked not to be run.
MOST_MARKED = 0.1


def main() -> None:
    begun = time.monotonic()
    if os.geteuid() != 0:
        sys.exit("show-docs needs root: each page is played on a machine of its own, made with bubblewrap")
    holdstead = Path(os.environ["HOLDSTEAD_BIN"]).resolve()
    claude = Path(subprocess.check_output([ROOT / "scripts/agents", "claude"], text=True).strip())
    site = os.environ.get("HOLDSTEAD_DOCS")
    chosen = sys.argv[1:] or pages()
    read = {page: blocks(page) for page in chosen}
    failures = [words for _, wrong in read.values() for words in wrong]

    print("Command blocks:")
    # Two at a time: most of what a page does is wait.
    with ThreadPoolExecutor(2) as pool:
        stories = list(pool.map(lambda page: play(read[page][0], holdstead, claude), chosen))
    marked: list[Block] = []
    for page, played in zip(chosen, stories):
        not_run = [block for block in read[page][0] if block.is_command and block.not_run]
        marked += not_run
        tell(page, played, not_run)
        failures += [f"{one.block.page}:{one.block.line}: {one.failure}" for one in played if one.failure]
    run = sum(len(played) for played in stories)
    failed = sum(1 for played in stories for one in played if one.failure)
    if not sys.argv[1:]:
        if len(marked) > MOST_MARKED * (run + len(marked)):
            failures.append(f"{len(marked)} of {run + len(marked)} command blocks are marked not to be run")
        if site:
            failures += look_at(Path(site))

    for failure in failures:
        print(f"✕ {failure}")
    print(f"took {time.monotonic() - begun:.0f} s")
    print(f"{run - failed} command blocks run, {len(marked)} marked not to, {failed} failed")
    sys.exit(bool(failures))


def tell(page: str, played: list[Played], not_run: list[Block]) -> None:
    if played:
        seconds = sum(one.seconds for one in played)
        sign = "✕" if any(one.failure for one in played) else "✓"
        print(f"{sign} {page}: {len(played)} in {seconds:.1f} s")
    for block in not_run:
        print(f"- {page}:{block.line} not run: {block.not_run}")


def look_at(site: Path) -> list[str]:
    """Links, error codes and events of the built site."""
    checked = links.check(site)
    print(f"\nLinks: {checked.inside} inside the site and the README, {len(checked.dead)} dead.")
    print(f"{len(checked.outside)} addresses elsewhere, not fetched:")
    for address, count in sorted(checked.outside.items()):
        print(f"  {address}" + (f" ({count} times)" if count > 1 else ""))
    failures = [f"dead link: {dead}" for dead in checked.dead]
    written = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    failures += [f"{page} is not in docs/SUMMARY.md" for page in sorted(written - {*pages(), "docs/SUMMARY.md"})]
    codes = named("code.rs", r"pub enum Code \{(.*?)\n\}", r"^    (\w+),$")
    events = named("event.rs", r"\nevents! \{(.*?)\n\}", r'= "(\w+)",$')
    for page, words, kind in (("errors", codes, "error code"), ("events", events, "event")):
        there = set(re.findall(r'<h3 id="([\w-]+)"', (site / f"reference/{page}.html").read_text()))
        missing = [word for word in words if word not in there]
        failures += [f"the {kind} {word} is not in the reference" for word in missing]
        print(f"{len(words) - len(missing)} of {len(words)} {kind}s are in the reference")
    return failures


def named(file: str, part: str, name: str) -> list[str]:
    """The names that the source itself gives, in the way they are sent."""
    source = (ROOT / "crates/protocol/src" / file).read_text()
    found = re.search(part, source, re.DOTALL)
    names = re.findall(name, found[1] if found else "", re.MULTILINE)
    if not names:
        sys.exit(f"no names found in {file}: it is written in another way than show-docs reads it")
    return [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in names]


main()

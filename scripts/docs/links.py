"""Every link and picture of the built site and of the README leads somewhere."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pages import ROOT


@dataclass
class Checked:
    inside: int = 0
    dead: list[str] = field(default_factory=list)
    outside: Counter[str] = field(default_factory=Counter)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value and (tag, name) != ("base", "href"):
                self.links.append(value)


def check(site: Path) -> Checked:
    checked = Checked()
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    for path, page in pages.items():
        # What a browser shows for an address that is not there has paths from the root of a server.
        if path.name in ("404.html", "toc.html"):
            continue
        for link in page.links:
            follow(checked, link, path, str(path.relative_to(site)), pages)
    readme = (ROOT / "README.md").read_text()
    for link in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", readme):
        follow(checked, link[0] or link[1], ROOT / "README.md", "README.md", {})
    return checked


def follow(checked: Checked, link: str, page: Path, name: str, pages: dict[Path, Page]) -> None:
    parts = urlsplit(link)
    if parts.scheme in ("http", "https"):
        checked.outside[link.partition("#")[0]] += 1
        return
    if parts.scheme or parts.netloc:
        checked.dead.append(f"{link} in {name}: neither of this site nor of another one")
        return
    checked.inside += 1
    target = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
    if not target.exists():
        checked.dead.append(f"{link} in {name}")
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        checked.dead.append(f"{link} in {name}: the page has no such place")

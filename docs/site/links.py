"""Check the built site: `python links.py FOLDER`. Each link leads to a file and a place in it; no page asks the network."""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

LOADED: Final = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src")}
"""Attributes whose address a browser loads with the page."""
NOT_LOADED: Final = ("canonical", "next", "prev", "alternate")
"""Values of <link rel> that only name an address."""


class Page(HTMLParser):
    """Addresses and places of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.addresses: list[tuple[str, bool]] = []  # address, whether a browser loads it with the page
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the addresses and places of a tag."""
        values = {name: value or "" for name, value in attrs}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        loaded = values.get("rel") not in NOT_LOADED
        self.addresses += [(values[n], loaded and (tag, n) in LOADED) for n in ("href", "src") if values.get(n)]


@cache
def read(path: Path) -> Page:
    """Return a page; each is read once."""
    return Page(path)


def fault(page: Path, address: str, *, loaded: bool) -> str | None:
    """Return what is wrong with an address on a page; None if it is right, or an address elsewhere that is only named."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return "asks the network" if loaded and parts.scheme != "data" else None
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.exists():
        return "does not exist"
    place = unquote(parts.fragment)
    # pages of results build their own places with a script ("#t=…")
    if place and "=" not in place and target.suffix == ".html" and place not in read(target).places:
        return "leads to no place of that page"
    return None


def faults(folder: Path) -> list[str]:
    """Return one line per wrong address of all pages below a folder, except the page for missing addresses of a server."""
    pages = [path.resolve() for path in sorted(folder.rglob("*.html")) if path.name != "404.html"]
    return [
        f"{page.relative_to(folder.resolve())}: {address}: {why}"
        for page in pages
        for address, loaded in read(page).addresses
        if (why := fault(page, address, loaded=loaded))
    ]


if __name__ == "__main__":
    sys.exit("\n".join(faults(Path(sys.argv[1]))) or 0)

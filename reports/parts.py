"""HTML that all pages share: sections and tables."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence


class Html(str):
    """Text that is HTML already; `html_table` escapes every other cell."""

    __slots__ = ()


def html_section(place: str, title: str, content: str, caption: str = "") -> str:
    """Return a section with the id `place`; `content` is HTML, title and caption are text."""
    below = f'<p class="caption">{html.escape(caption)}</p>' if caption else ""
    return f'<section id="{place}"><h2>{html.escape(title)}</h2>{below}{content}</section>'


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: Collection[int] = (), named: bool = True
) -> str:
    """Return a table, which scrolls where it is wider than the page.

    `head`: one title per column; empty for a table without titles. `texts`: the columns of text; all others contain
    numbers. `named`: whether the first cell of a row is its name.
    """
    titles = f"<thead><tr>{_cells(head, 'th', texts, named)}</tr></thead>" if head else ""
    body = "".join(f"<tr>{_cells(row, 'td', texts, named)}</tr>" for row in rows)
    return f'<div class="scroll"><table>{titles}<tbody>{body}</tbody></table></div>'


def _cells(row: Sequence[str], tag: str, texts: Collection[int], named: bool) -> str:
    found = ""
    for i, cell in enumerate(row):
        kind = "th" if named and i == 0 else tag
        number = "" if i in texts or (named and i == 0) else ' class="number"'
        found += f"<{kind}{number}>{cell if isinstance(cell, Html) else html.escape(cell)}</{kind}>"
    return found

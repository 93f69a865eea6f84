"""Parts of an answer: sentences, tiles, tables and sections. A page shows them as HTML, a terminal shows tables as lines.

A `Figure` is a part too. All text is escaped, unless it is `Html`.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure
from lsmlab.sim.results.comparison_text import aligned, in_columns

WIDTH: Final = 120
"""Columns of a terminal's line."""
_LONG: Final = 20
"""Rows of a table that stays in one piece on paper."""


class Part(Protocol):
    """Part of a page."""

    def html(self) -> str:
        """Return the HTML of the part."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()

    def html(self) -> Self:
        """Return the text itself."""
        return self


@dataclass(frozen=True)
class Story:
    """Box with one paragraph per sentence."""

    sentences: Sequence[str]

    def html(self) -> str:
        """Return the box as HTML."""
        return f'<div class="story">{joined(map(paragraph, self.sentences))}</div>'


@dataclass(frozen=True)
class Tile:
    """Number in large type, with its label above and a note below."""

    label: str
    value: str
    note: str
    id: str = ""
    """HTML id; empty: none."""

    def html(self) -> str:
        """Return the tile as HTML."""
        place = f' id="{self.id}"' if self.id else ""
        return (
            f'<div class="fact"{place}><span class="label">{escaped(self.label)}</span><b>{escaped(self.value)}</b>'
            f'<span class="note">{escaped(self.note)}</span></div>'
        )


@dataclass(frozen=True)
class Tiles:
    """Row of tiles."""

    tiles: Sequence[Tile]

    def html(self) -> str:
        """Return the row as HTML."""
        return f'<div class="headline">{joined(self.tiles)}</div>'


@dataclass(frozen=True)
class Table:
    """Table, which scrolls where it is wider than the page."""

    head: Sequence[str]
    """One title per column; empty for a table without titles."""
    rows: Sequence[Sequence[str]]
    texts: Collection[int] = ()
    """Columns of text; all others contain numbers."""
    named: bool = True
    """Whether the first cell of a row is its name."""
    style: str = ""
    """CSS class."""

    def html(self) -> str:
        """Return the table as HTML."""
        titles = f"<thead><tr>{self._cells(self.head, 'th')}</tr></thead>" if self.head else ""
        body = "".join(f"<tr>{self._cells(row, 'td')}</tr>" for row in self.rows)
        columns = max(map(len, (self.head, *self.rows)))
        kinds = [kind for kind in (self.style, "long" if len(self.rows) > _LONG else "") if kind]
        style = f' class="{" ".join(kinds)}"' if kinds else ""
        style += f' style="--columns:{columns}"'
        return f'<div class="scroll"><table{style}>{titles}<tbody>{body}</tbody></table></div>'

    def _cells(self, row: Sequence[str], tag: str) -> str:
        found = ""
        for i, cell in enumerate(row):
            name = self.named and i == 0
            style = "" if i in self.texts or name else ' class="number"'
            style = ' class="number best"' if isinstance(cell, Best) else style
            kind = "td" if tag == "th" and not cell else "th" if name else tag  # an empty title names nothing
            found += f"<{kind}{style}>{escaped(cell)}</{kind}>"
        return found

    def lines(self) -> list[str]:
        """Return the table as lines of text; a rule stands below the titles of a table whose rows have names."""
        rows = [*([self.head] if self.head else []), *self.rows]
        return aligned(rows) if self.named else in_columns(rows, self.texts)


class Best(str):
    """Cell of a table with a star: the best of its row or column."""

    __slots__ = ()


@dataclass(frozen=True)
class Section:
    """Card with a title."""

    place: str
    """HTML id."""
    title: str
    content: Sequence[Part]
    caption: str = ""

    def html(self) -> str:
        """Return the card as HTML."""
        below = f'<p class="caption">{escaped(self.caption)}</p>' if self.caption else ""
        return f'<section id="{self.place}"><h2>{escaped(self.title)}</h2>{below}{joined(self.content)}</section>'


def escaped(text: str) -> str:
    """Return a text as HTML, with µs for the terminal's us; `Html` stays as it is."""
    return text if isinstance(text, Html) else html.escape(numbers.on_page(text))


def joined(parts: Iterable[Part]) -> str:
    """Return the HTML of parts, one after the other."""
    return "".join(part.html() for part in parts)


def figures_in(parts: Iterable[Part]) -> list[Figure]:
    """Return the figures among parts and in their sections, in their order."""
    found: list[Figure] = []
    for part in parts:
        found += [part] if isinstance(part, Figure) else figures_in(part.content) if isinstance(part, Section) else []
    return found


def paragraph(text: str, style: str = "") -> Html:
    """Return a paragraph; `style`: its CSS class."""
    kind = f' class="{style}"' if style else ""
    return Html(f"<p{kind}>{escaped(text)}</p>")


def heading(text: str) -> Html:
    """Return a title within a section."""
    return Html(f"<h3>{escaped(text)}</h3>")


def bullets(items: Iterable[str]) -> Html:
    """Return a list of texts; nothing without texts."""
    lines = "".join(f"<li>{escaped(item)}</li>" for item in items)
    return Html(f"<ul>{lines}</ul>" if lines else "")


def folded(title: str, content: Part) -> Html:
    """Return a part behind a title that unfolds it."""
    return Html(f"<details><summary>{html.escape(title)}</summary>{content.html()}</details>")


def preformatted(text: str) -> Html:
    """Return a text with its own line breaks."""
    return Html(f"<pre>{html.escape(text)}</pre>")


def with_code(text: str) -> str:
    """Return a text as HTML, in which text between backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped(text))


def answer_box(
    name: str, question: str, headline: str, sentences: Iterable[str], more: str = "", before: str = ""
) -> str:
    """Return the HTML of one answer: a question, a headline in large type (empty: none), and sentences.

    `before` and `more`: HTML above the headline and below the sentences.
    """
    lines = "".join(f"<p>{with_code(sentence)}</p>" for sentence in sentences)
    big = f'<p class="big">{with_code(headline)}</p>' if headline else ""
    return f'<div class="answer" id="answer-{name}"><h2>{html.escape(question)}</h2>{before}{big}{lines}{more}</div>'


def answer_boxes(boxes: Iterable[str]) -> Html:
    """Return the section with the answers at the top of a page."""
    return Html(f'<section id="answers" aria-label="Answers"><div class="answers">{"".join(boxes)}</div></section>')


def wrapped(head: str, text: str) -> list[str]:
    """Return the lines of `head` and `text`; later lines are indented as far as the head, but at most by 18 columns."""
    indent = " " * min(len(head), 18)
    return textwrap.wrap(f"{head}{text}", WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)

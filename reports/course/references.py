"""Footnotes of lessons and links to the glossary.

A mark such as `[^stall-rules]` in a text names a note in the head of the lesson. Marks are numbered in the order of their
first use. On a page the first use of each term of the glossary in a lesson is a link to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.yaml_text import read_yaml

MARK: Final = re.compile(r"\[\^([a-z][\w-]*)\]")
"""Mark of a footnote; group 1 is the name of its note."""
_FILE: Final = Path(__file__).with_name("glossary.yaml")
_KEPT: Final = r"\{\{.+?\}\}|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|\[\^[\w-]+\]|^#.*$|^    .*$"
"""Parts of a text that get no links: values, code, links, footnotes and headings."""


@dataclass(frozen=True)
class Term:
    """One entry of the glossary."""

    name: str
    forms: tuple[str, ...]
    """Words by which lessons use the term, its name included."""
    text: str
    """Definition in Markdown."""

    @property
    def anchor(self) -> str:
        """Id of the entry on the page, such as write-amplification."""
        return re.sub(r"\W+", "-", self.name.lower())


@cache
def glossary() -> tuple[Term, ...]:
    """Return the terms in alphabetical order."""
    terms = [Term(one["term"], (one["term"], *one.get("forms", ())), one["text"]) for one in read_yaml(_FILE)]
    return tuple(sorted(terms, key=lambda term: term.name.lower()))


def ordered_notes(texts: Sequence[str], notes: Mapping[str, str], source: Path) -> dict[str, str]:
    """Return the notes in the order in which the texts first use them.

    Raises InputError, which names the file, for a mark without a note and for a note without a mark.
    """
    used = list(dict.fromkeys(MARK.findall("\n".join(texts))))
    if missing := [name for name in used if name not in notes]:
        raise InputError(f"{source}: [^{missing[0]}]: no such note; add '{missing[0]}: …' to notes in the head")
    if unused := [name for name in notes if name not in used]:
        raise InputError(f"{source}: notes.{unused[0]}: no text uses it; write [^{unused[0]}] behind the claim, or remove it")
    return {name: notes[name] for name in used}


def marked(text: str, names: Sequence[str], form: str) -> str:
    """Return the text with its marks replaced by `form`, in which {n} is the number of the note among `names`, from 1 on."""
    return MARK.sub(lambda found: form.format(n=1 + names.index(found[1])), text)


def linker(page: str) -> Callable[[str], str]:
    """Return a function that links, in the texts that it gets one after the other, the first use of each term to `page`."""
    known = {form.lower(): term for term in glossary() for form in term.forms}
    words = "|".join(r"\s+".join(map(re.escape, form.split())) for form in sorted(known, key=len, reverse=True))
    pattern = re.compile(rf"(?P<kept>{_KEPT})|(?<![\w-])(?P<term>{words})(?![\w-])", re.MULTILINE | re.IGNORECASE)
    seen: set[str] = set()

    def link(found: re.Match[str]) -> str:
        word = found["term"]
        term = known[" ".join(word.lower().split())] if word else None
        if term is None or term.name in seen:
            return found[0]
        seen.add(term.name)
        return f"[{word}]({page}#{term.anchor})"

    return lambda text: pattern.sub(link, text)

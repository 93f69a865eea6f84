"""Formats the scorecard for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from lsmlab.validation.scorecard.card import SCORED, SET_TITLES
from lsmlab.validation.scorecard.tables import (
    LEGEND,
    MISSED,
    Document,
    coverage_text,
    rows_of_sets,
    sections,
    sets_of_cases,
    target_table,
    worst_table,
)

_WIDTH: Final = 120
_WORST: Final = 8
"""Number of cases in the list of the worst cases."""


def card_text(document: Document) -> str:
    """Return the text that `lsmlab validate` prints."""
    lines = [_title(document), ""]
    if document["metrics"]:
        coverage = coverage_text(document).replace(MISSED, MISSED.upper())
        lines += [*target_table(document["metrics"]).lines(), *([f"  {coverage}"] if coverage else []), ""]
        lines += [_wrapped(f"  {LEGEND}"), *_worst(document)]
    for section in sections(document):
        if section.place.startswith("set-"):
            lines += _set(document, section.place.removeprefix("set-"))
        elif section.place != "cases":
            lines += ["", _wrapped(f"{section.title}. {section.about}"), *section.tables[0].lines()]
    lines += ["", *(_wrapped(f"left out: {text}") for text in document["skipped"])] if document["skipped"] else []
    if document["failed"]:
        lines += ["", f"FAILED ({len(document['failed'])}):"]
        lines += [_wrapped(f"  {failed['name']}: {failed['reason']}") for failed in document["failed"]]
    return "\n".join(lines) + "\n"


def _title(document: Document) -> str:
    parts = [f"{_cases(n)} of {SET_TITLES[name]}" for name, n in sets_of_cases(document).items()]
    cases = ", ".join(parts) if parts else "no case was scored"
    return f"LSMLab compared with real RocksDB: {cases}; {document['seeds']} simulated runs per case"


def _cases(count: int) -> str:
    return f"{count} case{'' if count == 1 else 's'}"


def _worst(document: Document) -> Iterator[str]:
    found = worst_table(rows_of_sets(document, *SCORED), _WORST)
    if found.rows:
        yield from (
            "",
            "worst cases (error / target: error relative to the target for the worst case):",
            *found.lines(),
        )


def _set(document: Document, name: str) -> Iterator[str]:
    """Yield the lines of a set: metrics with a target. The only scored set has the numbers of the first table."""
    sets = sets_of_cases(document)
    if name not in SCORED or len([other for other in sets if other in SCORED]) > 1:
        yield from ("", f"{SET_TITLES[name]}: {_cases(sets[name])}")
        yield from target_table(document["sets"][name], targeted=True).lines()


def _wrapped(text: str) -> str:
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)

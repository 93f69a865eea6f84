"""Rows as CSV that a spreadsheet reads as text and numbers, never as formulas."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TextIO

from lsmlab.models.text.printable import printable

_FORMULA: Final = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""First characters at which spreadsheets take a cell for a formula."""


def write_csv(stream: TextIO, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write a head and rows of these columns. A missing value is an empty cell."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(cell, columns))
    writer.writerows([cell(row.get(column)) for column in columns] for row in rows)


def cell(value: object) -> object:
    """Return the value of a cell; a text that a spreadsheet would evaluate begins with an apostrophe.

    >>> [cell(value) for value in ("=1+1", "-5", "a=b", -2.0, None)]
    ["'=1+1", '-5', 'a=b', -2.0, None]
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if value and value[0] in _FORMULA and not _is_number(value) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""Rows of CSV files: traces, initial trees and tables of measurements, within limits of size and number."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError, reading_error
from lsmlab.models.text.compression import Damaged, unpacked

_LARGEST_BYTES: Final = 256 << 20
"""Largest size of the text: a trace of a month by seconds has 60 MB."""
_MOST_ROWS: Final = 5_000_000


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each row of a file in UTF-8, plain or compressed; blank rows are left out.

    Raises InputError, which names the file, if it cannot be read or exceeds a limit.
    """
    if path.exists() and not path.is_file():  # a device or a pipe may have no end
        raise InputError(f"{path} is not a file; give the path of a CSV file")
    try:
        if not path.exists():
            path.stat()  # raises the error of the system
        text = b"".join(unpacked(path, _LARGEST_BYTES)).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise _unreadable(str(path), error) from None
    except Damaged:
        raise InputError(f"{path}: its compressed data are damaged or incomplete; copy the file again") from None
    yield from rows_of(io.StringIO(text, newline=""), str(path))


def rows_of(lines: Iterable[str], source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each row in the lines of a CSV file; `source` names it in errors."""
    reader = csv.reader(lines)
    try:
        for number, row in enumerate(reader, 1):
            if number > _MOST_ROWS:
                raise InputError(f"{source}: has more than {_MOST_ROWS:,} rows; give a part of it")
            if row:
                yield number, row
    except csv.Error as error:
        raise _unreadable(source, error) from None


def csv_records(path: Path) -> Iterator[dict[str, str]]:
    """Yield each row of a file by the names of its first row. Raises InputError as `csv_rows` does."""
    rows = csv_rows(path)
    _, head = next(rows, (0, []))
    for _, row in rows:
        yield dict(zip(head, row, strict=False))


def _unreadable(source: str, error: Exception) -> InputError:
    return InputError(f"{source} cannot be read ({reading_error(error)}); give a CSV file in UTF-8")

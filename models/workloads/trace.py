"""Recorded arrivals in CSV files, and traces of operations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.models.text.csv_rows import csv_rows, rows_of
from lsmlab.models.traces.operations import Operations
from lsmlab.models.traces.reader import reader_of
from lsmlab.models.workloads.arrivals import Recorded


class TraceColumn(Enum):
    """Meanings of the second column of a trace."""

    OPERATIONS = "operations"
    """Operations from this row's time until the next one's."""
    RATE = "rate"
    """Operations per second from this row's time on."""


def operations_in(path: str | Path) -> Operations | None:
    """Return the operations of a trace; None for a file of another form. Raises InputError if the trace is damaged."""
    place = Path(path)
    if not place.is_file():
        return None
    about = place.stat()
    return _operations(place, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=1)
def _operations(path: Path, changed_ns: int, size_bytes: int) -> Operations | None:  # noqa: ARG001 - they tell another file
    """Return the operations of a file; a configuration is read several times for a run."""
    reader = reader_of(path)
    return None if reader is None else reader(path)


def read_trace(path: str | Path, column: TraceColumn, loop: bool = False, scale: float = 1.0) -> Recorded:
    """Read the schedule in a CSV file; the format is that of `lsmlab.models.workloads.generic.Trace`.

    Raises InputError with the file and line of the first bad row.
    """
    return _recorded(csv_rows(Path(path)), path, column, loop, scale)


def trace_of(
    lines: Iterable[str], path: str | Path, column: TraceColumn, loop: bool = False, scale: float = 1.0
) -> Recorded:
    """Return the schedule in the lines of a CSV file; `path` names it in errors. See `read_trace`."""
    return _recorded(rows_of(lines, str(path)), path, column, loop, scale)


def _recorded(
    cells: Iterable[tuple[int, list[str]]], path: str | Path, column: TraceColumn, loop: bool, scale: float
) -> Recorded:
    rows: list[tuple[float, float]] = []
    for line, row in cells:
        if row[0].lstrip().startswith("#") or (not rows and not _is_number(row[0])):
            continue
        rows.append(_row(row, f"{path}:{line}"))
        if len(rows) > 1 and rows[-1][0] <= rows[-2][0]:
            raise InputError(f"{path}:{line}: time {rows[-1][0]:g} s is not after {rows[-2][0]:g} s; times must ascend")
    if len(rows) < 2:
        raise InputError(f"{path}: a trace needs at least two rows of seconds and {column.value}")
    first = rows[0][0]
    starts = [t - first for t, _ in rows]
    end = 2 * starts[-1] - starts[-2]
    lengths = [b - a for a, b in zip(starts, [*starts[1:], end], strict=True)]
    if min(lengths) <= 0.0:
        raise InputError(f"{path}: its times differ by more than numbers can tell apart; give seconds since the begin")
    per = lengths if column is TraceColumn.OPERATIONS else [1.0] * len(rows)
    return Recorded(tuple(starts), tuple(scale * v / s for (_, v), s in zip(rows, per, strict=True)), end, loop)


def _row(row: list[str], where: str) -> tuple[float, float]:
    if len(row) < 2 or not _is_number(row[0]) or not _is_number(row[1]):
        raise InputError(f"{where}: {','.join(row)!r} is not a row of two numbers: seconds, operations")
    if float(row[1]) < 0:
        raise InputError(f"{where}: {row[1]} is negative; it must be at least 0")
    return float(row[0]), float(row[1])


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False

"""Distances between two curves of throughput per second."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.text.csv_rows import rows_of
from lsmlab.models.text.files import read_text
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_LARGEST: Final = 1e15
"""Bound of seconds and of operations in a second."""


def read_series(path: Path) -> Floats:
    """Read operations per second from a CSV file (second, operations in that second), plain or compressed.

    A header line is skipped; a second without a line counts as 0 operations. db_bench's --report_file has this form.
    Raises InputError that names the line.
    """
    rows: list[tuple[float, float]] = []
    for number, row in rows_of(read_text(path).splitlines(), str(path)):
        if row[0].lstrip().startswith("#"):
            continue
        try:
            rows.append((float(row[0]), float(row[1])))
        except (ValueError, IndexError):
            if rows or number > 1:
                raise InputError(f"{path}:{number}: {','.join(row)!r} is not 'seconds,operations'") from None
    if not rows:
        raise InputError(f"{path}: has no line 'seconds,operations'; each line is a second and its operations")
    if not (np.abs(rows) < _LARGEST).all():
        raise InputError(f"{path}: has infinite numbers; each line is a second and its operations")
    seconds = np.array([s for s, _ in rows])
    if len(rows) > 1 and float(np.median(np.diff(seconds))) != 1.0:
        raise InputError(f"{path}: seconds must increase in steps of 1")
    places = (seconds - seconds[0]).astype(np.int64)
    if seconds[0] == 0.0 and len(rows) > 1:  # db_bench writes a row for second 0 before any operation
        places -= 1
    keep = (places >= 0) & (places < 10**7)
    operations = np.zeros(int(places[keep].max()) + 1)
    operations[places[keep]] = np.array([n for _, n in rows])[keep]
    return operations


def ks_distance(a: Floats, b: Floats) -> float:
    """Return the largest difference between two distribution functions (Kolmogorov and Smirnov).

    >>> ks_distance(np.array([1.0, 2.0]), np.array([1.0, 2.0])), ks_distance(np.array([1.0]), np.array([2.0]))
    (0.0, 1.0)
    """
    below_a, below_b, _ = _distributions(a, b)
    return float(np.abs(below_a - below_b).max())


def area_distance(a: Floats, b: Floats) -> float:
    """Return the mean shift that turns the values of `a` into those of `b`, divided by the mean of `a`.

    It is the area between the two distribution functions.

    >>> area_distance(np.array([10.0, 10.0]), np.array([11.0, 11.0]))
    0.1
    """
    below_a, below_b, values = _distributions(a, b)
    mean = float(a.mean())
    return float((np.abs(below_a - below_b)[:-1] * np.diff(values)).sum()) / mean if mean > 0 else 0.0


def cumulative_distance(a: Floats, b: Floats) -> float:
    """Return the largest difference of the cumulative curves in their common seconds, divided by the total of `a`.

    >>> cumulative_distance(np.array([10.0, 10.0]), np.array([5.0, 15.0]))
    0.25
    """
    n = min(len(a), len(b))
    total = float(a[:n].sum())
    return float(np.abs(np.cumsum(a[:n]) - np.cumsum(b[:n])).max()) / total if total > 0 else 0.0


DISTANCES: Final = {
    "throughput.ks": ks_distance, "throughput.area": area_distance, "throughput.cumulative": cumulative_distance,
}  # fmt: skip
"""Distances by their names in the scorecard."""


def _distributions(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    values = np.unique(np.concatenate((a, b)))
    below_a = np.searchsorted(np.sort(a), values, side="right") / len(a)
    below_b = np.searchsorted(np.sort(b), values, side="right") / len(b)
    return below_a, below_b, values


def reduced_curve(curve: Floats, most: int = 600) -> list[float]:
    """Reduce a curve for drawing: return at most `most` means over intervals of equal length."""
    step = -(-len(curve) // most)
    if step <= 1:
        return [float(v) for v in curve]
    return [float(curve[i : i + step].mean()) for i in range(0, len(curve), step)]

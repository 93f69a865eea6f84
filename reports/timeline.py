"""Timeline: groups the rows of long runs into fewer points and keeps the extremes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from lsmlab.reports.run_data import Floats

MOST_POINTS = 1500
"""Largest number of points of a line: more than the pixels of a figure of 1280 px width."""


@dataclass(frozen=True)
class Timeline:
    """Groups of consecutive rows of a series, at most `MOST_POINTS` of them."""

    start_s: Floats
    """Start of each group."""
    middle_s: Floats
    """Middle of each group: x value of rates, means and extremes."""
    end_s: Floats
    """End of each group: x value of states at its end."""
    starts: npt.NDArray[np.int64]
    """First row of each group."""
    rows_per_point: int

    @classmethod
    def of(cls, t_s: Floats, most: int = MOST_POINTS) -> Timeline:
        """Group the one-second rows that end at `t_s`, each group of the same number of rows."""
        rows = max(1, -(-len(t_s) // most))
        starts = np.arange(0, len(t_s), rows)
        start_s = t_s[starts] - 1.0
        end_s = t_s[np.minimum(starts + rows, len(t_s)) - 1]
        return cls(start_s, (start_s + end_s) / 2, end_s, starts, rows)

    @property
    def grouped(self) -> bool:
        """Whether a group has more than one row."""
        return self.rows_per_point > 1

    def mean(self, values: Floats) -> Floats:
        """Return the mean of each group, without rows that have no value (NaN)."""
        if not self.grouped:
            return values
        finite = np.isfinite(values)
        counts = np.add.reduceat(finite.astype(float), self.starts)
        sums = np.add.reduceat(np.where(finite, values, 0.0), self.starts)
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)

    def low(self, values: Floats) -> Floats:
        """Return the smallest value of each group."""
        return np.fmin.reduceat(values, self.starts) if self.grouped else values

    def high(self, values: Floats) -> Floats:
        """Return the largest value of each group."""
        return np.fmax.reduceat(values, self.starts) if self.grouped else values

"""Fewer points for long runs, without hiding extremes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from lsmlab.reports.run_data import Floats

MOST_POINTS = 1500
"""Points a line keeps: more than the pixels of a figure at 1280 px width."""


@dataclass(frozen=True)
class Timeline:
    """Consecutive rows of a series grouped so that at most `MOST_POINTS` groups remain."""

    start_s: Floats
    """Start of each group."""
    middle_s: Floats
    """Middle of each group: where what happened during it is drawn."""
    end_s: Floats
    """End of each group: where the state at its end is drawn."""
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
        """Whether a point stands for more than one row."""
        return self.rows_per_point > 1

    def mean(self, values: Floats) -> Floats:
        """Mean of each group; rows without a value are left out."""
        if not self.grouped:
            return values
        known = np.isfinite(values)
        counts = np.add.reduceat(known.astype(float), self.starts)
        sums = np.add.reduceat(np.where(known, values, 0.0), self.starts)
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)

    def low(self, values: Floats) -> Floats:
        """Smallest value of each group."""
        return np.fmin.reduceat(values, self.starts) if self.grouped else values

    def high(self, values: Floats) -> Floats:
        """Largest value of each group."""
        return np.fmax.reduceat(values, self.starts) if self.grouped else values

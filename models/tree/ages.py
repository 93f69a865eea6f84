"""Age of the data in a compacted file, by RocksDB's count (behaviour/leveled-compaction.md, Ages of files)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

from lsmlab.models.tree.files import SortedFile

Ages = Sequence[tuple[float, float, float]]
"""(time in s from which data is, smallest key, largest key) of the inputs that count, oldest first."""


class AgeRule(Enum):
    """Input of a compaction that gives the age of its outputs."""

    NEWEST = "newest"
    OLDEST = "oldest"
    OLDEST_OVERLAPPING = "oldest_overlapping"
    """The oldest one that overlaps the output."""


def input_ages(inputs: Sequence[SortedFile], rule: AgeRule) -> Ages:
    """Return the ages that count for the outputs of a compaction; none for a flush."""
    if not inputs:
        return ()
    if rule is AgeRule.OLDEST_OVERLAPPING:
        return sorted([(f.data_from_s, f.lo, f.hi) for f in inputs])
    chosen = (max if rule is AgeRule.NEWEST else min)([f.data_from_s for f in inputs])
    return [(chosen, -math.inf, math.inf)]


def data_from_s(ages: Ages, lo: int, hi: int) -> float:
    """Return the time in s from which the data of an output with keys in [lo, hi] is; infinity for a flush."""
    for from_s, low, high in ages:
        if low <= hi and high >= lo:
            return from_s
    return math.inf

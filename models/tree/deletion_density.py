"""Collector of deletions, which marks new files with many tombstones for compaction (CompactOnDeletionCollector).

See (behaviour/leveled-compaction.md, Marked files).
Source: utilities/table_properties_collectors/compact_on_deletion_collector.cc.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.units import quantity
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class DeletionCollector:
    """Settings of the collector, with RocksDB's names."""

    sliding_window_size: int = quantity("count", 0)
    """Neighbouring entries that are looked at together; 0: only the share counts."""
    deletion_trigger: int = quantity("count", 0)
    """Tombstones among them that mark the file."""
    deletion_ratio: float = quantity("ratio", 0.0, high=1.0)
    """Share of tombstones in the whole file that marks it; 0: only the window counts."""

    def __post_init__(self) -> None:
        if not (self.sliding_window_size and self.deletion_trigger) and not self.deletion_ratio:
            raise InputError("give sliding_window_size and deletion_trigger, or deletion_ratio")

    def marks(self, tombstones: NDArray[np.bool_], weights: NDArray[np.float64]) -> bool:
        """Return whether a file is marked.

        `tombstones`: mask of its carried keys; `weights`: entries that each key represents. Both have shape (n,).
        """
        deleted = np.where(tombstones, weights, 0.0)
        if self.deletion_ratio and deleted.sum() >= self.deletion_ratio * weights.sum():
            return True
        if not self.sliding_window_size or not self.deletion_trigger:
            return False
        ends, sums = np.cumsum(weights), np.cumsum(deleted)
        before = np.interp(ends - self.sliding_window_size, np.concatenate(([0.0], ends)), np.concatenate(([0.0], sums)))
        return bool((sums - before >= self.deletion_trigger).any())

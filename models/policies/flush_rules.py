"""Optional decisions of a picker about flushes: keys to keep in memory, and values to leave in the WAL."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class KeepsHotKeys(Protocol):
    """Picker that keeps hot keys of a full memtable in memory (TRIAD)."""

    @property
    def keeps_hot_keys(self) -> bool:
        """Return whether the picker's settings switch this on."""

    def hot(self, updates: NDArray[np.float64], keys: NDArray[np.float64], entries: float) -> NDArray[np.bool_]:
        """Return the mask of the memtable's keys that stay in memory instead of being flushed.

        `updates`: writes of each carried key since the memtable was created; `keys`: real keys that each carried key
        represents; `entries`: writes in the memtable. All arrays have the same shape.
        """


@runtime_checkable
class UsesWal(Protocol):
    """Picker whose L0 files may contain offsets into the WAL instead of values (TRIAD)."""

    @property
    def values_in_wal(self) -> bool:
        """Return whether flushes write keys and offsets, and compactions of L0 read values from the WAL."""


def values_in_wal(picker: object) -> bool:
    """Return whether L0 files of a store with this picker contain offsets into the WAL."""
    return isinstance(picker, UsesWal) and picker.values_in_wal


def hot_keys(picker: object) -> KeepsHotKeys | None:
    """Return the picker if it keeps hot keys in memory, else None."""
    return picker if isinstance(picker, KeepsHotKeys) and picker.keeps_hot_keys else None

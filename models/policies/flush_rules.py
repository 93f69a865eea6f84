"""What a picker may decide about flushes: which keys are written at all, and whether their values are."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class KeepsHotKeys(Protocol):
    """A picker that leaves hot keys of a full memtable in memory (TRIAD)."""

    @property
    def keeps_hot_keys(self) -> bool:
        """Whether it is asked."""

    def hot(self, updates: NDArray[np.float64], keys: NDArray[np.float64], entries: float) -> NDArray[np.bool_]:
        """Which of a memtable's keys go back into memory instead of being flushed.

        `updates`: how often each carried key was written since the memtable began; `keys`: how many real keys each
        stands for; `entries`: writes that the memtable took. All arrays have the same shape.
        """


@runtime_checkable
class UsesWal(Protocol):
    """A picker whose L0 files may hold offsets into the log instead of values (TRIAD)."""

    @property
    def values_in_wal(self) -> bool:
        """Whether they do: flushes write keys and offsets, compactions of L0 read values from the log."""


def values_in_wal(picker: object) -> bool:
    """Whether L0 files of this picker's store hold offsets into the log."""
    return isinstance(picker, UsesWal) and picker.values_in_wal


def hot_keys(picker: object) -> KeepsHotKeys | None:
    """The picker, if it leaves hot keys in memory."""
    return picker if isinstance(picker, KeepsHotKeys) and picker.keeps_hot_keys else None

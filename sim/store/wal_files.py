"""WAL files of one database: all column families write to one WAL, and a file lives as long as a family needs it.

A new WAL begins whenever a memtable is switched. It can be deleted when no column family has unflushed data in it
(`DBImpl::FindObsoleteFiles`, `ColumnFamilyData::OldestLogToKeep`), so a family that is seldom flushed keeps the WALs of
all others alive until `max_total_wal_size` flushes it (`DBImpl::SwitchWAL`).
"""

from __future__ import annotations

from collections import deque
from typing import Final

from lsmlab.models.sums import float_sum

_EMPTY_BYTES: Final = 1.0
"""A WAL with less is empty: shares of writes are rounded."""


class WalFiles:
    """Closed WAL files by number, and the WAL in which the data of each active memtable begins."""

    def __init__(self) -> None:
        self.current = 1
        """Number of the WAL that is written now."""
        self._closed: deque[tuple[int, float]] = deque()
        """(number, bytes), oldest first."""
        self._active_since: dict[int, int] = {}
        """By family that is written to: the WAL in which its active memtable begins."""
        self._flushed_for = 0
        """Number of the oldest WAL when `max_total_wal_size` last asked for a flush (`getting_flushed`)."""

    def add_family(self, family: int) -> None:
        """Begin to write for a family."""
        self._active_since[family] = self.current

    @property
    def closed_bytes(self) -> float:
        """Bytes of the WALs that are closed and not deleted."""
        return float_sum(size for _, size in self._closed)

    @property
    def oldest(self) -> int:
        """Number of the oldest WAL that is not deleted."""
        return self._closed[0][0] if self._closed else self.current

    @property
    def may_flush_oldest(self) -> bool:
        """Whether no flush for the sake of the oldest WAL was asked for yet."""
        return self._flushed_for < self.oldest

    def flush_oldest(self) -> None:
        """Remember that the families with data in the oldest WAL are being flushed."""
        self._flushed_for = self.oldest

    def switch_memtable(self, family: int, size_bytes: float) -> int:
        """Close the current WAL, which holds `size_bytes`, for a memtable switch; an empty WAL goes on.

        Returns the number of the WAL in which the data of the switched memtable begin.
        """
        if size_bytes >= _EMPTY_BYTES:
            self._closed.append((self.current, size_bytes))
            self.current += 1
        first = self._active_since.get(family, self.current)
        self._active_since[family] = self.current
        return first

    def active_since(self, family: int) -> int:
        """Number of the WAL in which the data of a family's active memtable begin."""
        return self._active_since.get(family, self.current)

    def delete_before(self, number: int) -> list[float]:
        """Delete the closed WALs older than `number`. Returns their sizes in bytes, oldest first."""
        sizes = []
        while self._closed and self._closed[0][0] < number:
            sizes.append(self._closed.popleft()[1])
        return sizes

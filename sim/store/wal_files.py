"""WAL files of one database: all column families write to one WAL, which lives until all its data are flushed.

Every memtable switch starts a new WAL. A WAL can be deleted when no column family has unflushed data in it
(`DBImpl::FindObsoleteFiles`, `ColumnFamilyData::OldestLogToKeep`). A column family that is rarely flushed therefore keeps
the WALs with data of other families alive, until `max_total_wal_size` forces its flush (`DBImpl::SwitchWAL`).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Final

_EMPTY_BYTES: Final = 1.0
"""Size below which a WAL counts as empty: sizes contain rounding errors."""


class WalFiles:
    """Closed WALs, the current WAL, and for each active memtable the oldest WAL with its data."""

    def __init__(self) -> None:
        self.current = 1
        """Number of the current WAL."""
        self._closed: deque[tuple[int, float]] = deque()
        """(number, bytes) of each closed WAL, oldest first."""
        self._active_since: dict[int, int] = {}
        """Oldest WAL with data of the active memtable, by column family with writes."""
        self._flushed_for = 0
        """Number of the oldest WAL when `max_total_wal_size` last forced a flush (`getting_flushed`)."""
        self.peak_bytes = 0.0
        """Most bytes of all WALs so far, the current one included."""
        self.kept_bytes: dict[int, float] = defaultdict(float)
        """Most bytes of closed WALs that no other column family kept alive, by column family."""

    def add_family(self, family: int) -> None:
        """Add a column family that clients write to."""
        self._active_since[family] = self.current

    @property
    def closed_bytes(self) -> float:
        """Bytes of all closed WALs that are not deleted."""
        return sum(size for _, size in self._closed)

    @property
    def oldest(self) -> int:
        """Number of the oldest WAL that is not deleted."""
        return self._closed[0][0] if self._closed else self.current

    @property
    def may_flush_oldest(self) -> bool:
        """Return whether `max_total_wal_size` has not forced a flush for the oldest WAL yet."""
        return self._flushed_for < self.oldest

    def flush_oldest(self) -> None:
        """Record that a flush of the column families with data in the oldest WAL was forced."""
        self._flushed_for = self.oldest

    def switch_memtable(self, family: int, size_bytes: float) -> int:
        """Close the current WAL of `size_bytes` at a memtable switch and start a new one; an empty WAL stays open.

        Return the number of the oldest WAL with data of the switched memtable.
        """
        if size_bytes >= _EMPTY_BYTES:
            self._closed.append((self.current, size_bytes))
            self.current += 1
        first = self._active_since.get(family, self.current)
        self._active_since[family] = self.current
        return first

    def release_empty(self, family: int) -> None:
        """Note that a column family has no unflushed data: it keeps no closed WAL alive (`ColumnFamilyData::IsEmpty`)."""
        if family in self._active_since:
            self._active_since[family] = self.current

    def note_size(self, current_bytes: float) -> None:
        """Note how large all WALs are; `current_bytes`: size of the current one."""
        self.peak_bytes = max(self.peak_bytes, self.closed_bytes + current_bytes)

    def note_kept(self, oldest: Mapping[int, int]) -> None:
        """Note which column family keeps WALs alive; `oldest`: number of the oldest WAL with unflushed data of each."""
        if len(oldest) < 2 or not self._closed:
            return
        (first, family), (second, _) = sorted((number, family) for family, number in oldest.items())[:2]
        kept = sum(size for number, size in self._closed if first <= number < second)
        self.kept_bytes[family] = max(self.kept_bytes[family], kept)

    def active_since(self, family: int) -> int:
        """Return the number of the oldest WAL with data of a column family's active memtable."""
        return self._active_since.get(family, self.current)

    def delete_before(self, number: int) -> list[float]:
        """Delete the closed WALs older than `number`. Return their sizes in bytes, oldest first."""
        sizes = []
        while self._closed and self._closed[0][0] < number:
            sizes.append(self._closed.popleft()[1])
        return sizes

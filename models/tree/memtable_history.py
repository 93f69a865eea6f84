"""Memtable history: flushed memtables that stay in memory, so that transactions can look for newer writes of their keys.

Source: `MemTableListVersion::TrimHistory`, db/memtable_list.cc; (behaviour/column-families.md, Memtable history).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple


class MemtableMemory(NamedTuple):
    """Memory of one memtable."""

    allocated_bytes: float = 0.0
    """Arena blocks (`MemoryAllocatedBytes`), which a write buffer manager counts."""
    used_bytes: float = 0.0
    """What entries take of them (`ApproximateMemoryUsage`)."""


NO_MEMORY: Final = MemtableMemory()
"""Of a memtable whose memory nothing counts."""


class MemtableHistory:
    """Flushed memtables of one column family that stay in memory.

    The oldest goes once the others reach `max_write_buffer_size_to_maintain` without it: the limit is what stays at least. Where
    it is 0, all memtables count against `max_write_buffer_number_to_maintain`.
    """

    def __init__(self, size_bytes: int, most: int, *, by_allocation: bool) -> None:
        """Begin without flushed memtables.

        `size_bytes`, `most`: the two options; 0 and 0: nothing is kept. `by_allocation`: whether a memtable counts with its
        blocks, or with what is used of them.
        """
        self._size_bytes = size_bytes
        self._most = most
        self._by_allocation = by_allocation
        self._kept: deque[MemtableMemory] = deque()
        """Oldest first."""

    @property
    def keeps(self) -> bool:
        """Return whether flushed memtables stay in memory."""
        return self._size_bytes > 0 or self._most > 0

    def __len__(self) -> int:
        """Return the number of flushed memtables that are kept."""
        return len(self._kept)

    @property
    def allocated_bytes(self) -> float:
        """Memory of the flushed memtables that are kept."""
        return sum(memory.allocated_bytes for memory in self._kept)

    def add(self, memory: MemtableMemory) -> None:
        """Keep a memtable that was flushed, if the options say so."""
        if self.keeps:
            self._kept.append(memory)

    def trim(self, immutables: Sequence[MemtableMemory], active: MemtableMemory = NO_MEMORY) -> None:
        """Drop the oldest memtables beyond the limit.

        `immutables`: memtables that wait for the end of their flush. `active`: the active one at a write; at a switch and at the
        end of a flush RocksDB leaves it out.
        """
        while self._kept and self._exceeds(immutables, active):
            self._kept.popleft()

    def _exceeds(self, immutables: Sequence[MemtableMemory], active: MemtableMemory) -> bool:
        """Return whether the limit is met without the oldest memtable (`MemtableLimitExceeded`)."""
        if self._size_bytes == 0:
            return len(immutables) + len(self._kept) > self._most
        _, *others = self._kept
        return sum(map(self._size, [*immutables, *others, active])) >= self._size_bytes

    def _size(self, memory: MemtableMemory) -> float:
        return memory.allocated_bytes if self._by_allocation else memory.used_bytes

"""Memory of all memtables of a database, bounded by `db_write_buffer_size` (RocksDB's `WriteBufferManager`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

MUTABLE_SHARE: Final = 7 / 8
"""Share of the buffer that active memtables may take (`WriteBufferManager::mutable_limit_`)."""


@dataclass(frozen=True, slots=True)
class WriteBufferManager:
    """Bound on the memory of all memtables (`ShouldFlush`).

    A memtable is flushed when active memtables take 7/8 of the buffer, or when the buffer is full and active memtables
    take at least half of it. The memory of a memtable counts until the end of its flush. RocksDB counts whole arena
    blocks; this class counts entries, which is up to one `arena_block_size` less per memtable.
    """

    buffer_bytes: float
    """`db_write_buffer_size`; 0 = no bound."""

    def room_bytes(self, active_bytes: float, immutable_bytes: float) -> float:
        """Return the bytes that can be written before a memtable must be switched; infinity without a bound."""
        if self.buffer_bytes == 0.0:
            return math.inf
        until_full = self.buffer_bytes - immutable_bytes - active_bytes
        until_half = self.buffer_bytes / 2 - active_bytes
        return min(self.buffer_bytes * MUTABLE_SHARE - active_bytes, max(until_full, until_half))

"""How large a write is, on average, to the store that takes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WriteShape:
    """Sizes of the average write, in the places where RocksDB counts them (behaviour/write-path.md, Bytes of a put)."""

    batch_bytes: float
    """Write-batch bytes per write: what the delay bucket counts."""
    user_bytes: float
    """Key and value bytes per write."""
    wal_bytes: float
    """Bytes per write in the log file; 0 without a log."""
    memtable_entries: float
    """Writes that fill a memtable, as the store was opened."""
    key_bytes: int
    value_bytes: int
    """Mean size of a value, rounded."""
    delete_share: float
    """Deletes per write."""
    statistics: bool = False
    """Whether the store counts each write."""

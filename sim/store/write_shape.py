"""Mean size of a write to a column family or database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class WriteShape:
    """Mean sizes of a write in batch, WAL and memtable (behaviour/write-path.md, Bytes of a put)."""

    batch_bytes: float
    """Write-batch bytes per write, which the delayed write rate counts."""
    user_bytes: float
    """Key and value bytes per write."""
    wal_bytes: float
    """WAL bytes per write; 0 without a WAL."""
    memtable_entries: float
    """Writes that fill a memtable, with the options at the start of the run."""
    memtable_bytes: float
    """Memtable memory per write."""
    key_bytes: int
    value_bytes: int
    """Mean size of a value, rounded."""
    delete_share: float
    """Deletes per write."""
    statistics: bool = False
    """Whether RocksDB's `statistics` count each write."""


def mean_shape(shapes: Sequence[tuple[WriteShape, float]]) -> WriteShape:
    """Return the mean shape of the writes to a database.

    `shapes`: (shape, share of the writes) of each column family; the shares sum to 1.
    """
    first = shapes[0][0]
    if len(shapes) == 1:
        return first

    def mean(name: str) -> float:
        return sum(float(getattr(shape, name)) * share for shape, share in shapes)

    return replace(
        first,
        batch_bytes=mean("batch_bytes"), user_bytes=mean("user_bytes"), wal_bytes=mean("wal_bytes"),
        memtable_entries=mean("memtable_entries"), memtable_bytes=mean("memtable_bytes"), key_bytes=round(mean("key_bytes")),
        value_bytes=round(mean("value_bytes")), delete_share=mean("delete_share"),
    )  # fmt: skip

"""How large a write is, on average, to the store that takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lsmlab.models.sums import float_sum


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
    memtable_bytes: float
    """Memory of the average write in a memtable."""
    key_bytes: int
    value_bytes: int
    """Mean size of a value, rounded."""
    delete_share: float
    """Deletes per write."""
    statistics: bool = False
    """Whether the store counts each write."""


def mean_shape(shapes: Sequence[tuple[WriteShape, float]]) -> WriteShape:
    """The average write of a database: (shape, share of the writes) of each column family, shares summing to 1."""
    first = shapes[0][0]
    if len(shapes) == 1:
        return first

    def mean(name: str) -> float:
        return float_sum(float(getattr(shape, name)) * share for shape, share in shapes)

    return replace(
        first,
        batch_bytes=mean("batch_bytes"), user_bytes=mean("user_bytes"), wal_bytes=mean("wal_bytes"),
        memtable_entries=mean("memtable_entries"), memtable_bytes=mean("memtable_bytes"), key_bytes=round(mean("key_bytes")),
        value_bytes=round(mean("value_bytes")), delete_share=mean("delete_share"),
    )  # fmt: skip

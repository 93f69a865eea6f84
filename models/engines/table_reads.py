"""How an engine reads its tables: what of them stays in memory, and in which requests blocks come from the device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from lsmlab.models.workloads.reads import AROUND_BYTES, Filter, read_around, read_on_demand, readahead

OTHER_FILES: Final = 10
"""Of `max_open_files`, those that are no tables (RocksDB's and LevelDB's TableCacheSize)."""


@dataclass(frozen=True, slots=True)
class TableReads:
    """How an engine reads its tables."""

    block_size: int
    """Bytes of a data block."""
    open_tables: float = math.inf
    """Tables whose index and filter are in memory at a time; to search another one is to open it first."""
    filter: Filter = Filter.FAST_LOCAL
    mapped_tables: float | None = None
    """Tables that are mapped into memory, the others being read by system calls: the kernel reads ahead, in two ways. None:
    iterators of the engine do."""

    def requests(self, blocks: float, unit_bytes: float, tables: int) -> tuple[float, float]:
        """(Requests one after the other, bytes) for consecutive blocks of one of `tables`.

        `unit_bytes`: what the engine's own reads are rounded to at either end.
        """
        if self.mapped_tables is None:
            return readahead(blocks, self.block_size + unit_bytes)
        mapped = self._mapped_share(tables)
        wanted_bytes = blocks * self.block_size
        return _mixed(mapped, read_around(wanted_bytes), read_on_demand(wanted_bytes))

    def opening_bytes(self, tail_bytes: float, tables: int) -> float:
        """Bytes of the one request that brings a table's footer, index and filter, of `tail_bytes` at its end."""
        mapped = self._mapped_share(tables)
        return mapped * max(tail_bytes, AROUND_BYTES / 2) + (1.0 - mapped) * tail_bytes

    def _mapped_share(self, tables: int) -> float:
        """Share of the open ones of `tables`."""
        return min(1.0, (self.mapped_tables or 0.0) / max(1.0, min(tables, self.open_tables)))


def table_cache_size(max_open_files: int) -> float:
    """Tables that may be open at a time; infinity for max_open_files = -1."""
    return max(1.0, float(max_open_files - OTHER_FILES)) if max_open_files >= 0 else math.inf


def _mixed(share: float, one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return share * one[0] + (1.0 - share) * other[0], share * one[1] + (1.0 - share) * other[1]

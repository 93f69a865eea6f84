"""Reads of tables: the tables that stay open in memory, and the device requests for their blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from lsmlab.models.costs.operations import block_depth, index_depth
from lsmlab.models.tree.table_format import Filter
from lsmlab.models.workloads.reads import (
    AROUND_BYTES,
    TableClass,
    competing_bytes,
    read_around,
    read_on_demand,
    readahead,
)

OTHER_FILES: Final = 10
"""Part of `max_open_files` for files other than tables (RocksDB's and LevelDB's TableCacheSize)."""


class IndexSearches(NamedTuple):
    """Index searches of a read; means over many."""

    indexes: float
    """Indexes searched without a block."""
    doublings: float
    """`index_depth`, summed over the index searches."""
    block_doublings: float
    """`block_depth`, summed over the searches in data blocks."""


@dataclass(frozen=True, slots=True)
class TableReads:
    """Rules by which an engine reads its tables."""

    open_tables: float = math.inf
    """Maximum of tables with index and filter in memory; the engine opens any other table before a search in it."""
    filter: Filter = Filter.FAST_LOCAL
    mapped_tables: float | None = None
    """Maximum of tables mapped into memory, for which the kernel reads around a fault; for reads of other tables by system
    calls the kernel reads ahead on demand. None: the engine's iterators read ahead."""

    def requests(self, blocks: float, block_bytes: float, unit_bytes: float, tables: int) -> tuple[float, float]:
        """Return (sequential requests, bytes) for consecutive blocks of one of `tables` tables.

        `block_bytes`: a data block on the device; `unit_bytes`: unit to which the engine rounds its reads at either end.
        """
        if self.mapped_tables is None:
            return readahead(blocks, block_bytes + unit_bytes)
        mapped = self._mapped_share(tables)
        wanted_bytes = blocks * block_bytes
        return _mixed(mapped, read_around(wanted_bytes), read_on_demand(wanted_bytes))

    def index_searches(self, searched: Sequence[TableClass]) -> IndexSearches:
        """Return the index searches of a read.

        LevelDB has a filter for each block, and finds it by the block's place, so it searches a table's index before the
        filter (Table::InternalGet). RocksDB's filter is one per table; it searches the index only for a block.
        """
        without = [(1.0 - group.false_positive) * (group.per_read - group.found) for group in searched]
        blocks = [group.per_read - number for group, number in zip(searched, without, strict=True)]
        sizes = [group.size_bytes for group in searched]
        competing = competing_bytes(blocks, sizes)
        in_blocks = sum(number * block_depth(size) for number, size in zip(blocks, competing, strict=True))
        if self.filter is not Filter.STANDARD:
            return IndexSearches(0.0, 0.0, in_blocks)
        in_indexes = sum(number * index_depth(size) for number, size in zip(without, sizes, strict=True))
        return IndexSearches(sum(without), in_indexes, in_blocks)

    def opening_bytes(self, tail_bytes: float, tables: int) -> float:
        """Bytes of the request that reads a table's footer, index and filter: the last `tail_bytes` of the file."""
        mapped = self._mapped_share(tables)
        return mapped * max(tail_bytes, AROUND_BYTES / 2) + (1.0 - mapped) * tail_bytes

    def _mapped_share(self, tables: int) -> float:
        """Share of mapped tables among the open ones of `tables`."""
        return min(1.0, (self.mapped_tables or 0.0) / max(1.0, min(tables, self.open_tables)))


def table_cache_size(max_open_files: int) -> float:
    """Maximum number of open tables; infinity for max_open_files = -1."""
    return max(1.0, float(max_open_files - OTHER_FILES)) if max_open_files >= 0 else math.inf


def _mixed(share: float, one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return share * one[0] + (1.0 - share) * other[0], share * one[1] + (1.0 - share) * other[1]

"""Index and filter blocks of tables in the block cache (`cache_index_and_filter_blocks`): their room, and reads of missing ones.

Each search in a table looks up its filter block, and its index block if the filter does not exclude the key
(`BlockBasedTable::Get`). See (behaviour/reads.md, Index and filter blocks).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lsmlab.models.tree.sst import bloom_filter_bytes
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.workloads.reads import BlockKind, BlockPlace, TableClass
from lsmlab.sim.clients.lookups import ScannedRuns
from lsmlab.sim.clients.tables import Tables

TailBytes = Mapping[BlockPlace, float]
"""Mean bytes of an index or filter block of the tables of a level."""
Accesses = Mapping[BlockPlace, float]
"""Index or filter blocks of a level that a read looks up."""


class TailReads(NamedTuple):
    """Index and filter blocks that a read gets from the device."""

    calls: float
    """Blocks that the block cache lacks."""
    requests: float
    """Those of them that the page cache lacks, too."""
    request_bytes: float
    memory_share: float
    """Share of the reads that need none of them from the device."""


def table_tails(
    runs: Sequence[ScannedRuns], formats: Mapping[TableFormat, Tables]
) -> tuple[TailBytes, Mapping[BlockPlace, float]]:
    """Return the mean bytes of an index and of a filter block of the tables of each level, and the number of these tables."""
    tables, total_bytes = defaultdict[BlockPlace, float](float), defaultdict[BlockPlace, float](float)
    for run in runs:
        entry, _ = formats[run.table_format]
        entries = run.table_bytes / run.tables / (entry.put + entry.tail)
        filter_bytes = bloom_filter_bytes(
            entries, run.table_format.bloom_bits, format_version=run.table_format.format_version
        )
        for kind, size in ((BlockKind.FILTER, filter_bytes), (BlockKind.INDEX, max(0.0, entries * entry.tail - filter_bytes))):
            if size:
                tables[BlockPlace(run.level, kind)] += run.tables
                total_bytes[BlockPlace(run.level, kind)] += run.tables * size
    return {place: size / tables[place] for place, size in total_bytes.items()}, tables


def looked_up(searched: Sequence[TableClass], tails: TailBytes) -> Accesses:
    """Return the index and filter blocks that a get looks up in the tables that it searches; `tails`: those that exist."""
    found = defaultdict[BlockPlace, float](float)
    for part in searched:
        for kind, number in ((BlockKind.FILTER, part.per_read), (BlockKind.INDEX, part.blocks)):
            if (place := BlockPlace(part.level, kind)) in tails:
                found[place] += number
    return found


def sought(runs: Sequence[ScannedRuns], tails: TailBytes) -> Accesses:
    """Return the index blocks that a scan looks up: one in each sorted run in which it finds a table."""
    found = defaultdict[BlockPlace, float](float)
    for run in runs:
        if (place := BlockPlace(run.level, BlockKind.INDEX)) in tails:
            found[place] += run.number * (run.covered + run.gaps)
    return found


def tail_reads(
    accesses: Accesses, tails: TailBytes, uncached: Callable[[BlockPlace], float], on_device: Callable[[int], float],
    unit_bytes: float,
) -> TailReads:  # fmt: skip
    """Return the index and filter blocks that a read gets from the device.

    `uncached`: share of the accesses that the block cache does not serve; `on_device`: share of the bytes of a level that the
    device has and the page cache lacks; `unit_bytes`: unit to which a read is rounded at either end.
    """
    calls = requests = size = 0.0
    memory_share = 1.0
    for place, number in accesses.items():
        missed = number * uncached(place)
        read = missed * on_device(place.level)
        calls, requests, size = calls + missed, requests + read, size + read * (tails[place] + unit_bytes)
        memory_share *= max(0.0, 1.0 - uncached(place) * on_device(place.level)) ** number
    return TailReads(calls, requests, size, memory_share)

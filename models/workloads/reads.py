"""Block reads of lookups and scans (behaviour/reads.md, Lookups; Filters; Block cache; Iterators)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.table_format import Filter
from lsmlab.models.workloads.choosers import FloatArray, Popularity

BlockRequests = Callable[[float], tuple[float, float]]
"""Function from a number of consecutive blocks of a table to (sequential requests, bytes) of their reads."""

_LINE_BITS: Final = 512  # all probes of a key are in one 64-byte cache line (util/bloom_impl.h)
_PROBES: Final = (2.080, 3.580, 5.100, 6.640, 8.300, 10.070, 11.720, 14.001, 16.050, 18.300, 22.001, 25.501)
"""Bits per key up to which FastLocalBloom uses 1, 2, 3 … probes (`FastLocalBloomImpl::ChooseNumProbes`)."""
READAHEAD_AFTER: Final = 2
"""Sequential block reads before an iterator reads ahead (num_file_reads_for_auto_readahead)."""
READAHEAD_FIRST_BYTES: Final = 8 * 1024
"""First readahead of an iterator (`BlockBasedTableOptions::initial_auto_readahead_size`)."""
READAHEAD_MOST_BYTES: Final = 256 * 1024
"""Largest readahead of an iterator (`BlockBasedTableOptions::max_auto_readahead_size`)."""
AROUND_BYTES: Final = 128 * 1024
"""Bytes that the kernel reads around a fault in a mapped file, half of them ahead; also its largest readahead
(VM_MAX_READAHEAD)."""
PAGE_BYTES: Final = 4096.0
"""Unit to which the kernel rounds a read through the page cache at either end."""


NO_LEVEL: Final = -1
"""In place of a level: frozen files (LDC), or tables whose level does not matter."""
BLOB_FILES: Final = -2
"""Place of blobs in a block cache that they share with blocks, beside the numbers of levels."""


class TableClass(NamedTuple):
    """Class of similar tables, some of which a read searches."""

    tables: float
    """Number of tables of the class."""
    per_read: float
    """Mean number of these tables that a read searches."""
    found: float = 0.0
    """Share of the reads that find their key there."""
    size_bytes: float = 0.0
    """Bytes of all tables of the class."""
    false_positive: float = 1.0
    """Share of the tables without the key in which a read searches a block; 1 without filters and for iterators."""
    level: int = NO_LEVEL
    block_size: float = 1.0
    """Size of a data block, in blocks of the size that the run writes."""

    @property
    def blocks(self) -> float:
        """Mean number of data blocks of these tables that a read searches."""
        return self.found + self.false_positive * (self.per_read - self.found)


def gets_in_memory(searched: Sequence[tuple[TableClass, float]], missed: float = 0.0) -> float:
    """Return the share of gets that need no data block from the device.

    `searched`: tables, and the share of their blocks that are on the device only; `missed`: share of the gets that need another
    block from there. A key that exists needs one block, and so does each false positive of a filter; a key that the filters
    exclude needs none.
    """
    missed += sum(part.found * miss for part, miss in searched)
    share = 1.0 - min(1.0, missed)
    for part, miss in searched:
        share *= (1.0 - miss * part.false_positive) ** max(0.0, part.per_read - part.found)
    return share


class BlockKind(Enum):
    """Kinds of blocks in the block cache."""

    DATA = "data"
    AFTER_GAP = "after_gap"
    """First data blocks of files, as seeks to keys that no file of the level covers find them."""
    FILTER = "filter"
    INDEX = "index"


class BlockPlace(NamedTuple):
    """Place of blocks that reads access equally often."""

    level: int
    kind: BlockKind = BlockKind.DATA


class BlockGroup(NamedTuple):
    """Blocks that reads access equally often: those of one `BlockPlace`."""

    accesses: float
    """Mean accesses per read to these blocks."""
    blocks: float
    """Number of blocks, not 0."""
    written: float = 0.0
    """Blocks that flushes and compactions have written since the last look at the cache, divided by `blocks`."""


def in_groups(groups: Sequence[BlockGroup], popularity: Sequence[Popularity]) -> list[Popularity]:
    """Return how popular each block of a group is among the accesses to all groups.

    `popularity`: how popular a block of each group is among the accesses to this group, for about as many blocks as the group
    has. n times as many blocks are each 1/n times as popular.
    """
    found = []
    for share, group, one in zip(access_shares(groups), groups, popularity, strict=True):
        grown = group.blocks / float(one.blocks.sum())
        found.append(Popularity(one.probability * (share / grown), one.blocks * grown))
    return found


def access_shares(groups: Sequence[BlockGroup]) -> list[float]:
    """Return the share of the accesses that goes to each group; that of its blocks, if no group has accesses."""
    total = sum(group.accesses for group in groups)
    blocks = sum(group.blocks for group in groups)
    return [group.accesses / total if total else group.blocks / blocks for group in groups]


def false_positive_rate(bits_per_key: float, kind: Filter = Filter.FAST_LOCAL) -> float:
    """False-positive rate of a filter; 1 without a filter (0 bits).

    Of a standard filter: (1 - e^(-probes / bits))^probes. Of a local filter: the mean of this rate over cache lines with
    one standard deviation more and fewer keys than the average (`BloomMath::CacheLocalFpRate`, util/bloom_impl.h).
    """
    if bits_per_key < 0:
        raise InputError(f"bits_per_key: {bits_per_key} must not be negative")
    if bits_per_key < 0.5:  # RocksDB builds no filter below half a bit per key
        return 1.0
    if kind is Filter.FAST_LOCAL:
        bits_per_key = max(1.0, bits_per_key)
        probes = _fast_local_probes(bits_per_key)
    else:
        probes = min(30, max(1, int(bits_per_key * 0.69)))  # 0.69 is about ln 2 (both LevelDB and RocksDB)
    if kind is Filter.STANDARD:
        return _standard_rate(bits_per_key, probes)
    keys = _LINE_BITS / bits_per_key
    spread = math.sqrt(keys)
    crowded = _standard_rate(_LINE_BITS / (keys + spread), probes)
    roomy = _standard_rate(_LINE_BITS / (keys - spread), probes) if keys > spread else 0.0
    return (crowded + roomy) / 2


@dataclass(frozen=True, slots=True)
class LruCache:
    """LRU cache of blocks, by Che's approximation (Che, Tung, Wang 2002), which assumes independent accesses.

    A block is in the cache if it was accessed in the last T accesses, where the expected number of distinct blocks in T
    accesses fills the cache: Σ 1 - e^(-p T) = its blocks. The hit rate is Σ p (1 - e^(-p T)).
    """

    popularity: Popularity
    lifetime: float
    """T: accesses after which a block that was not accessed again leaves the cache; infinity: all blocks fit."""

    def hit_rate(self, accesses: float = math.inf, new: FloatArray | float = 0.0) -> float:
        """Hit rate after `accesses` to the cache, which was empty before the first: T is limited to `accesses`.

        `new`: share k of the blocks (of each class) that flushes and compactions write anew per access. A block is then in the
        cache if it was accessed in the last T accesses and its file was written before: p / (p + k) (1 - e^(-(p + k) T)).
        """
        if accesses == self.lifetime == math.inf and not np.any(new):
            return 1.0
        return min(1.0, float(np.sum(self.hits(accesses, new))))  # a sum may be 1 + 1e-16

    def hits(self, accesses: float = math.inf, new: FloatArray | float = 0.0) -> FloatArray:
        """Hits per access, by class of blocks; their sum is the hit rate. Arguments as those of `hit_rate`. Shape (classes,)."""
        accesses = min(accesses, self.lifetime)
        p, n = self.popularity.probability, self.popularity.blocks
        if not np.any(new):
            return n * p if accesses == math.inf else n * p * -np.expm1(-p * accesses)
        gone = np.maximum(p + new, np.finfo(np.float64).tiny)  # a block without accesses has no hits
        return n * p * p / gone * -np.expm1(-gone * accesses)

    def growth(self, accesses: float, new: FloatArray | float = 0.0) -> float:
        """Increase of the hit rate per access, after `accesses` to the cache; `new` as for `hit_rate`."""
        p, n = self.popularity.probability, self.popularity.blocks
        return float(np.sum(n * p * p * np.exp(-(p + new) * accesses))) if accesses < self.lifetime else 0.0


def competing_bytes(accesses: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Return the bytes that an LRU cache must hold to keep the data of each class: those accessed at least as often per byte.

    `accesses`: accesses per read to a class, `sizes`: its bytes; uniform within a class. Of a class with fewer accesses per byte,
    the part that is accessed between two accesses to the same place counts (the stack distance of Mattson et al. 1970). 0 for a
    class without accesses.
    """
    used = [i for i, often in enumerate(accesses) if often > 0.0]
    used.sort(key=lambda i: sizes[i] / accesses[i])
    competing = [0.0] * len(sizes)
    held_bytes, rarer = 0.0, sum(accesses)
    for i in used:  # from the most accesses per byte to the fewest
        held_bytes, rarer = held_bytes + sizes[i], rarer - accesses[i]
        competing[i] = held_bytes + sizes[i] / accesses[i] * max(0.0, rarer)
    return competing


def lru_cache(popularity: Popularity, cached_blocks: float) -> LruCache:
    """Return the LRU cache of `cached_blocks` blocks."""
    return LruCache(popularity, _lifetime(popularity, cached_blocks))


def _lifetime(popularity: Popularity, cached_blocks: float) -> float:
    """Return Che's T; with equal probabilities the hit rate is then cached_blocks / blocks."""
    p, n = popularity.probability, popularity.blocks
    blocks = float(n[p > 0].sum())
    if cached_blocks <= 0:
        return 0.0
    if cached_blocks >= blocks:
        return math.inf
    if float(p[p > 0].max() - p[p > 0].min()) <= 1e-12 * float(p.max()):
        return -math.log1p(-cached_blocks / blocks) / float(p.max())
    lifetime = 0.0
    for _ in range(100):  # Newton's steps from 0 never pass the root, because the sum is concave in T; 16 are enough
        missing = cached_blocks + float(n @ np.expm1(-p * lifetime))
        step = missing / float(n @ (p * np.exp(-p * lifetime)))
        lifetime += step
        if step <= 1e-13 * lifetime:
            break
    return lifetime


class ScannedRun(NamedTuple):
    """Sorted runs of one size that a scan merges."""

    size_bytes: float
    """Size of one run."""
    number: float
    entries_per_block: float
    requests_of: BlockRequests
    covered: float = 1.0
    """Share of the seeks whose key is in the range of one of its files."""
    gaps: float = 0.0
    """Share of the seeks whose key is before a file and in no range: each ends at the first block of this file
    (`LevelIterator::Seek`, `FindFile`). A seek past the last file reads no block."""
    uncached: float = 1.0
    """Share of the accesses to its blocks that the device must serve."""
    uncached_after_gap: float = 1.0
    """The same of seeks into gaps: the first blocks of files are few."""


def scanned_blocks(runs: Sequence[ScannedRun], entries: float) -> list[tuple[float, float]]:
    """Data blocks that a scan reads of each of `runs`: (at its start and of its further entries, first blocks after gaps).

    The runs contribute entries in proportion to their sizes.
    """
    total = sum(run.size_bytes * run.number for run in runs)
    further = max(0.0, entries - 1.0) / total if total else 0.0
    return [
        (run.number * (run.covered + further * run.size_bytes / run.entries_per_block), run.number * run.gaps) for run in runs
    ]


def scan_device_reads(runs: Sequence[ScannedRun], entries: float) -> tuple[float, float]:
    """Return (requests, bytes) of a scan: each run has its own iterator, and reads the uncached share of its blocks."""
    requests = read_bytes = 0.0
    for run, (blocks, firsts) in zip(runs, scanned_blocks(runs, entries), strict=True):
        if run.size_bytes > 0.0:
            iterators = run.number * run.covered or min(run.number, blocks)
            for count, each, uncached in ((iterators, blocks, run.uncached), (firsts, firsts, run.uncached_after_gap)):
                if count > 0.0 and uncached > 0.0:
                    run_requests, run_bytes = run.requests_of(each / count)
                    requests, read_bytes = requests + count * uncached * run_requests, read_bytes + count * uncached * run_bytes
    return requests, read_bytes


def readahead(blocks: float, block_bytes: float) -> tuple[float, float]:
    """Return (requests, bytes) of an iterator that reads `blocks` consecutive blocks of one file from the device.

    The first two blocks take a request each. Each further request reads a block and a readahead of 8 KiB at first,
    doubling up to 256 KiB. The bytes include unused readahead. Fractions of a block are interpolated.
    """
    whole = math.floor(blocks)
    low = _readahead(whole, block_bytes)
    if blocks == whole:
        return low
    high = _readahead(whole + 1, block_bytes)
    part = blocks - whole
    return low[0] + part * (high[0] - low[0]), low[1] + part * (high[1] - low[1])


def read_around(wanted_bytes: float) -> tuple[float, float]:
    """Return (synchronous requests, bytes) of reads of consecutive bytes of a mapped file.

    A fault on a page that is not in memory reads 128 KiB, half of them before the page. A read that reaches the last
    quarter of this window, and then the start of every further window, starts an asynchronous read of the next 128 KiB,
    which may be unused (do_sync_mmap_readahead and do_async_mmap_readahead, mm/filemap.c). An iterator needs far less time
    for a few blocks than the device for a window, so it waits for each window that it enters.
    """
    half = AROUND_BYTES / 2
    entered = math.ceil(max(0.0, wanted_bytes - half) / AROUND_BYTES)
    ahead = 1 if wanted_bytes > half / 2 else 0
    return 1.0 + entered, AROUND_BYTES * (1.0 + entered + ahead)


def read_on_demand(wanted_bytes: float) -> tuple[float, float]:
    """Return (synchronous requests, bytes) of reads of consecutive bytes of a file with the kernel's readahead.

    The first block is read as requested. Sequential reads then have windows of 16, 32, 64, 128, 128 … KiB, each started
    when the read enters the window before (ondemand_readahead, mm/readahead.c).
    """
    requests, read_bytes, window = 1.0, 2.0 * PAGE_BYTES, 4.0 * PAGE_BYTES
    ahead = False
    while read_bytes < wanted_bytes + PAGE_BYTES:
        requests, read_bytes, ahead = requests + 1.0, read_bytes + window, True
        window = min(AROUND_BYTES, 2.0 * window)
    return requests, read_bytes + (window if ahead else 0.0)


def table_opens(searched: Sequence[TableClass], open_tables: float) -> float:
    """Mean number of tables that a read must open, with an LRU cache of `open_tables`, by Che's approximation."""
    total = sum(part.per_read for part in searched)
    if total == 0.0 or sum(part.tables for part in searched) <= open_tables:
        return 0.0
    tables = np.array([part.tables for part in searched], dtype=np.float64)
    chance = np.array([part.per_read / part.tables for part in searched]) / total
    return total * (1.0 - lru_cache(Popularity(chance, tables), open_tables).hit_rate())


def _readahead(blocks: int, block_bytes: float) -> tuple[float, float]:
    single = min(blocks, READAHEAD_AFTER)
    requests, size, wanted = single, single * block_bytes, blocks * block_bytes
    ahead = READAHEAD_FIRST_BYTES
    while size < wanted and ahead < READAHEAD_MOST_BYTES:
        requests, size, ahead = requests + 1, size + block_bytes + ahead, min(READAHEAD_MOST_BYTES, 2 * ahead)
    if size < wanted:
        more = math.ceil((wanted - size) / (block_bytes + ahead))
        requests, size = requests + more, size + more * (block_bytes + ahead)
    return float(requests), float(size)


def _standard_rate(bits_per_key: float, probes: int) -> float:
    return float((-math.expm1(-probes / bits_per_key)) ** probes)


def _fast_local_probes(bits_per_key: float) -> int:
    if bits_per_key > 50.0:
        return 24
    for probes, limit in enumerate(_PROBES, 1):
        if bits_per_key <= limit:
            return probes
    return int((bits_per_key * 1000 - 1) // 2000) - 1

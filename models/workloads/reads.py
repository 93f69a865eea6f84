"""What reads cost: filters, block cache, files probed, scans.

See (behaviour/reads.md, Lookups; Filters; Block cache; Iterators).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.sums import float_sum
from lsmlab.models.workloads.choosers import Popularity
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BlockRequests = Callable[[float], tuple[float, float]]
"""Blocks that follow each other in one table -> (requests one after the other, bytes) that get them from the device."""

_LINE_BITS: Final = 512  # a filter's probes of one key stay in one 64-byte cache line (util/bloom_impl.h)
_PROBES: Final = (2.080, 3.580, 5.100, 6.640, 8.300, 10.070, 11.720, 14.001, 16.050, 18.300, 22.001, 25.501)
"""Bits per key up to which FastLocalBloom uses 1, 2, 3 … probes (`FastLocalBloomImpl::ChooseNumProbes`)."""
READAHEAD_AFTER: Final = 2
"""Sequential block reads before an iterator reads ahead (num_file_reads_for_auto_readahead)."""
READAHEAD_FIRST_BYTES: Final = 8 * 1024
"""`BlockBasedTableOptions::initial_auto_readahead_size`."""
READAHEAD_MOST_BYTES: Final = 256 * 1024
"""`BlockBasedTableOptions::max_auto_readahead_size`."""
AROUND_BYTES: Final = 128 * 1024
"""What the kernel reads around a fault in a mapped file, half of it ahead, and at most ahead of reads (VM_MAX_READAHEAD)."""
PAGE_BYTES: Final = 4096.0
"""What a read through the page cache is rounded to at either end."""


class Searched(NamedTuple):
    """A class of alike tables, of which reads search some."""

    tables: float
    """All of them."""
    per_read: float
    """Of them, how many a read searches on average."""


class Filter(Enum):
    """Kinds of Bloom filter."""

    FAST_LOCAL = "fast_local"
    """RocksDB's full filter with format_version >= 5 (6.6 on)."""
    LEGACY = "legacy"
    """RocksDB's full filter before that: as local, ln 2 · bits probes."""
    STANDARD = "standard"
    """Probes anywhere in the filter: LevelDB."""


def false_positive_rate(bits_per_key: float, kind: Filter = Filter.FAST_LOCAL) -> float:
    """Chance that a filter lets a key pass that its file does not hold; 1 without a filter (0 bits).

    A standard filter: (1 - e^(-probes / bits))^probes. A local one: the mean of that over cache lines one standard
    deviation more and less crowded than the average (`BloomMath::CacheLocalFpRate`, util/bloom_impl.h).
    """
    if bits_per_key < 0:
        raise InputError(f"bits_per_key: {bits_per_key} must not be negative")
    if bits_per_key < 0.5:  # RocksDB: below half a bit there is no filter
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


def lru_hit_rate(popularity: Popularity, cached_blocks: float) -> float:
    """Hit rate of an LRU cache that holds `cached_blocks` blocks, by Che's approximation.

    A block is in the cache if it was accessed in the last T accesses, T being such that the expected number of blocks
    so accessed fills the cache: Σ 1 - e^(-p T) = cached_blocks; the hit rate is Σ p (1 - e^(-p T)) (Che, Tung, Wang
    2002). With alike blocks it is cached_blocks / blocks. Accesses are taken as independent.
    """
    p, n = popularity.probability, popularity.blocks
    blocks = float(n[p > 0].sum())
    if cached_blocks <= 0:
        return 0.0
    if cached_blocks >= blocks:
        return 1.0
    if float(p[p > 0].max() - p[p > 0].min()) <= 1e-12 * float(p.max()):
        return cached_blocks / blocks
    low, high = -50.0, math.log(cached_blocks) + 2.0
    while _filled(popularity, math.exp(high)) < cached_blocks:
        high += 2.0
    for _ in range(60):  # bisection on log T: 60 halvings exhaust a double
        middle = (low + high) / 2
        if _filled(popularity, math.exp(middle)) < cached_blocks:
            low = middle
        else:
            high = middle
    return float(-np.sum(n * p * np.expm1(-p * math.exp(high))))


def cached_blocks(cache_bytes: float, block_bytes: float) -> float:
    """Data blocks that a block cache of `cache_bytes` holds."""
    return cache_bytes / block_bytes


def expected_block_reads(
    found: Sequence[float] | FloatArray,
    candidates: Sequence[float] | FloatArray,
    passes: float | Sequence[float] | FloatArray,
    in_memory: float = 0.0,
) -> float:
    """Data blocks that a Get looks up, in the block cache or beyond, on average.

    Per level, L0 first: `found`, the chance that the newest version lies there; `candidates`, the files whose range
    covers the key (L0: all of them, deeper: at most 1); `passes`, the chance that a candidate without the key costs a
    block all the same: the filter's false-positive rate, or 1 without a filter. `in_memory` is the chance that a
    memtable answers. What remains are keys that do not exist: they meet every candidate.
    """
    hit = np.asarray(found, dtype=np.float64)
    files = np.asarray(candidates, dtype=np.float64)
    useless = np.broadcast_to(np.asarray(passes, dtype=np.float64), files.shape) * files
    missing = 1.0 - in_memory - float(hit.sum())
    if missing < -1e-6 or in_memory < 0 or (len(hit) and float(hit.min()) < 0):
        raise ValueError(f"chances {hit.tolist()} and {in_memory} in memory must be 0 or more and sum to at most 1")
    above = np.concatenate(([0.0], np.cumsum(useless)[:-1]))
    # the file that holds the key is as likely to be the first as the last of its level's candidates
    beside = np.where(files > 1, useless * (files - 1) / (2 * np.maximum(files, 1)), 0.0)
    return float(np.sum(hit * (1.0 + above + beside)) + max(0.0, missing) * useless.sum())


def scan_block_reads(runs: float, entries: float, entries_per_block: float) -> float:
    """Data blocks that a scan looks up: one in every sorted run to begin with, then those it goes on into."""
    return runs + max(0.0, entries - 1.0) / entries_per_block


def scan_device_reads(
    runs: Sequence[tuple[float, float]], entries: float, entries_per_block: float, requests_of: BlockRequests
) -> tuple[float, float]:
    """(Requests, bytes) of a scan that finds nothing in memory. `runs`: bytes of one, and how many alike it merges.

    Its entries come from them by their sizes, and each run is read by an iterator of its own.
    """
    total = float_sum(size * count for size, count in runs)
    requests = read_bytes = 0.0
    for size, count in runs:
        if size > 0.0:
            asked, moved = requests_of(1.0 + (entries - 1.0) * size / total / entries_per_block)
            requests, read_bytes = requests + count * asked, read_bytes + count * moved
    return requests, read_bytes


def readahead(
    blocks: float,
    block_bytes: float,
    first_bytes: float = READAHEAD_FIRST_BYTES,
    most_bytes: float = READAHEAD_MOST_BYTES,
) -> tuple[float, float]:
    """(Requests, bytes) with which an iterator reads `blocks` consecutive blocks of one file from the device.

    The first two are read one by one; each further request takes a block and reads ahead, 8 KiB at first, doubling up
    to 256 KiB. Bytes include what is read ahead and not used. Fractions of a block are interpolated.
    """
    whole = math.floor(blocks)
    low = _readahead(whole, block_bytes, first_bytes, most_bytes)
    if blocks == whole:
        return low
    high = _readahead(whole + 1, block_bytes, first_bytes, most_bytes)
    part = blocks - whole
    return low[0] + part * (high[0] - low[0]), low[1] + part * (high[1] - low[1])


def read_around(wanted_bytes: float) -> tuple[float, float]:
    """(Requests waited for, bytes) with which consecutive bytes of a mapped file come from the device.

    A fault on a page that is not in memory reads 128 KiB, half of them before it. Who gets to the last quarter, and to
    the beginning of every window from then on, has the next 128 KiB read meanwhile (do_sync_mmap_readahead and
    do_async_mmap_readahead, mm/filemap.c): bytes that may be read in vain. A few blocks are merged in far less time than a
    window takes to come, so whoever enters a window waits for it.
    """
    half = AROUND_BYTES / 2
    entered = math.ceil(max(0.0, wanted_bytes - half) / AROUND_BYTES)
    ahead = 1 if wanted_bytes > half / 2 else 0
    return 1.0 + entered, AROUND_BYTES * (1.0 + entered + ahead)


def read_on_demand(wanted_bytes: float) -> tuple[float, float]:
    """(Requests waited for, bytes) with which consecutive bytes of a file come from the device if the kernel reads ahead.

    The first block as it is asked for; who goes on has windows of 16, 32, 64, 128, 128 … KiB read, each when the one
    before is entered (ondemand_readahead, mm/readahead.c).
    """
    requests, read_bytes, window = 1.0, 2.0 * PAGE_BYTES, 4.0 * PAGE_BYTES
    ahead = False
    while read_bytes < wanted_bytes + PAGE_BYTES:
        requests, read_bytes, ahead = requests + 1.0, read_bytes + window, True
        window = min(AROUND_BYTES, 2.0 * window)
    return requests, read_bytes + (window if ahead else 0.0)


def table_opens(searched: Sequence[Searched], open_tables: float) -> float:
    """Tables that a read finds closed, on average, where an LRU cache keeps `open_tables` open; by Che's approximation."""
    total = float_sum(part.per_read for part in searched)
    if total == 0.0 or float_sum(part.tables for part in searched) <= open_tables:
        return 0.0
    tables = np.array([part.tables for part in searched], dtype=np.float64)
    chance = np.array([part.per_read / part.tables for part in searched]) / total
    return total * (1.0 - lru_hit_rate(Popularity(chance, tables), open_tables))


def _readahead(blocks: int, block_bytes: float, first_bytes: float, most_bytes: float) -> tuple[float, float]:
    single = min(blocks, READAHEAD_AFTER)
    requests, size, wanted = single, single * block_bytes, blocks * block_bytes
    ahead = first_bytes
    while size < wanted and ahead < most_bytes:
        requests, size, ahead = requests + 1, size + block_bytes + ahead, min(most_bytes, 2 * ahead)
    if size < wanted:
        more = math.ceil((wanted - size) / (block_bytes + ahead))
        requests, size = requests + more, size + more * (block_bytes + ahead)
    return float(requests), float(size)


def _filled(popularity: Popularity, accesses: float) -> float:
    return float(-np.sum(popularity.blocks * np.expm1(-popularity.probability * accesses)))


def _standard_rate(bits_per_key: float, probes: int) -> float:
    return float((-math.expm1(-probes / bits_per_key)) ** probes)


def _fast_local_probes(bits_per_key: float) -> int:
    if bits_per_key > 50.0:
        return 24
    for probes, limit in enumerate(_PROBES, 1):
        if bits_per_key <= limit:
            return probes
    return int((bits_per_key * 1000 - 1) // 2000) - 1

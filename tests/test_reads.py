"""Costs of reads: filters, cache, probed files, scans."""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsmlab.models.costs.operations import block_depth, index_depth
from lsmlab.models.engines.table_reads import TableReads
from lsmlab.models.errors import InputError
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.table_format import Filter
from lsmlab.models.workloads.choosers import Chooser, InsertCursor, UniformKeys
from lsmlab.models.workloads.key_ranges import RangedKeys, range_shares
from lsmlab.models.workloads.ranks import Hotspot, PowerLaw, Zipf
from lsmlab.models.workloads.reads import (
    ScannedRun,
    TableClass,
    competing_bytes,
    false_positive_rate,
    lru_cache,
    read_around,
    read_on_demand,
    readahead,
    scan_device_reads,
    table_opens,
)
from lsmlab.models.workloads.skewed import RankedKeys, adjacent_blocks, scattered_blocks


def simulated_lru(blocks: list[int], capacity: int) -> float:
    """Return the hit rate of an LRU cache over the second half of the accesses."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for i, block in enumerate(blocks):
        hit = block in cache
        hits += hit and i >= len(blocks) // 2
        if hit:
            cache.move_to_end(block)
        else:
            cache[block] = None
            if len(cache) > capacity:
                cache.popitem(last=False)
    return hits / (len(blocks) - len(blocks) // 2)


CHOOSERS = {
    "uniform": UniformKeys(),
    "scrambled zipfian": RankedKeys(Zipf(0.99, 10**10)),
    "adjacent zipfian": RankedKeys(Zipf(0.99), scattered=False),
    "hotspot": RankedKeys(Hotspot(0.1, 0.9), scattered=False),
    "mixgraph": RangedKeys(range_shares(14.18, -2.917, 0.0164, -0.08082, 10), PowerLaw(0.002312, 0.3467)),
}


@pytest.mark.parametrize("name", CHOOSERS)
@pytest.mark.parametrize("share", [0.02, 0.2, 0.6])
def test_che_agrees_with_a_simulated_lru(name: str, share: float) -> None:
    """The computed hit rate is that of an LRU cache with the chooser's own reads, within 0.015.

    Half of 200 000 accesses are measured, with a standard error of at most 0.0016; the rest is Che's approximation and
    the random assignment of ranks to blocks.
    """
    chooser: Chooser = CHOOSERS[name]
    keys, per_block = 40_000, 8
    codes = chooser.start(KeySample(keys), InsertCursor()).sample_reads(200_000, np.random.default_rng(5))
    reads = np.random.default_rng(6).permutation(codes >> 1) // per_block
    capacity = int(share * keys / per_block)
    computed = lru_cache(chooser.popularity(keys, per_block), capacity).hit_rate()
    assert simulated_lru(reads.tolist(), capacity) == pytest.approx(computed, abs=0.015)


def test_uniform_hit_rate_is_the_cached_share() -> None:
    """With a quarter of equally popular blocks in the cache, a quarter of the accesses hit."""
    popularity = UniformKeys().popularity(1_000_000, 10.0)
    assert lru_cache(popularity, 25_000).hit_rate() == pytest.approx(0.25)
    assert lru_cache(popularity, 0).hit_rate() == 0.0
    assert lru_cache(popularity, 100_000).hit_rate() == 1.0


@given(st.floats(0.3, 3.0), st.integers(1, 10**9), st.floats(1, 300), st.booleans())
def test_popularity_is_a_distribution(constant: float, n: int, per_block: float, scattered: bool) -> None:
    """Probabilities sum to 1 over the right number of blocks, and the hit rate grows with the cache from 0 to 1."""
    popularity = (scattered_blocks if scattered else adjacent_blocks)(Zipf(constant), n, per_block)
    blocks = max(1.0, n / per_block)
    assert float(np.sum(popularity.probability * popularity.blocks)) == pytest.approx(1.0, abs=1e-6)
    assert float(np.sum(popularity.blocks)) == pytest.approx(blocks, rel=1e-6)
    rates = [lru_cache(popularity, share * blocks).hit_rate() for share in (0.0, 1e-3, 0.1, 0.5, 0.9, 1.1)]
    assert rates == sorted(rates)
    assert (rates[0], rates[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("share", [1e-6, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("constant", [0.5, 0.99, 2.0])
def test_blocks_of_the_last_accesses_fill_the_cache(constant: float, share: float) -> None:
    """Che's T is the number of accesses whose expected distinct blocks are exactly those that the cache holds."""
    popularity = scattered_blocks(Zipf(constant), 10**7, 10.0)
    cached = share * 1e6
    distinct = -np.expm1(-popularity.probability * lru_cache(popularity, cached).lifetime) * popularity.blocks

    assert float(distinct.sum()) == pytest.approx(cached, rel=1e-9)


def test_sampled_blocks_agree_with_all_blocks() -> None:
    """Above 2^17 blocks popularity is sampled; hit rates agree with those of the largest unsampled store."""
    law = Zipf(0.99, 10**10)
    all_blocks = scattered_blocks(law, 4 * (1 << 17), 4.0)
    sampled = scattered_blocks(law, 4 * (1 << 17) + 400, 4.0)
    for share in (0.001, 0.01, 0.1, 0.5):
        one, other = (lru_cache(p, share * (1 << 17)).hit_rate() for p in (all_blocks, sampled))
        assert one == pytest.approx(other, abs=0.005)


@pytest.mark.parametrize(
    ("bits", "kind", "rate"),
    [
        (0.0, Filter.FAST_LOCAL, 1.0),
        (10.0, Filter.STANDARD, (1 - math.exp(-0.6)) ** 6),
        (10.0, Filter.FAST_LOCAL, 0.00953),
        (16.0, Filter.FAST_LOCAL, 0.000797),
        (1.0, Filter.STANDARD, 1 - math.exp(-1)),
    ],
)
def test_false_positive_rates(bits: float, kind: Filter, rate: float) -> None:
    """10 bits per key pass 0.84 % in a standard filter and 0.95 % in RocksDB's (behaviour/reads.md, Filters)."""
    assert false_positive_rate(bits, kind) == pytest.approx(rate, rel=1e-3)


@given(st.floats(0.5, 100), st.floats(1.05, 2.0), st.sampled_from(Filter))
def test_more_bits_never_pass_more(bits: float, factor: float, kind: Filter) -> None:
    """A filter with more bits per key passes fewer absent keys; 2 % are allowed for the rounded number of probes."""
    assert false_positive_rate(bits * factor, kind) <= 1.02 * false_positive_rate(bits, kind)


def test_negative_bits_are_refused() -> None:
    """Negative bits per key raise InputError."""
    with pytest.raises(InputError):
        false_positive_rate(-1.0)


def one_by_one(blocks: float) -> tuple[float, float]:
    """Return a request for each block."""
    return blocks, blocks * 4096.0


def test_a_seek_into_a_gap_reads_the_first_block_of_the_next_file() -> None:
    """Of files that cover a quarter of the keys: half of the seeks end before a file, a quarter after the last one.

    The entries of the files count in full: a long scan reads as many of their blocks as if they covered all keys.
    """
    sparse = ScannedRun(1e9, 1.0, 4.0, one_by_one, 0.25, 0.5)
    cached = ScannedRun(1e9, 1.0, 4.0, one_by_one, 0.25, 0.5, uncached_after_gap=0.0)
    unmet = ScannedRun(1e9, 1.0, 4.0, one_by_one, 0.0, 1.0)  # no sampled key is in its files

    assert scan_device_reads([sparse], 1.0) == (0.75, 0.75 * 4096.0)
    assert scan_device_reads([cached], 1.0) == (0.25, 0.25 * 4096.0)
    assert scan_device_reads([cached], 801.0) == (200.25, 200.25 * 4096.0)
    assert scan_device_reads([unmet], 1.0) == (1.0, 4096.0)
    assert scan_device_reads([unmet], 801.0) == (201.0, 201.0 * 4096.0)


def test_a_scan_reads_each_run_ahead() -> None:
    """A scan reads ahead per sorted run: ten blocks of a large run take few requests, an empty run none."""
    sizes = [(9e9, 1.0), (0.5, 2.0), (0.0, 1.0)]
    runs = [ScannedRun(size, number, 4.0, lambda blocks: readahead(blocks, 4096.0)) for size, number in sizes]
    requests, size = scan_device_reads(runs, 41.0)
    large, ahead = readahead(11, 4096.0)

    assert requests == pytest.approx(large + 2.0)
    assert size == pytest.approx(ahead + 2.0 * 4096.0)
    assert large < 6.0


def test_readahead_doubles() -> None:
    """Blocks 1 and 2 are read singly, then 4 KiB + 8, 16, 32 … KiB per request, up to 256 KiB."""
    kib = 1024.0
    assert readahead(2, 4 * kib) == (2.0, 8 * kib)
    assert readahead(3, 4 * kib) == (3.0, 8 * kib + 12 * kib)
    assert readahead(6, 4 * kib) == (4.0, 8 * kib + 12 * kib + 20 * kib)
    requests, size = readahead(10_000, 4 * kib)
    assert requests == pytest.approx(10_000 * 4 / 260, abs=7)
    assert 40_000 * kib <= size < 40_000 * kib + 260 * kib


@given(st.floats(0, 2000))
def test_readahead_covers_the_blocks(blocks: float) -> None:
    """Readahead reads at least the bytes of the blocks, in at most as many requests as blocks."""
    requests, size = readahead(blocks, 4096.0)
    assert size >= blocks * 4096 - 1e-6
    assert requests <= math.ceil(blocks)


def test_a_fault_in_a_mapped_file_reads_around() -> None:
    """A page fault reads 128 KiB around a block; from 32 KiB on the kernel keeps one more window of 128 KiB ahead."""
    kib = 1024.0
    assert read_around(4 * kib) == (1.0, 128 * kib)
    assert read_around(33 * kib) == (1.0, 256 * kib)
    assert read_around(100 * kib) == (2.0, 384 * kib)
    assert read_around(193 * kib) == (3.0, 512 * kib)


def test_the_kernel_reads_on_demand() -> None:
    """The kernel reads the block's two pages, then windows of 4, 8, 16, 32, 32 … pages, always one ahead."""
    page = 4096.0
    assert read_on_demand(page) == (1.0, 2 * page)
    assert read_on_demand(2 * page) == (2.0, (2 + 4 + 8) * page)
    assert read_on_demand(22 * page) == (4.0, (2 + 4 + 8 + 16 + 32) * page)
    requests, size = read_on_demand(10_000 * page)
    assert requests == pytest.approx(4 + 10_000 / 32, abs=1)
    assert size == pytest.approx((10_000 + 32) * page, abs=33 * page)


def test_tables_are_opened_beyond_max_open_files() -> None:
    """No table is reopened if all fit; of one run the share that does not fit is; tables of small runs stay open."""
    assert table_opens([TableClass(900.0, 1.0), TableClass(90.0, 1.0)], 990.0) == 0.0
    assert table_opens([TableClass(5000.0, 1.0)], math.inf) == 0.0
    assert table_opens([], 990.0) == 0.0
    assert table_opens([TableClass(1980.0, 1.0)], 990.0) == pytest.approx(0.5)
    assert table_opens([TableClass(1980.0, 1.0), TableClass(5.0, 1.0)], 990.0) == pytest.approx(0.5, abs=0.01)


def test_opens_agree_with_a_simulated_table_cache() -> None:
    """With LevelDB's 990 open tables and lookups in four levels, opens per lookup agree within 0.02."""
    rng = np.random.default_rng(7)
    levels = (5, 50, 500, 4500)
    searched = np.column_stack([rng.integers(n, size=20_000) + 10_000 * i for i, n in enumerate(levels)]).ravel()

    opens = len(levels) * (1.0 - simulated_lru(searched.tolist(), 990))

    assert table_opens([TableClass(float(n), 1.0) for n in levels], 990.0) == pytest.approx(opens, abs=0.02)


MB = 1e6


@pytest.mark.parametrize(
    ("accesses", "sizes", "competing"),
    [
        ([1.0], [100.0], [100.0]),
        ([1.0] * 8, [20.0] * 8, [160.0] * 8),  # files of equal size: all compete
        ([1.0, 1.0], [10.0, 300.0], [20.0, 310.0]),  # between two reads of a byte of the small level, 10 bytes of the large one
        ([0.5, 1.0], [10.0, 300.0], [30.0, 310.0]),
        ([0.0, 1.0], [10.0, 300.0], [0.0, 300.0]),  # nothing is read from the first
        ([], [], []),
    ],
)
def test_bytes_that_compete_for_the_caches(accesses: list[float], sizes: list[float], competing: list[float]) -> None:
    """Bytes with as many accesses per byte compete in full, others as far as they are read in between."""
    assert competing_bytes(accesses, sizes) == pytest.approx(competing)


def test_only_leveldb_searches_an_index_without_a_block() -> None:
    """LevelDB finds a block's filter by an index search; RocksDB's filter of a whole table needs none."""
    tables = [TableClass(10.0, 1.0, 0.2, 500 * MB, false_positive=0.01)]
    indexes, doublings, block_doublings = TableReads(filter=Filter.STANDARD).index_searches(tables)

    assert indexes == pytest.approx(0.99 * 0.8)
    assert doublings == pytest.approx(0.99 * 0.8 * index_depth(500 * MB))
    assert block_doublings == pytest.approx((0.2 + 0.01 * 0.8) * block_depth(500 * MB))
    assert TableReads().index_searches(tables) == (0.0, 0.0, block_doublings)
    assert TableReads().index_searches([]) == (0.0, 0.0, 0.0)

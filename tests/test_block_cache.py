"""A block cache that is empty at the start fills with the blocks of the first reads (docs/decisions/0047)."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from lsmlab.models.devices.conditions import read_conditions
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.tree.tree import Tree
from lsmlab.models.workloads.choosers import Chooser, InsertCursor, UniformKeys
from lsmlab.models.workloads.ranks import Zipf
from lsmlab.models.workloads.reads import BlockGroup, BlockKind, BlockPlace, lru_cache
from lsmlab.models.workloads.skewed import RankedKeys
from lsmlab.sim.clients.lookups import scan_runs
from lsmlab.sim.clients.memtable_fill import MemtableFill
from lsmlab.sim.clients.rates import Damping
from lsmlab.sim.clients.warming_cache import PopularityOf, WarmingCache
from running import SMALL, simulate

READS = (
    *SMALL, "prefill=fillrandom", "prefill.value_size=100", "prefill.num=200000", "workload=readrandom",
    "engine.options.use_direct_reads=true", "workload.duration=4s", "workload.threads=2",
)  # fmt: skip
LARGE, SMALLER = "engine.options.cache_size=1GiB", "engine.options.cache_size=4MiB"


def uniform(keys: int) -> PopularityOf:
    """Return the popularity of blocks of ten of `keys` equally popular keys, and of larger ones."""
    return lambda doublings: UniformKeys().popularity(keys, 10.0 * 2.0**doublings)


def in_blocks(blocks: int, written: float = 0.0) -> dict[BlockPlace, BlockGroup]:
    """Return the blocks of one level, a share of them new."""
    return {BlockPlace(1): BlockGroup(1.0, float(blocks), written)}


def misses(blocks: list[int], capacity: int, at: int) -> float:
    """Return the share of misses in an LRU cache around access `at`, over a tenth of the accesses before and after."""
    cache: OrderedDict[int, None] = OrderedDict()
    missed = []
    for block in blocks[: round(1.1 * at)]:
        missed.append(block not in cache)
        cache[block] = None
        cache.move_to_end(block)
        if len(cache) > capacity:
            cache.popitem(last=False)
    return float(np.mean(missed[round(0.9 * at) :]))


@pytest.mark.parametrize("chooser", [UniformKeys(), RankedKeys(Zipf(0.99, 10**10))], ids=["uniform", "zipfian"])
@pytest.mark.parametrize("accesses", [1_000, 5_000, 20_000, 100_000])
def test_the_hit_rate_grows_as_in_a_simulated_lru_cache(chooser: Chooser, accesses: int) -> None:
    """After any number of accesses to an empty cache of half of the blocks, the hit rate is within 0.04.

    The standard error of 200 accesses is 0.035 at most, and that of 4,000 and more 0.008.
    """
    keys, per_block = 40_000, 8
    codes = chooser.start(KeySample(keys), InsertCursor()).sample_reads(120_000, np.random.default_rng(5))
    reads = (np.random.default_rng(6).permutation(codes >> 1) // per_block).tolist()
    cache = lru_cache(chooser.popularity(keys, per_block), 2_500)

    assert cache.hit_rate(accesses) == pytest.approx(1.0 - misses(reads, 2_500, accesses), abs=0.04)


def test_each_block_is_read_once_into_a_large_cache() -> None:
    """With room for all blocks, the device reads the data once; reads are slow at first and fast at the end."""
    summary = simulate(*READS, LARGE).summary
    series = np.asarray(simulate(*READS, LARGE).series["read_ops"])
    data_bytes = float(summary["live_bytes"])

    assert summary["device_bytes_read"] == pytest.approx(1.12 * data_bytes, rel=0.12)  # a block of 4 KiB needs 9 sectors
    assert series[-1] > 1.15 * series[0]
    assert summary["read_latency_s"]["p9999"] > 20.0 * summary["read_latency_s"]["p50"]


def test_a_warm_cache_reads_nothing() -> None:
    """`conditions.block_cache=warm` starts with all blocks in a cache that has room for them."""
    warm = simulate(*READS, LARGE, "conditions.block_cache=warm").summary

    assert warm["device_bytes_read"] == 0
    assert warm["ops_per_s"] > simulate(*READS, LARGE).summary["ops_per_s"]


def test_a_small_cache_ends_at_the_same_hit_rate() -> None:
    """A cache that is much smaller than the data is full soon: then it makes no difference that it was empty."""
    cold, warm = (simulate(*READS, SMALLER, f"conditions.block_cache={start}") for start in ("empty", "warm"))

    assert cold.summary["block_cache"]["hit_rate"] == pytest.approx(warm.summary["block_cache"]["hit_rate"], rel=0.05)
    assert np.asarray(cold.series["read_ops"])[-1] == pytest.approx(np.asarray(warm.series["read_ops"])[-1], rel=0.03)


@pytest.mark.parametrize("threads", [4, 16, 64, 128])
def test_several_readers_of_one_drive_share_it(threads: int) -> None:
    """In a closed loop, threads are the rate times the mean time of a read, also when the threads wait for each other."""
    summary = simulate(*READS, "engine.options.cache_size=8KiB", f"workload.threads={threads}").summary

    assert summary["ops_per_s"] * summary["read_latency_s"]["mean"] == pytest.approx(threads, rel=0.05)
    assert summary["lost_operations"]["total"] == 0.0


@pytest.mark.parametrize("slope", [-0.5, -0.9, -3.0, -30.0, 0.8])
def test_a_rate_that_lowers_itself_is_found(slope: float) -> None:
    """From 10 the rate goes to the fixed point of 100 + slope x (rate - 100), also where plain iteration diverges."""
    damping, rate = Damping(), 10.0
    for _ in range(20):
        rate = damping.next(rate, 100.0 + slope * (rate - 100.0))

    assert rate == pytest.approx(100.0, rel=0.02)


def test_blocks_of_replaced_files_leave_the_cache() -> None:
    """If compactions replace a tenth of 1000 blocks in the time of 300 accesses, one access in four is the first to its block."""
    cache = WarmingCache([(1.0, uniform(10_000))], 2_000.0, warm=True)
    cache.advance(0.0, in_blocks(1_000), 0.0)
    assert cache.hit_rate == pytest.approx(1.0, abs=1e-3)

    for second in range(1, 100):
        cache.advance(300.0, in_blocks(1_000, 0.1), float(second))

    assert cache.hit_rate == pytest.approx(0.3 / (0.3 + 0.1), rel=1e-3)


def test_few_accesses_after_a_compaction_miss_few_blocks() -> None:
    """If 1 % of a full cache is replaced, 1 % of the next reads miss, however rare they are; accesses renew the blocks."""
    cache = WarmingCache([(1.0, uniform(100_000))], 20_000.0, warm=True)
    cache.advance(0.0, in_blocks(10_000), 0.0)

    cache.advance(1.0, in_blocks(10_000, 0.01), 1.0)
    assert cache.hit_rate == pytest.approx(0.99, abs=1e-3)

    cache.advance(1.0, in_blocks(10_000, 1.0), 2.0)
    assert cache.hit_rate == pytest.approx(0.5, abs=0.01)
    assert cache.advance(10_000.0, in_blocks(10_000), 3.0) < math.inf  # the hit rate rises further without another compaction
    assert cache.advance(50_000.0, in_blocks(10_000), 4.0) == math.inf
    assert cache.hit_rate > 0.99


def test_the_hit_rate_beside_compactions_is_that_of_a_simulated_cache() -> None:
    """In a cache of 500 of 1000 blocks, one of which is replaced after each second access, the hit rate is within 0.03.

    A replaced block has another name in the cache, and its old one stays until it is evicted.
    """
    rng, cache, hits, versions = np.random.default_rng(3), OrderedDict[tuple[int, int], None](), [], [0] * 1_000
    for step in range(60_000):
        number = int(rng.integers(1_000))
        block = number, versions[number]
        hits.append(block in cache)
        cache[block] = None
        cache.move_to_end(block)
        if len(cache) > 500:
            cache.popitem(last=False)
        if step % 2:
            versions[int(rng.integers(1_000))] += 1
    full = lru_cache(UniformKeys().popularity(10_000, 10.0), 500.0)

    assert full.hit_rate(new=0.5 / 1_000.0) == pytest.approx(float(np.mean(hits[20_000:])), abs=0.03)
    assert full.hit_rate(new=0.5 / 1_000.0) < full.hit_rate() - 0.05


def test_a_writer_empties_a_large_cache() -> None:
    """Beside a writer whose store is compacted again and again, gets read blocks of new files from the device."""
    beside = ("workload=readwhilewriting", "workload.reads=100000", LARGE, "conditions.block_cache=warm")
    idle = ("workload.benchmark_write_rate_limit=1KB/s",)
    busy, still = (simulate(*READS, *beside, *more).summary for more in ((), idle))

    assert still["read_latency_s"]["p99"] < 30e-6
    assert busy["read_latency_s"]["p99"] > 70e-6  # a request to the drive


@pytest.mark.parametrize("chooser", [UniformKeys(), RankedKeys(Zipf(0.99, 10**10))], ids=["uniform", "zipfian"])
def test_small_levels_stay_in_the_cache_of_scans(chooser: Chooser) -> None:
    """Short scans access a block of each level, so small levels hit most; hit rates are within 0.05 of a simulated LRU cache."""
    sizes, capacity, keys = (100, 600, 3_600), 800, 28_800
    codes = chooser.start(KeySample(keys), InsertCursor()).sample_reads(30_000, np.random.default_rng(5))
    places = np.random.default_rng(6).permutation(codes >> 1) / keys
    cache: OrderedDict[tuple[int, int], None] = OrderedDict()
    hits = np.zeros(3)
    for number, place in enumerate(places.tolist()):
        for level, blocks in enumerate(sizes):
            block = level, int(place * blocks)
            hits[level] += block in cache if number >= 10_000 else 0
            cache[block] = None
            cache.move_to_end(block)
            if len(cache) > capacity:
                cache.popitem(last=False)

    readers = [(1.0, lambda doublings: chooser.popularity(keys, 8.0 * 2.0**doublings))]
    model = WarmingCache(readers, float(capacity), warm=True)
    model.advance(0.0, {BlockPlace(level): BlockGroup(1.0, float(blocks)) for level, blocks in enumerate(sizes)}, 0.0)

    assert [model.hit_rates[BlockPlace(level)] for level in range(3)] == pytest.approx((hits / 20_000).tolist(), abs=0.01)
    assert model.hit_rate == pytest.approx(hits.mean() / 20_000, abs=0.01)


def test_a_new_level_is_not_in_the_cache() -> None:
    """After a flush has replaced L0, its blocks miss until reads have cached them; blocks of other levels stay.

    The hit rate is that of a steady state, so it is 0.67 where a simulated cache has 0.57: L0 of 100 blocks is replaced after
    every 200 accesses to it, all at once.
    """
    sizes = {BlockPlace(0): 100.0, BlockPlace(1): 1_000.0, BlockPlace(2): 20_000.0}
    cache = WarmingCache([(1.0, uniform(200_000))], 1e6, warm=True)
    cache.advance(0.0, {place: BlockGroup(1.0, blocks) for place, blocks in sizes.items()}, 0.0)

    flushed = {place: BlockGroup(1.0, blocks, float(place.level == 0)) for place, blocks in sizes.items()}
    cache.advance(1.0, flushed, 1.0)
    assert cache.hit_rates[BlockPlace(0)] < 0.51  # as many new blocks as in a steady state of one per access
    assert cache.hit_rates[BlockPlace(1)] == cache.hit_rates[BlockPlace(2)] == 1.0

    rng, cached, hits = np.random.default_rng(2), set[tuple[int, int]](), []
    for read in range(18_000):
        block = read // 200, int(rng.integers(100))  # 200 accesses to L0 in the time of 600 accesses
        hits.append(block in cached)
        cached.add(block)
    for second in range(2, 40):
        cache.advance(600.0, flushed, float(second))
    assert cache.hit_rates[BlockPlace(0)] == pytest.approx(float(np.mean(hits)), abs=0.12)


def test_reads_in_gaps_of_a_level() -> None:
    """Of keys 0 to 99, 50 are in the two files of L1, 30 before one of them, 20 after both; L0's file covers 10 to 19."""
    tree = Tree(2, [SortedFile(1, 10, 19, 100)], [Level(), Level([SortedFile(2, 10, 29, 100), SortedFile(3, 50, 79, 300)])])
    own = TableFormat()

    l0, l1 = scan_runs(tree, [own], np.arange(100))

    assert (l0.level, l0.covered, l0.gaps) == (0, 0.1, 0.1)
    assert (l1.level, l1.covered, l1.gaps) == (1, 0.5, pytest.approx(0.3))
    assert [(run.covered, run.gaps) for run in scan_runs(tree, [own], np.arange(0))] == [(1.0, 0.0)] * 2


@pytest.mark.parametrize(("writing", "entries"), [(True, 50.0), (False, 30.0)])
def test_a_read_searches_half_of_a_memtable_that_fills(writing: bool, entries: float) -> None:
    """While clients write, the active memtable is half full on average; while they are stopped, it is as it is."""
    fill = MemtableFill([1.0], [100.0], [1.0], np.random.default_rng(1))

    assert fill.mean_active(30.0, writing, 0) == pytest.approx(entries)


@pytest.mark.parametrize("value", ["hot", None, 1])
def test_other_beginnings_are_refused(value: object) -> None:
    """`block_cache` is empty or warm."""
    with pytest.raises(InputError, match=r"conditions.block_cache: .* must be empty or warm"):
        read_conditions({"block_cache": value})


def test_index_and_filter_blocks_share_the_cache_as_in_a_simulated_lru_cache() -> None:
    """Each read looks up the filter of one of 20 tables, for two of three its index, and then a data block, all in one cache.

    A filter has the bytes of eight data blocks, an index of five. The hit rates are within 0.015.
    """
    tables, blocks, capacity, rng = 20, 2_000, 280, np.random.default_rng(7)
    sizes = {BlockKind.FILTER: 8, BlockKind.INDEX: 5, BlockKind.DATA: 1}
    cache: OrderedDict[tuple[BlockKind, int], None] = OrderedDict()
    used, hits, looked = 0, dict.fromkeys(sizes, 0), dict.fromkeys(sizes, 0)
    for number in range(60_000):
        place, passes = rng.random(), rng.random() < 2 / 3
        for kind, count in ((BlockKind.FILTER, tables), (BlockKind.INDEX, tables), (BlockKind.DATA, blocks)):
            if kind is not BlockKind.FILTER and not passes:
                continue
            block = kind, int(place * count)
            looked[kind] += number >= 10_000
            hits[kind] += block in cache and number >= 10_000
            used += 0 if block in cache else sizes[kind]
            cache[block] = None
            cache.move_to_end(block)
            while used > capacity:
                used -= sizes[cache.popitem(last=False)[0][0]]

    model = WarmingCache([(1.0, uniform(10 * blocks))], float(capacity), warm=True)
    tails = {
        BlockPlace(1, kind): BlockGroup(often * sizes[kind], float(tables * sizes[kind]))
        for kind, often in ((BlockKind.FILTER, 1.0), (BlockKind.INDEX, 2 / 3))
    }
    model.advance(0.0, {BlockPlace(1): BlockGroup(2 / 3, float(blocks))}, 0.0, tails)

    found = [model.beside_rates[BlockPlace(1, kind)] for kind in (BlockKind.FILTER, BlockKind.INDEX)]
    expected = [hits[kind] / looked[kind] for kind in sizes]
    assert [*found, model.hit_rate] == pytest.approx(expected, abs=0.015)
    assert expected[1] < 0.99, "some of them leave the cache"


def test_a_small_cache_reads_index_and_filter_blocks_again() -> None:
    """In the cache they take the room of data blocks, and a cache that does not hold them reads them again."""
    filters = ("engine.options.bloom_bits=10",)
    inside = (*filters, "engine.options.cache_index_and_filter_blocks=true")
    outside, small, tiny = (
        simulate(*READS, *options, f"engine.options.cache_size={size}").summary
        for options, size in ((filters, "1MiB"), (inside, "1MiB"), (inside, "128KiB"))
    )

    def per_read(summary: dict[str, Any]) -> float:
        return float(summary["device_bytes_read"] / summary["operations"])

    assert small["block_cache"]["hit_rate"] < outside["block_cache"]["hit_rate"]
    assert per_read(outside) < per_read(small) < per_read(tiny) / 2
    assert (small["memory"]["filter_bytes"], small["memory"]["index_bytes"]) == (0, 0)
    assert outside["memory"]["filter_bytes"] > 0

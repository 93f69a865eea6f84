"""Key choosers: sampled and exact runs agree with theory and with each other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsmlab.models.errors import InputError
from lsmlab.models.tree.key_order import Hashed, InsertRanges, KeyOrder, Ordered
from lsmlab.models.tree.keys import KeySample, choose_rate
from lsmlab.models.workloads.choosers import Chooser, InsertCursor, SequentialKeys, UniformKeys
from lsmlab.models.workloads.hashes import fnv1a_64
from lsmlab.models.workloads.key_ranges import RangedKeys, range_shares
from lsmlab.models.workloads.mixgraph import MixGraph
from lsmlab.models.workloads.mt19937 import FillRandomKeys, Mt19937x64
from lsmlab.models.workloads.ranks import Exponential, Hotspot, LogUniform, PowerLaw, RankLaw, Zipf
from lsmlab.models.workloads.skewed import RankedKeys, RecentKeys

UDB_RANGES = range_shares(14.18, -2.917, 0.0164, -0.08082, 30)
SKEWED = {
    "uniform": UniformKeys(),
    "scrambled zipfian": RankedKeys(Zipf(0.99, 10**10)),
    "zipfian 2": RankedKeys(Zipf(2.0)),
    "adjacent zipfian": RankedKeys(Zipf(0.99), scattered=False),
    "hotspot": RankedKeys(Hotspot(0.01, 0.9), scattered=False),
    "small hotspot": RankedKeys(Hotspot(0.0001, 0.5), scattered=False),
    "log-uniform": RankedKeys(LogUniform(15.0)),
    "mixgraph": RangedKeys(UDB_RANGES, PowerLaw(0.002312, 0.3467)),
}


def fills(chooser: Chooser, rate: float, fills: int = 30, size: int = 20_000, seed: int = 7) -> tuple[KeySample, list]:
    """Return the key sample and `fills` memtables of `size` writes each over half a million keys."""
    population = 500_000
    sample = KeySample(population, rate, hot=chooser.hot_numbers(population, round(1 / rate)))
    state = chooser.start(sample, InsertCursor())
    rng = np.random.default_rng(seed)
    return sample, [state.distinct(size, rng) for _ in range(fills)]


@pytest.mark.parametrize("rate", [1.0, 2.0**-4, 2.0**-7])
def test_uniform_fills_match_theory(rate: float) -> None:
    """At any rate, n uniform writes to N keys leave N (1 - (1 - 1/N)^n) distinct keys, within 5 standard errors."""
    sample, runs = fills(UniformKeys(), rate, fills=200)
    n, keys = 20_000, 500_000
    expected = keys * -math.expm1(n * math.log1p(-1 / keys))
    counts = np.array([sample.entries(r) for r in runs])
    # The count of distinct keys of n draws has a deviation below sqrt(n²/2N); sampling multiplies it by sqrt(1/rate).
    error = math.sqrt(n * n / (2 * keys) / rate) / math.sqrt(len(runs))
    assert abs(counts.mean() - expected) < 5 * error + 1e-3 * expected


@pytest.mark.parametrize("name", SKEWED)
def test_sampled_fills_agree_with_exact_ones(name: str) -> None:
    """Distinct keys of a memtable, those common to two memtables, and those of thirty: a sample gives the exact values.

    The tolerance is three standard errors: a sampled key represents 32 keys, and thirty memtables are averaged.
    """
    measures = []
    for rate in (1.0, 2.0**-5):
        sample, runs = fills(SKEWED[name], rate)
        alone = np.mean([sample.entries(r) for r in runs])
        shared = np.mean([sample.entries(np.intersect1d(a, b)) for a, b in itertools.pairwise(runs)])
        union = sample.entries(np.unique(np.concatenate(runs)))
        measures.append((alone, shared, union))
    for exact, sampled, repeats in zip(*measures, (30, 29, 1), strict=True):
        tolerance = 3 * math.sqrt(32 * exact / repeats)
        assert abs(sampled - exact) < tolerance


@pytest.mark.parametrize("name", SKEWED)
@pytest.mark.parametrize("rate", [1.0, 2.0**-6])
def test_fills_are_sorted_distinct_and_repeatable(name: str, rate: float) -> None:
    """Codes ascend strictly, belong to the sample's preloaded set, and depend on the seed alone."""
    sample, runs = fills(SKEWED[name], rate, fills=3)
    _, again = fills(SKEWED[name], rate, fills=3)
    everything = sample.codes()
    for run, twin in zip(runs, again, strict=True):
        assert (np.diff(run) > 0).all()
        assert np.isin(run, everything).all()
        assert run.tolist() == twin.tolist()


def test_fractions_of_sampled_keys_are_carried_over() -> None:
    """A hundred memtables of 1.6 sampled keys each contain 160 keys in all, not 100 and not a random number."""
    sample = KeySample(2**40, 2.0**-10)  # so many keys that no two writes hit the same one
    state = UniformKeys().start(sample, InsertCursor())
    rng = np.random.default_rng(1)
    keys = sum(len(state.distinct(1.6 * 1024, rng)) for _ in range(100))
    assert keys in (159, 160)  # a fraction may be left over for the next memtable


def test_exact_uniform_keys_are_db_bench_s() -> None:
    """In an exact run with a seed, memtables contain db_bench's own key sequence, cut where each memtable is full."""
    sample = KeySample(1000)
    state = UniformKeys(seed=42, threads=2).start(sample, InsertCursor())
    rng = np.random.default_rng(1)
    got = [state.distinct(101, rng), state.distinct(99, rng)]
    one, two = FillRandomKeys(42, 1, 1000).take(100), FillRandomKeys(42, 2, 1000).take(100)
    assert [k << 1 for k in sorted({*one[:51].tolist(), *two[:50].tolist()})] == got[0].tolist()
    assert [k << 1 for k in sorted({*one[51:].tolist(), *two[50:].tolist()})] == got[1].tolist()


@pytest.mark.parametrize("order", [Ordered(), Hashed(), InsertRanges(10)])
@pytest.mark.parametrize("rate", [1.0, 2.0**-5])
def test_inserts_write_every_key_once(order: KeyOrder, rate: float) -> None:
    """Consecutive memtables of inserts share no key and together contain all keys, whatever the key order."""
    sample = KeySample(10_000, rate, order)
    state = SequentialKeys().start(sample, InsertCursor())
    rng = np.random.default_rng(1)
    runs = [state.distinct(312.5, rng) for _ in range(32)]
    written = np.concatenate(runs)
    assert len(written) == len(np.unique(written))
    assert np.isin(sample.codes(), written).all()


def test_sequential_fills_do_not_overlap() -> None:
    """In key order, each memtable follows the previous one; with ten ranges, each spans nearly the whole key space."""
    rng = np.random.default_rng(1)
    ordered = SequentialKeys().start(KeySample(10_000), InsertCursor())
    first, second = ordered.distinct(100, rng), ordered.distinct(100, rng)
    assert (first[0], first[-1]) == (0, 198)
    assert (second[0], second[-1]) == (200, 398)
    ranged = SequentialKeys().start(KeySample(10_000, order=InsertRanges(10)), InsertCursor())
    assert [(start * 1000 + i) << 1 for start in range(10) for i in range(2)] == ranged.distinct(20, rng).tolist()


@given(st.integers(1, 5000), st.sampled_from([Ordered(), Hashed(), InsertRanges(1), InsertRanges(7), InsertRanges(10_000)]))
def test_key_orders_are_bijections(size: int, order: KeyOrder) -> None:
    """Every key order maps the numbers below `size` one to one onto [0, size)."""
    assert list(range(size)) == np.sort(order.place(np.arange(size), size)).tolist()


@given(st.integers(1, 10**9), st.floats(1, 10**7), st.integers(1, 1000))
def test_weights_sum_to_the_population(population: int, entries: float, samples: int) -> None:
    """At any rate, a sample has at least one key, and its weights sum to the population."""
    sample = KeySample(population, choose_rate(entries, samples, population))
    assert sample.cells >= 1
    assert population == pytest.approx(sample.cells * sample.weight)


def test_rate_is_chosen_by_samples_per_file() -> None:
    """460,000 entries at about 400 samples give a rate of 1/1024; a population below a file's keeps 400 too."""
    assert choose_rate(460_000, 400, 10**9) == 1 / 1024
    assert choose_rate(460_000, 400, 1000) == 1 / 2
    assert choose_rate(460_000, 400, 100) == 1.0
    with pytest.raises(InputError):
        choose_rate(460_000, 0, 100)


def test_hot_keys_weigh_one() -> None:
    """Hot keys weigh 1 and the others share the rest; `entries` is the sum of `weights`."""
    sample = KeySample(1024, 1 / 64, hot=np.array([3, 500]))
    codes = sample.codes()
    assert len(codes) == 16 + 2
    assert pytest.approx(float(np.sum(sample.weights(codes)))) == 1024.0
    assert pytest.approx(sample.entries(codes)) == 1024.0
    assert np.unique(np.asarray(sample.weights(codes))).tolist() == [1.0, (1024 - 2) / 16]
    assert sample.number_codes(np.array([3, 4])).tolist() == [(3 << 1) | 1, 0]


LAWS: list[tuple[RankLaw, int]] = [
    (Zipf(), 10_000), (Zipf(0.5), 1000), (Zipf(1.0), 1000), (Zipf(2.0), 1000), (Zipf(5.0), 1000), (Zipf(), 1),
    (Zipf(), 2), (Zipf(), 3), (Zipf(0.99, 10**10), 1000), (PowerLaw(0.002312, 0.3467), 1000), (LogUniform(10.0), 10**6),
    (Exponential(), 1000), (Hotspot(), 1000), (Hotspot(0.0, 1.0), 100), (Hotspot(1.0, 0.2), 100),
]  # fmt: skip


@pytest.mark.parametrize(("law", "n"), LAWS, ids=str)
def test_draws_follow_the_distribution_function(law: RankLaw, n: int) -> None:
    """Ranks at evenly spaced fractions have the law's distribution function, which goes from 0 to 1."""
    u = (np.arange(1_000_000) + 0.5) / 1_000_000
    ranks = law.draw(u, n)
    at = np.unique(np.minimum([0, 1, 2, 3, 7, 30, 200, 900, 1e9], law.items(n)))
    share = np.array([np.mean(ranks < r) for r in at])
    assert (np.abs(share - law.cdf(at, n)) <= 2e-6).all()
    assert ranks.min() >= 0
    assert ranks.max() < law.items(n)
    assert law.cdf(np.array([0.0, law.items(n)]), n).tolist() == [0.0, 1.0]


def test_ycsb_constants() -> None:
    """YCSB's precomputed ζ(10^10, 0.99) = 26.46902820178302 and its hash of 1 are reproduced."""
    assert pytest.approx(float(Zipf(0.99, 10**10).cdf(np.array([1.0]), 1000)[0]), rel=1e-9) == 1 / 26.46902820178302
    value = 0xCBF29CE484222325
    for byte in (1, 0, 0, 0, 0, 0, 0, 0):
        value = ((value ^ byte) * 1099511628211) % 2**64
    signed = value - 2**64 if value >= 2**63 else value
    assert abs(signed) == int(fnv1a_64(np.array([1]))[0])


@pytest.mark.parametrize("name", SKEWED)
def test_reads_are_drawn_as_writes_are(name: str) -> None:
    """The share of reads on a sample's hot keys is their share under the law; all codes are keys of the store."""
    chooser = SKEWED[name]
    exact, _ = fills(chooser, 1.0, fills=0)
    sample, _ = fills(chooser, 2.0**-6, fills=0)
    rng = np.random.default_rng(3)
    one = chooser.start(exact, InsertCursor()).sample_reads(200_000, rng)
    some = chooser.start(sample, InsertCursor()).sample_reads(200_000, rng)
    assert np.isin(some, sample.codes()).all()
    if len(sample.hot):
        expected = np.mean(np.isin(one, sample.hot << 1))
        error = math.sqrt(2 * expected * (1 - expected) / 200_000)
        # ranks beyond those of the sample's hot keys that hash onto a hot key count as hot only in the exact run
        assert expected == pytest.approx(np.mean(some & 1), abs=5 * error + 0.01)


def test_latest_follows_the_cursor() -> None:
    """Reads of recent keys reach exactly the newest keys, and follow insertions."""
    sample = KeySample(20_000, order=Ordered())
    cursor = InsertCursor(10_000)
    reads = RecentKeys(Zipf()).start(sample, cursor)
    inserts = SequentialKeys().start(sample, cursor)
    rng = np.random.default_rng(1)
    assert int(reads.sample_reads(10_000, rng).max() >> 1) == 9_999
    inserts.distinct(500, rng)
    codes = reads.sample_reads(10_000, rng) >> 1
    assert int(codes.max()) == 10_499
    newest = float(Zipf().cdf(np.array([1.0]), 10_500)[0])
    assert newest == pytest.approx(np.mean(codes == 10_499), abs=2e-4)


def test_key_ranges_of_the_udb_trace() -> None:
    """Range shares follow the published two-term law in units of the coldest range, rounded down, in random order."""
    law = [14.18 * math.exp(-2.917 * i) + 0.0164 * math.exp(-0.08082 * i) for i in range(1, 31)]
    shares = [math.floor(p * (math.floor(1 / law[-1]) + 1)) for p in law]
    assert sorted(shares) == sorted(UDB_RANGES)
    assert sorted(UDB_RANGES) != list(UDB_RANGES)


def first_outputs(seeds: np.ndarray) -> np.ndarray:
    """Return the first output of std::mt19937_64 for each seed, from the words 0, 1 and 156 of its first state."""
    word, words = seeds.astype(np.uint64), {}
    for i in range(1, 157):
        words[i - 1] = word
        word = np.uint64(6364136223846793005) * (word ^ (word >> np.uint64(62))) + np.uint64(i)
    mixed = (words[0] & np.uint64(0xFFFFFFFF80000000)) | (words[1] & np.uint64(0x7FFFFFFF))
    first = word ^ (mixed >> np.uint64(1)) ^ ((mixed & np.uint64(1)) * np.uint64(0xB5026F5AA96619E9))
    first ^= (first >> np.uint64(29)) & np.uint64(0x5555555555555555)
    first ^= (first << np.uint64(17)) & np.uint64(0x71D67FFFEDA60000)
    first ^= (first << np.uint64(37)) & np.uint64(0xFFF7EEE000000000)
    return first ^ (first >> np.uint64(43))


def db_bench_keys(numbers: np.ndarray, keys: int, shares: tuple[int, ...]) -> np.ndarray:
    """Return the keys of db_bench's mixgraph for random numbers below `keys` (Benchmark::MixGraph); no shares: no ranges."""
    size = keys // len(shares) if shares else keys
    seeds = np.ceil((numbers % size / size / 0.002312) ** (1 / 0.3467)).astype(np.int64)
    hashed = first_outputs(seeds)
    if not shares:
        return np.fmod(hashed.astype(np.int64), keys)
    ranges = np.cumsum(shares).searchsorted(numbers % sum(shares), side="right")
    return ranges * size + (hashed % np.uint64(size)).astype(np.int64)


def test_first_outputs_are_the_generator_s() -> None:
    """The hash of the exact keys is the first number of a generator with that seed."""
    seeds = np.array([0, 1, 2, 5489, 123_456_789])
    assert [int(Mt19937x64(int(seed)).take(1)[0]) for seed in seeds] == first_outputs(seeds).tolist()


@pytest.mark.parametrize("rate", [1.0, 2.0**-5])
@pytest.mark.parametrize(("keys", "writes"), [(200_000, 4_000), (1_000_000, 16_000)])
@pytest.mark.parametrize("shares", [UDB_RANGES, ()], ids=["ranges", "no ranges"])
def test_mixgraph_drops_as_many_entries_as_db_bench(shares: tuple[int, ...], keys: int, writes: int, rate: float) -> None:
    """Repeated keys in a memtable and in eight memtables together are those of db_bench's own keys.

    db_bench derives range and u from one random number. Without ranges a key is a signed remainder: there are twice as many
    keys as random numbers. With 10 M keys 7.3 M writes of `skew_bw80` reach 0.66 M of 0.80 M keys; independent range and u
    would give 1.9 M.
    """
    exact = db_bench_keys(np.random.default_rng(1).integers(0, keys, (8, writes)), keys, shares)
    expected = np.mean([len(np.unique(row)) for row in exact]), len(np.unique(exact))

    law = {"key_dist_a": 0.002312, "key_dist_b": 0.3467, "keyrange_num": 30}
    ranges = dict(zip((f"keyrange_dist_{term}" for term in "abcd"), (14.18, -2.917, 0.0164, -0.08082), strict=True))
    workload = MixGraph(num=keys, mix_get_ratio=0.0, mix_put_ratio=1.0, **law, **(ranges if shares else {})).workload()
    sample = workload.sample_at(rate)
    state = workload.clients[0].write_keys.start(sample, InsertCursor())
    rng = np.random.default_rng(2)
    memtables = [state.distinct(writes, rng) for _ in range(8)]
    found = np.mean([sample.entries(codes) for codes in memtables]), sample.entries(np.unique(np.concatenate(memtables)))

    assert found == pytest.approx(expected, rel=0.02 if rate == 1.0 else 0.05)  # a sample has 32 times the variance


@pytest.mark.parametrize(
    "make",
    [
        lambda: Zipf(0.0), lambda: Zipf(11.0), lambda: PowerLaw(0.0, 1.0), lambda: PowerLaw(1e-9, 0.01),
        lambda: LogUniform(0.0), lambda: Exponential(100.0), lambda: Hotspot(1.1), lambda: UniformKeys(share=0.0),
        lambda: SequentialKeys(threads=0), lambda: range_shares(0, 0, 0, 0, 5), lambda: range_shares(1, 1e6, 0, 0, 5),
        lambda: range_shares(1, 2, 0, 0, 30),
        lambda: RankedKeys(Zipf(), share=2.0), lambda: KeySample(0), lambda: KeySample(10, 0.3),
        lambda: RangedKeys((1, 1), PowerLaw(0.002312, 0.3467)).start(KeySample(1), InsertCursor()),
    ],
)  # fmt: skip
def test_impossible_distributions_are_refused(make) -> None:
    """Parameters that describe no distribution raise InputError."""
    with pytest.raises(InputError):
        make()

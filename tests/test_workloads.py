"""Workloads: configurations, builders, arrivals, values, and the keys of memtables."""

from __future__ import annotations

import dataclasses
import importlib
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from lsmlab.models.errors import InputError
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Clients, Mix, Workload, fill_together
from lsmlab.models.workloads.choosers import InsertCursor, UniformKeys
from lsmlab.models.workloads.make import make_workload
from lsmlab.models.workloads.skewed import RankedKeys, RecentKeys
from lsmlab.models.workloads.values import FixedSize, MedianSize
from running import SMALL, simulate

ROOT = Path(__file__).resolve().parents[1]
YCSB_FILES = ROOT.parent / "shared" / "data" / "ycsb"
CONFIGS = {path.stem: path for path in sorted((ROOT / "configs" / "workload").glob("*.yaml"))}
RNG = np.random.default_rng


def configuration(name: str, **changes: Any) -> dict[str, Any]:
    """Return the mapping of configs/workload/NAME.yaml with some keys changed; a trace gets a file."""
    mapping: dict[str, Any] = yaml.safe_load(CONFIGS[name].read_text(encoding="utf-8"))
    if name == "trace":
        mapping["file"] = str(ROOT / "tests" / "testdata" / "arrivals.csv")
    return mapping | changes


@pytest.mark.parametrize("name", CONFIGS)
def test_configuration_lists_every_key_and_builds(name: str) -> None:
    """A configuration has exactly its class's fields, so that a typo fails at composing, and builds a workload."""
    mapping = configuration(name)
    module, _, cls = mapping["_target_"].rpartition(".")
    fields = {f.name for f in dataclasses.fields(getattr(importlib.import_module(module), cls))}
    assert fields == set(mapping) - {"_target_"}
    workload = make_workload(mapping)
    assert workload.name == name
    assert workload.preload_keys <= workload.population


@pytest.mark.parametrize("name", CONFIGS)
def test_every_workload_takes_a_duration_and_shards(name: str) -> None:
    """`duration` and `shards` apply to every workload; each shard has its share of the keys."""
    workload = make_workload(configuration(name, duration="90s", shards=4))
    assert [90.0] * len(workload.rounds) == [phase.duration_s for phase in workload.rounds]
    assert workload.shard().population == math.ceil(workload.population / 4)
    assert workload.shard().preload_keys == math.ceil(workload.preload_keys / 4)


def test_operations_are_per_thread_in_db_bench() -> None:
    """`num`, `writes` and `reads` count per thread; a duration replaces them, except in fillseq."""
    assert make_workload(configuration("fillrandom", threads=4)).clients[0].operations == 4_000_000
    assert make_workload(configuration("overwrite", threads=2, writes="10k")).clients[0].operations == 20_000
    assert make_workload(configuration("overwrite", duration=5)).clients[0].operations is None
    assert make_workload(configuration("fillseq", duration=5)).clients[0].operations == 1_000_000
    mixed = configuration("readrandomwriterandom", reads=10, writes=30, threads=2)
    assert make_workload(mixed).clients[0].operations == 60


def test_multireadrandom_counts_keys() -> None:
    """An operation is a key, as in db_bench; a MultiGet has `batch_size` of them."""
    (readers,) = make_workload(configuration("multireadrandom", reads="10k", threads=2, batch_size=64)).clients
    assert (readers.operations, readers.read_batch, readers.mix) == (20_000, 64, Mix(read=1.0))


def test_merges_are_puts_with_a_note() -> None:
    """The benchmark mergerandom writes as overwrite does; readrandommergerandom has `mergereadpercent` merges in a hundred."""
    merging, mixed = (make_workload(configuration(name, num=1000)) for name in ("mergerandom", "readrandommergerandom"))
    assert (Mix(update=1.0), 1000, 1000) == (merging.clients[0].mix, merging.clients[0].operations, merging.preload_keys)
    assert 0.7 == mixed.clients[0].mix.update == 1.0 - mixed.clients[0].mix.read
    assert all("merge operands" in workload.notes[0] for workload in (merging, mixed))


def test_fillseq_threads_write_the_same_keys() -> None:
    """Four threads of fillseq do four times the operations on the same keys."""
    workload = make_workload(configuration("fillseq", threads=4, num=1000))
    sample = workload.sample(1000, 400, exact=True)
    keys, _ = workload.clients[0].start(sample, workload.cursor()).fill(4000, RNG(1))
    assert (keys >> 1).tolist() == list(range(1000))


@pytest.mark.parametrize("exact", [True, False])
def test_memtables_of_fillseq_overlap_with_several_threads(exact: bool) -> None:
    """Threads drift apart, so a memtable begins with keys of the one before it; together they have every key."""
    workload = make_workload(configuration("fillseq", threads=2, num=20_000))
    sample = workload.sample(5000, 400, exact=exact)
    writers, rng = workload.clients[0].start(sample, workload.cursor()), RNG(1)
    memtables = [writers.fill(5000, rng)[0] for _ in range(8)]
    assert all(after[0] <= before[-1] < after[-1] for before, after in pairwise(memtables))
    assert len(np.unique(np.concatenate(memtables))) == len(sample.codes())


def test_files_of_fillseq_are_compacted_with_several_threads() -> None:
    """With one thread files move down whole; with two, L0 files overlap and are merged (facebook/rocksdb issue 11891)."""
    work = ("workload=fillseq", *SMALL, "workload.num=100000")
    written = [
        sum(row["write_bytes"] for row in simulate(*work, f"workload.threads={threads}").summary["levels"][1:])
        for threads in (1, 2)
    ]
    assert written[0] == 0 < written[1]


def test_readwhilewriting_has_a_background_writer() -> None:
    """Besides the readers one background writer under the write limit runs until the end and is not counted."""
    readers, writer = make_workload(
        configuration("readwhilewriting", threads=8, benchmark_write_rate_limit="2MB/s")
    ).clients
    assert (readers.threads, readers.mix, readers.background) == (8, Mix(read=1.0), False)
    assert (writer.threads, writer.mix, writer.background, writer.operations) == (1, Mix(update=1.0), True, None)
    assert writer.arrivals == ClosedLoop(limit_bytes_per_s=2e6)


def test_a_writer_with_a_number_of_writes_counts() -> None:
    """With `writes` the writer of readwhilewriting is a client like the readers: the run ends when both have finished."""
    readers, writer = make_workload(configuration("readwhilewriting", num=100, writes=300)).clients
    assert (readers.operations, writer.operations, writer.background) == (100, 300, False)


@pytest.mark.skipif(not YCSB_FILES.is_dir(), reason="the YCSB definitions in ../shared/data/ycsb are not there")
@pytest.mark.parametrize("letter", "abcdef")
def test_ycsb_matches_the_core_definitions(letter: str) -> None:
    """Proportions, request distribution and scan lengths are those of YCSB's own workload files."""
    lines = (YCSB_FILES / f"workload{letter}").read_text(encoding="utf-8").splitlines()
    pairs = [line.strip().split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    defined = {key: value for key, value in pairs if key not in ("recordcount", "operationcount", "workload")}
    defined.pop("readallfields")
    mapping = configuration(f"ycsb_{letter}")
    for key, value in defined.items():
        if key.endswith(("proportion", "length")):
            assert float(mapping[key]) == float(value)
        else:
            assert mapping[key] == value
    unnamed = {k for k in mapping if k.endswith("proportion") and k not in defined}
    assert all(mapping[k] == 0 for k in unnamed)


def test_ycsb_choosers() -> None:
    """A to C and F use scrambled Zipfian keys, D the latest; D and E insert after a million records."""
    assert isinstance(make_workload(configuration("ycsb_a")).clients[0].write_keys, RankedKeys)
    latest = make_workload(configuration("ycsb_d"))
    assert isinstance(latest.clients[0].read_keys, RecentKeys)
    assert (latest.population, latest.preload_keys) == (1_050_000, 1_000_000)
    assert make_workload(configuration("ycsb_e")).clients[0].scan_length.mean == 50.5
    load = make_workload(configuration("ycsb_load", recordcount=1000))
    assert (load.clients[0].mix, load.clients[0].operations, load.preload_keys) == (Mix(insert=1.0), 1000, 0)


@pytest.mark.parametrize("exact", [True, False])
def test_ycsb_load_then_insert(exact: bool) -> None:
    """The keys of the load phase are those of the other workloads; D's inserts are new keys, scattered among them."""
    loaded = make_workload(configuration("ycsb_load", recordcount="100k"))
    sample = loaded.sample(20_000, 400, exact)
    keys, _ = loaded.clients[0].start(sample, loaded.cursor()).fill(100_000, RNG(1))
    assert keys.tolist() == loaded.shard().sample(20_000, 400, exact).codes().tolist()
    latest = make_workload(configuration("ycsb_d", recordcount="100k", operationcount="200k"))
    sample = latest.sample(20_000, 400, exact)
    there = latest.preloaded(sample)
    new, _ = latest.clients[0].start(sample, latest.cursor()).fill(10_000, RNG(1))
    assert len(np.intersect1d(there, new)) == 0
    assert sample.entries(np.concatenate((there, new))) == pytest.approx(110_000, rel=0.01)
    assert new.min() < 20_000 < 180_000 < new.max()


def test_mixgraph_without_ranges_misses_half_of_the_keys() -> None:
    """db_bench's signed hash puts half of the power-law keys outside the loaded ones if there are no key ranges."""
    law = {"key_dist_a": 0.002312, "key_dist_b": 0.3467, "num": 100_000}
    plain = dict.fromkeys(("keyrange_dist_a", "keyrange_dist_b", "keyrange_dist_c", "keyrange_dist_d"), 0.0)
    for changes, share in ((plain, 0.5), ({}, 1.0)):
        workload = make_workload(configuration("mixgraph", **law, **changes))
        sample = workload.sample(10_000, 400, exact=True)
        reads = workload.clients[0].read_keys.start(sample, workload.cursor()).sample_reads(100_000, RNG(2))
        # measured (behaviour/db-bench.md, mixgraph): 50 092 hits in 100 000; the hottest seeds get 0.2 % each
        assert np.isin(reads, workload.preloaded(sample)).mean() == pytest.approx(share, abs=0.02)


def test_mixgraph_without_a_power_law_draws_random_keys() -> None:
    """db_bench ignores the flags of the key ranges if key_dist_a or key_dist_b is 0 (facebook/rocksdb issue 8356)."""
    for changes in ({"key_dist_a": 0}, {"key_dist_b": 0}):
        workload = make_workload(configuration("mixgraph", num=300_000, **changes))
        sample = workload.sample(10_000, 400, exact=True)
        reads = workload.clients[0].read_keys.start(sample, workload.cursor()).sample_reads(60_000, RNG(3))
        assert np.histogram(reads >> 1, 30, (0, 300_000))[0] == pytest.approx(2000, rel=0.1)


def test_scans_of_mixgraph_have_classes_of_length() -> None:
    """Lengths are heavy-tailed: 58 % of the scans are in classes of at most 40 entries; db_bench printed a mean of 565."""
    length = make_workload(configuration("mixgraph")).clients[0].scan_length
    entries, shares = np.array(length.classes).T

    assert length.mean == pytest.approx(565.0, rel=0.05)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[entries <= 40].sum() == pytest.approx(0.58, abs=0.05)


@pytest.mark.parametrize(
    ("changes", "mean"),
    [
        ({"scanlengthdistribution": "uniform", "minscanlength": 1, "maxscanlength": 100}, 50.5),
        ({"scanlengthdistribution": "uniform", "minscanlength": 7, "maxscanlength": 7}, 7.0),
        ({"scanlengthdistribution": "zipfian", "minscanlength": 1, "maxscanlength": 100}, 19.6),
    ],
)
def test_lengths_of_ycsbs_scans(changes: dict[str, Any], mean: float) -> None:
    """The mean over the classes is that of the distribution."""
    length = make_workload(configuration("ycsb_e", **changes)).clients[0].scan_length
    assert length.mean == pytest.approx(mean, rel=0.01)
    assert sum(share for _, share in length.classes) == pytest.approx(1.0)


def test_deletes_are_marked() -> None:
    """In a memtable of half puts and half deletes about half of the keys are tombstones; without deletes none."""
    sample = KeySample(1_000_000)
    mixed = Clients("c", mix=Mix(update=0.5, delete=0.5)).start(sample, InsertCursor())
    keys, tombstones = mixed.fill(10_000, RNG(1))
    assert tombstones is not None
    assert (np.diff(keys) > 0).all()
    assert tombstones.mean() == pytest.approx(0.5, abs=0.01)
    assert Clients("c").start(sample, InsertCursor()).fill(100, RNG(1))[1] is None


def test_put_and_delete_of_one_key() -> None:
    """A key that is both put and deleted in a memtable ends as either, in proportion to puts and deletes."""
    sample = KeySample(1000)
    stream = Clients("c", mix=Mix(update=0.75, delete=0.25)).start(sample, InsertCursor())
    keys, tombstones = stream.fill(100_000, RNG(1))  # every key is written many times
    assert len(keys) == 1000
    assert tombstones is not None
    assert tombstones.mean() == pytest.approx(0.25, abs=5 * math.sqrt(0.25 * 0.75 / 1000))


def test_two_groups_fill_one_memtable() -> None:
    """The keys of two groups in one memtable are merged and distinct."""
    sample = KeySample(1000)
    cursor = InsertCursor()
    streams = [
        Clients("a", mix=Mix(insert=1.0)).start(sample, cursor),
        Clients("b", mix=Mix(insert=0.5, update=0.5)).start(sample, cursor),
    ]
    keys, _ = fill_together(streams, [10, 20], RNG(1))
    assert (keys[:20] >> 1).tolist() == list(range(20))
    assert (np.diff(keys) > 0).all()
    assert cursor.number == 20


@pytest.mark.parametrize(
    "values",
    [
        {"num": 10}, {"_target_": 3}, {"_target_": "Ycsb"}, {"_target_": "os.path.join"},
        {"_target_": "lsmlab.models.workloads.ycsb.Nothing"}, {"_target_": "lsmlab.models.nothing.Ycsb"},
        {"_target_": "lsmlab.models.workloads.ycsb.Requests"}, {"_target_": "lsmlab.models.workloads.base.Mix"},
    ],
)  # fmt: skip
def test_only_workload_classes_are_loaded(values: dict[str, Any]) -> None:
    """A `_target_` outside the allowed packages, or one that is no workload, is refused and not called."""
    with pytest.raises(InputError, match=r"^workload\._target_: "):
        make_workload(values)


@pytest.mark.parametrize(
    ("name", "rates"),
    [("constant", "rate"), ("peaks_valleys", "valley_rate peak_rate"), ("on_off", "on_rate off_rate"),
     ("diurnal", "low_rate high_rate")],
)  # fmt: skip
def test_scale_multiplies_all_rates(name: str, rates: str) -> None:
    """Twice the rates and scale=2 give the same schedule."""
    values = configuration(name)
    doubled = {key: 2 * values[key] for key in rates.split()}

    assert make_workload({**values, **doubled}) == make_workload({**values, "scale": 2})


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("fillrandom", {"nums": 3}, r"workload\.nums: no such key; did you mean workload\.num\?"),
        ("fillrandom", {"num": 0}, r"workload\.num: 0 is out of range"),
        ("fillrandom", {"value_size": "1 parsec"}, r"workload\.value_size: .*unit 'parsec'"),
        ("filluniquerandom", {"threads": 2}, r"workload: threads: .* one thread"),
        ("fillrandom", {"num": 100, "shards": 101}, r"workload: shards: .*the key space has 100"),
        ("fillrandom", {"value_size_distribution_type": "uniform", "value_size_min": "1GB"}, r"workload: value_size_min"),
        ("ycsb_a", {"readproportion": 0, "updateproportion": 0}, r"workload: readproportion"),
        ("ycsb_a", {"operationcount": None}, r"workload: duration: a value is required"),
        ("ycsb_a", {"requestdistribution": "zipf"}, r"workload\.requestdistribution: 'zipf' is not one of uniform"),
        ("ycsb_e", {"minscanlength": 200}, r"workload: minscanlength 200"),
        ("ycsb_e", {"maxscanlength": 1_000_000_000}, r"workload.maxscanlength"),
        ("mixgraph", {"iter_sigma": 1e308}, r"iter_theta, iter_k and iter_sigma"),
        ("mixgraph", {"mix_get_ratio": 0, "mix_put_ratio": 0, "mix_seek_ratio": 0}, r"workload: mix_get_ratio"),
        ("mixgraph", {"num": 10}, r"workload: keyrange_num: 30 ranges need at least as many keys, not 10"),
        ("mixgraph", {"key_dist_a": -1, "key_dist_b": 1}, r"workload: key_dist_a"),
        ("diurnal", {"low_rate": 2, "high_rate": 1}, r"workload: low_rate"),
        ("peaks_valleys", {"peak": 0, "valley": 0}, r"workload: valley and peak: one of them must be longer"),
        ("trace", {"file": ""}, r"workload: file: "),
        ("trace", {"file": "no/such.csv"}, r"workload: no/such\.csv cannot be read"),
    ],
)
def test_bad_input_names_the_key(name: str, changes: dict[str, Any], message: str) -> None:
    """Bad input raises InputError with one line that names the key."""
    with pytest.raises(InputError, match=message) as caught:
        make_workload(configuration(name, **changes))
    assert "\n" not in str(caught.value)


ODD_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-10, 10**6), st.floats(allow_nan=True, allow_infinity=True), st.text(max_size=5),
    st.sampled_from(["64MiB", "5MB/s", "10s", "1k", "50%", "uniform", "zipfian", "latest", "hashed", "1e30", "", [], {}]),
)  # fmt: skip


@settings(max_examples=400)
@given(st.data())
def test_any_values_build_or_are_refused(data: st.DataObject) -> None:
    """Any values in a configuration make a workload that can be sampled, or raise InputError."""
    mapping = configuration(data.draw(st.sampled_from(sorted(CONFIGS))))
    keys = data.draw(st.lists(st.sampled_from(sorted(set(mapping) - {"_target_"})), max_size=3, unique=True))
    mapping |= {key: data.draw(ODD_VALUES, label=key) for key in keys}
    try:
        workload = make_workload(mapping)
        sample = workload.sample(60_000, 100)
    except InputError:
        return
    assert workload.population >= workload.preload_keys >= 0
    rng = RNG(1)
    for clients in workload.clients:
        cursor = workload.cursor()
        if clients.mix.writes:
            keys_, _ = clients.start(sample, cursor).fill(1000.5, rng)
            assert (np.diff(keys_) > 0).all()
        assert len(clients.read_keys.start(sample, cursor).sample_reads(10, rng)) == 10
        if not isinstance(clients.arrivals, ClosedLoop):
            starts, rates = clients.arrivals.segments(30.0, rng)
            assert starts[0] == 0.0
            assert (np.diff(starts) > 0).all()
            assert rates.min() >= 0.0


def test_sizes_with_bounds_have_the_given_median() -> None:
    """value_size is the median between value_min and value_max, and the workload's mean is that of the distribution."""
    workload = make_workload({**configuration("constant"), "value_size": 400, "value_min": 250, "value_max": 1000})
    sizes = workload.values.quantile((np.arange(100_000) + 0.5) / 100_000)

    assert isinstance(workload.values, MedianSize)
    assert (sizes.min(), np.median(sizes), sizes.max()) == (250, 400, 1000)
    assert sizes.mean() == pytest.approx(workload.value_bytes, rel=1e-4)
    with pytest.raises(InputError, match="value_min and value_max"):
        make_workload({**configuration("constant"), "value_min": 250})


def test_workload_needs_an_end() -> None:
    """A workload with neither a duration nor a number of operations is refused."""
    with pytest.raises(InputError, match="duration"):
        Workload("endless", (Clients("c"),), 16, FixedSize(100), population=10)


def test_mix_must_sum_to_one() -> None:
    """Fractions that do not sum to 1 are refused; a read-modify-write counts as one get and one write."""
    with pytest.raises(InputError):
        Mix(read=0.5)
    mix = Mix(read=0.5, read_modify_write=0.5)
    assert (mix.gets, mix.writes) == (1.0, 0.5)


def test_shards_draw_differently_in_exact_runs() -> None:
    """Two shards of an exact run write different key sequences."""
    chooser = UniformKeys(seed=1)
    sample = KeySample(10_000)
    one, two = (chooser.start(sample, InsertCursor(shard=r)).distinct(100, RNG(1)) for r in (0, 1))
    assert one.tolist() != two.tolist()


def test_shards_have_parts_of_the_stated_spread() -> None:
    """Parts of shards have mean 1 and the stated standard deviation; the largest part sizes the key space of a shard."""
    even, uneven = (make_workload(configuration("ycsb_load", shards=4, shard_spread=s, recordcount=4000)) for s in (0, 0.05))
    parts = np.array(uneven.shard_parts)

    assert (1.0, 1.0, 1.0, 1.0) == even.shard_parts
    assert (1.0, 0.05) == pytest.approx((parts.mean(), parts.std()))
    assert 1000 == even.shard().population
    assert math.ceil(1000 * parts.max()) == uneven.shard().population
    with pytest.raises(InputError, match=r"shard_spread: 0\.3 is out of range"):
        make_workload(configuration("ycsb_load", shards=4, shard_spread=0.3))

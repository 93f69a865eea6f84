"""vLSM's mechanism: small chains of compactions, and stalls as long as their chains.

Sources: (background/vlsm.md, Arithmetic) and (behaviour/evaluations.md, vLSM's evaluation).

The stores have a sixteenth of the evaluation's size: RocksDB-IO has files of 4 MiB and an L1 of 16 MiB, vLSM files of
0.5 MiB and an L1 of 4 MiB; both have an L2 of 128 MiB, an L0 of 16 MiB and a gigabyte below. Clients update in a closed
loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from engine_goldens import engine_of
from lsmlab.models.costs import jobs as job_costs
from lsmlab.models.policies.decisions import NOTHING, Compaction, RunningJob
from lsmlab.models.policies.rocksdb.inputs import key_range
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.vlsm.overflow import incoming_bytes
from lsmlab.models.policies.vlsm.picker import GOOD
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.results.results import Result
from running import configuration, run, simulate

pytestmark = pytest.mark.xdist_group("vlsm")  # one process computes the runs that these tests share

MIB = 1 << 20
QUEUE = "engine/throttle=l0_queue"
COMMON = (
    "experiment=vlsm_run_a", "workload.recordcount=5M", "workload.shards=1", "workload.readproportion=0",
    "workload.updateproportion=1", "workload.target=null", "workload.operationcount=null", "workload.duration=30s",
    "keys.samples_per_file=256",
)  # fmt: skip


def sizes(kib: int) -> tuple[str, ...]:
    """Return options for memtables and SST files of a size."""
    return tuple(f"engine.options.{name}={kib}KiB" for name in ("write_buffer_size", "target_file_size_base"))


def rocksdb_io(kib: int) -> tuple[str, ...]:
    """Return the overrides of RocksDB-IO with 16 MiB in L0 and in L1 for any SST size."""
    trigger = f"engine.options.level0_file_num_compaction_trigger={16 * 1024 // kib}"
    return ("engine=rocksdb_io", *sizes(kib), trigger, "engine.options.max_bytes_for_level_base=16MiB")


def vlsm(kib: int, *more: str) -> tuple[str, ...]:
    """Return the overrides of vLSM with small memtables, an L2 of 128 MiB and four files in L0."""
    l2 = ("engine.picker.l2_capacity=128MiB", "engine.picker.overflow_limit=4MiB")
    return ("engine=vlsm", "engine.l0_gap_files=3", *sizes(kib), *l2, *more)


def result(*overrides: str) -> Result:
    """Return a run on the small stores."""
    return simulate(*COMMON, *overrides)


def stalls(*overrides: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (length in s, chain bytes) of the stalls that waited for a compaction."""
    rows = [(s["end_s"] - s["start_s"], s["chain_bytes"]) for s in result(*overrides).stalls if s["chain_bytes"]]
    table = np.array(rows, dtype=np.float64)
    return table[:, 0], table[:, 1]


def two_levels(level: int, file_mib: int, size_mib: int, growth: int) -> Tree:
    """Return a tree of two full levels, the lower one `growth` times as large, with files of one size."""
    tree, space, number = Tree(7), 1 << 40, iter(range(10**6))
    for target, size in ((level, size_mib), (level + 1, growth * size_mib)):
        bounds = np.linspace(0, space, size // file_mib + 1).astype(np.int64).tolist()
        tree.levels[target].insert(
            [SortedFile(next(number), lo, hi - 1, file_mib * MIB) for lo, hi in pairwise(bounds)]
        )
    return tree


def moved_bytes(engine: str, tree: Tree, level: int, file_mib: int, batch_mib: int) -> int:
    """Return the rewritten bytes of the lower level for compacting `batch_mib` of the upper level."""
    options = (f"engine.options.target_file_size_base={file_mib}MiB", "engine.options.max_bytes_for_level_multiplier=8")
    picker = engine_of(f"engine={engine}", *options).picker
    assert isinstance(picker, LeveledPicker)
    moved = 0
    for _ in range(batch_mib // file_mib):
        pick = picker.pick_level(tree, (), level)
        assert isinstance(pick, Compaction)
        for number, files in pick.inputs:
            tree.mark(number, files, busy=True)
            moved += sum(f.size_bytes for f in files) if number == pick.output_level else 0
    return moved


def test_a_chain_rewrites_f_times_the_batch_per_level() -> None:
    """RocksDB rewrites 256 MB x f = 2 GB per level, vLSM S_M x f: 64 MB with files of 8 MB, 32 MB with 4 MB.

    Source: (background/vlsm.md, Arithmetic).
    """
    assert 2048 * MIB == moved_bytes("rocksdb_io", two_levels(1, 64, 256, 8), 1, 64, 256)
    assert 64 * MIB == moved_bytes("vlsm", two_levels(2, 8, 2048, 8), 2, 8, 8)
    assert 32 * MIB == moved_bytes("vlsm", two_levels(2, 4, 2048, 8), 2, 4, 4)


def overlapping_in_time(jobs: Mapping[str, np.ndarray], some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return whether each job of `some` (rows) and of `others` (columns) run at the same time."""
    start, end = jobs["start_s"], jobs["end_s"]
    return (start[some][:, None] < end[others] - 1e-9) & (start[others] < end[some][:, None] - 1e-9)


def test_one_l0_file_at_a_time_and_few_other_jobs_at_l1() -> None:
    """Each L0 job takes one file; during it no other L0 job runs, and jobs out of L1 only with vSSTs outside its key range.

    Source: (behaviour/vlsm.md, vLSM flush and L0).
    """
    jobs = result(*vlsm(512)).jobs
    merge = np.asarray(jobs["kind"]) == "compaction"
    into, out = merge & (jobs["start_level"] == 0), merge & (jobs["start_level"] == 1)
    beside = overlapping_in_time(jobs, into, out)

    assert [1] == np.unique(jobs["input_files"][into]).tolist()
    assert out.sum() > 50
    assert into.sum() == overlapping_in_time(jobs, into, into).sum()  # each overlaps only itself
    assert beside.any(axis=1).mean() < 0.1
    assert jobs["input_files"][out][beside.any(axis=0)].max() <= 2  # at the ends of the key space


def test_good_vssts_suffice_and_a_job_takes_about_one_sst() -> None:
    """At Φ = 32, there are nearly always enough good vSSTs, and most jobs take S_M of them, or up to one file more.

    Jobs beside an L0 job have only the vSSTs outside its key range, so they are left out.
    """
    jobs = result(*vlsm(512)).jobs
    merge = np.asarray(jobs["kind"]) == "compaction"
    good = merge & (np.asarray(jobs["reason"]) == GOOD)
    alone = ~overlapping_in_time(jobs, good, merge & (jobs["start_level"] == 0)).any(axis=1)
    input_ssts = ((jobs["read_bytes"] - jobs["read_bytes_output_level"])[good] / (MIB / 2))[alone]

    seeds = [result(*vlsm(512), f"seed={seed}").summary["job_reasons"] for seed in (1, 2, 3)]
    picks = [(name, count) for reasons in seeds for name, count in reasons.items() if name.startswith("Vsst")]

    assert sum(count for name, count in picks if name == GOOD) > 0.98 * sum(count for _, count in picks)
    assert 0.95 < np.quantile(input_ssts, 0.1) < input_ssts.max() < 2.1
    assert (jobs["input_files"][good][alone] > 1).mean() > 0.85


def test_a_stall_is_as_long_as_its_chain() -> None:
    """Seconds per byte of chain are about the same for chains of 1 to 100 MB.

    Source: (behaviour/evaluations.md, vLSM's evaluation).
    """
    short_s, short = stalls(*vlsm(512))
    long_s, long = stalls(*rocksdb_io(4096))
    both_s, both = np.concatenate((short_s, long_s)), np.concatenate((short, long))

    assert long.mean() > 5 * short.mean()
    assert 0.5 < (long_s.sum() / long.sum()) / (short_s.sum() / short.sum()) < 2.0
    assert np.corrcoef(np.log(both), np.log(both_s))[0, 1] > 0.7


def test_a_full_l0_stops_writes_and_a_full_queue_holds_flushes() -> None:
    """If L0 is full, RocksDB and vLSM stop writes even with room in memory; with a queue, vLSM holds the flush.

    Sources: (background/rocksdb_io.md, Assumptions) and (behaviour/vlsm.md, vLSM rules).
    """
    thick, thin = result(*rocksdb_io(4096)).summary["stall_seconds"], result(*vlsm(512)).summary["stall_seconds"]
    queue = result(*vlsm(512, QUEUE)).summary["stall_seconds"]

    assert thick["l0_stop"] > 0 == thick["memtable_stop"]
    assert thin["l0_stop"] > thin["memtable_stop"]
    assert queue["memtable_stop"] > 0 == queue["l0_stop"]


def full_l1(mib: int) -> Tree:
    """Return a tree with `mib` MiB in L1, whose target is 64 MiB, and an L2 eight times as large."""
    return two_levels(1, 8, mib, 8)


@pytest.mark.parametrize("overflow", ["0", "64MiB", "256MiB"])
def test_l1_to_l2_starts_at_the_target_of_l1(overflow: str) -> None:
    """L1 -> L2 starts when L1 has f x S_M, whatever bytes it may have beyond that (R5)."""
    picker = engine_of("engine=vlsm", f"engine.picker.overflow_limit={overflow}").picker

    assert picker.pick(full_l1(56), (), 0.0) is NOTHING
    assert isinstance(picked := picker.pick(full_l1(64), (), 0.0), Compaction)
    assert (1, 2) == (picked.start_level, picked.output_level)


def test_jobs_that_make_room_for_l0_run_side_by_side() -> None:
    """While an L0 file waits for room, a second L1 -> L2 job starts beside the first: a region has four threads."""
    tree = full_l1(128)
    tree.l0 = [SortedFile(10**6, 0, (1 << 40) - 1, 8 * MIB)]
    picker = engine_of("engine=vlsm").picker
    first = picker.pick(tree, (), 0.0)
    assert isinstance(first, Compaction)
    for level, files in first.inputs:
        tree.mark(level, files, busy=True)
    running = [RunningJob(1, 2, *key_range([f for _, files in first.inputs for f in files]), incoming_bytes(first))]
    second = picker.pick(tree, running, 0.0)

    assert isinstance(second, Compaction)
    assert [1, 1] == [first.start_level, second.start_level]


def test_rocksdb_io_makes_room_in_parallel_and_compacts_no_l0_files_with_each_other() -> None:
    """A batch of L0 that a running L1 -> L2 job locks waits for room; it is not merged within L0."""
    options = ("engine=rocksdb_io", "engine.options.max_bytes_for_level_base=128MiB")
    tree = two_levels(1, 8, 128, 8)
    tree.l0 = [SortedFile(10**6 + number, 0, (1 << 40) - 1, 8 * MIB) for number in range(6)]
    picker = engine_of(*options).picker
    first = picker.pick(tree, (), 0.0)
    assert isinstance(first, Compaction)
    for level, files in first.inputs:
        tree.mark(level, files, busy=True)
    running = [RunningJob(1, 2, *key_range([f for _, files in first.inputs for f in files]), incoming_bytes(first))]
    second = picker.pick(tree, running, 0.0)

    assert isinstance(second, Compaction)
    assert (1, 2) == (second.start_level, second.output_level)


def test_a_held_flush_writes_one_memtable() -> None:
    """Files of vLSM's queue have one size although two memtables wait for it (R1, R2)."""
    jobs = result(*vlsm(512, QUEUE)).jobs
    flush = np.asarray(jobs["kind"]) == "flush"

    assert result(*vlsm(512, QUEUE)).summary["stall_seconds"]["memtable_stop"] > 0  # both memtables were full
    assert [1] == np.unique(jobs["input_files"][flush]).tolist()


def test_reads_are_slow_only_while_writes_are_stalled() -> None:
    """Reads wait behind blocked writes in the clients: both are slow in the same seconds and only there."""
    found = result(
        *rocksdb_io(4096), "workload.readproportion=0.5", "workload.updateproportion=0.5", "workload.target=40000"
    )
    series = found.series
    reads, writes = series["read_p99_s"], series["write_p99_s"]
    stalled_s = series["stall_l0_stop_s"]

    slow = reads > 0.05
    stalled_recently_s = np.maximum(stalled_s, np.r_[0.0, stalled_s[:-1]])  # operations count in their last second

    assert 5 < slow.sum() < len(slow) - 5
    assert (slow == (writes > 0.05)).all()
    assert stalled_recently_s[slow].min() > 0
    assert reads[~slow].max() < 0.01


def test_the_overlap_check_costs_cpu_per_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The overlap check costs CPU time for every output entry of an L0 -> L1 job, and for no other job.

    Source: (background/vlsm.md, Arithmetic).
    """
    costs = {}
    for cost in (0.0, 1e-6):
        monkeypatch.setattr(job_costs, "_OVERLAP_CHECK_S", cost)
        jobs = run(configuration(*COMMON, *vlsm(512), "workload.duration=4s")).jobs
        first = np.flatnonzero((np.asarray(jobs["kind"]) == "compaction") & (jobs["start_level"] == 0))[0]
        deep = np.flatnonzero((np.asarray(jobs["kind"]) == "compaction") & (jobs["start_level"] > 0))[0]
        costs[cost] = [(jobs["cpu_s"][i], jobs["entries_in"][i], jobs["entries_out"][i]) for i in (first, deep)]
    (free, _, _), (free_deep, entries, _) = costs[0.0]
    (checked, _, merged), (checked_deep, same, _) = costs[1e-6]

    assert checked - free == pytest.approx(1e-6 * merged, rel=1e-6)
    assert checked_deep / same == pytest.approx(free_deep / entries, rel=1e-9)


@pytest.mark.parametrize("engine", ["rocksdb", "rocksdb_io", "rocksdb_overflow", "vlsm", "adoc", "silk", "leveldb"])
@pytest.mark.parametrize("gap", [0, 3, 16])
def test_the_gap_of_l0_is_one_parameter_of_every_engine(engine: str, gap: int) -> None:
    """Writers stop `l0_gap_files` files after L0 begins to compact, whatever the engine's own triggers are."""
    options = engine_of(f"engine={engine}", f"engine.l0_gap_files={gap}").options
    start = options.level0_file_num_compaction_trigger

    assert start == engine_of(f"engine={engine}").options.level0_file_num_compaction_trigger
    assert (start + gap, start + gap) == (options.level0_slowdown_writes_trigger, options.level0_stop_writes_trigger)


@pytest.mark.parametrize("engine", ["vlsm", "lsmi"])
@pytest.mark.parametrize("limit", ["60MiB", "200MiB"])
def test_a_small_hard_limit_does_not_stop_the_store_for_ever(engine: str, limit: str) -> None:
    """Writers who wait for pending compaction bytes to fall always have a compaction that makes them fall."""
    hard = f"engine.options.hard_pending_compaction_bytes_limit={limit}"
    found = simulate(*COMMON, f"engine={engine}", hard)
    writes = np.asarray(found.series["write_ops"])

    assert writes[len(writes) // 2 :].sum() > 0

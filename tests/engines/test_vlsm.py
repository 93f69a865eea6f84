"""vLSM's mechanism: thin chains of compactions, and stalls as long as the chains behind them.

See (background/vlsm.md, Arithmetic) and (behaviour/evaluations.md, vLSM's evaluation).

The stores are a sixteenth of the evaluation's: RocksDB-IO has files of 4 MiB and an L1 of 16 MiB, vLSM files of 0.5 MiB and
an L1 of 4 MiB; both have an L2 of 128 MiB, an L0 of 16 MiB and a gigabyte below. Clients update at full speed.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from engine_goldens import engine_of
from lsmlab.models.policies.decisions import Compaction, DoNothing
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.vlsm.picker import GOOD
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.results.results import Result
from lsmlab.sim.simulation import run
from running import configuration

pytestmark = pytest.mark.xdist_group("vlsm")  # one process computes the runs that these tests share

MIB = 1 << 20
COMMON = (
    "experiment=vlsm_run_a", "workload.recordcount=5M", "workload.shards=1", "workload.readproportion=0",
    "workload.updateproportion=1", "workload.target=null", "workload.operationcount=null", "workload.duration=60s",
    "keys.samples_per_file=256",
)  # fmt: skip


def sizes(kib: int) -> tuple[str, ...]:
    """Memtables and SSTs of a size, and an L0 of 16 MiB of them."""
    files = 16 * 1024 // kib
    options = {"write_buffer_size": f"{kib}KiB", "target_file_size_base": f"{kib}KiB",
               "level0_slowdown_writes_trigger": files, "level0_stop_writes_trigger": files}  # fmt: skip
    return tuple(f"engine.options.{name}={value}" for name, value in options.items())


def rocksdb_io(kib: int) -> tuple[str, ...]:
    """The overrides of RocksDB-IO whose L0 and L1 have 16 MiB, whatever the SST size."""
    trigger = f"engine.options.level0_file_num_compaction_trigger={16 * 1024 // kib}"
    return ("engine=rocksdb_io", *sizes(kib), trigger, "engine.options.max_bytes_for_level_base=16MiB")


def vlsm(kib: int, *more: str) -> tuple[str, ...]:
    """The overrides of vLSM with an L2 of 128 MiB."""
    return ("engine=vlsm", *sizes(kib), "engine.picker.l2_capacity=128MiB", "engine.picker.overflow_limit=4MiB", *more)


@lru_cache
def result(*overrides: str) -> Result:
    """A run on the small stores."""
    return run(configuration(*COMMON, *overrides))


def stalls(*overrides: str) -> tuple[np.ndarray, np.ndarray]:
    """(length in seconds, chain bytes) of the stalls that waited for a compaction."""
    rows = [(s["end_s"] - s["start_s"], s["chain_bytes"]) for s in result(*overrides).stalls if s["chain_bytes"]]
    table = np.array(rows, dtype=np.float64)
    return table[:, 0], table[:, 1]


def two_levels(level: int, file_mib: int, size_mib: int, growth: int) -> Tree:
    """A tree of two full levels, the lower one `growth` times as large, in files of one size over even ranges."""
    tree, space, number = Tree(7), 1 << 40, iter(range(10**6))
    for target, size in ((level, size_mib), (level + 1, growth * size_mib)):
        bounds = np.linspace(0, space, size // file_mib + 1).astype(np.int64).tolist()
        tree.levels[target].insert(
            [SortedFile(next(number), lo, hi - 1, file_mib * MIB) for lo, hi in pairwise(bounds)]
        )
    return tree


def moved_bytes(engine: str, tree: Tree, level: int, file_mib: int, batch_mib: int) -> int:
    """Bytes of the lower level that are rewritten until so much of the upper one has moved."""
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


def test_a_chain_moves_f_times_the_batch_through_each_level() -> None:
    """RocksDB moves 256 MB x f = 2 GB through a level, vLSM S_M x f: 64 MB at 8 MB, 32 MB at 4 MB.

    See (background/vlsm.md, Arithmetic).
    """
    assert 2048 * MIB == moved_bytes("rocksdb_io", two_levels(1, 64, 256, 8), 1, 64, 256)
    assert 64 * MIB == moved_bytes("vlsm", two_levels(2, 8, 2048, 8), 2, 8, 8)
    assert 32 * MIB == moved_bytes("vlsm", two_levels(2, 4, 2048, 8), 2, 4, 4)


def test_one_l0_file_at_a_time_and_l1_in_turns() -> None:
    """Each job takes one L0 file; while one goes into L1, no other does and nothing comes out of it.

    See (behaviour/vlsm.md, vLSM rules).
    """
    jobs = result(*vlsm(512)).jobs
    merge = np.asarray(jobs["kind"]) == "compaction"
    into, start, end = merge & (jobs["start_level"] == 0), jobs["start_s"], jobs["end_s"]
    at_l1 = merge & (jobs["start_level"] <= 1)
    meets = (start[into][:, None] < end[at_l1] - 1e-9) & (start[at_l1] < end[into][:, None] - 1e-9)

    assert [1] == np.unique(jobs["input_files"][into]).tolist()
    assert (jobs["start_level"] == 1).sum() > 50
    assert into.sum() == meets.sum()  # each meets itself alone


def test_good_vssts_are_found_and_take_about_one_sst_out_of_l1() -> None:
    """At Φ = 32 good vSSTs suffice, and a job takes S_M of them, or up to one file more."""
    jobs, summary = result(*vlsm(512)).jobs, result(*vlsm(512)).summary
    mine = (np.asarray(jobs["reason"]) == GOOD) & (np.asarray(jobs["kind"]) == "compaction")
    taken = (jobs["read_bytes"] - jobs["read_bytes_output_level"])[mine] / (MIB / 2)

    assert {GOOD} == {name for name in summary["job_reasons"] if name.startswith("Vsst")}
    assert 0.95 < taken.min() < taken.max() < 2.1
    assert (jobs["input_files"][mine] > 1).mean() > 0.9


def test_a_stall_is_as_long_as_its_chain() -> None:
    """Seconds per byte of chain are those of one strand of work, for chains of 1 to 100 MB.

    See (behaviour/evaluations.md, vLSM's evaluation).
    """
    short_s, short = stalls(*vlsm(512))
    long_s, long = stalls(*rocksdb_io(4096))
    both_s, both = np.concatenate((short_s, long_s)), np.concatenate((short, long))

    assert long.mean() > 5 * short.mean()
    assert 0.5 < (long_s.sum() / long.sum()) / (short_s.sum() / short.sum()) < 2.0
    assert np.corrcoef(np.log(both), np.log(both_s))[0, 1] > 0.7


def test_rocksdbs_chains_do_not_depend_on_the_sst_size() -> None:
    """An L0-sized batch goes through every level, in large files or small ones; vLSM's unit is S_M."""
    large, small = stalls(*rocksdb_io(4096))[1].mean(), stalls(*rocksdb_io(512))[1].mean()
    thick, thin = stalls(*vlsm(2048))[1].mean(), stalls(*vlsm(512))[1].mean()

    assert 0.6 < small / large < 1.6
    assert thick > 1.5 * thin


def test_rocksdbs_full_l0_stops_writers_and_vlsms_holds_flushes() -> None:
    """RocksDB acts on the writers when L0 is full, whatever room there is in memory; vLSM on the flush.

    See (background/rocksdb_io.md, Assumptions) and (behaviour/vlsm.md, vLSM rules).
    """
    thick, thin = result(*rocksdb_io(4096)).summary["stall_seconds"], result(*vlsm(512)).summary["stall_seconds"]

    assert thick["l0_stop"] > 0 == thick["memtable_stop"]
    assert thin["memtable_stop"] > 0 == thin["l0_stop"]


def test_rocksdbs_stalled_time_does_not_depend_on_the_sst_size() -> None:
    """A stall lasts as long as its chain: no more memtables, or larger ones, shorten it.

    See (behaviour/evaluations.md, vLSM's evaluation).
    """
    large, small = (result(*rocksdb_io(kib)).summary for kib in (4096, 512))

    assert 0.8 < small["stall_fraction"] / large["stall_fraction"] < 1.25


def test_a_held_flush_writes_one_memtable() -> None:
    """Files of vLSM's queue have one size, though two memtables wait for room in it (R1, R2)."""
    jobs = result(*vlsm(512)).jobs
    flush = np.asarray(jobs["kind"]) == "flush"

    assert result(*vlsm(512)).summary["stall_seconds"]["memtable_stop"] > 0  # both memtables were full
    assert [1] == np.unique(jobs["input_files"][flush]).tolist()


def test_reads_are_slow_only_while_writes_are_stalled() -> None:
    """Reads wait behind blocked writes in the clients: both spike in the same seconds, and nowhere else."""
    found = result(*rocksdb_io(4096), "workload.readproportion=0.5", "workload.updateproportion=0.5", "workload.target=40000")
    series = found.series
    reads, writes = series["read_p99_s"], series["write_p99_s"]
    stalled_s = series["stall_l0_stop_s"]

    slow = reads > 0.05
    lately = np.maximum(stalled_s, np.r_[0.0, stalled_s[:-1]])  # an operation counts in the second in which it ends

    assert 5 < slow.sum() < len(slow) - 5
    assert (slow == (writes > 0.05)).all()
    assert lately[slow].min() > 0
    assert reads[~slow].max() < 0.01


def test_each_key_that_is_checked_costs_cpu() -> None:
    """The overlap check takes its time for every key of every L0 -> L1 job, and only there.

    See (background/vlsm.md, Arithmetic).
    """
    costs = {}
    for cost in ("0", "1us"):
        jobs = run(configuration(*COMMON, *vlsm(512), f"host.overlap_check={cost}", "workload.duration=4s")).jobs
        first = np.flatnonzero((np.asarray(jobs["kind"]) == "compaction") & (jobs["start_level"] == 0))[0]
        deep = np.flatnonzero((np.asarray(jobs["kind"]) == "compaction") & (jobs["start_level"] > 0))[0]
        costs[cost] = [(jobs["cpu_s"][i], jobs["entries_in"][i], jobs["entries_out"][i]) for i in (first, deep)]
    (free, _, _), (free_deep, entries, _) = costs["0"]
    (checked, _, merged), (checked_deep, same, _) = costs["1us"]

    assert checked - free == pytest.approx(1e-6 * merged, rel=1e-6)
    assert checked_deep / same == pytest.approx(free_deep / entries, rel=1e-9)


def test_nothing_is_due_in_an_empty_store() -> None:
    """An empty tree asks for nothing, one file in L0 for a job."""
    picker = engine_of("engine=vlsm").picker
    tree = Tree(7)

    assert isinstance(picker.pick(tree, (), 0.0), DoNothing)
    assert not picker.needs_compaction(tree, 0.0)

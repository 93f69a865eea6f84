"""LevelDB's mechanism: one thread, flushes inside compactions, a sleep of 1 ms per write, seek compactions.

Source: (behaviour/leveldb.md, LevelDB rules).
"""

from __future__ import annotations

import numpy as np
import pytest
from engine_goldens import engine_of
from goldens import parse_file, parse_tree, show_pick
from lsmlab.models.tree.memtable import leveldb_memtable_entries
from lsmlab.sim.clients.seeks import files_at
from lsmlab.sim.results.results import Result
from running import simulate

pytestmark = pytest.mark.xdist_group("leveldb")  # one process computes the runs that these tests share

THROTTLED = (
    "experiment=leveldb_throttled", "workload.duration=20s", "keys.samples_per_file=256",
)  # fmt: skip
"""LevelDB under a write cap, as in the recorded runs, shortened."""
READS = (
    "engine=leveldb", "device=nvme", "device.page_cache=4GiB", "workload=readrandom", "workload.num=200000",
    "workload.value_size=1000", "workload.duration=20s", "keys.samples_per_file=256",
)  # fmt: skip
"""A workload of lookups only, in a store with three levels and no due compaction."""


@pytest.mark.parametrize(
    ("buffer", "key", "value", "entries"),
    [(4 << 20, 16, 100, 28_240), (2 << 20, 16, 100, 14_127), (4 << 20, 16, 1024, 3_892), (4 << 20, 24, 1000, 3_950)],
)
def test_entries_of_a_memtable(buffer: int, key: int, value: int, entries: int) -> None:
    """Entries are the expected counts (behaviour/leveldb.md, LevelDB memtable), within 0.3 %."""
    assert leveldb_memtable_entries(buffer, key, value) == pytest.approx(entries, rel=3e-3)


def test_one_thread_runs_all_jobs() -> None:
    """No two jobs run at the same time, except a flush inside a compaction, which is halted for it."""
    jobs = simulate(*THROTTLED).jobs
    kind = np.asarray(jobs["kind"])
    merge, flush = kind == "compaction", kind == "flush"
    start, end = np.asarray(jobs["start_s"]), np.asarray(jobs["end_s"])
    order = np.argsort(start[merge])
    starts, ends = start[merge][order], end[merge][order]

    assert (starts[1:] >= ends[:-1] - 1e-9).all()
    worked = (ends - starts).sum() - float(jobs["halted_s"][merge].sum()) + (end - start)[flush].sum()
    assert worked <= 20.0
    inside = [bool(((starts < s) & (e < ends)).any()) for s, e in zip(start[flush], end[flush], strict=True)]
    assert sum(inside) > 0.5 * len(inside)
    assert float(jobs["halted_s"][merge].sum()) > 0.5 * (end - start)[flush][inside].sum()


def test_writes_are_delayed_by_a_millisecond_or_run_at_full_speed() -> None:
    """With eight files in L0, the writer sleeps 1 ms per write; otherwise only full memtables limit it."""
    rate = np.asarray(simulate(*THROTTLED).series["write_ops"], dtype=float)

    assert 0.3 < (rate < 1200).mean() < 0.9
    assert rate[rate < 1200].max() < 1000
    assert rate.max() > 20_000


def test_seeks_cause_compactions() -> None:
    """Files without remaining seeks are compacted with no level above its target, so lookups search fewer files."""
    with_seeks, without = simulate(*READS), simulate(*READS, "engine.picker.seek_compaction=false")

    assert "SeekCompaction" in with_seeks.jobs["reason"].tolist()
    assert 0 == len(without.jobs["reason"])
    assert with_seeks.summary["block_cache"]["runs_per_read"] < 0.8 * without.summary["block_cache"]["runs_per_read"]


def test_tables_beyond_the_table_cache_are_reopened() -> None:
    """With a hundred tables and room for thirty, most lookups open a table, which takes longer than the lookup."""
    few, all_open = simulate(*READS, "engine.options.max_open_files=40"), simulate(*READS)

    assert 0.0 == all_open.summary["block_cache"]["opens_per_read"]
    assert 0.3 < few.summary["block_cache"]["opens_per_read"] < 2.0
    assert few.summary["ops_per_s"] < 0.7 * all_open.summary["ops_per_s"]
    assert few.summary["memory"]["index_bytes"] < 0.5 * all_open.summary["memory"]["index_bytes"]


def test_lookups_of_mapped_tables_read_around() -> None:
    """A miss in a mapped file reads 128 KiB; RocksDB's lookup reads a block."""
    cold = (*(o for o in READS if "page_cache" not in o), "device.page_cache=1MiB", "engine.options.cache_size=0")
    mapped = simulate(*cold, "engine.picker.seek_compaction=false").summary
    direct = simulate(*cold, "engine=rocksdb").summary
    per_block = [s["device_bytes_read"] / s["operations"] / s["read_amplification"] for s in (mapped, direct)]

    assert per_block[0] == pytest.approx(128 * 1024, rel=0.02)
    assert per_block[1] == pytest.approx(8 * 1024, rel=0.02)


def test_flushes_without_overlap_go_to_l2() -> None:
    """With keys in order, every flush is written to L2, and there is no compaction."""
    ordered = simulate(
        "engine=leveldb", "device=nvme", "workload=fillseq", "workload.num=100000", "workload.value_size=1000"
    )
    ended = ~np.asarray(ordered.jobs["unfinished"], dtype=bool)
    kind, output = np.asarray(ordered.jobs["kind"])[ended], np.asarray(ordered.jobs["output_level"])[ended]

    assert "compaction" not in kind.tolist()
    assert set(output[kind == "flush"].tolist()) == {2}


def test_a_flush_writes_every_version() -> None:
    """A memtable with one hot key makes a full-size file; RocksDB's file is small. Compactions drop old versions."""
    hot = (
        "device=nvme", "workload=ycsb_a", "workload.recordcount=1000", "workload.loaded=false", "workload.value_size=1000",
        "workload.readproportion=0", "workload.updateproportion=1", "workload.operationcount=50000",
    )  # fmt: skip
    leveldb = simulate("engine=leveldb", *hot)
    rocksdb = simulate("engine=rocksdb", "engine.options.write_buffer_size=4MiB", *hot)

    def mean_flush(of: Result) -> float:
        return float(of.summary["flush_bytes"]) / int(of.summary["flush_count"])

    assert mean_flush(leveldb) == pytest.approx(4.1e6, rel=0.02)
    assert mean_flush(rocksdb) < 0.4 * mean_flush(leveldb)
    assert leveldb.summary["live_entries"] < 0.5 * 50_000


def test_seek_compactions_have_the_lowest_priority() -> None:
    """A seek compaction of L0 takes all overlapping files, if no level is above its target; deleted files are skipped.

    Source: (behaviour/leveldb.md, LevelDB level and file choice).
    """
    tree, running = parse_tree(["L0: 9[0-20]=100 8[15-40]=100 7[60-80]=100", "L1: 5[10-50]=100", "L2: 3[0-99]=100"])
    deleted = parse_file("1[0-9]=100")
    picker = engine_of("engine=leveldb").picker
    quiet = show_pick(picker.pick(tree, running, 0.0))
    tree.exhausted = [(1, deleted), (0, tree.l0[0])]
    sought = show_pick(picker.pick(tree, running, 0.0))
    needed = picker.needs_compaction(tree, 0.0)
    tree.levels[1].mark(tree.levels[1].files, True)

    assert "nothing" == quiet
    assert "compaction L0->L1 SeekCompaction score=0 next=41\n  L0: 9 8\n  L1: 5" == sought
    assert needed
    assert "nothing" == show_pick(picker.pick(tree, running, 0.0))


def test_a_seek_is_charged_to_the_first_searched_file() -> None:
    """A lookup that searches several files charges the first one, which has at least 100 seeks.

    Source: (behaviour/leveldb.md, LevelDB seeks).
    """
    tree, _ = parse_tree(["L0: 9[0-20/20]=100", "L1: 5[0-30/10]=100", "L2: 3[0-99]=100"])

    def searched(code: int) -> list[int]:
        return [file.number for _, file in files_at(tree, code)]

    assert [9, 5, 3] == searched(10)
    assert [5, 3] == searched(25)
    assert [3] == searched(40)
    assert 100.0 == engine_of("engine=leveldb").picker.allowed_seeks(1000)
    assert 128.0 == engine_of("engine=leveldb").picker.allowed_seeks(2 << 20)

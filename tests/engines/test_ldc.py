"""LDC's mechanism: links cost no I/O, merges are small, and compaction I/O is halved.

Source: (background/ldc.md, The arithmetic).
"""

from __future__ import annotations

import numpy as np
import pytest
from engine_goldens import engine_of
from goldens import parse_tree, show_pick
from lsmlab.models.costs import operations
from lsmlab.sim.results.results import Result
from running import configuration, run, simulate

pytestmark = pytest.mark.xdist_group("ldc")  # one process computes the runs that these tests share

FILE_BYTES = 2 << 20
COMMON = (
    "device=nvme", "device.page_cache=64MiB", "workload.value_size=1000", "engine.options.write_buffer_size=2MiB",
    "engine.scheduler.chunk=2MiB", "keys.samples_per_file=128",
)  # fmt: skip
PACED = (
    *COMMON, "workload=filluniquerandom", "workload.num=1M", "workload.benchmark_write_rate_limit=10MB/s",
)  # fmt: skip
"""The same inserts for both engines at a rate without stalls: 1 GB into four levels."""
FANOUT = 4
FULL = (
    *COMMON, "workload=overwrite", "workload.num=200000", "workload.duration=120s",
    "workload.benchmark_write_rate_limit=5MB/s", f"engine.options.max_bytes_for_level_multiplier={FANOUT}",
)  # fmt: skip
"""Writes three times the size of a store whose L1 to L3 (10, 40 and 160 MiB) are full."""
READING = (
    "device=nvme", "device.page_cache=64MiB", "workload=ycsb_a", "workload.recordcount=200000", "workload.loaded=false",
    "workload.requestdistribution=uniform", "workload.value_size=1000", "workload.operationcount=400000",
    "engine.options.write_buffer_size=2MiB", "engine.options.bloom_bits=10", "keys.samples_per_file=128",
)  # fmt: skip


def paced(engine: str) -> Result:
    """Return the run of an engine under the paced load."""
    return simulate(f"engine={engine}", *PACED)


def deep_compactions(of: Result) -> np.ndarray:
    """Return a mask of the jobs that rewrote files below L1."""
    return (np.asarray(of.jobs["kind"]) == "compaction") & (np.asarray(of.jobs["output_level"]) >= 2)


def io_bytes(of: Result) -> int:
    """Return the bytes that compactions read and wrote."""
    return int(of.summary["compaction_read_bytes"] + of.summary["compaction_write_bytes"])


def test_compaction_io_is_about_halved() -> None:
    """For the same inserts, LDC reads and writes at most 60 % of the bytes."""
    assert 0.2 < io_bytes(paced("ldc")) / io_bytes(paced("leveldb")) < 0.6


def test_jobs_are_small() -> None:
    """A compaction of UDC reads a file and the fan-out times as much below it; one of LDC about two files' worth."""
    udc, ldc = simulate("engine=leveldb", *FULL), simulate("engine=ldc", *FULL)
    udc_read = np.asarray(udc.jobs["read_bytes"])[deep_compactions(udc)].mean() / FILE_BYTES
    ldc_read = np.asarray(ldc.jobs["read_bytes"])[deep_compactions(ldc)].mean() / FILE_BYTES

    assert udc_read == pytest.approx(FANOUT + 1, rel=0.3)
    assert ldc_read == pytest.approx(2.0, rel=0.3)


def test_links_have_no_io_and_are_merged_later() -> None:
    """Links have no I/O, frozen files take little space, and each has slices left (checked at each install)."""
    ldc = paced("ldc")
    kind = np.asarray(ldc.jobs["kind"])
    udc_bytes, ldc_bytes = paced("leveldb").summary["live_bytes"], ldc.summary["live_bytes"]

    assert int((kind == "link").sum()) > 100
    assert 0 == ldc.jobs["write_bytes"][kind == "link"].sum() + ldc.jobs["read_bytes"][kind == "link"].sum()
    assert {"SliceLinks"} <= set(ldc.jobs["reason"].tolist())
    assert ldc_bytes < 1.25 * udc_bytes


def test_the_threshold_falls_while_reads_dominate() -> None:
    """LDC-adaptive merges fewer slices at a time in a read-heavy mix, whose lookups then take less time."""
    mix = (*READING, "workload.operationcount=1M", "workload.readproportion=0.8", "workload.updateproportion=0.2")
    windows = ("engine.tuner.window_operations=10k", "engine.tuner.interval=0.1s")  # about a hundred
    adaptive, fixed = simulate("engine=ldc_adaptive", *windows, *mix), simulate("engine=ldc", *mix)

    assert adaptive.summary["job_reasons"]["SliceLinks"] > fixed.summary["job_reasons"]["SliceLinks"]
    assert adaptive.summary["read_latency_s"]["mean"] < fixed.summary["read_latency_s"]["mean"]
    assert adaptive.summary["ops_per_s"] > 0.95 * fixed.summary["ops_per_s"]


def test_a_mix_has_the_harmonic_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a closed loop, times per read and per write add up, so a mix has the harmonic mean of both throughputs.

    Beside writes, a read finds some keys in a memtable; so a read costs the same here wherever it searches.
    """
    for cost in dir(operations):
        if cost.startswith("_") and cost.endswith("_S"):
            monkeypatch.setattr(operations, cost, 3e-6 if cost == "_READ_S" else 0.0)
    common = ("engine=leveldb", "device=nvme", "device.page_cache=1GiB", "workload=readrandomwriterandom",
              "workload.num=20000", "workload.value_size=100", "workload.duration=1s")  # fmt: skip
    writes, reads, both = (
        run(configuration(*common, f"workload.readwritepercent={percent}")).summary["ops_per_s"] for percent in (0, 100, 50)
    )

    assert 1.0 / (0.5 / writes + 0.5 / reads) == pytest.approx(both, rel=0.01)


def test_seeks_link_or_merge() -> None:
    """A file whose seeks are used up is linked if it has no slices, else merged with them."""
    tree, running = parse_tree(
        ["frozen: 9[0-39]=100", "L1: 5[0-49]=100{9:0-39} 4[50-99]=100", "L2: 3[0-60]=100 2[70-99]=100"]
    )
    picker = engine_of("engine=ldc").picker
    five, four = tree.levels[1].files
    tree.exhausted = [(1, five)]
    merged = show_pick(picker.pick(tree, running, 0.0))
    tree.exhausted = [(1, four)]

    assert "compaction L1->L1 SeekCompaction score=0\n  L1: 5" == merged
    assert "link L1->L2 SeekCompaction score=0 next=100\n  L1: 4\n  L2: 3 2" == show_pick(picker.pick(tree, running, 0.0))


def test_flushes_stay_in_l0_while_files_are_frozen() -> None:
    """A file flushed between two others would cover keys for which its right neighbour has slices."""
    tree, _ = parse_tree(["frozen: 9[12-20]=100", "L1: 5[0-10]=100 4[50-60]=100{9:12-20}"])
    free, _ = parse_tree(["L1: 5[0-10]=100 4[50-60]=100"])
    engine = engine_of("engine=ldc")

    assert 0 == engine.picker.flush_level(tree, 30, 40)
    assert 2 == engine.picker.flush_level(free, 30, 40)

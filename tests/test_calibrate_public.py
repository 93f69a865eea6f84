"""Fits of the constants of public machines: from synthetic jobs with known constants, and from LOGs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.configuration.parameters import read_parameters
from lsmlab.validation.calibrate.job_costs import job_cpu
from lsmlab.validation.calibrate.parameter_file import quantity_text
from lsmlab.validation.calibrate.public import sources
from lsmlab.validation.calibrate.public_fits import Source, core_contention_fit, cpu_ratio, linear
from lsmlab.validation.calibrate.public_machines import small_pc
from lsmlab.validation.logs.timings import job_records
from lsmlab.validation.logs.timings.job_records import (
    JobLog,
    busy_periods,
    commit_s,
    compaction_times,
    flush_times,
    lone_syncs,
)
from lsmlab.validation.logs.timings.jobs import Job


def job_log(jobs: list[Job], io_statistics: bool = False) -> JobLog:
    """Return a parsed LOG with these jobs."""
    return JobLog(jobs, io_statistics, [])


def compaction_counts(job: Job, host: Host = Host()) -> tuple[float, ...]:  # noqa: B008 -- frozen
    """Return a compaction's counts for the constants per record, byte and comparison."""
    counts = job_cpu(job, host).counts()
    return tuple(counts[f"host.compaction_{name}"] for name in ("record", "byte", "compare"))


def test_delayed_and_truncated_events_of_a_log_are_read(tmp_path: Path) -> None:
    """Events count at their own time (UTC), not at their line's; a truncated event counts with the fields it has."""
    zero = 1_654_074_000  # 2022/06/01-09:00:00
    start = f'{{"time_micros": {zero + 1}000000, "job": 4, "event": "compaction_started", "files_L0": [9, 8], "files_L1": [7]}}'
    created = (
        f'{{"time_micros": {zero + 1}500000, "job": 4, "event": "table_file_creation", "file_number": 9, '
        '"file_size": 30000000, "table_pr'
    )
    end = (
        f'{{"time_micros": {zero + 1}900000, "job": 4, "event": "compaction_finished", "compaction_time_micros": 800000, '
        '"compaction_time_cpu_micros": 500000, "num_output_files": 1, "total_output_size": 40000000, "num_input_records": 50, '
    )
    gone = [
        f'{{"time_micros": {zero + 2}{micros:06}, "job": 4, "event": "table_file_deletion", "file_number": {file}}}'
        for micros, file in ((0, 7), (10000, 9))
    ]
    stamp = "2022/06/01-09:00:00.000000 7f "
    lines = ["     Options.report_bg_io_stats: 1", created, *gone, f"(Original Log Time 2022/06/01-09:00:00.000000) {end}", start]
    text = "\n".join(stamp + line.replace("{", "EVENT_LOG_v1 {") for line in lines)
    (tmp_path / "LOG").write_text(text, encoding="utf-8")

    log = job_records.job_log(tmp_path / "LOG", 100.0)

    (merge,) = log.jobs
    assert ("compaction", 1.0, 1.9, 3, 50.0, 5000.0) == (
        merge.kind, merge.start_s - zero, round(merge.end_s - zero, 6), merge.runs, merge.records, merge.raw_bytes
    )  # fmt: skip
    assert (0.8, 0.5, 40e6, None) == (merge.wall_s, merge.cpu_s, merge.output_bytes, merge.sync_s)
    assert [(zero + 1.5, 30e6)] == merge.files
    assert log.io_statistics
    assert [(30e6, 0.01)] == [(size, round(gap_s, 6)) for size, gap_s in log.deletions]


def test_a_log_without_jobs_is_refused(tmp_path: Path) -> None:
    """The error for a file without jobs says to give the file LOG."""
    (tmp_path / "LOG").write_text("fillrandom : 2 micros/op\n", encoding="utf-8")

    with pytest.raises(InputError, match="give the file LOG"):
        job_records.job_log(tmp_path / "LOG", 100.0)


def test_costs_per_record_and_byte_are_recovered() -> None:
    """CPU times of 0.2 us per record and 1.3 ns per byte, with noise and outliers, give these constants back."""
    rng = np.random.default_rng(1)
    records = rng.uniform(1e4, 1e6, 300)
    x = np.stack([records, records * rng.choice([108.0, 1008.0], 300)], axis=1)
    y = x @ np.array([0.2e-6, 1.3e-9]) * np.exp(rng.normal(0.0, 0.05, 300))
    y[::50] *= 5.0

    assert [0.2e-6, 1.3e-9] == pytest.approx(linear(x, y), rel=0.1)


def test_busy_periods_join_overlapping_fsyncs() -> None:
    """Fsyncs from 1 to 3 s and from 2 to 3.5 s form one busy period of 2.5 s with two commits."""
    flush = Job("flush", 0.5, 3.2, 1.0, 1.0, sync_s=2.0, files=[(3.0, 30e6)])
    merge = Job("compaction", 1.0, 3.6, 1.0, 1.0, output_bytes=30e6, wall_s=2.5, cpu_s=1.0, files=[(3.5, 30e6)])
    periods = busy_periods(job_log([flush, merge]), lambda _: 0.0)

    assert [2.5, 60e6, 2.0] == pytest.approx(periods[0].tolist())
    assert 1 == len(busy_periods(job_log([flush, merge]), lambda _: 0.0, most_fsyncs=1.4))  # 3.5 s of fsyncs in 2.5 s
    assert 0 == len(busy_periods(job_log([flush, merge]), lambda _: 0.0, most_fsyncs=1.3))


def test_periods_near_subcompactions_are_left_out() -> None:
    """A LOG does not give the start of fsyncs of subcompactions, so busy periods that may overlap them do not count."""
    flush = Job("flush", 0.5, 3.2, 1.0, 1.0, sync_s=2.0, files=[(3.0, 30e6)])
    parts = Job("compaction", 0.0, 4.0, 1.0, 1.0, output_bytes=90e6, wall_s=3.0, cpu_s=1.0, parts=4, files=[(2.5, 30e6)])

    assert 0 == len(busy_periods(job_log([flush, parts]), lambda _: 0.0))


def test_a_flush_ends_with_two_small_fsyncs() -> None:
    """Two small fsyncs end a flush, each half of the time after its file; CPU time ends before the file's fsync."""
    log = job_log([Job("flush", 0.0, 1.02, 1e5, 1e7, sync_s=0.4, files=[(1.0, 64e6)])])

    assert 0.01 == pytest.approx(commit_s(log))
    assert [0.6] == pytest.approx([seconds for _, seconds in flush_times(log)])


def test_only_compactions_in_one_thread_count() -> None:
    """The CPU time of compactions with subcompactions is left out, because their threads slow each other down."""
    one = Job("compaction", 0.0, 1.0, 10.0, 100.0, output_bytes=1.0, wall_s=1.0, cpu_s=0.5, files=[(1.0, 1.0)])
    two = replace(one, cpu_s=0.9, parts=2)

    assert [0.5] == [seconds for _, seconds in compaction_times(job_log([one, two]))]


def test_comparisons_grow_with_the_heap_depth() -> None:
    """The merge heap of eight runs is two levels deeper than that of two runs: two more comparisons per record."""
    two, eight = (Job("compaction", records=10.0, raw_bytes=100.0, runs=runs) for runs in (2, 8))

    assert [(10.0, 100.0, 0.0), (10.0, 100.0, 20.0)] == [compaction_counts(job) for job in (two, eight)]


def test_dropped_records_count_for_a_share() -> None:
    """Of ten records, six are written: each of the other four, and its bytes, counts 0.22; all ten are compared."""
    merge = Job("compaction", records=10.0, raw_bytes=100.0, runs=8, dropped=4.0)

    assert (6.88, 68.8, 20.0) == pytest.approx(compaction_counts(merge))


def test_the_share_of_dropped_records_belongs_to_the_machine() -> None:
    """If a dropped record costs half of a written one, ten records with four of them dropped count as eight."""
    merge = Job("compaction", records=10.0, raw_bytes=100.0, runs=8, dropped=4.0)

    assert (8.0, 80.0, 20.0) == pytest.approx(compaction_counts(merge, Host(compaction_dropped=0.5)))


def test_slowdown_is_relative_to_the_fitted_costs() -> None:
    """Compactions that take 1.5 times the CPU time of their records and comparisons have a slowdown of 1.5."""
    crowd = Job("compaction", records=10.0, raw_bytes=100.0, runs=8, cpu_s=1.5 * (10.0 + 20.0 * 0.5))
    costs = {"host.compaction_record": 1.0, "host.compaction_byte": 0.0, "host.compaction_compare": 0.5}

    assert 1.5 == pytest.approx(cpu_ratio(costs, Host(), [crowd]))


def test_copies_are_not_cpu_time() -> None:
    """A compaction of 1.0 s that copies 0.2 GB to pmem at 1 GB/s computes for 0.8 s; on a disk it computes for 0.65 s.

    On a disk RocksDB's CPU time (0.5 s here) lacks, with report_bg_io_stats, the copies into the page cache (0.1 s) and
    out of it (1 ns per byte).
    """
    merge = Job("compaction", 0.0, 1.0, 10.0, 5e7, output_bytes=2e8, wall_s=1.0, cpu_s=0.5, write_s=0.1)
    merge.files = [(0.5, 1e8), (1.0, 1e8)]

    ((_, pmem_s),) = compaction_times(job_log([merge], io_statistics=True), 1e-9, 1e9)
    ((_, disk_s),) = compaction_times(job_log([merge], io_statistics=True), 1e-9)

    assert [0.8, 0.65] == pytest.approx([pmem_s, disk_s])
    assert 2.0 == job_cpu(merge, Host(), slept_files=2.0).counts()["host.cold_start"], "files that caused sleeps"


def test_an_fsync_during_a_compaction_is_not_alone() -> None:
    """Of two flushes, the first one overlaps a compaction, so only the second one's fsync counts."""
    merge = Job("compaction", 0.0, 1.0, files=[(1.0, 1.0)])
    flushes = [Job("flush", t, t + 1.0, sync_s=0.1, files=[(t + 0.9, 6e7)]) for t in (0.0, 2.0)]

    assert [[6e7, 0.1]] == lone_syncs(job_log([merge, *flushes])).tolist()


def test_core_contention_is_recovered() -> None:
    """Costs that grow by 5 % per additional running thread, besides 1.4 others, give a contention of 0.05."""
    jobs = [
        Job(records=1e6, raw_bytes=1e9, cpu_s=1.0 + 0.05 * (parts + 1.4 - 1.0), parts=parts, kind="compaction")
        for parts in (1, 10)
    ]
    source = Source("throttled/x", "pmem", "", capped=False, statistics=False, log=job_log(jobs), output="", run_bytes=1e11)

    costs = {"host.compaction_record": 1e-6, "host.compaction_byte": 0.0, "host.compaction_compare": 0.0}
    found = core_contention_fit([source], costs, Host())

    assert {"host.core_contention": pytest.approx(0.05, rel=1e-6)} == found


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("write_op", 3.3e-6, "3.3us"),
        ("cores", 40.0, "40"),
        ("write_bandwidth", 9.3e8, "930MB/s"),
        ("unlink_byte", 9e-11, "0.09ns"),
        ("layout", "single", "single"),
    ],
)
def test_constants_are_written_with_units(key: str, value: float | str, text: str) -> None:
    """A parameter file shows constants in units that fit their size."""
    assert text == quantity_text(key, value)


def test_a_directory_without_logs_is_refused(tmp_path: Path) -> None:
    """The error for a directory without the public runs says that a file is missing."""
    with pytest.raises(InputError, match="no such file"):
        sources(tmp_path)


def test_the_small_pcs_cpu_is_divided_among_flushes_and_compactions(tmp_path: Path) -> None:
    """For a row with 1.5 times the CPU time of the 40-thread machine's costs, the fit gives 1.5 times these costs."""
    xeon = {k: v for k, v in read_parameters("xeon_6230").host.items() if k.startswith(("flush_", "compaction_"))}
    cost = {k: parse_quantity(v, "seconds") for k, v in xeon.items()}
    flushed, written = 1800.0 * 200_000, 8 * 1800.0 * 200_000
    merged = written - flushed * (1.0 - Host().compaction_dropped)
    cpu_s = 1.5 * flushed * (cost["flush_record"] + 420 * cost["flush_byte"])
    cpu_s += 1.5 * merged * (cost["compaction_record"] + 420 * cost["compaction_byte"])
    row = {
        "file": "sum.txt", "version": "9.8.4", "ops_sec": 200_000, "c_wgb": written * 430 / 2**30, "c_csecs": cpu_s,
        "uptime": 1900, "stall_pct": 18.0, "p50": 2, "p99": 8, "p99.9": 30, "p99.99": 1300, "pmax": 2e6,
    }  # fmt: skip
    (tmp_path / "overwrite_one_machine.csv").write_text(f"{','.join(row)}\n{','.join(map(str, row.values()))}\n")
    found = small_pc(tmp_path, rounds=0)

    for key in ("flush_record", "flush_byte", "compaction_record", "compaction_byte"):
        assert 1.5 * cost[key] == pytest.approx(found.host[key], rel=1e-6)
    parts = [found.host[key] for key in ("write_op", "wal_op")] + [420 * found.host[key] for key in ("write_byte", "wal_byte")]
    assert (1.0 - 0.18 * 1900 / 1800) / 200_000 == pytest.approx(math.fsum(map(float, parts)))
    assert written * 430 / 1900 == pytest.approx(found.devices["samsung_990_pro_2tb"]["write_bandwidth"])

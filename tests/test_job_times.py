"""Times of jobs in a LOG: periods with an fsync in progress, counts of their CPU cost, and fits to synthetic jobs."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.models.costs.host import Host
from lsmlab.validation.calibrate.parameter_file import quantity_text
from lsmlab.validation.calibrate.terms import job_cpu
from lsmlab.validation.importer.estimates import jackknife_error
from lsmlab.validation.importer.jobs import _positive_fit
from lsmlab.validation.logs.timings.fsync_periods import TimedLog, bandwidth, busy_periods, commit_s, computing_s
from lsmlab.validation.logs.timings.timed_jobs import TimedJob


def job_log(jobs: list[TimedJob], io_statistics: bool = False) -> TimedLog:
    """Return a parsed LOG with these jobs."""
    return TimedLog(jobs, io_statistics)


def test_costs_per_record_and_byte_are_recovered() -> None:
    """CPU times of 0.2 us per record and 1.3 ns per byte, with noise and outliers, give these constants back."""
    rng = np.random.default_rng(1)
    records = rng.uniform(1e4, 1e6, 300)
    x = np.stack([records, records * rng.choice([108.0, 1008.0], 300)], axis=1)
    y = x @ np.array([0.2e-6, 1.3e-9]) * np.exp(rng.normal(0.0, 0.05, 300))
    y[::50] *= 5.0

    assert [0.2e-6, 1.3e-9] == pytest.approx(_positive_fit(x, y), rel=0.1)


def test_busy_periods_join_overlapping_fsyncs() -> None:
    """Fsyncs from 1 to 3 s and from 2 to 3.5 s form one busy period of 2.5 s with two commits."""
    flush = TimedJob("flush", 0.5, 3.2, 1.0, 1.0, sync_s=2.0, files=[(3.0, 30e6)])
    merge = TimedJob("compaction", 1.0, 3.6, 1.0, 1.0, output_bytes=30e6, wall_s=2.5, cpu_s=1.0, files=[(3.5, 30e6)])
    periods = busy_periods(job_log([flush, merge]), lambda _: 0.0)

    assert [2.5, 60e6, 2.0] == pytest.approx(periods[0].tolist())


def test_periods_near_subcompactions_are_left_out() -> None:
    """A LOG does not give the start of fsyncs of subcompactions, so busy periods that may overlap them do not count."""
    flush = TimedJob("flush", 0.5, 3.2, 1.0, 1.0, sync_s=2.0, files=[(3.0, 30e6)])
    parts = TimedJob("compaction", 0.0, 4.0, 1.0, 1.0, output_bytes=90e6, wall_s=3.0, cpu_s=1.0, parts=4, files=[(2.5, 30e6)])

    assert 0 == len(busy_periods(job_log([flush, parts]), lambda _: 0.0))


def test_a_flush_ends_with_two_small_fsyncs() -> None:
    """Two small fsyncs end a flush, each half of the time after its file."""
    log = job_log([TimedJob("flush", 0.0, 1.02, 1e5, 1e7, sync_s=0.4, files=[(1.0, 64e6)])])

    assert 0.01 == pytest.approx(commit_s(log))


def test_journal_commits_are_no_part_of_a_bandwidth() -> None:
    """100 MB in 1 s with two commits of 0.1 s are 125 MB/s; commits count for at most half of the time."""
    periods = np.array([[0.6, 60e6, 1.0], [0.4, 40e6, 1.0]])

    assert [125e6, 200e6] == pytest.approx([bandwidth(periods, commit) for commit in (0.1, 0.4)])


def test_copies_through_the_page_cache_are_cpu_time() -> None:
    """With report_bg_io_stats, RocksDB's CPU time (0.5 s) lacks the copies into the page cache (0.1 s) and out of it (1 ns/B)."""
    merge = TimedJob("compaction", 0.0, 1.0, 10.0, 5e7, output_bytes=2e8, wall_s=1.0, cpu_s=0.5, write_s=0.1)

    found = [computing_s(job_log([merge], io_statistics=timed), merge, 1e-9) for timed in (True, False)]

    assert [0.65, 0.5] == pytest.approx(found)
    assert 2.0 == job_cpu(merge, Host(), slept_files=2.0).counts()["host.cold_start"], "files that caused sleeps"


def test_a_jackknife_of_means_gives_their_standard_error() -> None:
    """Means with one value left out at a time give the standard error of the mean."""
    values = np.array([1.0, 2.0, 4.0, 9.0])

    assert jackknife_error(lambda kept: float(values[kept].mean()), 4) == pytest.approx(values.std(ddof=1) / 2.0)


@pytest.mark.parametrize(
    ("runs", "dropped", "expected"),
    [
        (2, 0.0, (10.0, 100.0, 0.0)),
        (8, 0.0, (10.0, 100.0, 20.0)),  # the heap of eight runs is two levels deeper: two more comparisons per record
        (8, 4.0, (6.88, 68.8, 20.0)),  # each dropped record, and its bytes, counts 0.22; all ten are compared
    ],
)
def test_counts_of_a_compaction(runs: int, dropped: float, expected: tuple[float, ...]) -> None:
    """A compaction of ten records counts for the constants per record, byte and comparison."""
    counts = job_cpu(TimedJob("compaction", records=10.0, raw_bytes=100.0, runs=runs, dropped=dropped), Host()).counts()

    assert expected == pytest.approx(tuple(counts[f"host.compaction_{name}"] for name in ("record", "byte", "compare")))


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

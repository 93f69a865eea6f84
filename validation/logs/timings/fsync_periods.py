"""Periods of a LOG in which the device syncs files, and its bandwidth and latency in them.

RocksDB does one step of a job after the other in one thread (behaviour/compaction-jobs.md, Timeline of a job). So the
time between the start of an output file and its `table_file_creation` event is CPU time followed by an fsync.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

Array = np.ndarray[Any, np.dtype[np.float64]]

_FULL_BYTES: Final = 20e6
"""Smaller files are left out of rates: fixed costs dominate their times."""
_TOGETHER_S: Final = 2e-3
"""Files that finish within this time are taken as committed by one transaction of the file system's journal."""


@dataclass(slots=True)
class TimedLog:
    """Jobs of one LOG."""

    jobs: list[TimedJob]
    io_statistics: bool
    """Whether report_bg_io_stats is on. If so, RocksDB 6.4 leaves file operations out of a compaction's CPU time."""


def computing_s(log: TimedLog, job: TimedJob, read_byte_s: float) -> float:
    """Return the CPU seconds of a compaction outside its fsyncs.

    With I/O statistics the recorded CPU time excludes copies into the page cache, which the LOG times separately, and
    copies out of the page cache, which take `read_byte_s` per byte of key and value. Both are added.
    """
    return job.cpu_s + job.write_s + job.raw_bytes * read_byte_s if log.io_statistics else job.cpu_s


def commit_s(log: TimedLog, quantile: float = 0.5) -> float:
    """Return the seconds of one small fsync: half the commit of a flush, which syncs the directory and the MANIFEST.

    `quantile`: which flush to take. The median suits a store with few jobs; a lower quantile is needed if the file
    system usually writes other jobs' files in the same journal transaction.
    """
    return float(np.quantile([job.end_s - job.files[0][0] for job in log.jobs if job.kind == "flush"], quantile)) / 2.0


def busy_periods(
    log: TimedLog, flush_cpu_s: Callable[[TimedJob], float], read_byte_s: float = 0.0, full_bytes: float = _FULL_BYTES
) -> Array:
    """Return (seconds, bytes, journal commits) of each period in which at least one fsync ran. Shape (n, 3).

    If the LOG does not time fsyncs, the fsync of a file is taken to begin when the file's share of the job's CPU time
    is over (`computing_s` for a compaction, `flush_cpu_s` for a flush). Periods near a file of a compaction with
    subcompactions are left out, and so are periods with at most `full_bytes`.
    """
    spans, unknown = fsync_spans(log, flush_cpu_s, read_byte_s)
    rows = []
    i = 0
    while i < len(spans):
        begun, ended, size = spans[i]
        ends = [ended]
        i += 1
        while i < len(spans) and spans[i][0] < ended:
            ended, size = max(ended, spans[i][1]), size + spans[i][2]
            ends.append(spans[i][1])
            i += 1
        known = np.searchsorted(unknown, begun - 1.0) == np.searchsorted(unknown, ended + 1.0)
        if known and size > full_bytes:
            commits = 1 + int((np.diff(np.sort(np.array(ends))) > _TOGETHER_S).sum())
            rows.append((ended - begun, size, float(commits)))
    return np.array(rows)


def fsync_spans(
    log: TimedLog, flush_cpu_s: Callable[[TimedJob], float], read_byte_s: float = 0.0
) -> tuple[list[tuple[float, float, float]], Array]:
    """Return (start in s, end in s, bytes) of each fsync by its start, and the times of files without a known start.

    The arguments are those of `busy_periods`.
    """
    spans: list[tuple[float, float, float]] = []
    unknown: list[float] = []
    for job in log.jobs:
        if job.parts > 1 or (job.kind == "compaction" and not job.output_bytes):
            unknown.extend(t for t, _ in job.files)
            continue
        if job.kind == "flush":
            finished, size = job.files[0]
            begun = finished - job.sync_s if job.sync_s is not None else job.start_s + flush_cpu_s(job)
            spans.append((min(begun, finished - 1e-4), finished, size))
            continue
        cpu_s = computing_s(log, job, read_byte_s)
        begun = job.start_s
        for finished, size in sorted(job.files):
            spans.append((min(begun + cpu_s * size / job.output_bytes, finished - 1e-4), finished, size))
            begun = finished
    return sorted(spans), np.sort(np.array(unknown))


def bandwidth(periods: Array, commit_s: float) -> float:
    """Return the bytes per second of `busy_periods`, without the time of journal commits.

    `commit_s`: seconds of one journal commit. At most half of the time is subtracted.
    """
    seconds, size, commits = periods.sum(axis=0)
    return float(size / max(seconds - commit_s * commits, 0.5 * seconds))

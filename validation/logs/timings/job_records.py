"""CPU and device costs from the jobs of a LOG: compactions, flushes, fsyncs, file deletions.

RocksDB does one step of a job after the other in one thread (behaviour/compaction-jobs.md, Timeline of a job). So the
time between the start of an output file and its `table_file_creation` event is CPU time followed by an fsync.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.fills import Fill, in_utc, unstalled_fills
from lsmlab.validation.logs.history.jobs import LogJobs
from lsmlab.validation.logs.reader import read_log
from lsmlab.validation.logs.records import RocksDbLog
from lsmlab.validation.logs.timings.jobs import Job, timed_jobs

Array = np.ndarray[Any, np.dtype[np.float64]]

_FULL_BYTES: Final = 20e6
"""Smaller files are left out of rates: fixed costs dominate their times."""
_SEQUENTIAL_FSYNCS: Final = 2.5
"""Largest mean number of fsyncs in progress in periods that show the bandwidth of a hard disk: with more of them its queue is
full, and it loses time to seeks between the files (docs/decisions/0041)."""
_TOGETHER_S: Final = 2e-3
"""Files that finish within this time are taken as committed by one transaction of the file system's journal."""


@dataclass(slots=True)
class JobLog:
    """Jobs of one LOG."""

    jobs: list[Job]
    io_statistics: bool
    """Whether report_bg_io_stats is on. If so, RocksDB 6.4 leaves file operations out of a compaction's CPU time."""
    deletions: list[tuple[float, float]]
    """Deletions of SST files: (bytes, seconds since the deletion before it by the same job)."""
    fills: list[Fill] = field(default_factory=list)
    """Fills of memtables without a stall; times in UTC, as those of the jobs."""

    def end_after(self, seconds: float) -> None:
        """Remove the jobs and fills that ended more than `seconds` after the start of the first job."""
        last_s = min(job.start_s for job in self.jobs) + seconds
        self.jobs = [job for job in self.jobs if job.end_s <= last_s]
        self.fills = [fill for fill in self.fills if fill.end_us <= 1e6 * last_s]


def job_log(path: Path, entry_bytes: float) -> JobLog:
    """Read the jobs of a LOG. `entry_bytes`: bytes of key and value of one entry.

    Raises InputError if the LOG is unreadable or has no finished job.
    """
    log = read_log(path)
    return job_log_of(log, jobs_of(log), entry_bytes)


def job_log_of(log: RocksDbLog, history: LogJobs, entry_bytes: float) -> JobLog:
    """Return the jobs of a parsed LOG, in seconds since 1970 (UTC). Raises InputError if it has no finished job."""
    jobs = timed_jobs(history.jobs, log.zone_us, lambda _: entry_bytes)
    if not jobs:
        raise InputError(f"{log.source}: no finished flush or compaction; give the file LOG in the database's folder")
    fills = in_utc(unstalled_fills(log, history.done("flush")), log)
    return JobLog(jobs, log.options.get("report_bg_io_stats") == "1", _deletions(log), fills)


def _deletions(log: RocksDbLog) -> list[tuple[float, float]]:
    """Return (bytes, seconds since the job's last deletion) of each large SST file that a job deleted after another."""
    found: list[tuple[float, float]] = []
    sizes: dict[int, float] = {}
    before: tuple[int, float] | None = None
    for event in log.events("table_file_creation", "table_file_deletion"):
        number, size = event.whole("file_number"), event.whole("file_size")
        if number is None:
            continue
        if event.name == "table_file_creation":
            if size is not None:
                sizes[number] = float(size)
            continue
        now_s, deleted = (event.time_us - log.zone_us) / 1e6, sizes.get(number, 0.0)
        if before and before[0] == event.job and deleted > _FULL_BYTES:
            found.append((deleted, now_s - before[1]))
        before = (event.job, now_s)
    return found


def compaction_times(
    log: JobLog, read_byte_s: float = 0.0, copy_bytes_per_s: float | None = None
) -> list[tuple[Job, float]]:
    """Return each compaction without subcompactions with its CPU seconds.

    `read_byte_s`: see `computing_s`. `copy_bytes_per_s`: rate of a device to which the compaction thread itself copies
    (persistent memory). That thread never sleeps, so its time minus the time of the copies is CPU time.
    """
    found = []
    for job in log.jobs:
        if job.kind != "compaction" or job.parts != 1 or not job.cpu_s:
            continue
        if copy_bytes_per_s is None:
            found.append((job, computing_s(log, job, read_byte_s)))
        else:
            busy_s = job.wall_s if log.io_statistics else job.cpu_s
            found.append((job, busy_s - job.output_bytes / copy_bytes_per_s))
    return found


def computing_s(log: JobLog, job: Job, read_byte_s: float) -> float:
    """Return the CPU seconds of a compaction outside its fsyncs.

    With I/O statistics the recorded CPU time excludes copies into the page cache, which the LOG times separately, and
    copies out of the page cache, which take `read_byte_s` per byte of key and value. Both are added.
    """
    return job.cpu_s + job.write_s + job.raw_bytes * read_byte_s if log.io_statistics else job.cpu_s


def read_costs(log: JobLog, copy_bytes_per_s: float) -> Array:
    """Return the seconds per byte of copies out of the page cache, of compactions on persistent memory. Shape (n,).

    It is the job's time minus CPU time, copies to the device and write calls, per byte of key and value.
    """
    return np.array(
        [
            (j.wall_s - j.output_bytes / copy_bytes_per_s - j.cpu_s - j.write_s) / j.raw_bytes
            for j in log.jobs
            if j.kind == "compaction" and j.parts == 1 and j.cpu_s and j.raw_bytes
        ]
    )


def lone_syncs(log: JobLog) -> Array:
    """Return (bytes, seconds) of the fsyncs of flushes during which no compaction ran. Shape (n, 2).

    The result is empty if the LOG does not time fsyncs.
    """
    merges = np.array([(j.start_s, j.end_s) for j in log.jobs if j.kind == "compaction"]).reshape(-1, 2)
    rows = []
    for job in log.jobs:
        if job.kind == "flush" and job.sync_s:
            finished, size = job.files[0]
            if not ((merges[:, 0] < finished) & (merges[:, 1] > finished - job.sync_s)).any():
                rows.append((size, job.sync_s))
    return np.array(rows)


def flush_times(log: JobLog, sync_s: float | None = None) -> list[tuple[Job, float]]:
    """Return each flush with its seconds without the fsync. `sync_s`: time of an fsync if the LOG does not time it."""
    found = []
    for job in log.jobs:
        sync = job.sync_s if job.sync_s is not None else sync_s
        if job.kind == "flush" and sync is not None and job.files[0][0] - job.start_s > sync:
            found.append((job, job.files[0][0] - job.start_s - sync))
    return found


def commit_s(log: JobLog, quantile: float = 0.5) -> float:
    """Return the seconds of one small fsync: half the commit of a flush, which syncs the directory and the MANIFEST.

    `quantile`: which flush to take. The median suits a store with few jobs; a lower quantile is needed if the file
    system usually writes other jobs' files in the same journal transaction.
    """
    return float(np.quantile([job.end_s - job.files[0][0] for job in log.jobs if job.kind == "flush"], quantile)) / 2.0


def busy_periods(
    log: JobLog, flush_cpu_s: Callable[[Job], float], read_byte_s: float = 0.0, full_bytes: float = _FULL_BYTES,
    most_fsyncs: float = math.inf,
) -> Array:  # fmt: skip
    """Return (seconds, bytes, journal commits) of each period in which at least one fsync ran. Shape (n, 3).

    If the LOG does not time fsyncs, the fsync of a file is taken to begin when the file's share of the job's CPU time
    is over (`computing_s` for a compaction, `flush_cpu_s` for a flush). Periods near a file of a compaction with
    subcompactions are left out, and so are periods with at most `full_bytes` or with more than `most_fsyncs` fsyncs in
    progress on average.
    """
    spans, unknown = fsync_spans(log, flush_cpu_s, read_byte_s)
    return _unions(spans, unknown, full_bytes, most_fsyncs)


def fsync_spans(
    log: JobLog, flush_cpu_s: Callable[[Job], float], read_byte_s: float = 0.0
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


def most_fsyncs(*, rotates: bool) -> float:
    """Return the largest mean number of fsyncs in progress in periods that show the bandwidth of a hard disk, or of an SSD."""
    return _SEQUENTIAL_FSYNCS if rotates else math.inf


def bandwidth(periods: Array, commit_s: float) -> float:
    """Return the bytes per second of `busy_periods`, without the time of journal commits.

    `commit_s`: seconds of one journal commit. At most half of the time is subtracted.
    """
    seconds, size, commits = periods.sum(axis=0)
    return float(size / without_commits(seconds, commits, commit_s))


def without_commits(seconds: Array, commits: Array, commit_s: float) -> Array:
    """Return the seconds of `busy_periods` without their journal commits; at most half of the time is subtracted."""
    return np.maximum(seconds - commit_s * commits, 0.5 * seconds)


def left_out_error(values: Array) -> Array:
    """Return the jackknife standard error. `values`: results with one part left out at a time, along the first axis."""
    n = len(values)
    error: Array = np.sqrt((n - 1) / n * ((values - values.mean(axis=0)) ** 2).sum(axis=0))
    return error


def _unions(spans: list[tuple[float, float, float]], unknown: Array, full_bytes: float, most_fsyncs: float) -> Array:
    rows = []
    i = 0
    while i < len(spans):
        begun, ended, size = spans[i]
        ends = [ended]
        fsyncs_s = ended - begun
        i += 1
        while i < len(spans) and spans[i][0] < ended:
            ended, size = max(ended, spans[i][1]), size + spans[i][2]
            ends.append(spans[i][1])
            fsyncs_s += spans[i][1] - spans[i][0]
            i += 1
        known = np.searchsorted(unknown, begun - 1.0) == np.searchsorted(unknown, ended + 1.0)
        if known and size > full_bytes and fsyncs_s <= most_fsyncs * (ended - begun):
            commits = 1 + int((np.diff(np.sort(np.array(ends))) > _TOGETHER_S).sum())
            rows.append((ended - begun, size, float(commits)))
    return np.array(rows)

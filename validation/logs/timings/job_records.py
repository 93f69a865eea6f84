"""What the jobs of a LOG tell about processor and device: costs of merges and flushes, syncs, deletions.

RocksDB overlaps nothing within one thread (behaviour/compaction-jobs.md, Timeline of a job), so the time between the
start of an output file and its `table_file_creation` event is computing and then an fsync.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.jobs import LogJobs
from lsmlab.validation.logs.reader import read_log
from lsmlab.validation.logs.records import RocksDbLog
from lsmlab.validation.logs.timings.jobs import Job, timed_jobs

Array = np.ndarray[Any, np.dtype[np.float64]]

_FULL_BYTES: Final = 20e6
"""Smaller files say more about fixed costs than about rates."""
_TOGETHER_S: Final = 2e-3
"""Files finished within this time were committed by one transaction of the file system's journal."""


@dataclass(slots=True)
class JobLog:
    """The jobs of one LOG."""

    jobs: list[Job]
    io_statistics: bool
    """report_bg_io_stats: then RocksDB 6.4 leaves the CPU of file operations out of a compaction's CPU time."""
    deletions: list[tuple[float, float]]
    """Deletions of table files: bytes, seconds since the one before by the same job."""

    def end_after(self, seconds: float) -> None:
        """Forget the jobs that did not end within so many seconds of the first one's start."""
        last_s = min(job.start_s for job in self.jobs) + seconds
        self.jobs = [job for job in self.jobs if job.end_s <= last_s]


def job_log(path: Path, entry_bytes: float) -> JobLog:
    """Read a LOG; `entry_bytes` are key and value of one entry. Raises InputError if it is not readable or has no job."""
    log = read_log(path)
    return job_log_of(log, jobs_of(log), entry_bytes)


def job_log_of(log: RocksDbLog, history: LogJobs, entry_bytes: float) -> JobLog:
    """The jobs of a LOG that is read already; times are seconds since 1970 (UTC). Raises InputError if it has no job."""
    jobs = timed_jobs(history.jobs, log.zone_us, entry_bytes)
    if not jobs:
        raise InputError(f"{log.source}: no finished flush or compaction in it; give the file LOG in the database's folder")
    return JobLog(jobs, log.options.get("report_bg_io_stats") == "1", _deletions(log))


def _deletions(log: RocksDbLog) -> list[tuple[float, float]]:
    """Bytes of each deleted table file, and seconds since the deletion before it if that was the same job's."""
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
    """CPU seconds of merges in one thread.

    `read_byte_s`: see `computing_s`. `copy_bytes_per_s`: of a device to which the merging thread copies itself (persistent
    memory). It never sleeps, so what the copies leave of its time is its computing.
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
    """CPU seconds of a merge outside its fsyncs.

    With I/O statistics the recorded CPU leaves out copies into the page cache, which have a time of their own, and copies
    out of it, which take `read_byte_s` per byte of key and value.
    """
    return job.cpu_s + job.write_s + job.raw_bytes * read_byte_s if log.io_statistics else job.cpu_s


def read_costs(log: JobLog, copy_bytes_per_s: float) -> Array:
    """Seconds per byte in which merges on persistent memory copied out of the page cache: what is left of their time."""
    return np.array(
        [
            (j.wall_s - j.output_bytes / copy_bytes_per_s - j.cpu_s - j.write_s) / j.raw_bytes
            for j in log.jobs
            if j.kind == "compaction" and j.parts == 1 and j.cpu_s and j.raw_bytes
        ]
    )


def lone_syncs(log: JobLog) -> Array:
    """Bytes and seconds of the fsyncs of flushes beside which no merge ran; empty where the LOG does not time them."""
    merges = np.array([(j.start_s, j.end_s) for j in log.jobs if j.kind == "compaction"])
    rows = []
    for job in log.jobs:
        if job.kind == "flush" and job.sync_s:
            finished, size = job.files[0]
            if not ((merges[:, 0] < finished) & (merges[:, 1] > finished - job.sync_s)).any():
                rows.append((size, job.sync_s))
    return np.array(rows)


def flush_times(log: JobLog, sync_s: float | None = None) -> list[tuple[Job, float]]:
    """Seconds of flushes apart from the fsync; `sync_s` where the LOG has none."""
    found = []
    for job in log.jobs:
        sync = job.sync_s if job.sync_s is not None else sync_s
        if job.kind == "flush" and sync is not None and job.files[0][0] - job.start_s > sync:
            found.append((job, job.files[0][0] - job.start_s - sync))
    return found


def commit_s(log: JobLog, quantile: float = 0.5) -> float:
    """Time of one small fsync: a flush ends with that of its directory and that of the manifest.

    `quantile`: the median of a store with few jobs; less where other jobs' files are mostly in the same transaction.
    """
    return float(np.quantile([job.end_s - job.files[0][0] for job in log.jobs if job.kind == "flush"], quantile)) / 2.0


def busy_periods(
    log: JobLog, flush_cpu_s: Callable[[Job], float], read_byte_s: float = 0.0, full_bytes: float = _FULL_BYTES
) -> Array:
    """Periods in which at least one fsync ran: (seconds, bytes, commits). Merges in several threads are left out.

    Where a LOG does not time its syncs, they begin when the file's share of the job's computing is over: `computing_s` of a
    merge, `flush_cpu_s` of a flush. Periods with fewer than `full_bytes` are left out.
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
    return _unions(sorted(spans), np.sort(np.array(unknown)), full_bytes)


def bandwidth(periods: Array, commit_s: float) -> float:
    """Bytes per second of `busy_periods`, apart from one commit per journal transaction, which is at most half of the time."""
    seconds, size, commits = periods.sum(axis=0)
    return float(size / max(seconds - commit_s * commits, 0.5 * seconds))


def left_out_error(values: Array) -> Array:
    """Standard error from the results with one part left out at a time, along the first axis (jackknife)."""
    n = len(values)
    error: Array = np.sqrt((n - 1) / n * ((values - values.mean(axis=0)) ** 2).sum(axis=0))
    return error


def _unions(spans: list[tuple[float, float, float]], unknown: Array, full_bytes: float) -> Array:
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
        if np.searchsorted(unknown, begun - 1.0) == np.searchsorted(unknown, ended + 1.0) and size > full_bytes:
            commits = 1 + int((np.diff(np.sort(np.array(ends))) > _TOGETHER_S).sum())
            rows.append((ended - begun, size, float(commits)))
    return np.array(rows)

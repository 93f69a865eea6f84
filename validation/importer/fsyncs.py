"""What fsyncs tell of the device: how fast it takes bytes, and how long a small write takes.

A job computes a file, writes it into the page cache, and waits for its fsync
(behaviour/compaction-jobs.md, Timeline of a job): time that is not computing is the device's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.validation.calibrate.job_costs import job_cpu
from lsmlab.validation.importer.estimates import Estimate, InferredRates
from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.logs.timings import job_records
from lsmlab.validation.logs.timings.job_records import Array, JobLog
from lsmlab.validation.logs.timings.jobs import Job, timed_jobs

_FEWEST: Final = 8
"""Jobs, and periods with an fsync in progress, from which something is fitted."""
_BLOCKS: Final = 10
"""Stretches of the log that are left out in turn for a standard error."""
_VAGUE: Final = 0.3
"""Relative standard error from which on a bandwidth is only a lower bound: the fsyncs are too short to be timed."""
_FULL: Final = 0.3
"""Periods with less than this share of a flushed file say more about fixed costs than about rates."""
_LONE: Final = 0.1
"""Quantile of commits that hardly waited for another job's file: each ends with a directory's and the manifest's fsync."""
_READ_BY_WRITE: Final = 0.65
"""A copy out of the page cache by one into it: 0.257 ns per byte (merges on persistent memory) by 0.392 (there, RocksDB 6.4)."""


def fsync_rates(found: InferredRates, reading: Reading, entry_bytes: float) -> None:
    """Add device.write_bandwidth and device.fsync_latency, where jobs write through the page cache.

    With direct I/O a job's file is on the device when it is finished, and no fsync waits for it.
    """
    if not buffered_writes(reading):
        return
    log = calibration_jobs(reading, entry_bytes)
    flushes = [job for job in log.jobs if job.kind == "flush"]
    if len(flushes) < _FEWEST:
        return
    commits = [np.quantile([(job.end_s - job.files[-1][0]) / 2.0 for job in part], _LONE) for part in _blocks(flushes)]
    commit_s = job_records.commit_s(log, _LONE)
    basis = f"half the time from a flush's file to its commit, tenth percentile of {len(flushes):,} flushes"
    error = float(np.std(commits, ddof=1) / np.sqrt(len(commits)))
    found.estimates.append(Estimate("device.fsync_latency", commit_s, error, "s", "estimate", basis))
    machine = Host(flush_record=_cost(found, "flush_record"), flush_byte=_cost(found, "flush_byte"))
    full_bytes = _FULL * float(np.median([job.write_bytes for job in flushes]))
    periods = job_records.busy_periods(log, lambda job: job_cpu(job, machine).seconds(machine), read_copy_s(reading), full_bytes)
    if len(periods) < _FEWEST:
        return
    found.bursts = _bursts(periods)
    rate = job_records.bandwidth(periods, commit_s)
    parts = np.array_split(np.arange(len(periods)), min(_BLOCKS, len(periods)))
    left_out = [job_records.bandwidth(np.delete(periods, part, axis=0), commit_s) for part in parts]
    error = float(job_records.left_out_error(np.array(left_out)))
    basis = f"bytes per time with an fsync in progress, {len(periods):,} periods; errors from leaving out a tenth in turn"
    kind = "estimate" if error < _VAGUE * rate else "lower_bound"
    found.estimates.append(Estimate("device.write_bandwidth", rate, error, "B/s", kind, basis))


def read_copy_s(reading: Reading) -> float:
    """Seconds per byte for which a merge copies its input out of the page cache, where its CPU time leaves that out.

    With report_bg_io_stats RocksDB takes reads and writes off a merge's CPU time (CompactionJob::ProcessKeyValueCompaction)
    and tells the time of writes alone.
    """
    merges = [job for job in reading.jobs.done("compaction") if job.writing_s and job.write_bytes]
    if not merges or reading.option("use_direct_reads") or not buffered_writes(reading):
        return 0.0
    return _READ_BY_WRITE * float(np.median([(job.writing_s or 0.0) / job.write_bytes for job in merges]))


def buffered_writes(reading: Reading) -> bool:
    """Whether flushes and compactions write through the page cache; then a write is a copy, and an fsync the device."""
    return not reading.option("use_direct_io_for_flush_and_compaction")


def calibration_jobs(reading: Reading, entry_bytes: float) -> JobLog:
    """The log's committed jobs as the calibrator's fits take them; `entry_bytes` are key and value of one entry."""
    done = reading.jobs.done("flush", "compaction")
    dated = [job for job in done if all(file.created_us is not None for file in job.outputs)]
    jobs = [job for job in timed_jobs(dated, reading.origin_us, entry_bytes) if job.kind == "flush" or job.cpu_s]
    return JobLog(jobs, any(job.sync_s is not None for job in jobs), [])


def _cost(found: InferredRates, name: str) -> float:
    known = found.get(f"host.{name}")
    return known.value if known is not None else float(getattr(Host(), name))


def _bursts(periods: Array) -> float:
    """Rate of the shorter half of the periods by that of the longest fifth, by bytes."""
    seconds, size, _ = periods.T
    short, long = size <= np.median(size), size >= np.quantile(size, 0.8)
    return float(size[short].sum() / seconds[short].sum() / (size[long].sum() / seconds[long].sum()))


def _blocks(jobs: Sequence[Job]) -> list[list[Job]]:
    parts = np.array_split(np.arange(len(jobs)), min(_BLOCKS, len(jobs)))
    return [[jobs[i] for i in part] for part in parts]

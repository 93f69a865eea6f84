"""Equations of background jobs: costs of compactions, flushes and their files (models/costs: jobs, cost, cores).

Device rates come from jobs that ran alone in runs without a cap, because their times include neither a queue nor a wait
for a core.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.models.costs.cores import busy_probability, excess, wake_ups
from lsmlab.models.costs.cost import fsyncs, reads, writes
from lsmlab.models.costs.jobs import file_ends
from lsmlab.validation.calibrate.recorded import RecordedRun
from lsmlab.validation.calibrate.solve import Array, Equation
from lsmlab.validation.calibrate.terms import DurationRow, job_cpu, linear
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

WRITE_REQUEST_BYTES: Final = 2.0**20
"""writable_file_max_buffer_size, options.h."""
READ_REQUEST_BYTES: Final = 2.0**21
"""Readahead of a compaction with direct I/O."""
_ALONE: Final = 0.05
"""A job counts as alone if other jobs run for less than this share of its time."""


def compaction_cpu(runs: Sequence[RecordedRun]) -> Equation | None:
    """CPU time of compactions."""
    return linear("CPU of compactions", _job_cpu(runs, "compaction"), 0.15)


def flush_cpu(runs: Sequence[RecordedRun]) -> Equation | None:
    """CPU time of flushes."""
    return linear("CPU of flushes", _job_cpu(runs, "flush"), 0.15)


def _job_cpu(runs: Sequence[RecordedRun], kind: str) -> list[DurationRow]:
    return [
        DurationRow(
            job_cpu(job, run.host, len(job.files) if run.sleeps_in_fsync else 0.0, run.readahead_bytes), run.host, job.cpu_s,
            run.name,
        )
        for run in runs
        for job in run.of(kind)
        if job.cpu_s > 0 and job.records > 0
    ]


def device_writes(runs: Sequence[RecordedRun]) -> Equation | None:
    """Time in write calls of jobs that ran alone."""
    rows = [
        DurationRow(writes(job.write_bytes, math.ceil(job.write_bytes / WRITE_REQUEST_BYTES)), run.host, job.writing_s, run.name)
        for run, job in _alone(runs)
        if job.writing_s > 0 and job.write_bytes >= WRITE_REQUEST_BYTES
    ]
    return linear("device writes", rows, 0.5)


def device_reads(runs: Sequence[RecordedRun]) -> Equation | None:
    """Time of compactions that ran alone minus their CPU time and write calls, which is the time of their reads."""
    rows = [
        DurationRow(
            reads(job.read_bytes, math.ceil(job.read_bytes / READ_REQUEST_BYTES)), run.host,
            job.wall_s - job.cpu_s - job.writing_s, run.name,
        )
        for run, job in _alone(runs)
        if job.kind == "compaction" and job.parts == 1 and not run.limited and job.wall_s > job.cpu_s + job.writing_s
    ]  # fmt: skip
    return linear("device reads", rows, 0.5)


def _alone(runs: Sequence[RecordedRun]) -> list[tuple[RecordedRun, TimedJob]]:
    """Return the jobs of runs without a cap that overlapped no other job and had a core of their own."""
    found = []
    for run in runs:
        if not run.capped and run.threads < run.cores:
            others = np.array([(j.start_s, j.work_end_s) for j in run.jobs])
            for job in run.jobs:
                both = np.minimum(others[:, 1], job.work_end_s) - np.maximum(others[:, 0], job.start_s)
                if np.clip(both, 0.0, None).sum() - job.wall_s < _ALONE * job.wall_s:
                    found.append((run, job))
    return found


def finishing(runs: Sequence[RecordedRun]) -> Equation | None:
    """Time from a job's last byte to its commit: opening the output files again, fsync of directory and MANIFEST."""
    rows = []
    for run in runs:
        for job in run.jobs if not run.capped else ():
            if job.end_s > job.work_end_s:
                wait_s = job.end_s - job.work_end_s + (job.sync_s or 0.0 if job.kind == "flush" else 0.0)
                files = len(job.files) if job.kind == "compaction" else 1.0
                rows.append(DurationRow(file_ends(files) + fsyncs(1.0), run.host, wait_s, run.name))
    return linear("ends of jobs", rows, 1.0)


def core_waits(runs: Sequence[RecordedRun]) -> Equation | None:
    """Time of jobs beyond their CPU time, by the number of requests after which all cores were in use (models/costs/cores.py).

    A thread that slept during a request waits for a time slice if all cores are in use. The clients of a run want one
    core while they are not stalled.
    """
    rows = []
    for run in runs:
        if run.capped or run.limited or "read" in run.histograms:
            continue
        clients = 1.0 - run.stall_s / run.duration_s
        for job, others in zip(run.jobs, _concurrent_jobs(run), strict=True):
            if job.parts == 1:
                shares = np.convolve(others, (1.0 - clients, clients)).tolist()
                rows.append(_waits_row(run, job, [(share, 1.0 + n) for n, share in enumerate(shares)]))
    return linear("waits of jobs for cores", rows, 0.5)


def _waits_row(run: RecordedRun, job: TimedJob, threads: Sequence[tuple[float, float]]) -> DurationRow:
    """Return the measurement of a job's time beyond its CPU time.

    `threads`: (probability, number of threads that want a core, including the job's own).
    """
    cores = run.cores
    computing_s = job.cpu_s * sum(share * (1.0 + excess(n, cores)) for share, n in threads)
    sleeps = job.write_bytes / WRITE_REQUEST_BYTES + job.read_bytes / READ_REQUEST_BYTES
    cost = wake_ups(sleeps, sum(share * busy_probability(n - 1.0, cores) for share, n in threads))
    cost += writes(job.write_bytes, math.ceil(job.write_bytes / WRITE_REQUEST_BYTES))
    cost += reads(job.read_bytes, math.ceil(job.read_bytes / READ_REQUEST_BYTES))
    return DurationRow(cost, run.host, max(1e-4, job.wall_s - (job.sync_s or 0.0) - computing_s), run.name)


def _concurrent_jobs(run: RecordedRun) -> list[Array]:
    """Return for each job the probabilities that 0, 1, 2 … other jobs use the CPU while it runs."""
    table = np.array([(job.start_s, job.work_end_s, min(1.0, job.cpu_s / job.wall_s)) for job in run.jobs])
    found = []
    for i, job in enumerate(run.jobs):
        both = np.minimum(table[:, 1], job.work_end_s) - np.maximum(table[:, 0], job.start_s)
        busy = np.clip(both, 0.0, None) / job.wall_s * table[:, 2]
        busy[i] = 0.0
        shares = np.ones(1)
        for part in busy[busy > 0.0]:
            shares = np.convolve(shares, (1.0 - part, part))
        found.append(np.asarray(shares, dtype=np.float64))
    return found

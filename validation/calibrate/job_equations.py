"""Equations of background jobs: what merges, flushes and their files cost (sim/store/work.py, sim/machine/machine.py).

Rates of the device come from jobs that had it to themselves in runs without a cap: then neither a queue nor a wait for a
core is in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.validation.calibrate.recorded import RecordedRun
from lsmlab.validation.calibrate.solve import Array, Equation
from lsmlab.validation.calibrate.terms import linear
from lsmlab.validation.logs.timings.jobs import Job, compaction_terms

WRITE_REQUEST_BYTES: Final = 2.0**20
"""writable_file_max_buffer_size, options.h."""
READ_REQUEST_BYTES: Final = 2.0**21
"""What a merge reads ahead with direct I/O."""
_ALONE: Final = 0.05
"""A job is alone if others run for less than this share of its time."""
_SOON_S: Final = 0.05
"""A compaction that starts later than this after another job's end was not waiting for a thread."""


def compaction_cpu(runs: Sequence[RecordedRun]) -> Equation | None:
    """CPU time of merges, by records, bytes and comparisons in the heap of merged runs."""
    jobs = [(run, job) for run in runs for job in run.of("compaction") if job.cpu_s > 0 and job.records > 0]
    return _job_cpu("CPU of merges", jobs, ("host.compaction_record", "host.compaction_byte", "host.compaction_compare"))


def flush_cpu(runs: Sequence[RecordedRun]) -> Equation | None:
    """CPU time of flushes, by records and bytes."""
    jobs = [(run, job) for run in runs for job in run.of("flush") if job.cpu_s > 0 and job.records > 0]
    return _job_cpu("CPU of flushes", jobs, ("host.flush_record", "host.flush_byte"))


def _job_cpu(name: str, jobs: Sequence[tuple[RecordedRun, Job]], keys: Sequence[str]) -> Equation | None:
    counts = np.array([compaction_terms(job) for _, job in jobs]).reshape(-1, 3).T
    terms = list(zip(keys, counts, strict=False))  # flushes merge nothing, and tell nothing of what they drop
    return linear(name, terms, [job.cpu_s for _, job in jobs], [run.name for run, _ in jobs], 0.15)


def device_writes(runs: Sequence[RecordedRun]) -> Equation | None:
    """Time in write calls of jobs that had the device to themselves."""
    jobs = [(run, job) for run, job in _alone(runs) if job.writing_s > 0 and job.write_bytes >= WRITE_REQUEST_BYTES]
    size = np.array([job.write_bytes for _, job in jobs])
    terms = [("device.write_bandwidth", size), ("device.write_latency", np.ceil(size / WRITE_REQUEST_BYTES))]
    return linear("device writes", terms, [job.writing_s for _, job in jobs], [run.name for run, _ in jobs], 0.5)


def device_reads(runs: Sequence[RecordedRun]) -> Equation | None:
    """Time of such merges that was neither computing nor writing."""
    jobs = [
        (run, job) for run, job in _alone(runs)
        if job.kind == "compaction" and job.parts == 1 and not run.limited and job.wall_s > job.cpu_s + job.writing_s
    ]  # fmt: skip
    size = np.array([job.read_bytes for _, job in jobs])
    rest = [job.wall_s - job.cpu_s - job.writing_s for _, job in jobs]
    terms = [("device.read_bandwidth", size), ("device.read_latency", np.ceil(size / READ_REQUEST_BYTES))]
    return linear("device reads", terms, rest, [run.name for run, _ in jobs], 0.5)


def _alone(runs: Sequence[RecordedRun]) -> list[tuple[RecordedRun, Job]]:
    """Jobs that met no other job and had a core to themselves, of runs without a cap."""
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
    """From the last byte to the commit: reopening of the files, fsync of directory and manifest."""
    jobs = [(run, job) for run in runs if not run.capped for job in run.jobs if job.end_s > job.work_end_s]
    waits = [job.end_s - job.work_end_s + (job.sync_s or 0.0 if job.kind == "flush" else 0.0) for _, job in jobs]
    files = np.array([float(len(job.files)) if job.kind == "compaction" else 1.0 for _, job in jobs])
    terms = [("host.file_overhead", files), ("device.fsync_latency", np.ones(len(jobs)))]
    return linear("ends of jobs", terms, waits, [run.name for run, _ in jobs], 1.0)


def starts(runs: Sequence[RecordedRun]) -> Equation | None:
    """From the end of the job that gives a compaction its inputs or its thread to its start."""
    waits: list[float] = []
    names: list[str] = []
    for run in runs:
        ends = np.sort([job.end_s for job in run.jobs])
        for job in run.of("compaction"):
            before = int(np.searchsorted(ends, job.start_s)) - 1
            if before >= 0 and 0.0 < job.start_s - ends[before] < _SOON_S:
                waits.append(job.start_s - float(ends[before]))
                names.append(run.name)
    return linear("starts of compactions", [("host.job_start", np.ones(len(waits)))], waits, names, 2.0)


def deletions(runs: Sequence[RecordedRun]) -> Equation | None:
    """Between two deletions of the same job, with direct I/O: then no pages have to be freed."""
    waits: list[float] = []
    names: list[str] = []
    for run in runs:
        for job in run.jobs:
            gaps = np.diff(np.sort(job.deleted_s)).tolist()
            waits += gaps
            names += [run.name] * len(gaps)
    positive = [(w, n) for w, n in zip(waits, names, strict=True) if 0.0 < w < _SOON_S]
    ones = np.ones(len(positive))
    return linear("deletions", [("host.unlink", ones)], [w for w, _ in positive], [n for _, n in positive], 1.0)


def core_contention(runs: Sequence[RecordedRun]) -> Equation | None:
    """How much longer jobs take than their computing, by the threads beside them (`CoreStation`).

    With n threads that want a core, computing takes max(1, n / cores) as long, and 1 + core_contention (min(n, cores) - 1)
    times that. A thread that has slept for a request waits for a slice where all cores are taken. Clients of a run want one
    core each while no stall holds them.
    """
    extra, crowded, woken, written, read, requests, read_requests, names = [], [], [], [], [], [], [], []
    for run in runs:
        if run.capped or run.limited or "read" in run.histograms:
            continue
        cores, clients = run.cores, 1.0 - run.stall_s / run.duration_s
        for job, others in zip(run.jobs, _company(run), strict=True):
            if job.parts > 1:
                continue
            threads = 1.0 + np.arange(len(others) + 1.0)
            share = np.convolve(others, (1.0 - clients, clients))
            slower = np.maximum(1.0, threads / cores)
            extra.append(max(1e-4, job.wall_s - (job.sync_s or 0.0) - job.cpu_s * float(share @ slower)))
            crowded.append(job.cpu_s * float(share @ (slower * (np.minimum(threads, cores) - 1.0))))
            written.append(job.write_bytes)
            read.append(job.read_bytes)
            requests.append(math.ceil(job.write_bytes / WRITE_REQUEST_BYTES))
            read_requests.append(math.ceil(job.read_bytes / READ_REQUEST_BYTES))
            sleeps = job.write_bytes / WRITE_REQUEST_BYTES + job.read_bytes / READ_REQUEST_BYTES
            woken.append(sleeps * float(share @ (threads > cores)))
            names.append(run.name)
    terms = [
        ("host.core_contention", np.array(crowded)), ("host.time_slice", np.array(woken)),
        ("device.write_bandwidth", np.array(written)), ("device.read_bandwidth", np.array(read)),
        ("device.write_latency", np.array(requests)), ("device.read_latency", np.array(read_requests)),
    ]  # fmt: skip
    return linear("waits of jobs for cores", terms, extra, names, 0.5)


def _company(run: RecordedRun) -> list[Array]:
    """For each job, how likely it is that 0, 1, 2 … other jobs compute while it does."""
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

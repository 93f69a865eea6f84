"""What flushes and compactions wrote and read together, and whether their writes ran against a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.sim.results.series import spread
from lsmlab.validation.importer.estimates import MEDIAN_BY_MEAN, Earlier, Estimate, Estimates
from lsmlab.validation.importer.fsyncs import bursts
from lsmlab.validation.importer.observation import Observation
from lsmlab.validation.importer.reading import Floats, Reading, grid
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.history.summary import busy_s

_WINDOW_S: Final = 10
"""Rates are means over so many seconds: a job's bytes are spread over its time evenly, which they are not by the second."""
_FEWEST_JOBS: Final = 8
"""Jobs from which the rate of one is taken."""
_FEWEST_WINDOWS: Final = 20
_PLATEAU: Final = 0.25
"""Writes ran against a limit if the range of 90 % of the means is within this share of their median …"""
_SEVERAL: Final = 1.5
"""… if so many jobs were at work in the median, as a single one has limits of its own …"""
_WAITING: Final = 0.75
"""… or with direct I/O jobs waited for the device in so much of their time …"""
_BURSTS: Final = 1.1
"""… and if short fsyncs were so many times faster than long ones. Without a cap 0.98 to 1.09 (public LOGs of 6.4), with one
1.13 to 1.6. Otherwise the limit is the device's own bandwidth."""
_P5_TO_P95: Final = 3.29
"""Standard deviations between the 5 % and the 95 % quantile of a normal distribution."""


def streams(observation: Observation, _: Earlier) -> Estimates:
    """Estimate bytes per second of single jobs: the rate of one stream, so the device can do at least that."""
    found = []
    for kind, name in (("flush", "flush_bytes_per_s"), ("compaction", "compaction_write_bytes_per_s")):
        jobs = observation.reading.jobs.done(kind)
        rates = [j.write_bytes / busy_s(j) for j in jobs if j.write_bytes and busy_s(j) > 1e-3]
        if len(rates) >= _FEWEST_JOBS:
            values = np.array(rates)
            error = float(MEDIAN_BY_MEAN * values.std() / math.sqrt(len(values)))
            basis = f"median over {len(rates):,} {kind}s of bytes written / time; P90 {np.quantile(values, 0.9) / 1e6:,.0f} MB/s"
            found.append(Estimate(name, float(np.median(values)), error, "B/s", "lower_bound", basis))
    return Estimates(tuple(found))


def throughput(observation: Observation, earlier: Earlier) -> Estimates:
    """Estimate device.write_limit where writes ran against one, else device.write_bandwidth if no fsync told it; reads."""
    reading = observation.reading
    jobs = [j for j in reading.jobs.done("flush", "compaction") if j.write_bytes]
    if not jobs:
        return Estimates(notes=("device: no flush or compaction in the log tells its speed",))
    start, end = job_spans(jobs, reading)
    edges = grid(float(end.max()))
    busy = spread(start, end, end - start, edges) / edges[1]  # jobs at work at a time
    written = spread(start, end, np.array([float(j.write_bytes) for j in jobs]), edges) / edges[1]
    wal_bytes_per_s = observation.wal_bytes_per_s
    written[: len(wal_bytes_per_s)] += wal_bytes_per_s[: len(written)]
    means, jobs_at_work = _windows(written, busy, max(1, round(_WINDOW_S / float(edges[1]))))
    limit = _limit(means, jobs_at_work, _waiting_share(observation, jobs), bursts(observation, earlier))
    read = spread(start, end, np.array([float(j.read_bytes) for j in jobs]), edges) / edges[1]
    if limit is not None:
        return Estimates((limit, _reads(read, busy)))
    if not observation.buffered_reads and not observation.buffered_writes:
        return Estimates(_direct(jobs, read + written, busy))
    least = (_at_least(written, means),) if earlier["device.write_bandwidth"] is None else ()
    return Estimates((*least, _reads(read, busy)))


def job_spans(jobs: Sequence[LogJob], reading: Reading) -> tuple[Floats, Floats]:
    """Start and end in s of the time in which jobs moved bytes."""
    start = np.array([reading.seconds(j.start_us) for j in jobs], dtype=np.float64)
    return start, start + np.array([max(busy_s(j), 1e-6) for j in jobs], dtype=np.float64)


def _windows(total: Floats, busy: Floats, length: int) -> tuple[Floats, Floats]:
    """Means over windows in which a job was always at work, of the rate and of the jobs at work."""
    if len(total) < 2 * length:
        return np.empty(0), np.empty(0)
    kernel = np.ones(length) / length
    always = np.convolve(busy >= 0.999, kernel, "valid") >= 0.999
    return np.convolve(total, kernel, "valid")[always], np.convolve(busy, kernel, "valid")[always]


def _waiting_share(observation: Observation, jobs: Sequence[LogJob]) -> float:
    """Share of the merges' time that is not computing, with direct I/O."""
    if observation.buffered_writes:
        return 0.0
    merges = [job for job in jobs if job.kind == "compaction" and job.cpu_s is not None]
    busy = sum(busy_s(job) for job in merges)
    return 1.0 - sum(job.cpu_s or 0.0 for job in merges) / busy if busy else 0.0


def _limit(means: Floats, jobs_at_work: Floats, waiting: float, burst: float | None) -> Estimate | None:
    """device.write_limit, if writes ran against one."""
    if len(means) < _FEWEST_WINDOWS:
        return None
    low, middle, upper, high = (float(np.quantile(means, q)) for q in (0.05, 0.5, 0.75, 0.95))
    several = float(np.median(jobs_at_work)) >= _SEVERAL or waiting >= _WAITING
    bursty = burst is None or burst >= _BURSTS
    if not (several and bursty and high - low <= _PLATEAU * middle):
        return None
    basis = (
        f"upper quartile over {_WINDOW_S} s of jobs at work; 90 % of them lie within {low / 1e6:,.0f} and {high / 1e6:,.0f} MB/s:"
        " a limit, of the device, a cgroup or a rate limiter"
    )
    return Estimate("device.write_limit", upper, (high - low) / _P5_TO_P95, "B/s", "estimate", basis)


def _at_least(written: Floats, means: Floats) -> Estimate:
    """What all jobs together wrote in their fastest stretches: the device can do at least that."""
    if len(means) < _FEWEST_WINDOWS:
        rate = float(written.max())
        basis = f"fastest second; fewer than {_FEWEST_WINDOWS} stretches of {_WINDOW_S} s always had a job at work"
    else:
        rate = float(np.quantile(means, 0.95))
        basis = f"95 % of the stretches of {_WINDOW_S} s with a job at work are below it; nothing shows a limit"
    return Estimate("device.write_bandwidth", rate, None, "B/s", "lower_bound", basis)


def _direct(jobs: Sequence[LogJob], total: Floats, busy: Floats) -> tuple[Estimate, ...]:
    """With direct I/O a merge that does not compute reads or writes: one rate for both, a stream's or that of all together."""
    working = busy >= 0.95
    together = float(np.quantile(total[working], 0.95)) if working.any() else float(total.max())
    merges = [job for job in jobs if job.kind == "compaction" and job.subcompactions == 1]
    merges = [job for job in merges if job.cpu_s and busy_s(job) > job.cpu_s]
    waits = np.array([busy_s(job) - (job.cpu_s or 0.0) for job in merges])
    alone = sum(job.read_bytes + job.write_bytes for job in merges) / float(waits.sum()) if merges else 0.0
    words = f"what {len(merges):,} merges" if alone > together else "95 % of the seconds: what all jobs"
    basis = f"{words} read and wrote with direct I/O {'by their time that is not computing' if alone > together else 'together'}"
    names = ("device.write_bandwidth", "device.read_bandwidth")
    return tuple(Estimate(name, max(alone, together), None, "B/s", "estimate", basis) for name in names)


def _reads(read: Floats, busy: Floats) -> Estimate:
    working = busy >= 0.95
    rate = float(np.quantile(read[working], 0.95)) if working.any() else float(read.max())
    basis = "95 % of the seconds: inputs of compactions, from the device or the page cache, which the log cannot tell apart"
    return Estimate("device.read_bandwidth", rate, None, "B/s", "lower_bound", basis)

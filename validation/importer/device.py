"""Device constants and limits, from fsyncs and from the throughput of flushes and compactions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from lsmlab.sim.results.series import spread
from lsmlab.validation.calibrate.terms import job_cpu
from lsmlab.validation.importer.estimates import (
    FEWEST_WINDOWS,
    MEDIAN_BY_MEAN,
    P5_TO_P95,
    PARTS,
    WINDOW_S,
    Earlier,
    Estimate,
    Estimates,
    Observation,
    host_with,
    jackknife_error,
    windows,
)
from lsmlab.validation.importer.limits import FEWEST_JOBS, direct_limits
from lsmlab.validation.importer.reading import Floats, Reading, grid
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.history.summary import busy_s
from lsmlab.validation.logs.timings import fsync_periods
from lsmlab.validation.logs.timings.cache_phases import (
    CACHE_PAUSE_S,
    FirstPhase,
    first_phase,
)
from lsmlab.validation.logs.timings.fsync_periods import Array
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

_FEWEST: Final = 8
"""Least number of jobs, or of periods with an fsync in progress, for an estimate."""
_LARGEST_ERROR: Final = 0.3
"""Relative standard error from which a bandwidth is only a lower bound: the fsyncs are too short to be timed."""
ROTATING_S: Final = 15e-3
"""A small fsync takes this long only on a hard disk (seek and revolution); SSDs without a capacitor take 3 to 7 ms."""
_LEAST_SHARE: Final = 0.3
"""Least size of a period, as a share of a flushed file. In smaller periods fixed costs dominate."""
_COMMIT_QUANTILE: Final = 0.1
"""Quantile of the commits that gives the latency. Each commit has the fsyncs of directory and MANIFEST; slower commits
also waited for other jobs' files."""
FLUSH_CPU: Final = ("host.flush_record", "host.flush_byte")
"""Earlier estimates that give the start of a flush's fsync if the LOG does not time the fsync."""
_TIMED: Final = 0.9
"""Least share of jobs whose times the LOG shows, for hypotheses on what they waited for."""
_LARGEST_RANGE: Final = 0.25
"""Writes reached a limit only if 90 % of the window means lie in a range of at most this share of their median."""
_LEAST_JOBS: Final = 1.5
"""Writes reached a limit only if the median number of running jobs is at least this: a single job has limits of its
own."""
_LEAST_BURST: Final = 1.1
"""Writes reached a limit only if short periods of fsyncs are at least this much faster than long ones
(`bursts`). The ratio is 0.98 to 1.09 without a cap (public LOGs of 6.4) and 1.13 to 1.6 with one. Below it, the
limit is the device's own bandwidth."""


def small_fsync(observation: Observation, _: Earlier) -> Estimates:
    """Estimate device.fsync_latency if jobs write through the page cache.

    With direct I/O there is no estimate: the data of a file are on the device before the fsync.
    """
    flushes = _flushes(observation)
    if not flushes:
        return Estimates()
    halves = np.array([(job.end_s - job.files[-1][0]) / 2.0 for job in flushes])
    commits = [np.quantile(part, _COMMIT_QUANTILE) for part in np.array_split(halves, min(PARTS, len(halves)))]
    commit_s = fsync_periods.commit_s(observation.jobs, _COMMIT_QUANTILE)
    basis = f"half the time from a flush's file to its commit, P10 of {len(flushes):,} flushes"
    error = float(np.std(commits, ddof=1) / np.sqrt(len(commits)))
    return Estimates((Estimate("device.fsync_latency", commit_s, error, "s", "estimate", basis),))


def fsync_bandwidth(observation: Observation, earlier: Earlier) -> Estimates:
    """Estimate device.write_bandwidth from the bytes and the time of fsyncs, minus the latency of small fsyncs.

    Where the beginning is faster, the drive has an SLC cache that stays full: slc_idle is longer than the pauses of the run.
    """
    small = earlier["device.fsync_latency"]
    periods = _periods(observation, earlier)
    if small is None or periods is None:
        return Estimates()
    rate = fsync_periods.bandwidth(periods, small.value)
    error = jackknife_error(lambda kept: fsync_periods.bandwidth(periods[kept], small.value), len(periods))
    basis = f"bytes per second with an fsync in progress, {len(periods):,} periods; error: jackknife"
    kind = "estimate" if error < _LARGEST_ERROR * rate else "lower_bound"
    if small.value < ROTATING_S and (first := first_phase(observation.jobs, _flush_cpu_s(earlier))) is not None:
        return _fast_beginning(first, rate, error)
    return Estimates((Estimate("device.write_bandwidth", rate, error, "B/s", kind, basis),))


def _fast_beginning(first: FirstPhase, rate: float, error: float) -> Estimates:
    """Return the estimates of a drive whose SLC cache takes the first bytes of the run and stays full.

    `rate`: its mean rate in bytes per second, with standard error `error`.
    """
    basis = f"fsyncs of the first {first.fast_bytes / 1e9:.1f} GB are {first.fast / first.slow:.1f} times as fast: an SLC cache"
    return Estimates((
        Estimate("device.write_bandwidth", first.slow * rate, first.slow * error, "B/s", "estimate", basis),
        Estimate("device.slc_write_bandwidth", first.fast * rate, first.fast * error, "B/s", "estimate", basis),
        Estimate("device.slc_cache", first.fast_bytes, None, "B", "estimate", basis),
        Estimate("device.slc_idle", CACHE_PAUSE_S, None, "s", "assumed", "longer than the pauses of the run"),
    ))


def bursts(observation: Observation, earlier: Earlier) -> float | None:
    """Return the rate of the half of the fsync periods with fewer bytes, divided by that of the fifth with the most bytes.

    None if there are too few. A cap lets an allowance of bytes pass at once, so short periods are faster; a device without a
    cap does not do so.
    """
    periods = _periods(observation, earlier)
    if periods is None:
        return None
    seconds, size, _ = periods.T
    short, long = size <= np.median(size), size >= np.quantile(size, 0.8)
    return float(size[short].sum() / seconds[short].sum() / (size[long].sum() / seconds[long].sum()))


def _flushes(observation: Observation) -> list[TimedJob]:
    """Return the flushes of a store with buffered writes; none if there are too few."""
    flushes = [job for job in observation.jobs.jobs if job.kind == "flush"] if observation.buffered_writes else []
    return flushes if len(flushes) >= _FEWEST else []


def _periods(observation: Observation, earlier: Earlier) -> Array | None:
    """Return the periods with an fsync in progress (`fsync_periods.busy_periods`); None if there are too few."""
    flushes = _flushes(observation)
    if not flushes:
        return None
    full_bytes = _LEAST_SHARE * float(np.median([job.write_bytes for job in flushes]))
    periods = fsync_periods.busy_periods(observation.jobs, _flush_cpu_s(earlier), observation.read_copy_s, full_bytes)
    return periods if len(periods) >= _FEWEST else None


def _flush_cpu_s(earlier: Earlier) -> Callable[[TimedJob], float]:
    """Return the function that gives the CPU time of a flush in s."""
    host = host_with({name: earlier[name] for name in FLUSH_CPU})
    return lambda job: job_cpu(job, host).seconds(host)


def streams(observation: Observation, _: Earlier) -> Estimates:
    """Estimate the bytes per second of a single flush and a single compaction, as lower bounds of the device's rate."""
    found = []
    for kind, name in (("flush", "flush_bytes_per_s"), ("compaction", "compaction_write_bytes_per_s")):
        jobs = observation.reading.jobs.done(kind)
        rates = [j.all_write_bytes / busy_s(j) for j in jobs if j.all_write_bytes and busy_s(j) > 1e-3]
        if len(rates) >= _FEWEST:
            values = np.array(rates)
            error = float(MEDIAN_BY_MEAN * values.std() / math.sqrt(len(values)))
            basis = f"median over {len(rates):,} {kind}s of bytes written / time; P90 {np.quantile(values, 0.9) / 1e6:,.0f} MB/s"
            found.append(Estimate(name, float(np.median(values)), error, "B/s", "lower_bound", basis))
    return Estimates(tuple(found))


def throughput(observation: Observation, earlier: Earlier) -> Estimates:
    """Estimate device.write_limit if writes reached one, otherwise device.write_bandwidth; and device.read_bandwidth.

    An earlier estimate of device.write_bandwidth from fsyncs is kept. With direct writes and CPU times of the jobs see
    `direct_limits`.
    """
    reading = observation.reading
    jobs = [j for j in reading.jobs.done("flush", "compaction") if j.all_write_bytes]
    if not jobs:
        return Estimates(notes=("device: the LOG contains no flush or compaction from which to infer its speed",))
    if not observation.buffered_writes and len(observation.jobs.jobs) >= max(FEWEST_JOBS, _TIMED * len(jobs)):
        return direct_limits(observation, earlier)
    start, end = job_spans(jobs, reading)
    edges = grid(float(end.max()))
    busy = spread(start, end, end - start, edges) / edges[1]  # mean number of running jobs
    written = spread(start, end, np.array([float(j.all_write_bytes) for j in jobs]), edges) / edges[1]
    wal_bytes_per_s = observation.wal_bytes_per_s
    written[: len(wal_bytes_per_s)] += wal_bytes_per_s[: len(written)]
    means, jobs_at_work = windows(written, busy, max(1, round(WINDOW_S / float(edges[1]))))
    limit = _limit(means, jobs_at_work, bursts(observation, earlier))
    read = spread(start, end, np.array([float(j.all_read_bytes) for j in jobs]), edges) / edges[1]
    if limit is not None:
        return Estimates((limit, _reads(read, busy)))
    least = (_at_least(written, means),) if earlier["device.write_bandwidth"] is None else ()
    return Estimates((*least, _reads(read, busy)))


def job_spans(jobs: Sequence[LogJob], reading: Reading) -> tuple[Floats, Floats]:
    """Return the start and end in seconds of the time in which each job read and wrote. Shape (n,) each."""
    start = np.array([reading.seconds(j.start_us) for j in jobs], dtype=np.float64)
    return start, start + np.array([max(busy_s(j), 1e-6) for j in jobs], dtype=np.float64)


def _limit(means: Floats, jobs_at_work: Floats, burst: float | None) -> Estimate | None:
    """Return device.write_limit if writes reached a limit, otherwise None."""
    if len(means) < FEWEST_WINDOWS:
        return None
    low, middle, upper, high = (float(np.quantile(means, q)) for q in (0.05, 0.5, 0.75, 0.95))
    several = float(np.median(jobs_at_work)) >= _LEAST_JOBS
    bursty = burst is None or burst >= _LEAST_BURST
    if not (several and bursty and high - low <= _LARGEST_RANGE * middle):
        return None
    basis = (
        f"upper quartile of the rates over {WINDOW_S} s with running jobs; 90 % of the rates are between {low / 1e6:,.0f} and "
        f"{high / 1e6:,.0f} MB/s, which shows a limit of the device, a cgroup or a rate limiter"
    )
    return Estimate("device.write_limit", upper, (high - low) / P5_TO_P95, "B/s", "estimate", basis)


def _at_least(written: Floats, means: Floats) -> Estimate:
    """Return the write rate of all jobs in their fastest windows, a lower bound of device.write_bandwidth."""
    if len(means) < FEWEST_WINDOWS:
        rate = float(written.max())
        basis = f"fastest second; jobs ran without a break in fewer than {FEWEST_WINDOWS} periods of {WINDOW_S} s"
    else:
        rate = float(np.quantile(means, 0.95))
        basis = f"P95 of the rates over {WINDOW_S} s with running jobs; the rates show no limit"
    return Estimate("device.write_bandwidth", rate, None, "B/s", "lower_bound", basis)


def _reads(read: Floats, busy: Floats) -> Estimate:
    working = busy >= 0.95
    rate = float(np.quantile(read[working], 0.95)) if working.any() else float(read.max())
    basis = "P95 over the seconds of the bytes that compactions read, from the device or the page cache"
    return Estimate("device.read_bandwidth", rate, None, "B/s", "lower_bound", basis)

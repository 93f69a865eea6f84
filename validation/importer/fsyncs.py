"""Device constants from fsyncs: write bandwidth and latency of a small fsync.

A job computes a file, writes it into the page cache, and waits for its fsync
(behaviour/compaction-jobs.md, Timeline of a job). The time that is not CPU time is spent on the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from lsmlab.validation.calibrate.terms import job_cpu
from lsmlab.validation.importer.estimates import Earlier, Estimate, Estimates, host_with, jackknife_error
from lsmlab.validation.importer.observation import Observation
from lsmlab.validation.logs.timings import fsync_periods
from lsmlab.validation.logs.timings.cache_phases import (
    CACHE_PAUSE_S,
    CachePhases,
    FirstPhase,
    cache_phases,
    first_phase,
)
from lsmlab.validation.logs.timings.fsync_periods import Array
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

_FEWEST: Final = 8
"""Least number of jobs, or of periods with an fsync in progress, for a fit."""
_BLOCKS: Final = 10
"""Number of parts of the LOG that are left out in turn for a standard error."""
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


def small_fsync(observation: Observation, _: Earlier) -> Estimates:
    """Estimate device.fsync_latency if jobs write through the page cache.

    With direct I/O there is no estimate: the data of a file are on the device before the fsync.
    """
    flushes = _flushes(observation)
    if not flushes:
        return Estimates()
    halves = [[(job.end_s - job.files[-1][0]) / 2.0 for job in part] for part in _blocks(flushes)]
    commits = [np.quantile(half, _COMMIT_QUANTILE) for half in halves]
    commit_s = fsync_periods.commit_s(observation.jobs, _COMMIT_QUANTILE)
    basis = f"half the time from a flush's file to its commit, P10 of {len(flushes):,} flushes"
    error = float(np.std(commits, ddof=1) / np.sqrt(len(commits)))
    return Estimates((Estimate("device.fsync_latency", commit_s, error, "s", "estimate", basis),))


def fsync_bandwidth(observation: Observation, earlier: Earlier) -> Estimates:
    """Estimate device.write_bandwidth from the bytes and the time of fsyncs, minus the latency of small fsyncs.

    Where the drive alternates between two rates, it has an SLC cache: the lower rate is device.write_bandwidth, and
    device.slc_write_bandwidth, slc_cache, slc_resume and slc_fold_bandwidth describe the cache. Where only its beginning is
    faster, the cache stays full: slc_idle is longer than the pauses of the run.
    """
    small = earlier["device.fsync_latency"]
    rotates = small is not None and small.value >= ROTATING_S
    periods = _periods(observation, earlier, fsync_periods.most_fsyncs(rotates=rotates))
    if small is None or periods is None:
        return Estimates()
    rate = fsync_periods.bandwidth(periods, small.value)
    parts = np.array_split(np.arange(len(periods)), min(_BLOCKS, len(periods)))
    left_out = [fsync_periods.bandwidth(np.delete(periods, part, axis=0), small.value) for part in parts]
    error = jackknife_error(np.array(left_out))
    basis = f"bytes per second with an fsync in progress, {len(periods):,} periods; error: jackknife, {len(parts)} blocks"
    kind = "estimate" if error < _LARGEST_ERROR * rate else "lower_bound"
    if not rotates:
        phases = cache_phases(observation.jobs, _flush_cpu_s(earlier))
        if phases is not None and 0.0 < (room_bytes := phases.fast_bytes(rate)) < math.inf:
            return _slc_cache(phases, room_bytes, error / rate)
        if (first := first_phase(observation.jobs, _flush_cpu_s(earlier))) is not None:
            return _fast_beginning(first, rate, error)
    return Estimates((Estimate("device.write_bandwidth", rate, error, "B/s", kind, basis),))


def _slc_cache(phases: CachePhases, room_bytes: float, error: float) -> Estimates:
    """Return the estimates of a drive that is fast for `room_bytes`, then slow while it copies them to their final cells.

    `error`: relative standard error of its mean rate.
    """
    basis = f"fsyncs are fast and slow in turn: an SLC cache that fills, and is copied for {phases.slow_s:.0f} s"
    slow, fast = phases.slow_bytes_per_s, phases.fast_bytes_per_s
    return Estimates((
        Estimate("device.write_bandwidth", slow, error * slow, "B/s", "estimate", basis),
        Estimate("device.slc_write_bandwidth", fast, error * fast, "B/s", "estimate", basis),
        Estimate("device.slc_cache", room_bytes, None, "B", "estimate", basis),
        Estimate("device.slc_resume", 1.0, None, "ratio", "estimate", basis),
        Estimate("device.slc_fold_bandwidth", room_bytes / phases.slow_s, None, "B/s", "estimate", basis),
    ))


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
    """Return the rate of short periods with fsyncs divided by the rate of long ones; None if there are too few periods.

    A cap lets an allowance of bytes pass at once, so short periods are faster; a device without a cap does not do so.
    """
    periods = _periods(observation, earlier)
    return _bursts(periods) if periods is not None else None


def _flushes(observation: Observation) -> list[TimedJob]:
    """Return the flushes of a store with buffered writes; none if there are too few."""
    flushes = [job for job in observation.jobs.jobs if job.kind == "flush"] if observation.buffered_writes else []
    return flushes if len(flushes) >= _FEWEST else []


def _periods(observation: Observation, earlier: Earlier, most_fsyncs: float = math.inf) -> Array | None:
    """Return the periods with an fsync in progress (`fsync_periods.busy_periods`); None if there are too few."""
    flushes = _flushes(observation)
    if not flushes:
        return None
    full_bytes = _LEAST_SHARE * float(np.median([job.write_bytes for job in flushes]))
    periods = fsync_periods.busy_periods(
        observation.jobs, _flush_cpu_s(earlier), observation.read_copy_s, full_bytes, most_fsyncs
    )
    return periods if len(periods) >= _FEWEST else None


def _flush_cpu_s(earlier: Earlier) -> Callable[[TimedJob], float]:
    """Return the function that gives the CPU time of a flush in s."""
    host = host_with({name: earlier[name] for name in FLUSH_CPU})
    return lambda job: job_cpu(job, host).seconds(host)


def _bursts(periods: Array) -> float:
    """Return the rate of the half of the periods with fewer bytes, divided by that of the fifth with the most bytes."""
    seconds, size, _ = periods.T
    short, long = size <= np.median(size), size >= np.quantile(size, 0.8)
    return float(size[short].sum() / seconds[short].sum() / (size[long].sum() / seconds[long].sum()))


def _blocks(jobs: Sequence[TimedJob]) -> list[list[TimedJob]]:
    parts = np.array_split(np.arange(len(jobs)), min(_BLOCKS, len(jobs)))
    return [[jobs[i] for i in part] for part in parts]

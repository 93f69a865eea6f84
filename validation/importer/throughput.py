"""Combined throughput of flushes and compactions: device bandwidth, and whether their writes reached a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.sim.results.series import spread
from lsmlab.validation.importer.estimates import MEDIAN_BY_MEAN, Earlier, Estimate, Estimates
from lsmlab.validation.importer.fsyncs import bursts
from lsmlab.validation.importer.hypotheses.limits import FEWEST_JOBS, WINDOW_S, direct_limits, windows
from lsmlab.validation.importer.observation import Observation
from lsmlab.validation.importer.reading import Floats, Reading, grid
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.history.summary import busy_s

_FEWEST_JOBS: Final = 8
"""Least number of jobs for the rate of a single job."""
_FEWEST_WINDOWS: Final = 20
_TIMED: Final = 0.9
"""Least share of jobs whose times the LOG shows, for hypotheses on what they waited for."""
_LARGEST_RANGE: Final = 0.25
"""Writes reached a limit only if 90 % of the window means lie in a range of at most this share of their median."""
_LEAST_JOBS: Final = 1.5
"""Writes reached a limit only if the median number of running jobs is at least this: a single job has limits of its
own."""
_LEAST_BURST: Final = 1.1
"""Writes reached a limit only if short periods of fsyncs are at least this much faster than long ones
(`fsyncs.bursts`). The ratio is 0.98 to 1.09 without a cap (public LOGs of 6.4) and 1.13 to 1.6 with one. Below it, the
limit is the device's own bandwidth."""
_P5_TO_P95: Final = 3.29
"""Distance from the 5 % to the 95 % quantile of a normal distribution, in standard deviations."""


def streams(observation: Observation, _: Earlier) -> Estimates:
    """Estimate the bytes per second of a single flush and a single compaction, as lower bounds of the device's rate."""
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
    """Estimate device.write_limit if writes reached one, otherwise device.write_bandwidth; and device.read_bandwidth.

    An earlier estimate of device.write_bandwidth from fsyncs is kept. With direct writes and CPU times of the jobs see
    `direct_limits`.
    """
    reading = observation.reading
    jobs = [j for j in reading.jobs.done("flush", "compaction") if j.write_bytes]
    if not jobs:
        return Estimates(notes=("device: the LOG contains no flush or compaction from which to infer its speed",))
    if not observation.buffered_writes and len(observation.jobs.jobs) >= max(FEWEST_JOBS, _TIMED * len(jobs)):
        return direct_limits(observation, earlier)
    start, end = job_spans(jobs, reading)
    edges = grid(float(end.max()))
    busy = spread(start, end, end - start, edges) / edges[1]  # mean number of running jobs
    written = spread(start, end, np.array([float(j.write_bytes) for j in jobs]), edges) / edges[1]
    wal_bytes_per_s = observation.wal_bytes_per_s
    written[: len(wal_bytes_per_s)] += wal_bytes_per_s[: len(written)]
    means, jobs_at_work = windows(written, busy, max(1, round(WINDOW_S / float(edges[1]))))
    limit = _limit(means, jobs_at_work, bursts(observation, earlier))
    read = spread(start, end, np.array([float(j.read_bytes) for j in jobs]), edges) / edges[1]
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
    if len(means) < _FEWEST_WINDOWS:
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
    return Estimate("device.write_limit", upper, (high - low) / _P5_TO_P95, "B/s", "estimate", basis)


def _at_least(written: Floats, means: Floats) -> Estimate:
    """Return the write rate of all jobs in their fastest windows, a lower bound of device.write_bandwidth."""
    if len(means) < _FEWEST_WINDOWS:
        rate = float(written.max())
        basis = f"fastest second; jobs ran without a break in fewer than {_FEWEST_WINDOWS} periods of {WINDOW_S} s"
    else:
        rate = float(np.quantile(means, 0.95))
        basis = f"P95 of the rates over {WINDOW_S} s with running jobs; the rates show no limit"
    return Estimate("device.write_bandwidth", rate, None, "B/s", "lower_bound", basis)


def _reads(read: Floats, busy: Floats) -> Estimate:
    working = busy >= 0.95
    rate = float(np.quantile(read[working], 0.95)) if working.any() else float(read.max())
    basis = "P95 over the seconds of the bytes that compactions read, from the device or the page cache"
    return Estimate("device.read_bandwidth", rate, None, "B/s", "lower_bound", basis)

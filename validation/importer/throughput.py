"""What flushes and compactions wrote and read together, and whether their writes ran against a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.sim.results.series import spread
from lsmlab.validation.importer.estimates import Estimate, InferredRates
from lsmlab.validation.importer.reading import Floats, Reading, grid
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.history.summary import busy_s

_WINDOW_S: Final = 10
"""Rates are means over so many seconds: a job's bytes are spread over its time evenly, which they are not by the second."""
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


def throughput(found: InferredRates, reading: Reading, wal_bytes_per_s: Floats) -> None:
    """Add device.write_limit where writes ran against one, else device.write_bandwidth if no fsync told it; reads.

    `wal_bytes_per_s`: what the write-ahead log brings to the device, by second from the origin on.
    """
    jobs = [j for j in reading.jobs.done("flush", "compaction") if j.write_bytes]
    if not jobs:
        found.notes.append("device: no flush or compaction in the log tells its speed")
        return
    start, end = job_spans(jobs, reading)
    edges = grid(float(end.max()))
    busy = spread(start, end, end - start, edges) / edges[1]  # jobs at work at a time
    written = spread(start, end, np.array([float(j.write_bytes) for j in jobs]), edges) / edges[1]
    written[: len(wal_bytes_per_s)] += wal_bytes_per_s[: len(written)]
    means, jobs_at_work = _windows(written, busy, max(1, round(_WINDOW_S / float(edges[1]))))
    limited = len(means) >= _FEWEST_WINDOWS and _limit(found, means, jobs_at_work, _waiting_share(reading, jobs))
    read = spread(start, end, np.array([float(j.read_bytes) for j in jobs]), edges) / edges[1]
    direct = reading.option("use_direct_reads") and reading.option("use_direct_io_for_flush_and_compaction")
    if direct and not limited:
        _direct(found, jobs, read + written, busy)
        return
    if not limited and found.get("device.write_bandwidth") is None:
        found.estimates.append(_at_least(written, means))
    _reads(found, read, busy)


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


def _waiting_share(reading: Reading, jobs: Sequence[LogJob]) -> float:
    """Share of the merges' time that is not computing, with direct I/O."""
    if not reading.option("use_direct_io_for_flush_and_compaction"):
        return 0.0
    merges = [job for job in jobs if job.kind == "compaction" and job.cpu_s is not None]
    busy = sum(busy_s(job) for job in merges)
    return 1.0 - sum(job.cpu_s or 0.0 for job in merges) / busy if busy else 0.0


def _limit(found: InferredRates, means: Floats, jobs_at_work: Floats, waiting: float) -> bool:
    """Add device.write_limit, if writes ran against one; returns whether they did."""
    low, middle, upper, high = (float(np.quantile(means, q)) for q in (0.05, 0.5, 0.75, 0.95))
    several = float(np.median(jobs_at_work)) >= _SEVERAL or waiting >= _WAITING
    bursts = found.bursts is None or found.bursts >= _BURSTS
    if not (several and bursts and high - low <= _PLATEAU * middle):
        return False
    basis = (
        f"upper quartile over {_WINDOW_S} s of jobs at work; 90 % of them lie within {low / 1e6:,.0f} and {high / 1e6:,.0f} MB/s:"
        " a limit, of the device, a cgroup or a rate limiter"
    )
    found.estimates.append(Estimate("device.write_limit", upper, (high - low) / _P5_TO_P95, "B/s", "estimate", basis))
    return True


def _at_least(written: Floats, means: Floats) -> Estimate:
    """What all jobs together wrote in their fastest stretches: the device can do at least that."""
    if len(means) < _FEWEST_WINDOWS:
        rate = float(written.max())
        basis = f"fastest second; fewer than {_FEWEST_WINDOWS} stretches of {_WINDOW_S} s always had a job at work"
    else:
        rate = float(np.quantile(means, 0.95))
        basis = f"95 % of the stretches of {_WINDOW_S} s with a job at work are below it; nothing shows a limit"
    return Estimate("device.write_bandwidth", rate, None, "B/s", "lower_bound", basis)


def _direct(found: InferredRates, jobs: Sequence[LogJob], total: Floats, busy: Floats) -> None:
    """With direct I/O a merge that does not compute reads or writes: one rate for both, a stream's or that of all together."""
    working = busy >= 0.95
    together = float(np.quantile(total[working], 0.95)) if working.any() else float(total.max())
    merges = [job for job in jobs if job.kind == "compaction" and job.subcompactions == 1]
    merges = [job for job in merges if job.cpu_s and busy_s(job) > job.cpu_s]
    waits = np.array([busy_s(job) - (job.cpu_s or 0.0) for job in merges])
    alone = sum(job.read_bytes + job.write_bytes for job in merges) / float(waits.sum()) if merges else 0.0
    words = f"what {len(merges):,} merges" if alone > together else "95 % of the seconds: what all jobs"
    basis = f"{words} read and wrote with direct I/O {'by their time that is not computing' if alone > together else 'together'}"
    for name in ("device.write_bandwidth", "device.read_bandwidth"):
        found.estimates.append(Estimate(name, max(alone, together), None, "B/s", "estimate", basis))


def _reads(found: InferredRates, read: Floats, busy: Floats) -> None:
    working = busy >= 0.95
    rate = float(np.quantile(read[working], 0.95)) if working.any() else float(read.max())
    basis = "95 % of the seconds: inputs of compactions, from the device or the page cache, which the log cannot tell apart"
    found.estimates.append(Estimate("device.read_bandwidth", rate, None, "B/s", "lower_bound", basis))

"""Speed of each job in each interval according to each hypothesis on what jobs wait for.

A hypothesis has one unknown number. A thread reads, computes and writes in turn. Under a cap of the block layer it works
at full speed until the allowance of a slice is used up and then sleeps, so that CPU time and waits overlap; on a device
of limited bandwidth they add up (sim/machine/steps.py, decision 0005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from lsmlab.sim.machine.make import DIRECT_READAHEAD_BYTES
from lsmlab.sim.machine.steps import BUFFER_BYTES
from lsmlab.validation.importer.hypotheses.recorded_work import RecordedWork
from lsmlab.validation.importer.reading import Floats

_FAST_READ, _FAST_WRITE = 3.5e9, 2.7e9
"""Bandwidth of a device that is no limit: device=nvme."""
_FASTEST: Final = 8e9
"""Highest bandwidth or cap that is considered, in bytes per second."""
_FAST: Final = 0.9
"""Share of the jobs that cannot be faster than alone on the device; the others may have wrong times."""
_TURNS: Final = 1.0 / 3.0
"""Share of the smaller of its reads and writes by which a thread alone takes longer under equal caps on both: while it
sleeps in one direction it does not use the allowance of the other. Compactions of 100 MB and more that run alone take
1.25 to 1.33 times the time of their larger direction, recorded (bw80_v200, bw40_v1000) and simulated."""
_ROUNDS: Final = 12
"""Iterations of the mean queue lengths; they change by less than 1 % in the last one."""


class Hypothesis(NamedTuple):
    """A possible reason of the waits of jobs, with one unknown number."""

    name: str
    words: str
    lowest: float
    highest: float
    speeds: Callable[[RecordedWork, float], Floats]
    """Speeds of the jobs (1 / s) in each interval for a value of the unknown number. Shape as `RecordedWork.jobs`."""
    alone: Callable[[RecordedWork], Floats] | None = None
    """The number at which each job would take its recorded time alone; None if jobs may be faster than it says, as within
    the allowance of a cap. Shape (n,)."""
    falling: bool = False
    """Whether jobs are slower, the larger the number is."""

    def bounds(self, work: RecordedWork) -> tuple[float, float]:
        """Return the lowest and the highest number that let the fastest jobs be as fast as they were."""
        if self.alone is None:
            return self.lowest, self.highest
        slowest, fastest = (float(np.quantile(self.alone(work), q)) for q in (1.0 - _FAST, _FAST))
        if self.falling:
            return self.lowest, min(self.highest, max(slowest, 2.0 * self.lowest))
        return max(self.lowest, min(fastest, self.highest / 2.0)), self.highest


def _requests(work: RecordedWork, bytes_per_s: float) -> Floats:
    """Each job waits for its own requests only: a bandwidth per thread."""
    return _per_interval(work, work.cpu_s + (work.read_bytes + work.write_bytes) / bytes_per_s)


def _latency(work: RecordedWork, latency_s: float) -> Floats:
    """Each job waits for its own requests only: a time per request."""
    return _per_interval(work, _unlimited_s(work) + _requests_of(work) * latency_s)


def _rate_alone(work: RecordedWork) -> Floats:
    return (work.read_bytes + work.write_bytes) / (work.seconds - work.cpu_s)


def _latency_alone(work: RecordedWork) -> Floats:
    return (work.seconds - work.cpu_s) / _requests_of(work)


def _requests_of(work: RecordedWork) -> Floats:
    """Return the reads and writes of each job by RocksDB, which waits for each. Shape (n,)."""
    return work.read_bytes / DIRECT_READAHEAD_BYTES + work.write_bytes / BUFFER_BYTES


def _bandwidth(work: RecordedWork, bytes_per_s: float) -> Floats:
    """All jobs share the bandwidth of one device for reads and writes."""
    cpu_s = work.per_interval(work.cpu_s)
    alone_s = work.per_interval((work.read_bytes + work.write_bytes) / bytes_per_s)
    return _inverse(cpu_s + _queued(alone_s, cpu_s, 1))


def _queued(alone_s: Floats, elsewhere_s: Floats, servers: int) -> Floats:
    """Return the time of jobs at a station that they share, with mean queue lengths (Bard, Schweitzer).

    `alone_s`: their time there without the others; `elsewhere_s`: their time in which they do not wait there.
    """
    there_s = alone_s
    for _ in range(_ROUNDS):
        share = np.divide(there_s, elsewhere_s + there_s, out=np.zeros_like(there_s), where=there_s > 0.0)
        there_s = alone_s * np.maximum(1.0, (1.0 + share.sum(axis=1, keepdims=True) - share) / servers)
    return there_s


def _on_cores(count: int) -> Hypothesis:
    """Return the hypothesis that jobs share `count` cores, those of clients excluded, and wait for their own requests."""

    def speeds(work: RecordedWork, bytes_per_s: float) -> Floats:
        device_s = work.per_interval((work.read_bytes + work.write_bytes) / bytes_per_s)
        return _inverse(device_s + _queued(work.per_interval(work.cpu_s), device_s, count))

    words = f"{count} {'core' if count == 1 else 'cores'} and the bandwidth of a single thread"
    return Hypothesis("cores", words, 1e6, _FASTEST, speeds, _rate_alone)


def _write_cap(work: RecordedWork, bytes_per_s: float) -> Floats:
    return _capped(work, bytes_per_s, (work.write_bytes,))


def _read_write_cap(work: RecordedWork, bytes_per_s: float) -> Floats:
    return _capped(work, bytes_per_s, (work.write_bytes, work.read_bytes))


def _iops_cap(work: RecordedWork, per_s: float) -> Floats:
    return _capped(work, per_s, (work.write_ops, work.read_ops))


WRITE_CAP: Final = Hypothesis("write_cap", "a cap on bytes written", 1e6, _FASTEST, _write_cap)
READ_WRITE_CAP: Final = Hypothesis(
    "read_write_cap", "caps on bytes written and on bytes read", 1e6, _FASTEST, _read_write_cap
)
IOPS_CAP: Final = Hypothesis("iops_cap", "a cap on operations", 20.0, 1e5, _iops_cap)
BANDWIDTH: Final = Hypothesis("bandwidth", "the bandwidth of the device", 1e6, _FASTEST, _bandwidth, _rate_alone)
REQUESTS: Final = Hypothesis("requests", "the bandwidth of a single thread", 1e6, _FASTEST, _requests, _rate_alone)
LATENCY: Final = Hypothesis("latency", "the latency of requests", 1e-5, 1.0, _latency, _latency_alone, falling=True)
CORES: Final = tuple(_on_cores(count) for count in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32))
HYPOTHESES: Final = (WRITE_CAP, READ_WRITE_CAP, IOPS_CAP, BANDWIDTH, REQUESTS, LATENCY, *CORES)


def _unlimited_s(work: RecordedWork) -> Floats:
    """Time of each job on a device without a limit. Shape (n,)."""
    return work.cpu_s + work.read_bytes / _FAST_READ + work.write_bytes / _FAST_WRITE


def _per_interval(work: RecordedWork, seconds: Floats) -> Floats:
    return _inverse(work.per_interval(seconds))


def _inverse(seconds: Floats) -> Floats:
    return np.divide(1.0, seconds, out=np.zeros_like(seconds), where=seconds > 0.0)


def _capped(work: RecordedWork, cap_per_s: float, demands: Sequence[Floats]) -> Floats:
    """Return the speeds if each of the demands, in units of the cap, has an allowance of its own."""
    least, most = np.minimum.reduce(demands), np.maximum.reduce(demands)
    turns = (most + _TURNS * least) / cap_per_s if len(demands) > 1 else most / cap_per_s
    speeds = _per_interval(work, np.maximum(_unlimited_s(work), turns))
    for demand in demands:
        units = work.per_interval(demand)
        granted = _fair(speeds * units, cap_per_s)
        speeds = np.where(units > 0.0, np.minimum(speeds, granted * _inverse(units)), speeds)
    return speeds


def _fair(wanted: Floats, total: float) -> Floats:
    """Return what each column of a row gets if rows share `total` fairly: no more than wanted, otherwise equal parts."""
    ordered = np.sort(wanted, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    levels = (total - before) / np.arange(wanted.shape[1], 0, -1)
    enough = levels <= ordered
    level = np.where(enough.any(axis=1), levels[np.arange(len(levels)), enough.argmax(axis=1)], np.inf)
    granted: Floats = np.minimum(wanted, level[:, None])
    return granted

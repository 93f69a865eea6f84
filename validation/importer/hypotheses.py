"""Hypotheses on what held recorded jobs back, each with one unknown number: the speed of each job in each interval.

A thread reads, computes and writes in turn. Under a cap of the block layer it works at full speed until the allowance of a
slice is used up and then sleeps, so that CPU time and waits overlap; on a device of limited bandwidth they add up
(sim/machine/steps.py, decision 0005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.devices.capped import FILE_DISCARDS, FILE_PIECES, FILE_READS, FILE_WRITES, IO_BYTES, SYNC_WRITES
from lsmlab.sim.machine.make import DIRECT_READAHEAD_BYTES
from lsmlab.sim.machine.steps import BUFFER_BYTES
from lsmlab.validation.importer.reading import Floats
from lsmlab.validation.logs.timings.timed_jobs import TimedJob
from numpy.typing import NDArray

_MOST_THREADS: Final = 1500
"""Largest number of threads of jobs that are compared: of a longer LOG those of its last jobs."""
_LEAST_WAIT: Final = 0.02
"""Least share of a job's time that is not CPU time: clocks of CPU time and wall time differ by about as much."""
_COMMITS: Final = 2
"""Small fsyncs per job: of the directory and of the MANIFEST."""
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


@dataclass(frozen=True)
class RecordedWork:
    """Recorded jobs with what they asked of the machine, and the intervals in which they ran. n jobs, m intervals."""

    start_s: Floats
    """Start of each job. Shape (n,)."""
    seconds: Floats
    """Duration of each job, with its commit. Shape (n,)."""
    cpu_s: Floats
    """CPU time of each job. Shape (n,)."""
    read_bytes: Floats
    """Bytes that each job read from the device. Shape (n,)."""
    write_bytes: Floats
    read_ops: Floats
    """Operations of the block layer, as a cap on operations counts them. Shape (n,)."""
    write_ops: Floats
    """As `read_ops`, with the discards of files that the job deleted."""
    length_s: Floats
    """Length of each interval. Shape (m,)."""
    jobs: NDArray[np.int64]
    """Numbers of the jobs that ran in each interval, and -1 in unused columns. Shape (m, most jobs at a time)."""

    def per_interval(self, values: Floats) -> Floats:
        """Return a value of each job in each interval in which it ran, otherwise 0. Shape as `jobs`."""
        return np.append(values, 0.0)[self.jobs]

    def progress(self, speeds: Floats) -> Floats:
        """Return the share of each job that is done after its recorded time at these speeds (1 / s). Shape (n,).

        It is 1 where the hypothesis behind the speeds gives the job its recorded duration.
        """
        ran = self.jobs >= 0
        done = (speeds * self.length_s[:, None])[ran]
        total: Floats = np.bincount(self.jobs[ran], weights=done, minlength=len(self.seconds)).astype(np.float64)
        return total


def work_of(jobs: Sequence[TimedJob], cpu_s: Sequence[float], *, reads: bool) -> RecordedWork:
    """Return the work of jobs with their CPU times. `reads`: whether compactions read from the device.

    Each subcompaction counts as a job: it is a thread with an equal part of the work.
    """
    threads = np.array([max(1, job.parts) for job in jobs])
    first = int(np.searchsorted(-np.cumsum(threads[::-1])[::-1], -_MOST_THREADS))
    rows = [
        (j.start_s, j.end_s, cpu, j.read_bytes * reads, j.write_bytes, len(j.files), j.deletions, count)
        for j, cpu, count in zip(jobs[first:], cpu_s[first:], threads[first:], strict=True)
    ]
    start, end, *parts, count = np.repeat(np.array(rows, dtype=np.float64), threads[first:], axis=0).T
    cpu, read, written, files, deleted = (part / count for part in parts)
    length_s, numbers = _intervals(start, end)
    seconds = end - start
    small = files * (FILE_WRITES + FILE_PIECES) + _COMMITS * SYNC_WRITES / count + deleted * FILE_DISCARDS
    return RecordedWork(
        start, seconds, np.minimum(cpu, (1.0 - _LEAST_WAIT) * seconds), read, written,
        read / IO_BYTES + files * (FILE_READS + FILE_PIECES),
        written / IO_BYTES + small, length_s, numbers,
    )  # fmt: skip


def _intervals(start: Floats, end: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the lengths of the intervals with running jobs, and the numbers of these jobs."""
    times = np.unique(np.concatenate([start, end]))
    running: list[list[int]] = [[] for _ in times]
    for job, (first, last) in enumerate(zip(np.searchsorted(times, start), np.searchsorted(times, end), strict=True)):
        for interval in range(first, last):
            running[interval].append(job)
    busy = [i for i, jobs in enumerate(running) if jobs]
    numbers = np.full((len(busy), max(len(running[i]) for i in busy)), -1)
    for row, i in enumerate(busy):
        numbers[row, : len(running[i])] = running[i]
    return np.diff(times)[busy], numbers


Demands = tuple[Floats, ...]
"""What each job asks of a cap, by direction. Shape (n,) each."""


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
    demands: Callable[[RecordedWork], Demands] | None = None
    """What jobs ask of a cap, in its unit; None if the number is no cap."""
    cores: int | None = None
    """Cores that the jobs share, those of clients excluded; None if jobs do not wait for cores."""

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
    return Hypothesis("cores", words, 1e6, _FASTEST, speeds, _rate_alone, cores=count)


def _cap(name: str, words: str, lowest: float, highest: float, demands: Callable[[RecordedWork], Demands]) -> Hypothesis:
    """Return the hypothesis that each of the demands of all jobs together has the same cap."""

    def speeds(work: RecordedWork, cap_per_s: float) -> Floats:
        return _capped(work, cap_per_s, demands(work))

    return Hypothesis(name, words, lowest, highest, speeds, demands=demands)


WRITE_CAP: Final = _cap("write_cap", "a cap on bytes written", 1e6, _FASTEST, lambda work: (work.write_bytes,))
READ_WRITE_CAP: Final = _cap(
    "read_write_cap", "caps on bytes written and on bytes read", 1e6, _FASTEST, lambda work: (work.write_bytes, work.read_bytes)
)
IOPS_CAP: Final = _cap("iops_cap", "a cap on operations", 20.0, 1e5, lambda work: (work.write_ops, work.read_ops))
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


def _capped(work: RecordedWork, cap_per_s: float, demands: Demands) -> Floats:
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

"""Demands of recorded jobs, and the intervals between their starts and ends, in each of which the same jobs ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.models.devices.capped import FILE_DISCARDS, FILE_READS, FILE_WRITES, IO_BYTES, READ_IO_BYTES, SYNC_WRITES
from lsmlab.validation.importer.reading import Floats
from lsmlab.validation.logs.timings.timed_jobs import TimedJob
from numpy.typing import NDArray

_MOST_THREADS: Final = 1500
"""Largest number of threads of jobs that are compared: of a longer LOG those of its last jobs."""
_LEAST_WAIT: Final = 0.02
"""Least share of a job's time that is not CPU time: clocks of CPU time and wall time differ by about as much."""
_COMMITS: Final = 2
"""Small fsyncs per job: of the directory and of the MANIFEST."""


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
        (j.start_s, j.end_s, cpu, j.read_bytes * reads, j.write_bytes, len(j.files), len(j.deleted_s), count)
        for j, cpu, count in zip(jobs[first:], cpu_s[first:], threads[first:], strict=True)
    ]
    start, end, *parts, count = np.repeat(np.array(rows, dtype=np.float64), threads[first:], axis=0).T
    cpu, read, written, files, deleted = (part / count for part in parts)
    length_s, numbers = _intervals(start, end)
    seconds = end - start
    small = files * FILE_WRITES + _COMMITS * SYNC_WRITES / count + deleted * FILE_DISCARDS
    return RecordedWork(
        start, seconds, np.minimum(cpu, (1.0 - _LEAST_WAIT) * seconds), read, written, read / READ_IO_BYTES + files * FILE_READS,
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

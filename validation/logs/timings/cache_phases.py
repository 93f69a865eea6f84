"""Fast beginning of a drive with an SLC cache that stays full, from the fsyncs of a LOG."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from lsmlab.validation.logs.timings.fsync_periods import Array, TimedLog, fsync_spans
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

_STEP_S: Final = 0.5
_FEWEST_FILES: Final = 20
"""Smallest number of files, and of steps, of a run that can show it."""
CACHE_PAUSE_S: Final = 10.0
"""Time in s after which an idle drive with a fast beginning copies its SLC cache, an assumption: longer than the pauses of the
runs, in none of which the cache got room again, and shorter than the minutes between them."""
_SHORTEST: Final = 4
"""Smallest number of steps of a fast beginning."""
_SLOWER: Final = 1.25
"""Smallest ratio of the rate of a fast beginning to the rate afterwards."""
_SURE: Final = 5.0
"""Smallest difference of these rates in standard errors."""
_LONGEST_S: Final = 6 * 3600.0
"""Time with an fsync in progress after which a LOG is not searched further."""


class FirstPhase(NamedTuple):
    """Beginning of a run, while the SLC cache of the drive has room."""

    fast: float
    """Rate of the beginning, as a multiple of the run's mean rate with an fsync in progress."""
    slow: float
    """Rate afterwards, as a multiple of the same mean."""
    fast_bytes: float
    """Bytes written before the drive slowed down."""


def first_phase(log: TimedLog, flush_cpu_s: Callable[[TimedJob], float]) -> FirstPhase | None:
    """Return the fast beginning of a run on a drive with an SLC cache; None if the drive does not slow down.

    The rates before and after are those that leave the smallest sum of squares, of all moments in the first half of the time
    with an fsync in progress. They count if they differ by a quarter and by five standard errors, and if no later time of the
    same length reaches the mean of both. No answer for runs with subcompactions, whose fsyncs have no known start.
    """
    if any(job.parts > 1 for job in log.jobs) or (size := _written(log, flush_cpu_s)) is None:
        return None
    steps, rate = len(size), size / _STEP_S
    first = np.arange(_SHORTEST, steps // 2 + 1)
    before = np.cumsum(rate)[first - 1]
    fast, slow = before / first, (rate.sum() - before) / (steps - first)
    squares = (rate**2).sum() - first * fast**2 - (steps - first) * slow**2
    at = int(np.argmin(squares))
    error = np.sqrt(squares[at] / (steps - 2) * (1.0 / first[at] + 1.0 / (steps - first[at])))
    if fast[at] < _SLOWER * slow[at] or fast[at] - slow[at] < _SURE * error:
        return None
    later = np.convolve(rate[first[at] :], np.full(first[at], 1.0 / first[at]), "valid")
    if later.max() > (fast[at] + slow[at]) / 2.0:
        return None
    mean = float(rate.mean())
    return FirstPhase(float(fast[at]) / mean, float(slow[at]) / mean, float(before[at]) * _STEP_S)


def _written(log: TimedLog, flush_cpu_s: Callable[[TimedJob], float]) -> Array | None:
    """Return the bytes in each step of the time with an fsync in progress; None if there are too few files or steps."""
    spans, _ = fsync_spans(log, flush_cpu_s)
    if len(spans) < _FEWEST_FILES:
        return None
    size = _bytes_by_step(np.array(spans))
    return size if len(size) >= _FEWEST_FILES else None


def _bytes_by_step(spans: Array) -> Array:
    """Return the bytes in each step of the time with an fsync in progress, from (start in s, end in s, bytes) by start.

    Only the first hours count (`_LONGEST_S`); a cache is full and empty many times in them.
    """
    begin, end, amount = spans.T
    before = np.concatenate(([begin[0]], np.maximum.accumulate(end)[:-1]))
    idle_s = np.cumsum(np.maximum(begin - before, 0.0)) + begin[0]
    begin, end = begin - idle_s, end - idle_s
    slope = amount / (end - begin)
    times, changes = np.concatenate((begin, end)), np.concatenate((slope, -slope))
    order = np.argsort(times, kind="stable")
    times, rates = times[order], np.cumsum(changes[order])
    written = np.concatenate(([0.0], np.cumsum(rates[:-1] * np.diff(times))))
    edges = np.arange(0.0, min(times[-1], _LONGEST_S), _STEP_S)
    return np.asarray(np.diff(np.interp(edges, times, written)), dtype=np.float64)

"""Phases of a drive with an SLC cache: fast while the cache has room, slow while it is copied to its final cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from lsmlab.validation.logs.timings.fsync_periods import Array, TimedLog, fsync_spans
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

_STEP_S: Final = 0.5
_SMOOTHED: Final = 3
"""Steps over which the rate is averaged: one file takes 0.5 to 2 s."""
_APART: Final = 2.5
"""Smallest ratio of the two mean rates for two levels."""
_MARGIN: Final = 1.25
"""Factor by which the rate must pass the border between slow and fast for a phase to end."""
_LEAST_SLOW: Final = 4
"""Smallest number of slow phases that shows their length."""
_FEWEST_FILES: Final = 20
"""Smallest number of files, and of steps, of a run that can show phases."""
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


class CachePhases(NamedTuple):
    """Means over the phases of one run. Bytes per second are those of the time with an fsync in progress."""

    fast_bytes_per_s: float
    slow_bytes_per_s: float
    slow_s: float
    """Length of a slow phase in s."""

    def fast_bytes(self, mean_bytes_per_s: float) -> float:
        """Return the bytes of a fast phase with which the mean over whole periods is `mean_bytes_per_s`.

        It is infinite from `fast_bytes_per_s` on, and 0 up to `slow_bytes_per_s`.
        """
        if mean_bytes_per_s >= self.fast_bytes_per_s:
            return np.inf
        slow = max(mean_bytes_per_s - self.slow_bytes_per_s, 0.0) * self.slow_s
        return slow / (1.0 - mean_bytes_per_s / self.fast_bytes_per_s)


class FirstPhase(NamedTuple):
    """Beginning of a run, while the SLC cache of the drive has room."""

    fast: float
    """Rate of the beginning, as a multiple of the run's mean rate with an fsync in progress."""
    slow: float
    """Rate afterwards, as a multiple of the same mean."""
    fast_bytes: float
    """Bytes written before the drive slowed down."""


def cache_phases(log: TimedLog, flush_cpu_s: Callable[[TimedJob], float]) -> CachePhases | None:
    """Return the phases of the drive during a run; None if its rate does not have two levels.

    The rate is that of the fsyncs in progress (`fsync_spans`), in steps of 0.5 s.
    """
    if (size := _written(log, flush_cpu_s)) is None:
        return None
    rate = np.convolve(size, np.ones(_SMOOTHED) / _SMOOTHED, "same") / _STEP_S
    slow = _slow_steps(rate, float(np.exp(_border(np.log(np.maximum(rate, 1.0))))))
    starts = np.flatnonzero(np.diff(slow.astype(int))) + 1
    lengths = [len(part) for part in np.split(slow, starts) if part[0]]
    if len(lengths) < _LEAST_SLOW or slow.all():
        return None
    found = CachePhases(
        fast_bytes_per_s=float(size[~slow].mean()) / _STEP_S,
        slow_bytes_per_s=float(size[slow].mean()) / _STEP_S,
        slow_s=float(np.mean(lengths)) * _STEP_S,
    )
    return found if found.fast_bytes_per_s > _APART * found.slow_bytes_per_s else None


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


def _border(values: Array) -> float:
    """Return the middle between two groups of values (k-means)."""
    low, high = np.quantile(values, (0.1, 0.9))
    for _ in range(50):
        above = values > (low + high) / 2.0
        if above.all() or not above.any():
            break
        low, high = values[~above].mean(), values[above].mean()
    return float((low + high) / 2.0)


def _slow_steps(rate: Array, border: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which steps belong to slow phases."""
    slow = np.zeros(len(rate), dtype=np.bool_)
    now = False
    for i, value in enumerate(rate):
        now = value < border * _MARGIN if now else value < border / _MARGIN
        slow[i] = now
    return slow

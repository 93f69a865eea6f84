"""Phases of a drive with an SLC cache: fast while the cache has room, slow while it is copied to its final cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from lsmlab.validation.logs.timings.job_records import Array, JobLog, fsync_spans
from lsmlab.validation.logs.timings.jobs import Job

_STEP_S: Final = 0.5
_SMOOTHED: Final = 3
"""Steps over which the rate is averaged: one file takes 0.5 to 2 s."""
_APART: Final = 2.5
"""Smallest ratio of the two mean rates; a drive without a cache has less."""
_MARGIN: Final = 1.25
"""Factor by which the rate must pass the border between slow and fast for a phase to end."""
_LEAST_SLOW: Final = 4
"""Smallest number of slow phases that shows their length."""


_LEAST_RUNS: Final = 3


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


def cache_phases(log: JobLog, flush_cpu_s: Callable[[Job], float]) -> CachePhases | None:
    """Return the phases of the drive during a run; None if its rate does not have two levels.

    The rate is that of the fsyncs in progress (`fsync_spans`), in steps of 0.5 s.
    """
    spans, _ = fsync_spans(log, flush_cpu_s)
    size, busy_s = _steps(np.array(spans))
    kernel = np.ones(_SMOOTHED)
    time_s = np.convolve(busy_s, kernel, "same")
    rate = np.convolve(size, kernel, "same") / np.maximum(time_s, 1e-9)
    known = time_s > _STEP_S
    border = _border(np.log(rate[known & (rate > 0.0)]))
    slow = _slow_steps(np.where(known, rate, np.nan), float(np.exp(border)))
    phases = np.split(np.arange(len(slow)), np.flatnonzero(np.diff(slow.astype(int))) + 1)
    slows = [steps for steps in phases if slow[steps[0]]]
    if len(slows) < _LEAST_SLOW:
        return None
    found = CachePhases(
        fast_bytes_per_s=float(size[~slow].sum() / busy_s[~slow].sum()),
        slow_bytes_per_s=float(size[slow].sum() / busy_s[slow].sum()),
        slow_s=float(np.mean([busy_s[steps].sum() for steps in slows])),
    )
    return found if found.fast_bytes_per_s > _APART * found.slow_bytes_per_s else None


def mean_phases(runs: Sequence[CachePhases]) -> CachePhases | None:
    """Return the geometric means over runs of one drive; None if too few runs show its phases."""
    if len(runs) < _LEAST_RUNS:
        return None
    return CachePhases(*np.exp(np.log(np.array(runs)).mean(axis=0)).tolist())


def _steps(spans: Array) -> tuple[Array, Array]:
    """Return the bytes and the seconds with an fsync in progress in each step, from (start in s, end in s, bytes) of fsyncs."""
    edges = np.arange(spans[:, 0].min(), spans[:, 1].max() + _STEP_S, _STEP_S)
    size, busy_s, until = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1), -np.inf
    for begin, end, amount in spans:
        first, last = int((begin - edges[0]) // _STEP_S), int((end - edges[0]) // _STEP_S)
        for step in range(first, min(last + 1, len(size))):
            size[step] += amount * _overlap(begin, end, edges[step]) / (end - begin)
            busy_s[step] += _overlap(max(begin, until), end, edges[step])
        until = max(until, end)
    return size, busy_s


def _overlap(begin: float, end: float, edge: float) -> float:
    return max(0.0, min(end, edge + _STEP_S) - max(begin, edge))


def _border(values: Array) -> float:
    """Return the middle between two groups of values (k-means)."""
    low, high = np.quantile(values, (0.1, 0.9))
    for _ in range(50):
        border = (low + high) / 2.0
        low, high = values[values <= border].mean(), values[values > border].mean()
    return float((low + high) / 2.0)


def _slow_steps(rate: Array, border: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which steps belong to slow phases; a step without a rate (NaN) belongs to the phase before it."""
    slow = np.zeros(len(rate), dtype=np.bool_)
    now = False
    for i, value in enumerate(rate):
        if value == value:
            now = value < border * _MARGIN if now else value < border / _MARGIN
        slow[i] = now
    return slow

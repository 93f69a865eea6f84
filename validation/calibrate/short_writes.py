"""Equation from histograms of unstalled writes: frequency and length of their interruptions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.sim.clients.latency import loglogistic_cdf
from lsmlab.validation.calibrate.recorded import RecordedRun
from lsmlab.validation.calibrate.solve import Array, Equation, Values
from lsmlab.validation.logs.bench_output import Histogram
from lsmlab.validation.logs.histogram_clock import bucket_bounds, seen_below
from scipy.optimize import minimize

_UNSTALLED_US: Final = 10
"""Longest write that consists of CPU time only."""
_INTERRUPTED_US: Final = (22.0, 170.0)
"""Shortest and longest write with an interruption. Shorter writes were not interrupted; longer ones also waited for a
core or the DB mutex."""


def interruptions(runs: Sequence[RecordedRun]) -> Equation | None:
    """CPU time between two interruptions, and length of an interruption."""
    used = [(run, found) for run in _single_writers(runs) if (found := _interruptions(run.histograms["write"]))]
    measured = np.array([found for _, found in used]).reshape(-1, 2)

    def misses(values: Values) -> Array:
        expected = np.array([values["host.interrupt_every"], values["host.interrupt"]])
        return np.asarray((np.log(expected / measured) / 0.2).ravel(), dtype=np.float64)

    names = [run.name for run, _ in used for _ in range(2)]
    return Equation("interruptions of writes", misses, names, ("host.interrupt_every", "host.interrupt")) if used else None


def _single_writers(runs: Sequence[RecordedRun]) -> list[RecordedRun]:
    return [run for run in runs if run.threads == 1 and "write" in run.histograms and "read" not in run.histograms]


def _interruptions(histogram: Histogram) -> tuple[float, float] | None:
    """Return (CPU seconds between two interruptions, mean seconds of one); None if no write was interrupted."""
    low, high = _INTERRUPTED_US
    held = [(math.sqrt(a * b), n) for a, b, n in histogram.buckets if low <= a and b <= high]
    count = sum(n for _, n in held)
    if count == 0:
        return None
    mean_s, _ = short_writes(histogram)
    short = sum(n for _, b, n in histogram.buckets if b <= high)
    return short * mean_s / count, sum(us * n for us, n in held) / count * 1e-6 - mean_s


def short_writes(histogram: Histogram) -> tuple[float, float]:
    """Fit a log-logistic distribution to the short latencies of a histogram; return its mean in seconds and its spread.

    The fit maximises the likelihood of the counts in the buckets up to 10 us, or up to four times the median if that is
    more. It includes the rounding by RocksDB's clock (`histogram_clock`).
    """
    counts = {high: n for _, high, n in histogram.buckets}
    bounds = [b for b in bucket_bounds() if b <= max(counts)]
    seen = np.array([counts.get(b, 0) for b in bounds], dtype=np.float64)
    median = bounds[int(np.searchsorted(np.cumsum(seen), 0.5 * histogram.count))]
    last = 1 + max(i for i, b in enumerate(bounds) if b <= max(_UNSTALLED_US, 4 * median))
    bounds, seen = bounds[:last], seen[:last]

    def unlikely(theta: Array) -> float:
        mean_us, wide = math.exp(theta[0]), math.exp(theta[1])
        below = seen_below(lambda x: loglogistic_cdf(x, mean_us, wide), bounds)
        shares = np.maximum(np.diff(below, prepend=0.0) / max(below[-1], 1e-12), 1e-12)
        return -float((seen * np.log(shares)).sum() / seen.sum())

    found = minimize(unlikely, [math.log(median), math.log(0.4)], method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-9})
    return math.exp(found.x[0]) * 1e-6, math.exp(found.x[1])

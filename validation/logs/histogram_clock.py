"""Rounding of latencies in RocksDB's histograms: clock of whole microseconds, buckets, linear interpolation.

db_bench and RocksDB's own statistics measure a latency as the difference of two readings of a clock that counts whole
microseconds (`SystemClock::NowMicros`). An operation of 1.3 us is measured as 1 us or, in three of ten cases, as 2 us:
a time t is measured as the integer part of t + u, with u uniform between 0 and 1. The value k is counted in the bucket
(j, k] that contains it (`HistogramBucketMapper`), and a percentile is interpolated linearly from j to k
(`HistogramStat::Percentile`). Printed percentiles are therefore half a microsecond too low on average: a P50 of 0.8 us
may be a median of 1.4 us. For long latencies only the width of the bucket matters.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LARGEST: Final = 2**64 - 1
_GROWTH: Final = 1.5
_PHASES: Final[Floats] = np.asarray((np.arange(32) + 0.5) / 32.0, dtype=np.float64)
"""Start times of an operation between two ticks of the clock, as fractions of a microsecond."""


@cache
def bucket_bounds() -> tuple[int, ...]:
    """Return the upper bounds of the buckets in microseconds (monitoring/histogram.cc, HistogramBucketMapper).

    The bounds are 1, 2, then each 1.5 times the one before, truncated to two digits.

    >>> bucket_bounds()[:12]
    (1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110)
    """
    bounds = [1, 2]
    value = 2.0
    while (value := value * _GROWTH) <= _LARGEST:
        shown, power = int(value), 1
        while shown // 10 > 10:
            shown //= 10
            power *= 10
        bounds.append(shown * power)
    return tuple(bounds)


def bucket_of(latency_s: float) -> int:
    """Return the index of the bucket that contains a latency (HistogramBucketMapper::IndexForValue).

    >>> bucket_of(1e-6), bucket_of(100e-6), bucket_of(110e-6)
    (0, 11, 11)
    """
    bounds = bucket_bounds()
    return min(bisect_left(bounds, latency_s * 1e6), len(bounds) - 1)


def seen_below(below: Callable[[Floats], Floats], bounds_us: Sequence[float]) -> Floats:
    """Return the number of operations that the clock measures as at most each of `bounds_us` (whole microseconds).

    `below(x)` is the number of operations that really take up to x us.
    """
    times = np.asarray(bounds_us, dtype=np.float64)[:, None] + _PHASES
    seen: Floats = below(times).mean(axis=1)
    return seen


def printed_percentiles(
    upper_s: Floats, count: Floats, longest_s: float, quantiles: Mapping[str, float]
) -> dict[str, float]:
    """Return percentiles in seconds as db_bench prints them, from a finer histogram of exact latencies.

    Args:
        upper_s: upper bounds of the finer histogram's buckets, ascending. Shape (n,).
        count: operations in each bucket. Shape (n,).
        longest_s: longest latency; no percentile is printed above it.
        quantiles: name of a percentile to the fraction of the operations.

    """
    total = float(count.sum())
    if total <= 0.0:
        return dict.fromkeys(quantiles, 0.0)
    edges = np.concatenate(([0.0], upper_s * 1e6))
    heights = np.concatenate(([0.0], np.cumsum(count)))
    bounds = bucket_bounds()[: bucket_of(float(upper_s[-1])) + 2]
    seen = seen_below(lambda x: np.interp(x, edges, heights), bounds)
    found = {}
    for name, q in quantiles.items():
        i = min(int(np.searchsorted(seen, q * total, side="left")), len(bounds) - 1)
        low, low_us = (float(seen[i - 1]), bounds[i - 1]) if i else (0.0, 0)
        part = (q * total - low) / (float(seen[i]) - low) if seen[i] > low else 1.0
        found[name] = min(low_us + (bounds[i] - low_us) * part, float(np.ceil(longest_s * 1e6))) * 1e-6
    return found

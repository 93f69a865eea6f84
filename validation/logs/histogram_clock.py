"""What RocksDB's histograms show of a latency: a clock of whole microseconds, then buckets, then a straight line.

db_bench and RocksDB's own statistics take a latency as the difference of two readings of a clock that counts whole
microseconds (`SystemClock::NowMicros`). An operation of 1.3 us that begins anywhere between two ticks is seen as 1 or 2,
as 2 in three of ten cases: a time t is seen as the whole part of t + u, with u even between 0 and 1. The value k is
counted in the bucket (j, k] that holds it (`HistogramBucketMapper`), and a percentile is drawn on the straight line from
j to k (`HistogramStat::Percentile`). So what is printed lies half a microsecond below the truth on average, and a P50 of
0.8 us may stand for a median of 1.4 us. Long latencies differ by their bucket alone.
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
"""Where between two ticks of the clock an operation may begin."""


@cache
def bucket_bounds() -> tuple[int, ...]:
    """Upper bounds of the buckets in microseconds (monitoring/histogram.cc, HistogramBucketMapper).

    1, 2, then times 1.5, cut to two digits.

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
    """Index of the bucket that holds a latency (HistogramBucketMapper::IndexForValue).

    >>> bucket_of(1e-6), bucket_of(100e-6), bucket_of(110e-6)
    (0, 11, 11)
    """
    bounds = bucket_bounds()
    return min(bisect_left(bounds, latency_s * 1e6), len(bounds) - 1)


def seen_below(below: Callable[[Floats], Floats], bounds_us: Sequence[float]) -> Floats:
    """How many operations the clock sees as at most `bounds_us`, whole numbers; `below(x)`: how many take up to x us."""
    times = np.asarray(bounds_us, dtype=np.float64)[:, None] + _PHASES
    seen: Floats = below(times).mean(axis=1)
    return seen


def printed_percentiles(
    upper_s: Floats, count: Floats, longest_s: float, quantiles: Mapping[str, float]
) -> dict[str, float]:
    """Percentiles in seconds as db_bench prints them, from a finer histogram of true times.

    Args:
        upper_s: upper bounds of its buckets, ascending. Shape (n,).
        count: operations in each. Shape (n,).
        longest_s: the longest of them; no percentile is printed above it.
        quantiles: name to fraction of the operations.

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

"""RocksDB's own histogram buckets: the resolution at which it, and db_bench, report latencies."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from typing import Final

_LARGEST: Final = 2**64 - 1
_GROWTH: Final = 1.5


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

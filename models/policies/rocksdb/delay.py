"""Sleep of a delayed writer: WriteController::GetDelay (behaviour/write-stalls.md, Delay bucket; Sleeps and stops)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from lsmlab.models import since
from lsmlab.models.version import Version

REFILL_US: Final = 1000
"""Interval between two refills of the credit, and shortest sleep, since `since.DELAY_BY_NEXT_REFILL`."""
OLD_REFILL_US: Final = 1024
"""Interval between two refills before (kRefillInterval)."""
_US_PER_S: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class DelayBucket:
    """State of the write controller between write groups. Times in microseconds of a monotonic clock."""

    credit_bytes: int = 0
    refill_us: int = 0
    """Time of the next refill (6.19+), or of the last refill or the end of the last sleep (before 6.19). 0: unset."""


def get_delay(
    bucket: DelayBucket, group_bytes: int, now_us: int, rate_bytes_per_s: int, version: Version
) -> tuple[DelayBucket, int]:
    """Charge a write group during a delay. Return the new state and the sleep of the group in microseconds."""
    if bucket.credit_bytes >= group_bytes:
        return replace(bucket, credit_bytes=bucket.credit_bytes - group_bytes), 0
    if version >= since.DELAY_BY_NEXT_REFILL:
        return _get_delay(bucket, group_bytes, now_us, rate_bytes_per_s)
    return _get_delay_old(bucket, group_bytes, now_us, rate_bytes_per_s)


def _get_delay(bucket: DelayBucket, group_bytes: int, now_us: int, rate: int) -> tuple[DelayBucket, int]:
    credit, refill = bucket.credit_bytes, bucket.refill_us or now_us
    if refill <= now_us:
        credit += int((now_us - refill + REFILL_US) / _US_PER_S * rate + 0.999999)
        refill = now_us + REFILL_US
        if credit >= group_bytes:
            return DelayBucket(credit - group_bytes, refill), 0
    refill += int((group_bytes - credit) / rate * _US_PER_S)
    return DelayBucket(0, refill), max(refill - now_us, REFILL_US)


def _get_delay_old(bucket: DelayBucket, group_bytes: int, now_us: int, rate: int) -> tuple[DelayBucket, int]:
    credit, debt_us = bucket.credit_bytes, 0
    if bucket.refill_us > now_us:
        debt_us = bucket.refill_us - now_us
    elif bucket.refill_us:
        idle_us = now_us - bucket.refill_us
        credit += int(idle_us / _US_PER_S * rate)
        if idle_us >= OLD_REFILL_US and credit > group_bytes:
            return DelayBucket(credit - group_bytes, now_us), 0
    refill = rate * OLD_REFILL_US // _US_PER_S
    if credit + refill >= group_bytes:
        return DelayBucket(credit + refill - group_bytes, now_us + OLD_REFILL_US), OLD_REFILL_US + debt_us
    sleep_us = int(group_bytes / rate * _US_PER_S) + debt_us
    return DelayBucket(credit, now_us + sleep_us), sleep_us


_STEADY_GROUPS: Final = 600
"""Write groups over which `sleep_shares` counts: shares are accurate within 2 %."""
_RATE_GRAIN: Final = math.log(1.05)
"""Grain of the cache of `sleep_shares`: one computation per 5 % of the rate."""


def sleep_shares(
    rate_bytes_per_s: float, group_bytes: float, busy_s: float, step_s: float, version: Version
) -> tuple[tuple[int, float], ...]:
    """Distribution of sleeps at a constant delayed rate: (steps, share of write groups with this number), steps > 0.

    `busy_s` is the time of a write group without sleep, `step_s` the measured time of one step of the sleep. Computed by
    `get_delay` over `_STEADY_GROUPS` write groups.
    """
    grain = round(math.log(max(1.0, rate_bytes_per_s)) / _RATE_GRAIN)
    return _sleep_shares(grain, max(1, round(group_bytes)), round(busy_s * 1e8), round(step_s * 1e8), version)


@lru_cache(maxsize=4096)
def _sleep_shares(
    rate_grain: int, group_bytes: int, busy: int, step: int, version: Version
) -> tuple[tuple[int, float], ...]:
    rate = max(1, round(math.exp(rate_grain * _RATE_GRAIN)))
    busy_us, step_us = busy / 100.0, step / 100.0
    bucket, now_us = DelayBucket(), 1e6
    counts: dict[int, int] = {}
    for _ in range(_STEADY_GROUPS):
        bucket, delay_us = get_delay(bucket, group_bytes, int(now_us), rate, version)
        steps = math.ceil(delay_us / step_us)
        if steps:
            counts[steps] = counts.get(steps, 0) + 1
        now_us += steps * step_us + busy_us
    return tuple((steps, count / _STEADY_GROUPS) for steps, count in sorted(counts.items()))

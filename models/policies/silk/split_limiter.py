"""Two rate limiters side by side: a share of the bandwidth for flushes, the rest for compactions."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.rate_limiter import Priority, RateLimiter
from lsmlab.models.version import Version


def with_rate(options: RocksDbOptions, bytes_per_s: float) -> RocksDbOptions:
    """Return the options of a limiter whose rate the scheduler sets."""
    return replace(options, rate_limiter_bytes_per_sec=round(bytes_per_s), rate_limiter_auto_tuned=False)


@dataclass(slots=True)
class SplitLimiter:
    """Implements `rate_limiter.Limiter`. Neither side gets bandwidth that the other leaves unused."""

    options: RocksDbOptions
    """The sum of both rates is `rate_limiter_bytes_per_sec`."""
    version: Version
    high_share: float
    """Share of the priorities HIGH and USER; MID and LOW share the rest."""
    high: RateLimiter = field(init=False)
    low: RateLimiter = field(init=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.high_share < 1.0:
            raise InputError(f"rate limiter: a share of {self.high_share:g} must be above 0 and below 1")
        rates = self._rates(self.options.rate_limiter_bytes_per_sec)
        self.high, self.low = (RateLimiter(with_rate(self.options, rate), self.version) for rate in rates)

    def _rates(self, total: int) -> tuple[int, int]:
        high = max(1, round(total * self.high_share))
        return high, max(1, total - high)

    @property
    def rate_bytes_per_s(self) -> int:
        """Sum of both rates in bytes/s."""
        return self.high.rate_bytes_per_s + self.low.rate_bytes_per_s

    @rate_bytes_per_s.setter
    def rate_bytes_per_s(self, rate: int) -> None:
        self.high.rate_bytes_per_s, self.low.rate_bytes_per_s = self._rates(rate)

    @property
    def waiting(self) -> bool:
        """Return whether a writer waits on either side."""
        return self.high.waiting or self.low.waiting

    @property
    def next_refill_s(self) -> float:
        """Time in s of the first refill that a writer waits for."""
        return min((side.next_refill_s for side in (self.high, self.low) if side.waiting), default=-math.inf)

    @property
    def refill_bytes(self) -> int:
        """Bytes of the smaller refill of the two sides."""
        return min(self.high.refill_bytes, self.low.refill_bytes)

    def request(self, now_s: float, size_bytes: int, priority: Priority, token: Hashable) -> bool:
        """Request `size_bytes` from the side of the priority."""
        return self._side(priority).request(now_s, size_bytes, priority, token)

    def refill(self, now_s: float, coins: tuple[float, float]) -> list[Hashable]:
        """Refill the sides that are due."""
        return [*self.high.refill(now_s, coins), *self.low.refill(now_s, coins)]

    def _side(self, priority: Priority) -> RateLimiter:
        return self.high if priority >= Priority.HIGH else self.low

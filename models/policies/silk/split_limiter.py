"""Two rate limiters side by side: a share of the bandwidth for flushes, the rest for compactions."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

from lsmlab.models.errors import InputError
from lsmlab.models.policies.rate_limiter import Priority, RateLimiter
from lsmlab.models.version import Version


@dataclass(slots=True)
class SplitLimiter:
    """Implements `rate_limiter.Limiter`. Neither side gets bandwidth that the other leaves unused."""

    version: Version
    total_bytes_per_s: int
    high_share: float
    """Share of the priorities HIGH and USER; MID and LOW share the rest."""
    refill_period_s: float = 0.1
    fairness: int = 10
    buffer_bytes: int = 1 << 20
    high: RateLimiter = field(init=False)
    low: RateLimiter = field(init=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.high_share < 1.0:
            raise InputError(f"rate limiter: a share of {self.high_share:g} must be above 0 and below 1")
        self.high, self.low = (
            RateLimiter(
                self.version, rate, refill_period_s=self.refill_period_s, fairness=self.fairness,
                buffer_bytes=self.buffer_bytes,
            )
            for rate in self._rates()
        )  # fmt: skip

    def _rates(self) -> tuple[int, int]:
        high = max(1, round(self.total_bytes_per_s * self.high_share))
        return high, max(1, self.total_bytes_per_s - high)

    @property
    def rate_bytes_per_s(self) -> int:
        """Sum of both rates in bytes/s."""
        return self.total_bytes_per_s

    @rate_bytes_per_s.setter
    def rate_bytes_per_s(self, rate: int) -> None:
        self.total_bytes_per_s = rate
        self.high.rate_bytes_per_s, self.low.rate_bytes_per_s = self._rates()

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

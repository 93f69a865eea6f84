"""RocksDB's GenericRateLimiter as a state machine without clock or threads (behaviour/jobs-and-threads.md, Rate limiter).

Time and randomness are arguments: while `waiting` is true, the caller calls `refill` at `next_refill_s`.

A writer of RocksDB requests one buffer at a time, and the next once the first is written. Here a writer may request a
whole step at once: the limiter splits the step into pieces of a buffer. A writer whose piece is granted queues with its
next piece behind the writers granted before. The time to write a piece counts as zero in this order.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final

from lsmlab.models import since
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.version import Version

_TICK_S: Final = 0.5e-6
"""Half of RocksDB's clock resolution of 1 us: a refill that is less than this in the future is due."""
_REFILLS_PER_TUNE: Final = 100
_LOW_PERCENT: Final = 50
_HIGH_PERCENT: Final = 90
_ADJUST_PERCENT: Final = 5
_RANGE_FACTOR: Final = 20
"""GenericRateLimiter::TuneLocked: watermarks and step in percent, ratio of the highest to the lowest rate."""


class Priority(IntEnum):
    """I/O priorities, lowest first. 5.7 has LOW and HIGH only."""

    LOW = 0
    """Compactions."""
    MID = 1
    HIGH = 2
    """Flushes."""
    USER = 3
    """Background writes of a store during a write stall (`since.USER_PRIORITY_IN_STALLS`)."""


@dataclass(slots=True)
class _Waiter:
    """Writer in a queue, with the bytes still to grant."""

    token: Hashable
    priority: Priority
    left_bytes: int
    """Bytes not granted, the current piece included."""
    piece_bytes: int = 0
    """Bytes of the current piece not granted."""


@dataclass(slots=True)
class RateLimiter:
    """Token bucket in bytes, refilled once per period while a writer waits.

    A writer requests `writable_file_max_buffer_size` at once.
    """

    options: RocksDbOptions
    version: Version
    rate_bytes_per_s: int = field(init=False)
    """Bytes granted per second; the maximum of an auto-tuned limiter is `rate_limiter_bytes_per_sec`."""
    available_bytes: int = field(default=0, init=False)
    next_refill_s: float = field(default=0.0, init=False)
    """Earliest time of the next refill in s; a time in the past means at once."""
    drains: int = field(default=0, init=False)
    """Number of times that the tokens ran out and a writer waited for a refill (ticker rate_limiter.drains)."""
    granted_bytes: list[int] = field(default_factory=lambda: [0] * len(Priority), init=False)
    """Bytes granted per priority."""
    _queues: list[deque[_Waiter]] = field(init=False)
    _period_s: float = field(init=False)
    _tuned_s: float = field(default=0.0, init=False)
    _tuned_drains: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        options = self.options
        self._period_s = options.rate_limiter_refill_period_us / 1e6
        self.rate_bytes_per_s = options.rate_limiter_bytes_per_sec
        if self.rate_bytes_per_s <= 0:
            raise InputError("rate limiter: the rate must be positive")
        if options.rate_limiter_auto_tuned:
            self.rate_bytes_per_s = max(1, self.rate_bytes_per_s // 2)
        self._queues = [deque() for _ in Priority]

    @property
    def waiting(self) -> bool:
        """Return whether a writer waits for a refill."""
        return any(self._queues)

    @property
    def refill_bytes(self) -> int:
        """Bytes of one refill."""
        return max(1, int(self.rate_bytes_per_s * self._period_s + 1e-6))

    def request(self, now_s: float, size_bytes: int, priority: Priority, token: Hashable) -> bool:
        """Request `size_bytes`. True: all granted. False: the writer waits until `refill` returns `token`."""
        self._tune_if_due(now_s)
        waiter = _Waiter(token, priority, max(0, int(size_bytes)))
        while waiter.left_bytes:
            if not self._take_piece(waiter):
                if not self.waiting and now_s < self.next_refill_s - _TICK_S:
                    self.drains += 1
                self._queues[priority].append(waiter)
                return False
        return True

    def refill(self, now_s: float, coins: tuple[float, float]) -> list[Hashable]:
        """Refill if due and serve the queues; return the tokens of the writers whose requests are complete.

        `coins` are two uniform random numbers in [0, 1): with probability 1/fairness each, HIGH comes after MID and
        LOW, and MID after LOW.
        """
        if not self.waiting or now_s < self.next_refill_s - _TICK_S:
            return []
        self.next_refill_s = now_s + self._period_s
        if self.version >= since.PARTIAL_GRANTS:
            self.available_bytes = self.refill_bytes
        elif self.available_bytes < self.refill_bytes:
            self.available_bytes += self.refill_bytes
        finished: list[Hashable] = []
        served = deque(self._serve_pieces(coins))
        if any(waiter.left_bytes for waiter in served):
            self._tune_if_due(now_s)
        while served:  # in the order of service, at any priority: the writers return with their next pieces one by one
            waiter = served.popleft()
            if waiter.left_bytes == 0:
                finished.append(waiter.token)
            elif self._take_piece(waiter):
                served.append(waiter)
            else:
                self._queues[waiter.priority].append(waiter)
        if self.waiting:
            self.drains += 1
        return finished

    def _serve_pieces(self, coins: tuple[float, float]) -> list[_Waiter]:
        """Grant the queued pieces by priority; return the writers whose piece is complete.

        Source: RefillBytesAndGrantRequestsLocked.
        """
        complete: list[_Waiter] = []
        for priority in self._order(coins):
            queue = self._queues[priority]
            while queue:
                waiter = queue[0]
                self._grant(waiter, min(self.available_bytes, waiter.piece_bytes))
                if waiter.piece_bytes:
                    break  # granted in part; the writer keeps its place in the queue
                complete.append(queue.popleft())
        return complete

    def _order(self, coins: tuple[float, float]) -> tuple[Priority, ...]:
        """Return the order of service (GeneratePriorityIterationOrderLocked)."""
        high_last, mid_last = (coin * self.options.rate_limiter_fairness < 1 for coin in coins)
        low_mid = (Priority.LOW, Priority.MID) if mid_last else (Priority.MID, Priority.LOW)
        return (Priority.USER, *low_mid, Priority.HIGH) if high_last else (Priority.USER, Priority.HIGH, *low_mid)

    def _take_piece(self, waiter: _Waiter) -> bool:
        """Request the next piece (GenericRateLimiter::Request); return True if it is granted at once."""
        waiter.piece_bytes = min(waiter.left_bytes, self.options.writable_file_max_buffer_size, self.refill_bytes)
        if self.version >= since.PARTIAL_GRANTS or self.available_bytes >= waiter.piece_bytes:
            self._grant(waiter, min(self.available_bytes, waiter.piece_bytes))
        return waiter.piece_bytes == 0

    def _grant(self, waiter: _Waiter, size_bytes: int) -> None:
        self.available_bytes -= size_bytes
        waiter.piece_bytes -= size_bytes
        waiter.left_bytes -= size_bytes
        self.granted_bytes[waiter.priority] += size_bytes

    def _tune_if_due(self, now_s: float) -> None:
        """Adapt the rate every 100 periods to the share of periods in which the tokens ran out (TuneLocked)."""
        periods = (now_s - self._tuned_s + _TICK_S) / self._period_s
        if not self.options.rate_limiter_auto_tuned or periods < _REFILLS_PER_TUNE:
            return
        elapsed = -int(-(periods - 2 * _TICK_S / self._period_s) // 1)  # rounded up
        drained_percent = (self.drains - self._tuned_drains) * 100 // elapsed
        most = self.options.rate_limiter_bytes_per_sec
        floor = most // _RANGE_FACTOR
        rate = self.rate_bytes_per_s
        if drained_percent == 0:
            rate = floor
        elif drained_percent < _LOW_PERCENT:
            rate = max(floor, rate * 100 // (100 + _ADJUST_PERCENT))
        elif drained_percent > _HIGH_PERCENT:
            rate = min(most, rate * (100 + _ADJUST_PERCENT) // 100)
        self.rate_bytes_per_s = max(1, rate)
        self._tuned_s = now_s
        self._tuned_drains = self.drains


def with_rate(options: RocksDbOptions, bytes_per_s: float) -> RocksDbOptions:
    """Return the options of a limiter whose rate the scheduler sets."""
    return replace(options, rate_limiter_bytes_per_sec=round(bytes_per_s), rate_limiter_auto_tuned=False)


@dataclass(slots=True)
class SplitLimiter:
    """Two rate limiters: a share of the bandwidth for flushes, the rest for compactions, even if the other leaves some unused."""

    options: RocksDbOptions
    """The sum of both rates is `rate_limiter_bytes_per_sec`."""
    version: Version
    high_share: float
    """Share of the priorities HIGH and USER; MID and LOW share the rest."""
    high: RateLimiter = field(init=False)
    low: RateLimiter = field(init=False)

    def __post_init__(self) -> None:
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


Limiter = RateLimiter | SplitLimiter
"""Rate limiter of background I/O. Time and randomness are arguments."""

"""RocksDB's GenericRateLimiter as a state machine without clock or threads.

See (behaviour/jobs-and-threads.md, Rate limiter).

Time and randomness are arguments: whoever drives it calls `refill` when `next_refill_s` comes while `waiting` is true.

A writer of RocksDB asks for one buffer at a time and asks again once that is written. Here it may ask for a whole step
at once: the limiter splits it into the pieces that the writer would ask for, and a writer whose piece is granted takes
its next turn behind the others that were served before it came back. Writing a piece takes no time in that order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Protocol

from lsmlab.models.errors import InputError
from lsmlab.models.version import Version

_TICK_S: Final = 0.5e-6
"""Half of RocksDB's clock resolution: a refill is due when it is less than this away."""
_PARTIAL_SINCE: Final = Version(8, 3)
_REFILLS_PER_TUNE: Final = 100
_LOW_PERCENT: Final = 50
_HIGH_PERCENT: Final = 90
_ADJUST_PERCENT: Final = 5
_RANGE_FACTOR: Final = 20
"""GenericRateLimiter::TuneLocked: watermarks, step, and how far below its maximum the rate may fall."""


class Priority(IntEnum):
    """I/O priorities, lowest first. 5.7 has LOW and HIGH only."""

    LOW = 0
    """Compactions."""
    MID = 1
    HIGH = 2
    """Flushes."""
    USER = 3
    """Background writes of a store whose writers are held back (7.3+)."""


class Limiter(Protocol):
    """What lets background writers pass. Time and randomness are arguments: see `RateLimiter`."""

    rate_bytes_per_s: int
    """What passes per second; settable from the next refill on."""

    @property
    def waiting(self) -> bool:
        """Whether a writer waits, so that a refill is needed."""

    @property
    def next_refill_s(self) -> float:
        """When the next refill may be done; past or present if it may be done at once."""

    @property
    def refill_bytes(self) -> int:
        """Bytes of one refill."""

    def request(self, now_s: float, size_bytes: int, priority: Priority, token: Hashable) -> bool:
        """Ask for `size_bytes`. True: all granted, go on. False: wait until `refill` returns `token`."""

    def refill(self, now_s: float, coins: tuple[float, float]) -> list[Hashable]:
        """Refill if it is due; tokens of the writers that now have all they asked for."""


@dataclass(slots=True)
class _Waiter:
    """One writer: what it still has to ask for, and how much of its present piece is not granted yet."""

    token: Hashable
    priority: Priority
    left_bytes: int
    """Bytes not granted, the present piece included."""
    piece_bytes: int = 0


@dataclass(slots=True)
class RateLimiter:
    """Tokens in bytes, refilled once per period as long as somebody waits.

    `rate_bytes_per_s` is the maximum of an auto-tuned limiter. `single_burst_bytes` 0 means one period's refill.
    """

    version: Version
    rate_bytes_per_s: int
    auto_tuned: bool = False
    refill_period_s: float = 0.1
    fairness: int = 10
    single_burst_bytes: int = 0
    buffer_bytes: int = 1 << 20
    """Bytes that a writer asks for at a time (writable_file_max_buffer_size)."""
    created_s: float = 0.0
    available_bytes: int = field(default=0, init=False)
    next_refill_s: float = field(init=False)
    """When the next refill may be done; past or present if it may be done at once."""
    drains: int = field(default=0, init=False)
    """How often the tokens ran out and a writer waited for a refill (ticker rate_limiter.drains)."""
    granted_bytes: list[int] = field(default_factory=lambda: [0] * len(Priority), init=False)
    """Bytes let through per priority."""
    _max_bytes_per_s: int = field(init=False)
    _queues: list[deque[_Waiter]] = field(init=False)
    _tuned_s: float = field(init=False)
    _tuned_drains: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.rate_bytes_per_s <= 0 or self.refill_period_s <= 0 or self.fairness < 1 or self.buffer_bytes <= 0:
            raise InputError("rate limiter: rate, refill period, fairness and buffer must be positive")
        self._max_bytes_per_s = self.rate_bytes_per_s
        if self.auto_tuned:
            self.rate_bytes_per_s = max(1, self.rate_bytes_per_s // 2)
        self.next_refill_s = self._tuned_s = self.created_s
        self._queues = [deque() for _ in Priority]

    @property
    def waiting(self) -> bool:
        """Whether a writer waits, so that a refill is needed."""
        return any(self._queues)

    @property
    def refill_bytes(self) -> int:
        """Bytes of one refill."""
        return max(1, int(self.rate_bytes_per_s * self.refill_period_s + 1e-6))

    def request(self, now_s: float, size_bytes: int, priority: Priority, token: Hashable) -> bool:
        """Ask for `size_bytes`. True: all granted, go on. False: wait until `refill` returns `token`."""
        self._tune_if_due(now_s)
        waiter = _Waiter(token, priority, max(0, int(size_bytes)))
        if self._ask_again(waiter):
            return True
        self._wait(waiter, now_s)
        return False

    def refill(self, now_s: float, coins: tuple[float, float]) -> list[Hashable]:
        """Refill if it is due and serve the queues. Returns the tokens of the writers that now have all they asked for.

        `coins` are two uniform random numbers in [0, 1): with probability 1/fairness HIGH is served after MID and LOW,
        and MID after LOW.
        """
        if not self.waiting or now_s < self.next_refill_s - _TICK_S:
            return []
        self.next_refill_s = now_s + self.refill_period_s
        if self.version >= _PARTIAL_SINCE:
            self.available_bytes = self.refill_bytes
        elif self.available_bytes < self.refill_bytes:
            self.available_bytes += self.refill_bytes
        finished: list[Hashable] = []
        served = deque(self._serve_pieces(coins))
        if any(waiter.left_bytes for waiter in served):
            self._tune_if_due(now_s)
        while served:  # in the order in which they were served, whatever their priority: they come back one by one
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
        """Grant the queued pieces by priority; returns the writers whose piece is complete.

        Source: RefillBytesAndGrantRequestsLocked.
        """
        complete: list[_Waiter] = []
        for priority in self._order(coins):
            queue = self._queues[priority]
            while queue:
                waiter = queue[0]
                self._grant(waiter, min(self.available_bytes, waiter.piece_bytes))
                if waiter.piece_bytes:
                    break  # granted in part; it keeps its place
                complete.append(queue.popleft())
        return complete

    def _order(self, coins: tuple[float, float]) -> tuple[Priority, ...]:
        """GeneratePriorityIterationOrderLocked."""
        high_last, mid_last = (coin * self.fairness < 1 for coin in coins)
        low_mid = (Priority.LOW, Priority.MID) if mid_last else (Priority.MID, Priority.LOW)
        return (Priority.USER, *low_mid, Priority.HIGH) if high_last else (Priority.USER, Priority.HIGH, *low_mid)

    def _ask_again(self, waiter: _Waiter) -> bool:
        """Ask for one piece after the other as long as tokens last; True when nothing is left to ask for."""
        while waiter.left_bytes:
            if not self._take_piece(waiter):
                return False
        return True

    def _take_piece(self, waiter: _Waiter) -> bool:
        """Ask for the next piece (GenericRateLimiter::Request); True if it is granted at once."""
        burst = self.single_burst_bytes or self.refill_bytes
        waiter.piece_bytes = min(waiter.left_bytes, self.buffer_bytes, burst)
        if self.version >= _PARTIAL_SINCE or self.available_bytes >= waiter.piece_bytes:
            self._grant(waiter, min(self.available_bytes, waiter.piece_bytes))
        return waiter.piece_bytes == 0

    def _grant(self, waiter: _Waiter, size_bytes: int) -> None:
        self.available_bytes -= size_bytes
        waiter.piece_bytes -= size_bytes
        waiter.left_bytes -= size_bytes
        self.granted_bytes[waiter.priority] += size_bytes

    def _wait(self, waiter: _Waiter, now_s: float) -> None:
        if not self.waiting and now_s < self.next_refill_s - _TICK_S:
            self.drains += 1
        self._queues[waiter.priority].append(waiter)

    def _tune_if_due(self, now_s: float) -> None:
        """Adapt the rate to how often the tokens ran out, every 100 periods (TuneLocked)."""
        periods = (now_s - self._tuned_s + _TICK_S) / self.refill_period_s
        if not self.auto_tuned or periods < _REFILLS_PER_TUNE:
            return
        elapsed = -int(-(periods - 2 * _TICK_S / self.refill_period_s) // 1)  # rounded up
        drained_percent = (self.drains - self._tuned_drains) * 100 // elapsed
        floor = self._max_bytes_per_s // _RANGE_FACTOR
        rate = self.rate_bytes_per_s
        if drained_percent == 0:
            rate = floor
        elif drained_percent < _LOW_PERCENT:
            rate = max(floor, rate * 100 // (100 + _ADJUST_PERCENT))
        elif drained_percent > _HIGH_PERCENT:
            rate = min(self._max_bytes_per_s, rate * (100 + _ADJUST_PERCENT) // 100)
        self.rate_bytes_per_s = max(1, rate)
        self._tuned_s = now_s
        self._tuned_drains = self.drains

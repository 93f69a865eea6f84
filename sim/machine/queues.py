"""Queues and timers of stations: processor sharing, first come first served, and a wake-up that can be moved.

Each queue keeps one virtual clock: the service that each present customer (in order: all of them together) has had so
far. A customer that needs `amount` leaves when the clock has advanced by `amount`. An arrival or departure costs one
heap operation and a new rate, for any number of customers.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Generator
from typing import Any, Final

import simpy

Events = Generator[simpy.Event, Any, None]
"""SimPy process: the events that it waits for, one after the other."""

TICK_S: Final = 1e-9
"""Customers that would leave within this time leave now: simulated time is a float with steps of 1e-11 s after a day."""


class SharedQueue:
    """Customers that share a server equally. `rate`: service per second of each customer."""

    __slots__ = ("_heap", "_sequence", "clock", "rate")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, simpy.Event]] = []
        self._sequence = itertools.count()
        self.clock = 0.0
        self.rate = 0.0

    def __len__(self) -> int:
        return len(self._heap)

    def join(self, amount: float, event: simpy.Event) -> None:
        """Add a customer that leaves, and triggers `event`, after `amount` of service."""
        heapq.heappush(self._heap, (self.clock + amount, next(self._sequence), event))

    def outstanding(self, most_each: float) -> float:
        """Service that present customers still need, at most `most_each` of each."""
        return sum(min(most_each, leaves - self.clock) for leaves, _, _ in self._heap)

    def advance(self, elapsed_s: float) -> float:
        """Advance the clock; return the service given to all customers together."""
        step = self.rate * elapsed_s
        self.clock += step
        return step * len(self._heap)

    def release(self) -> simpy.Event | None:
        """Trigger the events of complete customers; return the last one. An empty queue resets its clock: so it stays precise."""
        heap = self._heap
        last = None
        if heap:
            limit = self.clock + self.rate * TICK_S + 1e-12
            while heap and heap[0][0] <= limit:
                last = heapq.heappop(heap)[2].succeed()
        if not heap:
            self.clock = 0.0
        return last

    def next_departure_s(self) -> float:
        """Seconds until the next customer leaves at the present rate; infinity if none does."""
        if not self._heap or self.rate <= 0.0:
            return math.inf
        return max(0.0, (self._heap[0][0] - self.clock) / self.rate)


class OrderedQueue(SharedQueue):
    """Customers served in order of arrival, at the rate that a shared queue would give to all of them together."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        super().__init__()
        self._last = 0.0

    def join(self, amount: float, event: simpy.Event) -> None:
        """Add a customer that leaves after all earlier customers and `amount` of service of its own."""
        self._last = max(self._last, self.clock) + amount if self._heap else self.clock + amount
        heapq.heappush(self._heap, (self._last, next(self._sequence), event))

    def outstanding(self, most_each: float) -> float:  # noqa: ARG002 - one queue holds all requests
        """Service that all present customers still need."""
        return self._last - self.clock if self._heap else 0.0

    def advance(self, elapsed_s: float) -> float:
        """Advance the clock; return the service given to all customers together."""
        step = self.rate * len(self._heap) * elapsed_s
        self.clock += step
        return step

    def next_departure_s(self) -> float:
        """Seconds until the first customer leaves at the present rate; infinity for an empty queue."""
        if not self._heap or self.rate <= 0.0:
            return math.inf
        return max(0.0, (self._heap[0][0] - self.clock) / (self.rate * len(self._heap)))


class Alarm:
    """Timer that can be moved: SimPy cannot cancel a timeout."""

    __slots__ = ("_action", "_due", "_env")

    def __init__(self, env: simpy.Environment, action: Callable[[], None]) -> None:
        self._env = env
        self._action = action
        self._due = math.inf

    def set(self, delay_s: float) -> None:
        """Call the action after `delay_s` instead of at the time set before; infinity: never."""
        if delay_s == math.inf:
            self._due = math.inf
            return
        now_s = self._env.now
        due = now_s + delay_s
        if due == self._due:
            return
        if due <= now_s and delay_s > 0.0:
            due = math.nextafter(now_s, math.inf)  # a delay below the resolution of the clock must still advance it
        self._due = due
        timeout = self._env.timeout(due - now_s, due)
        assert timeout.callbacks is not None
        timeout.callbacks.append(self._fire)

    def _fire(self, event: simpy.Event) -> None:
        if event.value == self._due:
            self._due = math.inf
            self._action()

"""One direction of a cap as the kernel has it, request by request: a replay of the rules of block/blk-throttle.c of Linux 6.18.

Times are whole ticks of 1 ms (HZ = 1000). Decision 0005 names the rules.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import simpy
from lsmlab.sim.machine.queues import Events

SLICE_MS = 100


class KernelThrottle:
    """Queue of one direction of a cgroup under caps on bytes and on operations per second."""

    def __init__(self, env: simpy.Environment, cap: float = math.inf, iops_cap: float = math.inf) -> None:
        self.env = env
        self.caps = cap, iops_cap
        self.passed = [0.0, 0.0]
        """Bytes and operations since the start of the window."""
        self.start_ms, self.end_ms = 0, -1
        self.queue: deque[tuple[float, simpy.Event]] = deque()
        self.operations = 0

    @property
    def now_ms(self) -> int:
        """Present tick."""
        return int(self.env.now * 1e3 + 1e-6)

    def submit(self, size_bytes: float) -> simpy.Event:
        """Submit a request; the event fires when it has passed."""
        event = self.env.event()
        if not self.queue and self._wait_ms(size_bytes) == 0:
            self._pass(size_bytes)
            return event.succeed()
        self.queue.append((size_bytes, event))
        if len(self.queue) == 1:
            self.env.process(self._dispatch())
        return event

    def _dispatch(self) -> Events:
        while self.queue:
            size_bytes, event = self.queue[0]
            if (wait_ms := self._wait_ms(size_bytes)) > 0:
                yield self.env.timeout((self.now_ms + wait_ms) / 1e3 - self.env.now)
                continue
            self.queue.popleft()
            self._pass(size_bytes)
            event.succeed()

    def _wait_ms(self, size_bytes: float) -> int:
        """Return the ticks that the first request has to wait (tg_dispatch_time)."""
        if self._used and not self.queue:
            self.passed = [0.0, 0.0]
            self.start_ms, self.end_ms = self.now_ms, self.now_ms + SLICE_MS
        elapsed_ms = self.now_ms - self.start_ms
        wait_ms = 0
        cap, iops_cap = self.caps
        rounded_ms = SLICE_MS * math.ceil((elapsed_ms or 1) / SLICE_MS)
        if cap < math.inf and (over := self.passed[0] + size_bytes - cap * rounded_ms / 1e3) > 0.0:
            wait_ms = max(1, int(over * 1e3 / cap)) + rounded_ms - elapsed_ms
        rounded_ms = SLICE_MS * math.ceil((elapsed_ms + 1) / SLICE_MS)
        if wait_ms == 0 and iops_cap < math.inf and self.passed[1] + 1 > int(iops_cap * rounded_ms / 1e3):
            wait_ms = max(rounded_ms - elapsed_ms, int(1e3 / iops_cap) + 1)
        self.end_ms = max(self.end_ms, _rounded(self.now_ms + max(SLICE_MS, wait_ms)))
        return wait_ms

    def _pass(self, size_bytes: float) -> None:
        """Count a request, and remove past slices from the window but for one (throtl_trim_slice)."""
        self.passed = [self.passed[0] + size_bytes, self.passed[1] + 1]
        self.operations += 1
        if self._used:
            return
        self.end_ms = _rounded(self.now_ms + SLICE_MS)
        past_ms = (self.now_ms - self.start_ms) // SLICE_MS * SLICE_MS - SLICE_MS
        if past_ms < SLICE_MS:
            return
        trimmed = [min(n, int(c * past_ms / 1e3)) if c < math.inf else 0.0 for n, c in zip(self.passed, self.caps, strict=True)]
        if any(trimmed):
            self.passed = [n - trim for n, trim in zip(self.passed, trimmed, strict=True)]
            self.start_ms += past_ms

    @property
    def _used(self) -> bool:
        return not self.start_ms <= self.now_ms <= self.end_ms


def _rounded(at_ms: int) -> int:
    return SLICE_MS * math.ceil(at_ms / SLICE_MS)


def one_by_one(env: simpy.Environment, throttle: KernelThrottle, count: int, device_s: float = 1e-4) -> Any:
    """Submit `count` pages, each after the one before."""
    for _ in range(count):
        yield throttle.submit(4096.0)
        yield env.timeout(device_s)

"""Rate limiter of RocksDB in simulated time; `lsmlab.models.policies.rate_limiter` has its rules."""

from __future__ import annotations

import numpy as np
import simpy
from lsmlab.models.policies.rate_limiter import Limiter, Priority
from lsmlab.sim.machine.queues import Alarm


class LimiterStation:
    """Rate limiter that background writes wait for; it refills only while a request waits."""

    def __init__(self, env: simpy.Environment, rules: Limiter, rng: np.random.Generator) -> None:
        self._env = env
        self._rng = rng
        self.rules = rules
        self._alarm = Alarm(env, self._refill)

    def request(self, size_bytes: float, priority: Priority) -> simpy.Event:
        """Wait for permission to write `size_bytes`; the event fires when the last byte is granted."""
        event = self._env.event()
        if self.rules.request(self._env.now, round(size_bytes), priority, event):
            event.succeed()
        else:
            self._wait()
        return event

    def set_rate(self, bytes_per_s: float) -> None:
        """Change the rate from the next refill on (SetBytesPerSecond)."""
        self.rules.rate_bytes_per_s = max(1, round(bytes_per_s))

    def _refill(self) -> None:
        coins = (float(self._rng.random()), float(self._rng.random()))
        for event in self.rules.refill(self._env.now, coins):
            assert isinstance(event, simpy.Event)
            event.succeed()
        if self.rules.waiting:
            self._wait()

    def _wait(self) -> None:
        self._alarm.set(max(0.0, self.rules.next_refill_s - self._env.now))

"""Cores of the host as a shared station; between two changes of the load all times are computed, not simulated."""

from __future__ import annotations

import math

import simpy
from lsmlab.models.costs.cores import busy_probability, core_share
from lsmlab.sim.machine.queues import Alarm, SharedQueue
from lsmlab.sim.observers import Observers


class CoreStation:
    """Cores of the host, shared equally by background threads and clients; a thread uses at most one core."""

    def __init__(
        self, env: simpy.Environment, cores: float, most_threads: float = math.inf, core_contention: float = 0.0
    ) -> None:
        """`most_threads`: upper bound on the runnable threads of the run; with a core for each, nothing is shared.

        `core_contention`: share by which each further running thread slows all threads (`Host.core_contention`).
        """
        self._env = env
        self.cores = cores
        self._core_contention = core_contention
        self.plenty = most_threads <= cores and core_contention == 0.0
        """Whether every thread has a core of its own, so that none waits."""
        self._queue = SharedQueue()
        self._last_s = 0.0
        self._alarm = Alarm(env, self._wake)
        self.clients = 0.0
        """Mean number of client threads that want a core now."""
        self._copying = 0.0
        self._alone = 0
        """Number of threads of jobs that compute on a core of their own."""
        self.busy_s = 0.0
        """Core-seconds used by background work up to the last call of `settle`, without copies to a device."""
        self.share = 1.0
        """Share of a core that one runnable thread gets."""
        self.changed = Observers[[]]()
        """Observers of a change of `share` by background work."""
        self._queue.rate = 1.0

    def work(self, cpu_s: float) -> simpy.Event:
        """Compute for `cpu_s` seconds of one core."""
        self.settle()
        if self.plenty:
            self._alone += 1
            alone = self._env.timeout(cpu_s)
            assert alone.callbacks is not None
            alone.callbacks.append(self._ended)
            return alone
        event = self._env.event()
        self._queue.join(cpu_s, event)
        self._replan()
        return event

    def _ended(self, _: simpy.Event) -> None:
        self.settle()
        self._alone -= 1

    def share_with(self, clients: float) -> tuple[float, float, float]:
        """Return the share of a core per thread if `clients` client threads want one, all threads then, and those of jobs."""
        background = self.background
        if self.plenty:
            return self.share, background, background
        threads = background + clients
        return core_share(threads, self.cores, self._core_contention), threads, background

    def set_clients(self, runnable: float) -> None:
        """Set the mean number of client threads that want a core now (any non-negative number).

        Observers of `changed` are not called: the clients know the share (`share_with`).
        """
        if runnable != self.clients and not self.plenty:
            self.settle()
            self.clients = runnable
            self._plan()

    def copying(self, change: float) -> None:
        """Change the mean number of threads that copy to a device by `change`: each has a core and runs at the device's rate."""
        self.settle()
        self._copying += change
        if not self.plenty:
            self._replan()

    @property
    def background(self) -> float:
        """Mean number of threads of jobs that want a core now."""
        return len(self._queue) + self._copying

    @property
    def runnable_threads(self) -> float:
        """Threads that want a core now."""
        return self.background + self.clients

    @property
    def busy_probability(self) -> float:
        """Probability that a further thread finds no free core."""
        return busy_probability(self.runnable_threads, self.cores)

    @property
    def busy_so_far_s(self) -> float:
        """Core-seconds of background work up to now; unlike `settle`, this changes no counter."""
        return self.busy_s + (self._queue.rate * len(self._queue) + self._alone) * (self._env.now - self._last_s)

    def settle(self) -> None:
        """Update the counters to the present time."""
        elapsed_s = self._env.now - self._last_s
        if elapsed_s > 0.0:
            self._last_s = self._env.now
            self.busy_s += self._queue.advance(elapsed_s) + self._alone * elapsed_s

    def _wake(self) -> None:
        self.settle()
        self._replan()

    def _replan(self) -> None:
        if self._plan():
            self.changed()

    def _plan(self) -> bool:
        """Set the share and the alarm for the present load; return whether the share has changed."""
        self._queue.release()
        share = core_share(self.runnable_threads, self.cores, self._core_contention)
        changed = share != self.share
        self.share = self._queue.rate = share
        self._alarm.set(self._queue.next_departure_s())
        return changed

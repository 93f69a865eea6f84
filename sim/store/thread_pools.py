"""Threads of background jobs that all databases of a process share (`Env::Default`, `ThreadPoolImpl`)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field


class ThreadPool:
    """Threads of one priority. Jobs of all databases wait for a thread in one queue, first come first served.

    A database schedules no more jobs than its own limits allow; with the only database of its pool, none waits here.
    """

    def __init__(self, threads: float = math.inf) -> None:
        self.threads = threads
        self._busy = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def run(self, begin: Callable[[], None]) -> None:
        """Begin a job on a free thread: now, or when the jobs before it have got theirs."""
        if self._busy < self.threads:
            self._busy += 1
            begin()
        else:
            self._waiting.append(begin)

    def reserve(self, count: int) -> None:
        """Take threads for further parts of a running job (`ReserveThreads`)."""
        self._busy += count

    def free(self, count: int) -> None:
        """Give threads back: the oldest waiting jobs begin."""
        self._busy -= count
        while self._waiting and self._busy < self.threads:
            self._busy += 1
            self._waiting.popleft()()


@dataclass(frozen=True, slots=True)
class ThreadPools:
    """Pools of a process, of the largest sizes that its databases ask for (`IncBackgroundThreadsIfNeeded`)."""

    flushes: ThreadPool = field(default_factory=ThreadPool)
    """Priority HIGH."""
    compactions: ThreadPool = field(default_factory=ThreadPool)
    """Priority LOW."""

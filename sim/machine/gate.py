"""Gate of a job that can be halted or aborted: its threads wait there between two steps and before the commit."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy


class Gate:
    """Gate of one job. While the gate is closed, each thread of the job waits at the end of its current step."""

    __slots__ = ("_env", "_halted", "_opened", "_waiting", "closed", "discarded", "threads")

    def __init__(self, env: simpy.Environment, halted: Callable[[], None]) -> None:
        """Start open. `halted` is called when all unfinished threads of the job wait at the gate."""
        self._env = env
        self._halted = halted
        self._opened = env.event()
        self._waiting = 0
        self.threads = 1
        """Number of threads that have not finished their steps."""
        self.closed = False
        self.discarded = False

    def close(self) -> None:
        """Halt the job: its threads wait at the end of their current steps."""
        self.closed = True

    def open(self) -> None:
        """Resume the job."""
        self.closed = False
        self._release()

    def discard(self) -> None:
        """Abort the job: its threads end after their current steps."""
        self.closed = self.discarded = True
        self._release()

    def wait(self) -> Generator[simpy.Event, Any, None]:
        """Wait while the gate is closed; return at once if the job is aborted."""
        while self.closed and not self.discarded:
            opened = self._opened  # before `_halted`, which may open the gate at once and replace the event
            self._waiting += 1
            if self._waiting >= self.threads:
                self._halted()
            yield opened
            self._waiting -= 1

    def finished(self) -> None:
        """Record that a thread has finished its steps."""
        self.threads -= 1
        if self.closed and not self.discarded and 0 < self.threads <= self._waiting:
            self._halted()

    def _release(self) -> None:
        if self._waiting:
            self._opened.succeed()
            self._opened = self._env.event()

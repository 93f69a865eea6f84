"""Where a job that may be halted stops: between two steps, and before it commits."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy


class Gate:
    """One job's gate: closed, all of its threads stop at the end of the step at hand."""

    __slots__ = ("_env", "_halted", "_opened", "_waiting", "closed", "discarded", "threads")

    def __init__(self, env: simpy.Environment, halted: Callable[[], None]) -> None:
        """`halted` is called when the last thread of the job has stopped."""
        self._env = env
        self._halted = halted
        self._opened = env.event()
        self._waiting = 0
        self.threads = 1
        """Threads that have not finished yet."""
        self.closed = False
        self.discarded = False

    def close(self) -> None:
        """Stop at the end of the chunk at hand."""
        self.closed = True

    def open(self) -> None:
        """Go on."""
        self.closed = False
        self._release()

    def discard(self) -> None:
        """Give up: no thread does another step."""
        self.closed = self.discarded = True
        self._release()

    def wait(self) -> Generator[simpy.Event, Any, None]:
        """Wait while closed; returns at once when discarded."""
        while self.closed and not self.discarded:
            opened = self._opened  # whoever is told now may open the gate at once
            self._waiting += 1
            if self._waiting >= self.threads:
                self._halted()
            yield opened
            self._waiting -= 1

    def finished(self) -> None:
        """A thread is through with its steps."""
        self.threads -= 1
        if self.closed and not self.discarded and 0 < self.threads <= self._waiting:
            self._halted()

    def _release(self) -> None:
        if self._waiting:
            self._opened.succeed()
            self._opened = self._env.event()

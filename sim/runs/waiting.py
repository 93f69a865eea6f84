"""Tasks of an executor that wait for a worker, and the second try of a task whose worker died."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.sim.runs.executor import WorkerDiedError

_TRIES: Final = 2
"""Number of workers that may die during a task before the task fails."""


@dataclass(slots=True)
class WaitingTasks:
    """Tasks in their order, each with its index; few of them are taken from the iterator ahead of their start."""

    tasks: Iterator[tuple[int, Any]]
    ahead: int
    """Number of tasks that wait in memory, so that a worker gets its next task at once."""
    waiting: deque[tuple[int, Any]] = field(default_factory=deque)
    tries: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tasks: Iterable[Any], ahead: int) -> WaitingTasks:
        """Return the queue of `tasks`."""
        return cls(enumerate(tasks), ahead)

    def prepare(self) -> int:
        """Take tasks from the iterator until `ahead` of them wait; return the number of waiting tasks."""
        self.waiting.extend(itertools.islice(self.tasks, max(0, self.ahead - len(self.waiting))))
        return len(self.waiting)

    def next(self) -> tuple[int, Any] | None:
        """Remove and return the next task with its index; None if no task waits."""
        return self.waiting.popleft() if self.waiting else None

    def ended(self, index: int) -> None:
        """Record that a task has its result."""
        self.tries.pop(index, None)

    def lost(self, index: int, task: Any, reason: str) -> WorkerDiedError | None:
        """Put a task back whose worker died; after the last try, return the error of the task instead."""
        self.tries[index] = self.tries.get(index, 0) + 1
        if self.tries[index] >= _TRIES:
            return WorkerDiedError(f"{reason}, {_TRIES} times")
        self.waiting.appendleft((index, task))
        return None

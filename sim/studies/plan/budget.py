"""Budget of a plan: a time at which its searches end with what they know."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TypeVar

from lsmlab.sim.runs.executor import Executor, TaskResult, TaskWork, Watch

T = TypeVar("T")
R = TypeVar("R")


class BudgetEndedError(BaseException):
    """End of the budget. No Exception: executors return those as results of tasks, but this ends all of them."""


@dataclass(frozen=True)
class TimedExecutor:
    """Executor that ends all tasks when the budget ends, also in the middle of a run."""

    inner: Executor
    until_s: float
    """Time of `time.monotonic()`."""

    @property
    def count(self) -> int:
        """Number of tasks that run at the same time."""
        return self.inner.count

    def run_tasks(self, work: TaskWork[T, R], tasks: Iterable[T], watch: Watch) -> Generator[TaskResult[T, R], None, None]:
        """Yield every task with its result. Raises BudgetEndedError at the end of the budget."""

        def watched(index: int, share: float) -> None:
            check_time(self.until_s)
            watch(index, share)

        yield from self.inner.run_tasks(work, tasks, watched)


def check_time(until_s: float | None) -> None:
    """Raise BudgetEndedError if the time has come; None: never."""
    if until_s is not None and time.monotonic() >= until_s:
        raise BudgetEndedError

"""Protocol of executors, which apply one function to many tasks; and the executor that runs them in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lsmlab.sim.progress import Progress

T = TypeVar("T")
R = TypeVar("R")
TaskWork = Callable[[T, Progress], R]
"""Function that does a task. It may call its second argument to report progress."""
Watch = Callable[[int, float], None]
"""Callback for progress: index of a running task, and the share of it that is done (0 to 1)."""


@dataclass(frozen=True, slots=True)
class TaskResult(Generic[T, R]):
    """A finished task with its result."""

    index: int
    """Place of the task among the tasks."""
    task: T
    result: R | Exception
    """The result, or the exception that ended the task."""


class WorkerDiedError(RuntimeError):
    """Error of a task during which two worker processes died."""


class Executor(Protocol):
    """Executor of tasks: in this process, in worker processes of this machine, or on a cluster."""

    @property
    def count(self) -> int:
        """Number of tasks that run at the same time, if there are enough."""

    def run_tasks(self, work: TaskWork[T, R], tasks: Iterable[T], watch: Watch) -> Generator[TaskResult[T, R], None, None]:
        """Yield every task with its result as it ends; take few tasks ahead. Closing the iterator ends all work."""
        ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """Executor that runs one task after the other in this process."""

    count: int = 1

    def run_tasks(self, work: TaskWork[T, R], tasks: Iterable[T], watch: Watch) -> Generator[TaskResult[T, R], None, None]:
        """Yield every task with its result, in the order of the tasks."""
        for index, task in enumerate(tasks):

            def progress(now_s: float, end_s: float, index: int = index) -> None:
                watch(index, now_s / end_s if end_s > 0.0 else 0.0)

            try:
                result: R | Exception = work(task, progress)
            except Exception as error:
                result = error
            yield TaskResult(index, task, result)

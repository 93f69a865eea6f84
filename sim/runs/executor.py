"""What an executor is: one function over many tasks, results as they end; here for tasks in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lsmlab.sim.progress import Progress

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[T, Progress], R]
"""What is done for a task. The second argument hears how far the task is; it may be left uncalled."""
Watch = Callable[[int, float], None]
"""Hears now and then how far a running task is: the index of the task, the share that is done."""


@dataclass(frozen=True, slots=True)
class Ended(Generic[T, R]):
    """A task with what came of it."""

    task: T
    found: R | Exception
    """The result, or the exception that ended the task."""


class WorkerDiedError(RuntimeError):
    """A worker process was killed, twice, while it did a task."""


class Executor(Protocol):
    """Does tasks somewhere: in this process, in processes of this machine, on a cluster."""

    def each(self, work: Work[T, R], tasks: Sequence[T], watch: Watch) -> Generator[Ended[T, R], None, None]:
        """Every task with its result, as they end. Closing the iterator ends all work."""
        ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """One task after the other, in this process."""

    def each(self, work: Work[T, R], tasks: Sequence[T], watch: Watch) -> Generator[Ended[T, R], None, None]:
        """Every task with its result, in their order."""
        for index, task in enumerate(tasks):

            def progress(now_s: float, end_s: float, index: int = index) -> None:
                watch(index, now_s / end_s if end_s > 0.0 else 0.0)

            try:
                found: R | Exception = work(task, progress)
            except Exception as error:
                found = error
            yield Ended(task, found)

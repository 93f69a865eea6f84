"""Tasks on an engine that returns futures: few tasks ahead, a second try after the death of a worker, progress."""

from __future__ import annotations

import pickle
import queue
import sys
import time
from collections.abc import Generator, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from lsmlab.models.errors import InputError
from lsmlab.sim.results.leftovers import declare_ended
from lsmlab.sim.runs.executor import R, T, TaskResult, TaskWork, Watch, WorkerDiedError
from lsmlab.sim.runs.store import RunStore
from lsmlab.sim.runs.worker import PERIOD_S, TRIES, Refusal, TaskFile

_LOOK_S: Final = 0.5
"""Shortest time in s between two looks at the files of all running tasks."""
_FILES_PER_S: Final = 400.0
"""Largest number of files that are read or written per second, by the command or by all workers together."""
_PATIENCE_S: Final = 20.0
"""Seconds without a worker after which a line tells the user what the command waits for."""
_LOSSES: Final = 5
"""Deaths of workers to which a task was given, whether they began it or not, after which the task fails."""


class WorkerEngine(Protocol):
    """Engine that calls functions in worker processes."""

    name: str

    def slots(self) -> int:
        """Return the number of calls that the engine can use now: those that run, and those that wait for a worker."""

    def submit(self, content: bytes, path: Path, period_s: float) -> Future[Any]:
        """Call `worker.do` with these arguments in a worker."""

    def death(self, ended: Future[Any]) -> str | None:
        """Return how the worker of a call died; None if it did not. Called once for each future that ended."""


@dataclass(slots=True)
class _Running:
    index: int
    task: Any
    content: bytes
    file: TaskFile
    losses: int = 0


def run_with_futures(
    engine: WorkerEngine, store: RunStore, work: TaskWork[T, R], tasks: Iterable[T], watch: Watch
) -> Generator[TaskResult[T, R], None, None]:
    """Do tasks on an engine (`Executor.run_tasks`). Closing the iterator ends the running tasks (`TaskFile`).

    A task whose worker died is tried once more, on another worker. Raises InputError if a worker cannot do the tasks.
    """
    numbered = enumerate(tasks)
    with store.staging() as folder:
        several = _Tasks(engine, watch)
        while True:
            while len(several.running) < engine.slots() and (following := next(numbered, None)) is not None:
                index, task = following
                file = TaskFile(folder / str(index))
                file.create()
                several.start(_Running(index, task, pickle.dumps((work, task)), file))
            if not several.running:
                return
            if (ended := several.wait()) is not None:
                yield ended


class _Tasks:
    """Tasks that the engine has."""

    def __init__(self, engine: WorkerEngine, watch: Watch) -> None:
        self._engine, self._watch = engine, watch
        self._ends: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self.running: dict[Future[Any], _Running] = {}
        self._began_s: float | None = time.monotonic()
        """Start of the wait for the first worker; None: one has come, or the user knows that none comes."""
        self._next_look_s = time.monotonic() + _LOOK_S

    def start(self, one: _Running) -> None:
        """Give a task to the engine."""
        future = self._engine.submit(one.content, one.file.path, max(PERIOD_S, len(self.running) / _FILES_PER_S))
        self.running[future] = one
        future.add_done_callback(self._ends.put)

    def wait(self) -> TaskResult[Any, Any] | None:
        """Wait until a task ends and return it; None: look whether more tasks can start, then wait again."""
        if time.monotonic() >= self._next_look_s:
            self._look()
        try:
            future = self._ends.get(timeout=max(0.0, self._next_look_s - time.monotonic()))
        except queue.Empty:
            return None
        self._began_s = None
        one, death = self.running.pop(future), self._engine.death(future)
        _, begun = one.file.read()
        for host, pid in begun:
            declare_ended(host, pid)
        if death is not None:
            one.losses += 1
            if len(begun) < TRIES and one.losses < _LOSSES:
                self.start(one)
                return None
        one.file.path.unlink()
        result = self._result(future) if death is None else WorkerDiedError(f"{death}, {TRIES} times")
        return TaskResult(one.index, one.task, result)

    def _result(self, ended: Future[Any]) -> Any:
        name = self._engine.name
        if ended.cancelled():
            raise InputError(f"{name}: the scheduler has dropped the tasks; does it still run?")
        if (error := ended.exception()) is not None:  # of the engine: `worker.do` returns those of the tasks
            raise InputError(f"{name}: a worker cannot do the tasks: {type(error).__name__}: {error}") from error
        if isinstance(result := ended.result(), Refusal):
            raise InputError(f"{name}: {result.reason}")
        return result

    def _look(self) -> None:
        """Report the progress of all running tasks."""
        for one in self.running.values():
            share, begun = one.file.read()
            if begun:
                self._began_s = None
            if share > 0.0:
                self._watch(one.index, share)
        now_s = time.monotonic()
        self._next_look_s = now_s + max(_LOOK_S, len(self.running) / _FILES_PER_S)
        if self._began_s is not None and now_s - self._began_s > _PATIENCE_S:
            sys.stderr.write(f"lsmlab: waiting for workers of {self._engine.name}\n")
            self._began_s = None

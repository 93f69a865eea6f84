"""Worker processes on this machine. If a worker dies, only its own task is affected, and another worker retries it."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, Final

from lsmlab.sim.runs.executor import R, T, TaskResult, Watch, Work
from lsmlab.sim.runs.waiting import WaitingTasks
from lsmlab.sim.runs.worker import ENDED, serve

_GRACE_S: Final = 2.0
"""Seconds that a worker has to end after SIGTERM."""


@dataclass(slots=True)
class _Worker:
    """A worker process and its current task with its index."""

    process: BaseProcess
    pipe: Connection
    task: tuple[int, Any] | None = None


@dataclass(frozen=True, slots=True)
class LocalProcesses:
    """Executor with `count` worker processes. Processes are spawned, because a fork loses the threads of libraries."""

    count: int

    def run_tasks(self, work: Work[T, R], tasks: Iterable[T], watch: Watch) -> Generator[TaskResult[T, R], None, None]:
        """Yield every task with its result as it ends; the workers end with the iterator."""
        pool = _Pool(work, WaitingTasks.of(tasks, self.count))
        try:
            for _ in range(pool.tasks.prepare()):
                pool.start()
            while pool.workers:
                pool.tasks.prepare()
                for task, result in pool.wait(watch):
                    yield TaskResult(task, result)
        finally:
            pool.stop()


@dataclass(slots=True)
class _Pool:
    work: Any
    tasks: WaitingTasks
    workers: list[_Worker] = field(default_factory=list)
    ending: list[BaseProcess] = field(default_factory=list)
    """Processes without a further task; `stop` waits for them, so that none stays a zombie."""

    def start(self) -> None:
        """Start a worker and give it a task."""
        context = multiprocessing.get_context("spawn")
        parent_end, child_end = context.Pipe()
        process = context.Process(target=serve, args=(child_end, self.work), daemon=True)
        with _program_hidden():
            process.start()
        child_end.close()
        worker = _Worker(process, parent_end)
        self.workers.append(worker)
        self._give(worker)

    def _give(self, worker: _Worker) -> None:
        worker.task = self.tasks.next()
        if worker.task is None:
            worker.pipe.close()  # the worker ends
            self.workers.remove(worker)
            self.ending.append(worker.process)
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the worker died: `wait` handles it
            worker.pipe.send(worker.task[1])

    def wait(self, watch: Watch) -> Iterator[tuple[Any, Any]]:
        """Wait for messages of workers; yield each task that ended, and its result."""
        for ready in wait([worker.pipe for worker in self.workers]):
            worker = next(w for w in self.workers if w.pipe is ready)
            assert worker.task is not None
            index, task = worker.task
            try:
                kind, content = worker.pipe.recv()
            except (EOFError, ConnectionResetError):
                yield from self._bury(worker, index, task)
                continue
            if kind == ENDED:
                self._give(worker)
                self.tasks.ended(index)
                yield task, content
            else:
                watch(index, content)

    def _bury(self, worker: _Worker, index: int, task: Any) -> Iterator[tuple[Any, Any]]:
        worker.process.join()
        worker.pipe.close()
        self.workers.remove(worker)
        error = self.tasks.lost(index, task, _death(worker.process.exitcode))
        if error is not None:
            yield task, error
        if self.tasks.waiting:
            self.start()

    def stop(self) -> None:
        """End all workers and discard their current tasks."""
        for process in self.ending:
            process.join(_GRACE_S)
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.process.join(_GRACE_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.pipe.close()
        self.workers.clear()


@contextmanager
def _program_hidden() -> Iterator[None]:
    """Hide the program from `multiprocessing`, which would import it in each worker process.

    A program that calls LSMLab outside `if __name__ == "__main__":` would start again in each worker.
    """
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


def _death(code: int | None) -> str:
    """Return the error message for a worker's exit code."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"its worker process was ended by {name}{hint}"
    return f"its worker process ended with exit code {code}"

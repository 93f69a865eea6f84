"""Worker processes of this machine: process pools of one process each, so that a death belongs to exactly one task."""

from __future__ import annotations

import signal
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from lsmlab.sim.runs.worker import begin_local_worker, do


class WorkerProcess:
    """A process of this machine that does one call after the other, and ends with this process.

    It is spawned, because a fork loses the threads of libraries.
    """

    def __init__(self) -> None:
        self._context = _Context()
        self._pool = ProcessPoolExecutor(1, mp_context=self._context, initializer=begin_local_worker)

    def submit(self, content: bytes, path: Path, period_s: float) -> Future[Any]:
        """Call `worker.do`. The future raises BrokenProcessPool if the process dies; so does `submit` afterwards."""
        return self._pool.submit(do, content, path, period_s)

    def end(self) -> int | None:
        """End the process, also in the middle of a call; return its exit code, of a process that had ended before too."""
        for process in self._context.processes:
            process.kill()
        self._pool.shutdown()
        return next((process.exitcode for process in self._context.processes), None)


@dataclass(slots=True)
class Processes:
    """Engine (`futures.WorkerEngine`) of one-process pools, each started when there is a task for it."""

    count: int
    name: str = "this machine"
    _idle: list[WorkerProcess] = field(default_factory=list)
    _busy: dict[Future[Any], WorkerProcess] = field(default_factory=dict)

    def slots(self) -> int:
        """Return the number of processes."""
        return self.count

    def submit(self, content: bytes, path: Path, period_s: float) -> Future[Any]:
        """Call `worker.do` in a process that is idle, or in a new one."""
        while True:
            process = self._idle.pop() if self._idle else WorkerProcess()
            try:
                future = process.submit(content, path, period_s)
            except BrokenProcessPool:  # somebody killed an idle process
                process.end()
                continue
            self._busy[future] = process
            return future

    def death(self, ended: Future[Any]) -> str | None:
        """Return how the process of a call died; None if it did not."""
        process = self._busy.pop(ended)
        if not isinstance(ended.exception(), BrokenProcessPool):
            self._idle.append(process)
            return None
        return _death(process.end())

    def end_calls(self) -> None:
        """End the processes in the middle of a call; the others stay for further calls."""
        for process in self._busy.values():
            process.end()
        self._busy.clear()

    def close(self) -> None:
        """End all processes."""
        self.end_calls()
        while self._idle:
            self._idle.pop().end()


class _Process(SpawnProcess):
    """A process that does not import the program.

    A program that calls LSMLab outside `if __name__ == "__main__":` would start again in each worker.
    """

    def start(self) -> None:
        program = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = program


class _Context(SpawnContext):
    """Context of `multiprocessing` that keeps the processes of a pool: for their exit codes, and to kill them."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[_Process] = []

    def Process(self, *arguments: Any, **named: Any) -> _Process:  # type: ignore[override]  # noqa: N802
        process = _Process(*arguments, **named)
        self.processes.append(process)
        return process


def _death(code: int | None) -> str:
    """Return how a process with an exit code died."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"its worker process was ended by {name}{hint}"
    return f"its worker process ended with exit code {code}"

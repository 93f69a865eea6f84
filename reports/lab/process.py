"""A worker process of the laboratory: does one task at a time, can be ended at any time, ends with its parent."""

from __future__ import annotations

import pickle
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final

from lsmlab.reports.lab.work import Task, do
from lsmlab.sim.runs.local import WorkerProcess as Process
from lsmlab.sim.runs.worker import PERIOD_S, TaskFile

Share = Callable[[float], None]
"""Callback with the finished share of a task, 0 to 1."""
_START_S: Final = 60.0
"""Longest time of the first task on a busy machine."""


class EndedError(RuntimeError):
    """Error of a task whose process has ended: somebody ended it, or it ran out of memory."""


class WorkerProcess:
    """A process that does the task `warm_up` when it starts, to import everything.

    Several threads may use it; each waits for the tasks of the others.
    """

    def __init__(self, warm_up: Task) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lsmlab-lab-")
        self._process = Process()
        self._busy = threading.Lock()
        self.alive = True
        """Whether the process runs."""
        self._warming: Future[Any] | None = self._submit(warm_up)

    def do(self, task: Task, share: Share = lambda _share: None, timeout_s: float | None = None) -> Any:
        """Do a task and return its result; raise its error.

        Raises EndedError if the process ends before, TimeoutError if the task takes longer than `timeout_s`; the process
        is then ended.
        """
        with self._busy:
            try:
                if self._warming is not None:
                    _result(self._warming, self._file, share, _START_S)
                    self._warming = None
                result = _result(self._submit(task), self._file, share, timeout_s)
            except (BrokenProcessPool, TimeoutError) as error:
                self.end()
                if isinstance(error, TimeoutError):
                    raise
                raise EndedError("its worker process has ended") from None
        if isinstance(result, Exception):
            raise result
        return result

    @property
    def _file(self) -> TaskFile:
        return TaskFile(Path(self._folder.name) / "task")

    def _submit(self, task: Task) -> Future[Any]:
        self._file.create()
        return self._process.submit(pickle.dumps((do, task)), self._file.path, PERIOD_S)

    def end(self) -> None:
        """End the process and discard its task."""
        self.alive = False
        self._process.end()
        self._folder.cleanup()


def _result(future: Future[Any], file: TaskFile, share: Share, timeout_s: float | None) -> Any:
    begun_s = time.monotonic()
    while not wait([future], PERIOD_S).done:
        share(file.read()[0])
        if timeout_s is not None and time.monotonic() - begun_s > timeout_s:
            raise TimeoutError
    return future.result()

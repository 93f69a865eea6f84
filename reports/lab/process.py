"""A worker process of the laboratory: does one task at a time, can be ended at any time, ends with its parent."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from typing import Any, Final

from lsmlab.reports.lab.work import Task, do
from lsmlab.sim.runs.worker import ENDED, serve

Share = Callable[[float], None]
"""Callback with the finished share of a task, 0 to 1."""
_GRACE_S: Final = 2.0
"""Time that the process has to end after SIGTERM."""
_START_S: Final = 60.0
"""Longest time of the first task on a busy machine."""


class EndedError(RuntimeError):
    """Error of a task whose process has ended: somebody ended it, or it ran out of memory."""


class WorkerProcess:
    """A process that does the task `warm_up` when it starts, to import everything.

    Several threads may use it; each waits for the tasks of the others.
    """

    def __init__(self, warm_up: Task) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_end = context.Pipe()
        self._process = context.Process(target=serve, args=(child_end, do), daemon=True)
        self._process.start()
        child_end.close()
        self._busy = threading.Lock()
        self._pipe.send(warm_up)
        self._warm = False

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    def do(self, task: Task, share: Share = lambda _share: None, timeout_s: float | None = None) -> Any:
        """Do a task and return its result; raise its error.

        Raises EndedError if the process ends before, TimeoutError if the task takes longer than `timeout_s`; the process
        is then ended.
        """
        with self._busy:
            try:
                if not self._warm:
                    self._answer(share, _START_S)
                    self._warm = True
                self._pipe.send(task)
                return self._answer(share, timeout_s)
            except (EOFError, OSError) as error:
                self.end()
                if isinstance(error, TimeoutError):
                    raise
                raise EndedError("its worker process has ended") from None

    def _answer(self, share: Share, timeout_s: float | None) -> Any:
        while True:
            if not self._pipe.poll(timeout_s):
                raise TimeoutError
            kind, content = self._pipe.recv()
            if kind != ENDED:
                share(content)
            elif isinstance(content, Exception):
                raise content
            else:
                return content

    def end(self) -> None:
        """End the process and discard its task."""
        self._process.terminate()
        self._process.join(_GRACE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

"""A worker process of the laboratory: does one task at a time, can be ended at any time, ends with its parent."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Final

from lsmlab.reports.lab.work import LabTask, limit_s
from lsmlab.reports.limits import limited
from lsmlab.sim.runs.worker import begin_local_worker

Share = Callable[[float], None]
"""Callback with the finished share of a task, 0 to 1."""
_PERIOD_S: Final = 0.25
"""Seconds between two messages about the progress of a task."""
_GRACE_S: Final = 2.0
"""Time that the process has to end after SIGTERM."""
_START_S: Final = 60.0
"""Longest time of the first task on a busy machine."""


class EndedError(RuntimeError):
    """Error of a task whose process has ended: somebody ended it, or it ran out of memory."""


class LabProcess:
    """A process that does the task `warm_up` when it starts, to import everything.

    Several threads may use it; each waits for the tasks of the others.
    """

    def __init__(self, warm_up: LabTask) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(child_end,), daemon=True)
        self._process.start()
        child_end.close()
        self._busy = threading.Lock()
        self._pipe.send(warm_up)
        self._warm = False

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    def do(self, task: LabTask, share: Share = lambda _share: None, timeout_s: float | None = None) -> Any:
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
                result = self._answer(share, timeout_s)
            except (EOFError, OSError) as error:
                self.end()
                if isinstance(error, TimeoutError):
                    raise
                raise EndedError("its worker process has ended") from None
        if isinstance(result, Exception):
            raise result
        return result

    def _answer(self, share: Share, timeout_s: float | None) -> Any:
        """Return the result of the task, or its error; a message before that is the finished share."""
        begun_s = time.monotonic()
        while True:
            left_s = None if timeout_s is None else max(0.0, timeout_s - (time.monotonic() - begun_s))
            if not self._pipe.poll(left_s):
                raise TimeoutError
            ended, content = self._pipe.recv()
            if ended:
                return content
            share(content)

    def end(self) -> None:
        """End the process and discard its task."""
        self._process.terminate()
        self._process.join(_GRACE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(pipe: Connection) -> None:
    """Do each task that arrives on the pipe and send back its result, until the parent ends."""
    begin_local_worker()
    while True:
        try:
            task = pipe.recv()
            pipe.send((True, _result(pipe, task)))
        except (EOFError, BrokenPipeError):
            return


def _result(pipe: Connection, task: LabTask) -> Any:
    """Return the result of a task, or its error; send its progress on the pipe."""
    last_s = time.monotonic()

    def progress(now_s: float, end_s: float) -> None:
        nonlocal last_s
        if time.monotonic() - last_s > _PERIOD_S and end_s > 0.0:
            last_s = time.monotonic()
            pipe.send((False, now_s / end_s))

    try:
        with limited("this task", limit_s(task)):
            return task.do(progress)
    except Exception as error:
        from lsmlab.models.errors import InputError

        return error if isinstance(error, InputError) else RuntimeError(f"{type(error).__name__}: {error}")

"""Worker process: does the tasks that it receives over a pipe, and ends with its parent."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from lsmlab.sim.runs.executor import Work

ENDED: Final = "ended"
"""Kind of a message to the parent that contains a task's result."""
SHARE: Final = "share"
"""Kind of a message to the parent that contains the finished share of a running task (0 to 1)."""
PERIOD_S: Final = 0.25
"""Seconds between two messages about the progress of a task."""
_POLL_S: Final = 0.5
"""Seconds between two looks at the parent of a launcher's worker."""
_WATCH: Final = "lsmlab-parent"
"""Name of the thread that looks."""


def serve(pipe: Connection, work: Work[Any, Any]) -> None:
    """Do each task that arrives on the pipe and send back its result; return when the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = pipe.recv()
            pipe.send((ENDED, done(pipe, work, task)))
        except (EOFError, BrokenPipeError):
            return


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended, because no process would receive the result."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def end_with_parent_of(driver: int) -> None:
    """End this process soon after its parent has ended; do nothing in the process `driver` itself.

    For the workers of Hydra's launchers (joblib, Ray, Slurm), which would go on simulating without their driver.
    """
    if os.getpid() != driver and not any(thread.name == _WATCH for thread in threading.enumerate()):
        threading.Thread(target=_poll_parent, args=(os.getppid(),), name=_WATCH, daemon=True).start()


def _poll_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os._exit(1)


def done(pipe: Connection, work: Work[Any, Any], task: Any, period_s: float = PERIOD_S) -> Any:
    """Do a task and return its result, or its exception; send its progress on the pipe every `period_s` seconds."""
    last_s = time.monotonic()

    def progress(now_s: float, end_s: float) -> None:
        nonlocal last_s
        if time.monotonic() - last_s > period_s and end_s > 0.0:
            last_s = time.monotonic()
            pipe.send((SHARE, now_s / end_s))

    try:
        return work(task, progress)
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:
        return _portable(error)


def _portable(error: Exception) -> Exception:
    """Return the exception if it can be pickled, else a RuntimeError with the same type name and message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error

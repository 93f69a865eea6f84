"""Choice of the executor by the numbers of processes and tasks."""

from __future__ import annotations

import os

from lsmlab.sim.runs.executor import Executor, InProcess
from lsmlab.sim.runs.local import LocalProcesses


def executor(processes: int | None, tasks: int) -> Executor:
    """Return an executor with worker processes (default: one per core); a single one means: in this process."""
    count = min(processes or cores(), tasks)
    return LocalProcesses(count) if count > 1 else InProcess()


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows do not have sched_getaffinity
        return os.cpu_count() or 1

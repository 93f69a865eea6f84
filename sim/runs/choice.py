"""The executor for a number of processes and tasks."""

from __future__ import annotations

import os

from lsmlab.sim.runs.executor import Executor, InProcess
from lsmlab.sim.runs.local import LocalProcesses


def executor(processes: int | None, tasks: int) -> Executor:
    """Processes of this machine (default: one per core), or this process where one is enough."""
    count = min(processes or cores(), tasks)
    return LocalProcesses(count) if count > 1 else InProcess()


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1

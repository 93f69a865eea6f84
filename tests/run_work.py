"""Tasks for tests of executors; worker processes import this module by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from lsmlab.sim.progress import Progress


def doubled(task: int, progress: Progress) -> int:
    """Return twice the task. Task 13 raises ValueError."""
    if task == 13:
        raise ValueError("thirteen")
    progress(1.0, 2.0)
    return 2 * task


def killed_at_first(task: Path, _progress: Progress) -> str:
    """Write a mark and kill the process at the first attempt; return at the second."""
    if not task.exists():
        task.write_text("tried")
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def killed(task: int, _progress: Progress) -> int:
    """Kill the process at each attempt of task 1."""
    if task == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return task


def endless(task: Path, progress: Progress) -> str:
    """Report progress for ever; at the end, write "ended" to the task's file."""
    task.write_text("begun")
    try:
        for second in range(1, 10**9):
            time.sleep(0.01)
            progress(second, 1000.0)
    finally:
        task.write_text("ended")
    return "never"

"""Work for executors under test; worker processes import it by this name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from lsmlab.sim.progress import Progress


def doubled(task: int, progress: Progress) -> int:
    """Twice the task; 13 is refused."""
    if task == 13:
        raise ValueError("thirteen")
    progress(1.0, 2.0)
    return 2 * task


def killed_at_first(task: Path, _progress: Progress) -> str:
    """Die at the first try, leave a mark, and end well at the second."""
    if not task.exists():
        task.write_text("tried")
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def killed(task: int, _progress: Progress) -> int:
    """Die at each try of task 1."""
    if task == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return task

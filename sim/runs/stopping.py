"""SIGTERM acts like Ctrl-C: both raise KeyboardInterrupt, so that a command ends in one way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt; what SIGTERM did before is restored."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return

    def stop(_number: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

"""SIGTERM as KeyboardInterrupt: a command handles SIGTERM and Ctrl-C in the same way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C or SIGTERM."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt in the block; restore the previous handler afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can set signal handlers
        return

    def stop(_number: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)

"""SIGTERM as KeyboardInterrupt: a command handles SIGTERM and Ctrl-C in the same way, and not amid a change of files."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C or SIGTERM."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


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


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a short block run to its end; a SIGINT or SIGTERM that arrives in the block takes effect after the block.

    Without it, Ctrl-C between the creation of a temporary folder and the `try` that removes the folder, or during the
    removal, leaves the folder behind.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    previous = {number: signal.signal(number, lambda n, _: arrived.append(n)) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])

"""Limits of time and memory for work on files of others: an import, a page, a task of the laboratory."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.process_memory import memory_bytes
from lsmlab.sim.runs.estimate import duration_text

IMPORT_S: Final = 2 * 3600.0
"""Longest import: the largest LOG, 16 GiB, takes 50 minutes."""
PAGE_S: Final = 900.0
"""Longest time in which a page is drawn; usual is a second."""
_SHARE: Final = 0.8
"""Largest share of the machine's memory."""


class _LateError(BaseException):
    """The time is over. No handler of an error on the way may take it for one of its own."""


@contextmanager
def limited(what: str, time_s: float) -> Iterator[None]:
    """Let a block take at most a time and a share of the memory. Raises InputError, which begins with `what`, for more.

    Outside of the main thread, and on systems without such limits, it may take as much as it needs.
    """
    most_bytes = _SHARE * memory_bytes()
    try:
        with _data_at_most(most_bytes), _alarm(time_s):
            yield
    except _LateError:
        raise InputError(f"{what}: takes longer than {duration_text(time_s)}; give a smaller part of it") from None
    except MemoryError:
        raise InputError(
            f"{what}: needs more than {most_bytes / 1e9:,.1f} GB of memory, {_SHARE:.0%} of all; give a smaller part of it"
        ) from None


@contextmanager
def _data_at_most(most_bytes: float) -> Iterator[None]:
    """Limit the memory that this process may allocate: an allocation beyond it raises MemoryError."""
    try:
        import resource

        before, highest = resource.getrlimit(resource.RLIMIT_DATA)
    except (ImportError, OSError):
        yield
        return
    bounds = [n for n in (before, highest) if n != resource.RLIM_INFINITY]
    wanted = min([*bounds, int(most_bytes)]) if math.isfinite(most_bytes) else before
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, highest))
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (before, highest))


@contextmanager
def _alarm(time_s: float) -> Iterator[None]:
    """Raise `_LateError` in this block after a time."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, time_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _late(_signal: int, _frame: FrameType | None) -> None:
    raise _LateError

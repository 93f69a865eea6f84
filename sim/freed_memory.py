"""Return of freed memory to the operating system, so that the tables of a long run do not come on top of its simulation."""

from __future__ import annotations

import ctypes
import gc
from typing import Final

LARGE_RUN_JOBS: Final = 10_000
"""Background jobs from which `return_freed_memory` is worth its time: 30 ms, and 10 ms per 10,000 files in the tree."""


def return_freed_memory() -> None:
    """Free unreachable objects and give free pages back to the operating system.

    The objects of a run refer to each other, so its logs stay until the garbage collector finds them. glibc then keeps the
    pages of small arrays, such as the keys of files, and takes new pages for large ones. Other C libraries keep what
    they keep.
    """
    gc.collect()
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return  # not glibc
    trim(0)

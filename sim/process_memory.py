"""Memory of the process that simulates: whether the arrays of a run fit, and return of memory that it needs no longer."""

from __future__ import annotations

import ctypes
import functools
import gc
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.workloads.base import Workload

KEY_BYTES: Final = 18.0
"""Memory per sampled key of all trees (measured)."""
_ROW_BYTES: Final = 300.0
"""Memory per simulated second in the series: a row of about forty numbers."""
CGROUP: Final = Path("/sys/fs/cgroup/memory.max")
"""Limit of this container's memory in bytes; a word without one."""


def check_memory(settings: Mapping[str, Any], workload: Workload, samples: Mapping[str, KeySample]) -> None:
    """Raise InputError if the sampled keys of all trees or the rows per second do not fit in this machine's memory.

    `settings`: the group `workload` of the configuration; `samples`: by column family, those of one shard.
    """
    keys = workload.shards * sum(sample.cells for sample in samples.values())
    number = "recordcount" if "recordcount" in settings else "num"
    _require(
        KEY_BYTES * keys, f"workload.{number}: {keys:.3g} sampled keys",
        "choose fewer keys, larger memtables and files, or a smaller keys.samples_per_file",
    )  # fmt: skip
    if workload.duration_s is not None:
        _require(
            _ROW_BYTES * workload.duration_s, f"workload.duration: a row for each of {workload.duration_s:.3g} seconds",
            "choose a shorter duration",
        )  # fmt: skip


def _require(need_bytes: float, what: str, remedy: str) -> None:
    most_bytes = memory_bytes()
    if need_bytes > most_bytes:
        raise InputError(f"{what} need {need_bytes / 1e9:,.0f} GB of memory; this machine has {most_bytes / 1e9:,.0f}: {remedy}")


@functools.cache
def memory_bytes() -> float:
    """Return the memory of this machine, or of this container if less, in bytes; infinity where the system tells neither."""
    try:
        machine_bytes = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        machine_bytes = math.inf
    try:
        limit = CGROUP.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return machine_bytes
    return min(machine_bytes, float(limit)) if limit.isdigit() else machine_bytes


LARGE_RUN_JOBS: Final = 10_000
"""Background jobs from which `return_freed_memory` is worth its time: 30 ms, and 10 ms per 10,000 files in the tree."""


_MMAP_THRESHOLD: Final = -3
"""M_MMAP_THRESHOLD of malloc.h."""
_LARGE_ARRAY_BYTES: Final = 1 << 18


def return_freed_memory() -> None:
    """Free unreachable objects and give free pages back to the operating system.

    The objects of a run refer to each other, so its logs stay until the garbage collector finds them. glibc then keeps the
    pages of small arrays, such as the keys of files, and takes new pages for large ones. From now on it gives those of large
    arrays back as soon as they are freed; by default it keeps arrays of up to 32 MB. Other C libraries keep what they keep.
    """
    gc.collect()
    try:
        library = ctypes.CDLL(None)
        trim, set_option = library.malloc_trim, library.mallopt
    except (AttributeError, OSError, TypeError):
        return  # not glibc
    trim(0)
    set_option(_MMAP_THRESHOLD, _LARGE_ARRAY_BYTES)

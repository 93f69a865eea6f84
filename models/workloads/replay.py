"""Workload that repeats recorded operations: times, kinds, keys and sizes of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.traces.operations import UNKNOWN, Kind, Operations
from lsmlab.models.workloads.arrivals import Arrivals, ClosedLoop, Recorded
from lsmlab.models.workloads.base import Clients, Mix, ScanLength, Workload
from lsmlab.models.workloads.recorded_keys import RecordedKeys, RecordedSizes
from lsmlab.models.workloads.values import ValueSizes
from numpy.typing import NDArray

_PUTS: Final = (Kind.PUT, Kind.MERGE)
_MOST_ROWS: Final = 100_000
"""Largest number of rows of a schedule; a longer trace has longer rows than a second."""
_FEWEST_ROWS: Final = 20


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """Settings of a replay that a trace does not contain."""

    num: int
    """Keys in the key space, at least those of the trace."""
    preload: float
    """Share of them that the store holds at the start."""
    values: ValueSizes
    """Sizes of values for a trace without any."""
    scan_length: float
    """Entries that a scan returns."""
    threads: int
    duration_s: float
    scale: float = 1.0
    loop: bool = False
    sync: bool = False
    queue_per_thread: bool = False


def rates(times_s: NDArray[np.float64], length_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return starts of rows in s and operations per second in each, in rows of a second or a twentieth of a short trace."""
    length_s = max(length_s, 1e-3)
    width_s = max(min(1.0, length_s / _FEWEST_ROWS), length_s / _MOST_ROWS)
    rows = max(1, round(length_s / width_s))
    counts, edges = np.histogram(times_s, rows, (0.0, length_s))
    return edges[:-1], counts / np.diff(edges)


def value_sizes(operations: Operations) -> NDArray[np.int64]:
    """Return the sizes of all values that the trace contains: of writes; without any, those that gets found."""
    for kinds in (_PUTS, (Kind.GET,)):
        sizes = operations.value_bytes[operations.of(*kinds)]
        told: NDArray[np.int64] = sizes[sizes != UNKNOWN]
        if len(told):
            return told
    return np.empty(0, dtype=np.int64)


def replay(operations: Operations, settings: ReplaySettings) -> Workload:
    """Return the workload that repeats the operations: a group that writes and one that reads, each at its own rate.

    Puts and deletes keep their order among themselves; a key that is put and deleted in one memtable is deleted with the share
    of the deletes. Raises InputError for a trace of range deletes alone.
    """
    puts, deletes = operations.of(*_PUTS), operations.of(Kind.DELETE)
    gets, seeks = operations.of(Kind.GET), operations.of(Kind.SEEK)
    groups = []
    if (writes := puts | deletes).any():
        share = float(deletes.sum() / writes.sum())
        batch = round(writes.sum() / operations.write_batches) if operations.write_batches else 1
        groups.append(Clients(
            "writes", settings.threads, Mix(update=1.0 - share, delete=share), _arrivals(operations, writes, settings),
            write_keys=_keys(operations, puts if puts.any() else writes),
            delete_keys=_keys(operations, deletes) if deletes.any() else None,
            batch_size=max(1, batch), sync=settings.sync, queue_per_thread=settings.queue_per_thread,
            operations=_count(operations, writes),
        ))  # fmt: skip
    if (reads := gets | seeks).any():
        share = float(seeks.sum() / reads.sum())
        groups.append(Clients(
            "reads", settings.threads, Mix(read=1.0 - share, scan=share), _arrivals(operations, reads, settings),
            read_keys=_keys(operations, reads),
            scan_length=ScanLength.fixed(settings.scan_length), queue_per_thread=settings.queue_per_thread,
            operations=_count(operations, reads),
        ))  # fmt: skip
    if not groups:
        raise InputError("the trace has range deletes only; record it while clients write or read")
    sizes, population = value_sizes(operations), max(settings.num, operations.keys)
    return Workload(
        "trace", tuple(groups), max(1.0, float(np.mean(operations.key_bytes))),
        RecordedSizes.of(sizes) if len(sizes) else settings.values,
        population=population, preload_keys=round(population * settings.preload),
        duration_s=settings.duration_s, notes=tuple(f"workload: {note}" for note in _notes(operations)),
    )  # fmt: skip


def _keys(operations: Operations, chosen: NDArray[np.bool_]) -> RecordedKeys:
    return RecordedKeys(operations.key[chosen], operations.places)


def _arrivals(operations: Operations, chosen: NDArray[np.bool_], settings: ReplaySettings) -> Arrivals:
    if operations.time_s is None:
        return ClosedLoop()
    length_s = max(operations.length_s or 0.0, 1e-3)
    starts, per_s = rates(operations.time_s[chosen], length_s)
    return Recorded(tuple(starts.tolist()), tuple((settings.scale * per_s).tolist()), length_s, settings.loop)


def _count(operations: Operations, chosen: NDArray[np.bool_]) -> int | None:
    """Return the operations after which clients at full speed stop; None for a schedule."""
    return int(chosen.sum()) if operations.time_s is None else None


def _notes(operations: Operations) -> Sequence[str]:
    about = f"{operations.form}: times, kinds, keys and sizes are those of its {len(operations):,} operations"
    notes = [about, *operations.notes]
    if len(operations.families) > 1:
        notes.append(f"operations of {len(operations.families)} column families go to one; their keys are kept apart")
    if (operations.kind == Kind.RANGE_DELETE).any():
        notes.append(f"{int((operations.kind == Kind.RANGE_DELETE).sum()):,} range deletes are left out")
    if (operations.kind == Kind.MERGE).any():
        notes.append("merge operands are written as puts of their size")
    if (operations.kind == Kind.SEEK).any():
        notes.append("a trace does not contain how many entries a seek goes on to; scan_length is assumed")
    return notes

"""Slices of a trace: jobs by thread, stalls, and memtables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from lsmlab.reports.explorer.jobs import lanes_of
from lsmlab.reports.palette import stall_name
from lsmlab.reports.run_data import RunData
from lsmlab.reports.trace.events import Event, complete, instant, place_of, track_names

STALLS, JOBS, MEMTABLES, COUNTERS = 1, 2, 3, 4
"""Processes of a trace in the order of the viewer."""
_JOB_ARGS: Final = (
    "job", "shard", "column_family", "kind", "reason", "start_level", "output_level", "input_files",
    "input_files_output_level", "output_files", "read_bytes", "write_bytes", "moved_bytes", "blob_files", "blob_read_bytes",
    "blob_write_bytes", "score", "subcompactions",
    "cpu_s", "slot_wait_s", "device_s", "device_alone_s", "core_wait_s", "limiter_wait_s", "sync_wait_s",
    "halted_s", "unfinished",
)  # fmt: skip
SWITCH: Final[tuple[str, ...]] = ("time_s", "shard", "column_family", "bytes", "entries")
"""Columns of memtable switches."""
_STALL_ARGS: Final = ("cause", "shard", "lost_ops", "unfinished")


def job_slices(run: RunData) -> list[Event]:
    """Return names and slices of all jobs."""
    rows = np.arange(len(run.jobs.get("job", ())))
    lanes, names = lanes_of(run, rows, moves_share=False)
    events = track_names(JOBS, "background jobs", dict(enumerate(names)))
    columns = _columns(run.jobs, _JOB_ARGS)
    for row, lane in zip(rows.tolist(), lanes.tolist(), strict=True):
        args = {name: values[row] for name, values in columns.items()}
        times = (float(run.jobs["start_s"][row]), float(run.jobs["end_s"][row]))
        events.append(complete(_job_name(args), "job", place_of(JOBS, lane), *times, args))
    return events


def _job_name(args: dict[str, Any]) -> str:
    kind, low, high = str(args["kind"]), int(args["start_level"]), int(args["output_level"])
    if kind == "flush":
        return f"flush → L{high}"
    return f"{kind.replace('_', ' ')} L{low} → L{high}" if high >= 0 else f"{kind} L{low}"


def stall_slices(run: RunData) -> list[Event]:
    """Return names and slices of all stalls, with a track per shard and kind of stall."""
    count = len(run.stalls.get("start_s", ()))
    shards = run.stalls.get("shard", np.zeros(count, dtype=np.int64))
    several = bool(count) and len(np.unique(shards)) > 1
    threads: dict[tuple[int, bool], int] = {}
    slices = []
    columns = _columns(run.stalls, _STALL_ARGS)
    for row in range(count):
        cause = str(run.stalls["cause"][row])
        thread = threads.setdefault((int(shards[row]), cause.endswith("slowdown")), len(threads))
        args = {name: values[row] for name, values in columns.items()} | {"chain_jobs": len(run.chain(row))}
        times = (float(run.stalls["start_s"][row]), float(run.stalls["end_s"][row]))
        slices.append(complete(stall_name(cause), "stall", place_of(STALLS, thread), *times, args))
    labels = {
        thread: f"{'slowdowns' if slow else 'stops'}{f' of shard {shard}' if several else ''}"
        for (shard, slow), thread in threads.items()
    }
    return [*track_names(STALLS, "write stalls", labels), *slices]


def switches_of(run: RunData) -> dict[str, list[Any]]:
    """Return time_s, shard, column_family, bytes and entries of all memtable switches; lists without elements for a LOG."""
    edits = run.events
    if edits is None:
        return {name: [] for name in SWITCH}
    switched = edits["kind"].astype(str) == "switch"
    found = {name: edits[name][switched].tolist() for name in SWITCH if name in edits}
    return {"column_family": [""] * int(switched.sum()), **found}


def memtable_slices(switches: Mapping[str, Sequence[Any]]) -> list[Event]:
    """Return a slice from switch to switch for each memtable that became immutable, and a mark for each switch.

    `switches`: time_s, shard, column_family, bytes and entries of the switches (`switches_of`).
    """
    threads: dict[tuple[int, str], int] = {}
    since: dict[int, float] = {}
    slices: list[Event] = []
    for time_s, shard, family, size, entries in zip(*(switches[name] for name in SWITCH), strict=True):
        place = place_of(MEMTABLES, threads.setdefault((shard, family), len(threads)))
        args = {"bytes": size, "entries": entries}
        slices.append(complete("memtable", "memtable", place, since.get(place[1], 0.0), time_s, args))
        slices.append(instant("memtable switch", "memtable", place, time_s, args))
        since[place[1]] = time_s
    several = len(threads) > 1
    labels = {t: f"shard {shard} {family}".strip() if several else "active memtable" for (shard, family), t in threads.items()}
    return [*track_names(MEMTABLES, "memtables", labels), *slices]


def _columns(table: dict[str, Any], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: table[name].tolist() for name in names if name in table}

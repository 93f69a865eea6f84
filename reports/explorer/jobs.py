"""Background jobs in a page: one row per job with times, files, bytes and waits, and its row in the job chart.

In the chart, a job takes the lowest free slot of its kind, as background threads do.
"""

from __future__ import annotations

import heapq
from typing import Any, Final

import numpy as np
from lsmlab.reports.explorer.packing import narrowed
from lsmlab.reports.palette import CONSUMERS, MOVE, level_color
from lsmlab.reports.run_data import RunData
from numpy.typing import NDArray

Ints = NDArray[np.int64]
MOST_JOBS: Final = 100_000
"""Largest number of jobs in a page: about 4 MB."""
_DTYPES: Final = {
    "job": "u4", "shard": "u2", "start_level": "i1", "output_level": "i1", "start_s": "f8", "end_s": "f8",
    "input_files": "u4", "input_files_output_level": "u4", "output_files": "u4", "read_bytes": "f4",
    "read_bytes_output_level": "f4", "write_bytes": "f4", "moved_bytes": "f4", "blob_files": "u4", "blob_read_bytes": "f4",
    "blob_write_bytes": "f4", "score": "f4", "subcompactions": "u2",
    "cpu_s": "f4", "halted_s": "f4", "unfinished": "u1", "slot_wait_s": "f4", "device_s": "f4", "device_alone_s": "f4",
    "core_wait_s": "f4", "limiter_wait_s": "f4", "sync_wait_s": "f4",
}  # fmt: skip
"""Columns of jobs.parquet in a page, with their types there; a run without a column leaves it out."""
_LANES: Final = {"flush": "flush", **dict.fromkeys(("trivial_move", "drop", "link", "ingestion"), "moves")}
"""Row by kind of job; all others are compactions. Jobs that rewrite nothing take no time and share a row."""
_DROP: Final = "#5B636B"


def chosen_jobs(run: RunData, first: Ints) -> Ints:
    """Return the rows of at most `MOST_JOBS` jobs, ascending: those with the keys `first`, then the longest jobs."""
    count = len(run.jobs.get("job", ()))
    if count <= MOST_JOBS:
        return np.arange(count)
    lengths = run.jobs["end_s"] - run.jobs["start_s"]
    order = np.lexsort((-lengths, ~np.isin(run.jobs["key"], first)))
    return np.sort(order[:MOST_JOBS])


def job_data(run: RunData, rows: Ints) -> dict[str, Any]:
    """Return the columns of these jobs, their kinds, reasons and groups (colours), and the rows of the chart."""
    lanes, names = lanes_of(run, rows)
    kinds, kind = _coded(run, rows, "kind")
    reasons, reason = _coded(run, rows, "reason")
    groups, group = _groups(run, rows)
    columns = {name: narrowed(run.jobs[name][rows], d) for name, d in _DTYPES.items() if name in run.jobs}
    columns |= {"kind": kind, "reason": reason, "group": group, "lane": lanes.astype("<u2"), "parent": _parents(run, rows)}
    return {
        "count": len(rows), "total": len(run.jobs.get("job", ())), "columns": columns, "kinds": kinds, "reasons": reasons,
        "groups": groups, "lanes": names,
    }  # fmt: skip


def _coded(run: RunData, rows: Ints, name: str) -> tuple[list[str], NDArray[Any]]:
    """Return the different texts of a column, and their numbers by job."""
    values = run.jobs.get(name)
    if values is None or not len(rows):
        return [""], np.zeros(len(rows), dtype="<u1")
    names, codes = np.unique(np.array([str(value or "") for value in values[rows]]), return_inverse=True)
    return names.tolist(), codes.astype("<u1")


def _parents(run: RunData, rows: Ints) -> NDArray[Any]:
    """Return the place in `rows` of the job that triggered each job; -1: none, or not in the page."""
    if "parent" not in run.jobs or not len(rows):
        return np.full(len(rows), -1, dtype="<i4")
    keys = run.jobs["key"][rows]
    parent = run.jobs["parent"][rows].astype(np.int64)
    return places(keys, np.where(parent < 0, -1, keys - run.jobs["job"][rows] + parent))


def places(keys: Ints, wanted: Ints) -> NDArray[Any]:
    """Return the place of each wanted key in `keys` (all different); -1 for missing ones."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype="<i4")
    order = np.argsort(keys, kind="stable")
    found = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    return np.where(keys[order[found]] == wanted, order[found], -1).astype("<i4")


def _groups(run: RunData, rows: Ints) -> tuple[list[dict[str, Any]], NDArray[Any]]:
    """Return name and colour of each group of jobs in the order of the legend, and the group of each job."""
    group = np.zeros(len(rows), dtype="<u1")
    found: list[dict[str, Any]] = []
    if not len(rows):
        return found, group
    kinds, levels, outputs = (np.asarray(run.jobs[name][rows]) for name in ("kind", "start_level", "output_level"))

    def add(name: str, color: str, mine: NDArray[np.bool_]) -> None:
        if mine.any():
            group[mine] = len(found)
            found.append({"name": name, "color": color})

    add("flush", CONSUMERS["flush"], kinds == "flush")
    rewriting = np.isin(kinds, ("compaction", "discarded"))
    for level in np.unique(levels[rewriting]).tolist():
        mine = rewriting & (levels == level)
        add(_label(level, np.unique(outputs[mine]).tolist()), level_color(max(0, level)), mine)
    add("trivial move", MOVE, kinds == "trivial_move")
    add("link", "#6C7A86", kinds == "link")
    add("drop", _DROP, kinds == "drop")
    add("ingestion", MOVE, kinds == "ingestion")
    add("other", MOVE, ~(rewriting | np.isin(kinds, ("flush", "trivial_move", "link", "drop", "ingestion"))))
    return found, group


def _label(level: int, reached: list[int]) -> str:
    if len(reached) == 1:
        return f"L{level}→L{reached[0]}"
    return f"from L{level}" if level in reached else f"L{level}→deeper"


def lanes_of(run: RunData, rows: Ints, *, moves_share: bool = True) -> tuple[Ints, list[str]]:
    """Return the number of the chart's row for each of these jobs (ascending by start time), and the names of the rows.

    `moves_share`: whether jobs that rewrite nothing share a row although they may overlap.
    """
    shared = "moves" if moves_share else ""
    free: dict[str, list[int]] = {}
    busy: dict[str, list[tuple[float, int]]] = {}
    slots: dict[str, int] = {}
    taken: list[tuple[str, int]] = []
    if not len(rows):
        return np.empty(0, dtype=np.int64), []
    columns = (run.jobs[name][rows].tolist() for name in ("kind", "start_s", "end_s"))
    for kind, start_s, end_s in zip(*columns, strict=True):
        family = _LANES.get(str(kind), "compaction")
        running, idle = busy.setdefault(family, []), free.setdefault(family, [])
        while running and running[0][0] <= start_s:
            heapq.heappush(idle, heapq.heappop(running)[1])
        if family == shared:
            slot, slots[family] = 0, 1
        elif idle:
            slot = heapq.heappop(idle)
        else:
            slot, slots[family] = slots.get(family, 0), slots.get(family, 0) + 1
        if family != shared:
            heapq.heappush(running, (end_s, slot))
        taken.append((family, slot))
    first: dict[str, int] = {}
    names: list[str] = []
    for family in ("flush", "compaction", "moves"):
        first[family] = len(names)
        several = slots.get(family, 0) > 1
        names += [f"{family} {slot + 1}" if several else family for slot in range(slots.get(family, 0))]
    return np.array([first[family] + slot for family, slot in taken], dtype=np.int64), names

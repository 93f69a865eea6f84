"""Gantt chart of background jobs, with the chain of jobs that each of the longest stalls waited for."""

from __future__ import annotations

import heapq
import html
from typing import Any

import numpy as np
import numpy.typing as npt
from lsmlab.reports import numbers
from lsmlab.reports.cost import wait_sentence
from lsmlab.reports.figures.base import Figure, Trace, packed, time_axis
from lsmlab.reports.palette import CONSUMERS, MOVE, level_color, stall_color, stall_name
from lsmlab.reports.run_data import Column, RunData
from lsmlab.sim.results.episodes.words import count

MOST_JOBS = 3000
"""Largest number of bars, so that a browser draws them without delay."""

MOST_STALLS = 100
"""Number of stalls in the selector: the costliest (`RunData.ranked_stalls`)."""

_LANES = {"flush": "flush", "compaction": "compaction", "trivial_move": "moves", "drop": "moves"}


def jobs_gantt(run: RunData) -> Figure:
    """Draw one bar per job in lanes by job slot; the script of the page highlights the chain of a selected stall."""
    stalls = [int(row) for row in run.ranked_stalls()[:MOST_STALLS]]
    windows = [_window(run, row) for row in stalls]
    drawn = _choose(run, stalls, windows)
    lanes, names = _assign_lanes(run, drawn)
    traces = [_bars(run, group, lanes, label, color) for label, color, group in _groups(run, drawn)]
    total, caption = (
        len(run.jobs.get("job", ())),
        "Each bar is a job, each row a job slot; the colour gives the kind of job and its levels.",
    )
    if stalls:
        caption += (
            " Select a stall to tint its interval and to highlight the jobs that had to end before the stall could end."
        )
    if run.jobs.get("unfinished", np.zeros(0, dtype=np.bool_)).any():
        caption += " Hatched bars are jobs that were still running at the end of the run."
    if len(drawn) < total:
        caption += (
            f" The figure shows {len(drawn):,} of {total:,} jobs: those around the longest stalls, then the longest"
            " jobs. jobs.parquet contains all jobs."
        )
    top = [names[i] for i in range(len(names))]
    layout = {
        "barmode": "overlay", "hovermode": "closest", "dragmode": "pan", "xaxis": time_axis(),
        "yaxis": {"tickvals": list(range(len(top))), "ticktext": top, "autorange": "reversed", "fixedrange": True},
    }  # fmt: skip
    choices = [
        _choice(run, row, window, rank + 1) for rank, (row, window) in enumerate(zip(stalls, windows, strict=True))
    ]
    return Figure(
        "jobs", "Background jobs and the chain behind a stall", caption, traces, layout,
        height_px=min(900, 170 + 34 * len(top)), timeline=True, empty="No background job ran.",
        before=_selector(choices) if traces else "", after='<div id="chain" class="chain"></div>' if traces else "",
        extra={"stalls": choices} if traces else {},
    )  # fmt: skip


def _window(run: RunData, row: int) -> tuple[float, float]:
    """Return the time range (start, end) in seconds that shows a stall and its chain, with a margin."""
    low, high = float(run.stalls["start_s"][row]), float(run.stalls["end_s"][row])
    in_chain = np.isin(run.jobs.get("key", np.empty(0)), run.chain(row))
    if in_chain.any():
        low = min(low, float(run.jobs["start_s"][in_chain].min()))
        high = max(high, float(run.jobs["end_s"][in_chain].max()))
    margin = max(0.06 * (high - low), 1e-3)
    return low - margin, high + margin


def _choose(run: RunData, stalls: list[int], windows: list[tuple[float, float]]) -> npt.NDArray[np.int64]:
    """Return the rows of at most `MOST_JOBS` jobs to draw: those around the longest stalls, then the longest jobs."""
    starts, ends = run.jobs.get("start_s", np.empty(0)), run.jobs.get("end_s", np.empty(0))
    if len(starts) <= MOST_JOBS:
        return np.arange(len(starts))
    lengths = ends - starts
    chosen = np.isin(run.jobs.get("key", np.empty(0)), [job for row in stalls[:20] for job in run.chain(row)])
    for low, high in windows:
        room = MOST_JOBS - int(chosen.sum())
        if room <= 0:
            break
        around = np.flatnonzero((starts <= high) & (ends >= low) & ~chosen)
        chosen[around[np.argsort(-lengths[around], kind="stable")[:room]]] = True
    room = max(0, MOST_JOBS - int(chosen.sum()))
    others = np.flatnonzero(~chosen)
    chosen[others[np.argsort(-lengths[others], kind="stable")[:room]]] = True
    return np.flatnonzero(chosen)


def _assign_lanes(run: RunData, rows: npt.NDArray[np.int64]) -> tuple[dict[int, int], list[str]]:
    """Return the lane number by job row, and the names of the lanes: a job takes the lowest free slot of its kind."""
    free: dict[str, list[int]] = {}
    busy: dict[str, list[tuple[float, int]]] = {}
    slots: dict[str, int] = {}
    taken: list[tuple[int, str, int]] = []
    for row in rows.tolist():
        family = _LANES.get(str(run.jobs["kind"][row]), "compaction")
        start, end = float(run.jobs["start_s"][row]), float(run.jobs["end_s"][row])
        running, idle = busy.setdefault(family, []), free.setdefault(family, [])
        while running and running[0][0] <= start:
            heapq.heappush(idle, heapq.heappop(running)[1])
        if family == "moves":  # moves take no time, so one lane is enough
            slot, slots[family] = 0, 1
        elif idle:
            slot = heapq.heappop(idle)
        else:
            slot, slots[family] = slots.get(family, 0), slots.get(family, 0) + 1
        if family != "moves":
            heapq.heappush(running, (end, slot))
        taken.append((row, family, slot))
    first: dict[str, int] = {}
    names: list[str] = []
    for family in ("flush", "compaction", "moves"):
        first[family] = len(names)
        several = slots.get(family, 0) > 1
        names += [f"{family} {slot + 1}" if several else family for slot in range(slots.get(family, 0))]
    return {row: first[family] + slot for row, family, slot in taken}, names


def _groups(run: RunData, rows: npt.NDArray[np.int64]) -> list[tuple[str, str, npt.NDArray[np.int64]]]:
    """Return (name, colour, rows) by kind and levels of the jobs, in the order of the legend."""
    if not len(rows):
        return []
    kinds, levels = run.jobs["kind"][rows], run.jobs["start_level"][rows].astype(int)
    groups = [("flush", CONSUMERS["flush"], rows[kinds == "flush"])]
    outputs = run.jobs["output_level"][rows].astype(int)
    for level in sorted(set(levels[kinds == "compaction"].tolist())):
        selected = (kinds == "compaction") & (levels == level)
        reached = sorted(set(outputs[selected].tolist()))
        label = (
            f"L{level}→L{reached[0]}"
            if len(reached) == 1
            else f"L{level}→deeper"
            if level not in reached
            else f"from L{level}"
        )
        groups.append((label, level_color(level), rows[selected]))
    groups.append(("trivial move", MOVE, rows[kinds == "trivial_move"]))
    groups.append(("drop", "#5B636B", rows[kinds == "drop"]))
    return [group for group in groups if len(group[2])]


def _bars(run: RunData, rows: npt.NDArray[np.int64], lanes: dict[int, int], label: str, color: str) -> Trace:
    starts, ends = run.jobs["start_s"][rows], run.jobs["end_s"][rows]
    return {
        "type": "bar", "orientation": "h", "name": label, "base": packed(starts, exact=True),
        "x": packed(ends - starts, exact=True), "y": [lanes[row] for row in rows.tolist()], "width": 0.78,
        "marker": {"color": color, "line": {"color": color, "width": 1}, **_hatching(run, rows)},
        "customdata": _details(run, rows),
        "hovertemplate": "<b>job %{customdata[0]}: %{customdata[1]}</b><br>%{customdata[2]}<br>ran %{customdata[4]} "
        "from %{customdata[3]} s<br>waited %{customdata[5]} for a slot, %{customdata[10]} for the device"
        "<br>read %{customdata[6]}, wrote %{customdata[7]}"
        "<br>%{customdata[8]}<extra></extra>",
    }  # fmt: skip


def _hatching(run: RunData, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return the pattern of the bars of jobs that ran at the end of the run; empty if all jobs had ended."""
    unfinished = run.jobs["unfinished"][rows]
    return {"pattern": {"shape": ["/" if u else "" for u in unfinished.tolist()], "size": 6}} if unfinished.any() else {}


def _details(run: RunData, rows: npt.NDArray[np.int64]) -> list[list[Any]]:
    """Return the values of each job for the tooltip of its bar and the table of the chain."""

    def column(name: str) -> list[Any]:
        values: Column | None = run.jobs.get(name)
        return [0] * len(rows) if values is None else values[rows].tolist()

    names = ("job", "kind", "start_level", "output_level", "start_s", "end_s", "read_bytes", "write_bytes",
             "reason", "input_files", "input_files_output_level", "output_files", "shard", "key", "unfinished")  # fmt: skip
    many = bool(run.jobs["shard"].any()) if "shard" in run.jobs else False
    waits = _waits(run, rows)
    details = []
    for (
        job, kind, low, high, start, end, read, wrote, reason, files, below, out, shard, key, unfinished, slot_s, device_s
    ) in zip(*map(column, names), *waits, strict=True):  # fmt: skip
        levels = f"memtable→L{int(high)}" if kind == "flush" else f"L{int(low)}→L{int(high)}"
        inputs = f"{int(files)} + {int(below)}" if below else f"{int(files)}"
        details.append([
            f"{int(shard)}.{int(job)}" if many else str(int(job)),
            f"{str(kind).replace('_', ' ')} {levels}", str(reason or ""), f"{start:,.2f}",
            numbers.seconds(end - start), slot_s, numbers.size(read),
            numbers.size(wrote), f"{inputs} in, still running at the end" if unfinished
            else f"{inputs} → {int(out)} files", int(key), device_s,
        ])  # fmt: skip
    return details


def _waits(run: RunData, rows: npt.NDArray[np.int64]) -> list[list[str]]:
    """Return the waits of each job for a slot and, per thread, for the device, as text."""
    if "device_s" not in run.jobs:
        return [["an unknown time"] * len(rows)] * 2
    slot_s, used_s, alone_s = (run.jobs[name][rows] for name in ("slot_wait_s", "device_s", "device_alone_s"))
    device_s = np.maximum(used_s - alone_s, 0.0) / np.maximum(run.jobs["subcompactions"][rows], 1)
    return [[numbers.seconds(s) if s >= _NO_WAIT_S else "0 s" for s in waits] for waits in (slot_s, device_s)]


_NO_WAIT_S = 1e-6


def _choice(run: RunData, row: int, window: tuple[float, float], rank: int) -> dict[str, Any]:
    start, end, cause = (
        float(run.stalls["start_s"][row]),
        float(run.stalls["end_s"][row]),
        str(run.stalls["cause"][row]),
    )
    chain, name = run.chain(row), stall_name(cause)
    in_chain = np.isin(run.jobs.get("key", np.empty(0)), chain)
    moved = float(run.jobs["read_bytes"][in_chain].sum() + run.jobs["write_bytes"][in_chain].sum())
    levels = " and ".join(f"L{level:.0f}" for level in np.unique(run.jobs["output_level"][in_chain]) if level >= 0)
    jobs = "no job" if not chain else "1 job" if len(chain) == 1 else f"{len(chain)} jobs"
    lost = f", {count(float(run.stalls['lost_ops'][row]))} operations lost" if "lost_ops" in run.stalls else ""
    return {
        "label": f"{rank}. {numbers.seconds(end - start)} from {start:,.1f} s: {name}{lost}, {jobs}",
        "text": f"{name[0].upper()}{name[1:]} for {numbers.seconds(end - start)}, from {start:,.2f} s to {end:,.2f} s{lost}. "
        + (_waited_for(run, row, jobs, levels, moved) if in_chain.any() else "It waited for no background job.")
        + wait_sentence(run, row),
        "start": start, "end": end, "color": stall_color(cause), "window": list(window), "jobs": chain,
    }  # fmt: skip


def _waited_for(run: RunData, row: int, jobs: str, levels: str, moved: float) -> str:
    if run.stalls["unfinished"][row]:
        return (
            f"The stall lasted until the end of the run. It waited for {jobs} into {levels}; the last one was "
            f"unfinished. Read and written by then: {numbers.size(moved)}."
        )
    return f"Before it could end, {jobs} into {levels} had to finish, reading and writing {numbers.size(moved)}."


def _selector(choices: list[dict[str, Any]]) -> str:
    if not choices:
        return ""
    options = "".join(f'<option value="{i}">{html.escape(c["label"])}</option>' for i, c in enumerate(choices))
    return (
        '<div class="selector"><label for="stall">Stall</label> <button id="previous" title="previous stall">◀</button>'
        f'<select id="stall"><option value="-1">whole run</option>{options}</select>'
        '<button id="next" title="next stall">▶</button></div>'
    )

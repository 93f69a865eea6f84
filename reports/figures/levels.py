"""Figures of the tree over time: L0 files and memtables with their triggers, level sizes with their targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.figures.bands import BANDS_AXIS, DATA_AXIS, bands_behind
from lsmlab.reports.figures.base import Figure, Mark, Trace, byte_unit, line, marks, time_axis
from lsmlab.reports.figures.over_time import mean_with_range
from lsmlab.reports.palette import BLOBS, DASHES, STALLS, TRIGGERS, level_color
from lsmlab.reports.run_data import RunData, number
from lsmlab.reports.timeline import Timeline

_SIZE = "level_bytes_"
"""Columns of the sizes of levels: this and the number of the level."""
_BLOBS = {"blob_bytes": "blob files", "blob_garbage_bytes": "garbage in blob files"}
"""Columns of stores with blob files, with the names of their lines."""
_L0_TRIGGERS = (
    ("compaction", "level0_file_num_compaction_trigger"),
    ("slowdown", "level0_slowdown_writes_trigger"),
    ("stop", "level0_stop_writes_trigger"),
)


def l0_and_memtables(run: RunData, timeline: Timeline) -> Figure:
    """Draw the number of L0 files with the three triggers, and the immutable memtables."""
    traces = bands_behind(run)
    files, waiting = run.column("l0_files"), run.column("immutables")
    if files.any() or waiting.any():
        for values, name, color, width in (
            (files, "files in level 0", level_color(0), 2.0),
            (waiting, "memtables waiting for flush", STALLS["memtable_stop"], 1.4),
        ):
            traces += mean_with_range(timeline, values, name, color, steps=True, width=width, hovertemplate="%{y:.3~g}")
    highest = float(np.nanmax(files, initial=0.0))
    shards = int(run.number("shards") or 1)
    triggers = [
        Mark(value, f"{name} trigger: {value:.0f}", TRIGGERS[name], "y2")
        for name, option in _L0_TRIGGERS
        if shards == 1
        and (value := run.option(option)) is not None
        and 0 < value < max(4 * highest, 24)  # a huge value disables a trigger
    ]
    top = 1.12 * max([highest, float(np.nanmax(waiting, initial=1.0)), *(t.y for t in triggers)])
    caption = "Files in level 0, and immutable memtables that wait for their flush."
    if len(triggers) == len(_L0_TRIGGERS):
        caption = (
            "At the lowest line the store starts to compact level 0, at the next line it slows writes, at the highest"
            " line it stops writes."
        )
    elif shards > 1:
        caption += f" Both are sums over {shards} shards; the triggers apply to each shard separately."
    return Figure(
        "l0-files", "Level 0 against its triggers", caption, traces,
        {"xaxis": time_axis(), "yaxis": BANDS_AXIS, **marks(triggers),
         "yaxis2": {**DATA_AXIS, "title": {"text": "number of files"}, "range": [0, top]}},
        timeline=True, empty="Level 0 stayed empty.", short="L0",
    )  # fmt: skip


def level_sizes(run: RunData, timeline: Timeline) -> Figure:
    """Draw the size of each level on a logarithmic scale, its target at the end of the run, and the compaction debt."""
    sizes = {level: timeline.mean(run.column(f"{_SIZE}{level}")) for level in _levels(run)}
    sizes = {level: y for level, y in sizes.items() if y.any()}
    blobs = {name: timeline.mean(run.column(column)) for column, name in _BLOBS.items() if column in run.series}
    unit_bytes, unit = byte_unit(max((float(np.nanmax(y)) for y in (*sizes.values(), *blobs.values())), default=0.0))
    traces = [
        line(timeline.end_s, np.where(y > 0, y, np.nan) / unit_bytes, f"L{level}", level_color(level), width=2.2,
             hovertemplate=f"%{{y:.3~g}} {unit}")
        for level, y in sizes.items()
    ]  # fmt: skip
    traces += [
        line(timeline.end_s, np.where(y > 0, y, np.nan) / unit_bytes, name, BLOBS, dash=dash, hovertemplate=f"%{{y:.3~g}} {unit}")
        for (name, y), dash in zip(blobs.items(), DASHES, strict=False)
    ]
    targets = _targets(run, list(sizes), unit_bytes)
    debt = _debt(run, timeline)
    caption = f"Size of each level{', of the blob files and of their garbage' if blobs else ''} on a logarithmic scale"
    caption += "; a dashed line is the target of the level at the end of the run." if targets else "."
    if debt:
        caption += " Below: pending compaction bytes, with the limits at which the store slows or stops writes."
    layout: dict[str, Any] = {
        "xaxis": time_axis(anchor="y2" if debt else "y"),
        "yaxis": {
            "type": "log",
            "dtick": 1,
            "title": {"text": f"level size ({unit})"},
            "domain": [0.42 if debt else 0, 1],
        },
        **marks(targets + (debt.limits if debt else []), logarithmic="y"),
    }
    if debt:
        layout["yaxis2"] = {"domain": [0, 0.3], "title": {"text": f"pending ({debt.unit})"}, "range": [0, debt.top]}
        traces.append(debt.trace)
    return Figure(
        "level-sizes", "Level sizes against their targets", caption, traces, layout,
        height_px=580 if debt else 400, timeline=True, empty="No level ever had a file.", short="Levels",
    )  # fmt: skip


def _levels(run: RunData) -> list[int]:
    return sorted(int(name.removeprefix(_SIZE)) for name in run.series if name.startswith(_SIZE))


def _targets(run: RunData, levels: list[int], unit_bytes: float) -> list[Mark]:
    """Return the target lines of `levels`; L0 has no target."""
    stated = {int(row["level"]): row for row in run.summary.get("levels") or [] if "level" in row}
    result = []
    for level in levels:
        target = number(stated.get(level), "target_bytes")
        if level > 0 and target and np.isfinite(target):
            result.append(Mark(target / unit_bytes, f"target of L{level}: {numbers.size(target)}", level_color(level)))
    return result


@dataclass(frozen=True)
class _Debt:
    """Lower panel of the figure: pending compaction bytes in `unit`."""

    trace: Trace
    limits: list[Mark]
    unit: str
    top: float


def _debt(run: RunData, timeline: Timeline) -> _Debt | None:
    values = run.column("pending_bytes")
    if not values.any():
        return None
    highest = float(np.nanmax(values))
    unit_bytes, unit = byte_unit(highest)
    limits = []
    for name, kind in (("soft", "slowdown"), ("hard", "stop")):
        limit = run.option(f"{name}_pending_compaction_bytes_limit")
        if limit and limit < 3 * highest:  # a much higher limit would flatten the line
            limits.append(Mark(limit / unit_bytes, f"{name} limit: {numbers.size(limit)}", TRIGGERS[kind], "y2"))
    trace = line(
        timeline.end_s, timeline.high(values) / unit_bytes, "pending compaction bytes", STALLS["pending_stop"],
        yaxis="y2",
        hovertemplate=f"%{{y:.3~g}} {unit}",
    )  # fmt: skip
    return _Debt(trace, limits, unit, 1.15 * max([highest / unit_bytes, *(m.y for m in limits)]))

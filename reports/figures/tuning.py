"""Figure of the options that a tuner changed over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from lsmlab.reports.figures.base import Figure, Trace, byte_unit, line, time_axis
from lsmlab.reports.palette import RUNS
from lsmlab.reports.run_data import RunData
from lsmlab.reports.timeline import Timeline

_PREFIX: Final = "option_"
_SIZES: Final = ("size", "bytes", "base")
"""Words in the names of those RocksDB options whose values are sizes in bytes."""


def tuned_options(run: RunData, timeline: Timeline) -> Figure | None:
    """Draw one figure with sizes above and counts below; return None if no option changed."""
    names = [name for name in run.series if name.startswith(_PREFIX)]
    if not names:
        return None
    sizes = [name for name in names if any(word in name.split("_") for word in _SIZES)]
    counts = [name for name in names if name not in sizes]
    unit_bytes, unit = byte_unit(max((float(np.nanmax(run.column(n))) for n in sizes), default=1.0))
    traces = _lines(run, timeline, sizes, unit_bytes, "y", 0) + _lines(run, timeline, counts, 1.0, "y2", len(sizes))
    layout: dict[str, Any] = {"xaxis": time_axis(anchor="y2" if counts else "y")}
    if sizes:
        layout["yaxis"] = {
            "type": "log", "title": {"text": f"size ({unit})"}, "domain": [0.45 if counts else 0, 1], "dtick": "D2",
        }  # fmt: skip
    if counts:
        layout["yaxis2"] = {"title": {"text": "number"}, "domain": [0, 0.35 if sizes else 1], "rangemode": "tozero"}
    caption = "Options that the tuner changed during the run, at the end of each second."
    return Figure(
        "tuned-options", "Options changed by the tuner", caption, traces, layout,
        height_px=520 if sizes and counts else 380, timeline=True, short="Tuning",
    )  # fmt: skip


def _lines(
    run: RunData, timeline: Timeline, names: Sequence[str], unit: float, axis: str, first: int
) -> list[Trace]:
    traces = []
    for number, name in enumerate(names, first):
        values = timeline.mean(run.column(name)) / unit
        traces.append(
            line(timeline.end_s, values, name.removeprefix(_PREFIX), RUNS[number % len(RUNS)], yaxis=axis,
                 hovertemplate="%{y:.3~g}")
        )  # fmt: skip
        if not timeline.grouped:
            traces[-1]["line"]["shape"] = "vh"
    return traces

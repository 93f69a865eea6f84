"""Figures of changes with their intervals: one row per alternative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from lsmlab.reports.figures.base import Figure, Trace, wrapped
from lsmlab.reports.palette import MOVE, RUNS
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.metrics import METRICS, Metric

_ROW_PX, _LINE_PX = 42, 17
_WIDEST: Final = 9.0
"""Largest relative change that an axis shows in full: ten times the present value."""


def change_figure(
    metric: Metric, rows: Sequence[tuple[str, Difference]], reference: str = "the present state"
) -> Figure:
    """Draw the change of one metric from `reference` to each alternative, (name, difference), with its 90 % interval.

    Filled dots: the interval leaves out 0. Hollow dots: the change is within the error.
    """
    traces: list[Trace] = []
    shown = [(wrapped(name), d) for name, d in rows if d.low is not None]
    for certain in (True, False):
        part = [(name, d) for name, d in shown if d.certain is certain]
        if part:
            traces.append(_dots(metric, part, certain=certain))
    points = metric.share
    unit = "points" if points else "%" if all(d.relative for _, d in shown) else "s"
    better = "right" if metric.higher_is_better else "left"
    caption = (
        f"Change of {metric.label} from {reference} with its 90 % interval; further {better} is better. A hollow dot: "
        "the interval contains 0, so the change is within the error."
    )
    if any(d.relative and max(d.change, d.high or 0.0) > _WIDEST for _, d in shown):
        caption += f" The axis ends at x{_WIDEST + 1:.0f}: larger changes stand there."
    layout = {
        "xaxis": {"title": {"text": f"change in {unit}"}, "zeroline": True, "zerolinewidth": 2},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True,
                  "categoryorder": "array", "categoryarray": [name for name, _ in shown]},
        "showlegend": False,
    }  # fmt: skip
    title = f"Change of {metric.label}"
    lines = sum(1 + name.count("<br>") for name, _ in shown)
    height = 120 + (_ROW_PX - _LINE_PX) * len(shown) + _LINE_PX * lines
    return Figure(f"change-{metric.name.replace('.', '-')}", title, caption, traces, layout, height_px=height)


def _dots(metric: Metric, part: Sequence[tuple[str, Difference]], *, certain: bool) -> Trace:
    scale = 100.0 if metric.share or part[0][1].relative else 1.0
    middle = [_bounded(d.change) * scale for _, d in part]
    high = [_bounded(d.high or 0.0) * scale - m for m, (_, d) in zip(middle, part, strict=True)]
    low = [m - _bounded(d.low or 0.0) * scale for m, (_, d) in zip(middle, part, strict=True)]
    color = RUNS[0] if certain else MOVE
    return {
        "type": "scatter", "mode": "markers", "name": "beyond the error" if certain else "within the error",
        "x": middle, "y": [name for name, _ in part],
        "error_x": {"type": "data", "symmetric": False, "array": high, "arrayminus": low, "color": color, "thickness": 2},
        "marker": {"size": 12, "color": color, "symbol": "circle" if certain else "circle-open", "line": {"width": 2}},
        "hovertemplate": "%{y}: %{x:+.1f}<extra></extra>",
    }  # fmt: skip


def _bounded(change: float) -> float:
    return max(-1.0, min(_WIDEST, change)) if math.isfinite(change) else _WIDEST


SHOWN: Final = tuple(
    m for m in METRICS if m.name in ("ops_per_s", "write_latency_s.p999", "stall_fraction", "write_amplification")
)
"""Metrics that get a figure."""

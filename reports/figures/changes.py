"""Figures of changes with their intervals: one row per alternative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure, Trace, number_range, without_shared, wrapped
from lsmlab.reports.palette import MOVE, RUNS
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.metrics import METRICS, Metric

_ROW_PX, _LINE_PX = 42, 17
_WIDEST: Final = 9.0
"""Relative change from which on an axis shows factors, on a logarithmic scale: ten times the present value."""
_SMALLEST: Final = 1e-3
"""Smallest factor on such an axis; a change to 0 stands there."""


def change_figure(
    metric: Metric, rows: Sequence[tuple[str, Difference]], reference: str = "the present state"
) -> Figure:
    """Draw the change of one metric from `reference` to each alternative, (name, difference), with its 90 % interval.

    Filled dots: the interval leaves out 0. Hollow dots: the change is within the error.
    """
    known = [(name, d) for name, d in rows if d.low is not None]
    shown = [(wrapped(name), d) for name, (_, d) in zip(without_shared([name for name, _ in known]), known, strict=True)]
    axis = _axis_of(metric, [d for _, d in shown])
    traces: list[Trace] = []
    for certain in (True, False):
        part = [(name, d) for name, d in shown if d.certain is certain]
        if part:
            traces.append(_dots(axis, part, certain=certain))
    better = "right" if metric.higher_is_better else "left"
    caption = (
        f"Change of {metric.label} from {reference} with its 90 % interval; further {better} is better. A hollow dot: "
        f"the interval contains {'1' if axis.factors else '0'}, so the change is within the error."
    )
    layout = {
        "xaxis": axis.layout,
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True,
                  "categoryorder": "array", "categoryarray": [name for name, _ in shown]},
        "showlegend": False,
    }  # fmt: skip
    title = f"Change of {metric.label}"
    lines = sum(1 + name.count("<br>") for name, _ in shown)
    height = 120 + (_ROW_PX - _LINE_PX) * len(shown) + _LINE_PX * lines
    return Figure(f"change-{metric.name.replace('.', '-')}", title, caption, traces, layout, height_px=height)


@dataclass(frozen=True)
class _ChangeAxis:
    """Axis of changes."""

    factors: bool
    """Whether it shows factors, on a logarithmic scale; otherwise `scale` times the change."""
    scale: float
    layout: dict[str, Any]

    def place(self, change: float) -> float:
        """Return the value of a change on the axis."""
        return max(_SMALLEST, 1.0 + change) if self.factors else self.scale * change


def _axis_of(metric: Metric, found: Sequence[Difference]) -> _ChangeAxis:
    relative = all(d.relative for d in found)
    factors = relative and not metric.share and any(max(d.change, d.high or 0.0) > _WIDEST for d in found)
    axis = _ChangeAxis(factors, 100.0 if metric.share or relative else 1.0, {})
    ends = [axis.place(end) for d in found for end in (d.low or 0.0, d.change, d.high or 0.0) if math.isfinite(end)]
    unit = "points" if metric.share else "%" if relative else "s"
    if factors:
        ends = [math.log10(end) for end in ends]
        form: dict[str, Any] = {"type": "log", "tickprefix": numbers.TIMES, "tickformat": ",~r", "dtick": 1}
    else:
        form = {"zeroline": True, "zerolinewidth": 2}
    title = "factor" if factors else f"change in {unit}"
    return replace(axis, layout={"title": {"text": title}, "range": number_range(ends, zero=True), **form})


def _dots(axis: _ChangeAxis, part: Sequence[tuple[str, Difference]], *, certain: bool) -> Trace:
    low = [axis.place(d.low or 0.0) for _, d in part]
    middle = [axis.place(d.change) for _, d in part]
    high = [axis.place(d.high or 0.0) for _, d in part]
    color = RUNS[0] if certain else MOVE
    return {
        "type": "scatter", "mode": "markers", "name": "beyond the error" if certain else "within the error",
        "x": middle, "y": [name for name, _ in part],
        "error_x": {
            "type": "data", "symmetric": False, "color": color, "thickness": 2,
            "array": [h - m for h, m in zip(high, middle, strict=True)],
            "arrayminus": [m - w for m, w in zip(middle, low, strict=True)],
        },
        "marker": {"size": 12, "color": color, "symbol": "circle" if certain else "circle-open", "line": {"width": 2}},
        "hovertemplate": f"%{{y}}: {f'{numbers.TIMES}%{{x:.3~g}}' if axis.factors else '%{x:+.1f}'}<extra></extra>",
    }  # fmt: skip


SHOWN: Final = tuple(
    m for m in METRICS if m.name in ("ops_per_s", "write_latency_s.p999", "stall_fraction", "write_amplification")
)
"""Metrics that get a figure."""

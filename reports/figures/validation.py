"""Figures of the validation page: real against simulated values, and throughput curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from lsmlab.reports.figures.base import Figure, Trace, line, scrolled
from lsmlab.validation.scorecard.card import SET_TITLES

REAL, SIMULATED = "#2B2B2B", "#0072B2"
_REAL_LINE: Final = "#E69F00"
SET_COLORS: Final = {
    "test": "#0072B2", "public": "#D55E00", "quarantine": "#009E73", "real_engines": "#CC79A7", "log_reruns": "#56B4E9",
    "log_what_ifs": "#E69F00", "calibration": "#8C959F", "wider": "#A6761D",
}  # fmt: skip
PANELS: Final = (
    ("ops_per_s", "operations / s", True), ("write_amplification", "W-Amp", True), ("stall_fraction", "stall fraction", False),
    ("device_bytes_written", "bytes to the device", True), ("pairs", "bytes per level pair", True),
    ("write_latency_s.p999", "write P99.9 (s)", True),
)  # fmt: skip
"""(metric, title, whether the axes are logarithmic) of each panel."""
_COLUMNS: Final = 3
_PANEL_PX: Final = 300
"""Least width of a panel."""


def scatter(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw simulated (y) against real values (x) of the main metrics, one point per value, with 90 % intervals."""
    traces: list[Trace] = []
    layout: dict[str, Any] = {"hovermode": "closest", "shapes": [], "annotations": []}
    in_legend: set[str] = set()
    panels = [p for p in PANELS if _of(rows, p[0])]
    lines = max(1, math.ceil(len(panels) / _COLUMNS))
    for number, (metric, title, logarithmic) in enumerate(panels):
        axis = "" if number == 0 else str(number + 1)
        panel_rows = _of(rows, metric)
        for set_name in SET_COLORS:
            points = [r for r in panel_rows if r["set"] == set_name]
            if points:
                traces.append(_points(points, set_name, axis, legend=set_name not in in_legend))
                in_legend.add(set_name)
        low, high = _span(panel_rows, logarithmic)
        traces.append({
            "type": "scatter", "mode": "lines", "x": [low, high], "y": [low, high], "xaxis": f"x{axis}", "yaxis": f"y{axis}",
            "line": {"color": "#8C959F", "width": 1}, "hoverinfo": "skip", "showlegend": False,
        })  # fmt: skip
        layout |= _axes(number, lines, axis, title, logarithmic)
    caption = (
        "Each point is one measured value: the x axis is the value of the real store, the y axis the simulated value "
        "with its 90 % interval. On the grey line, both are equal."
    )
    box = scrolled(_PANEL_PX * min(_COLUMNS, len(panels)))
    return Figure("scatter", "Real against simulated", caption, traces, layout, height_px=60 + 340 * lines, **box)


def _of(rows: Sequence[Mapping[str, Any]], metric: str) -> list[Mapping[str, Any]]:
    """Return the rows of a panel whose real and simulated values are numbers."""
    matching = [r for r in rows if r["metric"] == metric or (metric == "pairs" and _pair_bytes(r["metric"]))]
    return [r for r in matching if _number(r["real"]) and _number(r["simulated"]) and r["set"] in SET_COLORS]


def _pair_bytes(name: str) -> bool:
    return name.startswith("pairs.") and name.endswith(".bytes")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _points(points: Sequence[Mapping[str, Any]], set_name: str, axis: str, *, legend: bool) -> Trace:
    has_interval = [_number(p["low"]) and _number(p["high"]) for p in points]
    up = [max(0.0, p["high"] - p["simulated"]) if ok else 0.0 for p, ok in zip(points, has_interval, strict=True)]
    down = [max(0.0, p["simulated"] - p["low"]) if ok else 0.0 for p, ok in zip(points, has_interval, strict=True)]
    return {
        "type": "scatter", "mode": "markers", "x": [p["real"] for p in points], "y": [p["simulated"] for p in points],
        "xaxis": f"x{axis}", "yaxis": f"y{axis}", "name": SET_TITLES[set_name], "legendgroup": set_name, "showlegend": legend,
        "text": [f"{p['name']}, {p['metric']}" for p in points],
        "marker": {"color": SET_COLORS[set_name], "size": 8, "opacity": 0.85},
        "error_y": {"type": "data", "array": up, "arrayminus": down, "color": SET_COLORS[set_name], "thickness": 1, "width": 0},
        "hovertemplate": "%{text}<br>real %{x:.4s}, simulated %{y:.4s}<extra></extra>",
    }  # fmt: skip


def _span(rows: Sequence[Mapping[str, Any]], logarithmic: bool) -> tuple[float, float]:
    values = [float(v) for r in rows for v in (r["real"], r["simulated"]) if not logarithmic or v > 0]
    if not values:
        return 0.0, 1.0
    return (min(values) * 0.85, max(values) * 1.15) if logarithmic else (0.0, max(0.05, max(values) * 1.05))


def _axes(number: int, lines: int, axis: str, title: str, logarithmic: bool) -> dict[str, Any]:
    column, row = number % _COLUMNS, number // _COLUMNS
    gap_x, gap_y = 0.09, 0.2 / lines
    width, height = (1.0 - gap_x * (_COLUMNS - 1)) / _COLUMNS, (1.0 - gap_y * (lines - 1)) / lines
    left, top = column * (width + gap_x), 1.0 - row * (height + gap_y)
    kind: dict[str, Any] = {"type": "log", "nticks": 5} if logarithmic else {"rangemode": "tozero"}
    kind["exponentformat"] = "SI"
    across, up = ({"text": text, "standoff": 4} for text in (f"{title}, real", "simulated"))
    return {
        f"xaxis{axis}": {
            "domain": [left, left + width], "anchor": f"y{axis}", "title": across, **kind,
        },
        f"yaxis{axis}": {"domain": [top - height, top], "anchor": f"x{axis}", "title": up, **kind},
    }  # fmt: skip


def overlaid_curve(number: int, curve: Mapping[str, Any], caption: str) -> Figure:
    """Draw the real and simulated throughput of one case over time."""
    traces: list[Trace] = []
    for kind, color, width in (("simulated", SIMULATED, 1.4), ("real", _REAL_LINE, 2.0)):
        for i, values in enumerate(curve[kind]):
            step = curve["seconds"] / max(1, len(values)) if len(values) < curve["seconds"] else 1.0
            x = (np.arange(len(values)) + 0.5) * step
            style = {"legendgroup": kind, "showlegend": i == 0, "opacity": 0.9 if i == 0 else 0.45}
            traces.append(line(x, values, kind, color, width=width, hovertemplate="%{y:,.0f} /s", **style))
    layout = {
        "xaxis": {"title": {"text": "time (s)"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "operations / s"}, "rangemode": "tozero"},
    }
    empty = "This case has no per-second series."
    title = str(curve["name"])
    return Figure(
        f"curve-{number}", title, caption, traces if curve["real"] else [], layout, height_px=300, empty=empty
    )

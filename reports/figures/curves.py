"""Curves: numbers over the time of a run, each drawn for one run, or for several runs in common axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np
from lsmlab.reports.figures.bands import BANDS_AXIS, DATA_AXIS, bands_behind
from lsmlab.reports.figures.base import LATENCY_AXIS, Figure, Trace, byte_unit, line, time_axis
from lsmlab.reports.palette import DASHES, RUNS
from lsmlab.reports.run_data import Floats, RunData
from lsmlab.reports.timeline import Timeline

_POINTS: Final = 500
"""Points per line of several runs: single seconds would not be visible in overlaid lines."""
_LONG: Final = " In long runs, a point is the {form} of several seconds."


class CurveKind(Enum):
    """What the value of a second is, and how several seconds become one point."""

    RATE = "mean"
    """A mean over the second: the mean, drawn at the middle of the seconds."""
    WORST = "worst"
    """The worst of the second: the highest, drawn at the middle; 0 means that there is no value."""
    STATE = "highest"
    """The state at the end of the second: the highest, drawn at the end."""


@dataclass(frozen=True)
class Curve:
    """A number over the time of a run."""

    id: str
    """HTML id of its figures."""
    title: str
    caption: str
    values: str | Callable[[RunData], Floats]
    """Column of the series, or a function that returns the value of each second."""
    kind: CurveKind
    unit: str
    """s (drawn on a logarithmic axis), bytes, MB/s, share, or the noun of a count, such as files."""
    label: str = ""
    """Title of the axis, if it is not the unit."""
    short: str = ""
    """Name in the contents of a page, if it is not the title."""
    steps: bool = False
    """Whether a mean is drawn as a step over its second."""

    def of(self, run: RunData) -> Floats:
        """Return the value of each second."""
        values = run.column(self.values) if isinstance(self.values, str) else self.values(run)
        return np.where(values > 0, values, np.nan) if self.kind is CurveKind.WORST else values

    def points(self, run: RunData, timeline: Timeline) -> tuple[Floats, Floats]:
        """Return times and values of the points."""
        values = self.of(run)
        y = timeline.mean(values) if self.kind is CurveKind.RATE else timeline.high(values)
        return timeline.end_s if self.kind is CurveKind.STATE else timeline.middle_s, y

    def style(self, *, grouped: bool) -> dict[str, str]:
        """Return the shape of its lines; `grouped`: whether a point stands for several seconds."""
        if self.kind is CurveKind.STATE and not grouped:
            return {"shape": "hv"}
        return {"shape": "hvh"} if self.steps else {}


def drawn(curve: Curve, run: RunData, timeline: Timeline) -> Figure:
    """Draw a curve of one run in front of the bands of its stalls."""
    x, y = curve.points(run, timeline)
    scale, axis, hover = _axis(curve, y)
    trace = line(x, y / scale, curve.title, RUNS[0], yaxis="y2", hovertemplate=hover)
    trace["line"] |= curve.style(grouped=timeline.grouped)
    layout = {"xaxis": time_axis(), "yaxis": BANDS_AXIS, "yaxis2": {**DATA_AXIS, **axis}}
    return _figure(curve, [*bands_behind(run), trace] if np.isfinite(y).any() else [], layout, grouped=timeline.grouped)


def overlaid(curve: Curve, runs: Sequence[RunData], names: Sequence[str]) -> Figure:
    """Draw a curve with a line per run."""
    timelines = [Timeline.of(run.times_s, _POINTS) for run in runs]
    points = [curve.points(run, timeline) for run, timeline in zip(runs, timelines, strict=True)]
    scale, axis, hover = _axis(curve, np.concatenate([y for _, y in points]))
    parts = zip(points, names, strict=True)
    traces = [_line(x, y / scale, name, i, hover) for i, ((x, y), name) in enumerate(parts) if np.isfinite(y).any()]
    for trace in traces:
        trace["line"] |= curve.style(grouped=any(timeline.grouped for timeline in timelines))
    return _of_several(curve, traces, axis, runs)


def operations(run: RunData) -> Floats:
    """Return reads and writes per second."""
    return run.rate("write_ops") + run.rate("read_ops")


def _served(run: RunData) -> Floats:
    """Return the reads and writes of each row, of which the last may be shorter than a second."""
    served: Floats = run.column("write_ops") + run.column("read_ops")
    return served


def throughput_differences(runs: Sequence[RunData], names: Sequence[str]) -> Figure | None:
    """Draw how many operations per second each run does more or less than the first one, over their common time."""
    caption = f"Operations per second more (above 0) or fewer than {names[0]}."
    curve = Curve("throughput-difference", "Difference of throughput", caption, operations, CurveKind.RATE, "operations / s")
    return _differences(curve, runs, names, lambda difference, timeline, _last: timeline.mean(difference))


def operations_ahead(runs: Sequence[RunData], names: Sequence[str]) -> Figure | None:
    """Draw how many operations each run is ahead of the first one since the start, over their common time."""
    caption = f"Operations since the start that a run has done more (above 0) or fewer than {names[0]}."
    curve = Curve("operations-ahead", "Operations ahead", caption, _served, CurveKind.STATE, "operations")
    return _differences(curve, runs, names, lambda difference, _timeline, last: np.cumsum(difference)[last])


def _differences(
    curve: Curve, runs: Sequence[RunData], names: Sequence[str], form: Callable[[Floats, Timeline, Any], Floats]
) -> Figure | None:
    if len(runs) < 2:
        return None
    first = curve.of(runs[0])
    traces = []
    for number, (run, name) in enumerate(zip(runs[1:], names[1:], strict=True), 1):
        common = min(len(first), len(run.times_s))
        timeline = Timeline.of(run.times_s[:common], _POINTS)
        last = np.append(timeline.starts[1:], common) - 1
        y = form(curve.of(run)[:common] - first[:common], timeline, last)
        x = timeline.end_s if curve.kind is CurveKind.STATE else timeline.middle_s
        traces.append(_line(x, y, name, number, "%{y:+,.0f}"))
    axis = {"title": {"text": curve.unit}, "zeroline": True, "zerolinewidth": 2, "tickformat": "~s"}
    return _of_several(curve, traces, axis, runs)


def _axis(curve: Curve, values: Floats) -> tuple[float, dict[str, Any], str]:
    """Return the unit of the axis in units of the values, the axis, and the form of a value in Plotly's template."""
    label = curve.label or curve.unit
    if curve.unit == "s":
        return 1.0, LATENCY_AXIS, "%{y:.3s}s"
    if curve.unit == "share":
        return 1.0, {"title": {"text": label}, "tickformat": ".0%", "range": [0, 1.03]}, "%{y:.0%}"
    if curve.unit == "bytes":
        size, unit = byte_unit(float(np.nanmax(values, initial=0.0)))
        return size, {"title": {"text": unit}, "rangemode": "tozero"}, f"%{{y:,.1f}} {unit}"
    return 1.0, {"title": {"text": label}, "rangemode": "tozero"}, f"%{{y:,.0f}} {curve.unit}"


def _line(x: Floats, y: Floats, name: str, number: int, hover: str) -> Trace:
    color, dash = RUNS[number % len(RUNS)], DASHES[number % len(DASHES)]
    return line(x, y, name, color, dash=dash, hovertemplate=hover)


def _of_several(curve: Curve, traces: list[Trace], axis: dict[str, Any], runs: Sequence[RunData]) -> Figure:
    end_s = max(float(run.times_s[-1]) for run in runs)
    grouped = max(len(run.times_s) for run in runs) > _POINTS and curve.kind is not CurveKind.STATE
    return _figure(curve, traces, {"xaxis": time_axis(end_s), "yaxis": axis}, grouped=grouped)


def _figure(curve: Curve, traces: list[Trace], layout: dict[str, Any], *, grouped: bool) -> Figure:
    caption = curve.caption + (_LONG.format(form=curve.kind.value) if grouped else "")
    return Figure(curve.id, curve.title, caption, traces, layout, height_px=330, timeline=True, short=curve.short)

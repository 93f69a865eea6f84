"""Curves of several runs on one time axis, and the differences of their curves from those of the first run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.reports.figures.base import Figure, Trace, byte_unit, line, time_axis
from lsmlab.reports.figures.throughput import LATENCY_AXIS
from lsmlab.reports.palette import DASHES, RUNS, STALLS
from lsmlab.reports.run_data import Floats, RunData
from lsmlab.reports.timeline import Timeline

_POINTS: Final = 500
"""Points per line: single seconds would not be visible in overlaid lines."""
_LONG: Final = " In long runs, a point is the {form} of several seconds."


@dataclass(frozen=True)
class Panel:
    """A curve that each run has."""

    id: str
    title: str
    caption: str
    values: Callable[[RunData], Floats]
    """Returns the value of each second."""
    axis: dict[str, Any]
    hover: str
    """Form of a value in Plotly's template."""
    worst: bool = False
    """Whether a point of a long run is the highest of its seconds, not their mean."""
    states: bool = False
    """Whether values hold at the end of their second, not over it."""
    gaps: bool = False
    """Whether 0 means that there is no value."""


def operations(run: RunData) -> Floats:
    """Return reads and writes per second."""
    return run.rate("write_ops") + run.rate("read_ops")


def _p99(run: RunData) -> Floats:
    return run.column("write_p99_s" if run.column("write_p99_s").any() else "read_p99_s")


def _stalled(run: RunData) -> Floats:
    waited: Floats = np.minimum(np.sum([run.column(f"stall_{cause}_s") for cause in STALLS], axis=0), 1.0)
    return waited


def _device(run: RunData) -> Floats:
    columns = [values for name, values in run.series.items() if name.startswith(("read_bytes_", "write_bytes_"))]
    total: Floats = np.sum(columns, axis=0) / 1e6 if columns else np.zeros(len(run.times_s))
    return total


THROUGHPUT: Final = Panel(
    "throughput", "Throughput", "Operations per second, reads and writes together.", operations,
    {"title": {"text": "operations / s"}, "rangemode": "tozero"}, "%{y:,.0f} /s",
)  # fmt: skip
LATENCY: Final = Panel(
    "latency-over-time", "P99 latency per second", "P99 of the writes in each second (of the reads in a run without writes).",
    _p99, LATENCY_AXIS, "%{y:.3s}s", worst=True, gaps=True,
)  # fmt: skip
STALLED: Final = Panel(
    "stalled", "Time in write stalls", "Share of each second in which writers were slowed or stopped.", _stalled,
    {"title": {"text": "stalled share"}, "tickformat": ".0%", "range": [0, 1.03]}, "%{y:.0%}",
)  # fmt: skip
L0_FILES: Final = Panel(
    "l0-files", "Files in L0", "L0 files at the end of each second.", lambda run: run.column("l0_files"),
    {"title": {"text": "L0 files"}, "rangemode": "tozero"}, "%{y:.0f}", worst=True, states=True,
)  # fmt: skip
DEVICE: Final = Panel(
    "device", "Device bandwidth", "Bytes per second that clients, flushes and compactions read and write.", _device,
    {"title": {"text": "MB / s"}, "rangemode": "tozero"}, "%{y:,.0f} MB/s",
)  # fmt: skip
PANELS: Final = (THROUGHPUT, LATENCY, STALLED, L0_FILES, DEVICE)
"""Panels of a comparison, from top to bottom, besides the difference curves."""


def overlaid(panel: Panel, runs: Sequence[RunData], names: Sequence[str]) -> Figure:
    """Draw a panel with a line per run."""
    traces: list[Trace] = []
    for number, (run, name) in enumerate(zip(runs, names, strict=True)):
        timeline = Timeline.of(run.times_s, _POINTS)
        values = panel.values(run)
        values = np.where(values > 0, values, np.nan) if panel.gaps else values
        y = timeline.high(values) if panel.worst else timeline.mean(values)
        if np.isfinite(y).any():
            x = timeline.end_s if panel.states else timeline.middle_s
            traces.append(_line(x, y, name, number, panel.hover))
    return _figure(panel, traces, runs)


def pending_bytes(runs: Sequence[RunData], names: Sequence[str]) -> Figure:
    """Draw the estimated pending compaction bytes of all runs, in a unit that fits the largest."""
    largest = max(float(run.column("pending_bytes").max(initial=0.0)) for run in runs)
    size, unit = byte_unit(largest)
    panel = Panel(
        "pending", "Pending compaction bytes", "RocksDB's estimate of the bytes that compactions must rewrite.",
        lambda run: run.column("pending_bytes") / size, {"title": {"text": unit}, "rangemode": "tozero"},
        f"%{{y:,.1f}} {unit}", worst=True, states=True,
    )  # fmt: skip
    return overlaid(panel, runs, names)


def throughput_differences(runs: Sequence[RunData], names: Sequence[str]) -> Figure:
    """Draw how many operations per second each run does more or less than the first one, over their common time."""
    return _differences(
        runs, names, "throughput-difference", "Difference of throughput",
        f"Operations per second more (above 0) or fewer than {names[0]}.", "operations / s", lambda values: values,
    )  # fmt: skip


def operations_ahead(runs: Sequence[RunData], names: Sequence[str]) -> Figure:
    """Draw how many operations each run is ahead of the first one since the start, over their common time."""
    return _differences(
        runs, names, "operations-ahead", "Operations ahead",
        f"Operations since the start that a run has done more (above 0) or fewer than {names[0]}.", "operations",
        lambda values: np.cumsum(np.nan_to_num(values)), states=True,
    )  # fmt: skip


def _differences(
    runs: Sequence[RunData], names: Sequence[str], figure_id: str, title: str, caption: str, unit: str,
    form: Callable[[Floats], Floats], *, states: bool = False,
) -> Figure:  # fmt: skip
    first = operations(runs[0])
    traces = []
    for number, (run, name) in enumerate(zip(runs[1:], names[1:], strict=True), 1):
        common = min(len(first), len(run.times_s))
        timeline = Timeline.of(run.times_s[:common], _POINTS)
        difference = form(operations(run)[:common] - first[:common])
        last = np.append(timeline.starts[1:], common) - 1
        y = difference[last] if states else timeline.mean(difference)
        traces.append(_line(timeline.end_s if states else timeline.middle_s, y, name, number, "%{y:+,.0f}"))
    axis = {"title": {"text": unit}, "zeroline": True, "zerolinewidth": 2, "tickformat": "~s"}
    panel = Panel(figure_id, title, caption, operations, axis, "", states=states)
    return _figure(panel, traces, runs)


def _line(x: Floats, y: Floats, name: str, number: int, hover: str) -> Trace:
    color, dash = RUNS[number % len(RUNS)], DASHES[number % len(DASHES)]
    return line(x, y, name, color, dash=dash, hovertemplate=hover)


def _figure(panel: Panel, traces: list[Trace], runs: Sequence[RunData]) -> Figure:
    end_s = max(float(run.times_s[-1]) for run in runs)
    grouped = max(len(run.times_s) for run in runs) > _POINTS and not panel.states
    caption = panel.caption + (_LONG.format(form="worst" if panel.worst else "mean") if grouped else "")
    layout = {"xaxis": time_axis(end_s), "yaxis": panel.axis}
    return Figure(panel.id, panel.title, caption, traces, layout, height_px=330, timeline=True)

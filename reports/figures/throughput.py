"""Figures of throughput and tail latency over time, with bands for write stalls."""

from __future__ import annotations

import numpy as np
from lsmlab.reports.figures.bands import BANDS_AXIS, DATA_AXIS, bands_behind, condition_marks, exact_bands, stall_bands
from lsmlab.reports.figures.base import Figure, Trace, envelope, line, time_axis
from lsmlab.reports.palette import READ, WRITE
from lsmlab.reports.run_data import RunData
from lsmlab.reports.timeline import Timeline


def throughput(run: RunData, timeline: Timeline) -> Figure:
    """Draw the writes and reads per second, with a band for each write stall in the colour of its cause."""
    traces = stall_bands(run)
    caption = "The run has no write stalls."
    if traces:
        caption = "A coloured band marks a write stall (slowdown or stop); its colour gives the cause. "
        caption += "Point at it to see the job that it waited for."
    for op, color in (("write", WRITE), ("read", READ)):
        values = run.rate(f"{op}_ops")
        if np.nan_to_num(values).any():
            traces += _with_envelope(timeline, values, f"{op}s", color)
    traces += condition_marks(run)
    if not exact_bands(run):
        caption += " Because there are many stalls, the height of a band is the stalled share of its interval."
    if timeline.grouped:
        caption += (
            f" A point is the mean of {timeline.rows_per_point} s; the pale area spans the lowest and highest second."
        )
    return Figure(
        "throughput", "Throughput and write stalls", caption, traces,
        {"xaxis": time_axis(), "yaxis": BANDS_AXIS,
         "yaxis2": {**DATA_AXIS, "title": {"text": "operations / s"}, "rangemode": "tozero"}},
        height_px=400, timeline=True, short="Throughput",
    )  # fmt: skip


def tail_over_time(run: RunData, timeline: Timeline) -> Figure:
    """Draw the P99, median and maximum of the writes of each second, and the P99 and median of the reads."""
    traces = [*bands_behind(run), *condition_marks(run, legend=False)]
    lines = (
        ("write_max_s", "slowest write", WRITE, {"dash": "dot", "width": 1.2}),
        ("write_p99_s", "write P99", WRITE, {"width": 2.4}),
        ("write_p50_s", "write median", WRITE, {"dash": "dash", "width": 1.2}),
        ("read_p99_s", "read P99", READ, {"width": 2.4}),
        ("read_p50_s", "read median", READ, {"dash": "dash", "width": 1.2}),
    )
    for column, name, color, style in lines:
        values = run.column(column)
        values = np.where(values > 0, values, np.nan)  # a second without operations has no percentile
        if np.isfinite(values).any():
            y = timeline.high(values)
            traces.append(line(timeline.middle_s, y, name, color, yaxis="y2", hovertemplate="%{y:.3s}s", **style))
    caption = "Latency in each second on a logarithmic scale: each labelled line is ten times the line below."
    if timeline.grouped:
        caption += f" A point is the worst of {timeline.rows_per_point} seconds."
    return Figure(
        "latency-over-time", "P99 latency per second", caption, traces,
        {"xaxis": time_axis(float(timeline.end_s[-1])), "yaxis": BANDS_AXIS, "yaxis2": {**DATA_AXIS, **LATENCY_AXIS}},
        timeline=True, short="P99",
    )  # fmt: skip


LATENCY_AXIS = {
    "type": "log",
    "tickmode": "array",
    "title": {"text": "latency"},
    "tickvals": [10.0**e for e in range(-7, 5)],
    "ticktext": ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s",
                 "10 s", "100 s", "1,000 s", "10,000 s"],
}  # fmt: skip
"""Logarithmic axis of seconds, labelled at powers of ten."""


def _with_envelope(timeline: Timeline, values: np.ndarray, name: str, color: str) -> list[Trace]:
    mean = line(timeline.middle_s, timeline.mean(values), name, color, yaxis="y2", hovertemplate="%{y:,.0f} /s")
    if not timeline.grouped:
        return [mean]
    low, high = timeline.low(values), timeline.high(values)
    return [*envelope(timeline.middle_s, low, high, name, color, yaxis="y2", showlegend=False), mean]

"""Figures of one run over time: throughput and tail latency, the queue, device bandwidth, and options that a tuner changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.figures.bands import BANDS_AXIS, DATA_AXIS, bands_behind, condition_marks, exact_bands, stall_bands
from lsmlab.reports.figures.base import (
    LATENCY_AXIS,
    Figure,
    Mark,
    Trace,
    byte_unit,
    envelope,
    line,
    marks,
    packed,
    time_axis,
)
from lsmlab.reports.palette import CONSUMER_NAMES, CONSUMERS, READ, RUNS, STALLS, TRIGGERS, WRITE, translucent
from lsmlab.reports.run_data import Floats, RunData
from lsmlab.reports.timeline import Timeline

_CAPTION = (
    "Operations that have arrived and wait, at the end of each second. The dotted line is the share of each second in which "
    "stalls held writers back, from 0 at the bottom to 100 % at the top."
)
_PREFIX: Final = "option_"
_SIZES: Final = ("size", "bytes", "base")
"""Words in the names of those RocksDB options whose values are sizes in bytes."""


def throughput(run: RunData, timeline: Timeline) -> Figure:
    """Draw the writes and reads per second, with a band for each write stall in the colour of its cause."""
    traces = stall_bands(run)
    caption = "The input does not show when writers were stalled." if run.stall_times_unknown else "The run has no write stalls."
    if traces:
        caption = "A coloured band marks a write stall (slowdown or stop); its colour gives the cause. "
        caption += "Point at it to see the job that it waited for."
    for op, color in (("write", WRITE), ("read", READ)):
        values = run.rate(f"{op}_ops")
        if np.nan_to_num(values).any():
            traces += mean_with_range(timeline, values, f"{op}s", color, hovertemplate="%{y:,.0f} /s")
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


def mean_with_range(
    timeline: Timeline, values: Floats, name: str, color: str, *, steps: bool = False, **style: Any
) -> list[Trace]:
    """Return the line of the means, in front of the lowest to highest rows where a point stands for several.

    `steps`: the values are states at the end of each second.
    """
    x = timeline.end_s if steps and not timeline.grouped else timeline.middle_s
    mean = line(x, timeline.mean(values), name, color, yaxis="y2", **style)
    if timeline.grouped:
        low, high = timeline.low(values), timeline.high(values)
        return [envelope(timeline.middle_s, low, high, name, color, yaxis="y2", showlegend=False), mean]
    if steps:
        mean["line"]["shape"] = "hv"
    return [mean]


def blocked_writes(run: RunData, timeline: Timeline) -> Figure:
    """Draw the queue of operations at the end of each second, and the seconds that writers waited per second."""
    queue, name = _queue(run)
    waited = stalled_share(run)
    traces = []
    if queue.any():
        traces.append(line(timeline.end_s, timeline.high(queue), name, READ, yaxis="y2", width=2.0,
                           hovertemplate="%{y:.3s} operations"))  # fmt: skip
    if np.nan_to_num(waited).any():
        traces.append(line(timeline.middle_s, timeline.mean(waited), "share of time in stalls", STALLS["memtable_stop"],
                           yaxis="y3", width=1.2, dash="dot", hovertemplate="%{y:.0%}"))  # fmt: skip
    caption = _CAPTION if "backlog_ops" in run.series and run.column("backlog_ops").any() else _method(run)
    layout = {
        "xaxis": time_axis(), "yaxis": BANDS_AXIS,
        "yaxis2": {**DATA_AXIS, "title": {"text": "operations waiting"}, "rangemode": "tozero", "tickformat": "~s"},
        "yaxis3": {"overlaying": "y", "side": "right", "range": [0, 1], "visible": False, "fixedrange": True},
    }  # fmt: skip
    return Figure(
        "queue", "Queue of blocked operations", caption, [*bands_behind(run), *traces] if traces else [], layout,
        height_px=340, timeline=True, empty="No operation had to wait for a stall.", short="Queue",
    )  # fmt: skip


def stalled_share(run: RunData) -> Floats:
    """Return the share of each second in which stalls held writers back."""
    waited: Floats = np.minimum(np.sum([run.rate(f"stall_{cause}_s") for cause in STALLS], axis=0), 1.0)
    return waited


def _method(run: RunData) -> str:
    rate = numbers.per_second(_mean_rate(run))
    return (
        "These clients are a closed loop: each waits for its own operation, so the queue is never longer than their number. The "
        f"line shows the queue of clients that do not wait: {rate} arrive evenly, the run's mean rate, and the store serves what "
        "it served in each second. The dotted line is the share of each second in which stalls held writers back."
    )


def _mean_rate(run: RunData) -> float:
    served = run.column("write_ops") + run.column("read_ops")
    return float(served.sum()) / run.duration_s if run.duration_s else 0.0


def _queue(run: RunData) -> tuple[Floats, str]:
    """Return the operations that wait at the end of each second, and the name of the line."""
    backlog = run.column("backlog_ops")
    if backlog.any():
        return backlog, "operations waiting"
    if not run.stall_seconds():
        return np.zeros(len(run.times_s)), ""
    return open_loop_queue(run.times_s, run.column("write_ops") + run.column("read_ops"), run.duration_s), "open loop, same rate"


def open_loop_queue(end_s: Floats, served: Floats, length_s: float) -> Floats:
    """Return the queue of operations that arrive evenly at the mean rate of a run, at the end of each second.

    `served`: operations in each second. A fluid queue: the same method as `open_loop_latency_s` of summary.json, with the
    seconds of the series as steps.
    """
    if not len(end_s) or length_s <= 0:
        return np.zeros(len(end_s))
    arrived = served.sum() / length_s * np.minimum(end_s, length_s)
    ahead = arrived - np.cumsum(served)
    queue: Floats = ahead - np.minimum.accumulate(np.minimum(ahead, 0.0))
    return queue


def device_bandwidth(run: RunData, timeline: Timeline) -> Figure:
    """Draw stacked areas of bytes per second by consumer, as steps: each is the mean of its second."""
    writes, reads = _stack(run, timeline, "write", "y"), _stack(run, timeline, "read", "y2")
    caption = "Bytes per second that each consumer wrote and read, stacked: the top edge is the total of the device."
    if timeline.grouped:
        caption += f" A point is the mean of {timeline.rows_per_point} s."
    limits = []
    for kind, axis in (("write", "y"), ("read", "y2")):
        limit = run.number(f"device.{kind}_bandwidth_bytes_per_s")
        peak = _peak(run, kind)
        if limit and peak and limit < 3 * peak:  # a much higher limit would flatten the data
            limits.append(Mark(limit, f"{kind} limit: {numbers.rate(limit)}", TRIGGERS["stop"], axis))
    layout: dict[str, Any] = {"xaxis": time_axis(anchor="y2" if reads else "y"), **marks(limits)}
    rate = {"tickformat": ".3~s", "ticksuffix": "B/s", "rangemode": "tozero"}
    domains = ([0.54, 1], [0, 0.46]) if writes and reads else ([0, 1], [0, 1])
    for traces, axis, title, domain in (
        (writes, "yaxis", "writes", domains[0]),
        (reads, "yaxis2", "reads", domains[1]),
    ):
        layout[axis] = {**rate, "domain": domain, "title": {"text": title}, "visible": bool(traces)}
    return Figure(
        "device-bandwidth", "Device bandwidth by consumer", caption, writes + reads, layout,
        height_px=520 if writes and reads else 340, timeline=True, empty="The device was not used.", short="Device",
    )  # fmt: skip


def _peak(run: RunData, kind: str) -> float:
    total = np.sum([run.column(f"{kind}_bytes_{c}_per_s") for c in CONSUMERS], axis=0)
    return float(total.max(initial=0.0))


def _stack(run: RunData, timeline: Timeline, kind: str, axis: str) -> list[Trace]:
    traces = []
    for consumer, color in CONSUMERS.items():
        values = run.rate(f"{kind}_bytes_{consumer}_per_s")
        if not np.nan_to_num(values).any():
            continue
        x, y = _steps(timeline, timeline.mean(values))
        traces.append({
            "type": "scatter", "mode": "lines", "x": packed(x, exact=True), "y": packed(y), "yaxis": axis,
            "stackgroup": kind, "name": CONSUMER_NAMES[consumer],
            "line": {"width": 0.8, "color": color, "shape": "hv"}, "fillcolor": translucent(color, 0.75), "legendgroup": consumer,
            "showlegend": kind == "write" or not run.column(f"write_bytes_{consumer}_per_s").any(),
            "hovertemplate": "%{y:.3s}B/s",
        })  # fmt: skip
    return traces


def _steps(timeline: Timeline, values: Floats) -> tuple[Floats, Floats]:
    """Return where each known value begins, and the values; the last one again at its end. Plotly stacks an unknown one as 0."""
    known = np.flatnonzero(np.isfinite(values))
    last = known[-1]
    return np.append(timeline.start_s[known], timeline.end_s[last]), np.append(values[known], values[last])


def tuned_options(run: RunData, timeline: Timeline) -> Figure | None:
    """Draw one figure with sizes above and counts below; return None if no option changed."""
    names = [name for name in run.series if name.startswith(_PREFIX)]
    if not names:
        return None
    sizes = [name for name in names if any(word in name.split("_") for word in _SIZES)]
    counts = [name for name in names if name not in sizes]
    unit_bytes, unit = byte_unit(max((float(np.nanmax(run.column(n))) for n in sizes), default=1.0))
    traces = _option_lines(run, timeline, sizes, unit_bytes, "y", 0) + _option_lines(run, timeline, counts, 1.0, "y2", len(sizes))
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


def _option_lines(
    run: RunData, timeline: Timeline, names: Sequence[str], unit: float, axis: str, first: int
) -> list[Trace]:
    traces = []
    for place, name in enumerate(names, first):
        values = timeline.mean(run.column(name)) / unit
        traces.append(
            line(timeline.end_s, values, name.removeprefix(_PREFIX), RUNS[place % len(RUNS)], yaxis=axis,
                 hovertemplate="%{y:.3~g}")
        )  # fmt: skip
        if not timeline.grouped:
            traces[-1]["line"]["shape"] = "vh"
    return traces

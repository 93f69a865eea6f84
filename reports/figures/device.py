"""Figure of the device bandwidth by consumer, writes above and reads below."""

from __future__ import annotations

from typing import Any

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure, Mark, Trace, marks, packed, time_axis
from lsmlab.reports.headline import number
from lsmlab.reports.palette import CONSUMER_NAMES, CONSUMERS, TRIGGERS, translucent
from lsmlab.reports.run_data import RunData
from lsmlab.reports.timeline import Timeline


def device_bandwidth(run: RunData, timeline: Timeline) -> Figure:
    """Draw stacked areas of bytes per second by consumer."""
    writes, reads = _stack(run, timeline, "write", "y"), _stack(run, timeline, "read", "y2")
    caption = "Bytes per second that each consumer wrote and read, stacked: the top edge is the total of the device."
    if timeline.grouped:
        caption += f" A point is the mean of {timeline.rows_per_point} s."
    device = run.summary.get("device")
    limits = []
    for kind, axis in (("write", "y"), ("read", "y2")):
        limit = number(device, f"{kind}_bandwidth_bytes_per_s")
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
        values = np.nan_to_num(run.rate(f"{kind}_bytes_{consumer}_per_s"))
        if not values.any():
            continue
        traces.append({
            "type": "scatter", "mode": "lines", "x": packed(timeline.middle_s, exact=True),
            "y": packed(timeline.mean(values)), "yaxis": axis, "stackgroup": kind, "name": CONSUMER_NAMES[consumer],
            "line": {"width": 0.8, "color": color}, "fillcolor": translucent(color, 0.75), "legendgroup": consumer,
            "showlegend": kind == "write" or not run.column(f"write_bytes_{consumer}_per_s").any(),
            "hovertemplate": "%{y:.3s}B/s",
        })  # fmt: skip
    return traces

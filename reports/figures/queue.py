"""Figure of the operations that wait: those of an open loop, or those that an open loop at a closed loop's rate would have."""

from __future__ import annotations

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.figures.bands import BANDS_AXIS, DATA_AXIS, bands_behind
from lsmlab.reports.figures.base import Figure, line, time_axis
from lsmlab.reports.palette import READ, STALLS
from lsmlab.reports.run_data import Floats, RunData
from lsmlab.reports.timeline import Timeline


def blocked_writes(run: RunData, timeline: Timeline) -> Figure:
    """Draw the queue of operations at the end of each second, and the seconds that writers waited per second."""
    queue, name = _queue(run)
    waited = stalled_share(run)
    traces = []
    if queue.any():
        traces.append(line(timeline.end_s, timeline.high(queue), name, READ, yaxis="y2", width=2.0,
                           hovertemplate="%{y:.3s} operations"))  # fmt: skip
    if waited.any():
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


_CAPTION = (
    "Operations that have arrived and wait, at the end of each second. The dotted line is the share of each second in which "
    "stalls held writers back, from 0 at the bottom to 100 % at the top."
)


def stalled_share(run: RunData) -> Floats:
    """Return the share of each second in which stalls held writers back."""
    waited: Floats = np.minimum(np.sum([run.column(f"stall_{cause}_s") for cause in STALLS], axis=0), 1.0)
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

"""Figures that compare several runs over their whole time; over_time has those on the time axis."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.reports.figures.amplification import WAL, written_per_user_byte
from lsmlab.reports.figures.base import LATENCY_AXIS, Figure, Trace, line
from lsmlab.reports.figures.latency import PERCENTILE_AXIS, percentile_curve
from lsmlab.reports.palette import RUNS, STALLS, stall_color, stall_name
from lsmlab.reports.run_data import RunData


def overlaid_latency(runs: Sequence[RunData], names: Sequence[str]) -> Figure:
    """Draw the latency distributions of all runs, writes as solid, reads as dashed and scans as dotted lines."""
    traces = []
    for run, name, color in zip(runs, names, RUNS, strict=False):
        for op, dash in (("write", None), ("read", "dash"), ("scan", "dot")):
            curve = percentile_curve(run, op)
            if curve is not None:
                label = name if op == "write" else f"{name}, {op}s"
                traces.append(
                    line(
                        *curve,
                        label,
                        color,
                        dash=dash,
                        width=2.2,
                        hovertemplate="%{y:.3s}s<extra>%{fullData.name}</extra>",
                    )
                )
    caption = "With each labelled step to the right, operations are ten times as rare: the tail is on the right."
    layout = {"xaxis": PERCENTILE_AXIS, "yaxis": LATENCY_AXIS, "hovermode": "closest"}
    return Figure("latency-distribution", "Latency distribution to P99.99", caption, traces, layout, height_px=440)


def stall_bars(runs: Sequence[RunData], names: Sequence[str]) -> Figure:
    """Draw the stalled seconds by cause, one bar per run."""
    seconds = [run.stall_seconds() for run in runs]
    causes = [c for c in STALLS if any(c in s for s in seconds)]
    causes += sorted({c for s in seconds for c in s} - set(STALLS))
    traces: list[Trace] = [
        _bar([s.get(cause, 0.0) for s in seconds], names, stall_name(cause), stall_color(cause), "%{x:,.1f} s")
        for cause in causes
    ]
    return Figure(
        "stalls", "Seconds in write stalls by cause", "Time during which each run slowed or stopped writes, by cause.",
        traces, _bar_layout("stalled seconds"), height_px=_height(len(runs)),
        empty="None of these runs has write stalls.",
    )  # fmt: skip


def amplification_bars(runs: Sequence[RunData], names: Sequence[str]) -> Figure:
    """Draw the bytes written per user byte by level, one bar per run."""
    parts = [{name: (value, color) for name, value, color in written_per_user_byte(run)} for run in runs]
    keys = sorted({key for p in parts for key in p}, key=lambda key: (key != WAL, key))
    traces: list[Trace] = []
    for key in keys:
        color = next(p[key][1] for p in parts if key in p)
        values = [p[key][0] if key in p else 0.0 for p in parts]
        traces.append(_bar(values, names, key, color, "%{x:.2f} per user byte"))
    return Figure(
        "amplification", "Write amplification by level",
        "Bytes written per byte of user data: to the WAL, by flushes into L0, and by compactions into deeper levels.",
        traces, _bar_layout("bytes written per user byte"), height_px=_height(len(runs)),
        empty="Background jobs wrote nothing.",
    )  # fmt: skip


def _bar(values: list[float], names: Sequence[str], label: str, color: str, form: str) -> Trace:
    return {
        "type": "bar", "orientation": "h", "x": values, "y": list(names), "name": label, "marker": {"color": color},
        "hovertemplate": f"{label}: {form}<extra>%{{y}}</extra>",
    }  # fmt: skip


def _bar_layout(title: str) -> dict[str, object]:
    return {
        "barmode": "stack", "hovermode": "closest", "xaxis": {"title": {"text": title}},
        "yaxis": {"autorange": "reversed", "type": "category"}, "legend": {"traceorder": "normal"},
    }  # fmt: skip


def _height(runs: int) -> int:
    return 150 + 44 * runs

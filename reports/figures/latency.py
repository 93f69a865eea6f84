"""The distribution of latency, drawn so that the tail is as wide as the body."""

from __future__ import annotations

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure, Trace, line, packed
from lsmlab.reports.figures.throughput import LATENCY_AXIS
from lsmlab.reports.headline import number
from lsmlab.reports.palette import READ, WRITE
from lsmlab.reports.run_data import Floats, RunData

_MOST_POINTS = 800

PERCENTILE_AXIS = {
    "type": "log",
    "title": {"text": "percentile: share of operations that are at least this fast"},
    "tickvals": [1, 2, 10, 100, 1e3, 1e4],
    "ticktext": ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"],
    "range": [0, 4.15],
}
"""An axis of 1 / (1 - percentile): each step to the right is ten times as rare."""


def latency_distribution(run: RunData) -> Figure:
    """Latency by percentile up to P99.99, writes and reads."""
    traces: list[Trace] = []
    for op, color in (("write", WRITE), ("read", READ)):
        curve = percentile_curve(run, op)
        if curve is None:
            continue
        traces.append(
            line(*curve, f"{op}s", color, width=2.4, hovertemplate="%{y:.3s}s<extra>%{fullData.name}</extra>")
        )
        traces += _marks(run, op, color)
    return Figure(
        "latency-distribution", "Latency distribution to P99.99",
        "From left to right each labelled step is ten times as rare. A steep rise is where stalls begin to show.",
        traces, {"xaxis": PERCENTILE_AXIS, "yaxis": LATENCY_AXIS, "hovermode": "closest"},
        empty="No operation was done.",
    )  # fmt: skip


def percentile_curve(run: RunData, op: str) -> tuple[Floats, Floats] | None:
    """(1 / (1 - percentile), latency) of an operation from the histogram, as far as a little beyond P99.99."""
    histogram = run.latency.get(op)
    if histogram is None:
        return None
    upper, count = histogram
    below = np.cumsum(count)
    share = (below - count / 2) / below[-1]  # the middle of each bucket
    rarity = 1 / np.maximum(1 - share, 1e-12)
    keep = np.searchsorted(rarity, 2e4, side="right") + 1
    rarity, upper = rarity[:keep], upper[:keep]
    if len(rarity) > _MOST_POINTS:  # evenly over the axis
        wanted = np.geomspace(rarity[0], rarity[-1], _MOST_POINTS)
        chosen = np.unique(np.minimum(np.searchsorted(rarity, wanted), len(rarity) - 1))
        rarity, upper = rarity[chosen], upper[chosen]
    return rarity, upper


def _marks(run: RunData, op: str, color: str) -> list[Trace]:
    stated = run.summary.get(f"{op}_latency_s")
    places = ((2.0, "p50"), (100.0, "p99"), (1e3, "p999"), (1e4, "p9999"))
    marks = [(x, y) for x, key in places if (y := number(stated, key)) is not None and y > 0]
    if not marks:
        return []
    return [{
        "type": "scatter", "mode": "markers+text", "x": packed([x for x, _ in marks]),
        "y": packed([y for _, y in marks]), "text": [numbers.seconds(y) for _, y in marks],
        "textposition": "top left", "marker": {"color": color, "size": 9},
        "textfont": {"color": color, "size": 14}, "showlegend": False, "hoverinfo": "skip", "cliponaxis": False,
    }]  # fmt: skip

"""Figure of the latency distribution on a percentile axis that widens the tail."""

from __future__ import annotations

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.figures.base import LATENCY_AXIS, Figure, Trace, line, packed
from lsmlab.reports.palette import READ, SCAN, WRITE
from lsmlab.reports.run_data import Floats, RunData

_FIRST_SHARE = 1e-3
"""Percentile, as a share, at which curves begin: the fastest operations are noise."""

_LAST_RARITY = 2e4
"""1 / (1 - percentile) at which curves end, slightly above P99.99."""

_SPOTS = 150
"""Distinguishable positions per power of ten on either axis."""

_LATENCIES_S = (1e-12, 1e12)
"""Latencies that a figure can tell apart from 0 and from infinity."""

PERCENTILE_AXIS = {
    "type": "log",
    "title": {"text": "percentile: share of operations that are at least this fast"},
    "tickvals": [2, 10, 100, 1e3, 1e4],
    "ticktext": ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"],
    "range": [0, 4.15],
}
"""Axis of 1 / (1 - percentile): with each step to the right, operations are ten times as rare."""


def latency_distribution(run: RunData) -> Figure:
    """Draw the latency of writes, reads and scans by percentile up to P99.99."""
    traces: list[Trace] = []
    for op, color in (("write", WRITE), ("read", READ), ("scan", SCAN)):
        curve = percentile_curve(run, op)
        if curve is None:
            continue
        traces.append(
            line(*curve, f"{op}s", color, width=2.4, hovertemplate="%{y:.3s}s<extra>%{fullData.name}</extra>")
        )
        traces += _marks(run, op, color)
    return Figure(
        "latency-distribution", "Latency distribution to P99.99",
        "With each labelled step to the right, operations are ten times as rare. Write stalls show as a steep rise.",
        traces, {"xaxis": PERCENTILE_AXIS, "yaxis": LATENCY_AXIS, "hovermode": "closest"},
        empty="The run has no operations.", short="Latency",
    )  # fmt: skip


def percentile_curve(run: RunData, op: str) -> tuple[Floats, Floats] | None:
    """Return (1 / (1 - percentile), latency in seconds) of "write", "read" or "scan" from the histogram, up to about P99.99.

    Each point of the curve is the upper bound of a bucket. Returns None if there are no operations.
    """
    histogram = run.latency.get(op)
    if histogram is None:
        return None
    upper, count = histogram
    total = float(count.sum())
    share = np.minimum(np.cumsum(count) / total, 1 - 0.5 / max(total, 1.0))
    first = int(np.searchsorted(share, _FIRST_SHARE))
    rarity, latency = 1 / (1 - share[first:]), upper[first:]
    last = int(np.searchsorted(rarity, _LAST_RARITY)) + 1
    return _thinned(rarity[:last], latency[:last])


def _thinned(rarity: Floats, latency: Floats) -> tuple[Floats, Floats]:
    """Remove the points that are at the same position of the figure as both their neighbours."""
    positive = np.clip(latency, *_LATENCIES_S)  # a bucket may begin at 0 or be open
    spots = np.floor(np.column_stack((np.log10(rarity), np.log10(positive))) * _SPOTS)
    moved = np.any(np.diff(spots, axis=0) != 0, axis=1)
    keep = np.concatenate(([True], moved)) | np.concatenate((moved, [True]))
    return rarity[keep], latency[keep]


def _marks(run: RunData, op: str, color: str) -> list[Trace]:
    places = ((2.0, "p50"), (100.0, "p99"), (1e3, "p999"), (1e4, "p9999"))
    marks = [(x, y) for x, key in places if (y := run.number(f"{op}_latency_s.{key}")) is not None and y > 0]
    if not marks:
        return []
    return [{
        "type": "scatter", "mode": "markers+text", "x": packed([x for x, _ in marks]),
        "y": packed([y for _, y in marks]), "text": [numbers.seconds(y) for _, y in marks],
        "textposition": "top left", "marker": {"color": color, "size": 9},
        "textfont": {"color": color, "size": 14}, "showlegend": False, "hoverinfo": "skip", "cliponaxis": False,
    }]  # fmt: skip

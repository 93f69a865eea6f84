"""Behind a figure over time: coloured bands for write stalls, and marks where the conditions of a run change."""

from __future__ import annotations

from typing import Any

import numpy as np
from lsmlab.reports.figures.base import Trace, packed
from lsmlab.reports.palette import MOVE, STALLS, stall_color, stall_name, translucent
from lsmlab.reports.run_data import Floats, RunData
from lsmlab.reports.timeline import Timeline

MOST_BANDS = 4000
"""Largest number of stalls with a band each; for more, the height of a band is the stalled share of an interval."""

_STRETCHES = 240
"""Number of intervals for which the stalled share is drawn if there are more than `MOST_BANDS` stalls."""

_OPACITY = {True: 0.50, False: 0.38}

BANDS_AXIS: dict[str, Any] = {"range": [0, 1], "visible": False, "fixedrange": True}
"""Axis `y` of a figure with bands; the data use axis `y2`, which is drawn on top."""

DATA_AXIS: dict[str, Any] = {"overlaying": "y", "side": "left", "tickmode": "auto"}


def exact_bands(run: RunData) -> bool:
    """Return whether each stall has its own band (see `MOST_BANDS`)."""
    return len(run.stalls.get("start_s", ())) <= MOST_BANDS


def bands_behind(run: RunData) -> list[Trace]:
    """Return the bands for a figure whose legend does not explain them; [] for stalls without a band each."""
    return stall_bands(run, legend=False) if exact_bands(run) else []


def stall_bands(run: RunData, *, legend: bool = True) -> list[Trace]:
    """Return one filled trace per stall cause that occurred."""
    if not len(run.stalls.get("start_s", ())):
        return []
    corners = _exact(run) if exact_bands(run) else _shares(run)
    traces = []
    for cause, (x, y) in corners.items():
        color = translucent(stall_color(cause), _OPACITY[cause.endswith("_stop")])
        traces.append({
            "type": "scatter", "mode": "lines", "x": packed(x, exact=True), "y": packed(y), "fill": "toself",
            "fillcolor": color, "line": {"width": 0.6, "color": color, "simplify": False}, "name": stall_name(cause),
            "hoverinfo": "skip", "showlegend": legend, "meta": {"band": cause},
        })  # fmt: skip
    return traces


def condition_marks(run: RunData, *, legend: bool = True) -> list[Trace]:
    """Return vertical lines on the axis of the bands, one per change of the device; [] for a run without changes."""
    facts = run.summary.get("conditions") or {}
    changes = facts.get("changes") or []
    if not changes:
        return []
    x, y, texts = [], [], []
    for change in changes:
        x += [change["at_s"], change["at_s"], None]
        y += [0.0, 1.0, None]
        texts += [change["text"]] * 2 + [""]
    return [{
        "type": "scatter", "mode": "lines", "x": x, "y": y, "text": texts, "name": "device changes", "showlegend": legend,
        "line": {"color": MOVE, "width": 2, "dash": "dash"}, "hovertemplate": "%{text}<extra></extra>",
    }]  # fmt: skip


def _causes(run: RunData) -> list[str]:
    present = set(run.stalls["cause"])
    return [c for c in STALLS if c in present] + sorted(present - set(STALLS))


def _exact(run: RunData) -> dict[str, tuple[Floats, Floats]]:
    result = {}
    for cause in _causes(run):
        of_cause = run.stalls["cause"] == cause
        starts, ends = run.stalls["start_s"][of_cause], run.stalls["end_s"][of_cause]
        result[cause] = _boxes(starts, ends, np.zeros(len(starts)), np.ones(len(starts)))
    return result


def _shares(run: RunData) -> dict[str, tuple[Floats, Floats]]:
    """Return boxes stacked by cause; the height of a box is the stalled share of its interval."""
    stretch = Timeline.of(run.times_s, _STRETCHES)
    below = np.zeros(len(stretch.starts))
    result = {}
    for cause in _causes(run):
        share = np.minimum(stretch.mean(run.column(f"stall_{cause}_s")), 1 - below)
        nonzero = share > 0
        above = below + share
        result[cause] = _boxes(stretch.start_s[nonzero], stretch.end_s[nonzero], below[nonzero], above[nonzero])
        below = above
    return result


def _boxes(starts: Floats, ends: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the corners of one closed box per interval, with a gap after each box."""
    gap = np.full(len(starts), np.nan)
    x = np.column_stack((starts, starts, ends, ends, starts, gap)).ravel()
    y = np.column_stack((low, high, high, low, low, gap)).ravel()
    return x, y

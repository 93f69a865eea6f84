"""Marks in figures over time where the conditions of a run change."""

from __future__ import annotations

from lsmlab.reports.figures.base import Trace
from lsmlab.reports.palette import MOVE
from lsmlab.reports.run_data import RunData


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

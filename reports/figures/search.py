"""Figures of a search: the values of its points in order, all points in parallel coordinates, and their importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.sweep import key_name, number_axis, parallel_coordinates
from lsmlab.reports.palette import MOVE, RUNS
from lsmlab.sim.runs.index import typed_value
from lsmlab.sim.studies.metrics import Metric
from lsmlab.sim.studies.optuna_search import PointTried
from lsmlab.sim.studies.sweep.measured import Measured
from lsmlab.sim.yaml_text import parse_yaml


def progress_figure(goal: str, metric: Metric, history: Sequence[PointTried]) -> Figure:
    """Draw the goal of each point in the order of the search, and the best value so far within the limits."""
    numbers = np.arange(1, len(history) + 1)
    values = np.array([point.values[goal] for point in history], dtype=float)
    holds = np.array([point.holds_limits for point in history], dtype=bool)
    worst = -np.inf if metric.higher_is_better else np.inf
    allowed = np.where(holds, values, worst)
    best = (np.maximum if metric.higher_is_better else np.minimum).accumulate(allowed)
    names = np.array([point.point.replace("engine.options.", "") for point in history])
    traces: list[dict[str, Any]] = []
    for label, chosen, symbol, color in (
        ("within the limits", holds, "circle", RUNS[0]), ("breaks a limit", ~holds, "x", MOVE)
    ):  # fmt: skip
        if chosen.any():
            traces.append({
                "type": "scatter", "mode": "markers", "name": label, "x": numbers[chosen].tolist(),
                "y": values[chosen].tolist(), "text": names[chosen].tolist(),
                "marker": {"color": color, "symbol": symbol, "size": 8},
                "hovertemplate": "%{text}<br>%{y}<extra></extra>",
            })  # fmt: skip
    found = np.isfinite(best)
    traces.append({
        "type": "scatter", "mode": "lines", "name": "best so far", "x": numbers[found].tolist(),
        "y": best[found].tolist(), "line": {"color": RUNS[1], "shape": "hv", "width": 2}, "hoverinfo": "skip",
    })  # fmt: skip
    caption = f"{metric.label.capitalize()} of each point that ran in full, mean of two seeds, in the order of the search."
    layout = {"hovermode": "closest", "xaxis": {"title": {"text": "point"}}, "yaxis": number_axis(metric.name, values.tolist())}
    return Figure(f"progress-{goal}", f"Search for {metric.label}", caption, traces, layout)


def points_figure(history: Sequence[PointTried], goals: Mapping[str, Metric]) -> Figure:
    """Draw all points in parallel coordinates: their settings and their goals."""
    levels: dict[str, list[Any]] = {}
    for point in history:
        for text in point.point.split(" "):
            key, _, value = text.partition("=")
            levels.setdefault(key, []).append(typed_value(parse_yaml(value, key)))
    values = {m.name: np.array([[point.values[goal]] for point in history], dtype=float) for goal, m in goals.items()}
    about = {"seeds": [0], "configurations": len(history)}
    measured = Measured(about, [point.point.replace("engine.options.", "") for point in history], levels, values)
    return parallel_coordinates(measured, list(values))


def importance_figure(importance: Mapping[str, float]) -> Figure:
    """Draw the importance of each setting for good values of the first goal."""
    ordered = sorted(importance.items(), key=lambda entry: -entry[1])
    traces: list[dict[str, Any]] = [{
        "type": "bar", "orientation": "h", "y": [key_name(key) for key, _ in ordered], "x": [share for _, share in ordered],
        "marker": {"color": RUNS[0]}, "hovertemplate": "%{y}: %{x:.0%}<extra></extra>",
    }]  # fmt: skip
    layout = {"xaxis": {"title": {"text": "share of importance"}, "tickformat": ".0%", "rangemode": "tozero"},
              "yaxis": {"autorange": "reversed", "type": "category"}, "hovermode": "closest"}  # fmt: skip
    caption = "How much each setting decides whether a point is among the best tenth (PED-ANOVA), over all points."
    return Figure("importance", "Importance of the settings", caption, traces, layout, height_px=130 + 40 * len(ordered))

"""Figures of a sweep: effects of its keys, heat map of two keys, parallel coordinates, Pareto front, Sobol indices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure, Trace, number_range, scrolled
from lsmlab.reports.palette import MOVE, RUNS
from lsmlab.sim.configuration.names import value_name
from lsmlab.sim.studies.sweep.analysis import Front, OnFront
from lsmlab.sim.studies.sweep.effects import Effects, SobolIndex, value_groups
from lsmlab.sim.studies.sweep.measured import Measured
from lsmlab.sim.studies.sweep.query import LABELS, value_text
from numpy.typing import NDArray

_SCALE: Final = "Viridis"
_ROW_PX: Final = 26
_COLORS: Final = ("#8a4fbf", "#4a78c2", "#21918c", "#4aa84f", "#c79a00")
"""Colours of equally many lines each, from small to large values; each is seen on light and on dark ground."""
_FAR: Final = 30.0
"""Ratio of the ends from which an axis is logarithmic."""
_MOST_LINES: Final = 500
"""Largest number of configurations in the parallel coordinates."""
_FEW_VALUES: Final = 12
"""Largest number of values that an axis of the parallel coordinates names one by one."""
_EQUAL: Final = 0.01
"""Difference, as a share of the values, below which an axis does not zoom in on it."""
_LINE: Final = 16
"""Characters in a line above an axis of the parallel coordinates."""
_AXIS_PX: Final = 150
"""Least width of a column of the heat map and of an axis of the parallel coordinates."""


def metric_name(name: str) -> str:
    """Return the name of a number in texts; that of a varied key is its last part."""
    return LABELS.get(name, key_name(name) if name.startswith("engine.options.") else name)


def key_name(key: str) -> str:
    """Return the last part of a key."""
    return key.rpartition(".")[2]


def number_axis(metric: str, values: Iterable[float] = (), **more: Any) -> dict[str, Any]:
    """Return the axis of a number, with its unit. Where `values` are nearly equal, it spans a share of their size."""
    found = [value for value in values if math.isfinite(value)]
    if found and max(found) - min(found) < _EQUAL * max(map(abs, found)):
        more = {"range": number_range(found), **more}
    example = value_text(metric, 1.0)
    if example.endswith("%"):
        form: dict[str, Any] = {"tickformat": ".0%"}
    elif example == "1 s":
        form = {"tickformat": "~s", "ticksuffix": "s"}
    else:
        form = {"tickformat": ",~r"}
    return {"title": {"text": metric_name(metric)}, "nticks": 5, **form, **more}


def level_name(key: str, level: Any) -> str:
    """Return the name of a value, or of a group of values [low, high]."""
    if isinstance(level, list):
        return f"{key_name(key)} {value_text(key, level[0])} to {value_text(key, level[1])}"
    return value_name(key, value_text(key, level).replace(" ", "").replace(",", ""))


def _text(name: str, value: float) -> str:
    return numbers.on_page(value_text(name, value))


def effect_figure(metric: str, effects: Effects) -> Figure:
    """Draw the mean of a number for each value of each key, with its 90 % interval; one colour per key."""
    traces: list[Trace] = []
    labels: list[str] = []
    for number, one in enumerate(effects.main):
        names = [level_name(one.key, level.value) for level in one.levels]
        rows = list(range(len(labels) + number, len(labels) + number + len(names)))
        labels += names
        means = [level.mean for level in one.levels]
        traces.append({
            "type": "scatter", "mode": "lines+markers", "x": means, "y": rows, "name": key_name(one.key),
            "line": {"color": RUNS[number % len(RUNS)], "width": 1, "dash": "dot"}, "marker": {"size": 10},
            "error_x": {
                "type": "data", "thickness": 2, "width": 4,
                "array": [0.0 if v.high is None else v.high - v.mean for v in one.levels],
            },
            "text": [f"{name}: {_text(metric, mean)}" for name, mean in zip(names, means, strict=True)],
            "hovertemplate": "%{text}<extra></extra>",
        })  # fmt: skip
    places = [row for trace in traces for row in trace["y"]]
    bars = [(v.mean, 0.0 if v.high is None else v.high - v.mean) for one in effects.main for v in one.levels]
    ends = [mean + side * half for mean, half in bars for side in (-1, 1)]
    over = "the seeds" if effects.intervals == "seeds" else "the configurations of the group"
    caption = f"Mean over all configurations with this value, and its 90 % interval over {over}."
    layout = {
        "hovermode": "closest", "showlegend": False,
        "xaxis": number_axis(metric, ends),
        "yaxis": {"tickmode": "array", "tickvals": places, "ticktext": labels, "autorange": "reversed", "zeroline": False},
    }  # fmt: skip
    title = f"Effects on {metric_name(metric)}"
    return Figure(f"effects-{_id(metric)}", title, caption, traces, layout, height_px=110 + _ROW_PX * (places[-1] + 1))


def heat_map(measured: Measured, metric: str, keys: Sequence[str]) -> Figure:
    """Draw the mean of a number for each pair of values of two keys."""
    means = _means(measured, metric)
    known = np.isfinite(means)
    axes = [value_groups([v for v, here in zip(measured.levels[k], known.tolist(), strict=True) if here]) for k in keys]
    (columns, x), (rows, y) = axes
    sums, counts = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
    np.add.at(sums, (y, x), means[known])
    np.add.at(counts, (y, x), 1)
    cells = [[None if c == 0 else s / c for s, c in zip(*pair, strict=True)] for pair in zip(sums, counts, strict=True)]
    names = [[level_name(key, level) for level in own] for key, own in zip(keys, (columns, rows), strict=True)]
    trace = {
        "type": "heatmap", "z": cells, "x": names[0], "y": names[1], "colorscale": _SCALE,
        "text": [["" if v is None else _text(metric, v) for v in row] for row in cells],
        "texttemplate": "%{text}", "hovertemplate": "%{x}, %{y}: %{text}<extra></extra>",
        "showscale": False,
    }  # fmt: skip
    title = f"{metric_name(metric)} by {key_name(keys[0])} and {key_name(keys[1])}"
    caption = "Mean over the values of all other keys. These two keys have the largest effects."
    layout = {"hovermode": "closest", "xaxis": {"type": "category"}, "yaxis": {"type": "category"}}
    box = scrolled(_AXIS_PX * (len(columns) + 1))
    return Figure("heat-map", title, caption, [trace], layout, height_px=160 + 44 * len(rows), **box)


def parallel_coordinates(measured: Measured, metrics: Sequence[str]) -> Figure:
    """Draw one line per configuration through its values and its numbers; the colour is that of the first number.

    Plotly's own trace of this kind needs WebGL, which many browsers on servers lack.
    """
    first = _means(measured, metrics[0])
    order = np.flatnonzero(np.isfinite(first))
    order = order[np.argsort(first[order], kind="stable")]
    chosen = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), _MOST_LINES)).astype(int))]
    axes = [_key_axis(key, [own[i] for i in chosen]) for key, own in measured.levels.items()]
    axes += [_number_axis(metric, _means(measured, metric)[chosen]) for metric in metrics]
    heights = np.array([axis.heights for axis in axes]).T
    traces: list[Trace] = []
    for color, lines in zip(_COLORS, np.array_split(np.arange(len(chosen)), len(_COLORS)), strict=True):
        x: list[int | None] = []
        y: list[float | None] = []
        for place in lines:
            x += [*range(len(axes)), None]
            y += [*(None if np.isnan(v) else float(v) for v in heights[place]), None]
        names = [measured.names[chosen[place]] for place in lines for _ in range(len(axes) + 1)]
        traces.append({
            "type": "scatter", "mode": "lines", "x": x, "y": y, "text": names, "line": {"color": color, "width": 1.6},
            "opacity": 0.8, "hovertemplate": "%{text}<extra></extra>", "connectgaps": False,
        })  # fmt: skip
    shown = "" if len(chosen) == len(measured.names) else f" {len(chosen)} of {len(measured.names)} are shown."
    caption = (
        f"One line per configuration, from left to right through its values and its numbers; yellow: large "
        f"{metric_name(metrics[0])}, violet: small.{shown}"
    )
    layout, box = _parallel_layout(axes), scrolled(_AXIS_PX * max(3, len(axes)))
    return Figure("parallel", "All configurations", caption, traces, layout, height_px=480, **box)


def _parallel_layout(axes: Sequence[_Axis]) -> dict[str, Any]:
    texts = [
        {"x": place, "y": height, "text": text, "showarrow": False, "xanchor": "left", "xshift": 4, "font": {"size": 12.5}}
        for place, axis in enumerate(axes)
        for text, height in axis.ticks
    ]
    ends = {"range": [-0.4, len(axes) - 0.35], "fixedrange": True, "zeroline": False}
    names = {"tickmode": "array", "tickvals": list(range(len(axes))), "ticktext": [_broken(axis.label) for axis in axes],
             "tickangle": 0, "tickfont": {"size": 13.5}, "ticklabeloverflow": "allow"}
    return {
        "hovermode": "closest", "showlegend": False, "annotations": texts, "xaxis": {**ends, **names, "side": "top"},
        "yaxis": {"visible": False, "range": [-0.06, 1.06], "fixedrange": True}, "margin": {"l": 20, "r": 20, "t": 76, "b": 20},
    }  # fmt: skip


def _broken(name: str) -> str:
    """Return a name in lines that its column has room for."""
    lines = [""]
    for word in name.replace("_", "_ ").split(" "):
        if lines[-1] and len(lines[-1]) + len(word) > _LINE:
            lines.append("")
        lines[-1] += word if lines[-1].endswith("_") or not lines[-1] else f" {word}"
    return "<br>".join(lines)


@dataclass(frozen=True, slots=True)
class _Axis:
    """Axis of the parallel coordinates."""

    label: str
    heights: list[float]
    """Position of each line, from 0 (bottom) to 1."""
    ticks: list[tuple[str, float]]
    """Texts with their positions."""


def _key_axis(key: str, own: Sequence[Any]) -> _Axis:
    different = list(dict.fromkeys(own))
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in different)
    if numeric and len(different) > _FEW_VALUES:
        return _number_axis(key, np.asarray(own, dtype=float))
    ordered = sorted(different) if numeric else different
    heights = {value: (place + 0.5) / len(ordered) for place, value in enumerate(ordered)}
    return _Axis(key_name(key), [heights[v] for v in own], [(value_text(key, v), h) for v, h in heights.items()])


def _number_axis(name: str, values: NDArray[np.float64]) -> _Axis:
    """Return the axis of a number between its ends; a logarithmic one if the values lie far apart."""
    label = LABELS.get(name, key_name(name))
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if high <= low:
        return _Axis(label, [0.5] * len(values), [(_text(name, low), 0.5)])
    wide = low > 0.0 and high > _FAR * low
    heights = np.log(values / low) / np.log(high / low) if wide else (values - low) / (high - low)
    ends = [(_text(name, low), 0.0), (_text(name, high), 1.0)]
    return _Axis(label, heights.tolist(), ends)


def pareto_figure(measured: Measured, found: Front, metrics: Sequence[str]) -> Figure:
    """Draw the configurations by two objectives; those on the Pareto front of all objectives are coloured."""
    x, y = (_means(measured, metric) for metric in (metrics[1], metrics[0]))
    front = {row.configuration: row for row in found.front}
    traces: list[Trace] = []
    for name, color, size, wanted in (("others", MOVE, 6, False), ("Pareto front", RUNS[4], 11, True)):
        chosen = [i for i, n in enumerate(measured.names) if (n in front) == wanted and np.isfinite(x[i] + y[i])]
        traces.append({
            "type": "scatter", "mode": "markers", "name": name, "marker": {"color": color, "size": size},
            "x": x[chosen].tolist(), "y": y[chosen].tolist(),
            "text": [_front_text(measured.names[i], front.get(measured.names[i])) for i in chosen],
            "hovertemplate": f"%{{text}}<br>%{{y}}, %{{x}}<extra>{name}</extra>",
        })  # fmt: skip
    caption = f"Front of {', '.join(map(metric_name, metrics))}: no other configuration is as good in all and better in one."
    layout = {"hovermode": "closest", "xaxis": number_axis(metrics[1], x.tolist()),
              "yaxis": number_axis(metrics[0], y.tolist())}  # fmt: skip
    return Figure("pareto", "Pareto front", caption, traces, layout, height_px=460)


def _front_text(name: str, row: OnFront | None) -> str:
    if row is None or row.probability is None:
        return name
    return f"{name}: on the front with probability {row.probability:.0%}"


def sobol_figure(metric: str, indices: Sequence[SobolIndex]) -> Figure:
    """Draw first-order and total Sobol indices with their intervals."""
    keys = [key_name(row.key) for row in indices]
    traces: list[Trace] = [
        {
            "type": "bar", "orientation": "h", "y": keys, "x": [getattr(row, order).mean for row in indices], "name": name,
            "marker": {"color": color},
            "error_x": {
                "type": "data", "array": [max(0.0, getattr(row, order).high - getattr(row, order).mean) for row in indices],
                "arrayminus": [max(0.0, getattr(row, order).mean - getattr(row, order).low) for row in indices],
            },
        }
        for order, name, color in (("first", "alone", RUNS[0]), ("total", "with all interactions", RUNS[1]))
    ]  # fmt: skip
    layout = {"barmode": "group", "hovermode": "closest", "xaxis": {"title": {"text": "share of variance"}},
              "yaxis": {"autorange": "reversed", "type": "category"}}  # fmt: skip
    caption = "Share of the variance that a key causes alone, and together with all its interactions; 90 % intervals."
    title = f"Sobol indices of {metric_name(metric)}"
    return Figure(f"sobol-{_id(metric)}", title, caption, traces, layout, height_px=140 + 60 * len(keys))


def _means(measured: Measured, metric: str) -> Any:
    """Return the mean over the seeds by configuration; NaN if a run is missing."""
    return measured.metrics[metric].mean(axis=1)


def _id(metric: str) -> str:
    return metric.replace(".", "-")

"""Figures of lessons: those of a run with a caption, lines and bars of several runs, trees and areas to scale, and sliders."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure, graph, line
from lsmlab.reports.palette import RUNS, level_color

_DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash")
_WIDTH: Final = 1000
"""Width of the drawing of a tree, in its own units."""
_SLIVER: Final = _WIDTH / 300
"""Least width of a level, and of a file that is divided from its neighbours."""
_SIDE_PX: Final = 90
"""Side of the largest square of a drawing of areas."""
_GREY: Final = "#8a949c"

FIGURE: Final = "application/vnd.lsmlab.figure+json"
"""Type of a figure for a page: what page.js draws, with title and caption."""


@dataclass(frozen=True)
class ShownFigure:
    """A figure with a caption, as a lesson shows it on its page and in a notebook."""

    figure: Figure
    for_page: ClassVar[bool] = False
    """Whether cells run for a page, not in a student's notebook."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Return the figure for a page, or the Plotly figure for a notebook."""
        if self.for_page:
            return {FIGURE: {**self.figure.as_json(), "title": self.figure.title, "caption": self.figure.caption}}
        return self.plotly()._repr_mimebundle_(include, exclude)

    def plotly(self) -> Any:
        """Return the figure of Plotly's Python library, with the caption below its title."""
        drawing = graph(self.figure)
        drawing.update_layout(title={"text": self.figure.title, "subtitle": {"text": self.figure.caption}})
        return drawing


@dataclass(frozen=True)
class Picture:
    """A drawing in HTML with a caption."""

    content: str
    caption: str

    def _repr_html_(self) -> str:
        return f'<figure class="picture">{self.content}<figcaption>{html.escape(self.caption)}</figcaption></figure>'


def figure(drawing: Any, caption: str) -> ShownFigure:
    """Return a figure of `Result.plot` or `Comparison.plot` with a caption that says what one looks at."""
    content = drawing.to_plotly_json()
    layout = {k: v for k, v in content["layout"].items() if k not in ("template", "title", "margin", "height", "legend")}
    title = str(content["layout"].get("title", {}).get("text", ""))
    height = int(content["layout"].get("height", 460)) - 60
    return ShownFigure(Figure("", title, caption, list(content["data"]), layout, height_px=height))


def lines(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, title: str, caption: str, x: str, y: str
) -> ShownFigure:
    """Draw curves, pairs of x and y values by name; `x` and `y` are the titles of the axes, with units."""
    traces = [
        line(at, values, name, RUNS[i % len(RUNS)], dash=_DASHES[i % len(_DASHES)], hovertemplate="%{y:,.4~g}")
        for i, (name, (at, values)) in enumerate(curves.items())
    ]
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}, "rangemode": "tozero"}}
    return ShownFigure(Figure("", title, caption, traces, axes, height_px=360))


def bars(values: Mapping[str, float], *, title: str, caption: str, unit: str) -> ShownFigure:
    """Draw one horizontal bar for each named value."""
    trace = {
        "type": "bar", "orientation": "h", "y": list(values), "x": list(values.values()), "hovertemplate": "%{x:,.4~g}",
        "marker": {"color": [RUNS[i % len(RUNS)] for i in range(len(values))]},
        "texttemplate": "%{x:,.3~s}" + ("s" if unit == "s" else ""),
        "textposition": "outside", "cliponaxis": False,
    }  # fmt: skip
    x_axis = {"title": {"text": unit}, "rangemode": "tozero"}
    layout = {"xaxis": x_axis, "yaxis": {"autorange": "reversed"}, "hovermode": "closest"}
    return ShownFigure(Figure("", title, caption, [trace], layout, height_px=120 + 44 * len(values)))


def stacked(values: Mapping[str, Mapping[str, float]], *, title: str, caption: str, unit: str) -> ShownFigure:
    """Draw one horizontal bar for each name, made of parts; a part has the same colour in all bars."""
    parts = list(dict.fromkeys(part for row in values.values() for part in row))
    traces = [
        {"type": "bar", "orientation": "h", "name": part, "y": list(values), "x": [row.get(part, 0.0) for row in values.values()],
         "marker": {"color": RUNS[i % len(RUNS)], "pattern": {"shape": ("", "/", "x", ".", "-")[i % 5]}},
         "hovertemplate": "%{x:,.3~g}"}
        for i, part in enumerate(parts)
    ]  # fmt: skip
    layout = {
        "barmode": "stack", "xaxis": {"title": {"text": unit}}, "yaxis": {"autorange": "reversed"}, "hovermode": "closest",
        "legend": {"traceorder": "normal"},
    }  # fmt: skip
    return ShownFigure(Figure("", title, caption, traces, layout, height_px=150 + 44 * len(values)))


def tree(result: Any, caption: str) -> Picture:
    """Draw the levels at the end of a run to scale, with the files of each and a tick at its target."""
    levels = [row for row in result.summary["levels"] if row["files"]]
    whole_bytes = max(row["bytes"] for row in levels)
    rows = "".join(_level(row, whole_bytes) for row in levels)
    scale = (
        f"To scale: the whole width is {numbers.size(whole_bytes)}. Gaps divide a level into its files, drawn as equally large; "
        "a level below 1/300 of the width is drawn wider than it is. The tick is the level's target, where it is in the picture."
    )
    return Picture(f"<div>{rows}</div>", f"{caption} {scale}")


def _level(row: Mapping[str, Any], whole_bytes: float) -> str:
    """Return one row of the tree: what the level holds in words, and its bytes as a bar of `_WIDTH` units for `whole_bytes`."""
    length = max(_WIDTH * row["bytes"] / whole_bytes, _SLIVER)
    color = level_color(row["level"])
    parts = [f'<rect x="0" y="3" width="{length:.1f}" height="14" fill="{color}"/>']
    if length / row["files"] >= _SLIVER:
        gaps = (length * number / row["files"] for number in range(1, row["files"]))
        parts += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="3" y2="17" class="gap" stroke="#fff" stroke-width="1"/>' for x in gaps]
    target = row["target_bytes"] if row["level"] else None
    if target and target <= whole_bytes:
        x = _WIDTH * target / whole_bytes
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="20" stroke="currentColor" stroke-width="2"/>')
    aim = f", target {numbers.size(target)}" if target else ""
    words = f"{row['files']} file{'s' * (row['files'] != 1)}, {numbers.size(row['bytes'])}{aim}"
    size = f'viewBox="0 0 {_WIDTH} 20" preserveAspectRatio="none" style="width:100%;height:20px;display:block"'
    return f'<div class="level"><b>L{row["level"]}</b> {words}<svg aria-hidden="true" {size}>{"".join(parts)}</svg></div>'


def areas(sizes: Mapping[str, float], caption: str, *, between: Sequence[str] = ()) -> Picture:
    """Draw bytes as squares whose areas are to scale; `between` are words for the arrows from each square to the next."""
    largest = max(sizes.values())
    steps = [*between, *[""] * (len(sizes) - len(between))]
    boxes = "".join(
        _area(name, size, _SIDE_PX * (size / largest) ** 0.5)
        + (f'<span class="step">{html.escape(step)} →</span>' if step else "")
        for (name, size), step in zip(sizes.items(), steps, strict=True)
    )
    scale = f"To scale: the areas are the bytes, and the largest square is {numbers.size(largest)}."
    return Picture(f'<div class="areas">{boxes}</div>', f"{caption} {scale}")


def _area(name: str, size_bytes: float, side_px: float) -> str:
    """Return one square with its name and its bytes in words."""
    square = f'<i style="width:{side_px:.1f}px;height:{side_px:.1f}px"></i>'
    return f'<span class="area">{square}<b>{html.escape(name)}</b> {numbers.size(size_bytes)}</span>'


def slider(steps: Mapping[str, ShownFigure], *, title: str, caption: str, label: str, start: int = 0) -> ShownFigure:
    """Return one figure with a slider over figures of the same kind, each with the name of its step.

    `label` is what the slider changes, `start` the number of the first step shown. The axes are those of all steps
    together, so that steps can be compared. Bars come with a table of all values.
    """
    drawings = [shown.figure for shown in steps.values()]
    owner = [number for number, drawing in enumerate(drawings) for _ in drawing.traces]
    traces = [
        {**trace, "visible": number == start}
        for number, drawing in enumerate(drawings) for trace in drawing.traces
    ]  # fmt: skip
    moves = [
        {"label": name, "method": "restyle", "args": [{"visible": [mine == number for mine in owner]}]}
        for number, name in enumerate(steps)
    ]
    bar = {
        "active": start, "steps": moves, "currentvalue": {"prefix": f"{label}: "}, "pad": {"t": 56}, "x": 0, "len": 1,
        "bgcolor": _GREY, "bordercolor": _GREY, "activebgcolor": RUNS[0], "tickcolor": _GREY,
    }  # fmt: skip
    first = drawings[start]
    layout = {**first.layout, "sliders": [bar]}
    for axis in ("x", "y"):
        own = layout.get(f"{axis}axis", {})
        reach = max(_reach(drawing, axis) for drawing in drawings)
        if reach and own.get("type") != "log":
            layout[f"{axis}axis"] = {**own, "range": [0, 1.12 * reach]}
    values = [[label, *_names(first)], *([name, *_values(shown.figure)] for name, shown in steps.items())]
    extra = {"table": values} if len(values[0]) > 1 else {}
    return ShownFigure(Figure("", title, caption, traces, layout, height_px=first.height_px + 110, extra=extra))


def _reach(drawing: Figure, axis: str) -> float:
    """Return the largest number that a figure has on an axis; 0 if the axis has names."""
    rows = [values for trace in drawing.traces if (values := _unpacked(trace[axis])) is not None]
    if not rows:
        return 0.0
    if drawing.layout.get("barmode") == "stack":
        return float(np.sum(rows, axis=0).max())
    return float(max(np.nanmax(row) for row in rows))


def _unpacked(values: Any) -> Any:
    """Return the numbers of a trace, which may be packed; None for names."""
    if isinstance(values, Mapping):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=f"<{values['dtype']}")
    return None if any(isinstance(value, str) for value in values) else np.asarray(values, dtype=float)


def _names(drawing: Figure) -> list[str]:
    """Return the names of the values of a figure of bars; none for other figures."""
    return [str(row) for trace in drawing.traces[:1] if trace["type"] == "bar" for row in trace["y"]]


def _values(drawing: Figure) -> list[str]:
    """Return the values of a figure of bars in words, in the order of `_names`; parts of a bar are added up."""
    rows = [trace["x"] for trace in drawing.traces if trace["type"] == "bar"]
    if not rows:
        return []
    in_seconds = drawing.layout["xaxis"]["title"]["text"] == "s"
    totals = [float(value) for value in np.sum(rows, axis=0)]
    return [numbers.seconds(v) if in_seconds else numbers.count(v) if v >= 1000.0 else f"{v:.3g}" for v in totals]

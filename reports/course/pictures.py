"""Figures of lessons: those of a run with a caption, lines and bars of several runs, and the tree at the end of a run."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure, graph, line
from lsmlab.reports.palette import RUNS, level_color

_DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash")
_MOST_BOXES: Final = 36
"""Largest number of boxes in a row of the tree."""
_BOX: Final = 12
"""Width of a box with its gap, in units of the drawing."""


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
    """Draw the files of each level at the end of a run as boxes; a level's target stands beside its size."""
    rows = "".join(_level(row) for row in result.summary["levels"] if row["files"])
    return Picture(f"<div>{rows}</div>", caption)


def _level(row: Mapping[str, Any]) -> str:
    """Return one row of the tree: what the level holds in words, and its files as boxes."""
    shown = min(row["files"], _MOST_BOXES)
    boxes = "".join(
        f'<rect x="{_BOX * k}" y="0" width="{_BOX - 2}" height="14" rx="2" fill="{level_color(row["level"])}"/>'
        for k in range(shown)
    )
    more = f" (the first {shown} drawn)" if shown < row["files"] else ""
    target = f", target {numbers.size(row['target_bytes'])}" if row["level"] and row["target_bytes"] else ""
    words = f"{row['files']} file{'s' * (row['files'] != 1)}{more}, {numbers.size(row['bytes'])}{target}"
    size = f'viewBox="0 0 {_BOX * _MOST_BOXES} 14" style="width:100%;max-width:640px;display:block"'
    return f'<div class="level"><b>L{row["level"]}</b> {words}<svg aria-hidden="true" {size}>{boxes}</svg></div>'

"""Page of `lsmlab results --plot`: numbers of the selected runs over one column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.reports.figures.base import Figure, Trace
from lsmlab.reports.figures.sweep import metric_name, number_axis
from lsmlab.reports.page import Page
from lsmlab.reports.palette import RUNS
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.sweep.query import value_text

FILE: Final = "plot.json"


@dataclass(frozen=True)
class Plot(Document):
    """Values of `lsmlab results --plot`; the content of plot.json."""

    x: str
    """Column of the horizontal axis."""
    y: list[str]
    """Columns that are drawn."""
    by: list[str]
    """Columns whose values get colours."""
    where: list[str]
    rows: list[dict[str, Any]]
    """Selected runs."""


def draw_plot(plot: Plot, directory: Path) -> Path:
    """Write DIR/plot.html; return its path."""
    figures = [_figure(plot, y, number) for number, y in enumerate(plot.y)]
    where = f", where {', '.join(plot.where)}" if plot.where else ""
    title = f"{', '.join(map(metric_name, plot.y))} by {metric_name(plot.x)}"
    return Page(title, f"{len(plot.rows)} runs{where}", figures).write(directory / "plot.html")


def _figure(plot: Plot, y: str, number: int) -> Figure:
    """Draw one dot per run; one colour per value of the columns `by`."""
    x = plot.x
    series: dict[str, list[Mapping[str, Any]]] = {}
    for row in plot.rows:
        if row[x] is not None and row[y] is not None:
            label = ", ".join(value_text(name, row[name]) for name in plot.by) or metric_name(y)
            series.setdefault(label, []).append(row)
    traces: list[Trace] = [
        {
            "type": "scatter", "mode": "markers", "name": label, "marker": {"size": 9, "color": RUNS[i % len(RUNS)]},
            "x": [row[x] for row in rows], "y": [row[y] for row in rows], "text": [row["run"] for row in rows],
            "hovertemplate": "%{text}<br>%{y}<extra></extra>",
        }
        for i, (label, rows) in enumerate(series.items())
    ]  # fmt: skip
    own = [float(value) for trace in traces for value in trace["y"]]
    layout = {"hovermode": "closest", "xaxis": _axis(plot), "yaxis": number_axis(y, own), "showlegend": bool(plot.by)}
    caption = "One dot per run."
    return Figure(f"plot-{number}", metric_name(y), caption, traces, layout, height_px=440, empty="No run has these numbers.")


def _axis(plot: Plot) -> dict[str, Any]:
    """Return the horizontal axis; few different numbers are named one by one, at positions of a logarithm if far apart."""
    x = plot.x
    values = list(dict.fromkeys(row[x] for row in plot.rows if row[x] is not None))
    if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return {"title": {"text": metric_name(x)}, "type": "category"}
    wide: dict[str, Any] = {"type": "log"} if values and min(values) > 0 and max(values) > 8 * min(values) else {}
    if len(values) > 8:
        return number_axis(x, **wide)
    named = {"tickmode": "array", "tickvals": sorted(values), "ticktext": [value_text(x, v) for v in sorted(values)]}
    return {"title": {"text": metric_name(x)}, **wide, **named}

"""Figures of a page as objects of Plotly's Python library, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsmlab.reports.figures.base import Figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Graph


def graph(figure: Figure) -> Graph:
    """Return a figure of a page as a Plotly figure with title and caption; without data it shows the text `empty`."""
    from plotly.graph_objects import Figure as Graph

    title: dict[str, Any] = {"text": figure.title, "x": 0.0, "xref": "paper"}
    layout: dict[str, Any] = {
        "template": "plotly_white", "height": figure.height_px + 60, "hovermode": "x unified", "bargap": 0.3,
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "xanchor": "left", "yanchor": "bottom"},
        "margin": {"l": 70, "r": 40, "t": 90, "b": 50}, "title": title,
    }  # fmt: skip
    if not figure.traces:
        text = {"text": figure.empty, "showarrow": False, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5}
        hidden = {"visible": False}
        return Graph([], {**layout, "annotations": [text], "xaxis": hidden, "yaxis": hidden})
    own = {**figure.layout, "legend": {**layout["legend"], **figure.layout.get("legend", {})}}
    return Graph(figure.traces, {**layout, **own})

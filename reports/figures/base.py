"""What a figure is: Plotly traces and layout as plain dictionaries, with the words around them.

Plotly's Python objects are not used: they cost a second of import and check what the tests here check. Colours of text
and grid are set by the page's script, which knows whether the reader prefers dark.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from lsmlab.reports.palette import translucent

Trace = dict[str, Any]
_DOT_PX: Final = 5.0
"""Of a point without neighbours on a line."""


@dataclass(frozen=True)
class Figure:
    """One figure of a page."""

    id: str
    """Its HTML id."""
    title: str
    caption: str
    """How to read it: plain words, one or two sentences."""
    traces: list[Trace]
    """Empty: the page shows `empty` instead."""
    layout: dict[str, Any] = field(default_factory=dict)
    height_px: int = 380
    timeline: bool = False
    """Whether its x axis is the run's time: such figures zoom together."""
    empty: str = "Nothing to show."
    before: str = ""
    """HTML above the drawing."""
    after: str = ""
    """HTML below the drawing."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Data for the page's script."""


def packed(values: npt.ArrayLike, *, exact: bool = False) -> dict[str, str]:
    """Array as Plotly's binary form: single precision, or double if `exact` (times of jobs)."""
    kind = "f8" if exact else "f4"
    data = np.ascontiguousarray(np.asarray(values, dtype=f"<{kind}"))
    return {"dtype": kind, "bdata": base64.b64encode(data.tobytes()).decode("ascii")}


def line(x: npt.ArrayLike, y: npt.ArrayLike, name: str, color: str, **more: Any) -> Trace:
    """Line through points; one that has no neighbour is a dot. Times need double precision, values do not."""
    style = {"color": color, "width": more.pop("width", 1.8)}
    if dash := more.pop("dash", None):
        style["dash"] = dash
    alone = _alone(y)
    dots: Trace = {"mode": "lines"}
    if alone.any():
        dots = {"mode": "lines+markers", "marker": {"size": packed(np.where(alone, _DOT_PX, 0.0)), "color": color}}
    return {"type": "scatter", **dots, "x": packed(x, exact=True), "y": packed(y), "name": name, "line": style, **more}


def _alone(y: npt.ArrayLike) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Values between two gaps, which a line does not show."""
    known = np.isfinite(np.asarray(y, dtype=float))
    beside = np.zeros_like(known)
    beside[1:] |= known[:-1]
    beside[:-1] |= known[1:]
    alone: np.ndarray[Any, np.dtype[np.bool_]] = known & ~beside
    return alone


def envelope(
    x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, name: str, color: str, **more: Any
) -> list[Trace]:
    """Band between two lines: the range that the rows behind a point cover."""
    edges = np.concatenate((np.asarray(x, dtype=float), np.asarray(x, dtype=float)[::-1]))
    values = np.concatenate((np.asarray(low, dtype=float), np.asarray(high, dtype=float)[::-1]))
    return [{
        "type": "scatter", "mode": "lines", "x": packed(edges, exact=True), "y": packed(values), "name": name,
        "fill": "toself", "fillcolor": translucent(color, 0.25), "line": {"width": 0}, "hoverinfo": "skip", **more,
    }]  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """A labelled horizontal line over the whole width: a trigger, a limit, a target."""

    y: float
    text: str
    color: str
    axis: str = "y"


def marks(items: Sequence[Mark], *, logarithmic: str = "") -> dict[str, Any]:
    """Layout entries of marks. On the axis named `logarithmic` Plotly wants the logarithm for a label's place."""
    return {
        "shapes": [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": m.axis, "y0": m.y, "y1": m.y, "layer": "above",
             "line": {"color": m.color, "width": 1.8, "dash": "dash"}}
            for m in items
        ],
        "annotations": [
            {"xref": "paper", "x": 1, "xanchor": "right", "yref": m.axis, "yanchor": "bottom", "showarrow": False,
             "y": math.log10(m.y) if m.axis == logarithmic else m.y, "text": m.text, "font": {"size": 13.5},
             "borderpad": 1}
            for m in items
        ],
    }  # fmt: skip


def byte_unit(largest_bytes: float) -> tuple[float, str]:
    """Binary unit in which an axis up to `largest_bytes` reads well: (bytes, name)."""
    for power, name in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if largest_bytes >= 2.0**power:
            return 2.0**power, name
    return 2.0**10, "KiB"


def time_axis(end_s: float | None = None, **more: Any) -> dict[str, Any]:
    """X axis that all timeline figures share; `end_s` keeps it from growing beyond the run for the sake of a dot."""
    end = {} if end_s is None else {"autorangeoptions": {"maxallowed": end_s}}
    return {"title": {"text": "simulated time (s)"}, "rangemode": "tozero", "tickformat": ",", **end, **more}

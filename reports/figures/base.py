"""Figure: Plotly traces and layout as plain dictionaries, with title and caption.

Plotly's Python objects serve notebooks only (`graph`): their import takes a second, and the tests already make their
checks. The script of the page sets the colours of text and grid, for light or dark mode.
"""

from __future__ import annotations

import base64
import html
import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypedDict

import numpy as np
import numpy.typing as npt
from lsmlab.reports.numbers import on_page
from lsmlab.reports.palette import translucent

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Graph

Trace = dict[str, Any]
_DOT_PX: Final = 5.0
"""Size of the dot for a point of a line that has no neighbours."""
_LABEL: Final = 34
"""Characters per line of a name on an axis."""


@dataclass(frozen=True)
class Figure:
    """One figure of a page."""

    id: str
    """HTML id."""
    title: str
    caption: str
    """One or two sentences on how to read the figure."""
    traces: list[Trace]
    """Plotly traces; if there are none, the page shows the text `empty`."""
    layout: dict[str, Any] = field(default_factory=dict)
    height_px: int = 380
    timeline: bool = False
    """Whether the x axis is the time of the run; these figures zoom together."""
    empty: str = "Nothing to show."
    before: str = ""
    """HTML above the drawing."""
    after: str = ""
    """HTML below the drawing."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further data for the script of the page."""
    short: str = ""
    """Name in the contents of a page, if it is not the title."""

    def html(self) -> str:
        """Return the section of the figure, into which page.js draws."""
        drawing = (
            f'<div class="figure" id="{self.id}" style="min-height:{self.height_px}px"></div>'
            if self.traces else f'<p class="empty" id="{self.id}">{html.escape(self.empty)}</p>'
        )  # fmt: skip
        caption = f'<p class="caption">{html.escape(on_page(self.caption))}</p>' if self.traces else ""
        heading = f'<section id="section-{self.id}"><h2>{html.escape(on_page(self.title))}</h2>'
        return f"{heading}{caption}{self.before}{drawing}{self.after}</section>"

    def as_json(self) -> dict[str, Any]:
        """Return what page.js draws."""
        return {
            "id": self.id, "traces": self.traces, "layout": self.layout, "height_px": self.height_px,
            "timeline": self.timeline, "extra": dict(self.extra),
        }  # fmt: skip


def figures_json(figures: Iterable[Figure]) -> str:
    """Return figures as the text of a script element."""
    return json.dumps([f.as_json() for f in figures], separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def packed(values: npt.ArrayLike, *, exact: bool = False) -> dict[str, str]:
    """Encode an array in Plotly's binary form: in single precision, or in double precision if `exact` (for times)."""
    kind = "f8" if exact else "f4"
    data = np.ascontiguousarray(np.asarray(values, dtype=f"<{kind}"))
    return {"dtype": kind, "bdata": base64.b64encode(data.tobytes()).decode("ascii")}


def line(x: npt.ArrayLike, y: npt.ArrayLike, name: str, color: str, **more: Any) -> Trace:
    """Return a line through points; a point without neighbours is a dot. `x` is packed in double precision."""
    style = {"color": color, "width": more.pop("width", 1.8)}
    if dash := more.pop("dash", None):
        style["dash"] = dash
    alone = _alone(y)
    dots: Trace = {"mode": "lines"}
    if alone.any():
        dots = {"mode": "lines+markers", "marker": {"size": packed(np.where(alone, _DOT_PX, 0.0)), "color": color}}
    return {"type": "scatter", **dots, "x": packed(x, exact=True), "y": packed(y), "name": name, "line": style, **more}


def _alone(y: npt.ArrayLike) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Mark the values between two gaps, which a line does not show."""
    finite = np.isfinite(np.asarray(y, dtype=float))
    has_neighbour = np.zeros_like(finite)
    has_neighbour[1:] |= finite[:-1]
    has_neighbour[:-1] |= finite[1:]
    alone: np.ndarray[Any, np.dtype[np.bool_]] = finite & ~has_neighbour
    return alone


def envelope(
    x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, name: str, color: str, **more: Any
) -> Trace:
    """Return a band from `low` to `high`: the range of the series rows that one point summarizes.

    Each stretch between two gaps (NaN) is an area of its own; a single point is a vertical stroke.
    """
    places, lowest, highest = (np.asarray(values, dtype=float) for values in (x, low, high))
    gap = np.array([np.nan])
    edges, values = [gap[:0]], [gap[:0]]
    for part in _stretches(np.isfinite(lowest) & np.isfinite(highest)):
        edges += [places[part], places[part][::-1], gap]
        values += [lowest[part], highest[part][::-1], gap]
    pale = translucent(color, 0.25)
    return {
        "type": "scatter", "mode": "lines", "x": packed(np.concatenate(edges), exact=True),
        "y": packed(np.concatenate(values)), "name": name, "fill": "toself", "fillcolor": pale,
        "line": {"width": 1, "color": pale}, "hoverinfo": "skip", **more,
    }  # fmt: skip


def _stretches(known: np.ndarray[Any, np.dtype[np.bool_]]) -> list[slice]:
    """Return the stretches of True, as slices."""
    borders = np.flatnonzero(np.diff(known.astype(np.int8), prepend=0, append=0)).tolist()
    return [slice(begin, end) for begin, end in zip(borders[::2], borders[1::2], strict=True)]


@dataclass(frozen=True)
class Mark:
    """Labelled horizontal line over the whole width, for a trigger, a limit or a target."""

    y: float
    text: str
    color: str
    axis: str = "y"


def marks(items: Sequence[Mark], *, logarithmic: str = "") -> dict[str, Any]:
    """Return the layout entries of marks. On the axis `logarithmic`, Plotly takes logarithms for label positions."""
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


def wrapped(name: str) -> str:
    """Return a name for an axis, in lines of at most `_LABEL` characters."""
    return "<br>".join(html.escape(text) for text in textwrap.wrap(name, _LABEL, break_on_hyphens=False, break_long_words=False))


def without_shared(names: Sequence[str]) -> list[str]:
    """Return names of alternatives without the parts that all of them have; the same names if nothing else is left.

    >>> without_shared(["rocksdb on sata, 4 jobs", "rocksdb on sata, 8 jobs"])
    ['4 jobs', '8 jobs']
    >>> without_shared(["engine.options.max_background_jobs=4 seed=1", "engine.options.max_background_jobs=8 seed=1"])
    ['max_background_jobs=4', 'max_background_jobs=8']
    """
    short = [name.replace("engine.options.", "") for name in names]
    overrides = all("=" in part for name in short for part in name.split(" "))
    separator = " " if overrides else ", "
    parts = [name.split(separator) for name in short]
    shared = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    left = [separator.join(part for part in own if part not in shared) for own in parts]
    return left if all(left) and len(set(left)) == len(set(short)) else short


def number_range(values: Iterable[float], *, zero: bool = False) -> list[float]:
    """Return the ends of a linear axis around `values`, with room at both sides; `zero`: 0 is on the axis.

    Equal values still get a tenth of their size on either side: Plotly's own axis would end 1 above and below them.

    >>> number_range([900.0]), number_range([-4.0, 6.0])
    ([802.8, 997.2], [-4.4, 6.4])
    """
    found = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = (min(0.0, *found), max(0.0, *found)) if zero else (min(found), max(found))
    least = 0.2 * max(abs(low), abs(high)) or 2.0
    lacking = max(0.0, least - (high - low)) / 2.0
    low, high = low - lacking, high + lacking
    room = 0.04 * (high - low)
    return [low - room, high + room]


def log_axis(title: str, values: Sequence[float]) -> dict[str, Any]:
    """Return a logarithmic axis; if `values` span a power of ten, its ticks are at 1, 2 and 5, not at all digits."""
    axis: dict[str, Any] = {"title": {"text": title}, "type": "log"}
    spans_some = values and 0.0 < 5.0 * min(values) < max(values) < 300.0 * min(values)
    return {**axis, "dtick": "D2"} if spans_some else axis


LATENCY_AXIS = {
    "type": "log",
    "tickmode": "array",
    "title": {"text": "latency"},
    "tickvals": [10.0**e for e in range(-7, 5)],
    "ticktext": ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s",
                 "10 s", "100 s", "1,000 s", "10,000 s"],
}  # fmt: skip
"""Logarithmic axis of seconds, labelled at powers of ten."""


class Around(TypedDict):
    """HTML around a drawing."""

    before: str
    after: str


def scrolled(width_px: int) -> Around:
    """Return the HTML around a figure of at least this width: readers with narrow screens scroll in it."""
    return {"before": f'<div class="scroll"><div style="min-width:{width_px}px">', "after": "</div></div>"}


def byte_unit(largest_bytes: float) -> tuple[float, str]:
    """Choose the binary unit of an axis up to `largest_bytes`: (bytes per unit, name)."""
    for power, name in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if largest_bytes >= 2.0**power:
            return 2.0**power, name
    return 2.0**10, "KiB"


def time_axis(end_s: float | None = None, **more: Any) -> dict[str, Any]:
    """Return the x axis of timeline figures; it ends at `end_s` at the latest, if given."""
    end = {} if end_s is None else {"autorangeoptions": {"maxallowed": end_s}}
    return {"title": {"text": "simulated time (s)"}, "rangemode": "tozero", "tickformat": ",", **end, **more}


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

"""Figure of the papers page: simulated effects relative to the published effects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.reports.figures.base import Figure, Trace
from lsmlab.reports.palette import translucent

VERDICT_COLORS: Final = {
    "reproduced": "#009E73", "direction only": "#E69F00", "not reproduced": "#D55E00", "failed": "#8C959F",
}  # fmt: skip
_MOST: Final = 2.5
"""Effects beyond this multiple of the published effect are drawn at the edge; the tooltip gives their values."""


def effects(paper: str, claims: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the simulated effects in units of the published effects, with the accepted ranges."""
    drawn = [(c, p) for c in claims if (p := placed(c)) is not None]
    names = [short_id(c["id"], paper) for c, _ in drawn]
    traces: list[Trace] = [{
        "type": "bar", "orientation": "h", "y": names, "base": [p["accepted"][0] for _, p in drawn],
        "x": [p["accepted"][1] - p["accepted"][0] for _, p in drawn], "name": "accepted", "width": 0.62,
        "marker": {"color": translucent("#8C959F", 0.35)}, "hoverinfo": "skip",
    }]  # fmt: skip
    for verdict, color in VERDICT_COLORS.items():
        of_verdict = [(c, p, n) for (c, p), n in zip(drawn, names, strict=True) if c["verdict"] == verdict]
        if of_verdict:
            traces.append(_dots(of_verdict, verdict, color))
    caption = (
        "1 is the published effect, 0 (the dashed line) is no effect. Ratios have a logarithmic scale, differences "
        "a linear one. The grey range counts as reproduced; a dot is the mean of the simulated runs with its 90 % "
        "interval. Claims of no difference cannot be scaled in this way; they are only in the table."
    )
    layout = {
        "hovermode": "closest", "barmode": "overlay", "legend": {"traceorder": "normal"},
        "xaxis": {"title": {"text": "effect, published = 1"}, "range": [-1.05, _MOST + 0.05]},
        "yaxis": {"autorange": "reversed", "type": "category"},
        "shapes": [{"type": "line", "xref": "x", "yref": "paper", "x0": 0, "x1": 0, "y0": 0, "y1": 1,
                    "line": {"color": "#8C959F", "width": 1.5, "dash": "dash"}}],
    }  # fmt: skip
    title = f"{paper}: simulated and published effects"
    return Figure(
        f"effects-{paper}", title, caption, traces if drawn else [], layout, height_px=130 + 30 * len(drawn),
        empty="No claim of this paper has an effect that was simulated.",
    )  # fmt: skip


def short_id(claim: str, paper: str) -> str:
    """Return the id of a claim without the name of its paper."""
    return claim.removeprefix(f"{paper}.")


def placed(claim: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the positions of a claim's numbers on the axis of effects; None without a scalable, simulated effect."""
    low, high = (math.inf if v is None else float(v) for v in claim["accepted"])
    low = -math.inf if claim["accepted"][0] is None else low
    neutral, value = float(claim["neutral"]), claim["simulated"]
    if value is None or low < neutral < high:
        return None
    published = claim["published"]
    if isinstance(published, str):  # the paper gives no number: use the accepted range
        both = math.isfinite(low) and math.isfinite(high)
        published = (low + high) / 2.0 if both else low if math.isfinite(low) else high
    ratio = neutral == 1.0 and min(published, value) > 0
    scale = _effect(float(published), neutral, ratio)
    if scale == 0.0 or not math.isfinite(scale):
        return None

    def place(v: float) -> float:
        return min(_MOST, max(-1.0, _effect(v, neutral, ratio) / scale))

    ends = sorted((place(low), place(high)))
    whiskers = [place(float(claim[k])) if claim[k] is not None else place(float(value)) for k in ("low", "high")]
    return {"accepted": ends, "value": place(float(value)), "interval": sorted(whiskers)}


def _effect(value: float, neutral: float, ratio: bool) -> float:
    if not ratio:
        return value - neutral
    return math.log(value) if value > 0 else -math.inf


def _dots(items: Sequence[tuple[Mapping[str, Any], dict[str, Any], str]], verdict: str, color: str) -> Trace:
    values = [p["value"] for _, p, _ in items]
    return {
        "type": "scatter", "mode": "markers", "x": values, "y": [n for _, _, n in items], "name": verdict,
        "marker": {"color": color, "size": 11},
        "error_x": {
            "type": "data", "color": color, "thickness": 2, "width": 4,
            "array": [max(0.0, p["interval"][1] - p["value"]) for _, p, _ in items],
            "arrayminus": [max(0.0, p["value"] - p["interval"][0]) for _, p, _ in items],
        },
        "text": [f"{c['id']}<br>published {c['published']}, simulated {c['simulated']:.3g}" for c, _, _ in items],
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip

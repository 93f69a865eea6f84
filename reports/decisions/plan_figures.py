"""Figures of a capacity plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from lsmlab.reports.figures.base import LATENCY_AXIS, Figure, Trace, envelope, log_axis, without_shared, wrapped
from lsmlab.reports.palette import MOVE, RUNS
from lsmlab.sim.studies.plan.answer import CandidateAnswer, PlanAnswer
from lsmlab.sim.studies.plan.growing import rate_growth
from lsmlab.sim.studies.plan.sensitivity import SensitivityRow

Row = CandidateAnswer
_FITS, _FAILS = "#009E73", "#D55E00"
_POINTS: Final = 60
"""Points of a line over the horizon."""
_DAYS: Final = 365.25


def rates(rows: Sequence[Row], peak_per_s: float) -> Figure:
    """Draw the largest sustainable rate of each candidate against the rate of the busiest hour."""
    names = [wrapped(name) for name in without_shared([row.name for row in rows])]
    trace: Trace = {
        "type": "bar", "orientation": "h", "y": names, "x": [max(r.sustainable_per_s, peak_per_s / 1e4) for r in rows],
        "marker": {"color": [_FITS if r.feasible else _FAILS for r in rows]},
        "customdata": [[r.name, r.sustainable_per_s, r.constraint] for r in rows],
        "hovertemplate": "%{customdata[0]}<br>%{customdata[1]:,.0f} operations/s<br>%{customdata[2]}<extra></extra>",
        "showlegend": False,
    }  # fmt: skip
    layout = {
        "hovermode": "closest", "xaxis": log_axis("operations/s", [*trace["x"], peak_per_s]),
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True},
        "shapes": [{"type": "line", "xref": "x", "yref": "paper", "x0": peak_per_s, "x1": peak_per_s, "y0": 0, "y1": 1,
                    "line": {"color": MOVE, "width": 2, "dash": "dash"}}],
    }  # fmt: skip
    caption = (
        f"Largest sustainable rate, all machines together. The dashed line is the busiest hour today, {peak_per_s:,.0f} "
        "operations/s; a green bar carries it within the service levels."
    )
    height = 130 + sum(26 + 17 * name.count("<br>") for name in names)
    return Figure("rates", "Largest sustainable rates", caption, [trace], layout, height_px=height)


def pareto(rows: Sequence[Row]) -> list[Figure]:
    """Draw cost (or headroom, without prices) against the tail; nothing for fewer than two candidates."""
    shown = [r for r in rows if r.feasible and r.planned.levels.get("write_p999")]
    priced = [r for r in shown if r.cost_usd_per_month is not None]
    by_cost = bool(priced)
    left_out = sum(r.feasible for r in rows) - len(priced)
    points = [(r, r.cost_usd_per_month) for r in shown if r.cost_usd_per_month is not None]
    if not by_cost:
        points = [(r, r.headroom) for r in shown]
    if len(points) < 2:
        return []
    traces: list[Trace] = []
    for on_front in (True, False):
        part = [(r, v) for r, v in points if r.pareto is on_front]
        if part:
            traces.append(_points(part, on_front))
    caption = (
        f"{'Cost per month; further left is cheaper' if by_cost else 'No prices are known: headroom; further right is better'}. "
        "Write P99.9 at the planned rate: lower is better. Filled: no other candidate is better in cost, P99.9 and drive life."
    )
    caption += f" {left_out} feasible candidates have no price and are not drawn." if by_cost and left_out else ""
    layout = {
        "hovermode": "closest",
        "xaxis": log_axis("USD per month" if by_cost else "headroom (1 = busiest hour today)", [v for _, v in points]),
        "yaxis": {**LATENCY_AXIS, "title": {"text": "write P99.9"}, "range": _decades([t for tr in traces for t in tr["y"]])},
    }  # fmt: skip
    return [Figure("pareto", "Cost, write P99.9 and drive life", caption, traces, layout)]


def _decades(values_s: Sequence[float]) -> list[float]:
    """Return the whole powers of ten around all values: the labels of the axis stand there, and equal values look equal."""
    return [math.floor(math.log10(min(values_s))) - 0.1, math.ceil(math.log10(max(values_s))) + 0.1]


def _points(part: Sequence[tuple[Row, float]], on_front: bool) -> Trace:
    lives = [r.drive_life_years for r, _ in part]
    return {
        "type": "scatter", "mode": "markers", "name": "on the front" if on_front else "dominated",
        "x": [v for _, v in part], "y": [r.planned.levels["write_p999"] for r, _ in part],
        "marker": {"size": 15, "color": RUNS[0] if on_front else MOVE, "symbol": "circle" if on_front else "circle-open",
                   "line": {"width": 2, "color": RUNS[0] if on_front else MOVE}},
        "customdata": [
            [r.name, "unknown" if life is None else f"{life:.1f} years"] for (r, _), life in zip(part, lives, strict=True)
        ],
        "hovertemplate": "%{customdata[0]}<br>%{x:.4g}, P99.9 %{y:.3g} s<br>drive life %{customdata[1]}<extra></extra>",
    }  # fmt: skip


def _drawn(rows: Sequence[Row]) -> list[Row]:
    """Return the candidates that hold a rate, and the data."""
    return [r for r in rows if r.headroom > 0.0 and (r.feasible or r.resource != "space")]


def headroom_over_time(rows: Sequence[Row], answer: PlanAnswer) -> Figure:
    """Draw sustainable rate over the growing busiest hour, with the 90 % range of the model's error."""
    start = answer.start
    traces: list[Trace] = []
    for row, color in zip(_drawn(rows)[: len(RUNS)], RUNS, strict=False):
        growth, factors = rate_growth(answer.load.growth_per_year, row.headroom, row.grown), row.rate_range or (1.0, 1.0)
        end = answer.horizon_years
        if row.runs_out_by == "space" and row.years_left is not None:
            end = min(end, row.years_left)
        years = [end * i / _POINTS for i in range(_POINTS + 1)]
        days = [(start + timedelta(days=_DAYS * y)).isoformat() for y in years]
        line = [100.0 * (row.headroom / (1.0 + growth) ** y - 1.0) for y in years]
        low, high = ([(v + 100.0) * factor - 100.0 for v in line] for factor in factors)
        band = envelope(range(len(days)), low, high, row.name, color, legendgroup=row.name, showlegend=False)
        traces.append({**band, "x": [*days, *reversed(days)], "y": [*high, *reversed(low)]})
        traces.append({
            "type": "scatter", "mode": "lines", "x": days, "y": line, "name": row.name, "legendgroup": row.name,
            "line": {"color": color, "width": 2.5},
        })  # fmt: skip
    caption = (
        "Sustainable rate above the busiest hour, which grows; where a line crosses 0, the candidate no longer carries the load. "
        "A line ends where the drive is full. Bands: 90 % range of the error of the rate. "
        f"The best {len(traces) // 2} candidates are shown."
    )
    layout = {
        "xaxis": {"type": "date"}, "yaxis": {"title": {"text": "headroom (%)"}, "zeroline": True, "zerolinewidth": 2},
    }  # fmt: skip
    return Figure("headroom", "Headroom over time", caption, traces, layout, height_px=480, empty="No candidate holds any rate.")


def sensitivities(row: Row, number: int) -> Figure:
    """Draw the headroom of one candidate with each input larger and smaller; its end if the space runs out first."""
    found, by_date = row.sensitivity, row.runs_out_by == "space" and all(s.years_left is not None for s in row.sensitivity)

    def value(one: Row | SensitivityRow) -> float:
        return one.years_left or 0.0 if by_date else 100 * (one.headroom - 1)

    ranges = {s.input: max(abs(value(o) - value(row)) for o in found if o.input == s.input) for s in found}
    inputs = sorted(ranges, key=lambda name: -ranges[name])
    unit = "years until rate or space run out" if by_date else "headroom (%)"
    traces: list[Trace] = []
    for sign, color, name in ((-1, RUNS[5], "smaller"), (1, RUNS[1], "larger")):
        part = {s.input: s for s in found if s.change * sign > 0}
        change = abs(next(iter(part.values())).change) if part else 0.0
        traces.append({
            "type": "bar", "orientation": "h", "name": f"{100 * change:.0f} % {name}", "y": inputs, "base": value(row),
            "x": [value(part[i]) - value(row) if i in part else 0.0 for i in inputs],
            "marker": {"color": color},
            "customdata": [value(part[i]) if i in part else None for i in inputs],
            "hovertemplate": f"%{{y}}: %{{customdata:.3g}} {unit}<extra></extra>",
        })  # fmt: skip
    layout = {
        "barmode": "overlay", "hovermode": "closest", "xaxis": {"title": {"text": unit}},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True},
    }  # fmt: skip
    caption = f"Headroom of {row.name} if one input is different; growth moves only the date when it runs out."
    if by_date:
        caption = f"Years until {row.name} no longer carries the load or holds the data, if one input is different."
    title = f"Sensitivity: {row.name}"
    return Figure(f"sensitivity-{number}", title, caption, traces, layout, height_px=150 + 46 * len(inputs))

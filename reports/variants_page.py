"""Page of a comparison of variants: combinations of engines compared with their parents in each setting."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure, Trace, scrolled
from lsmlab.reports.page import Page
from lsmlab.reports.palette import MOVE, RUNS
from lsmlab.reports.parts import Best, Html, Part, Section, Story, Table, heading
from lsmlab.reports.run_data import PAGE
from lsmlab.reports.variants import MEASURES, Measure, Variants, against_parents, read_variants, readings

_COLUMNS: Final = 2
_ROW_PX: Final = 24
_PANEL_PX: Final = 320
"""Least width of a panel."""
_GAP_Y: Final = 0.26
"""Vertical gap between two rows of panels, in units of the figure's height divided by the number of rows."""
_GAP: Final = 0.7
"""Gap between groups of variants, in rows."""


def draw_variants(directory: Path) -> Path:
    """Write DIR/report.html of a comparison of variants; return its path."""
    return variants_page(read_variants(directory)).write(directory / PAGE)


def variants_page(comparison: Variants) -> Page:
    """Return the page of a comparison of variants."""
    sentences = readings(comparison) or ["No variant of this comparison combines others."]
    figures = [panels(comparison, measure, number) for number, measure in enumerate(MEASURES)]
    names = ", ".join(comparison.combinations) or ", ".join(comparison.names)
    many = f"{numbers.plural(len(comparison.settings), 'setting')}, {numbers.plural(comparison.seeds, 'run')} of each"
    footer = f"Better and worse mean {_apart(comparison)}"
    parts: list[Part] = [Story(sentences), *figures, _numbers(comparison)]
    return Page(f"LSMLab: {comparison.description}", f"{names}; {many}", parts, footer)


def _apart(comparison: Variants) -> str:
    """Return what a difference between two variants means."""
    if comparison.seeds > 1:
        return "that the seeds' 90 % intervals do not overlap"
    return "that single runs differ, which may be chance (seed=1,2,3 shows the noise between seeds)"


def _numbers(comparison: Variants) -> Section:
    parts: list[Part] = [Html('<div style="display:flex;flex-wrap:wrap;gap:0 56px">')]
    for setting in comparison.settings:
        rows = [[name, *(_cell(comparison, name, setting, measure) for measure in MEASURES)] for name in comparison.names]
        table = Table(["", *(m.title for m in MEASURES)], rows, style="compare")
        parts += [Html('<div style="min-width:0;max-width:100%">'), heading(setting), table, Html("</div>")]
    caption = f"A star marks a combination that is better than all its parents: {_apart(comparison)}."
    return Section("numbers", "All numbers", [*parts, Html("</div>")], caption)


def _cell(comparison: Variants, name: str, setting: str, measure: Measure) -> str:
    number = comparison.numbers.get((name, setting, measure.title))
    relation = against_parents(comparison, name, setting, measure) if comparison.parents.get(name) else None
    text = "did not run" if number is None else measure.text(number.value)
    return Best(text) if relation is not None and relation[0] > 0 else text


def panels(comparison: Variants, measure: Measure, number: int) -> Figure:
    """Draw one measure: a dot with its 90 % interval per variant, one panel per setting."""
    rows = _rows(comparison)
    traces: list[Trace] = []
    layout: dict[str, Any] = {"hovermode": "closest", "annotations": [], "showlegend": False,
                              "margin": {"l": 70, "r": 40, "t": 36, "b": 46}}  # fmt: skip
    lines = max(1, math.ceil(len(comparison.settings) / _COLUMNS))
    for place, setting in enumerate(comparison.settings):
        axis = "" if place == 0 else str(place + 1)
        for color in dict.fromkeys(row[3] for row in rows):
            of_color = [r for r in rows if r[3] == color and (r[1], setting, measure.title) in comparison.numbers]
            if of_color:
                traces.append(_dots(comparison, measure, setting, of_color, axis))
        layout |= _axes(place, lines, axis, measure, rows)
        layout[f"xaxis{axis}"]["range"] = _range(comparison, measure, setting)
        left, _, top = _domain(place, lines)
        layout["annotations"].append({
            "xref": "paper", "yref": "paper", "x": left, "y": top, "xanchor": "left", "yanchor": "bottom",
            "text": f"<b>{setting}</b>", "showarrow": False, "bgcolor": "rgba(0,0,0,0)", "opacity": 1,
        })  # fmt: skip
    better = "more is better" if measure.better > 0 else "less is better"
    several = f"Mean of {comparison.seeds} runs and its 90 % interval over the seeds" if comparison.seeds > 1 else "Single runs"
    caption = f"{several}; {better}. Coloured: combinations; grey: parents."
    height = 70 + lines * (104 + round(_ROW_PX * (rows[-1][0] + 1))) if rows else 200
    return Figure(
        f"variants-{number}", measure.title, caption, traces, layout, height_px=height, empty="No run has this number.",
        **scrolled(_PANEL_PX * min(_COLUMNS, len(comparison.settings))),
    )  # fmt: skip


def _rows(comparison: Variants) -> list[tuple[float, str, str, str]]:
    """Return (row from the top, variant, label, colour): each combination with its parents, then other variants."""
    rows: list[tuple[float, str, str, str]] = []
    at = 0.0
    for name, color in zip(comparison.combinations, RUNS, strict=False):
        for variant in (name, *comparison.parents[name]):
            label, own_color = (f"<b>{name}</b>", color) if variant == name else (variant, MOVE)
            rows.append((at, variant, label, own_color))
            at += 1.0
        at += _GAP
    listed = {row[1] for row in rows}
    for name in comparison.names:
        if name not in listed:
            rows.append((at, name, name, MOVE))
            at += 1.0
    return rows


def _dots(comparison: Variants, measure: Measure, setting: str, rows: list[tuple[float, str, str, str]], axis: str) -> Trace:
    values = [comparison.numbers[name, setting, measure.title] for _, name, _, _ in rows]
    color = rows[0][3]
    return {
        "type": "scatter", "mode": "markers", "x": [v.value for v in values], "y": [row[0] for row in rows],
        "xaxis": f"x{axis}", "yaxis": f"y{axis}", "marker": {"color": color, "size": 11 if color != MOVE else 9},
        "error_x": {
            "type": "data", "array": [max(0.0, v.high - v.value) for v in values],
            "arrayminus": [max(0.0, v.value - v.low) for v in values], "color": color, "thickness": 2, "width": 3,
        },
        "text": [f"{name}: {measure.text(v.value)}" for (_, name, _, _), v in zip(rows, values, strict=True)],
        "hovertemplate": f"%{{text}}<extra>{setting}</extra>",
    }  # fmt: skip


def _domain(place: int, lines: int) -> tuple[float, float, float]:
    """Return the left end, width and top of a panel, as shares of the figure."""
    column, row = place % _COLUMNS, place // _COLUMNS
    gap_x, gap_y = 0.05, _GAP_Y / lines
    width, height = (1.0 - gap_x) / _COLUMNS, (1.0 - gap_y * (lines - 1)) / lines
    return column * (width + gap_x), width, 1.0 - row * (height + gap_y)


def _range(comparison: Variants, measure: Measure, setting: str) -> list[float]:
    """Return the range of a panel's x axis: from 0, or decimal logarithms that are the same in all panels."""
    of_setting = [n for (_, s, title), n in comparison.numbers.items() if title == measure.title and s == setting]
    if not measure.logarithmic:
        return [0.0, 1.08 * max([measure.floor, *(n.value + 0.6 * (n.high - n.value) for n in of_setting)])]
    ends = [n for (_, _, title), n in comparison.numbers.items() if title == measure.title and n.value > 0]
    if not ends:
        return [0.0, 1.0]
    return [math.log10(min(n.value for n in ends)) - 0.3, math.log10(max(n.value for n in ends)) + 0.3]


def _axes(place: int, lines: int, axis: str, measure: Measure, rows: list[tuple[float, str, str, str]]) -> dict[str, Any]:
    left, width, top = _domain(place, lines)
    height = (1.0 - _GAP_Y / lines * (lines - 1)) / lines
    kind: dict[str, Any] = {"type": "log", "nticks": 5} if measure.logarithmic else {"nticks": 6}
    if measure.metric.unit == "s":
        kind |= {"ticksuffix": "s", "exponentformat": "SI"}
    elif measure.metric.unit == "share":
        kind |= {"tickformat": "~%"}
    return {
        f"xaxis{axis}": {"domain": [left, left + width], "anchor": f"y{axis}", **kind},
        f"yaxis{axis}": {
            "domain": [top - height, top], "anchor": f"x{axis}", "range": [rows[-1][0] + 0.7, -0.7], "tickmode": "array",
            "tickvals": [row[0] for row in rows], "ticktext": [row[2] for row in rows], "zeroline": False,
            "showticklabels": place % _COLUMNS == 0,
        },
    }  # fmt: skip

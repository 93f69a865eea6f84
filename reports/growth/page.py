"""Page of months of growth: numbers of the store by age, and the errors of the windows against a full run."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.reports.figures.base import Figure, Trace
from lsmlab.reports.page import assemble, paragraphs, run_page, section, write_page
from lsmlab.reports.palette import RUNS
from lsmlab.reports.parts import Html, html_table
from lsmlab.reports.run_data import PAGE, load_run
from lsmlab.reports.study_kind import StudyKind
from lsmlab.reports.text.growth import age_text, error_cells, growth_text, row_cells
from lsmlab.sim.studies.growth.grow import QUANTITIES, Growth, GrowthRequest, GrowthWindow, cost, grow

_AXES: Final = {
    "ops_per_s": ("Throughput", "operations / s", 1.0),
    "write_p99_s": ("Write P99", "s", 1.0),
    "write_amplification": ("Write amplification", "bytes written per flushed byte", 1.0),
    "stalled": ("Time in write stalls", "% of the time", 100.0),
    "space_bytes": ("Space", "GB", 1e-9),
    "life_years": ("Device life at the rate of the window", "years", 1.0),
}
"""Title, unit and factor of each figure."""
_MOST_PAGES: Final = 8
"""Number of windows with a page of their own, to which the table links."""
_UNITS: Final = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0))
"""Units of an age in s; a figure takes the first one of which the last window is at least two old."""


def draw_growth(answer: Growth, directory: Path) -> Path:
    """Write DIR/report.html of an answer of `lsmlab grow`; return its path."""
    folders = [directory / f"window_{number}" for number in range(1, len(answer.windows) + 1)]
    for folder in folders[:_MOST_PAGES]:
        write_page(folder / PAGE, run_page(load_run(folder)))
    return write_page(directory / PAGE, growth_page(answer))


def growth_page(answer: Growth) -> str:
    """Return the whole HTML page of an answer."""
    figures = [_figure(answer, name) for name in _AXES if any(getattr(row, name) is not None for row in answer.windows)]
    heads = ["age", "keys", *(q.label for q in QUANTITIES.values()), "endurance used"]
    body = (
        f"{paragraphs(_story(answer))}{_table('Windows', heads, [_linked(i, r) for i, r in enumerate(answer.windows, 1)])}"
        f"{_errors(answer)}{''.join(section(figure) for figure in figures)}"
    )
    subtitle = f"{len(answer.windows)} windows of {age_text(answer.window_s)} over {age_text(answer.horizon_s)}"
    return assemble(f"Growth of {answer.store}", subtitle, body, figures, "lsmlab grow. This file needs no network.")


def _story(answer: Growth) -> list[str]:
    first, last = answer.windows[0], answer.windows[-1]
    forms = {name: q.text for name, q in QUANTITIES.items()}
    parts = [
        f"{QUANTITIES[name].label} from {forms[name](getattr(first, name))} to {forms[name](getattr(last, name))}"
        for name in ("ops_per_s", "write_amplification", "stalled", "space_bytes", "life_years")
        if getattr(first, name) is not None and getattr(last, name) is not None
    ]
    found = [f"From the first window to the last one, {age_text(last.age_s)} after the start: {'; '.join(parts)}."]
    found.append(
        f"Each window begins with a prepared tree of the keys inserted so far; {age_text(answer.warm_s)} are simulated "
        f"before its {age_text(answer.window_s)} are measured, and no time between two windows is simulated."
    )
    if last.endurance_used is not None:
        found.append(f"Until then the store writes {100 * last.endurance_used:.2g} % of the rated writes of the device.")
    return found


def _linked(number: int, row: GrowthWindow) -> list[str]:
    age, *others = row_cells(row)
    if number > _MOST_PAGES:
        return [age, *others]
    return [Html(f'<a href="window_{number}/report.html">{html.escape(age)}</a>'), *others]


def _errors(answer: Growth) -> str:
    if answer.errors is None:
        return ""
    rows = [error_cells(answer, i) for i in range(len(answer.windows))]
    return _table("Errors against one run over the whole horizon", ["age", *(q.label for q in QUANTITIES.values())], rows)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{html_table(heads, rows, named=False)}</section>"


def _figure(answer: Growth, name: str) -> Figure:
    title, unit, factor = _AXES[name]
    last_s = answer.windows[-1].age_s
    age, age_s = next((one for one in _UNITS if last_s >= 2.0 * one[1]), _UNITS[-1])
    ages = [row.age_s / age_s for row in answer.windows]
    traces = [_points(ages, [getattr(row, name) for row in answer.windows], factor, "windows", RUNS[0], "lines+markers")]
    if answer.full is not None:
        traces.append(_points(ages, [row[name] for row in answer.full], factor, "full run", RUNS[4], "markers"))
    form = {"tickformat": "~s", "ticksuffix": "s"} if unit == "s" else {}
    layout = {
        "hovermode": "closest", "xaxis": {"title": {"text": f"age of the store ({age})"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": unit}, "rangemode": "tozero", **form},
    }  # fmt: skip
    caption = "Measured in the windows; the line between them joins the points." + (
        " Points of the full run are those of the same times." if answer.full is not None else ""
    )
    return Figure(name.replace("_", "-"), title, caption, traces, layout, height_px=300)


def _points(
    ages: Sequence[float], values: Sequence[float | None], factor: float, name: str, color: str, mode: str
) -> Trace:
    return {
        "type": "scatter", "mode": mode, "name": name, "x": list(ages), "y": [None if v is None else factor * v for v in values],
        "line": {"color": color, "width": 2}, "marker": {"color": color, "size": 9},
    }  # fmt: skip


GROW = StudyKind(
    "grow", "growth.json", GrowthRequest, grow, cost, growth_text, draw_growth, "fewer or shorter runs",
    "lsmlab grow experiment=growth --set workload.rate=10k --horizon 180d",
)  # fmt: skip

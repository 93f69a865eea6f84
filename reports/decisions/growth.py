"""Months of growth: numbers of the store by age, and the errors of the windows against a full run."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.reports import numbers
from lsmlab.reports.conclusion import Conclusion, bottleneck_sentence, doubt_of
from lsmlab.reports.figures.base import Figure, Trace
from lsmlab.reports.page import Page
from lsmlab.reports.palette import RUNS
from lsmlab.reports.parts import Html, Section, Table
from lsmlab.reports.run_data import PAGE
from lsmlab.reports.study_kind import StudyKind
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
_MAIN: Final = ("ops_per_s", "write_amplification", "stalled", "space_bytes", "life_years")
"""Numbers of the conclusion."""
_MOST_PAGES: Final = 8
"""Number of windows with a page of their own, to which the table links."""
_UNITS: Final = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0))
"""Units of an age in s; a figure takes the first one of which the last window is at least two old."""


def growth_page(answer: Growth, _folder: Path) -> Page:
    """Return the page of an answer."""
    figures = [_figure(answer, name) for name in _AXES if any(getattr(row, name) is not None for row in answer.windows)]
    windows = Section("windows", "Windows", [_windows(answer, linked=True)])
    errors = [Section("errors", "Errors against one run over the whole horizon", [table]) for table in _errors(answer)]
    subtitle = f"{len(answer.windows)} windows of {age_text(answer.window_s)} over {age_text(answer.horizon_s)}"
    return Page(f"Growth of {answer.store}", subtitle, [windows, *errors, *figures], answer.command)


def conclude(answer: Growth) -> Conclusion:
    """Return the conclusion: how the numbers change with the age, why, and how sure that is."""
    first, last = answer.windows[0], answer.windows[-1]
    changes = [change for name in _MAIN if (change := _change(name, first, last))]
    keys = f"grows from {first.keys / 1e6:,.4g} M to {last.keys / 1e6:,.4g} M keys"
    more = []
    if last.endurance_used is not None:
        more.append(f"Until then the store writes {100 * last.endurance_used:.2g} % of the rated writes of the device.")
    if last.life_years is not None:
        life = QUANTITIES["life_years"].text(last.life_years)
        more.append(f"At the rate of the last window, all its rated writes last {life}.")
    unsettled = sum(state.unsettled is not None for state in answer.states)
    doubt = f"With {unsettled} of {numbers.plural(len(answer.windows), 'window')} not settled: within" if unsettled else "Within"
    return Conclusion(
        f"{doubt} {age_text(last.age_s)} {answer.store} {keys}: {'; '.join(changes)}.", more, why=_why(answer),
        would_help=["`lsmlab plan` compares drives, options and numbers of machines for this load (`keys_growth_per_year`)."],
        how_sure=_how_sure(answer), command=answer.command,
    )  # fmt: skip


def _change(name: str, first: GrowthWindow, last: GrowthWindow) -> str:
    """Return how a number changes from the first window to the last one; "" if it is unknown."""
    before, after = getattr(first, name), getattr(last, name)
    if before is None or after is None:
        return ""
    quantity = QUANTITIES[name]
    if quantity.text(before) == quantity.text(after):
        return f"{quantity.label} stays {quantity.text(after)}"
    return f"{quantity.label} from {quantity.text(before)} to {quantity.text(after)}"


def _why(answer: Growth) -> list[str]:
    if not answer.states:
        return []
    states = zip(answer.windows, answer.states, strict=True)
    overloads = [f"After {age_text(w.age_s)} the store {s.overload}." for w, s in states if s.overload]
    ends = {age_text(answer.windows[i].age_s): bottleneck_sentence(answer.states[i].bottleneck) for i in (0, -1)}
    return [*overloads[:1], *(f"After {age}: {text}" for age, text in ends.items() if text)]


def _how_sure(answer: Growth) -> list[str]:
    sentences = [
        f"Each window begins with a prepared tree of the keys inserted so far; {age_text(answer.warm_s)} are simulated before "
        f"its {age_text(answer.window_s)} are measured, and no time between two windows is simulated. One seed."
    ]  # fmt: skip
    if (errors := answer.errors) is not None:
        worst = {name: max((abs(e) for e in errors[name] if e is not None), default=0.0) for name in _MAIN if name in errors}
        texts = [f"{QUANTITIES[name].label} {_error(name, value).lstrip('+')}" for name, value in worst.items()]
        sentences.append(f"Largest errors against one run over the whole horizon: {', '.join(texts)}.")
    else:
        sentences.append("docs/how-to/grow.md has errors of windows against a full run; `--check` measures them for this store.")
    doubts = [f"{age_text(w.age_s)} ({s.unsettled})" for w, s in zip(answer.windows, answer.states, strict=False) if s.unsettled]
    if doubts:
        sentences.append(f"Not settled in the windows at {'; '.join(doubts)}: lengthen `--warm` and `--window`.")
    elif answer.states:
        sentences.append("The store had settled in all windows.")
    return sentences


def growth_text(answer: Growth) -> str:
    """Return the table of windows, and the errors against the full run if there is one."""
    title = (
        f"{answer.store}: {age_text(answer.horizon_s)} of growth in {len(answer.windows)} windows of "
        f"{age_text(answer.window_s)} after {age_text(answer.warm_s)} of warm-up; "
        f"{answer.simulated_s / answer.horizon_s:.2g} of the time is simulated"
    )
    lines = [title, "", *_windows(answer).lines()]
    for table in _errors(answer):
        lines += ["", "Errors against one run over the whole horizon, at the same times:", "", *table.lines()]
    return "\n".join(lines) + "\n"


def age_text(age_s: float) -> str:
    """Format an age of a store.

    >>> [age_text(s) for s in (90.0, 5400.0, 200000.0, 3e7)]
    ['1.5 min', '1.5 h', '2.31 d', '347 d']
    """
    for unit, length_s in (("d", 86400.0), ("h", 3600.0)):
        if age_s >= length_s:
            return f"{age_s / length_s:.3g} {unit}" if age_s < 100 * length_s else f"{age_s / length_s:.0f} {unit}"
    return f"{age_s / 60.0:.3g} min"


def _windows(answer: Growth, *, linked: bool = False) -> Table:
    """Return age, keys, numbers and used endurance of each window; if `linked`, the age leads to the page of its run."""
    rows = [_cells(row) for row in answer.windows]
    doubts = [doubt_of(state) for state in answer.states]
    if any(doubts):
        rows = [[*row, doubt] for row, doubt in zip(rows, doubts, strict=True)]
    for number, row in enumerate(rows[: _MOST_PAGES if linked else 0], 1):
        row[0] = Html(f'<a href="window_{number}/{PAGE}">{html.escape(row[0])}</a>')
    more = [""] if any(doubts) else []
    return Table(["age", "keys", *(q.label for q in QUANTITIES.values()), "endurance used", *more], rows, named=False)


def _cells(row: GrowthWindow) -> list[str]:
    used = row.endurance_used
    own = [q.text(getattr(row, name)) for name, q in QUANTITIES.items()]
    return [age_text(row.age_s), f"{row.keys / 1e6:,.4g} M", *own, "unknown" if used is None else f"{100 * used:.2g} %"]


def _errors(answer: Growth) -> list[Table]:
    """Return the errors of each window against the full run; nothing without one."""
    errors = answer.errors
    if errors is None:
        return []
    rows = [
        [age_text(row.age_s), *(_error(name, values[number]) for name, values in errors.items())]
        for number, row in enumerate(answer.windows)
    ]
    return [Table(["age", *(q.label for q in QUANTITIES.values())], rows, named=False)]


def _error(name: str, error: float | None) -> str:
    if error is None:
        return "unknown"
    return f"{100 * error:+.1f} {'points' if QUANTITIES[name].absolute else '%'}"


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


def _points(ages: Sequence[float], values: Sequence[float | None], factor: float, name: str, color: str, mode: str) -> Trace:
    return {
        "type": "scatter", "mode": mode, "name": name, "x": list(ages), "y": [None if v is None else factor * v for v in values],
        "line": {"color": color, "width": 2}, "marker": {"color": color, "size": 9},
    }  # fmt: skip


def _runs(answer: Growth, folder: Path) -> list[Path]:
    """Return the folders of the first windows."""
    return [folder / f"window_{number}" for number in range(1, min(len(answer.windows), _MOST_PAGES) + 1)]


GROW = StudyKind(
    "grow", "growth.json", GrowthRequest, grow, cost, conclude, growth_text, growth_page, "fewer or shorter runs",
    "lsmlab grow experiment=growth --set workload.rate=10k --horizon 180d", runs=_runs,
)  # fmt: skip

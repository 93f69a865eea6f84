"""Page of a search: the best point on new seeds, what each setting contributes, and all points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.reports.decisions.change_tables import differences_table, options_section
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.changes import change_figure
from lsmlab.reports.figures.search import importance_figure, points_figure, progress_figure
from lsmlab.reports.page import assemble, paragraphs, section, write_page
from lsmlab.reports.parts import html_section, html_table
from lsmlab.reports.run_data import PAGE
from lsmlab.reports.study_kind import StudyKind
from lsmlab.reports.text.tuning import tuning_text
from lsmlab.reports.text.words import change_text, interval_text
from lsmlab.sim.studies.goals import GOALS
from lsmlab.sim.studies.tune import Tuning, TuningRequest, TuningVerdict, cost, tune

_FEWEST: Final = 2
"""Number of points from which on figures of all points say something."""


def draw_tuning(found: Tuning, directory: Path) -> Path:
    """Write DIR/report.html of a search; return its path."""
    return write_page(directory / PAGE, tuning_page(found))


def tuning_page(found: Tuning) -> str:
    """Return the whole HTML page of a search."""
    goals = found.goals
    history = found.history
    figures = []
    if found.verdict:
        figures.append(_contributions(found, found.verdict))
    if len(history) >= _FEWEST:
        figures += [progress_figure(goal, history) for goal in goals]
        figures.append(points_figure(history, goals))
    if found.importance:
        figures.append(importance_figure(found.importance))
    body = (
        f"{paragraphs(_story(found))}{_verdict(found)}{''.join(section(figure) for figure in figures)}"
        f"{options_section('Best point as an OPTIONS file', found.options)}{_front(found)}"
    )
    store = Path(found.store).name
    wanted = ", ".join(f"{'higher' if GOALS[g].higher_is_better else 'lower'} {GOALS[g].label}" for g in goals)
    subtitle = f"Goal: {wanted}; searched: {', '.join(key.replace('engine.options.', '') for key in found.space)}"
    footer = f"lsmlab tune {store}. This file needs no network."
    return assemble(f"Tuning of {store}", subtitle, body, figures, footer)


def _story(found: Tuning) -> list[str]:
    counts = found.points
    parts = [
        f"{counts.complete} points ran in full", f"a short window pruned {counts.pruned}" if counts.pruned else "",
        f"{counts.failed} were not possible" if counts.failed else "",
    ]  # fmt: skip
    effort = f"{'; '.join(part for part in parts if part)}."
    verdict = found.verdict
    if verdict is None or found.best is None:
        return [f"{effort} No point holds the limits."]
    goal = GOALS[found.goals[0]]
    change = next(d for d in verdict.differences if d.metric == goal.name)
    between = f" ({interval_text(change)})" if change.low is not None else ""
    useless = [p.override.replace("engine.options.", "") for p in verdict.parts if not p.matters]
    sentences = [
        f"The best point, {found.best.replace('engine.options.', '')}, changes {goal.label} by "
        f"{change_text(change)}{between}: {goal.form(change.present)} now, "
        f"{goal.form(change.alternative)} with it.",
        f"The {len(verdict.seeds)} seeds of this check are new to the search. {effort}",
    ]
    if useless:
        sentences.append(f"Leave out {' and '.join(useless)}: without it nothing changes.")
    return sentences


def _contributions(found: Tuning, verdict: TuningVerdict) -> Figure:
    """Return the figure of the best point's change and of the part that each setting has in it."""
    goal = GOALS[found.goals[0]]
    rows = [("best point", d) for d in verdict.differences if d.metric == goal.name]
    for part in verdict.parts:
        rows += [(f"part of {part.override}", d) for d in part.differences if d.metric == goal.name]
    return change_figure(goal, rows)


def _verdict(found: Tuning) -> str:
    if not found.verdict:
        return ""
    caption = "Present state against the best point; the intervals contain the model's own error."
    return html_section("verdict", "Best point on new seeds", differences_table(found.verdict.differences), caption)


def _front(found: Tuning) -> str:
    goals: Sequence[str] = found.goals
    if len(goals) < 2 or not found.front:
        return ""
    rows = [
        (name.replace("engine.options.", ""), *(GOALS[goal].form(value) for goal, value in zip(goals, values, strict=True)))
        for name, values in found.front
    ]
    caption = "No other point is as good in all goals and better in one."
    return html_section("front", "Pareto front", html_table(["point", *(GOALS[goal].label for goal in goals)], rows), caption)


TUNE = StudyKind(
    "tune", "tuning.json", TuningRequest, tune, cost, tuning_text, draw_tuning, "fewer --trials",
    "lsmlab tune mystore engine.options.write_buffer_size=8MiB..256MiB engine.options.max_background_jobs=2..16 --goal p999 "
    "--at-most space_amp=1.5",
)  # fmt: skip

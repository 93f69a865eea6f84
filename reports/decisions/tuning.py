"""Result of a search: the best point on new seeds, what each setting contributes, and all points."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lsmlab.reports.conclusion import Conclusion
from lsmlab.reports.differences import (
    change_with_interval,
    differences_table,
    options_lines,
    options_section,
    short,
    values_text,
    wanted,
)
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.changes import change_figure
from lsmlab.reports.figures.search import importance_figure, points_figure, progress_figure
from lsmlab.reports.page import Page
from lsmlab.reports.parts import Part, Section, Table, wrapped
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.goals import GOALS
from lsmlab.sim.studies.metrics import BY_NAME
from lsmlab.sim.studies.tune import Tuning, TuningRequest, TuningVerdict, cost, tune

_FEWEST: Final = 2
"""Number of points from which on figures of all points say something."""
_SHOWN: Final = 5
"""Points of the front that are printed."""


def tuning_page(found: Tuning, _folder: Path) -> Page:
    """Return the page of a search."""
    history = found.history
    parts: list[Part] = []
    if found.verdict:
        caption = "Present state against the best point; the intervals contain the model's own error."
        table = differences_table(found.verdict.differences)
        parts += [Section("verdict", "Best point on new seeds", [table], caption), _contributions(found, found.verdict)]
    if len(history) >= _FEWEST:
        parts += [*(progress_figure(goal, history) for goal in found.goals), points_figure(history, found.goals)]
    if found.importance:
        parts.append(importance_figure(found.importance))
    parts += [*options_section("Best point as an OPTIONS file", found.options), *_front(found)]
    store = Path(found.store).name
    subtitle = f"Goal: {_goals(found)}; searched: {', '.join(map(short, found.space))}"
    return Page(f"Tuning of {store}", subtitle, parts, f"lsmlab tune {store}")


def conclude(found: Tuning) -> Conclusion:
    """Return the conclusion."""
    first, *more = _story(found)
    return Conclusion(first, more, command=f"lsmlab tune {found.store}")


def tuning_text(found: Tuning) -> str:
    """Return the best point, its differences on new seeds, the contribution of each setting, and the OPTIONS file."""
    goals, counts, verdict = [GOALS[goal] for goal in found.goals], found.points, found.verdict
    lines = [
        f"Tuning of {found.store}: {_goals(found)}",
        f"{counts.complete} points simulated, {counts.pruned} pruned by a short window, {counts.failed} not possible",
    ]
    if verdict is None:
        return "\n".join([*lines, "No point holds the limits."]) + "\n"
    if len(goals) > 1:
        lines += ["", "Pareto front"]
        for name, values in found.front[:_SHOWN]:
            lines += wrapped("  ", f"{', '.join(g.form(v) for g, v in zip(goals, values, strict=True))}: {name}")
        more = len(found.front) - _SHOWN
        lines += [f"  and {more} more points"] if more > 0 else []
    lines += ["", *wrapped("best            ", found.best or "")]
    lines.append(f"on {len(verdict.seeds)} seeds that the search did not use, with 90 % intervals:")
    shown = {g.name for g in goals} | {"ops_per_s", "write_latency_s.p999", "stall_fraction", "write_amplification"}
    lines += [f"  {_difference(difference)}" for difference in verdict.differences if difference.metric in shown]
    if verdict.parts:
        lines += ["", "contribution of each setting (change from the tuned store without it):"]
        for part in verdict.parts:
            text = "; ".join(_difference(d) for d in part.differences) if part.matters else "no difference: leave it out"
            lines += wrapped("  ", f"{short(part.override)}: {text}")
    if found.importance:
        shares = ", ".join(f"{short(key)} {share:.0%}" for key, share in found.importance.items())
        lines += ["", *wrapped("importance of each setting, over all points: ", shares)]
    return "\n".join([*lines, *options_lines("OPTIONS file", found.options)]) + "\n"


def _goals(found: Tuning) -> str:
    return ", ".join(wanted(GOALS[goal]) for goal in found.goals)


def _difference(found: Difference) -> str:
    label = BY_NAME[found.metric].label
    if found.tie:
        return f"{label}: exactly the same"
    return f"{label} {values_text(found)}, {change_with_interval(found)}"


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
    useless = [short(p.override) for p in verdict.parts if not p.matters]
    sentences = [
        f"The best point, {short(found.best)}, changes {goal.label} by {change_with_interval(change)}: "
        f"{goal.form(change.present)} now, {goal.form(change.alternative)} with it.",
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


def _front(found: Tuning) -> list[Section]:
    goals = [GOALS[goal] for goal in found.goals]
    if len(goals) < 2 or not found.front:
        return []
    rows = [(short(name), *(goal.form(value) for goal, value in zip(goals, values, strict=True))) for name, values in found.front]
    caption = "No other point is as good in all goals and better in one."
    return [Section("front", "Pareto front", [Table(["point", *(goal.label for goal in goals)], rows)], caption)]


TUNE = StudyKind(
    "tune", "tuning.json", TuningRequest, tune, cost, conclude, tuning_text, tuning_page, "fewer --trials",
    "lsmlab tune mystore engine.options.write_buffer_size=8MiB..256MiB engine.options.max_background_jobs=2..16 --goal p999 "
    "--at-most space_amp=1.5",
)  # fmt: skip

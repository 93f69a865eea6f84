"""Result of a search: the best point on new seeds, what each setting contributes, and all points."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lsmlab.reports.conclusion import (
    Conclusion,
    begun,
    bottleneck_sentence,
    open_loop_sentences,
    states_sentence,
    sure_of_differences,
)
from lsmlab.reports.differences import (
    change_with_interval,
    differences_table,
    options_lines,
    options_section,
    short,
    values_text,
    verdict_text,
    wanted,
)
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.changes import change_figure
from lsmlab.reports.figures.search import importance_figure, points_figure, progress_figure
from lsmlab.reports.page import Page
from lsmlab.reports.parts import Part, Section, Table, wrapped
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.metrics import BY_NAME
from lsmlab.sim.studies.sweep.space import parse_space
from lsmlab.sim.studies.tune import Tuning, TuningRequest, TuningVerdict, cost, helps, tune
from lsmlab.sim.studies.whatif import PRESENT

_FEWEST: Final = 2
"""Number of points from which on figures of all points say something."""
_TAILS: Final = ("open_loop_latency_s.p999", "write_latency_s.p999")
"""Latency of 1 write in 1,000: where clients wait for the store, the first is known, and judges it better."""
_SHOWN: Final = 5
"""Points of the front that are printed."""


def tuning_page(found: Tuning, _folder: Path) -> Page:
    """Return the page of a search."""
    history = found.history
    parts: list[Part] = []
    if found.verdict:
        caption = f"Present state against {' '.join(map(short, found.verdict.settings))}."
        table = differences_table(found.verdict.differences)
        parts += [Section("verdict", "Best point on new seeds", [table], caption), *_contributions(found, found.verdict)]
    if len(history) >= _FEWEST:
        metrics = {goal: BY_NAME[name] for goal, name in zip(found.goals, found.metrics, strict=True)}
        parts += [*(progress_figure(goal, metric, history) for goal, metric in metrics.items()), points_figure(history, metrics)]
    if found.importance:
        parts.append(importance_figure(found.importance))
    parts += [*options_section("Settings that help, as an OPTIONS file", found.options), *_front(found)]
    store = Path(found.store).name
    keys = [short(text.partition("=")[0]) for text in found.space]
    subtitle = f"Goal: {_goals(found)}; searched: {', '.join(keys)}"
    return Page(f"Tuning of {store}", subtitle, parts, f"lsmlab tune {store}")


def conclude(found: Tuning) -> Conclusion:
    """Return the conclusion: what the recommended settings change on new seeds."""
    verdict = found.verdict
    if verdict is None:
        return Conclusion(
            "No point holds the limits.", [_effort(found)], would_help=["Wider ranges, or higher limits."],
            how_sure=["Each point ran with two seeds."], command=found.command,
        )  # fmt: skip
    settings = " ".join(map(short, verdict.settings))
    states = {PRESENT: verdict.present_state, settings: verdict.tuned_state}
    return Conclusion(
        begun(states.values(), _answer(found, verdict, settings)), [*_left_out(verdict), *_no_file(found, verdict)],
        why=[f"{name}: {bottleneck_sentence(state.bottleneck)}" for name, state in states.items() if state.bottleneck],
        would_help=[*_at_the_end(found, verdict), "A larger `--trials` extends the search; `lsmlab advise` tries other keys."],
        how_sure=[
            states_sentence(states), sure_of_differences(len(verdict.seeds)),
            f"These seeds are new to the search. {_effort(found)}",
            *open_loop_sentences(found.metrics),
            "Not simulated: the change itself, such as a restart, and other programs on the machine.",
        ],
        command=found.command,
    )  # fmt: skip


def tuning_text(found: Tuning) -> str:
    """Return the differences of the best point on new seeds, the contribution of each setting, and the OPTIONS file."""
    metrics, counts, verdict = [BY_NAME[name] for name in found.metrics], found.points, found.verdict
    lines = [
        f"Tuning of {found.store}: {_goals(found)}",
        f"{counts.complete} points simulated, {counts.pruned} pruned at half time, {counts.failed} not possible",
    ]
    if verdict is None:
        return "\n".join(lines) + "\n"
    if len(metrics) > 1:
        lines += ["", "Pareto front"]
        for name, values in found.front[:_SHOWN]:
            lines += wrapped("  ", f"{', '.join(m.form(v) for m, v in zip(metrics, values, strict=True))}: {name}")
        more = len(found.front) - _SHOWN
        lines += [f"  and {more} more points"] if more > 0 else []
    lines += ["", *wrapped("best            ", " ".join(verdict.settings))]
    lines.append(f"on {len(verdict.seeds)} seeds that the search did not use, with 90 % intervals:")
    tail = next((name for name in _TAILS if verdict.of(name) is not None), "")
    shown = {*found.metrics, "ops_per_s", tail, "stall_fraction", "write_amplification"}
    lines += [f"  {_difference(difference)}" for difference in verdict.differences if difference.metric in shown]
    if verdict.parts:
        lines += ["", "contribution of each setting (change from the best point without it):"]
        for part in verdict.parts:
            text = "; ".join(_difference(d) for d in part.differences)
            lines += wrapped("  ", f"{short(part.override)}: {text}{'' if part.matters else '; does not help'}")
    if found.importance:
        shares = ", ".join(f"{short(key)} {share:.0%}" for key, share in found.importance.items())
        lines += ["", *wrapped("importance of each setting, over all points: ", shares)]
    return "\n".join([*lines, *options_lines("OPTIONS file", found.options)]) + "\n"


def _goals(found: Tuning) -> str:
    return ", ".join(wanted(BY_NAME[name]) for name in found.metrics)


def _difference(found: Difference) -> str:
    label = BY_NAME[found.metric].label
    if found.tie:
        return f"{label}: exactly the same"
    doubt = "" if found.certain and found.settled else f" ({verdict_text(found).removeprefix('beyond the error, ')})"
    return f"{label} {values_text(found)}, {change_with_interval(found)}{doubt}"


def _answer(found: Tuning, verdict: TuningVerdict, settings: str) -> str:
    """Return what the settings change in the first goal, or that a store cannot keep up."""
    goal = BY_NAME[found.metrics[0]]
    change = verdict.of(goal.name)
    if verdict.mends_overload:
        return f"{settings} keeps up with the load; the present state {verdict.present_state.overload}."
    if change is None:
        return f"{settings}: {verdict.tuned_state.overload or verdict.present_state.overload or f'{goal.label} is unknown'}."
    values = f"{goal.form(change.present)} now, {goal.form(change.alternative)} with it"
    if change.tie:
        return f"{settings} gives exactly the same {goal.label} as the present state: {goal.form(change.present)}."
    sure = "" if change.certain else f", {verdict_text(change)}"
    return f"{settings} changes {goal.label} by {change_with_interval(change)}{sure}: {values}."


def _left_out(verdict: TuningVerdict) -> list[str]:
    """Return which settings of the best point are not recommended."""
    if not verdict.left_out:
        return []
    names = " and ".join(map(short, verdict.left_out))
    return [f"The best point also had {names}, which does not help; these numbers are without it."]


def _no_file(found: Tuning, verdict: TuningVerdict) -> list[str]:
    """Return why there is no OPTIONS file."""
    better = any(helps(BY_NAME[name], verdict.of(name)) for name in found.metrics)
    if found.options is not None or verdict.mends_overload or better:
        return []
    return ["No OPTIONS file was written: no goal is certainly better."]


def _at_the_end(found: Tuning, verdict: TuningVerdict) -> list[str]:
    """Return the settings whose value is at the end of their range: a wider range may give more."""
    ends = {d.key: (d.range.at(0.0), d.range.at(1.0)) for d in parse_space(found.space).dimensions if d.range is not None}
    pairs = [text.partition("=") for text in verdict.settings]
    names = [short(f"{key}={value}") for key, _, value in pairs if value in ends.get(key, ())]
    return [f"A wider range may give more: {' and '.join(names)} is at the end of its range."] if names else []


def _effort(found: Tuning) -> str:
    counts = found.points
    parts = [
        f"{counts.complete} points ran in full", f"{counts.pruned} clear losers ran half as long" if counts.pruned else "",
        f"{counts.failed} were not possible" if counts.failed else "",
    ]  # fmt: skip
    return f"Of the search, {'; '.join(part for part in parts if part)}."


def _contributions(found: Tuning, verdict: TuningVerdict) -> list[Figure]:
    """Return the figure of the best point's change and of the part that each setting has in it; none without a change."""
    goal = BY_NAME[found.metrics[0]]
    rows = [("best point", d) for d in verdict.differences if d.metric == goal.name]
    for part in verdict.parts:
        rows += [(f"part of {part.override}", d) for d in part.differences if d.metric == goal.name]
    return [change_figure(goal, rows)] if rows else []


def _front(found: Tuning) -> list[Section]:
    goals = [BY_NAME[name] for name in found.metrics]
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

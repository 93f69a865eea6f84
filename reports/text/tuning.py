"""Result of a search as text for the terminal."""

from __future__ import annotations

from typing import Final

from lsmlab.reports.text.words import change_text, interval_text, wrapped
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.goals import GOALS
from lsmlab.sim.studies.metrics import BY_NAME
from lsmlab.sim.studies.tune import Tuning

_SHOWN: Final = 5
"""Points of the front that are printed."""


def tuning_text(found: Tuning) -> str:
    """Return the best point, its differences on new seeds, the contribution of each setting, and the OPTIONS file."""
    goals = [GOALS[goal] for goal in found.goals]
    counts = found.points
    lines = [
        f"Tuning of {found.store}: " + ", ".join(f"{'higher' if g.higher_is_better else 'lower'} {g.label}" for g in goals),
        f"{counts.complete} points simulated, {counts.pruned} pruned by a short window, {counts.failed} not possible",
    ]
    if found.verdict is None:
        return "\n".join([*lines, "No point holds the limits."]) + "\n"
    if len(goals) > 1:
        lines += ["", "Pareto front"]
        for name, values in found.front[:_SHOWN]:
            lines += wrapped("  ", f"{', '.join(g.form(v) for g, v in zip(goals, values, strict=True))}: {name}")
        more = len(found.front) - _SHOWN
        lines += [f"  and {more} more points"] if more > 0 else []
    verdict = found.verdict
    lines += ["", *wrapped("best            ", found.best or "")]
    lines.append(f"on {len(verdict.seeds)} seeds that the search did not use, with 90 % intervals:")
    shown = {g.name for g in goals} | {"ops_per_s", "write_latency_s.p999", "stall_fraction", "write_amplification"}
    for difference in verdict.differences:
        if difference.metric in shown:
            lines.append(f"  {_difference(difference)}")
    if verdict.parts:
        lines += ["", "contribution of each setting (change from the tuned store without it):"]
        for part in verdict.parts:
            text = "; ".join(_difference(d) for d in part.differences) if part.matters else "no difference: leave it out"
            lines += wrapped("  ", f"{part.override.removeprefix('engine.options.')}: {text}")
    if found.importance:
        shares = ", ".join(f"{key.removeprefix('engine.options.')} {share:.0%}" for key, share in found.importance.items())
        lines += ["", *wrapped("importance of each setting, over all points: ", shares)]
    if found.options:
        lines += ["", f"OPTIONS file: {found.options.file}"]
        lines += [f"  {name}: {before} -> {after}" for name, before, after in found.options.changes]
        lines += [f"  set in code: {name}: {place}" for name, place in found.options.in_code.items()]
    return "\n".join(lines) + "\n"


def _difference(found: Difference) -> str:
    metric = BY_NAME[found.metric]
    if found.tie:
        return f"{metric.label}: exactly the same"
    between = f" ({interval_text(found)})" if found.low is not None else ""
    values = f"{metric.form(found.present)} -> {metric.form(found.alternative)}"
    return f"{metric.label} {values}, {change_text(found)}{between}"

"""Plan: candidates that carry a growing load within service levels, for how long, and at which cost."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate, estimate, expected, total
from lsmlab.sim.setting import Setting
from lsmlab.sim.studies.intervals import read_model_errors
from lsmlab.sim.studies.plan.answer import PlanAnswer, best, plan_answer
from lsmlab.sim.studies.plan.fewer_levels import levels_to_leave_out
from lsmlab.sim.studies.plan.growing import grown_evaluation, grown_store
from lsmlab.sim.studies.plan.plan_file import read_plan, write_starting_plan
from lsmlab.sim.studies.plan.planned_store import PlannedStore
from lsmlab.sim.studies.plan.rounds import carry_out
from lsmlab.sim.studies.plan.search import Evaluated, Evaluation, simulated
from lsmlab.sim.studies.plan.sensitivity import changed_evaluations, sensitivity
from lsmlab.sim.studies.plan.trial import SearchSettings, duration_s
from lsmlab.sim.studies.request import Request, argument, command_of, option

_BRACKET: Final = 1.3
"""Ratio of the two rates between which a search begins to bisect (measured: 1.1 to 1.33)."""
_BRACKET_TRIALS: Final = 3.0
"""Trials until one rate holds and one fails (measured: 2 to 5)."""
_TRIES_PER_SEED: Final = 1.5
"""Runs per further seed: a rate that fails with one is followed by a lower one."""
_USUAL_LENGTH: Final = 1.6
"""Mean length of the runs of a usual search, in units of the shortest run of a trial (measured)."""
_SENSITIVITY_RUNS: Final = 6.0
"""Share of a usual evaluation that the six changed inputs of one candidate take together (measured: 3 to 6)."""


@dataclass(frozen=True, kw_only=True)
class PlanRequest(Request):
    """Find the candidates that carry a load within service levels: until when, at which cost, and what limits each."""

    plan: Path = argument(
        "PLAN.yaml",
        "load, service levels and candidates; or the folder of an import or of a run, for which a first plan is written",
    )
    growth: str = option("0%", "growth per year in a first plan, such as 40%%", metavar="SHARE")


def with_plan_file(request: PlanRequest, folder: Path) -> PlanRequest:
    """Return the request; for the folder of an import or of a run, write a first plan to `folder` and name that."""
    if not request.plan.is_dir():
        return request
    return replace(request, plan=write_starting_plan(request.plan, folder, request.growth))


def cost(request: PlanRequest, _runs: Settings) -> CostEstimate:
    """Return the estimated cost of a plan, as if no run were in the store."""
    with tempfile.TemporaryDirectory() as scratch:
        asked = read_plan(with_plan_file(request, Path(scratch)).plan, request.config_dirs)
    costs = [
        _search_cost(store, asked.load.peak_per_s / c.carrying, asked.search)
        for c in asked.candidates for store in simulated(c.store, levels_to_leave_out(c.store, asked.search.most_memtables))
    ]  # fmt: skip
    several = total(costs)
    share = _SENSITIVITY_RUNS * min(1.0, asked.sensitivity.candidates / len(asked.candidates))
    return CostEstimate(several.work * (1.0 + share / _USUAL_LENGTH), several.memory_bytes)


def _search_cost(store: PlannedStore, planned_per_s: float, search: SearchSettings) -> CostEstimate:
    """Return the estimated cost of a search: its trials have rates near the store's own limit, not near the planned one."""
    operations = store.operations(search.turnovers)
    rate = planned_per_s
    if math.isfinite(operations):
        closed = expected(Setting.of(store.closed_loop(operations, search.longest, 1)))
        rate = max(1.0, closed.writes / closed.duration_s / store.write_share)
    one = estimate(store.open_loop(rate, duration_s(store, rate, search, 1.0), 1))
    return CostEstimate(one.work * usual_trials(search) * _USUAL_LENGTH, one.memory_bytes)


def usual_trials(search: SearchSettings) -> float:
    """Return the runs of a usual search: planned rate, closed loop, bracket, bisection to the precision, further seeds."""
    halvings = math.log2(max(2.0, math.log(_BRACKET) / math.log1p(search.precision)))
    return 2.0 + _BRACKET_TRIALS + halvings + _TRIES_PER_SEED * (search.seeds - 1)


def plan(request: PlanRequest, runs: Settings, folder: Path) -> PlanAnswer:
    """Evaluate all candidates, then the best ones with changed inputs. Raises InputError for an error in the plan.

    `folder`: gets the first plan for a store that has none (`with_plan_file`).
    """
    asked = read_plan(with_plan_file(request, folder).plan, request.config_dirs)
    evaluations = {
        c.name: Evaluation(c.store, asked.load.peak_per_s / c.carrying, asked.levels, asked.load.bursts, asked.search)
        for c in asked.candidates
    }
    results = carry_out({name: one.steps() for name, one in evaluations.items()}, runs)
    errors = read_model_errors()
    names = best(plan_answer(asked, results, errors, {}).candidates, asked.sensitivity.candidates)
    chosen = [(c, found) for c in asked.candidates if c.name in names and isinstance(found := results[c.name], Evaluated)]
    changed: dict[str, Evaluation] = {}
    for candidate, found in chosen:
        evaluation = evaluations[candidate.name]
        changed |= grown_evaluation(asked, candidate, found, evaluation)
        changed |= changed_evaluations(asked, candidate, found, evaluation)
    others = carry_out({name: one.steps() for name, one in changed.items()}, runs)
    grown = {c.name: one for c, found in chosen if (one := grown_store(asked, c, found, others)) is not None}
    rows = {c.name: sensitivity(asked, c, found, others, grown.get(c.name)) for c, found in chosen}
    return plan_answer(asked, results, errors, rows, grown, command_of("plan", request))

"""Plan: candidates that carry a growing load within service levels, for how long, and at which cost."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate, estimate, total
from lsmlab.sim.studies.metrics import read_model_errors
from lsmlab.sim.studies.plan.answer import PlanAnswer, best, plan_answer
from lsmlab.sim.studies.plan.plan_file import read_plan, write_starting_plan
from lsmlab.sim.studies.plan.rounds import USUAL_RUNS, carry_out
from lsmlab.sim.studies.plan.search import Evaluated, Evaluation
from lsmlab.sim.studies.plan.sensitivity import changed_evaluations, sensitivity
from lsmlab.sim.studies.plan.trial import duration_s
from lsmlab.sim.studies.request import Request, argument, option

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
    costs = []
    for candidate in asked.candidates:
        peak = asked.load.peak_per_s / candidate.machines
        config = candidate.store.open_loop(peak, duration_s(candidate.store, peak, asked.search, 1.0), 1)
        one = estimate(config)
        costs.append(CostEstimate(one.work * USUAL_RUNS * _USUAL_LENGTH, one.memory_bytes))
    several = total(costs)
    share = _SENSITIVITY_RUNS * min(1.0, asked.sensitivity.candidates / len(costs))
    return CostEstimate(several.work * (1.0 + share / _USUAL_LENGTH), several.memory_bytes)


def plan(request: PlanRequest, runs: Settings, folder: Path) -> PlanAnswer:
    """Evaluate all candidates, then the best ones with changed inputs. Raises InputError for an error in the plan.

    `folder`: gets the first plan for a store that has none (`with_plan_file`).
    """
    asked = read_plan(with_plan_file(request, folder).plan, request.config_dirs)
    evaluations = {
        c.name: Evaluation(c.store, asked.load.peak_per_s / c.machines, asked.levels, asked.load.bursts, asked.search)
        for c in asked.candidates
    }
    results = carry_out({name: one.steps() for name, one in evaluations.items()}, runs)
    errors = read_model_errors(from_a_log=asked.from_a_log, changed=True)
    names = best(plan_answer(asked, results, errors, {}).candidates, asked.sensitivity.candidates)
    chosen = [(c, found) for c in asked.candidates if c.name in names and isinstance(found := results[c.name], Evaluated)]
    changed: dict[str, Evaluation] = {}
    for candidate, found in chosen:
        changed |= changed_evaluations(asked, candidate, found, evaluations[candidate.name])
    others = carry_out({name: one.steps() for name, one in changed.items()}, runs)
    rows = {candidate.name: sensitivity(asked, candidate, found, others) for candidate, found in chosen}
    return plan_answer(asked, results, errors, rows)

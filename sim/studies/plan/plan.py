"""Plan: candidates that carry a growing load within service levels, for how long, and at which cost."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate, estimate, total
from lsmlab.sim.runs.run_progress import RunProgress
from lsmlab.sim.runs.task import reason_of
from lsmlab.sim.studies.model_errors import read_model_errors
from lsmlab.sim.studies.plan.answer import PlanAnswer, best, plan_answer
from lsmlab.sim.studies.plan.evaluate import USUAL_LENGTH, USUAL_RUNS, Evaluated, Evaluation, evaluate
from lsmlab.sim.studies.plan.plan_file import Plan, read_plan
from lsmlab.sim.studies.plan.sensitivity import sensitivity, sensitivity_tasks
from lsmlab.sim.studies.plan.starting_plan import write_starting_plan
from lsmlab.sim.studies.plan.trial import duration_s
from lsmlab.sim.studies.request import Request, argument, option

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
        return cost_of(read_plan(with_plan_file(request, Path(scratch)).plan, request.config_dirs))


def cost_of(asked: Plan) -> CostEstimate:
    """Return the estimated cost of a plan that has been read."""
    costs = []
    for candidate in asked.candidates:
        peak = asked.load.peak_per_s / candidate.machines
        config = candidate.store.open_loop(peak, duration_s(candidate.store, peak, asked.search, 1.0), 1)
        one = estimate(config)
        costs.append(CostEstimate(one.work * USUAL_RUNS * USUAL_LENGTH, one.memory_bytes))
    several = total(costs)
    share = _SENSITIVITY_RUNS * min(1.0, asked.sensitivity.candidates / len(costs))
    return CostEstimate(several.work * (1.0 + share / USUAL_LENGTH), several.memory_bytes)


def plan(request: PlanRequest, runs: Settings, folder: Path) -> PlanAnswer:
    """Evaluate all candidates, then the best ones with changed inputs. Raises InputError for an error in the plan.

    `folder`: gets the first plan for a store that has none (`with_plan_file`).
    """
    asked = read_plan(with_plan_file(request, folder).plan, request.config_dirs)
    tasks = [_task(asked, number, runs) for number in range(len(asked.candidates))]
    results = _evaluate(tasks, runs)
    errors = read_model_errors(from_a_log=asked.from_a_log, changed=True)
    chosen = best(plan_answer(asked, results, errors, {}).candidates, asked.sensitivity.candidates)
    changed = _evaluate(_sensitivity_tasks(asked, chosen, tasks, results), runs)
    rows = {
        c.name: sensitivity(asked, c, found, changed)
        for c in asked.candidates
        if c.name in chosen and isinstance(found := results[c.name], Evaluated)
    }
    return plan_answer(asked, results, errors, rows)


def _task(asked: Plan, number: int, runs: Settings) -> Evaluation:
    candidate = asked.candidates[number]
    planned = asked.load.peak_per_s / candidate.machines
    return Evaluation(
        candidate.name, candidate.store, planned, asked.levels, asked.load.bursts, asked.search, runs.store, runs.fresh
    )


def _sensitivity_tasks(
    asked: Plan, chosen: Sequence[str], tasks: Sequence[Evaluation], results: Mapping[str, Evaluated | str]
) -> list[Evaluation]:
    several: list[Evaluation] = []
    for candidate, task in zip(asked.candidates, tasks, strict=True):
        known = results[candidate.name]
        if candidate.name in chosen and isinstance(known, Evaluated):
            several += sensitivity_tasks(asked, candidate, known, task)
    return several


def _evaluate(tasks: Sequence[Evaluation], runs: Settings) -> dict[str, Evaluated | str]:
    """Return the result of each task by name, or the reason why its store cannot run."""
    results: dict[str, Evaluated | str] = {}
    numbers = {task.name: number for number, task in enumerate(tasks)}
    progress = RunProgress(len(tasks), 0, quiet=runs.quiet or not tasks, noun="searches")
    try:
        with closing(runs.executor.run_tasks(evaluate, tasks, progress.share)) as ends:
            for ended in ends:
                progress.ended(numbers[ended.task.name])
                result = ended.result
                results[ended.task.name] = reason_of(result) if isinstance(result, Exception) else result
    finally:
        progress.close()
    return results

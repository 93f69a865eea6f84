"""Subcommand `plan`: candidates that carry a load, for how long, and at which cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.commands.answers import add_answer_options, give_answer, output_directory
from lsmlab.sim.commands.arguments import LineParser
from lsmlab.sim.commands.budget import keep_budget, read_budget
from lsmlab.sim.decisions.model_errors import read_model_errors
from lsmlab.sim.planning.answer import FILE, best, plan_answer
from lsmlab.sim.planning.evaluate import USUAL_LENGTH, USUAL_RUNS, Evaluated, Evaluation, evaluate
from lsmlab.sim.planning.plan_file import Plan, read_plan
from lsmlab.sim.planning.sensitivity import sensitivity, sensitivity_tasks
from lsmlab.sim.planning.starting_plan import write_starting_plan
from lsmlab.sim.planning.text import answer_text
from lsmlab.sim.planning.trial import duration_s
from lsmlab.sim.runs.estimate import Estimate, estimate, total
from lsmlab.sim.runs.executor import Executor, open_executor
from lsmlab.sim.runs.progress import RunProgress
from lsmlab.sim.runs.store import default_store
from lsmlab.sim.runs.task import reason_of

FINISHERS: Final = "lsmlab.plan_finishers"
"""Entry points `(directory: Path) -> Path | None` that may draw a page of a plan."""
_SENSITIVITY_RUNS: Final = 6.0
"""Share of a usual evaluation that the six changed inputs of one candidate take together (measured: 3 to 6)."""


def plan(argv: list[str]) -> int:
    """Run `lsmlab plan PLAN.yaml`; return the exit code. Raises InputError for bad input."""
    given = _parser().parse_args(argv)
    with open_executor(given.on, given.jobs, default_store()) as executor:
        return _plan(given, executor)


def _plan(given: argparse.Namespace, executor: Executor) -> int:
    if given.jobs is not None and given.jobs < 1:
        raise InputError(f"--jobs {given.jobs}: at least 1 process is needed")
    budget_s = read_budget(given.budget) if given.budget is not None else None
    directory = output_directory(given.out) if given.plan.is_dir() else None
    path = given.plan if directory is None else write_starting_plan(given.plan, directory, given.growth)
    asked = read_plan(path, given.config_dir)
    if budget_s is not None:
        keep_budget(cost(asked), budget_s, "fewer candidates, or a smaller search.turnovers", processes=executor.count)
    directory = directory or output_directory(given.out)
    tasks = [_task(asked, number, given.fresh) for number in range(len(asked.candidates))]
    results = _evaluate(tasks, executor, quiet=given.json)
    errors = read_model_errors(from_a_log=asked.from_a_log, changed=True)
    chosen = best(plan_answer(asked, results, errors, {})["candidates"], asked.sensitivity.candidates)
    changed = _evaluate(_sensitivity_tasks(asked, chosen, tasks, results), executor, quiet=given.json)
    found = {c.name: r for c in asked.candidates if isinstance(r := results[c.name], Evaluated)}
    rows = {c.name: sensitivity(asked, c, found[c.name], changed) for c in asked.candidates if c.name in chosen}
    answer = plan_answer(asked, results, errors, rows)
    failed = give_answer(answer, directory / FILE, answer_text, given, FINISHERS)
    return failed if found else 2


def cost(asked: Plan) -> Estimate:
    """Return the estimated cost of a plan, as if no run were in the store."""
    costs = []
    for candidate in asked.candidates:
        peak = asked.load.peak_per_s / candidate.machines
        config = candidate.store.open_loop(peak, duration_s(candidate.store, peak, asked.search, 1.0), 1)
        one = estimate(config)
        costs.append(Estimate(one.work * USUAL_RUNS * USUAL_LENGTH, one.memory_bytes))
    several = total(costs)
    share = _SENSITIVITY_RUNS * min(1.0, asked.sensitivity.candidates / len(costs))
    return Estimate(several.work * (1.0 + share / USUAL_LENGTH), several.memory_bytes)


def _task(asked: Plan, number: int, fresh: bool) -> Evaluation:
    candidate = asked.candidates[number]
    planned = asked.load.peak_per_s / candidate.machines
    return Evaluation(
        candidate.name, candidate.store, planned, asked.levels, asked.load.bursts, asked.search, default_store(), fresh
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


def _evaluate(tasks: Sequence[Evaluation], executor: Executor, *, quiet: bool) -> dict[str, Evaluated | str]:
    """Return the result of each task by name, or the reason why its store cannot run."""
    results: dict[str, Evaluated | str] = {}
    numbers = {task.name: number for number, task in enumerate(tasks)}
    progress = RunProgress(len(tasks), 0, quiet=quiet or not tasks, noun="searches")
    try:
        with closing(executor.run_tasks(evaluate, tasks, progress.share)) as ends:
            for ended in ends:
                progress.ended(numbers[ended.task.name])
                result = ended.result
                results[ended.task.name] = reason_of(result) if isinstance(result, Exception) else result
    finally:
        progress.close()
    return results


def _parser() -> LineParser:
    parser = LineParser(
        prog="lsmlab plan", allow_abbrev=False,
        description="Find the candidates that carry a load within service levels: largest sustainable rate, headroom, date when "
        "it runs out, drive life, cost, and what limits each.",
        epilog="example: lsmlab plan plan.yaml --budget 10min   (keys of a plan: docs/reference/plan.md)",
    )  # fmt: skip
    parser.add_argument(
        "plan", type=Path, metavar="PLAN.yaml",
        help="load, service levels and candidates; or the folder of an import or of a run, for which a first plan is written",
    )  # fmt: skip
    parser.add_argument("--growth", default="0%", metavar="SHARE", help="growth per year in a first plan, such as 40%%")
    add_answer_options(parser)
    return parser

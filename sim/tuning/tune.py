"""Subcommand `tune`: search a space of settings for a goal under limits."""

from __future__ import annotations

import argparse
import importlib.util
import time
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.commands.answers import RunsInterruptedError, give_answer, output_directory, runner
from lsmlab.sim.commands.arguments import LineParser
from lsmlab.sim.commands.budget import keep_budget, read_budget
from lsmlab.sim.decisions.goals import GOALS, read_goal, read_limits
from lsmlab.sim.decisions.model_errors import read_model_errors
from lsmlab.sim.decisions.subject import read_subject
from lsmlab.sim.decisions.whatif import add_subject_arguments
from lsmlab.sim.decisions.written_options import write_options
from lsmlab.sim.exploration.space import parse_space
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.estimate import Estimate, estimate
from lsmlab.sim.runs.executor import Executor, open_executor
from lsmlab.sim.runs.store import default_store
from lsmlab.sim.tuning.objective import WINDOW, Objective, window_of
from lsmlab.sim.tuning.text import tuning_text
from lsmlab.sim.tuning.verdict import as_json, judge

FINISHERS: Final = "lsmlab.tuning_finishers"
"""Entry points `(directory: Path) -> Path | None` that may draw a page of a search."""
FILE: Final = "tuning.json"
_SEARCH_SEEDS: Final = 2
"""Seeds per point of the search."""
_FRESH_SEED: Final = 1000
"""Distance of the first fresh seed from the first seed of the search."""


def tune(argv: list[str]) -> int:
    """Run `lsmlab tune RUN SPACE ...`; return the exit code. Raises InputError for bad input."""
    given = _parser().parse_intermixed_args(argv)
    with open_executor(given.on, given.jobs, default_store()) as executor:
        return _tune(given, executor)


def _tune(given: argparse.Namespace, executor: Executor) -> int:
    if importlib.util.find_spec("optuna") is None:
        raise InputError("tune: needs the package optuna; install it with 'pip install lsmlab[tune]'")
    from lsmlab.sim.tuning.study import best_points, history, importances, open_study, search

    space = parse_space(given.space)
    subject = read_subject(given.run, [*given.set, *space.fixed], given.config_dir)
    config = subject.compose()
    goals = tuple(read_goal(name or None, config) for name in (given.goal or "").split(","))
    limits = read_limits(given.memory, given.at_most)
    if given.budget is not None:
        cost = estimate(config)
        several = Estimate((1.0 + WINDOW) * _SEARCH_SEEDS * given.trials * cost.work, cost.memory_bytes)
        keep_budget(several, read_budget(given.budget), "fewer --trials", processes=executor.count)
    directory = output_directory(given.out)
    run = runner(executor, directory, fresh=given.fresh, quiet=True)
    objective = Objective(subject, goals, limits, _SEARCH_SEEDS, run, window_of(config))
    seed = int(config.get("seed", 1))
    study = open_study(directory, objective, seed)
    try:
        search(study, objective, space, given.trials, seed, _until(given.time), quiet=given.json)
        front = best_points(study, objective)
        verdict = None
        if front:
            best = front[0][0].split(" ")
            errors = read_model_errors(from_a_log=subject.from_a_log, changed=True)
            judged = judge(subject, best, seed + _FRESH_SEED, given.replications, run)
            verdict = as_json(judged, goals, errors)
    except RunsInterruptedError:
        return INTERRUPTED
    states = [trial.state.name for trial in study.get_trials(deepcopy=False)]
    found: dict[str, Any] = {
        "subject": subject.name, "goals": list(goals), "space": given.space,
        "points": {"complete": states.count("COMPLETE"), "pruned": states.count("PRUNED"), "failed": states.count("FAIL")},
        "front": [[name, list(values)] for name, values in front], "best": front[0][0] if front else None,
        "verdict": verdict, "importance": importances(study, objective), "history": history(study, objective),
        "options": write_options(subject, best, judged.present.summaries[0], directory) if front else None,
    }  # fmt: skip
    return give_answer(found, directory / FILE, tuning_text, given, FINISHERS)


def _until(text: str | None) -> float | None:
    """Return the moment of the monotonic clock at which the search ends."""
    if text is None:
        return None
    try:
        return time.monotonic() + parse_quantity(text, "seconds")
    except InputError as error:
        raise InputError(f"--time {text}: {error}") from None


def _parser() -> LineParser:
    parser = LineParser(
        prog="lsmlab tune", allow_abbrev=False,
        description="Search a space of settings with Optuna; check the best point with new seeds and write an OPTIONS file.",
        epilog="example: lsmlab tune mystore engine.options.write_buffer_size=8MiB..256MiB "
        "engine.options.max_background_jobs=2..16 --goal p999 --at-most space_amp=1.5",
    )  # fmt: skip
    parser.add_argument("--goal", metavar="GOAL[,GOAL]", help=f"{', '.join(GOALS)}; several give a Pareto front")
    parser.add_argument("--memory", metavar="SIZE", help="limit on memtables and block cache")
    parser.add_argument("--at-most", action="append", default=[], metavar="GOAL=VALUE", help="a further limit; may be repeated")
    parser.add_argument("--trials", type=int, default=100, metavar="N", help="points to try (default: 100)")
    parser.add_argument("--time", metavar="TIME", help="end the search after this time, such as 10min")
    add_subject_arguments(parser)
    parser.add_argument(
        "space", nargs="+", metavar="KEY=VALUES", help="a range (KEY=16MiB..256MiB) or a list (KEY=a,b) per setting"
    )
    return parser

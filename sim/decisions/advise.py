"""Subcommand `advise`: changes that would help a store, ranked by a goal, with an OPTIONS file of the best."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes
from lsmlab.sim.commands.answers import RunsInterruptedError, give_answer, output_directory, run_options, runner
from lsmlab.sim.commands.arguments import LineParser
from lsmlab.sim.commands.budget import keep_budget, read_budget
from lsmlab.sim.decisions.advice import SHORT, Trialled, advised, as_json, ranked, short_form
from lsmlab.sim.decisions.advice_text import advice_text
from lsmlab.sim.decisions.advising import PRESENT, Search
from lsmlab.sim.decisions.answer import means
from lsmlab.sim.decisions.candidates import Kind
from lsmlab.sim.decisions.differences import Trial
from lsmlab.sim.decisions.goals import GOALS, Limits, memory_bytes, read_goal, read_limits
from lsmlab.sim.decisions.model_errors import model_errors_of
from lsmlab.sim.decisions.subject import read_subject
from lsmlab.sim.decisions.whatif import add_subject_arguments
from lsmlab.sim.decisions.written_options import write_options
from lsmlab.sim.explain.sentences import bottleneck_text
from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.choice import cluster
from lsmlab.sim.runs.estimate import Estimate, estimate

FINISHERS: Final = "lsmlab.advice_finishers"
"""Entry points `(directory: Path) -> Path | None` that may draw a page of an advice."""
FILE: Final = "advice.json"
_ROUNDS: Final = 120
"""About the number of runs of a search: 30 changes and 10 pairs with two seeds, and six configurations with all seeds."""
_MEMORY: Final = 4.0
"""Default limit on memtables and block cache, as a multiple of the present."""


def advise(argv: list[str]) -> int:
    """Run `lsmlab advise RUN`; return the exit code. Raises InputError for bad input."""
    given = _parser().parse_args(argv)
    with cluster(given.on, given.jobs):
        return _advise(given)


def _advise(given: argparse.Namespace) -> int:
    if given.replications < 1:
        raise InputError(f"--replications {given.replications}: at least 1 run is needed")
    subject = read_subject(given.run, given.set, given.config_dir)
    config = subject.compose()
    goal = read_goal(given.goal, config)
    limits = _limits(given, memory_bytes(config))
    directory = output_directory(given.out)
    errors = model_errors_of(config, from_a_log=subject.from_a_log, changed=True)
    if given.budget is not None:
        cost = estimate(config)
        several = Estimate(_ROUNDS * cost.work, cost.memory_bytes)
        keep_budget(several, read_budget(given.budget), "a shorter load (--set workload.duration=...)", processes=given.jobs)
    run = runner(replace(run_options(given), budget=None), directory, quiet=given.json)  # the budget is kept above
    search = Search(subject, goal, limits, errors, given.replications, run)
    try:
        present = search.present()
        singles = search.singles(present)
        tried = [*singles, *search.pairs(singles, present)]
        best = advised(search.best(tried, present), goal)
    except RunsInterruptedError:
        return INTERRUPTED
    advice = _as_json(search, present, tried, best)
    first = next((t for t in best if t.kind is Kind.OPTIONS), None)
    advice["options"] = write_options(subject, first.overrides, present.summaries[0], directory) if first is not None else None
    if subject.stored is not None and (Path(given.run) / "config.yaml").is_file():
        write_json(Path(given.run) / SHORT, short_form(advice, os.path.relpath(directory, given.run)))
    return give_answer(advice, directory / FILE, advice_text, given, FINISHERS)


def _limits(given: argparse.Namespace, present_bytes: float) -> Limits:
    limits = read_limits(given.memory, given.at_most)
    if limits.memory_bytes is None:
        return Limits(_MEMORY * present_bytes, limits.at_most)
    if limits.memory_bytes < present_bytes:
        needed = format_bytes(present_bytes)
        raise InputError(f"--memory {given.memory}: the present memtables and block cache need {needed}; allow at least that")
    return limits


def _as_json(search: Search, present: Trial, tried: Sequence[Trialled], best: Sequence[Trialled]) -> dict[str, Any]:
    goal, limits = search.goal, search.limits
    bounds = [f"memtables and block cache at most {format_bytes(limits.memory_bytes or 0.0)}"]
    bounds += [f"{GOALS[name].label} at most {GOALS[name].form(most)}" for name, most in limits.at_most.items()]
    return {
        "subject": search.subject.name,
        "goal": goal,
        "limits": "; ".join(bounds),
        "seeds": [s.get("seed") for s in present.summaries],
        "bottleneck": bottleneck_text(present.summaries[0]) if present.summaries[0].get("bottleneck") else None,
        "present": {"name": PRESENT, "values": means(present)},
        "best": [as_json(t, goal) for t in best],
        "tried": [as_json(t, goal) for t in ranked(tried, goal)],
        "refused": search.refused,
    }


def _parser() -> LineParser:
    parser = LineParser(
        prog="lsmlab advise", allow_abbrev=False,
        description="Try changes of a store's options, machine and policies; rank those that help, with 90 % intervals.",
        epilog="example: lsmlab advise mystore --goal p999 --memory 2GiB --at-most space_amp=1.5",
    )  # fmt: skip
    parser.add_argument(
        "--goal", metavar="GOAL", help=f"{', '.join(GOALS)} (default: throughput at full speed, otherwise p999)"
    )
    parser.add_argument("--memory", metavar="SIZE", help="limit on memtables and block cache (default: 4 times present size)")
    parser.add_argument("--at-most", action="append", default=[], metavar="GOAL=VALUE", help="a further limit; may be repeated")
    add_subject_arguments(parser)
    return parser

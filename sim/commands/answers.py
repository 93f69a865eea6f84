"""Options and output that the commands with an answer share: whatif, advise, tune, grow, plan.

An answer is a JSON document in the folder of the results, a text for the terminal, and pages that finishers draw.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsmlab.sim.commands import finishers
from lsmlab.sim.commands.arguments import Arguments, add_place
from lsmlab.sim.commands.many import run_on
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.rundir import dated_directory, display_path, make_directory, named_directory
from lsmlab.sim.runs.batch import Job, Outcome
from lsmlab.sim.runs.executor import Executor

Runner = Callable[[Sequence[Job]], list[Outcome]]
"""Runs jobs and returns their outcomes."""


class RunsInterruptedError(Exception):
    """Ctrl-C during the runs of a `runner`; finished runs are in the run store."""


def add_store_options(parser: argparse.ArgumentParser) -> None:
    """Add RUN and --set, the store that a command asks about."""
    parser.add_argument(
        "run", metavar="RUN", help="folder of 'lsmlab import', folder of a run, or an override such as experiment=NAME"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override for all runs")


def add_answer_options(parser: argparse.ArgumentParser) -> None:
    """Add the options on where and how to run, and how to give the answer."""
    parser.add_argument("-cd", "--config-dir", action="append", default=[], type=Path, metavar="DIR", help="folder of groups")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (default: outputs/<date>/<time>)")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="processes (default: one per core)")
    add_place(parser)
    parser.add_argument("--budget", metavar="TIME", help="refuse, or ask on a terminal, if the runs take longer, such as 10min")
    parser.add_argument("--fresh", action="store_true", help="simulate again the runs that the run store holds")
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else; draws no page")
    parser.add_argument("--no-report", action="store_true", help="draw no page")


def run_options(given: argparse.Namespace) -> Arguments:
    """Return the options for running jobs from a command line with `add_answer_options`."""
    return Arguments([], jobs=given.jobs, on=given.on, fresh=given.fresh, budget=given.budget)


def runner(executor: Executor, directory: Path, *, fresh: bool, quiet: bool) -> Runner:
    """Return a function that runs jobs and raises RunsInterruptedError after Ctrl-C."""

    def run(jobs: Sequence[Job]) -> list[Outcome]:
        outcomes = run_on(executor, jobs, directory, fresh=fresh, quiet=quiet)
        if outcomes is None:
            raise RunsInterruptedError
        return outcomes

    return run


def output_directory(out: Path | None, root: str = "outputs") -> Path:
    """Return the folder for the results; by default a new one in `root`. Raises InputError if it is a file."""
    return dated_directory(root) if out is None else make_directory(named_directory(out))


def give_answer(
    answer: Mapping[str, Any], path: Path, text: Callable[[Any], str], given: argparse.Namespace, group: str
) -> int:
    """Write an answer to `path`, print it as text or JSON, and let the finishers of `group` draw its pages.

    Returns the exit code: 1 if a finisher failed, else 0.
    """
    write_json(path, answer)
    directory = path.parent
    if given.json:
        sys.stdout.write(to_json({**answer, "directory": str(directory)}))
    else:
        sys.stdout.write(f"{text(answer)}\nSaved in {display_path(directory)}\n")
    sys.stdout.flush()
    return 0 if given.json or given.no_report or draw_pages(group, directory) else 1


def draw_pages(group: str, directory: Path, label: str = "Report") -> bool:
    """Let the finishers of `group` draw the pages of a folder, and print a line for each; return whether none failed."""
    pages, drawn = finishers.finish(group, directory)
    for page in pages:
        sys.stdout.write(f"{label}: {display_path(page)}\n")
    return drawn

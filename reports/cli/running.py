"""Steps that verbs with runs share: budget, cluster, folders, interruption, and the pages of results."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.reports.cli.arguments import RunOptions
from lsmlab.reports.limits import PAGE_S, limited
from lsmlab.sim.results.rundir import dated_directory, display_path, make_directory, named_directory, unused_directory
from lsmlab.sim.runs.estimate import CostEstimate, duration_text
from lsmlab.sim.runs.executor import Executor
from lsmlab.sim.runs.places import open_executor
from lsmlab.sim.runs.store import default_store
from lsmlab.sim.studies.study import RunRow, RunsInterruptedError


class Interrupted(SystemExit):
    """End of a command after Ctrl-C, whose message has been printed."""


@contextmanager
def running(options: RunOptions, folder: Path | None = None) -> Iterator[Executor]:
    """Yield the executor that the options name; explain an interruption in this block, and exit with its code."""
    from lsmlab.sim.results.stopping import INTERRUPTED

    with open_executor(options.on, options.jobs, default_store()) as executor:
        try:
            yield executor
        except RunsInterruptedError as end:
            location = f" in {display_path(folder)}" if end.done and folder is not None else ""
            done = f"{end.done} of {end.total} runs are finished{location}"
            sys.stderr.write(f"\nInterrupted. {done}; the same command computes only the rest.\n")
            raise Interrupted(INTERRUPTED) from None


def output_directory(out: Path | None, root: str = "outputs") -> Path:
    """Return the folder for the results; by default a new one in `root`. Raises InputError if it is a file."""
    return dated_directory(root) if out is None else make_directory(named_directory(out))


def read_budget(text: str) -> float:
    """Return a budget such as 10min or 90s in seconds. Raises InputError for any other text."""
    try:
        budget_s = parse_quantity(text, "seconds")
    except InputError as error:
        raise InputError(f"--budget {error}") from None
    if budget_s <= 0.0:
        raise InputError(f"--budget {text}: must be above 0, such as 10min")
    return budget_s


def end_of_budget(cost: Callable[[], CostEstimate], options: RunOptions, processes: int, *, quiet: bool) -> float | None:
    """Return the time of `time.monotonic()` at which the budget ends; None without one. Say so if the work takes longer."""
    if options.budget is None:
        return None
    budget_s = read_budget(options.budget)
    until_s, found = time.monotonic() + budget_s, cost()
    if found.seconds(processes) > budget_s and not quiet:
        text = f"this takes {found.text(processes)}; after {duration_text(budget_s)} it ends with the best answer so far"
        sys.stderr.write(f"lsmlab: {text}\n")
    return until_s


def keep_budget(
    cost: Callable[[], CostEstimate], options: RunOptions, processes: int, smaller: str, *, ask: Callable[[str], str] = input,
    terminal: TextIO = sys.stdin,
) -> None:  # fmt: skip
    """Return if `cost` is within the budget, or if the user agrees on a terminal; else raise InputError.

    `processes`: number of runs at the same time. `smaller`: what makes the work smaller, such as "fewer candidates".
    """
    if options.budget is None:
        return
    budget_s, found = read_budget(options.budget), cost()
    if found.seconds(processes) <= budget_s:
        return
    text = f"this takes {found.text(processes)}, more than the budget of {duration_text(budget_s)}"
    if not terminal.isatty():
        raise InputError(f"{text}; raise --budget, or choose {smaller}")
    if ask(f"lsmlab: {text}. Continue? [y/N] ").strip().lower() not in ("y", "yes"):
        raise InputError(f"not started: {text}; raise --budget, or choose {smaller}")


def draw(page: Callable[[], Path | None], label: str = "Report", *, quiet: bool = False) -> int:
    """Draw a page, print its path unless `quiet`, and return the exit code.

    The results are saved before, so a page that fails loses none. A line on stderr gives the error; LSMLAB_TRACEBACK=1
    raises it instead.
    """
    try:
        with limited("the page", PAGE_S):
            path = page()
    except Exception as error:
        if os.environ.get("LSMLAB_TRACEBACK", "0") not in ("", "0"):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        sys.stderr.write(f"lsmlab: the results are saved, but their page failed: {reason}\n")
        return 1
    if path is not None and not quiet:
        sys.stdout.write(f"{label}: {display_path(path)}\n")
    return 0


def print_notes(notes: Sequence[str]) -> None:
    """Print notes on a file of options on stderr; a command in a note has a line of its own, so that it can be copied."""
    for note in notes:
        text, begin, command = note.partition(" lsmlab ")
        sys.stderr.write(textwrap.fill(f"lsmlab: {text}", 120, subsequent_indent="  ", break_on_hyphens=False) + "\n")
        if begin:
            sys.stderr.write(f"  lsmlab {command}\n")


def pages_wanted(config: Mapping[str, Any], *, json: bool, no_report: bool) -> bool:
    """Return whether to draw pages: --no-report decides first, then the key `report`; if it is null, `not json`."""
    if no_report:
        return False
    choice = config.get("report")
    return bool(choice) if choice is not None else not json


def results_directory(out: Path | None, usual: Path) -> tuple[Path, bool]:
    """Return the folder for the results, and whether this command created it. `usual`: the folder without --out."""
    if out is not None:
        existed = named_directory(out).is_dir()
        return make_directory(out), not existed
    return unused_directory(usual), True


def report_failures(failed: Sequence[RunRow]) -> int:
    """Print failed runs on stderr. Return exit code 0 without failures, 2 if all failed on bad input, else 1."""
    for row in failed:
        sys.stderr.write(f"lsmlab: {row.job.name}: {row.error}\n")
    return 0 if not failed else 2 if all(row.bad_input for row in failed) else 1

"""Shared code of `compare`, --replications and --multirun: run jobs, handle an interruption, report failures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from lsmlab.sim.commands.arguments import Arguments
from lsmlab.sim.results.leftovers import remove_leftovers
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.runs.batch import Job, Outcome, run_all
from lsmlab.sim.runs.executor import Executor, open_executor
from lsmlab.sim.runs.store import default_store


def run_jobs(jobs: Sequence[Job], arguments: Arguments, directory: Path, *, quiet: bool) -> list[Outcome] | None:
    """Run all jobs where the command line says (`run_on`). Raises InputError for runs above its budget."""
    with open_executor(arguments.on, arguments.jobs, default_store()) as executor:
        if arguments.budget is not None:
            from lsmlab.sim.commands.budget import keep_budget_of

            keep_budget_of([job.config for job in jobs], arguments, processes=executor.count)
        return run_on(executor, jobs, directory, fresh=arguments.fresh, quiet=quiet)


def run_on(executor: Executor, jobs: Sequence[Job], directory: Path, *, fresh: bool, quiet: bool) -> list[Outcome] | None:
    """Run all jobs through the run store and return their outcomes in the order of the jobs.

    After Ctrl-C or SIGTERM: print on stderr how many runs are finished and return None.
    """
    by_job: dict[int, Outcome] = {}
    remove_leftovers(directory)
    try:
        for outcome in run_all(jobs, default_store(), executor, fresh=fresh, quiet=quiet):
            by_job[id(outcome.job)] = outcome
    except KeyboardInterrupt:
        done = sum(1 for outcome in by_job.values() if outcome.error is None)
        sys.stderr.write(interrupted(done, len(jobs), directory))
        return None
    return [by_job[id(job)] for job in jobs]


def interrupted(done: int, total: int, directory: Path) -> str:
    """Return the message after an interruption: how many runs are finished, and how to continue."""
    location = f" in {display_path(directory)}" if done else ""
    return f"\nInterrupted. {done} of {total} runs are finished{location}; the same command computes only the rest.\n"


def report_failures(results: Sequence[Outcome]) -> int:
    """Print the failed jobs on stderr. Return exit code 0 without failures, 2 if all failed on bad input, else 1."""
    failed = [outcome for outcome in results if outcome.error is not None]
    for outcome in failed:
        sys.stderr.write(f"lsmlab: {outcome.job.name}: {outcome.error}\n")
    return 0 if not failed else 2 if all(outcome.bad_input for outcome in failed) else 1

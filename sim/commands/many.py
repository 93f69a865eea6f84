"""What `compare`, --replications and --multirun share: jobs through the run store, failures, and an interruption."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.sim.commands.arguments import Arguments
from lsmlab.sim.results.rundir import shown
from lsmlab.sim.runs.batch import Job, Outcome, Settings, outcomes

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C or SIGTERM."""


def carry_out(jobs: Sequence[Job], given: Arguments, directory: Path, *, quiet: bool) -> list[Outcome] | None:
    """The outcomes of all jobs in their order; None if the user interrupted, after saying what is there."""
    found: dict[int, Outcome] = {}
    try:
        for outcome in outcomes(jobs, Settings(given.jobs, given.fresh, quiet)):
            found[id(outcome.job)] = outcome
    except KeyboardInterrupt:
        done = sum(1 for outcome in found.values() if outcome.error is None)
        sys.stderr.write(interrupted(done, len(jobs), directory))
        return None
    return [found[id(job)] for job in jobs]


def interrupted(done: int, wanted: int, directory: Path) -> str:
    """The line that says what there is after an interruption, and how to go on."""
    where = f" in {shown(directory)}" if done else ""
    return f"\nInterrupted. {done} of {wanted} runs are finished{where}; the same command computes only the rest.\n"


def report_failures(found: Sequence[Outcome]) -> int:
    """Name the failed jobs on stderr; returns the exit code: 0, 2 if all are bad input, else 1."""
    failed = [outcome for outcome in found if outcome.error is not None]
    for outcome in failed:
        sys.stderr.write(f"lsmlab: {outcome.job.name}: {outcome.error}\n")
    return 0 if not failed else 2 if all(outcome.bad_input for outcome in failed) else 1

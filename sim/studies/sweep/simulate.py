"""One run of a sweep, in a worker: compose its configuration, simulate it unless the store has it, return its row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.configuration.combinations import without_quotes
from lsmlab.sim.progress import Progress
from lsmlab.sim.runs.batch import RunJob, run_job, write_failure
from lsmlab.sim.runs.index import numbers, parameters
from lsmlab.sim.runs.store import RunStore
from lsmlab.sim.runs.task import reason_of
from lsmlab.sim.studies.baseline import Baseline

CONFIGURATION: Final = "configuration"
"""Column with the name of a run's configuration, the same for all its seeds."""


@dataclass(frozen=True, slots=True)
class SweepRun:
    """A run of a sweep. Its configuration is composed where it is simulated, so that the driver holds none."""

    number: int
    store: Baseline
    """Store that the sweep varies."""
    configuration: str
    """Name of the configuration."""
    choices: Mapping[str, str]
    """Values in which it differs from other configurations of the sweep, by key, as in overrides (with quotes)."""
    seed: int
    directory: Path
    """Folder for the results."""
    runs: RunStore
    fresh: bool
    """Whether to simulate the run if the store has it."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """Row of a finished run for the index, or the error."""

    row: Mapping[str, Any] | None
    kept: bool = False
    """Whether the store had the run."""
    error: str | None = None
    bad_input: bool = False


def simulate(run: SweepRun, progress: Progress) -> RunResult:
    """Put the results of a run into its folder and return its row."""
    try:
        config = {**run.store.compose(changes(run.choices)), "seed": run.seed, "replications": 1}
    except Exception as error:
        write_failure(run.directory, reason := reason_of(error))
        return RunResult(None, error=reason, bad_input=True)
    choices = without_quotes(run.choices)
    typed = parameters(config, choices)
    outcome = run_job(RunJob(run.directory.name, config, run.directory, choices, typed), run.runs, progress, fresh=run.fresh)
    if outcome.error is not None:
        return RunResult(None, error=outcome.error, bad_input=outcome.bad_input)
    names = {"run": run.directory.name, CONFIGURATION: run.configuration}
    return RunResult({**names, **typed, **dict(numbers(outcome.summary or {}))}, outcome.kept)


def changes(choices: Mapping[str, str]) -> tuple[str, ...]:
    """Return choices as overrides."""
    return tuple(f"{key}={value}" for key, value in choices.items())

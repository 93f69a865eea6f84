"""Simulates cases: several replications of each in parallel processes; a failed case does not affect the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.configuration.parameters import perturbed
from lsmlab.sim.progress import Progress
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.runs.batch import RunJob, Settings
from lsmlab.sim.runs.executor import Executor
from lsmlab.sim.runs.places import LocalProcesses
from lsmlab.sim.runs.store import StoredTable, default_store
from lsmlab.sim.runs.task import reason_of
from lsmlab.sim.studies.intervals import Knowledge, ModelErrors, RunFacts, facts_of
from lsmlab.validation.casefiles.case import Case, machine_of
from lsmlab.validation.casefiles.curves import Floats
from lsmlab.validation.casefiles.real import RealRun, real_run
from lsmlab.validation.casefiles.values import reported_series, simulated_values
from lsmlab.validation.grouped_runs import finished_groups

DEFAULT_PROCESSES: Final = 2
DEFAULT_SEEDS: Final = 5


@dataclass(slots=True)
class Replication:
    """One simulated run of a case."""

    values: dict[str, float]
    series: Floats


@dataclass(slots=True)
class CaseRun:
    """A case with its measured and simulated values, or its error."""

    case: Case
    set: str
    real: RealRun | None = None
    replications: list[Replication] = field(default_factory=list)
    perturbed: list[Replication] = field(default_factory=list)
    """Two runs with all constants changed by their standard errors, in opposite directions; empty if these are
    unknown."""
    facts: RunFacts = field(default_factory=RunFacts)
    """What the run knows of its own error."""
    errors: ModelErrors = field(default_factory=lambda: ModelErrors({}))
    """Errors of the model from which its intervals follow."""
    wall_s: float = 0.0
    error: str | None = None

    @property
    def machine(self) -> str:
        """Machine and drive of the case."""
        return machine_of(self.case)

    @property
    def group(self) -> str:
        """Runs whose errors are alike: one kind of run on one machine, or all predictions from one LOG."""
        if self.facts.knowledge is Knowledge.IMPORTED:
            return self.machine
        return self.case.group or self.case.name


def run_cases(
    cases: Sequence[tuple[str, Case]], seeds: int = DEFAULT_SEEDS, processes: int = DEFAULT_PROCESSES,
    extra: Sequence[str] = (), report: Callable[[str], None] = lambda _line: None, *, fresh: bool = False, quiet: bool = True,
) -> list[CaseRun]:  # fmt: skip
    """Read the measurements of each (set, case) and simulate it `seeds` times; return the runs in the same order.

    A case that cannot be read or simulated gets an `error`; all others continue. `report` is called with a line for
    each finished case. `fresh` simulates also the runs that the run store contains; `quiet` hides the progress of runs.
    """
    runs = [CaseRun(case, name) for name, case in cases]
    configs: dict[int, dict[str, Any]] = {}
    for number, run in enumerate(runs):
        try:
            configs[number] = run.case.config(extra)
        except Exception as error:
            run.error = reason_of(error)
            report(f"{run.case.name}: {run.error}")
            continue
    store = default_store()
    executor = LocalProcesses(store, processes)
    _read_measured(runs, configs, executor)
    jobs = {number: _jobs(runs[number].case, config, seeds) for number, config in configs.items()}
    for number, ended, left in finished_groups(jobs, Settings(store, executor, fresh, quiet)):
        run = runs[number]
        run.error = run.error or next((one.error for one in ended if one.error), None)
        run.wall_s = sum(one.wall_s for one in ended if one.folder is not None)
        if run.error is None:
            folders = [one.folder for one in ended if one.folder is not None]
            read = [read_replication(folder) for folder in folders]
            run.replications, run.perturbed = read[:seeds], read[seeds:]
            run.facts = facts_of(configs[number], read_summary(folders[0]))
        report(f"{len(runs) - left}/{len(runs)} {run.case.name}: {run.error or f'{run.wall_s:.1f} s'}")
    return runs


def _read_measured(runs: list[CaseRun], configs: Mapping[int, dict[str, Any]], executor: Executor) -> None:
    tasks = [(number, runs[number].case, config) for number, config in configs.items()]
    for ended in executor.run_tasks(_measured, tasks, lambda _index, _share: None):
        run = runs[ended.task[0]]
        if isinstance(ended.result, RealRun):
            run.real = ended.result
        else:
            run.error = ended.result if isinstance(ended.result, str) else reason_of(ended.result)


def _measured(task: tuple[int, Case, dict[str, Any]], _progress: Progress) -> RealRun | str:
    """Read the measurements of a case, whose number is the first item; return the reason if that is not possible."""
    _, case, config = task
    try:
        return real_run(case, config)
    except Exception as error:
        return reason_of(error)


def _jobs(case: Case, config: dict[str, Any], seeds: int) -> list[RunJob]:
    """Return the runs of a case: its seeds, then two with perturbed constants if their standard errors are known."""
    first = int(config.get("seed", 1))
    jobs = [RunJob(f"{case.name} seed {first + i}", {**config, "seed": first + i}) for i in range(seeds)]
    pair = perturbed(config) if seeds > 1 else []  # a single seed is a quick check without an interval
    return jobs + [RunJob(f"{case.name} constants {i}", changed) for i, changed in enumerate(pair, 1)]


def read_replication(folder: Path) -> Replication:
    """Read the values and the throughput series of a stored run."""
    summary = read_summary(folder)
    jobs, series, latency, stalls = (
        StoredTable(folder / f"{name}.parquet") for name in ("jobs", "series", "latency", "stalls")
    )
    return Replication(simulated_values(summary, jobs, series, latency, stalls), reported_series(series))

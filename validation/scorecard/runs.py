"""Simulates cases: several replications of each in parallel processes; a failed case does not affect the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.configuration.parameters import perturbed
from lsmlab.sim.progress import Progress
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.runs.batch import RunJob, Settings, outcomes
from lsmlab.sim.runs.executor import Executor
from lsmlab.sim.runs.places import LocalProcesses
from lsmlab.sim.runs.store import StoredTable, default_store
from lsmlab.sim.runs.task import reason_of
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.casefiles.curves import Floats
from lsmlab.validation.casefiles.real import RealRun, real_run
from lsmlab.validation.casefiles.values import reported_series, simulated_values

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
    set_errors: Mapping[str, float] = field(default_factory=dict)
    """Model error by metric from the case's parameter set."""
    model_errors: Mapping[str, float] = field(default_factory=dict)
    """Model error by metric in use: from the parameter set, else from configs/model_errors.json."""
    parameters: str = ""
    """Name of the machine's parameter set."""
    wall_s: float = 0.0
    error: str | None = None
    learning: bool = False
    """Whether the model's error is learnt from this run; coverage is taken from the others."""


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
        about = configs[number].get("parameters") or {}
        run.set_errors = run.model_errors = about.get("model_errors") or {}
        run.parameters = str(configs[number]["host"].get("parameters") or "")
    store = default_store()
    executor = LocalProcesses(store, processes)
    _read_measured(runs, configs, executor)
    jobs = {number: _jobs(runs[number].case, config, seeds) for number, config in configs.items()}
    _simulate(runs, jobs, Settings(store, executor, fresh, quiet), report)
    return runs


def _read_measured(runs: list[CaseRun], configs: Mapping[int, dict[str, Any]], executor: Executor) -> None:
    tasks = [_Measured(number, runs[number].case, config) for number, config in configs.items()]
    for ended in executor.run_tasks(_measured, tasks, lambda _index, _share: None):
        run = runs[ended.task.number]
        if isinstance(ended.result, RealRun):
            run.real = ended.result
        else:
            run.error = ended.result if isinstance(ended.result, str) else reason_of(ended.result)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Task of reading one recorded run."""

    number: int
    case: Case
    config: dict[str, Any]


def _measured(task: _Measured, _progress: Progress) -> RealRun | str:
    try:
        return real_run(task.case, task.config)
    except Exception as error:
        return reason_of(error)


def _jobs(case: Case, config: dict[str, Any], seeds: int) -> list[RunJob]:
    """Return the runs of a case: its seeds, then two with perturbed constants if their standard errors are known."""
    first = int(config.get("seed", 1))
    jobs = [RunJob(f"{case.name} seed {first + i}", {**config, "seed": first + i}) for i in range(seeds)]
    pair = perturbed(config) if seeds > 1 else []  # a single seed is a quick check without an interval
    return jobs + [RunJob(f"{case.name} constants {i}", changed) for i, changed in enumerate(pair, 1)]


def _simulate(
    runs: list[CaseRun], jobs: Mapping[int, list[RunJob]], settings: Settings, report: Callable[[str], None]
) -> None:
    """Simulate all jobs and assign the replications to their runs."""
    mine = {id(job): number for number, some in jobs.items() for job in some}
    left = Counter(mine.values())
    found: dict[int, Replication] = {}
    several = [job for some in jobs.values() for job in some]
    for outcome in outcomes(several, settings, len(several)):
        number = mine[id(outcome.job)]
        run = runs[number]
        left[number] -= 1
        if outcome.folder is None:
            run.error = run.error or outcome.error
        else:
            run.wall_s += outcome.wall_s
            found[id(outcome.job)] = read_replication(outcome.folder)
        if left[number] == 0:
            ended = len(runs) - sum(1 for n in left.values() if n > 0)
            report(f"{ended}/{len(runs)} {run.case.name}: {run.error or f'{run.wall_s:.1f} s'}")
    for number, some in jobs.items():
        if runs[number].error is None:
            all_ = [found[id(job)] for job in some]
            off = sum(1 for job in some if " constants " in job.name)
            runs[number].replications, runs[number].perturbed = all_[: len(all_) - off], all_[len(all_) - off :]


def read_replication(folder: Path) -> Replication:
    """Read the values and the throughput series of a stored run."""
    summary = read_summary(folder)
    jobs, series, latency, stalls = (
        StoredTable(folder / f"{name}.parquet") for name in ("jobs", "series", "latency", "stalls")
    )
    return Replication(simulated_values(summary, jobs, series, latency, stalls), reported_series(series))

"""Simulating cases: several replications of each, in parallel processes, none of which can harm the others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.sim.configuration.parameters import displaced
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.casefiles.curves import Floats
from lsmlab.validation.casefiles.real import RealRun, real_run
from lsmlab.validation.casefiles.values import reported_series, simulated_values
from lsmlab.validation.parallel import each, reason_of

DEFAULT_PROCESSES: Final = 2
DEFAULT_SEEDS: Final = 5


@dataclass(slots=True)
class Replication:
    """One simulated run of a case."""

    values: dict[str, float]
    series: Floats


@dataclass(slots=True)
class CaseRun:
    """A case with both of its sides, or the reason why there is none."""

    case: Case
    set: str
    real: RealRun | None = None
    replications: list[Replication] = field(default_factory=list)
    displaced: list[Replication] = field(default_factory=list)
    """Two runs whose constants are off by their standard errors, one way and the other; empty if none are known."""
    set_errors: Mapping[str, float] = field(default_factory=dict)
    """The model's own error by metric, as the case's parameter set states it."""
    model_errors: Mapping[str, float] = field(default_factory=dict)
    """The same as it is used: for metrics that the set says nothing of, what calibration runs tell."""
    wall_s: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    """One thing to do for a case: read what was measured (replication -1), or simulate it once."""

    case: int
    config: dict[str, Any]
    replication: int
    measured: Case | None = None
    off: int = 0
    """1 or 2 for the two runs with displaced constants."""


_MEASURED: Final = -1


def run_cases(
    cases: Sequence[tuple[str, Case]], seeds: int = DEFAULT_SEEDS, processes: int = DEFAULT_PROCESSES,
    extra: Sequence[str] = (), report: Callable[[str], None] = lambda _line: None,
) -> list[CaseRun]:  # fmt: skip
    """Read what was measured in each (set, case) and simulate it `seeds` times; outcomes in order.

    A case that cannot be read or simulated carries its error, the others go on. `report` hears of each case that ends.
    """
    runs = [CaseRun(case, name) for name, case in cases]
    tasks: list[_Task] = []
    for number, run in enumerate(runs):
        try:
            config = run.case.config(extra)
        except Exception as error:
            run.error = reason_of(error)
            report(f"{run.case.name}: {run.error}")
            continue
        about = config.get("parameters") or {}
        run.set_errors = run.model_errors = about.get("model_errors") or {}
        tasks.append(_Task(number, config, _MEASURED, run.case))
        tasks += [_Task(number, config, i) for i in range(seeds)]
        pair = displaced(config) if seeds > 1 else []  # one run each is for a quick look: it has no interval of its own
        tasks += [_Task(number, changed, 0, off=i) for i, changed in enumerate(pair, 1)]
    _carry_out(runs, tasks, processes, report)
    return runs


def _carry_out(runs: list[CaseRun], tasks: Sequence[_Task], processes: int, report: Callable[[str], None]) -> None:
    """Do all tasks and give each run what came out of its own."""
    left = Counter(task.case for task in tasks)
    found: dict[int, dict[tuple[int, int], Replication]] = {number: {} for number in left}
    for task, outcome, wall_s in _outcomes(tasks, processes):
        run = runs[task.case]
        left[task.case] -= 1
        if isinstance(outcome, str):
            run.error = run.error or outcome
        elif isinstance(outcome, RealRun):
            run.real = outcome
        else:
            run.wall_s += wall_s
            found[task.case][task.off, task.replication] = outcome
        if left[task.case] == 0:
            ended = len(runs) - sum(1 for n in left.values() if n > 0)
            report(f"{ended}/{len(runs)} {run.case.name}: {run.error or f'{run.wall_s:.1f} s'}")
    for number, replications in found.items():
        if runs[number].error is None:
            runs[number].replications = [replications[key] for key in sorted(replications) if key[0] == 0]
            runs[number].displaced = [replications[key] for key in sorted(replications) if key[0] > 0]


Outcome = Replication | RealRun | str


def _outcomes(tasks: Sequence[_Task], processes: int) -> Iterator[tuple[_Task, Outcome, float]]:
    for task, found in each(_do, tasks, processes):
        yield (task, reason_of(found), 0.0) if isinstance(found, Exception) else (task, *found)


def _do(task: _Task) -> tuple[Outcome, float]:
    if task.measured is None:
        return simulate_one(task.config, task.replication)
    began = time.perf_counter()
    try:
        return real_run(task.measured, task.config), time.perf_counter() - began
    except Exception as error:
        return reason_of(error), time.perf_counter() - began


def simulate_one(config: Mapping[str, Any], replication: int) -> tuple[Outcome, float]:
    """Replication number `replication` of a configuration, or why there is none, and the seconds that it took."""
    from lsmlab.sim.configuration.compose import trusted_packages
    from lsmlab.sim.simulation import run

    began = time.perf_counter()
    try:
        seeded = {**config, "seed": int(config.get("seed", 1)) + replication}
        result = run(seeded, None, trusted_packages())
    except Exception as error:
        return reason_of(error), time.perf_counter() - began
    values = simulated_values(result.summary, result.jobs, result.series, result.latency)
    series = reported_series(result.series)
    return Replication(values, series), time.perf_counter() - began

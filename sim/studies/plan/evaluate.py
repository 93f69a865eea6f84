"""Evaluation of a candidate in a worker process: trial of the planned rate, and the largest sustainable rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lsmlab.sim.progress import Progress
from lsmlab.sim.runs.store import RunStore
from lsmlab.sim.studies.plan.planned_store import PlannedStore, PlanRuns
from lsmlab.sim.studies.plan.service_levels import ServiceLevels
from lsmlab.sim.studies.plan.sustainable import Search, Sustainable
from lsmlab.sim.studies.plan.trial import LoadBursts, SearchSettings, Trial

USUAL_RUNS: Final = 12
"""Runs of a usual evaluation, most of them longer than the shortest (measured: 8 to 17)."""
USUAL_LENGTH: Final = 1.6
"""Their mean length, in units of the shortest run of a trial (measured)."""
_GUESS: Final = 1.0 / 0.9
"""Ratio of the first guess of a search to the rate that it tries first."""


@dataclass(frozen=True)
class Evaluation:
    """Task of a worker: one store and the service levels that it must meet."""

    name: str
    store: PlannedStore
    planned_per_s: float
    """Rate of the busiest hour on this machine, in operations per second."""
    levels: ServiceLevels
    bursts: LoadBursts | None
    search: SearchSettings
    runs: RunStore
    fresh: bool = False
    around_per_s: float | None = None
    """Expected sustainable rate; if given, the search starts there and omits closed loop and planned rate."""


@dataclass(frozen=True)
class Evaluated:
    """Result of an evaluation."""

    name: str
    planned: Trial | None
    """Trial of the planned rate."""
    found: Sustainable
    limits: Mapping[str, float]
    """Compaction slots, cores, client threads, caps (1 if any) and capacity in bytes of the machine."""
    runs: int
    simulated: int


def evaluate(task: Evaluation, progress: Progress) -> Evaluated:
    """Return the result of a task. Raises InputError if the store cannot run."""
    runs = PlanRuns(task.runs, task.fresh)
    runs.progress = lambda: progress(min(runs.count, USUAL_RUNS - 0.5), float(USUAL_RUNS))
    search = Search(task.store, runs, task.levels, task.bursts, task.search)
    if task.around_per_s is not None:
        found = search.find(task.around_per_s * _GUESS)
        return Evaluated(task.name, None, found, _limits(task.store), runs.count, runs.simulated)
    planned = search.try_rate(task.planned_per_s)
    found = search.find()
    return Evaluated(task.name, planned, found, _limits(task.store), runs.count, runs.simulated)


def coarse(search: SearchSettings, least: float = 0.04) -> SearchSettings:
    """Return settings of a search whose result is only compared with another one."""
    return replace(search, precision=max(search.precision, least), seeds=1)


def _limits(store: PlannedStore) -> dict[str, float]:
    setup = store.setup
    caps: Mapping[str, Any] = {**(store.config.get("device") or {}), **(store.config.get("limits") or {})}
    found = {
        "slots": float(setup.workload.shards * setup.engine.scheduler().most_jobs()[1]),
        "cores": float(setup.host.cores),
        "threads": float(sum(c.threads for c in setup.workload.clients)),
        "caps": float(any(caps.get(name) is not None for name in ("write_cap", "read_cap", "iops_cap"))),
    }
    return found if store.capacity_bytes is None else {**found, "capacity_bytes": store.capacity_bytes}

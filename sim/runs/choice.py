"""Choice of the executor: this process, worker processes of this machine, or workers on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.runs.executor import Executor, InProcess

if TYPE_CHECKING:
    from lsmlab.sim.runs.cluster.workers import ClusterWorkers
    from lsmlab.sim.runs.store import RunStore

PLACES: Final = ("slurm", "ray")
"""Values of --on."""
_CLUSTER: list[ClusterWorkers] = []
"""Workers of `cluster`, for all executors of the command."""


def executor(processes: int | None, tasks: int) -> Executor:
    """Return the workers of a cluster (`cluster`), or worker processes (default: one per core), or for one: this process."""
    if _CLUSTER:
        return _CLUSTER[-1]
    count = min(processes or cores(), tasks)
    if count <= 1:
        return InProcess()
    from lsmlab.sim.runs.local import LocalProcesses  # loads multiprocessing, which a single run does not need

    return LocalProcesses(count)


@contextmanager
def cluster(place: str | None, workers: int | None) -> Iterator[None]:
    """In this block, executors use `workers` workers on a cluster (default: its cores); with None, this machine.

    Raises InputError if the cluster is not there.
    """
    if place is None:
        yield
        return
    from lsmlab.sim.runs.store import default_store

    with closing(_workers(place, workers, default_store())) as several:
        _CLUSTER.append(several)
        try:
            yield
        finally:
            _CLUSTER.remove(several)


def _workers(place: str, workers: int | None, store: RunStore) -> ClusterWorkers:
    from lsmlab.sim.runs.cluster.workers import ClusterWorkers

    if place == "slurm":
        from lsmlab.sim.runs.cluster.on_slurm import Slurm

        if workers is None:
            raise InputError("--on slurm: say with -j N how many workers, each with one core, the command may ask for")
        return ClusterWorkers(Slurm(), workers, store)
    from lsmlab.sim.runs.cluster.on_ray import Ray

    ray = Ray()
    return ClusterWorkers(ray, workers or ray.cores(), store)


def parallel(processes: int | None) -> int:
    """Return the number of workers that run at the same time: those of the cluster, or at most one per core."""
    most = _CLUSTER[-1].count if _CLUSTER else cores()
    return min(processes or most, most)


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows do not have sched_getaffinity
        return os.cpu_count() or 1

"""Choice of an executor: worker processes of this machine, or a cluster (--on)."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.runs.executor import Executor, InProcess, R, T, TaskResult, TaskWork, Watch
from lsmlab.sim.runs.store import RunStore

if TYPE_CHECKING:
    from lsmlab.sim.runs.local import Processes

QUEUES: Final = ("slurm", "pbs", "lsf", "sge")
"""Values of --on that name a batch queue, for dask-jobqueue."""
_PROTOCOLS: Final = ("tcp://", "tls://", "ucx://", "ws://", "wss://")
"""Beginnings of the address of a Dask scheduler."""
PLACES: Final = f"{', '.join(QUEUES)}, ray, dask, or the address of a Dask scheduler such as tcp://host:8786"
"""Values of --on, in words."""


class LocalProcesses:
    """Executor with `count` worker processes of this machine (None: one per core); a single task runs in this process.

    The processes stay for further tasks until `close`, or until nobody uses the executor any more.
    """

    def __init__(self, store: RunStore, count: int | None = None) -> None:
        self._store, self.count = store, count or cores()
        self._engine: Processes | None = None

    def run_tasks(self, work: TaskWork[T, R], tasks: Iterable[T], watch: Watch) -> Generator[TaskResult[T, R], None, None]:
        """Yield every task with its result as it ends; workers in the middle of a task end with the iterator."""
        left = iter(tasks)
        first = list(itertools.islice(left, min(self.count, 2)))
        if len(first) < 2:
            yield from InProcess().run_tasks(work, itertools.chain(first, left), watch)
            return
        from lsmlab.sim.runs.futures import run_with_futures  # load multiprocessing, which a single run does not need
        from lsmlab.sim.runs.local import Processes

        if self._engine is None:
            self._engine = Processes(self.count)
            weakref.finalize(self, self._engine.close)
        try:
            yield from run_with_futures(self._engine, self._store, work, itertools.chain(first, left), watch)
        finally:
            self._engine.end_calls()

    def close(self) -> None:
        """End the processes."""
        if self._engine is not None:
            self._engine.close()


@contextmanager
def open_executor(place: str | None, count: int | None, store: RunStore) -> Iterator[Executor]:
    """Yield an executor whose workers publish in `store`; leaving the block ends its workers.

    `place`: a value of --on; None for processes of this machine. `count`: number of workers; None for one per core, of this
    machine or of the cluster. Raises InputError if the cluster is not there.
    """
    if place is None:
        with closing(LocalProcesses(store, count)) as executor:
            yield executor
    elif place == "ray":
        from lsmlab.sim.runs.on_ray import on_ray

        with on_ray(store, count) as executor:
            yield executor
    elif place in QUEUES:
        from lsmlab.sim.runs.on_dask import on_queue

        with on_queue(place, store, count) as executor:
            yield executor
    elif place == "dask" or place.startswith(_PROTOCOLS):
        from lsmlab.sim.runs.on_dask import on_scheduler

        with on_scheduler(place, store, count) as executor:
            yield executor
    else:
        raise InputError(f"--on {place}: choose {PLACES}")


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows do not have sched_getaffinity
        return os.cpu_count() or 1

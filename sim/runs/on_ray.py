"""Executor on a Ray cluster: each task of a command is a task of Ray on one core."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.runs.executor import R, T, TaskResult, TaskWork, Watch
from lsmlab.sim.runs.futures import run_with_futures
from lsmlab.sim.runs.store import RunStore
from lsmlab.sim.runs.worker import Terms, do

_AHEAD: Final = 2
"""Calls per core that Ray has, so that no core waits for the command."""


@contextmanager
def on_ray(store: RunStore, count: int | None) -> Iterator[RayWorkers]:
    """Yield an executor on the Ray cluster of RAY_ADDRESS, or the one that runs on this machine.

    `count`: largest number of runs at the same time; None: the cores of the cluster. Raises InputError without a cluster.
    """
    if importlib.util.find_spec("ray") is None:
        raise InputError("--on ray: needs the package ray; install it with 'pip install lsmlab[ray]'")
    import ray

    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(os.environ.get("RAY_ADDRESS", "auto"), log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise InputError(
            "--on ray: no Ray cluster found; start one with 'ray start --head', or set RAY_ADDRESS "
            f"({str(error).partition('. ')[0]})"
        ) from None
    signal.signal(signal.SIGTERM, handler)  # Ray sets one that ends this process at once
    try:
        yield RayWorkers(store, count)
    finally:
        ray.shutdown()  # ends the tasks of this command


class RayWorkers:
    """Executor, and `futures.Engine`, on the connected Ray cluster."""

    name = "Ray"

    def __init__(self, store: RunStore, most: int | None) -> None:
        import ray

        self._store, self._most = store, most
        self.count = most or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._do = ray.remote(num_cpus=1, max_retries=0)(do)
        self._terms = ray.put(Terms.of_this_command(store))

    def run_tasks(self, work: TaskWork[T, R], tasks: Iterable[T], watch: Watch) -> Generator[TaskResult[T, R], None, None]:
        """Yield every task with its result as it ends."""
        return run_with_futures(self, self._store, work, tasks, watch)

    def slots(self) -> int:
        """Return the number of calls that Ray takes: more than cores, unless the user limits the runs."""
        return self._most or _AHEAD * self.count

    def submit(self, content: bytes, path: Path, period_s: float) -> Future[Any]:
        """Call `worker.do` in a worker."""
        future: Future[Any] = self._do.remote(content, path, period_s, self._terms).future()
        return future

    def death(self, ended: Future[Any]) -> str | None:
        """Return how the worker of a call died; None if it did not."""
        from ray.exceptions import NodeDiedError, OutOfMemoryError, WorkerCrashedError

        kinds = {WorkerCrashedError: "", NodeDiedError: ", with its node", OutOfMemoryError: " (out of memory)"}
        error = None if ended.cancelled() else ended.exception()
        return f"its Ray worker died{kinds[type(error)]}" if type(error) in kinds else None

"""Executor on Dask: workers of a running scheduler, or jobs of a batch queue that dask-jobqueue submits."""

from __future__ import annotations

import importlib.util
import logging
import math
import shutil
import socket
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.runs.executor import R, T, TaskResult, TaskWork, Watch
from lsmlab.sim.runs.futures import run_with_futures
from lsmlab.sim.runs.store import RunStore
from lsmlab.sim.runs.worker import Refusal, Terms, do

_MEMORY: Final = "2 GiB"
"""Memory of a job whose size no configuration file of dask-jobqueue gives; a run takes 0.1 to 0.5 GB."""
_LOOK_S: Final = 1.0
"""Shortest time in s between two looks at the number of workers."""
_CONNECT_S: Final = 15.0
"""Longest time in s to reach a scheduler."""
_AHEAD: Final = 2
"""Calls per worker that the scheduler has, so that no worker waits for the command."""


@contextmanager
def on_scheduler(place: str, store: RunStore, count: int | None) -> Iterator[DaskWorkers]:
    """Yield an executor on the scheduler with the address `place`; "dask" is the one of DASK_SCHEDULER_ADDRESS.

    `count`: largest number of runs at the same time; None: one per worker. Raises InputError without a scheduler.
    """
    _need("distributed", place)
    import dask
    from distributed import Client

    address = dask.config.get("scheduler-address", None) if place == "dask" else place
    if address is None:
        raise InputError("--on dask: set DASK_SCHEDULER_ADDRESS, or name the scheduler, such as --on tcp://host:8786")
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--on {place}: no Dask scheduler at {address}: {error}") from None
    with client:
        yield DaskWorkers(client, store, count)


@contextmanager
def on_queue(queue: str, store: RunStore, count: int | None) -> Iterator[DaskWorkers]:
    """Yield an executor on `count` workers of the batch queue slurm, pbs, lsf or sge, as jobs of dask-jobqueue.

    Partition, account, time limit and so on are those of dask-jobqueue's configuration. The connections are encrypted with
    keys that exist only for this command. Raises InputError if the queue or a package is missing.
    """
    if count is None:
        raise InputError(f"--on {queue}: say with -j N how many workers, each with one core, the command may ask for")
    for package in ("dask_jobqueue", "cryptography"):
        _need(package, queue)
    import dask
    import dask_jobqueue
    from distributed import Client

    kind = getattr(dask_jobqueue, f"{queue.upper()}Cluster")
    command = kind.job_cls.submit_command.split()[0]
    if shutil.which(command) is None:
        raise InputError(f"--on {queue}: this machine has no {command}; start the command on a node that submits jobs")
    refused: list[str] = []

    class Submitted(kind.job_cls):  # type: ignore[misc, name-defined]
        async def start(self) -> None:
            try:
                await super().start()
            except RuntimeError as error:
                refused.append(f"{command} refused a job: {' '.join(str(error).rpartition('stderr:')[2].split())}")
                raise

    def configured(key: str, default: Any) -> Any:
        value = dask.config.get(f"jobqueue.{queue}.{key}", None)
        return default if value is None else value

    size = int(configured("cores", 1))
    with store.staging() as folder:
        try:
            cluster = kind(
                job_cls=Submitted, cores=size, processes=size, memory=configured("memory", _MEMORY),
                job_name=configured("name", "lsmlab"), log_directory=configured("log-directory", str(folder)),
                security=_security(folder), scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise InputError(f"--on {queue}: {error}") from None
        try:
            with Client(cluster, set_as_default=False) as client:
                yield DaskWorkers(client, store, count, cluster.adapt(minimum=0, maximum=0), refused)
        finally:
            with suppress(AssertionError):  # Dask expects that the queue has taken each job
                cluster.close()


class DaskWorkers:
    """Executor, and `futures.Engine`, on the workers of a Dask scheduler."""

    def __init__(
        self, client: Any, store: RunStore, most: int | None, adaptive: Any = None, refused: Sequence[str] = ()
    ) -> None:
        self.name = f"Dask at {client.scheduler.address}"
        self._client, self._store, self._most = client, store, most
        self._adaptive, self._refused = adaptive, refused
        self._executor = client.get_executor(pure=False, retries=0)
        self._terms = Terms.of_this_command(store)
        self._workers, self._looked_s = 0, -math.inf

    @property
    def count(self) -> int:
        """Number of runs at the same time."""
        if self._adaptive is None and time.monotonic() - self._looked_s > _LOOK_S:
            self._workers, self._looked_s = len(self._client.nthreads()), time.monotonic()
        several = self._workers or 1
        return self._most if self._most and self._adaptive else min(several, self._most or several)

    def run_tasks(self, work: TaskWork[T, R], tasks: Iterable[T], watch: Watch) -> Generator[TaskResult[T, R], None, None]:
        """Yield every task with its result as it ends; the workers stay for further tasks."""
        return run_with_futures(self, self._store, work, tasks, watch)

    def slots(self) -> int:
        """Return the number of calls that the scheduler takes: more than workers, unless the user limits the runs.

        Raises InputError if the queue refuses jobs.
        """
        if self._refused:
            raise InputError(self._refused[0])
        return self._most if self._most and not self._adaptive else _AHEAD * self.count

    def submit(self, content: bytes, path: Path, period_s: float) -> Future[Any]:
        """Call `worker.do` in a worker; ask the queue for one more worker until there are as many as the user wants."""
        if self._adaptive is not None and self._adaptive.minimum < self.count:
            self._adaptive.maximum += 1
            self._adaptive.minimum += 1
        future: Future[Any] = self._executor.submit(_do, content, path, period_s, self._terms)
        return future

    def death(self, ended: Future[Any]) -> str | None:
        """Return how the worker of a call died; None if it did not."""
        from distributed import KilledWorker

        lost = not ended.cancelled() and isinstance(ended.exception(), KilledWorker)
        return "its Dask worker died" if lost else None


def _do(content: bytes, path: Path, period_s: float, terms: Terms) -> Any:
    """Do a task in a Dask worker."""
    from distributed import get_worker

    worker = get_worker()
    if worker.state.nthreads != 1:  # a simulation keeps one core busy, and composing belongs to the process
        return Refusal(
            f"{socket.gethostname()} has a worker with {worker.state.nthreads} threads; start workers with --nthreads 1"
        )
    key = worker.get_current_task()

    def wanted() -> bool:
        state = worker.state.tasks.get(key)  # the scheduler drops the tasks of a command that was killed
        return state is not None and state.state == "executing"

    return do(content, path, period_s, terms, wanted)


def _security(folder: Path) -> Any:
    """Return a key that is made for this command, and its certificate, in a folder of the user that the jobs see."""
    from distributed.security import Security

    made = Security.temporary()
    paths = {"key": folder / "key.pem", "cert": folder / "cert.pem"}
    for kind, path in paths.items():
        path.touch(mode=0o600)
        path.write_text(getattr(made, f"tls_client_{kind}"), encoding="utf-8")
    files = {f"tls_{role}_{kind}": str(paths[kind]) for role in ("client", "scheduler", "worker") for kind in paths}
    return Security(tls_ca_file=str(paths["cert"]), require_encryption=True, **files)


def _need(package: str, place: str) -> None:
    if importlib.util.find_spec(package) is None:
        name = package.replace("_", "-")
        raise InputError(f"--on {place}: needs the package {name}; install it with 'pip install lsmlab[dask]'")
    logging.getLogger("distributed").setLevel(logging.ERROR)  # Dask warns on stderr of each worker that is lost

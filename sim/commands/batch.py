"""Running configurations: one here, or many in parallel processes, each into a directory of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmlab.sim.progress import Progress
from lsmlab.sim.results.rundir import RunDirectory

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor


@dataclass(frozen=True, slots=True)
class Job:
    """One configuration to simulate, and the directory that its results go to."""

    name: str
    config: dict[str, Any]
    directory: Path
    choices: Mapping[str, str] = field(default_factory=dict)
    """The overrides that tell this job from its neighbours."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job: its summary, or the reason why there is none."""

    job: Job
    summary: dict[str, Any] | None
    error: str | None = None
    bad_input: bool = False


def simulate(config: Mapping[str, Any], directory: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Simulate one configuration, publish its files in `directory`, and return its summary."""
    from lsmlab.sim.configuration.compose import trusted_packages
    from lsmlab.sim.simulation import run

    with RunDirectory(directory) as place:
        result = run(config, progress, trusted_packages())
        result.save(place.staging)
        place.publish()
    return dict(result.summary)


def run_all(jobs: Sequence[Job], processes: int | None = None) -> list[Outcome]:
    """Run all jobs, in up to `processes` processes (default: one per core), and return their outcomes in order.

    A job that fails does not stop the others. Ctrl-C leaves the directories of finished jobs complete.
    """
    workers = min(processes or cores(), len(jobs))
    if workers <= 1:
        return [_attempt(job) for job in jobs]
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=leave_ctrl_c_to_the_parent) as pool:
        futures = [pool.submit(_attempt, job) for job in jobs]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            stop(pool, futures)
            for job in jobs:
                RunDirectory.clear(job.directory)
            raise
        return [future.result() for future in futures]


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def _attempt(job: Job) -> Outcome:
    from lsmlab.sim.configuration.messages import one_line

    try:
        return Outcome(job, simulate(job.config, job.directory))
    except OSError as error:
        return Outcome(job, None, f"{error.filename or job.directory}: {error.strerror or error}")
    except Exception as error:
        message = one_line(error)
        if message is None:
            raise
        return Outcome(job, None, message, bad_input=True)


def leave_ctrl_c_to_the_parent() -> None:
    """For a worker process: whoever started it decides what Ctrl-C means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def stop(pool: ProcessPoolExecutor, futures: Iterable[Future[Any]]) -> None:
    """Drop what has not begun and end the workers; their half-written runs lie in staging folders."""
    for future in futures:
        future.cancel()
    for process in list((pool._processes or {}).values()):
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)

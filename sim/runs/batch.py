"""Batches of runs: take results from the run store, simulate the missing runs, yield each outcome as its run ends."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.results.rundir import is_disk_full, make_directory
from lsmlab.sim.runs.executor import Executor
from lsmlab.sim.runs.key import run_key
from lsmlab.sim.runs.run_progress import RunProgress
from lsmlab.sim.runs.store import ABOUT, ERROR, FAILED, RunStore, copy_run, key_of_folder
from lsmlab.sim.runs.task import Attempt, Task, attempt, reason_of

_ALONE_S: Final = 5.0
"""Longest time in s for which the command takes runs from the store before it asks workers."""


@dataclass(frozen=True, slots=True)
class RunJob:
    """One configuration to simulate."""

    name: str
    config: Mapping[str, Any]
    directory: Path | None = None
    """Folder of results that gets the run's files too; None: the files are only in the store."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Overrides in which this job differs from the other jobs of its batch."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """`choices` as typed values, for the index."""


@dataclass(frozen=True)
class RunOutcome:
    """Result of a job: the folder of its files, or the error."""

    job: RunJob
    folder: Path | None
    """Folder with its files; None if it failed."""
    wall_s: float = 0.0
    """Wall time of the simulation in seconds, also if an earlier command simulated the run."""
    error: str | None = None
    bad_input: bool = False
    kept: bool = False
    """Whether the run was in the store already."""

    @cached_property
    def summary(self) -> dict[str, Any] | None:
        """Content of summary.json; None if the job failed."""
        if self.folder is None:
            return None
        return read_summary(self.folder)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a batch of runs is done."""

    store: RunStore
    executor: Executor
    fresh: bool = False
    """Simulate again the runs that are in the store."""
    quiet: bool = False
    """Show no progress."""
    until_s: float | None = None
    """Time of `time.monotonic()` at which a search ends with its best answer so far; None: it ends when it is done."""


def outcomes(jobs: Iterable[RunJob], runs: Settings, count: int) -> Iterator[RunOutcome]:
    """Yield the outcome of every one of `count` jobs as it ends; simulate jobs of the same configuration once.

    Jobs are taken as they are needed, so that an iterator of many needs little memory. A failed job does not stop the others.
    Jobs that failed in an earlier batch are tried again. Closing the iterator (Ctrl-C) ends all work; finished runs stay in
    the store and in the jobs' directories.
    """
    store, left, kept = runs.store, iter(jobs), 0
    store.clean()
    until_s = time.monotonic() + _ALONE_S
    for job in left:
        key = run_key(job.config)
        if runs.fresh or store.find(key) is None or time.monotonic() > until_s:
            left = itertools.chain([job], left)
            break
        kept += 1
        yield _placed(store, key, job, kept=True)
    waiting: dict[str, list[RunJob]] = {}  # jobs of the runs in progress
    begun: set[str] = set()

    def tasks() -> Iterator[Task]:
        for job in left:
            key = run_key(job.config)
            waiting.setdefault(key, []).append(job)
            if len(waiting[key]) == 1:
                yield Task(key, job.config, store.root, runs.fresh and key not in begun)
                begun.add(key)

    progress = RunProgress(count, kept, quiet=runs.quiet)
    try:
        with closing(runs.executor.run_tasks(attempt, tasks(), progress.share)) as ends:
            for ended in ends:
                first, *others = waiting.pop(ended.task.key)
                outcome = _outcome(store, ended.task.key, first, ended.result)
                progress.ended(ended.index, kept=outcome.kept)
                yield outcome
                for job in others:
                    progress.ended(ended.index, kept=True)
                    yield _outcome(store, ended.task.key, job, ended.result)
    finally:
        progress.close()
        store.clean()


def _outcome(store: RunStore, key: str, job: RunJob, result: Attempt | Exception) -> RunOutcome:
    if isinstance(result, Exception):
        if is_disk_full(result):
            raise result  # all other runs would fail too
        result = Attempt(error=reason_of(result))
    if result.error is None:
        return _placed(store, key, job, kept=result.kept)
    store.fail(key, f"{result.error}\n{result.trace}".rstrip())
    if job.directory is not None:
        if _has_other(job.directory, key):
            shutil.rmtree(job.directory)
        write_failure(job.directory, result.error)
    return RunOutcome(job, None, error=result.error, bad_input=result.bad_input)


def write_failure(directory: Path, error: str) -> None:
    """Write the reason of a failed run into failed/<run>/error.txt beside the folder that its results would have."""
    folder = make_directory(_failed(directory))
    (folder / ERROR).write_text(f"{error}\n", encoding="utf-8")


def _placed(store: RunStore, key: str, job: RunJob, *, kept: bool) -> RunOutcome:
    """Copy a run from the store into the job's directory and return the outcome."""
    folder, wall_s = store.root / key, float(store.about(key).get("wall_s", 0.0))
    if job.directory is not None:
        about = {"name": job.name, "choices": job.choices, "parameters": job.parameters}
        if not (kept and _is_placed(job.directory, key, about)):
            copy_run(folder, job.directory, about, alone=_has_other(job.directory, key))
        folder = job.directory
        shutil.rmtree(_failed(folder), ignore_errors=True)
    return RunOutcome(job, folder, wall_s, kept=kept)


def _is_placed(directory: Path, key: str, about: Mapping[str, Any]) -> bool:
    """Return whether a folder has this run from an earlier command, with the same name and choices."""
    if key_of_folder(directory) != key:
        return False
    content = json.loads((directory / ABOUT).read_text(encoding="utf-8"))
    return all(content.get(name) == value for name, value in about.items())


def _has_other(directory: Path, key: str) -> bool:
    """Return whether a folder has the result of another configuration, from an earlier command, maybe with its page."""
    return key_of_folder(directory) not in (None, key)


def _failed(directory: Path) -> Path:
    return directory.parent / FAILED / directory.name

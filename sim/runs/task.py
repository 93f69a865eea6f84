"""Task of an executor: simulate one configuration into the run store, in this process or in a worker."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmlab.sim.progress import Progress
from lsmlab.sim.results.rundir import is_disk_full
from lsmlab.sim.runs.key import canonical, code_digest
from lsmlab.sim.runs.loading import load_simulation
from lsmlab.sim.runs.store import RunStore


@dataclass(frozen=True, slots=True)
class Task:
    """A run to simulate into the store."""

    key: str
    config: Mapping[str, Any]
    root: Path
    """Folder of the store."""
    replace: bool = False
    """Replace the run if the store has it already."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Result of a task. The files of the run are in the store, unless it failed."""

    kept: bool = False
    """Whether the store had the run already."""
    error: str | None = None
    """Reason of the failure, in one line; None if the run succeeded."""
    bad_input: bool = False
    """Whether the configuration caused the error: the same input fails again."""
    trace: str = ""
    """Traceback of an error that is a bug of LSMLab."""


def attempt(task: Task, progress: Progress | None = None) -> Attempt:
    """Simulate a task into the store if needed; return errors as text, because not every exception can be pickled.

    Raises OSError if the disk is full.
    """
    from lsmlab.sim.configuration.messages import one_line

    if not task.replace and RunStore(task.root).find(task.key) is not None:
        return Attempt(kept=True)
    try:
        simulate_task(task, progress)
        return Attempt()
    except OSError as error:
        if is_disk_full(error):
            raise
        return Attempt(error=f"{error.filename or task.root}: {error.strerror or error}")
    except Exception as error:
        if one_line(error) is not None:
            return Attempt(error=reason_of(error), bad_input=True)
        return Attempt(error=reason_of(error), trace="".join(traceback.format_exception(error)))


def reason_of(error: Exception) -> str:
    """Return the error as one line; for an exception of code, the line gives its type and its place in that code."""
    from lsmlab.sim.configuration.messages import one_line
    from lsmlab.sim.runs.executor import WorkerDiedError

    text = one_line(error)
    if text is None and isinstance(error, WorkerDiedError):
        text = str(error)
    if text is None:
        text = f"{type(error).__name__}: {' '.join(str(error).split())} ({_place_of(error)})"
    return text


def _place_of(error: Exception) -> str:
    """Return where code of LSMLab or of a trusted package raised the error, and whom to tell.

    Frames of libraries below that code are left out: an engine that misuses NumPy has its own line.
    """
    from lsmlab.sim.configuration.trust import trusted_packages

    others = tuple(trusted_packages())
    place, found = "", ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = f"{frame.f_globals.get('__name__', '')}."
        if owner := next((name for name in (*others, "lsmlab") if module.startswith(f"{name}.")), None):
            place, found = f"{frame.f_code.co_filename}, line {line}: ", owner
    advice = f"a bug in {found}" if found in others else "a bug in lsmlab: please report it, unless the code is yours"
    return f"{place}{advice}"


def simulate_task(task: Task, progress: Progress | None = None) -> None:
    """Simulate a task and publish its files in the store.

    Raises InputError for a configuration that cannot be simulated, OSError if the store cannot be written.
    """
    from lsmlab.sim.configuration.trust import trusted_packages

    load_simulation()
    from lsmlab.sim.simulation import Setting, simulate

    began = time.perf_counter()
    store = RunStore(task.root)
    with store.staging() as folder:
        result = simulate(Setting.of(canonical(task.config), trusted_packages()), progress)
        result.save(folder)
        metadata = {
            "seed": result.summary["seed"], "version": result.summary["version"], "code": code_digest(),
            "wall_s": round(time.perf_counter() - began, 3), "ended": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }  # fmt: skip
        store.publish(folder, task.key, metadata, replace=task.replace)

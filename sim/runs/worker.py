"""What a worker does, on this machine and on a cluster: check that it has the command's code, do a task, write its progress."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.configuration.trust import trusted_packages
from lsmlab.sim.progress import Progress
from lsmlab.sim.runs.executor import WorkerDiedError
from lsmlab.sim.runs.key import code_digest
from lsmlab.sim.runs.store import RunStore

TRIES: Final = 2
"""Number of workers that may die during a task before the task fails."""
PERIOD_S: Final = 0.25
"""Shortest time in s between two reports of a worker on the progress of its task."""
_PASSED: Final = ("LSMLAB_ALLOW_PACKAGES", "LSMLAB_TRUST", "LSMLAB_RUNS")
"""Environment variables of the command that change its tasks."""
_POLL_S: Final = 0.5
"""Seconds between two looks at the parent of a launcher's worker."""
_WATCH: Final = "lsmlab-parent"
"""Name of the thread that looks."""
_SHARE: Final = "{:6.4f}"


@dataclass(frozen=True, slots=True)
class TaskFile:
    """File about one task, in a folder that command and worker share.

    It has the finished share of the task in six characters, then a line for each worker that began the task and did not end
    it. The command makes the file; when it has gone, nobody wants the result of the task any more.
    """

    path: Path

    def create(self) -> None:
        """Write the file of a task that no worker has begun."""
        self.path.write_text(_SHARE.format(0.0), encoding="utf-8")

    def begin(self) -> int:
        """Record that this process begins the task; return how many workers did so before. Raises FileNotFoundError."""
        with self.path.open("r+", encoding="utf-8") as file:
            before = file.read().count("\n")
            file.write(f"\n{socket.gethostname()} {os.getpid()}")
        return before

    def end(self) -> None:
        """Record that this process has ended the task; a cluster may lose the result. Raises FileNotFoundError."""
        with self.path.open("r+", encoding="utf-8") as file:
            text = file.read().rpartition("\n")[0]
            file.seek(0)
            file.write(text)
            file.truncate()

    def write_share(self, share: float) -> None:
        """Write the finished share, 0 to 1. Raises FileNotFoundError."""
        with self.path.open("r+", encoding="utf-8") as file:
            file.write(_SHARE.format(min(max(share, 0.0), 1.0)))

    def read(self) -> tuple[float, list[tuple[str, int]]]:
        """Return the finished share, and (host, process id) of each worker that began the task and did not end it."""
        share, *begun = self.path.read_text(encoding="utf-8").split("\n")
        return float(share), [(host, int(pid)) for host, _, pid in (line.rpartition(" ") for line in begun)]


@dataclass(frozen=True, slots=True)
class Terms:
    """Conditions of a command: a worker on a cluster must have the same code and see the same folders."""

    version: str
    code: str
    """Digest of the code, as in the keys of runs."""
    directory: Path
    """Current directory of the command: relative paths of its tasks begin there."""
    store: Path
    """Folder of the run store."""
    environment: tuple[tuple[str, str], ...]
    """Names and values of the environment variables that change tasks."""

    @staticmethod
    def of_this_command(store: RunStore) -> Terms:
        """Return the conditions of the command in this process."""
        environment = tuple((name, os.environ[name]) for name in _PASSED if name in os.environ)
        return Terms(version("lsmlab"), _own_code(), Path.cwd(), store.root, environment)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answer of a worker that cannot do the tasks of a command."""

    reason: str


class _UnwantedError(BaseException):
    """Ends a task that nobody wants any more; not an Exception, because tasks turn these into results."""


def do(
    content: bytes, path: Path, period_s: float, terms: Terms | None = None, wanted: Callable[[], bool] = lambda: True
) -> Any:
    """Do a task and return its result, its exception, or a Refusal.

    `content`: the pickled function and task, which a worker with other code might not be able to read. `path`: its
    `TaskFile`. `terms`: for workers on a cluster. `wanted`: whether the cluster still wants the result.
    """
    if terms is not None and (reason := _joined(terms)) is not None:
        return Refusal(reason)
    file, last_s = TaskFile(path), time.monotonic()

    def progress(now_s: float, end_s: float) -> None:
        nonlocal last_s
        if time.monotonic() - last_s > period_s and end_s > 0.0:
            last_s = time.monotonic()
            if not wanted():
                raise _UnwantedError
            _unless_unwanted(file.write_share, now_s / end_s)

    try:
        if _unless_unwanted(file.begin) >= TRIES:  # a cluster may try more often
            return WorkerDiedError(f"its worker died, {TRIES} times")
        result = _result(content, progress)
        _unless_unwanted(file.end)
        return result
    except _UnwantedError:
        return None


def _result(content: bytes, progress: Progress) -> Any:
    try:
        work, task = pickle.loads(content)
        return work(task, progress)
    except Exception as error:
        return _portable(error)


def _unless_unwanted(write: Callable[..., Any], *arguments: float) -> Any:
    try:
        return write(*arguments)
    except FileNotFoundError:
        raise _UnwantedError from None


def _portable(error: Exception) -> Exception:
    """Return the exception if it can be pickled, else a RuntimeError with the same type name and message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _joined(terms: Terms) -> str | None:
    """Take over environment and directory of a command; return why this worker cannot do its tasks, None if it can."""
    for name in _PASSED:  # a worker may do tasks of several commands in turn
        os.environ.pop(name, None)
    os.environ.update(terms.environment)
    reason = refusal(terms, socket.gethostname())
    if reason is None:
        os.chdir(terms.directory)
    return reason


@lru_cache(maxsize=8)
def refusal(terms: Terms, host: str) -> str | None:
    """Return why the worker in this process on `host` cannot do the command's tasks; None if it can."""
    if terms.version != version("lsmlab"):
        return f"{host} has LSMLab {version('lsmlab')}, this command {terms.version}; install the same version on all nodes"
    if terms.code != _own_code():
        return (
            f"{host} has other code than this command (LSMLab's own, --allow-package, or NumPy, SciPy, SimPy); "
            "install the same versions on all nodes and start the workers again"
        )
    missing = next((folder for folder in (terms.directory, terms.store) if not folder.is_dir()), None)
    if missing is not None:
        return (
            f"{host} does not see {missing}; start the command in a folder that all nodes share, with LSMLAB_RUNS and "
            "--out in shared folders"
        )
    RunStore(terms.store).clean()  # of workers that died on this machine: the command itself sees only its own machine
    return None


def _own_code() -> str:
    """Return the digest of the code of this process, trusted packages (--allow-package) included."""
    return code_digest(tuple(sorted(trusted_packages())))


def begin_local_worker() -> None:
    """Prepare a worker process of this machine: the parent handles Ctrl-C, and this process ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def end_with_parent_of(driver: int) -> None:
    """End this process soon after its parent has ended; do nothing in the process `driver` itself.

    For the workers of Hydra's launchers (joblib, Ray, Slurm), which would go on simulating without their driver.
    """
    if os.getpid() != driver and not any(thread.name == _WATCH for thread in threading.enumerate()):
        threading.Thread(target=_poll_parent, args=(os.getppid(),), name=_WATCH, daemon=True).start()


def _poll_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os._exit(1)

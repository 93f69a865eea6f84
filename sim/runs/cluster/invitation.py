"""Invitation of a worker to a command, and the conditions on which the command accepts it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from lsmlab.sim.configuration.trust import trusted_packages
from lsmlab.sim.runs.key import code_digest

INVITATION_ENV: Final = "LSMLAB_INVITATION"
"""Environment variable that passes the invitation to a worker; a command line would show its key to other users."""
_PASSED: Final = ("LSMLAB_ALLOW_PACKAGES", "LSMLAB_TRUST", "LSMLAB_RUNS")
"""Environment variables of the command that change its tasks."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """Address of a command, and the key that only its own workers know."""

    host: str
    port: int
    key: str

    def text(self) -> str:
        """Return the invitation as one line."""
        return json.dumps(asdict(self))

    @staticmethod
    def of(text: str) -> Invitation:
        """Read a line that `text` wrote."""
        return Invitation(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Terms:
    """Conditions of a command: a worker must have the same code and see the same folders."""

    version: str
    code: str
    """Digest of the code, as in the keys of runs."""
    directory: Path
    """Current directory of the command: relative paths of its tasks begin there."""
    folders: tuple[Path, ...]
    """Folders that exist while the command runs."""
    environment: Mapping[str, str]
    period_s: float
    """Seconds between two messages about the progress of a task."""

    @staticmethod
    def of_this_command(folders: tuple[Path, ...], period_s: float) -> Terms:
        """Return the conditions of the command in this process."""
        environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
        return Terms(version("lsmlab"), own_code(), Path.cwd(), folders, environment, period_s)


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a worker to the conditions of a command."""

    host: str
    pid: int
    refusal: str | None = None
    """Reason why the worker cannot do the tasks of this command; None: it can."""


def own_code() -> str:
    """Return the digest of the code of this process, trusted packages (--allow-package) included."""
    return code_digest(tuple(sorted(trusted_packages())))


def refusal(terms: Terms, host: str) -> str | None:
    """Return why the worker in this process on `host` cannot do the command's tasks; None if it can."""
    if terms.version != version("lsmlab"):
        return f"{host} has LSMLab {version('lsmlab')}, this command {terms.version}; install the same version on all nodes"
    if terms.code != own_code():
        return (
            f"{host} has other code than this command (LSMLab's own, --allow-package, or NumPy, SciPy, SimPy); "
            "install the same versions on all nodes"
        )
    missing = next((folder for folder in (terms.directory, *terms.folders) if not folder.is_dir()), None)
    if missing is not None:
        return (
            f"{host} does not see {missing}; start the command in a folder that all nodes share, with LSMLAB_RUNS and "
            "--out in shared folders"
        )
    return None

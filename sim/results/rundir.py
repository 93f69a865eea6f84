"""Result directories: files are written to a staging directory, which is renamed when the run is complete."""

from __future__ import annotations

import errno
import shutil
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.results.leftovers import move_files, partial_path, remove_leftovers
from lsmlab.sim.results.stopping import uninterrupted

_TRIES: Final = 1000
"""Maximum number of numbered directory names that are tried."""


class RunDirectory:
    """Staging directory for the files of a run, which `publish` moves to `target`.

    Use it as a context manager: write files to `staging`, then call `publish`. If an error or Ctrl-C comes first, `target`
    stays as it was and the staging directory is deleted.
    """

    def __init__(self, target: Path) -> None:
        self.target = target.resolve()
        self.staging = partial_path(self.target)

    def __enter__(self) -> RunDirectory:
        remove_leftovers(self.target)
        make_directory(self.staging)  # before the simulation, so that a directory that is not writable fails early
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with uninterrupted():
            shutil.rmtree(self.staging, ignore_errors=True)

    def publish(self) -> Path:
        """Move the files to the target, replace files of the same name there, and return the target."""
        move_files(self.staging, self.target)
        return self.target


def make_directory(directory: Path) -> Path:
    """Create the directory if it does not exist and return it.

    Raises InputError if it cannot be created; OSError if the disk is full, which is not a fault of the input.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if is_disk_full(error):
            raise
        raise InputError(f"{directory}: {error.strerror}; choose a writable directory with --out DIR") from None
    return directory


def named_directory(out: Path) -> Path:
    """Return the folder that --out names, which need not exist. Raises InputError if it is a file."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: this is a file; name a folder")
    return out


def dated_directory(root: str) -> Path:
    """Create and return root/<date>/<time>, by the clock of this machine."""
    return unused_directory(Path(root) / datetime.now().astimezone().strftime("%Y-%m-%d/%H-%M-%S"))


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error says that the disk, or the user's quota of it, is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def display_path(path: Path) -> str:
    """Return `path` relative to the working directory if it is inside that directory, else `path` unchanged."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def unused_directory(directory: Path) -> Path:
    """Create and return `directory`, or the first of directory_2, directory_3 … that does not exist.

    Two runs that start in the same second therefore get different directories.
    """
    make_directory(directory.parent)
    for number in range(1, _TRIES):
        candidate = directory if number == 1 else directory.with_name(f"{directory.name}_{number}")
        try:
            candidate.mkdir()
        except FileExistsError:
            continue
        return candidate
    raise FileExistsError(f"{directory}: {_TRIES} runs of this name exist; delete some, or choose another --out DIR")

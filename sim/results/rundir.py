"""Directories of results: filled out of sight, then published in one step, so that a reader never sees half a run."""

from __future__ import annotations

import errno
import glob
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Final

from lsmlab.models.errors import InputError

_TRIES: Final = 1000
"""How many names with a running number are tried before giving up."""


class RunDirectory:
    """A place where a run's files are gathered before they appear in `target`.

    Used as a context manager: write into `staging`, then call `publish`. If anything fails before that (a full disk,
    Ctrl-C), the target is as it was and the staging folder is removed.
    """

    def __init__(self, target: Path) -> None:
        self.target = target.resolve()
        self.staging = self.target.with_name(f".{self.target.name}.partial-{os.getpid()}")

    def __enter__(self) -> RunDirectory:
        made(self.staging)  # early: a place that cannot be written fails before the work
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.staging, ignore_errors=True)

    @staticmethod
    def clear(target: Path) -> None:
        """Remove what processes that were ended left behind beside `target`."""
        for staging in target.parent.glob(f".{glob.escape(target.name)}.partial-*"):
            shutil.rmtree(staging, ignore_errors=True)

    def publish(self) -> Path:
        """Move the files to the target, replacing files of the same name there; returns the target."""
        try:
            self.staging.rename(self.target)
        except OSError:  # the target exists and is not empty
            self.target.mkdir(parents=True, exist_ok=True)
            for path in sorted(self.staging.iterdir()):
                path.replace(self.target / path.name)
        return self.target


def made(directory: Path) -> Path:
    """The directory, created where it does not exist. Raises InputError where it cannot be; a full disk is no bad input."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise InputError(f"{directory}: {error.strerror}; choose a place that can be written with --out DIR") from None
    return directory


def shown(path: Path) -> str:
    """A path as short as it can be typed from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def fresh(directory: Path) -> Path:
    """`directory`, or the first of directory_2, directory_3 … that does not exist yet; it is created.

    Two runs that start in the same second get two places.
    """
    made(directory.parent)
    for number in range(1, _TRIES):
        candidate = directory if number == 1 else directory.with_name(f"{directory.name}_{number}")
        try:
            candidate.mkdir()
        except FileExistsError:
            continue
        return candidate
    raise FileExistsError(f"{directory}: {_TRIES} runs of this name exist")

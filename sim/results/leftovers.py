"""Temporary files and folders beside results: their names, and the removal of those that killed processes left."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PARTIAL: Final = re.compile(r"\..*\.partial-(?:(?P<host>.*)-)?(?P<pid>\d+)", re.DOTALL)

_ENDED: Final[set[tuple[str, int]]] = set()
"""(host, process id) of workers on a cluster that were lost."""


def partial_path(target: Path) -> Path:
    """Return the path at which this process prepares the file or folder `target`; its name contains machine and process."""
    return target.with_name(f".{target.name}.partial-{socket.gethostname()}-{os.getpid()}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write a file to, which then replaces `path`: readers see the complete old file or the complete new one."""
    temporary = partial_path(path)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(directory: Path) -> int:
    """Remove what killed processes of this machine left in a folder of results and beside it; return the number."""
    beside = [p for p in _partial(directory.parent) if p.name.startswith(f".{directory.name}.partial-")]
    removed = 0
    for path in [*beside, *_partial(directory)]:
        found = _PARTIAL.fullmatch(path.name)
        if found is None or not has_ended(found["host"] or socket.gethostname(), int(found["pid"])):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        removed += 1
    return removed


def _partial(folder: Path) -> list[Path]:
    try:
        return list(folder.glob(".*.partial-*"))
    except OSError:
        return []


def declare_ended(host: str, pid: int) -> None:
    """Record that a process of another machine has ended, so that `has_ended` knows it."""
    _ENDED.add((host, pid))


def has_ended(host: str, pid: int) -> bool:
    """Return whether a process is known to have ended. This process cannot look at processes of other machines."""
    return (host, pid) in _ENDED or (host == socket.gethostname() and not is_alive(pid))


def is_alive(pid: int) -> bool:
    """Return whether a process runs. A process that has ended exists until its parent waits for it (Linux: state Z)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    with contextlib.suppress(OSError):  # no /proc: not Linux, or the process has gone
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True


def move_files(source: Path, target: Path, *, alone: bool = False) -> None:
    """Move a folder to `target`; if that exists, replace the files of the same name there and keep others.

    Of two processes that do this at once, the second waits, so that all files are those of one process. `alone`: remove the
    other files afterwards; a process that reads the folder meanwhile finds all that a run has.
    """
    with _locked(target.parent):
        try:
            source.rename(target)
        except OSError:  # the target exists and is not empty
            target.mkdir(parents=True, exist_ok=True)
            moved = [path.replace(target / path.name).name for path in sorted(source.iterdir())]
            others = [path for path in target.iterdir() if path.name not in moved and path.name[0] != "."]
            for path in others if alone else ():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. File systems and platforms without locks do without."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

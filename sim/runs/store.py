"""The run store: a folder per run, called by the run's key, whose files appear together or not at all.

A store ROOT holds ROOT/<key> (config.yaml, the tables, summary.json, run.json), ROOT/failed/<key>/error.txt for runs that
failed, and ROOT/staging for runs that are being written. docs/reference/run-store.md describes it for users.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.rundir import made

PLACE_ENV: Final = "LSMLAB_RUNS"
"""Environment variable that names another store than ./outputs/runs."""
ABOUT: Final = "run.json"
ERROR: Final = "error.txt"
FAILED: Final = "failed"
_STAGING: Final = "staging"


def default_store() -> RunStore:
    """The store that all commands share: outputs/runs of the current directory, or $LSMLAB_RUNS."""
    return RunStore(Path(os.environ.get(PLACE_ENV) or Path("outputs") / "runs").absolute())


@dataclass(frozen=True, slots=True)
class RunStore:
    """Finished and failed runs below a folder; any number of processes may use it at once."""

    root: Path

    def find(self, key: str) -> Path | None:
        """The folder of a finished run, or None."""
        folder = self.root / key
        return folder if key_in(folder) == key else None

    def finished(self) -> Iterator[str]:
        """Keys of all finished runs, in no order."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.root) as entries:
            yield from (e.name for e in entries if e.name not in (FAILED, _STAGING) and self.find(e.name))

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """A new folder of this process to write a run into; it is removed at the end unless it was published."""
        name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        folder = made(self.root / _STAGING / name)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, folder: Path, key: str, about: Mapping[str, Any], *, replace: bool = False) -> Path:
        """Give a staged run its place in one step. A run that is there already stays, unless `replace`."""
        sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        (folder / ABOUT).write_text(to_json({"key": key, **about, "files": sizes}), encoding="utf-8")
        for path in folder.iterdir():
            path.chmod(0o444)  # folders of results share these files by hard links
        target = self.root / key
        if target.exists() and (replace or self.find(key) is None):
            with self.staging() as old, contextlib.suppress(FileNotFoundError):
                target.rename(old / key)
        try:
            folder.rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise  # else another process has finished the same run at the same time
        shutil.rmtree(self.root / FAILED / key, ignore_errors=True)
        return target

    def fail(self, key: str, reason: str) -> None:
        """Keep the reason why a run failed, apart from results; the run is tried again when it is asked for."""
        folder = made(self.root / FAILED / key)
        (folder / ERROR).write_text(f"{reason}\n", encoding="utf-8")

    def about(self, key: str) -> dict[str, Any]:
        """What run.json of a finished run says: key, seed, code, versions, wall_s."""
        found: dict[str, Any] = json.loads((self.root / key / ABOUT).read_text(encoding="utf-8"))
        return found

    def clean(self) -> int:
        """Remove what processes of this machine left behind when they were killed; returns how many folders."""
        removed = 0
        for folder in (self.root / _STAGING).glob(f"{socket.gethostname()}-*"):
            pid = folder.name.rsplit("-", 2)[1]
            if pid.isdecimal() and not _is_alive(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        return removed


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def copy_run(source: Path, target: Path, about: Mapping[str, Any]) -> None:
    """Put a stored run into a folder of results: hard links where the file system allows, else copies.

    The folder is complete without the store. It appears in one step; a run of another key that is there gives way.
    """
    staging = target.with_name(f".{target.name}.partial-{os.getpid()}")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    try:
        for path in source.iterdir():
            if path.name != ABOUT:
                _link(path, staging / path.name)
        content = {**json.loads((source / ABOUT).read_text(encoding="utf-8")), **about}
        (staging / ABOUT).write_text(to_json(content), encoding="utf-8")
        try:
            staging.rename(target)
        except OSError:  # the folder exists: replace its files one by one, and keep what is not ours, such as a page
            target.mkdir(parents=True, exist_ok=True)
            for path in sorted(staging.iterdir()):
                path.replace(target / path.name)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy(source, target)


def key_in(folder: Path) -> str | None:
    """The key of the finished run in a folder; None if it holds none, or a file of it is missing or has another size."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        whole = all((folder / name).stat().st_size == size for name, size in about["files"].items())
        return str(about["key"]) if whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None

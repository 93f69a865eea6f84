"""Run store: one folder per run, named by the run's key. The files of a run appear in one atomic step.

A store ROOT contains ROOT/<key> (config.yaml, the tables, summary.json, run.json), ROOT/failed/<key>/error.txt for
failed runs, and ROOT/staging for runs that are being written. docs/reference/run-store.md describes it for users.
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
from lsmlab.sim.results.leftovers import has_ended, move_files, partial_path
from lsmlab.sim.results.rundir import make_directory
from lsmlab.sim.results.stopping import uninterrupted

PLACE_ENV: Final = "LSMLAB_RUNS"
"""Environment variable with the path of the store; the default is ./outputs/runs."""
ABOUT: Final = "run.json"
ERROR: Final = "error.txt"
FAILED: Final = "failed"
_STAGING: Final = "staging"


def default_store() -> RunStore:
    """Return the store that all commands share: $LSMLAB_RUNS, or else outputs/runs of the current directory."""
    return RunStore(Path(os.environ.get(PLACE_ENV) or Path("outputs") / "runs").absolute())


@dataclass(frozen=True, slots=True)
class RunStore:
    """Finished and failed runs below the folder `root`; any number of processes may use the store at the same time."""

    root: Path

    def find(self, key: str) -> Path | None:
        """Return the folder of a finished run; None if the store does not have it."""
        folder = self.root / key
        return folder if key_of_folder(folder) == key else None

    def finished(self) -> Iterator[str]:
        """Yield the keys of all finished runs, unordered."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.root) as entries:
            yield from (e.name for e in entries if e.name not in (FAILED, _STAGING) and self.find(e.name))

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Create a folder for the files of a run that this process writes; remove it at the end unless published."""
        name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        folder = self.root / _STAGING / name
        try:
            yield make_directory(folder)
        finally:
            with uninterrupted():
                shutil.rmtree(folder, ignore_errors=True)

    def publish(self, folder: Path, key: str, about: Mapping[str, Any], *, replace: bool = False) -> Path:
        """Rename the staged `folder` to its place in the store; keep a run that is already there, unless `replace`.

        `about`: further keys of run.json. Returns the folder of the run.
        """
        sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        (folder / ABOUT).write_text(to_json({"key": key, **about, "files": sizes}), encoding="utf-8")
        for path in folder.iterdir():
            path.chmod(0o444)  # folders of results have hard links to these files
        target = self.root / key
        known = self.find(key) is not None
        if replace and known:  # file by file: another command may read the run at this moment
            move_files(folder, target)
            shutil.rmtree(self.root / FAILED / key, ignore_errors=True)
            return target
        if target.exists() and not known:
            with self.staging() as old, contextlib.suppress(FileNotFoundError):
                target.rename(old / key)
        try:
            folder.rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise  # EEXIST and ENOTEMPTY: another process published the same run in the meantime
        shutil.rmtree(self.root / FAILED / key, ignore_errors=True)
        return target

    def fail(self, key: str, reason: str) -> None:
        """Write the reason of a failure to failed/<key>/error.txt; the next command with this run tries it again."""
        folder = make_directory(self.root / FAILED / key)
        with contextlib.suppress(FileNotFoundError):  # another process has just finished the run
            (folder / ERROR).write_text(f"{reason}\n", encoding="utf-8")

    def about(self, key: str) -> dict[str, Any]:
        """Return the content of a finished run's run.json: key, seed, version, code digest, wall_s and so on."""
        content: dict[str, Any] = json.loads((self.root / key / ABOUT).read_text(encoding="utf-8"))
        return content

    def clean(self) -> int:
        """Remove the staging folders of killed processes of this machine and of lost workers; return their number."""
        removed = 0
        for folder in (self.root / _STAGING).glob("*-*-*"):
            host, pid, _ = folder.name.rsplit("-", 2)
            if pid.isdecimal() and has_ended(host, int(pid)):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        return removed


def copy_run(source: Path, target: Path, about: Mapping[str, Any], *, alone: bool = False) -> None:
    """Put a stored run into a folder of results: with hard links if the file system allows them, else with copies.

    The folder needs no store. A new folder appears in one atomic step; in an existing folder, the files of the run
    replace files of the same name, and others go if the run is to be `alone`. `about`: further keys of run.json.
    """
    staging = partial_path(target)
    shutil.rmtree(staging, ignore_errors=True)
    with uninterrupted():
        try:
            staging.mkdir(parents=True)
            for path in source.iterdir():
                if path.name != ABOUT:
                    _link(path, staging / path.name)
            content = {**json.loads((source / ABOUT).read_text(encoding="utf-8")), **about}
            (staging / ABOUT).write_text(to_json(content), encoding="utf-8")
            move_files(staging, target, alone=alone)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy(source, target)


def key_of_folder(folder: Path) -> str | None:
    """Return the key of the finished run in a folder; None if there is none, or a file is missing or cut short."""
    try:
        metadata = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        complete = all((folder / name).stat().st_size == size for name, size in metadata["files"].items())
        return str(metadata["key"]) if complete else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


class StoredTable(Mapping[str, Any]):
    """Columns of a Parquet file by name, as NumPy arrays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: dict[str, Any] = {}
        self._names: list[str] | None = None

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            import pyarrow.parquet as pq

            if name not in list(self):
                raise KeyError(f"{self._path.name} has no column {name!r}; it has {', '.join(self)}")
            column = pq.read_table(self._path, columns=[name], use_threads=False)[name]
            self._read[name] = column.combine_chunks().to_numpy(zero_copy_only=False)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            import pyarrow.parquet as pq

            self._names = list(pq.read_schema(self._path).names)
        return iter(self._names)

    def __len__(self) -> int:
        return len(list(iter(self)))

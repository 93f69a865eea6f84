"""A recorded run of a real store: its log, its manifest, its options and the workload that it was given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmlab.models.engines.rocksdb import RocksDb, RocksDbSettings
from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import read_options
from lsmlab.models.version import Version
from lsmlab.validation.logs.manifest import VersionEdit, read_manifest
from lsmlab.validation.logs.reader import RocksDbLog, read_log, read_text


@dataclass(frozen=True)
class Workload:
    """What db_bench wrote: one fillrandom by one thread."""

    seed: int
    num: int
    key_size: int
    value_size: int


@dataclass(frozen=True)
class Recording:
    """One directory of `validation/recordings`, or of the same shape."""

    name: str
    log: RocksDbLog
    edits: list[VersionEdit]
    """Those that change files, in commit order."""
    options: Mapping[str, Any]
    workload: Workload | None
    """None if the keys are not known: then the contents of files cannot be replayed."""

    def engine(self) -> RocksDb:
        """The model of the store that was recorded: its version, its options."""
        version = str(Version.parse(self.log.version))
        return RocksDb(RocksDbSettings(version=version, options=dict(self.options)))


def load_recording(directory: Path) -> Recording:
    """Read LOG, MANIFEST.txt, OPTIONS (each plain, .gz or .xz) and meta.json, which may be missing.

    Without an OPTIONS file the LOG's header serves. Raises InputError for what cannot be read.
    """
    log_path = _find(directory, "LOG")
    manifest_path = _find(directory, "MANIFEST.txt")
    if log_path is None or manifest_path is None:
        raise InputError(f"{directory}: needs LOG and MANIFEST.txt (each may be .gz or .xz)")
    options_path = _find(directory, "OPTIONS") or log_path
    overrides = read_options(read_text(options_path)).overrides
    return Recording(
        directory.name,
        read_log(log_path),
        [edit for edit in read_manifest(manifest_path) if edit.changes_files],
        overrides,
        _workload(directory / "meta.json"),
    )


def _find(directory: Path, name: str) -> Path | None:
    return next((path for end in ("", ".gz", ".xz") if (path := directory / f"{name}{end}").is_file()), None)


def _workload(path: Path) -> Workload | None:
    if not path.is_file():
        return None
    try:
        told = json.loads(path.read_text())["workload"]
        if told["benchmarks"] != "fillrandom" or told["threads"] != 1:
            return None
        return Workload(*(int(told[key]) for key in ("seed", "num", "key_size", "value_size")))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no workload in it ({error}); see validation/recordings/record_replay.py") from None

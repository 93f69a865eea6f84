"""A recorded run of a real store: LOG, MANIFEST, options and workload."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmlab.models.engines.engine import Engine, EngineSettings
from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import read_options
from lsmlab.models.text.files import read_text
from lsmlab.models.version import Version
from lsmlab.validation.logs.bench_output import find_file
from lsmlab.validation.logs.manifest import VersionEdit, read_manifest
from lsmlab.validation.logs.reader import read_log
from lsmlab.validation.logs.records import RocksDbLog


@dataclass(frozen=True)
class BenchWorkload:
    """Workload of db_bench: one fillrandom by one thread; sizes in bytes."""

    seed: int
    num: int
    key_size: int
    value_size: int


@dataclass(frozen=True)
class Recording:
    """Content of one directory of `validation/recordings`, or of another directory with the same files."""

    name: str
    log: RocksDbLog
    edits: list[VersionEdit]
    """Version edits that add or delete files, in commit order."""
    options: Mapping[str, Any]
    workload: BenchWorkload | None
    """None if the keys are unknown; then the replay does not check the contents of files."""

    def engine(self) -> Engine:
        """Return the model of RocksDB with the version and options of the recording."""
        version = str(Version.parse(self.log.version))
        return Engine(EngineSettings(version=version, options=dict(self.options)))


def load_recording(directory: Path) -> Recording:
    """Read LOG, MANIFEST.txt, OPTIONS (each plain, .gz or .xz) and meta.json, which may be missing.

    Without an OPTIONS file, options come from the LOG's header. Raises InputError for a missing or unreadable file.
    """
    log_path = find_file(directory, "LOG")
    manifest_path = find_file(directory, "MANIFEST.txt")
    if log_path is None or manifest_path is None:
        raise InputError(f"{directory}: needs LOG and MANIFEST.txt (each may be .gz or .xz)")
    options_path = find_file(directory, "OPTIONS") or log_path
    overrides = read_options(read_text(options_path)).overrides
    return Recording(
        directory.name,
        read_log(log_path),
        [edit for edit in read_manifest(manifest_path) if edit.changes_files],
        overrides,
        _workload(directory / "meta.json"),
    )


def _workload(path: Path) -> BenchWorkload | None:
    if not path.is_file():
        return None
    try:
        given = json.loads(path.read_text())["workload"]
        if given["benchmarks"] != "fillrandom" or given["threads"] != 1:
            return None
        return BenchWorkload(*(int(given[key]) for key in ("seed", "num", "key_size", "value_size")))
    except (ValueError, KeyError, TypeError) as error:
        remedy = "record again with validation/recordings/record_replay.py"
        raise InputError(f"{path}: has no valid workload ({error}); {remedy}") from None

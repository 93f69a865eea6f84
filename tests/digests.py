"""Digests of a run's results, one per key and column, so that a difference names the key or column that changed.

A digest file is one JSON document: `summary` has one digest per key of summary.json; each table has one digest per
column and its number of rows.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import yaml
from lsmlab.sim.results.results import Result

FOLDER = Path(__file__).parent / "testdata" / "digests"
RUNS_FILE = FOLDER / "runs.yaml"
TABLES = ("jobs", "series")
UNSTABLE_KEYS = {"version", "results_format"}
"""Keys of summary.json that name the release or the format of the results; they do not describe the run."""
_LENGTH = 12
"""Hexadecimal digits of a digest: 48 bits, enough to tell a few thousand digests apart."""

Digests = dict[str, Any]


def reference_runs() -> dict[str, list[str]]:
    """Return the overrides of each reference run by its name."""
    groups = yaml.safe_load(RUNS_FILE.read_text(encoding="utf-8"))
    runs: dict[str, list[str]] = {}
    for group in groups.values():
        for name, overrides in group["runs"].items():
            assert name not in runs, f"{RUNS_FILE}: {name} appears twice"
            runs[name] = [*group.get("common", []), *(overrides or [])]
    return runs


def digests_of(result: Result, directory: Path) -> Digests:
    """Save a run into `directory`, and digest summary.json and the tables read back from there."""
    result.save(directory)
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    found: Digests = {
        "summary": {key: _text_digest(value) for key, value in summary.items() if key not in UNSTABLE_KEYS}
    }
    for name in TABLES:
        table = pq.read_table(directory / f"{name}.parquet")
        columns = {column: _column_digest(table[column]) for column in table.column_names}
        found[name] = {"rows": table.num_rows, **columns}
    return found


def _text_digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_LENGTH]


def _column_digest(column: Any) -> str:
    values = column.combine_chunks()
    data = (
        np.ascontiguousarray(values.to_numpy(zero_copy_only=False)).tobytes()
        if values.type in ("double", "int64")
        else json.dumps(values.to_pylist()).encode()
    )
    return hashlib.sha256(str(values.type).encode() + data).hexdigest()[:_LENGTH]


def differences(expected: Digests, actual: Digests) -> list[str]:
    """List every key or column that is new, missing or changed, as `part.key: word`."""
    found: list[str] = []
    for part in sorted(expected.keys() | actual.keys()):
        old, new = expected.get(part, {}), actual.get(part, {})
        found += [f"{part}.{key}: new" for key in new if key not in old]
        found += [f"{part}.{key}: gone" for key in old if key not in new]
        found += [f"{part}.{key}: changed" for key in old if key in new and old[key] != new[key]]
    return found

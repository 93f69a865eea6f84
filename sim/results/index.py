"""The index of many runs: one row each, with what was chosen and every number of its summary."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.results.rundir import shown


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """A finished run of a sweep or comparison."""

    name: str
    """Its folder."""
    choices: Mapping[str, str]
    """The overrides that it was given."""
    summary: Mapping[str, Any]

    @property
    def label(self) -> str:
        """A short name for tables: the chosen values; a seed is a number like any other, so it is named."""
        return " ".join(f"seed {v}" if k == "seed" else v for k, v in self.choices.items()) or self.name


def read_sweep(root: Path) -> tuple[list[IndexedRun], list[tuple[str, str]]]:
    """The finished runs below a sweep's directory, in their order, and (name, reason) of those that failed."""
    from omegaconf import OmegaConf

    runs, failures = [], []
    for folder in sorted((p for p in root.iterdir() if p.is_dir()), key=lambda p: (len(p.name), p.name)):
        overrides = folder / ".hydra" / "overrides.yaml"
        if not overrides.exists():
            continue
        choices = dict(_split(str(text)) for text in OmegaConf.load(overrides))
        failure = folder / "error.txt"
        if failure.exists():
            failures.append((folder.name, failure.read_text(encoding="utf-8").strip()))
        elif (folder / "summary.json").exists():
            summary = read_summary(folder)
            runs.append(IndexedRun(folder.name, choices, summary))
        else:
            failures.append((folder.name, "it left no results"))
    return _only_differing(runs), failures


def publish(root: Path, runs: Sequence[IndexedRun], *, as_json: bool) -> str:
    """List finished runs in `root` (runs.parquet, runs.json); returns what to print of them: tables, or the document."""
    from lsmlab.sim.results.comparison_text import comparison_text

    document = {"runs": [{"name": r.name, "overrides": r.choices, "summary": r.summary} for r in runs]}
    write_json(root / "runs.json", document)
    write_index(root / "runs.parquet", runs)
    if as_json:
        return to_json(document)
    table = comparison_text([(r.label, r.summary) for r in runs])
    return f"{table}\nSaved in {shown(root)}: one folder per run, runs.parquet lists them\n"


def write_index(path: Path, runs: Sequence[IndexedRun]) -> None:
    """Write one row per run as Parquet: run, the choices, then the summary's numbers (nested keys joined by dots)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"run": r.name, **r.choices, **dict(_numbers(r.summary, ""))} for r in runs]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = pa.table({c: _column([row.get(c) for row in rows]) for c in columns})
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        pq.write_table(table, temporary, compression="zstd")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _column(values: list[Any]) -> list[Any]:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int, float} and kinds:
        return [None if v is None else float(v) for v in values] if float in kinds else values
    return [None if v is None else str(v) for v in values]


def _numbers(summary: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in summary.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float | str):
            yield f"{prefix}{key}", value


def _split(override: str) -> tuple[str, str]:
    key, _, value = override.lstrip("+").partition("=")
    return key, value.strip("'\"")


def _only_differing(runs: list[IndexedRun]) -> list[IndexedRun]:
    """Drop from the choices what all runs have in common; a single run keeps its own."""
    if len(runs) < 2:
        return runs
    shared = set(runs[0].choices.items()).intersection(*(r.choices.items() for r in runs))
    return [IndexedRun(r.name, {k: v for k, v in r.choices.items() if (k, v) not in shared}, r.summary) for r in runs]

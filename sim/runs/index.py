"""Index of many runs: one row per run, with its typed parameters and every number of its summary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.results.comparison_text import comparison_text
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.runs.index_rows import arrow_table, numbers, write_parquet
from lsmlab.sim.runs.store import ABOUT, FAILED, key_of_folder
from lsmlab.sim.runs.typed import flat, typed_value
from lsmlab.sim.yaml_text import read_yaml

INDEX: Final = "runs.parquet"
_MOST_COLUMNS: Final = 24
"""Largest number of runs that are printed side by side; more runs are only in the index."""


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """A finished run of a sweep or comparison."""

    name: str
    """Path of the run's folder, relative to the folder of the sweep or comparison."""
    choices: Mapping[str, str]
    """Overrides of the run by key, as text without quotes."""
    summary: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """`choices` as numbers in base units, booleans and text."""

    @property
    def label(self) -> str:
        """Short name for tables: the chosen values. A seed gets the word "seed", because it is a bare number."""
        return " ".join(f"seed {v}" if k == "seed" else v for k, v in self.choices.items()) or self.name


def publish(
    root: Path, runs: Sequence[IndexedRun], *, as_json: bool, more: Mapping[str, Any] | None = None, text: str = ""
) -> str:
    """Write runs.parquet and runs.json into `root`; return the text to print: a table, or JSON if `as_json`.

    `more`: further keys of the JSON text. `text`: lines below the table.
    """
    document = {"runs": [{"name": r.name, "overrides": r.choices, "summary": r.summary} for r in runs]}
    write_json(root / "runs.json", document)
    write_index(root / INDEX, runs)
    if as_json:
        return to_json({**document, **(more or {})})
    table = f"{comparison_text([(r.label, r.summary) for r in runs])}\n" if len(runs) <= _MOST_COLUMNS else ""
    return f"{table}{text}Saved in {display_path(root)}: one folder per run, {INDEX} lists them\n"


def read_runs(root: Path) -> Iterator[IndexedRun]:
    """Yield the finished runs in and below a folder of results or a run store, shorter names first, then by name."""
    for path in sorted(root.rglob(ABOUT), key=lambda p: (len(p.parent.name), str(p))):
        folder = path.parent
        if key_of_folder(folder) is None or any(part.startswith(".") or part == "staging" for part in folder.parts):
            continue
        metadata = json.loads(path.read_text(encoding="utf-8"))
        summary = read_summary(folder)
        choices = metadata.get("choices") or {}
        typed = metadata.get("parameters") if choices else dict(flat(_config(folder)))
        yield IndexedRun(str(folder.relative_to(root)), choices, summary, typed or {})


def _config(folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = read_yaml(folder / "config.yaml")
    return config


def read_failures(root: Path) -> list[tuple[str, str]]:
    """Return (name, reason) of the failed runs below `root`."""
    return [
        (path.parent.name, path.read_text(encoding="utf-8").partition("\n")[0])
        for path in sorted(root.glob(f"{FAILED}/*/error.txt"))
    ]


def write_index(path: Path, runs: Sequence[IndexedRun]) -> None:
    """Write one row per run as Parquet: run, the parameters, then the summary's values (nested keys joined by dots).

    The type of a parameter's column follows its values: number in base units, boolean or text. Null: the run does not
    have this parameter.
    """
    rows = [{"run": r.name, **_parameters(r), **dict(numbers(r.summary))} for r in runs]
    write_parquet(path, arrow_table(rows))


def _parameters(run: IndexedRun) -> dict[str, Any]:
    return dict(run.parameters) or {key: typed_value(value) for key, value in run.choices.items()}


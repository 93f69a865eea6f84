"""Index of many runs: one row per run, with its typed parameters and every number of its summary, in a Parquet file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.results.comparison_text import comparison_text
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.leftovers import partial_path
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.runs.store import ABOUT, FAILED, key_of_folder
from lsmlab.sim.yaml_text import read_yaml

INDEX: Final = "runs.parquet"
_MOST_COLUMNS: Final = 24
"""Largest number of runs that are printed side by side; more runs are only in the index."""
_CHUNK: Final = 500
"""Rows that are kept as dictionaries; more are converted to Arrow columns, which take a tenth of the memory."""
_NUMBER: Final = " number"
"""Column by which rows are ordered; a space keeps it apart from every key."""
_KINDS: Final = ("bytes", "bytes_per_s", "seconds", "per_s", "count", "ratio")
_WITH_UNIT: Final = re.compile(r"[-+]?\d[\d._]*(?:[eE][-+]?\d+)?\s*[^\d\s.]\S*")
_WHOLE: Final = re.compile(r"[-+]?\d+")


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
        typed = metadata.get("parameters") if choices else dict(flat(read_yaml(folder / "config.yaml")))
        yield IndexedRun(str(folder.relative_to(root)), choices, summary, typed or {})


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


@dataclass(slots=True)
class RowCollector:
    """Rows with a number each; `write` orders them by this number."""

    _rows: list[dict[str, Any]] = field(default_factory=list)
    _chunks: list[Any] = field(default_factory=list)
    _names: dict[str, None] = field(default_factory=dict)
    count: int = 0
    """Number of rows."""

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        """Add a row; no two rows have the same number."""
        self._rows.append({_NUMBER: number, **row})
        self.count += 1
        if len(self._rows) >= _CHUNK:
            self._convert()

    def write(self, path: Path, first: Sequence[str]) -> None:
        """Write all rows as Parquet: the columns `first`, then the others by name, each typed by its values."""
        import pyarrow as pa

        self._convert()
        mixed = _mixed_columns(self._chunks)
        chunks = [_with_texts(chunk, mixed) for chunk in self._chunks]
        table = pa.concat_tables(chunks, promote_options="permissive").sort_by(_NUMBER)
        others = sorted(set(table.column_names) - {*first, _NUMBER})
        write_parquet(path, table.select([*(name for name in first if name in table.column_names), *others]))

    def _convert(self) -> None:
        if self._rows:
            self._chunks.append(arrow_table(self._rows))
            self._rows.clear()


def arrow_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a pyarrow Table of rows; a column's type follows from its values, a key that a row lacks is null."""
    import pyarrow as pa

    columns = list(dict.fromkeys(key for row in rows for key in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in columns})


def _column(values: list[Any]) -> list[Any]:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int, float} and kinds:
        return [None if v is None else float(v) for v in values] if float in kinds else values
    if kinds == {bool}:
        return values
    return [None if v is None else str(v) for v in values]


def _mixed_columns(chunks: Sequence[Any]) -> set[str]:
    """Return the columns that are numbers in one chunk and not in another."""
    kinds: dict[str, set[str]] = {}
    for chunk in chunks:
        for column in chunk.schema:
            kinds.setdefault(column.name, set()).add(str(column.type).replace("int64", "double"))
    return {name for name, found in kinds.items() if len(found - {"null"}) > 1}


def _with_texts(chunk: Any, names: set[str]) -> Any:
    import pyarrow as pa

    for name in names.intersection(chunk.column_names):
        texts = pa.array([None if v is None else str(v) for v in chunk[name].to_pylist()], pa.string())
        chunk = chunk.set_column(chunk.column_names.index(name), name, texts)
    return chunk


def write_parquet(path: Path, table: Any) -> None:
    """Write a table atomically: readers see the complete old file or the complete new one."""
    import pyarrow.parquet as pq

    temporary = partial_path(path)
    try:
        pq.write_table(table, temporary, compression="zstd")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def numbers(summary: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every number and text of a summary by its key; keys of nested mappings are joined by dots."""
    for key, value in summary.items():
        if isinstance(value, Mapping):
            yield from numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float | str):
            yield f"{prefix}{key}", value


def typed_value(value: object) -> object:
    """Convert a value to a number in base units (bytes, seconds), a boolean, or text; a list becomes text.

    A string that contains a bare number stays text: its author quoted it on purpose, as in the version '7.10'.

    >>> [typed_value(v) for v in ("64MiB", "2us", "400MB/s", "50%", "7.10", "nvme", 4, True)]
    [67108864.0, 2e-06, 400000000.0, 0.5, '7.10', 'nvme', 4, True]
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str) and _WITH_UNIT.fullmatch(value):
        for kind in _KINDS:
            try:
                return parse_quantity(value, kind)
            except InputError:
                continue
    return str(value)


def parameters(config: Mapping[str, Any], choices: Mapping[str, str]) -> dict[str, object]:
    """Return the typed values of the choices: the configuration's value of a key, or the name of a group's entry.

    >>> parameters({"seed": 3, "device": {"write_cap": "1MB/s"}}, {"seed": "3", "device.write_cap": "1MB/s", "device": "x"})
    {'seed': 3, 'device.write_cap': 1000000.0, 'device': 'x'}
    """
    return {key: _chosen(config, key, text) for key, text in choices.items()}


def _chosen(config: Mapping[str, Any], key: str, text: str) -> object:
    node: Any = config
    for part in key.split("."):
        node = node.get(part, config) if isinstance(node, Mapping) else config
    if node is config or isinstance(node, Mapping):  # not a key of the configuration, or the entry of a group
        return int(text) if _WHOLE.fullmatch(text) else text
    return typed_value(node)


def flat(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield all values of a configuration by dotted key, typed."""
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", typed_value(value)

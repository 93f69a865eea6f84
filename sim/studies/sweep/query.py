"""Queries of an index of runs: find, select, group, sort and write its columns; SQL by DuckDB."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes, format_seconds
from lsmlab.sim.results.frames import data_frame
from lsmlab.sim.runs.index import INDEX, typed_value
from lsmlab.sim.studies.metrics import METRICS, OPEN_LOOP
from lsmlab.sim.studies.statistics import interval

if TYPE_CHECKING:
    import pandas as pd

_COMPARISON: Final = re.compile(r"\s*([\w./@-]+?)\s*(>=|<=|!=|==|=|>|<)\s*(.+?)\s*")
RUNS: Final = "runs"
"""Column with the number of runs of a group."""
_FORMS: Final = {metric.name: metric.form for metric in (*METRICS, *OPEN_LOOP)}
LABELS: Final = {metric.name: metric.label for metric in (*METRICS, *OPEN_LOOP)}
"""Names of the common metrics in tables, by column."""
MAIN: Final = (
    "ops_per_s", "write_latency_s.p99", "stall_fraction", "write_amplification",
    "space_amplification", "device.utilisation",
)  # fmt: skip
"""Metrics that tables show unless the user names others."""


def results(directory: str | Path) -> pd.DataFrame:
    """Return the runs of a sweep or of another command for many runs as a DataFrame with typed columns, one row per run.

    Columns: docs/reference/run-store.md#the-index. Raises InputError for a folder without an index, or without pandas.
    """
    return data_frame(read_index(Path(directory)))


def read_index(directory: Path) -> Any:
    """Return runs.parquet of a folder of results as a pyarrow Table. Raises InputError if it is missing or damaged."""
    import pyarrow.parquet as pq

    path = directory / INDEX
    if not path.is_file():
        remedy = f"'lsmlab runs rebuild {directory}' writes it from the runs" if directory.is_dir() else "no such folder"
        raise InputError(f"{path}: missing; {remedy}")
    try:
        with pq.ParquetFile(path) as file:  # read_table loads pyarrow.dataset, 0.1 s
            return file.read()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({' '.join(str(error).split())}); 'lsmlab runs rebuild' renews it") from None


def select(table: Any, conditions: Sequence[str]) -> Any:
    """Return the rows that meet all conditions, such as "ops_per_s>40k" or "device=nvme,sata".

    Quantities may have units; a list of values means one of them. Raises InputError for a condition that cannot be read.
    """
    import numpy as np

    for condition in conditions:
        match = _COMPARISON.fullmatch(condition)
        if match is None:
            raise InputError(f"--where {condition}: write KEY=VALUE, KEY>VALUE, KEY<=VALUE or KEY!=VALUE")
        name, sign, text = match.groups()
        column = find_column(name, table.column_names)
        values = table[column].to_pylist()
        if sign in ("=", "==", "!="):
            wanted = {_comparable(part, values, condition) for part in text.split(",")}
            kept = [(v in wanted) == (sign != "!=") for v in values]
        else:
            limit = _comparable(text, values, condition)
            if not isinstance(limit, int | float):
                raise InputError(f"--where {condition}: {column} is text; compare it with = or !=")
            kept = [v is not None and _ordered(sign, v, limit) for v in values]
        table = table.filter(np.array(kept, dtype=bool))
    return table


def _comparable(text: str, values: Sequence[Any], condition: str) -> Any:
    """Return the text of a condition with the type of a column's values."""
    kind = next((type(v) for v in values if v is not None), str)
    if kind is str:
        return text.strip("'\"")
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise InputError(f"--where {condition}: {text} must be true or false")
        return text.lower() == "true"
    value = typed_value(text)
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        raise InputError(f"--where {condition}: {text} is not a number") from None


def _ordered(sign: str, value: float, limit: float) -> bool:
    return {">": value > limit, ">=": value >= limit, "<": value < limit, "<=": value <= limit}[sign]


def sort(table: Any, keys: Sequence[str]) -> Any:
    """Return the rows in the order of keys; KEY:desc sorts from large to small."""
    orders = []
    for key in keys:
        name, _, order = key.partition(":")
        if order not in ("", "asc", "desc"):
            raise InputError(f"--sort {key}: write KEY, KEY:asc or KEY:desc")
        orders.append((find_column(name, table.column_names), "descending" if order == "desc" else "ascending"))
    return table.sort_by(orders) if orders else table


def group(table: Any, keys: Sequence[str], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row per different values of `keys`: the number of runs, and for each column the mean and its 90 % interval.

    Each column NAME comes with NAME.low and NAME.high, which are None for a single run.
    """
    names = [find_column(key, table.column_names) for key in keys]
    values = {name: table[name].to_pylist() for name in (*names, *columns)}
    members: dict[tuple[Any, ...], list[int]] = {}
    for number, key in enumerate(zip(*(values[name] for name in names), strict=True)):
        members.setdefault(key, []).append(number)
    rows = []
    for key, numbers in members.items():
        row: dict[str, Any] = {**dict(zip(names, key, strict=True)), RUNS: len(numbers)}
        for column in columns:
            row |= _spread(column, [values[column][n] for n in numbers])
        rows.append(row)
    return rows


def _spread(column: str, values: Sequence[Any]) -> dict[str, float | None]:
    known = [float(v) for v in values if isinstance(v, int | float) and math.isfinite(v)]
    if not known:
        return {column: None, f"{column}.low": None, f"{column}.high": None}
    found = interval(known)
    return {column: found["mean"], f"{column}.low": found["low"], f"{column}.high": found["high"]}


def query_sql(table: Any, text: str) -> list[dict[str, Any]]:
    """Return the rows of a query of the table `runs`. Raises InputError if DuckDB is missing or refuses the query."""
    try:
        import duckdb
    except ImportError:
        raise InputError("--sql needs DuckDB; install it with: pip install 'lsmlab[sql]' (or: pip install duckdb)") from None
    with duckdb.connect() as connection:
        connection.register("runs", table)
        try:
            found = connection.execute(text)
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        except duckdb.Error as error:
            raise InputError(f"--sql: {' '.join(str(error).split())}") from None


def find_column(name: str, columns: Sequence[str]) -> str:
    """Return the column that `name` means: its key, or the last parts of a key that only one column has.

    A varied option goes before the option in force, options.NAME of the summary. Raises InputError for a name that no
    column or several columns have.

    >>> find_column("write_buffer_size", ["device", "engine.options.write_buffer_size"])
    'engine.options.write_buffer_size'
    """
    if name in columns:
        return name
    ending = [c for c in columns if c.endswith((f".{name}", f"/{name}"))]
    ending = [c for c in ending if not (c.startswith("options.") and f"engine.{c}" in ending)]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise InputError(f"{name}: several columns have this name: {', '.join(ending)}; write one of them")
    parts = {part for c in columns for part in (c, c.rpartition(".")[2])}
    near = difflib.get_close_matches(name, sorted(parts), n=3)
    raise InputError(f"{name}: no such column{_hint(near)}")


def _hint(near: Iterable[str]) -> str:
    names = ", ".join(near)
    return f"; did you mean {names}?" if names else "; 'lsmlab results DIR --columns' lists them"


def value_text(column: str, value: Any) -> str:
    """Write a value with a unit that follows from its column's name.

    >>> value_text("engine.options.write_buffer_size", 2.0**26), value_text("device.utilisation", 0.314), value_text("seed", 3)
    ('64 MiB', '31%', '3')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, int | float):
        return str(value)
    if column in _FORMS:
        return _FORMS[column](value)
    last = column.rpartition(".")[2]
    if last.endswith(("_size", "_bytes")):
        return format_bytes(value).replace(".0 ", " ")
    if last.endswith("bytes_per_s"):
        return f"{format_bytes(value)}/s"
    if (last.endswith("_s") and not last.endswith("_per_s")) or ".".join(column.split(".")[:-1]).endswith("_latency_s"):
        return format_seconds(value)
    whole = isinstance(value, int) or abs(value) >= 1000.0 or value == int(value)
    return f"{value:,.0f}" if whole else f"{value:.4g}"

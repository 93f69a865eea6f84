"""Readers of result files, which refuse other versions of the results contract."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.results.schema.columns import FORMAT

SUMMARY: Final = "summary.json"


def read_summary(directory: Path) -> dict[str, Any]:
    """Return summary.json of a run.

    Raises InputError if the file is missing, broken, or of another version of the results contract.
    """
    path = directory / SUMMARY
    if not path.is_file():
        raise InputError(f"{directory}: no summary.json here; give the directory of a finished run")
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error}); repeat the run") from None
    if not isinstance(summary, dict):
        raise InputError(f"{path}: does not contain a JSON object; repeat the run")
    _check_version(path, summary.get("results_format"), summary)
    return summary


def read_table(path: Path, columns: Sequence[str] | None = None) -> Any:
    """Return a pyarrow Table with those of `columns` that the file has; None: all.

    Raises InputError if the file is missing, broken, or of another version of the results contract.
    """
    import pyarrow.parquet as pq  # the import takes 0.4 s, so it is delayed until a table is read

    if not path.is_file():
        raise InputError(f"{path}: missing from the run directory; repeat the run")
    try:
        with pq.ParquetFile(path) as file:
            about = json.loads((file.schema_arrow.metadata or {}).get(b"lsmlab", b"{}"))
            _check_version(path, about.get("format"), about)
            names = None if columns is None else [name for name in columns if name in file.schema_arrow.names]
            table = file.read(names, use_threads=False)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read as Parquet ({error}); repeat the run") from None
    _check_columns(path, table)
    return table


def _check_columns(path: Path, table: Any) -> None:
    """Raise InputError if a column has values of another kind than the results contract says, or lacks some."""
    from lsmlab.sim.results.schema.log_tables import LOG_TABLES
    from lsmlab.sim.results.schema.run_tables import RUN_TABLES

    schema = next((schema for schema in (*RUN_TABLES, *LOG_TABLES) if schema.name == path.stem), None)
    if schema is None:
        return
    for name, field in zip(table.column_names, table.schema, strict=True):
        expected = next((_kind(column.dtype) for column in schema.columns if column.matches(name)), None)
        if expected not in (None, _kind(str(field.type))) or table[name].null_count:
            raise InputError(f"{path}: column {name} has values of type {field.type}, or none; repeat the run")


def _kind(dtype: str) -> str:
    """Return the kind of a type of the results contract or of Arrow: number, bool, string or list."""
    return "number" if dtype.startswith(("int", "uint", "float", "double")) else dtype.partition("<")[0]


@contextmanager
def damage_as_input_error(directory: Path) -> Iterator[None]:
    """Turn any error that contradictory values in a directory's files cause into an InputError with the remedy.

    For commands on directories of unknown origin; a command that has just written the files does without it.
    """
    try:
        yield
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split()) or "no reason given"
        raise InputError(
            f"{directory}: its results cannot be used ({type(error).__name__}: {reason}); a file in it is damaged or was edited:"
            " repeat the run"
        ) from error


def _check_version(path: Path, version: object, about: Mapping[str, Any]) -> None:
    """Raise InputError for a version of the results contract that this LSMLab cannot read."""
    if isinstance(version, int) and 1 <= version <= FORMAT:
        return
    writer = about.get("version", "an unknown release")
    raise InputError(
        f"{path}: has version {version} of the results contract, written by LSMLab {writer}; this LSMLab reads versions 1 "
        f"to {FORMAT}: open the file with that release, or repeat the run with this one"
    )

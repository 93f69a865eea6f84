"""SQL queries of an index of runs, by DuckDB."""

from __future__ import annotations

from typing import Any

from lsmlab.models.errors import InputError


def query(table: Any, text: str) -> list[dict[str, Any]]:
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

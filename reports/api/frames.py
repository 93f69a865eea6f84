"""Tables of results as pandas DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsmlab.models.errors import InputError
from lsmlab.sim.results.parquet import arrow_table
from lsmlab.sim.results.schema.columns import TableSchema, column_array

if TYPE_CHECKING:
    import pandas as pd


def frame(table: Any) -> pd.DataFrame:
    """Return a pyarrow Table as a DataFrame. Raises InputError if pandas is not installed."""
    _need_pandas()
    result: pd.DataFrame = table.to_pandas()
    return result


def frame_of(rows: list[dict[str, Any]], columns: dict[str, str]) -> pd.DataFrame:
    """Return rows as a DataFrame with these columns, {name: dtype}, also if there are no rows."""
    _need_pandas()
    import pandas as pd

    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in columns.items()})


def with_all_columns(table: Any, schema: TableSchema) -> Any:
    """Return a table without rows with all columns of the results contract; any other table unchanged."""
    if table.num_rows:
        return table
    known = {c.name: column_array((), c.dtype) for c in schema.columns if not c.family}
    families = [name for name in table.column_names if name not in known]
    known |= {name: column_array((), schema.column(name).dtype) for name in families}
    return arrow_table(schema, known)


def _need_pandas() -> None:
    import importlib.util

    if importlib.util.find_spec("pandas") is None:
        raise InputError("tables of results need the package pandas; install it with: pip install 'lsmlab[notebook]'")

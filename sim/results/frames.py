"""Tables as pandas DataFrames, for notebooks. pandas is optional (the extra `notebook`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lsmlab.models.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def data_frame(table: Any) -> pd.DataFrame:
    """Return a pyarrow Table as a DataFrame. Raises InputError if pandas is not installed."""
    _need_pandas()
    frame: pd.DataFrame = table.to_pandas()
    return frame


def frame_of(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """Return rows as a DataFrame with these columns, {name: dtype}, also if there are no rows.

    Raises InputError if pandas is not installed.
    """
    _need_pandas()
    import pandas as pd

    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in columns.items()})


def _need_pandas() -> None:
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise InputError("tables of results need the package pandas; install it with: pip install 'lsmlab[notebook]'") from None

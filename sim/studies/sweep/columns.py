"""Columns of an index of runs: find a column by the last parts of its key, and write values with their units."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes, format_seconds
from lsmlab.sim.studies.metrics import METRICS

_FORMS: Final = {metric.name: metric.form for metric in METRICS}
LABELS: Final = {metric.name: metric.label for metric in METRICS}
"""Names of the common metrics in tables, by column."""
MAIN: Final = (
    "ops_per_s", "write_latency_s.p99", "stall_fraction", "write_amplification",
    "space_amplification", "device.utilisation",
)  # fmt: skip
"""Metrics that tables show unless the user names others."""


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

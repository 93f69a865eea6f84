"""Table of the column families of a run or an imported LOG, as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lsmlab.models.units import format_bytes
from lsmlab.sim.results.comparison_text import in_columns

_COLUMNS: Final = ("Family", "Writes", "Flushes", "Flushed", "Compactions", "Compacted", "W-Amp", "Live", "Stalls")


def family_rows(families: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Header and one row per column family of `column_families` in summary.json.

    Columns: share of the writes, flushes and their bytes, compactions and the bytes that they wrote, W-Amp, bytes of all
    files at the end, stalls that the family caused.
    """
    return [_COLUMNS, *(_row(name, family) for name, family in families.items())]


def _row(name: str, family: Mapping[str, Any]) -> tuple[str, ...]:
    share, w_amp, live = family.get("write_share"), family["write_amplification"], family["live_bytes"]
    return (
        name, f"{100 * share:.1f} %" if share is not None else "-",
        f"{family['flush_count']:,}", format_bytes(family["flush_bytes"]),
        f"{family['compaction_count']:,}", format_bytes(family["compaction_write_bytes"]),
        f"{w_amp:.2f}" if w_amp is not None and family["flush_bytes"] else "-",
        format_bytes(live) if live is not None else "?", f"{sum(family['stall_count'].values()):,.0f}",
    )  # fmt: skip


def family_lines(families: Mapping[str, Mapping[str, Any]] | None) -> list[str]:
    """The table in lines; none where a run has one column family."""
    if not families:
        return []
    return in_columns(family_rows(families))

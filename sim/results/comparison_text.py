"""Text tables for a terminal: comparison of runs, phases of a run, and column families of a run or an imported LOG."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from lsmlab.models.units import format_bytes, format_seconds

_WIDTH: Final = 120
_Summary = Mapping[str, Any]


def _at(*path: str) -> Callable[[_Summary], Any]:
    def get(summary: _Summary) -> Any:
        value: Any = summary
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    return get


def _stall_cause(summary: _Summary) -> str | None:
    seconds = {cause: s or 0.0 for cause, s in (summary.get("stall_seconds") or {}).items()}
    worst = max(seconds, key=lambda cause: seconds[cause], default=None)
    return worst if worst is not None and seconds[worst] > 0 else None


_METRICS: Final[Sequence[tuple[str, Callable[[_Summary], Any], Callable[[Any], str]]]] = (
    ("ops/s", _at("ops_per_s"), "{:,.0f}".format),
    ("write P50", _at("write_latency_s", "p50"), format_seconds),
    ("write P99", _at("write_latency_s", "p99"), format_seconds),
    ("write P99.9", _at("write_latency_s", "p999"), format_seconds),
    ("write max", _at("write_latency_s", "max"), format_seconds),
    ("read P50", _at("read_latency_s", "p50"), format_seconds),
    ("read P99", _at("read_latency_s", "p99"), format_seconds),
    ("scan P50", _at("scan_latency_s", "p50"), format_seconds),
    ("scan P99", _at("scan_latency_s", "p99"), format_seconds),
    ("stalled", _at("stall_fraction"), "{:.1%}".format),
    ("main cause", _stall_cause, str),
    ("longest stall", _at("longest_stall_s"), format_seconds),
    ("W-Amp", _at("write_amplification"), "{:.2f}".format),
    ("R-Amp", _at("read_amplification"), "{:.2f}".format),
    ("space amp", _at("space_amplification"), "{:.2f}".format),
    ("flushes", _at("flush_count"), "{:,}".format),
    ("compactions", _at("compaction_count"), "{:,}".format),
    ("device written", _at("device_bytes_written"), format_bytes),
    ("device busy", _at("device", "utilisation"), "{:.0%}".format),
    ("simulated", _at("duration_s"), format_seconds),
)
_MAIN_METRICS: Final = ("ops/s", "write P99", "stalled", "W-Amp", "space amp", "device busy")
"""Metrics of the table with one row per run."""


def comparison_text(runs: Sequence[tuple[str, _Summary]]) -> str:
    """Return a table of the runs, given as (label, summary): one column per run, or one row per run beyond 120 characters.

    Metrics that no run has are left out; "-" means that a run does not have the metric.
    """
    columns = {name: [cell(get(s), form) for _, s in runs] for name, get, form in _METRICS}
    columns = {name: cells for name, cells in columns.items() if any(c != "-" for c in cells)}
    labels = [label for label, _ in runs]
    side_by_side = [["", *labels], *([name, *cells] for name, cells in columns.items())]
    lines = aligned(side_by_side)
    if len(lines[0]) > _WIDTH:
        metrics = [name for name in _MAIN_METRICS if name in columns]
        lines = aligned([["", *metrics], *([label, *(columns[n][i] for n in metrics)] for i, label in enumerate(labels))])
    return "\n".join(lines) + "\n"


def cell(value: Any, form: Callable[[Any], str]) -> str:
    """Return a value as text; "-" for None."""
    return "-" if value is None else form(value)


def in_columns(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return the lines of rows of equal length in columns; those of the numbers `left` are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: its head, a rule and the rows; the first column is aligned to the left."""
    head, *lines = in_columns(rows)
    return [head, "-" * max(map(len, (head, *lines))), *lines]


_COLUMNS: Final = ("Family", "Writes", "Flushes", "Flushed", "Compactions", "Compacted", "W-Amp", "Live", "Stalls")


def family_rows(families: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Header and one row per column family of `column_families` in summary.json.

    Columns: share of the writes, flushes and their bytes, compactions and the bytes that they wrote, W-Amp, bytes of all
    files at the end, stalls that the family caused, and where known the most bytes of WALs that it alone kept alive.
    """
    kept = {name: family.get("wal_kept_bytes") for name, family in families.items()}
    if not any(kept.values()):
        return [_COLUMNS, *(_row(name, family) for name, family in families.items())]
    rows = [(*_row(name, family), cell(kept[name], format_bytes)) for name, family in families.items()]
    return [(*_COLUMNS, "WAL kept"), *rows]


def _row(name: str, family: Mapping[str, Any]) -> tuple[str, ...]:
    share, w_amp, live = family.get("write_share"), family["write_amplification"], family["live_bytes"]
    return (
        name, f"{100 * share:.1f} %" if share is not None else "-",
        cell(family["flush_count"], "{:,}".format), cell(family["flush_bytes"], format_bytes),
        cell(family["compaction_count"], "{:,}".format), cell(family["compaction_write_bytes"], format_bytes),
        cell(w_amp, "{:.2f}".format), cell(live, format_bytes), f"{sum(family['stall_count'].values()):,.0f}",
    )  # fmt: skip


def family_lines(families: Mapping[str, Mapping[str, Any]] | None) -> list[str]:
    """The table in lines; none where a run has one column family."""
    return in_columns(family_rows(families)) if families else []


_PHASE_COLUMNS: Final = (
    "Phase", "Time", "Operations", "ops/s", "P99 write", "P99 read", "Stalled", "Flushed", "Compacted", "W-Amp", "Live", "Files",
)  # fmt: skip


def phase_table(phases: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Header and one row per phase of `phases` in summary.json; `Files`: of each level at its end."""
    return [_PHASE_COLUMNS, *(_phase_row(phase) for phase in phases)]


_ACTION_COLUMNS: Final = ("Action", "At", "Time", "Stalled", "Stopped by it", "Flushed", "Compacted", "Live", "Files")


def action_table(actions: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Header and one row per action of `actions` in summary.json.

    `Stalled`: time that writers waited meanwhile for any cause; `Stopped by it`: for the ingestion itself.
    """
    return [_ACTION_COLUMNS, *(_action_row(action) for action in actions)]


def _action_row(action: Mapping[str, Any]) -> tuple[str, ...]:
    stalls = action["stall_seconds"]
    return (
        _named(action, "action"), format_seconds(action["start_s"]),
        format_seconds(action["duration_s"]) + (" (unfinished)" if action["unfinished"] else ""),
        format_seconds(sum(stalls.values())), format_seconds(stalls.get("ingestion", 0.0)), format_bytes(action["flush_bytes"]),
        format_bytes(action["compaction_write_bytes"]), format_bytes(action["live_bytes"]),
        " ".join(map(str, action["files_per_level"])),
    )  # fmt: skip


def _named(row: Mapping[str, Any], kind: str) -> str:
    """Return the name of a phase or action, after that of its databases in a run of several."""
    return f"{row['database']}: {row[kind]}" if "database" in row else str(row[kind])


def _phase_row(phase: Mapping[str, Any]) -> tuple[str, ...]:
    with_clients = phase["operations"] > 0.0
    latencies = (cell(_at(f"{op}_latency_s", "p99")(phase), format_seconds) for op in ("write", "read"))
    return (
        _named(phase, "phase"), format_seconds(phase["duration_s"]),
        *((f"{phase['operations']:,.0f}", f"{phase['ops_per_s']:,.0f}") if with_clients else ("-", "-")), *latencies,
        f"{phase['stall_fraction']:.1%}" if with_clients else "-",
        format_bytes(phase["flush_bytes"]), format_bytes(phase["compaction_write_bytes"]),
        cell(phase["write_amplification"], "{:.2f}".format), format_bytes(phase["live_bytes"]),
        " ".join(map(str, phase["files_per_level"])),
    )  # fmt: skip

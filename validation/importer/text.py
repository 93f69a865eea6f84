"""Summary of an imported LOG as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.units import format_bytes, format_seconds
from lsmlab.sim.explain.sentences import CAUSE_WORDS
from lsmlab.sim.explain.summary_text import costliest_lines, counter_text, stalls_text
from lsmlab.sim.results.comparison_text import family_lines, in_columns
from lsmlab.validation.importer.estimates import LABELS

_LABEL: Final = 16
_WIDTH: Final = 120


def import_text(summary: Mapping[str, Any]) -> str:
    """Format the summary of an imported LOG (summary.json with its key `import`) as text, at most 120 columns wide."""
    found = summary["import"]
    lines = [_title(summary), *_work(summary), *_stalls(summary), *_load(found["workload"]), *_rates(found["rates"])]
    if families := summary.get("column_families"):
        lines += ["", *family_lines(families)]
    if summary["levels"]:
        lines += ["", *_levels(summary)]
    lines += ["", *_whole(found)]
    for note in found["notes"]:
        lines += textwrap.wrap(f"note: {note}", _WIDTH, subsequent_indent="      ")
    return "\n".join(lines) + "\n"


def _row(label: str, text: str) -> list[str]:
    wrapped = textwrap.wrap(text, _WIDTH - _LABEL) or [""]
    return [f"{label:<{_LABEL}}{wrapped[0]}", *(f"{'':<{_LABEL}}{line}" for line in wrapped[1:])]


def _title(summary: Mapping[str, Any]) -> str:
    found = summary["import"]
    store = f"RocksDB {found['version']}" if found["version"] else "RocksDB of unknown version"
    families = found["column_families"]
    many = f", {len(families)} column families" if len(families) > 1 else ""
    opens = f", opened {found['opens']} times" if found["opens"] > 1 else ""
    begins = f" from {found['begins']}" if found["begins"] else ""
    return f"{store}, {format_seconds(summary['duration_s'])}{begins}{many}{opens}"


def _work(summary: Mapping[str, Any]) -> list[str]:
    lines = []
    if summary.get("write_ops_per_s"):
        text = f"{summary['write_ops_per_s']:,.0f} writes/s"
        if summary.get("user_bytes_written") and summary.get("import", {}).get("known_s"):
            text += (
                f" ({summary['user_bytes_written'] / summary['import']['known_s'] / 1e6:,.1f} MB/s of keys and values)"
            )
        lines += _row("throughput", text)
    w_amp = summary["write_amplification"]
    if w_amp is not None:
        lines += _row("write amp", f"{w_amp:.2f}, without the WAL")
    flushes = f"{_count(summary['flush_count'])} flushes ({format_bytes(summary['flush_bytes'])})"
    merges = (
        f"{_count(summary['compaction_count'])} compactions (read {format_bytes(summary['compaction_read_bytes'])}, "
        f"wrote {format_bytes(summary['compaction_write_bytes'])})"
    )
    moves = f", {summary['trivial_move_count']:,} trivial moves" if summary["trivial_move_count"] is not None else ""
    drops = f", {summary['drop_count']:,} drops" if summary["drop_count"] else ""
    return [*lines, *_row("jobs", f"{flushes}, {merges}{moves}{drops}")]


def _count(number: int | None) -> str:
    return f"{number:,}" if number is not None else "?"


def _stalls(summary: Mapping[str, Any]) -> list[str]:
    counts = summary["stall_count"]
    if not sum(counts.values()) and not summary["stall_fraction"]:
        return _row("write stalls", "none")
    share = summary["stall_fraction"]
    seconds = summary["stall_seconds"]
    slowed = any(seconds[cause] for cause in seconds if cause.endswith("slowdown"))
    most = "at most " if slowed and summary["stall_measured"] is None else ""  # the LOG shows slowdowns, not the waits in them
    time = f"{most}{100 * share:.1f} % of the time" if share is not None else "for an unknown time"
    lines = _row("write stalls", f"{time}{stalls_text(summary)}")
    for cause in sorted(seconds, key=lambda name: -seconds[name]):
        if seconds[cause] or counts[cause]:
            time = f"{format_seconds(seconds[cause])} " if seconds[cause] else "for an unknown time "
            lines += _row("", f"{CAUSE_WORDS.get(cause, cause)}: {time}({counter_text(counts[cause])})")
    return lines + costliest_lines(summary)


def _load(load: Mapping[str, Any]) -> list[str]:
    """Rows on the load; of several column families one row each."""
    families = load.get("families") or {"": load}
    writes = sum(part["writes"] for part in families.values())
    lines: list[str] = []
    for name, part in families.items():
        share = f"{name}: {100 * part['writes'] / writes:.1f} % of the writes, " if name and writes else ""
        lines += _row("" if lines else "load", f"{share}{_keys_and_sizes(part)}")
    return lines


def _keys_and_sizes(load: Mapping[str, Any]) -> str:
    if load["source"] == "none" and load["key_bytes"] is None:
        return "unknown: the LOG does not show it"
    parts = []
    if load["key_bytes"] is not None:
        parts.append(f"keys of {load['key_bytes']:.4g} B, values of {load['value_bytes']:,.4g} B")
    if load["delete_share"]:
        parts.append(f"{100 * load['delete_share']:.1f} % deletes")
    if load["keys"]:
        error = f" ± {100 * load['keys_error']:.1g} %" if load["keys_error"] else ""
        parts.append(f"spread over {load['keys'] / 1e6:,.3g} M keys{error}")
    if load.get("short_lived"):
        return ", ".join([*parts, "each key deleted soon after it was put"])
    if load["overwrite_share"] is not None:
        parts.append(f"{100 * load['overwrite_share']:.0f} % overwrites")
    parts.append(
        {"insert": "every key new", "insert_ordered": "keys in order", "skewed": "skewed"}.get(
            load["pattern"], "uniform"
        )
    )
    return ", ".join(parts)


def _rates(rates: Sequence[Mapping[str, Any]]) -> list[str]:
    lines: list[str] = []
    for rate in rates:
        scale, unit = _SCALES.get(rate["unit"]) or _time_unit(rate["value"])
        known = {"lower_bound": "at least ", "assumed": "about "}.get(rate["kind"], "")
        error = f" ± {rate['standard_error'] * scale:,.2g}" if rate["standard_error"] else ""
        text = f"{LABELS.get(rate['name'], rate['name'])}: {known}{rate['value'] * scale:,.4g}{error} {unit}"
        lines += _row("machine" if not lines else "", text)
    return lines or _row("machine", "unknown: too few jobs to infer its speed")


_SCALES: Final = {"B/s": (1e-6, "MB/s"), "B": (1e-9, "GB"), "ratio": (100.0, "%")}
"""Factor and unit of the text by unit of an estimate that is not a time."""


def _time_unit(seconds: float) -> tuple[float, str]:
    """Return the unit that suits a time, as units per second and name."""
    return (1e9, "ns") if seconds < 1e-6 else (1e6, "us") if seconds < 1e-3 else (1e3, "ms") if seconds < 1.0 else (1.0, "s")


_COLUMNS: Final = ("Level", "Files", "Size", "Read", "Written", "Moved in", "W-Amp", "Jobs", "Busy", "CPU")


def _levels(summary: Mapping[str, Any]) -> list[str]:
    rows = [_COLUMNS]
    for level in summary["levels"]:
        size, w_amp = level["bytes"], level["w_amp"]
        rows.append((
            f"L{level['level']}", f"{level['files']:,}", format_bytes(size) if size is not None else "?",
            format_bytes(level["read_bytes"]), format_bytes(level["write_bytes"]), format_bytes(level["moved_bytes"]),
            f"{w_amp:.2f}" if w_amp else "-", f"{level['jobs']:,}", format_seconds(level["busy_s"]),
            format_seconds(level["cpu_s"]) if level["cpu_s"] else "-",
        ))  # fmt: skip
    return in_columns(rows, left=())


def _whole(found: Mapping[str, Any]) -> list[str]:
    """Return lines that list reading errors and gaps, or one line that says there are none."""
    entries = [*found["troubles"], *found["problems"]]
    if not entries:
        return [f"All {found['lines']:,} lines were read. No gaps or contradictions were found."]
    lines = ["Incomplete or contradictory input:"]
    for entry in entries:
        lines += textwrap.wrap(
            f"{entry['count']:,} {entry['what']}", _WIDTH, initial_indent="  ", subsequent_indent="    "
        )
    return lines

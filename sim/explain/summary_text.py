"""Summary of a run as plain text, for terminals and chats."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lsmlab.models.policies.decisions import THROTTLE_CAUSES
from lsmlab.models.units import format_bytes, format_seconds
from lsmlab.sim.explain.holder_sentences import held_text
from lsmlab.sim.explain.not_simulated import not_covered, remarks, warnings
from lsmlab.sim.explain.sentences import CAUSE_WORDS, count, device_use, overload_text, percent, stall_group_text
from lsmlab.sim.results.comparison_text import action_table, family_lines, in_columns, phase_table
from lsmlab.sim.results.conditions import condition_sentences
from lsmlab.sim.results.database_text import database_lines

_COUNTED: Final = {cause.value for cause in THROTTLE_CAUSES}
"""Causes that RocksDB counts."""
_LABEL: Final = 16
_WIDTH: Final = 120
_PERCENTILES: Final = {
    "p50": "P50", "p90": "P90", "p95": "P95", "p99": "P99", "p999": "P99.9", "p9999": "P99.99", "max": "max",
}  # fmt: skip
_COLUMNS: Final = {
    "Level": 5, "Files": 8, "Size": 11, "Score": 5, "Read(GB)": 8, "Rn(GB)": 7, "Rnp1(GB)": 8, "Write(GB)": 9,
    "Wnew(GB)": 8, "Moved(GB)": 9, "W-Amp": 5, "Rd(MB/s)": 8, "Wr(MB/s)": 8, "Comp(sec)": 9, "CompMergeCPU(sec)": 17,
    "Comp(cnt)": 9, "Avg(sec)": 8, "KeyIn": 7, "KeyDrop": 7, "Rblob(GB)": 9, "Wblob(GB)": 9,
}  # fmt: skip
"""Column names of RocksDB's table and their widths in characters.

See (behaviour/log-and-statistics.md, Compaction Stats table).
"""
_COLD: Final = 0.25
"""Share of all WALs from which it is said that a column family alone keeps those of others alive."""
_DIGITS: Final = {"Comp(sec)": 2, "CompMergeCPU(sec)": 2, "Avg(sec)": 3, "Comp(cnt)": 0}


def summary_text(summary: Mapping[str, Any]) -> str:
    """Return the summary of a run (content of summary.json) as text. Lines except RocksDB's table have at most 120 columns.

    Parts without data, such as the read latency of a run without reads, are left out.
    """
    lines = [
        _title(summary),
        *_prefill(summary),
        *_phases(summary),
        *_conditions(summary),
        *_throughput(summary),
        *_latency(summary),
        *_stalls(summary),
        *_amplification(summary),
        *blob_lines(summary),
        *_wals(summary),
    ]
    lines += [*_jobs(summary), *_device(summary), *_overload(summary), *_settled(summary), *_intervals(summary)]
    families = summary.get("column_families")
    if databases := summary.get("databases"):
        lines += ["", *database_lines(databases)]
    if families:
        lines += ["", *family_lines(families)]
    if rows := summary.get("compaction_stats"):
        title = "all databases" if databases else "all column families" if families else "[default]"
        lines += ["", f"** Compaction Stats {title} **", *compaction_stats_text(rows)]
    ignored = summary.get("not_simulated", ())
    notes = [f"warning: {text}" for text in warnings(ignored)]
    notes += [f"note: {note}" for note in (*remarks(ignored), *summary.get("notes", ()))]
    if notes:
        lines.append("")
    for note in notes:
        lines += textwrap.wrap(note, _WIDTH, subsequent_indent="      ")
    return "\n".join(lines) + "\n"


def _prefill(summary: Mapping[str, Any]) -> list[str]:
    of_entries = {f"{name}: ": group.get("prefill") for name, group in (summary.get("databases") or {}).items()}
    found = {"": summary.get("prefill"), **of_entries}
    return [_prefill_row(name, facts) for name, facts in found.items() if facts]


def _prefill_row(name: str, facts: Mapping[str, Any]) -> str:
    size, files = format_bytes(facts["live_bytes"]), " ".join(str(n) for n in facts["files_per_level"])
    options = "".join(f", {name}={value}" for name, value in facts.get("options", {}).items())
    done = f"{facts['workload']}{options}, {facts['operations']:,.0f} operations"
    return _row("prefill", f"{name}{done}; afterwards {size}, files per level {files}")


def _phases(summary: Mapping[str, Any]) -> list[str]:
    """Return the tables of phases, and of actions beside clients."""
    tables = [table(rows) for name, table in (("phases", phase_table), ("actions", action_table)) if (rows := summary.get(name))]
    return [line for rows in tables for line in ("", *in_columns(rows), "")]


def _conditions(summary: Mapping[str, Any]) -> list[str]:
    text = " ".join(condition_sentences(summary))
    lines = textwrap.wrap(text, _WIDTH - _LABEL)
    return [_row("conditions" if number == 0 else "", line) for number, line in enumerate(lines)]


def _overload(summary: Mapping[str, Any]) -> list[str]:
    """Return that the store cannot keep up with its clients; nothing if it can."""
    found = summary.get("overload")
    return [_row("overload", f"{overload_text(found)}; latencies grow with the length of the run")] if found else []


def _settled(summary: Mapping[str, Any]) -> list[str]:
    """Return the doubt about a run whose store had not settled; none for another run."""
    found = summary.get("settled") or {}
    if found.get("settled") is not False:
        return []
    first, *rest = textwrap.wrap(f"no: {found['reason']}", _WIDTH - _LABEL)
    return [_row("settled", first), *(_row("", line) for line in rest)]


def compaction_stats_text(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of RocksDB's "Compaction Stats" table; columns that RocksDB does not have come last."""
    names = [*(c for c in _COLUMNS if c in rows[0]), *(c for c in rows[0] if c not in _COLUMNS)]
    widths = [max(_COLUMNS.get(name, 0), len(name)) for name in names]
    lines = [" ".join(f"{n:>{w}}" for n, w in zip(names, widths, strict=True))]
    lines.append("-" * len(lines[0]))
    for row in rows:
        cells = [_cell(name, row.get(name)) for name in names]
        lines.append(" ".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)))
    return lines


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if name == "Size":
        return _rocksdb_size(float(value))
    if name in ("KeyIn", "KeyDrop"):
        return _rocksdb_count(float(value))
    return f"{value:.{_DIGITS.get(name, 1)}f}"


def _rocksdb_size(size_bytes: float) -> str:
    """Return a size as in RocksDB's stats table (AppendHumanBytes): KB, MB and GB are powers of two."""
    for unit, factor in (("GB", 2.0**30), ("MB", 2.0**20)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.2f} {unit}"
    return f"{size_bytes / 1024:.2f} KB"


def _rocksdb_count(number: float) -> str:
    """Return a count as RocksDB's NumberToHumanString does: 139K, 12M, 3G from ten thousand on."""
    for unit, factor, limit in (("G", 1e9, 1e10), ("M", 1e6, 1e7), ("K", 1e3, 1e4)):
        if number >= limit:
            return f"{number / factor:.0f}{unit}"
    return f"{number:.0f}"


def _row(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}"


def _title(summary: Mapping[str, Any]) -> str:
    device = summary.get("device")
    name = device.get("name") if isinstance(device, Mapping) else device
    release = summary.get("engine_version")
    engine = f"{summary.get('engine', 'store')}{f' {release}' if release else ''}"
    parts = [engine, *(f"on {name}" for _ in (1,) if name), *(str(w) for w in (summary.get("workload"),) if w)]
    seed = f"seed {summary['seed']}" if "seed" in summary else ""
    simulated = f"{format_seconds(summary['duration_s'])} simulated" if "duration_s" in summary else ""
    return ", ".join(p for p in (" ".join(parts[:2]), *parts[2:], simulated, seed) if p)


def _throughput(summary: Mapping[str, Any]) -> list[str]:
    if "ops_per_s" not in summary:
        return []
    text = f"{summary['ops_per_s']:,.0f} ops/s"
    kinds = [
        f"{summary[f'{kind}_ops_per_s']:,.0f} {kind}s/s"
        for kind in ("write", "read")
        if summary.get(f"{kind}_ops_per_s")
    ]
    written, seconds = summary.get("user_bytes_written"), summary.get("duration_s")
    if written and seconds:
        kinds.append(f"{written / seconds / 1e6:,.1f} MB/s of keys and values written")
    return [_row("throughput", f"{text} ({', '.join(kinds)})" if kinds else text)]


def _latency(summary: Mapping[str, Any]) -> list[str]:
    lines = []
    for kind in ("write", "read", "scan"):
        table = summary.get(f"{kind}_latency_s")
        if table:
            percentiles = [
                f"{name} {format_seconds(table[key])}"
                for key, name in _PERCENTILES.items()
                if table.get(key) is not None
            ]
            lines.append(_row(f"{kind} latency", "  ".join(percentiles)))
    return lines


def _stalls(summary: Mapping[str, Any]) -> list[str]:
    if "stall_fraction" not in summary:
        return []
    if not summary["stall_fraction"]:
        return [_row("write stalls", "none")]
    longest, lost = summary.get("longest_stall_s"), summary.get("lost_operations") or {}
    text = f"{100 * summary['stall_fraction']:.1f} % of the time{stalls_text(summary)}"
    text += f", longest {format_seconds(longest)}" if longest else ""
    text += f"; {count(lost['total'])} operations lost, {percent(lost['share'])} of those asked for" if lost else ""
    lines = [_row("write stalls", text)]
    seconds, counts = summary.get("stall_seconds", {}), summary.get("stall_count", {})
    by_cause = lost.get("by_cause", {})
    for cause, duration_s in sorted(seconds.items(), key=lambda item: (-by_cause.get(item[0], 0.0), -item[1])):
        if duration_s or counts.get(cause):
            words = f"{CAUSE_WORDS.get(cause, cause)}: {format_seconds(duration_s)}"
            share = f", {percent(by_cause[cause] / lost['total'])} of the lost operations" if by_cause.get(cause) else ""
            counter = f" ({counter_text(counts.get(cause, 0))})" if cause in _COUNTED else ""
            lines.append(_row("", f"{words}{share}{counter}"))
    lines += costliest_lines(summary)
    chain, levels = summary.get("chain_bytes"), summary.get("chain_levels")
    if chain and levels and chain.get("max"):
        mean_max = f"mean {format_bytes(chain['mean'])}, max {format_bytes(chain['max'])}"
        lines.append(_row("stall chains", f"{mean_max}; levels: mean {levels['mean']:.1f}, max {levels['max']}"))
    return lines


def stalls_text(summary: Mapping[str, Any]) -> str:
    """Return the number of stalls, which are intervals, such as " in 26 stalls"; "" if it is not known."""
    number = summary.get("stalls")
    return f" in {number:,} {'stall' if number == 1 else 'stalls'}" if number else ""


def counter_text(number: float) -> str:
    """Return RocksDB's counter of a stall cause, which counts recomputations of the stall state, not stalls."""
    return f"RocksDB's counter: {number:,.0f}"


def costliest_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return the lines on the costliest group of stalls, what held it up, and the bottleneck of the run."""
    lines: list[str] = []
    for group in (summary.get("episodes") or ())[:1]:
        lines += _wrapped("costliest", stall_group_text(group))
        if held := held_text(group.get("waits_s") or {}, summary):
            lines += _wrapped("of this", held)
    if text := (summary.get("bottleneck") or {}).get("text"):
        lines += _wrapped("bottleneck", text)
    if late := summary.get("open_loop_latency_s"):
        text = f"P99 {format_seconds(late['p99'])}, max {format_seconds(late['max'])} for arrivals at the same mean rate, "
        lines += _wrapped("open loop", text + "because the queue behind a stall delays them; a closed loop hides this")
    return lines


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=f"{label:<{_LABEL}}", subsequent_indent=" " * _LABEL)


def _amplification(summary: Mapping[str, Any]) -> list[str]:
    parts = []
    for kind in ("write", "read", "space"):
        value = summary.get(f"{kind}_amplification")
        if value is not None:
            parts.append(f"{kind} {value:.2f}")
    return [_row("amplification", ", ".join(parts))] if parts else []


def blob_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return RocksDB's line on blob files; none for a store without them."""
    found = summary.get("blobs")
    if not found:
        return []
    parts = []
    if found["bytes"] is not None:
        parts.append(f"{found['files']:,}, {format_bytes(found['bytes'])}")
    if found["garbage_bytes"] is not None:
        parts.append(f"{format_bytes(found['garbage_bytes'])} of garbage")
    if found["space_amplification"] is not None:
        parts.append(f"space amp as RocksDB prints it {found['space_amplification']:.2f}")
    return [_row("blob files", ", ".join(parts))] if parts else []


def _wals(summary: Mapping[str, Any]) -> list[str]:
    """Return the line on the WALs that are kept alive; none where they are no larger than memtables, and no family is cold."""
    found, families = summary.get("wal"), summary.get("column_families") or {}
    if not found:
        return []
    text = f"{format_bytes(found['peak_bytes'])} at most, {format_bytes(found['bytes'])} at the end"
    # of what a family keeps alive, the part that others wrote
    foreign = {name: (f.get("wal_kept_bytes") or 0.0) * (1.0 - (f.get("write_share") or 0.0)) for name, f in families.items()}
    name = max(foreign, key=lambda name: foreign[name], default="")
    if foreign.get(name, 0.0) > _COLD * found["peak_bytes"]:
        kept = format_bytes(families[name]["wal_kept_bytes"])
        return _wrapped("WAL files", f"{text}; unflushed data of column family {name} alone kept up to {kept}")
    memtables = (summary.get("memory") or {}).get("memtable_bytes", math.inf)
    return [_row("WAL files", text)] if found["peak_bytes"] > memtables else []


def _jobs(summary: Mapping[str, Any]) -> list[str]:
    if "flush_count" not in summary:
        return []
    written, read = summary.get("compaction_write_bytes", 0), summary.get("compaction_read_bytes", 0)
    return [
        _row(
            "jobs",
            f"{summary['flush_count']:,} flushes ({format_bytes(summary.get('flush_bytes', 0))}), "
            f"{summary.get('compaction_count', 0):,} compactions ({format_bytes(read)} read, {format_bytes(written)} "
            f"written), {summary.get('trivial_move_count', 0):,} trivial moves",
        )
    ]


def _device(summary: Mapping[str, Any]) -> list[str]:
    devices = summary.get("devices")
    if devices:
        return [line for name, one in devices.items() for line in _wrapped(DEVICE_WORDS[name], _one_of_several(one))]
    device = summary.get("device")
    if not isinstance(device, Mapping):
        return []
    parts = []
    if device.get("utilisation") is not None:
        parts.append(device_use(summary))
    parts += _device_parts(device)
    return _wrapped("device", ", ".join(parts)) if parts else []


def _one_of_several(device: Mapping[str, Any]) -> str:
    """Return what one of several devices did."""
    parts = [str(device["name"]), f"{percent(device['utilisation'])} busy", f"{device['queue']:.1f} requests of jobs at a time"]
    return ", ".join([*parts, f"{format_bytes(device['table_bytes'])} of tables", *_device_parts(device)])


def _device_parts(device: Mapping[str, Any]) -> list[str]:
    """Return bytes per second and wear of a device."""
    parts = []
    for kind in ("read", "write"):
        if device.get(f"{kind}_bytes_per_s") is not None:
            parts.append(f"{kind} {device[f'{kind}_bytes_per_s'] / 1e6:,.1f} MB/s")
    if (flash := device.get("flash_write_amplification")) and flash > 1.005:
        parts.append(f"flash write amplification {flash:.2f}")
    if "years_left" in device:
        years = device["years_left"]
        parts.append("endurance unknown" if years is None else f"endurance lasts {years:.1f} years at this rate")
    return parts


def _intervals(summary: Mapping[str, Any]) -> list[str]:
    """Return the lines of the real store's 90 % intervals and of the noise between seeds, of the main numbers that have them."""
    known = summary.get("interval")
    if known is None:
        return []
    numbers = [(name, form, of) for key, (name, form) in _BOUNDED.items() if (of := _nested(known, key)) is not None]
    real = [_between(name, form, of["low"], of["high"]) for name, form, of in numbers if of["low"] is not None]
    seeds = [_between(name, form, of["seeds_low"], of["seeds_high"]) for name, form, of in numbers if of["seeds_low"] is not None]
    text = f"90 % intervals: {', '.join(real)}. {not_covered(summary.get('not_simulated', ()))}".rstrip(". ")
    lines = _wrapped("real store", text if real else "the model's error is not known")
    count = summary.get("replications")
    if seeds:
        lines += _wrapped("between seeds", f"{count} runs (values above: the first): {', '.join(seeds)}")
    return lines


def _nested(values: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Return the object at a path of keys that are joined by dots; None if there is none."""
    node: Any = values
    for part in key.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else None


def _between(name: str, form: Callable[[float], str], low: float, high: float) -> str:
    return f"{name} {form(low)} to {form(high)}"


DEVICE_WORDS: Final = {"device": "device", "cold_device": "cold device", "wal_device": "WAL device"}
"""Keys of devices in words."""
_BOUNDED: Final[dict[str, tuple[str, Callable[[float], str]]]] = {
    "ops_per_s": ("throughput", "{:,.0f} ops/s".format), "write_amplification": ("write amplification", "{:.2f}".format),
    "stall_fraction": ("stalled", "{:.1%}".format), "write_latency_s.p99": ("write P99", format_seconds),
    "write_latency_s.p999": ("write P99.9", format_seconds), "read_latency_s.p99": ("read P99", format_seconds),
}  # fmt: skip
"""Name and form of the numbers of which the terminal shows the interval, by key of summary.json."""

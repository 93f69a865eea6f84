"""Summary of an imported LOG as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.units import format_bytes, format_digits, format_seconds
from lsmlab.sim.explain.sentences import CAUSE_WORDS
from lsmlab.sim.explain.summary_text import blob_lines, costliest_lines, counter_text, stalls_text
from lsmlab.sim.results.comparison_text import family_lines, in_columns
from lsmlab.validation.importer.gaps import GAPS_LEFT_OUT, gap_sentences

_LABEL: Final = 16
_WIDTH: Final = 120
_WHOLE: Final = 0.95
"""Share of the LOG's time from which on the writes lasted to its end."""
_LEAST_REST: Final = 0.01
"""Share of the stalled time from which the text has the part without a cause."""
_MOST_GAPS: Final = 3
"""Largest number of gaps in the text."""


def import_text(summary: Mapping[str, Any]) -> str:
    """Format the summary of an imported LOG (summary.json with its key `import`) as text, at most 120 columns wide.

    Inferred constants and the assumptions behind them are left to the page.
    """
    found = summary["import"]
    lines = [
        _title(summary), *_history(found["files"]), *_work(summary), *blob_lines(summary), *_stalls(summary),
        *_reads(summary), *_load(found["workload"]), *trace_rows(found.get("trace")), *_options(found["changed_options"]),
    ]  # fmt: skip
    if families := summary.get("column_families"):
        lines += ["", *family_lines(families)]
    if summary["levels"]:
        lines += ["", *_levels(summary)]
    lines += ["", *_whole(found)]
    for note in found["notes_on_files"]:
        lines += textwrap.wrap(f"note: {note}", _WIDTH, subsequent_indent="      ")
    estimated, assumed = len(found["rates"]), len(found["notes"]) - len(found["notes_on_files"])
    lines += textwrap.wrap(
        f"On the page and in summary.json: {estimated} constants of the machine with their errors, and {assumed} "
        f"{'assumption' if assumed == 1 else 'assumptions'} on what the LOG does not show.", _WIDTH,
    )  # fmt: skip
    return "\n".join(lines) + "\n"


def trace_rows(trace: Mapping[str, Any] | None) -> list[str]:
    """Return rows on a trace of operations: what it has, the fitted load with its errors, and what it does not tell."""
    if trace is None:
        return []
    length_s = trace["duration_s"]
    over = f" in {format_seconds(length_s)}" if length_s else ", without times"
    kinds = ", ".join(f"{_percent(row['share'])} {row['kind']}{_rate(row['per_s'])}" for row in trace["kinds"])
    lines = _row("trace", f"{trace['form']}: {trace['operations']:,} operations{over} on {trace['keys']:,} keys")
    lines += _row("", kinds)
    for label in ("writes", "reads"):
        if (fit := trace[label]) is not None:
            constant = f", constant {fit['zipfian_constant']:.2f}," if fit["zipfian_constant"] is not None else ""
            known = "" if fit["population_known"] else "at least "
            lines += _row(f"{label} fitted", f"{fit['distribution']}{constant} over {known}{fit['population']:,} keys")
            lines += _checks(fit["checks"])
    if (sizes := trace["sizes"]) is not None:
        told = ", ".join(f"{name.removeprefix('value_')} {value:g}" for name, value in sizes["parameters"].items())
        lines += _row("sizes fitted", f"{sizes['distribution']}: {told}")
        lines += _checks(sizes["checks"])
    for note in trace["notes"]:
        lines += _row("note", note)
    return lines


def _checks(checks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return rows that set a fit beside its trace."""
    lines: list[str] = []
    for one in checks:
        error = "" if one["error"] is None else f" ({100 * one['error']:+.1f} %)"
        lines += _row("", f"{one['name']}: {format_digits(one['trace'], 4)}, fitted {format_digits(one['fit'], 4)}{error}")
    return lines


def _rate(per_s: float | None) -> str:
    return f" ({per_s:,.0f}/s)" if per_s is not None else ""


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
    length = "unknown time" if summary["duration_s"] is None else format_seconds(summary["duration_s"])
    return f"{store}, {length}{begins}{many}{opens}"


def _history(files: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return rows on the files of a history and its gaps; none for a single file."""
    if len(files) < 2:
        return []
    gaps = gap_sentences(files)
    lines = _row("history", f"{len(files)} LOG files, {files[0]['begins']} to {files[-1]['ends']}")
    for sentence in gaps[:_MOST_GAPS]:
        lines += _row("", sentence)
    if len(gaps) > _MOST_GAPS:
        lines += _row("", f"{len(gaps) - _MOST_GAPS} further gaps are on the page.")
    return [*lines, *_row("", GAPS_LEFT_OUT)] if gaps else [*lines, *_row("", "no gaps between them")]


def _reads(summary: Mapping[str, Any]) -> list[str]:
    """Return a row on the clients' calls that the store's statistics count; none without statistics."""
    statistics = summary["import"]["statistics"]
    calls = statistics["latencies"] if statistics else []
    parts = [
        f"{row['call']}{_per_s(row['per_s'])} P50 {format_seconds(row['p50_s'])}, P99 {format_seconds(row['p99_s'])}"
        for row in calls
        if row["p50_s"] is not None and row["p99_s"] is not None
    ]
    if statistics and (cache := statistics["block_cache"]):
        parts.append(f"block cache hit rate {_percent(cache['all']['hit_share'])}")
    return _row("statistics", "; ".join(parts)) if parts else []


def _percent(share: float) -> str:
    return "< 0.1 %" if 0.0 < share < 0.0005 else f"{100 * share:.1f} %"


def _per_s(rate_per_s: float | None) -> str:
    return f" {rate_per_s:,.0f}/s," if rate_per_s else ""


def _options(changed: Mapping[str, Any] | None) -> list[str]:
    """Return a row with the options that differ from the defaults of the release."""
    if changed is None:
        return []
    names = [option["name"] for option in changed["options"]]
    if not names:
        return _row("options", f"all those read are the defaults of RocksDB {changed['release']}")
    return _row("options", f"{len(names)} differ from the defaults of RocksDB {changed['release']}; the page has them")


def _work(summary: Mapping[str, Any]) -> list[str]:
    lines = []
    if summary.get("write_ops_per_s"):
        text = f"{summary['write_ops_per_s']:,.0f} writes/s"
        if summary.get("user_bytes_written") and summary.get("import", {}).get("known_s"):
            text += (
                f" ({summary['user_bytes_written'] / summary['import']['known_s'] / 1e6:,.1f} MB/s of keys and values)"
            )
        lines += _row("throughput", text)
    elif summary.get("operations"):
        lines += _row("throughput", f"{summary['operations']:,.0f} writes in an unknown time")
    w_amp = summary["write_amplification"]
    if w_amp is not None:
        lines += _row("write amp", f"{w_amp:.2f}, without the WAL")
    elif summary.get("ingested_files") and summary["flush_bytes"]:
        lines += _row("write amp", "unknown: no statistics have the bytes of all ingested files")
    if summary["flush_bytes"] is None and summary["flush_count"] is None:
        return [*lines, *_row("jobs", "unknown: the input has no events and no table of compactions")]
    flushes = f"{_count(summary['flush_count'])} flushes ({_bytes(summary['flush_bytes'])})"
    merges = (
        f"{_count(summary['compaction_count'])} compactions (read {_bytes(summary['compaction_read_bytes'])}, "
        f"wrote {_bytes(summary['compaction_write_bytes'])})"
    )
    moves = f", {summary['trivial_move_count']:,} trivial moves" if summary["trivial_move_count"] is not None else ""
    drops = f", {summary['drop_count']:,} drops" if summary["drop_count"] else ""
    ingested = f", {summary['ingested_files']:,} files ingested" if summary.get("ingested_files") else ""
    return [*lines, *_row("jobs", f"{flushes}, {merges}{moves}{drops}{ingested}")]


def _count(number: int | None) -> str:
    return f"{number:,}" if number is not None else "?"


def _bytes(size_bytes: float | None) -> str:
    return format_bytes(size_bytes) if size_bytes is not None else "?"


def _stalls(summary: Mapping[str, Any]) -> list[str]:
    counts, share, seconds = summary["stall_count"], summary["stall_fraction"], summary["stall_seconds"]
    measured = summary["stall_measured"]
    if share is None and measured is not None and measured["seconds"]:
        return _row("write stalls", f"{format_seconds(measured['seconds'])} of an unknown time{stalls_text(summary)}")
    if not any(counts.values()) and share is None:
        return _row("write stalls", "unknown: the LOG has no line of a stall, and no statistics that say that there was none")
    if not any(counts.values()) and not share:
        return _row("write stalls", "none")
    slowed = any(seconds[cause] for cause in seconds if cause.endswith("slowdown"))
    most = "at most " if slowed and summary["stall_measured"] is None else ""  # the LOG shows slowdowns, not the waits in them
    until_s, length_s = summary.get("stall_until_s"), summary.get("duration_s")
    of = "the time"
    if until_s is not None and length_s is not None and until_s < _WHOLE * length_s:
        of = f"the {format_seconds(until_s)} up to the last write"
    time = f"{most}{_share(share)} of {of}" if share is not None else "for an unknown time"
    lines = _row("write stalls", f"{time}{stalls_text(summary)}")
    for cause in sorted(seconds, key=lambda name: -(seconds[name] or 0.0)):
        if seconds[cause] or counts[cause]:
            time = "for an unknown time" if seconds[cause] is None else format_seconds(seconds[cause])
            lines += _row("", f"{CAUSE_WORDS.get(cause, cause)}: {time} ({counter_text(counts[cause])})")
    rest_s = summary.get("stall_unattributed_s") or 0.0
    if rest_s > _LEAST_REST * (share or 0.0) * (until_s or length_s or 0.0):
        whose = "all of them together" if any(counts.values()) else "of a cause that the LOG does not show"
        lines += _row("", f"{whose}: {format_seconds(rest_s)}")
    return lines + costliest_lines(summary)


def _share(share: float) -> str:
    """Return a share of stalls; a small one is not 0."""
    return f"{100 * share:.1f} %" if share == 0.0 or share >= 0.0005 else "< 0.1 %"


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
        assumed = " (assumed)" if load.get("key_bytes_assumed") else ""
        key, value = (f"{format_digits(load[f'{part}_bytes'], 4)} B" for part in ("key", "value"))
        parts.append(f"keys of {key}{assumed}, values of {value}")
    if load["delete_share"]:
        parts.append(f"{100 * load['delete_share']:.1f} % deletes")
    if load["keys"] and not load.get("keys_assumed"):
        percent = 100 * (load["keys_error"] or 0.0)
        error = f" ± {percent:.0f} %" if percent >= 1.0 else f" ± {percent:.1g} %" if percent else ""
        parts.append(f"spread over {format_digits(load['keys'] / 1e6, 3)} M keys{error}")
    if load.get("keys_assumed") or not (load["keys"] or load.get("short_lived")):
        return ", ".join([*parts, "number of keys unknown"])
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

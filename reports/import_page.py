"""Page of an imported LOG: history of the real store, inferred load and machine, and unreadable parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lsmlab.models.units import format_digits
from lsmlab.reports import numbers
from lsmlab.reports.figures.amplification import amplification
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.levels import l0_and_memtables, level_sizes
from lsmlab.reports.figures.over_time import device_bandwidth, throughput
from lsmlab.reports.page import Page
from lsmlab.reports.parts import Section, Table, bullets
from lsmlab.reports.run_data import PAGE, RunData, load_run
from lsmlab.reports.run_page import run_parts
from lsmlab.reports.run_sentences import summary_sentences
from lsmlab.reports.store_counts import store_counts
from lsmlab.reports.tables import option_text
from lsmlab.reports.timeline import Timeline
from lsmlab.validation.importer.estimates import LABELS
from lsmlab.validation.importer.gaps import GAPS_LEFT_OUT, gap_length, gap_sentences

_TIME = "time since the store was opened (s)"
_MOST_GAPS: Final = 3
"""Largest number of gaps among the sentences of the page."""
_LONGEST: Final = 32
"""Longest name in a title, in characters."""
_KINDS = {"estimate": "", "lower_bound": "at least", "assumed": "assumed"}


def draw_import(directory: Path) -> Path:
    """Write DIR/report.html of an imported LOG; return its path."""
    return import_page(load_run(directory)).write(directory / PAGE)


def import_page(run: RunData) -> Page:
    """Return the page of an imported LOG."""
    imported = run.summary["import"]
    timeline = Timeline.of(run.times_s)
    over_time = [
        _throughput(run, timeline, imported), _moved(run, timeline), l0_and_memtables(run, timeline), level_sizes(run, timeline),
    ] if _has_times(run) else []  # fmt: skip
    sentences = [*summary_sentences(run), *_gaps(imported), _trust(imported)]
    more = [
        *_files(imported), *store_counts(imported), *_changed_options(imported), *_traced(imported), _inferred(imported),
        *_unread(imported),
    ]  # fmt: skip
    parts, end = run_parts(run, _shown(over_time), _shown([amplification(run)]), sentences, _TIME, more)
    footer = f"LSMLab {run.summary.get('version', 'unknown')}, imported from {Path(str(imported['log'])).name}"
    return Page(_title(imported), _subtitle(run, imported), parts, footer, end)


def _title(imported: Mapping[str, Any]) -> str:
    return f"RocksDB {imported['version'] or 'of unknown version'}: {short_name(Path(str(imported['log'])).name)}"


def _subtitle(run: RunData, imported: Mapping[str, Any]) -> str:
    families = imported["column_families"]
    several_families = f", {len(families)} column families" if len(families) > 1 else ""
    opens = f", {imported['opens']} opens" if imported["opens"] > 1 else ""
    begins = f" from {imported['begins']} (the LOG's own clock)" if imported["begins"] else ""
    files = len(imported["files"])
    kind = "statistics" if run.only_statistics else "LOG" if files < 2 else f"history in {files} LOG files"
    length = numbers.duration(run.duration_s) if run.duration_s else "unknown time"
    return f"A real store's {kind}: {length}{begins}{several_families}{opens}"


def _gaps(imported: Mapping[str, Any]) -> list[str]:
    """Return sentences on the gaps of a history, and on what becomes of them; none without a gap."""
    gaps = gap_sentences(imported["files"])
    shown = gaps if len(gaps) <= _MOST_GAPS else [*gaps[:_MOST_GAPS], f"{len(gaps) - _MOST_GAPS} further gaps are listed below."]
    return [*shown, GAPS_LEFT_OUT] if gaps else []


def _files(imported: Mapping[str, Any]) -> list[Section]:
    """Return the section on the files of a history; none for a single file."""
    files = imported["files"]
    if len(files) < 2:
        return []
    rows = [
        (
            file["name"], "unknown" if file["t_s"] is None else f"{max(0.0, file['t_s']):,.0f} s",
            gap_length(file["gap_s"]) if file["gap_s"] else "", "yes" if file["opens"] else "",
            file["begins"] or "unknown", file["ends"] or "unknown",
        )
        for file in files
    ]  # fmt: skip
    head = ["file", "begins at", "gap before", "open", "first line", "last line"]
    caption = (
        "'Begins at' is the place on the time axis of this page; lines have the LOG's own clock. Where RocksDB only changed "
        "the file, jobs and stalls go on across its end. "
        f"{GAPS_LEFT_OUT if any(file['gap_s'] for file in files) else 'No gap is longer than a second.'}"
    )
    return [Section("files", "Files of the history", [Table(head, rows, texts=[3, 4, 5])], caption)]


def _changed_options(imported: Mapping[str, Any]) -> list[Section]:
    """Return the section on options with other values than the release's defaults; none without options or release."""
    changed = imported["changed_options"]
    if not changed:
        return []
    options = changed["options"]
    rows = [(row["name"], *(option_text(row["name"], row[key]) for key in ("value", "default"))) for row in options]
    caption = f"Defaults are those of the library in RocksDB {changed['release']}. All other options that were read have them."
    table = Table(["option", "this store", "default"], rows, texts=[1, 2])
    return [Section("options", "Options that differ from the defaults", [table], caption)]


def short_name(name: str) -> str:
    """Return a name that fits a title: of a long one the beginning and the end.

    >>> short_name("ycsb_test_pm_results_ycsb_uniform_SATAHDD_2CPU_64MB_LOG_1201.gz")
    'ycsb_test_pm_res…64MB_LOG_1201.gz'
    """
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 2 :]}"


def _trust(imported: Mapping[str, Any]) -> str:
    if not imported["unreadable"]:
        recovered = sum(entry["count"] for entry in imported["troubles"] if entry["kind"] == "cut_events")
        cut = f"; {recovered:,} events were cut off by the logger and recovered field by field" if recovered else ""
        return f"All {imported['lines']:,} lines were read, and they do not contradict each other{cut}."
    entries = "1 entry is" if imported["unreadable"] == 1 else f"{imported['unreadable']:,} entries are"
    return (
        f"Of {imported['lines']:,} lines, {entries} unreadable, missing or contradictory (listed below): "
        "totals may be wrong."
    )


def _throughput(run: RunData, timeline: Timeline, imported: Mapping[str, Any]) -> Figure:
    figure = throughput(run, timeline)
    source = {
        "report": "Operations per second come from db_bench's own report.",
        "statistics": "The rate is a mean, because the file contains only statistics.",
        "memtables": "Writes per second are the entries of each memtable, spread over the time in which it was filled.",
    }.get(imported["workload"]["source"], "The LOG does not give the writes over time.")
    return replace(figure, caption=f"{source} {figure.caption}")


def _moved(run: RunData, timeline: Timeline) -> Figure:
    figure = device_bandwidth(run, timeline)
    caption = (
        "Bytes of each job, spread over its time and stacked. Reads are the sizes of input files, from the page cache "
        "as well as from the device."
    )
    return replace(figure, title="Bytes moved by each consumer", caption=caption)


def _has_times(run: RunData) -> bool:
    """Return whether the input shows when something happened."""
    return bool(len(run.jobs["start_s"]) or len(run.stalls["start_s"]))


def _shown(figures: Sequence[Figure]) -> list[Figure]:
    """Return the figures of what the input shows; the others would say that there was none of it."""
    return [_real_time(figure) for figure in figures if figure.traces]


def _real_time(figure: Figure) -> Figure:
    if not figure.timeline or "xaxis" not in figure.layout:
        return figure
    axis = {**figure.layout["xaxis"], "title": {"text": _TIME}}
    return replace(figure, layout={**figure.layout, "xaxis": axis})


def _inferred(imported: Mapping[str, Any]) -> Section:
    """Return the section with the inferred load and machine, and the standard error of each number."""
    load = imported["workload"]
    rows = [row for name, part in (load.get("families") or {"": load}).items() for row in _load_rows(part, name)]
    rows += [_rate_row(rate) for rate in imported["rates"]]
    table = Table(["quantity", "value", "standard error", "from"], rows, texts=[0, 3], named=False)
    caption = "Inputs of the simulation of this store; overrides of 'lsmlab run' can change each of them."
    return Section("inferred", "Load and machine, as inferred", [table, bullets(map(str, imported["notes"]))], caption)


def _traced(imported: Mapping[str, Any]) -> list[Section]:
    """Return the section on a trace of operations beside the LOG; none without one."""
    trace = imported.get("trace")
    if trace is None:
        return []
    kinds = [
        (row["kind"], f"{row['count']:,}", numbers.percent(row["share"]), "" if row["per_s"] is None else f"{row['per_s']:,.0f}")
        for row in trace["kinds"]
    ]
    checks = [
        (
            f"{label}: {one['name']}", format_digits(one["trace"], 4), format_digits(one["fit"], 4),
            "" if one["error"] is None else f"{one['error']:+.1%}",
        )
        for label in ("writes", "reads", "sizes") if trace[label] is not None
        for one in trace[label]["checks"]
    ]  # fmt: skip
    fits = ", ".join(f"{label} {trace[label]['distribution']}" for label in ("writes", "reads", "sizes") if trace[label])
    caption = f"{trace['form']}: {trace['operations']:,} operations on {trace['keys']:,} keys. Fitted: {fits}."
    return [Section("trace", "Trace of operations", [
        Table(["operations", "number", "share", "per second"], kinds),
        Table(["property", "trace", "fitted load", "error"], checks, texts=[0], named=False), bullets(trace["notes"]),
    ], caption)]  # fmt: skip


def _load_rows(load: Mapping[str, Any], family: str = "") -> list[tuple[str, str, str, str]]:
    """Rows on the load of a database, or of one of its column families."""
    rows = _load_numbers(load)
    return [(f"{family}: {name}", value, error, basis) for name, value, error, basis in rows] if family else rows


def _load_numbers(load: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    rows = []
    if load["key_bytes"] is not None:
        source = "assumed" if load.get("key_bytes_assumed") else "properties of the files"
        rows.append(("key size", f"{format_digits(load['key_bytes'], 4)} B", "", source))
        low, high = load["value_range_bytes"] or (None, None)
        spread = ""
        if low is not None and high is not None and high - low > 0.5:
            spread = f"; file means from {format_digits(low, 4)} to {format_digits(high, 4)} B"
        whole = "mean write, without the assumed key" if load.get("key_bytes_assumed") else "properties of the files"
        rows.append(("value size", f"{format_digits(load['value_bytes'], 4)} B", "", f"{whole}{spread}"))
    from_statistics = load.get("source") == "statistics"
    if load["writes"]:
        rows.append(("entries written", f"{load['writes']:,.0f}", "", "statistics" if from_statistics else "memtables flushed"))
    if load["writes"] and not from_statistics:
        rows.append(("deletes among them", numbers.percent(load["delete_share"]), "", "memtables flushed"))
    if load["keys"] and load.get("keys_assumed"):
        rows.append(("different keys", "unknown", "", f"{load['keys']:,.0f} are assumed (see below)"))
    elif load["keys"]:
        error = numbers.percent(load["keys_error"]) if load["keys_error"] else ""
        basis = (
            "repeated keys that flushes dropped, for keys of equal probability"
            if error
            else "db_bench's own line"
            if from_statistics
            else "too few repeated keys for an estimate"
        )
        rows.append(("different keys", f"{load['keys']:,.0f}", error, basis))
    if load["overwrite_share"] is not None and not load.get("keys_assumed"):
        rows.append(
            (
                "overwrites",
                numbers.percent(load["overwrite_share"]),
                "",
                f"pattern: {load['pattern'].replace('_', ' ')}",
            )
        )
    if load["entries_before"]:
        rows.append(
            ("entries at the start", f"{load['entries_before']:,.0f}", "", "sizes of files older than the input")
        )
    return rows


_TEXTS: Final = {"B/s": numbers.rate, "B": numbers.size, "ratio": numbers.percent}
"""Function that formats a number by the unit of an estimate; others are times."""


def _rate_row(rate: Mapping[str, Any]) -> tuple[str, str, str, str]:
    text = _TEXTS.get(rate["unit"], numbers.seconds)
    kind = _KINDS.get(rate["kind"], rate["kind"])
    error = text(rate["standard_error"]) if rate["standard_error"] else ""
    name = str(rate["name"])
    label = f"{LABELS.get(name, name)} ({name})" if name.startswith("host.") else LABELS.get(name, name)
    return label, f"{kind} {text(rate['value'])}".strip(), error, str(rate["basis"])


def _unread(imported: Mapping[str, Any]) -> list[Section]:
    """Return the section on unreadable, missing and contradictory parts of the LOG; none without any."""
    rows = [(f"{entry['count']:,}", str(entry["what"])) for entry in (*imported["troubles"], *imported["problems"])]
    return [Section("unread", "What could not be read", [Table([], rows, texts=[1], named=False)])] if rows else []

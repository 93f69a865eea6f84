"""Tables on the page of a run: phases, column families, configuration, levels, compaction statistics."""

from __future__ import annotations

import html
import math
from typing import Any

from lsmlab.models.units import format_bytes
from lsmlab.reports import numbers
from lsmlab.reports.parts import Html, Part, Section, Table, bullets, folded, preformatted
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.summary_text import DEVICE_WORDS
from lsmlab.sim.results.comparison_text import action_table, family_rows, phase_table
from lsmlab.sim.results.database_text import group_rows, ranked_rows, rankings


def configuration(run: RunData) -> Section:
    """Return the section with the resolved options, config.yaml and the tables of levels and compactions."""
    parts: list[Part] = []
    if run.options:
        rows = "".join(
            f"<div><span>{html.escape(name)}</span><span>{html.escape(option_text(name, value))}</span></div>"
            for name, value in _flat(run.options).items()
        )
        parts.append(Html(f'<h3>Engine options in force</h3><div class="columns">{rows}</div>'))
    parts.append(bullets(map(str, run.summary.get("notes") or ())))
    for title, key in (("Levels at the end", "levels"), ("Compaction statistics", "compaction_stats")):
        if records := run.summary.get(key):
            parts.append(folded(title, table(records)))
    if run.config_text:
        parts.append(folded("config.yaml", preformatted(run.config_text)))
    return Section("configuration", "Configuration", parts)


def _flat(options: dict[str, Any]) -> dict[str, Any]:
    """Flatten groups of options: join group and name by a dot."""
    result: dict[str, Any] = {}
    for name, value in options.items():
        inner = {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
        result |= inner
    return result


def column_families(run: RunData) -> list[Section]:
    """Return the section with a row per column family; none where a run has one."""
    families = run.summary.get("column_families")
    if not families:
        return []
    names, *rows = family_rows(families)
    caption = (
        "Share of the writes, flushes, compactions and the bytes that they wrote, bytes of files at the end, and the stalls "
        "that each family caused. All families share WAL, background jobs and write stalls. WAL kept: most bytes of WAL files "
        "that only unflushed data of this family kept alive."
    )
    return [Section("column-families", "Column families", [Table(names, rows, texts=[0], named=False)], caption)]


def databases(run: RunData) -> list[Section]:
    """Return the section that ranks the databases of a run; none for a run of one database."""
    found = run.summary.get("databases")
    if not found:
        return []
    groups, each = group_rows(found), ranked_rows(found)
    ranking = Table(list(each[0]), each[1:], texts=[0], named=False)
    parts: list[Part] = [Table(list(groups[0]), groups[1:], texts=[0, 1], named=False)]
    parts.append(bullets(rankings(found)))
    parts.append(ranking if len(each) <= _LISTED else folded("Each database", ranking))
    caption = (
        "Each database by itself: alike databases with their smallest, median and largest value, then every database, the one "
        "that was stalled most first. Shares of time are of its own writers."
    )
    return [Section("databases", "Databases", parts, caption)]


def devices(run: RunData) -> list[Section]:
    """Return the section with a row per device; none for a run on one device."""
    found = run.summary.get("devices")
    if not found:
        return []
    names = ["", "device", "busy", "requests of jobs", "read", "written", "tables", "price"]
    rows = [
        (
            DEVICE_WORDS[key], one["name"], numbers.percent(one["utilisation"]), f"{one['queue']:.2f}",
            format_bytes(one["bytes_read"]), format_bytes(one["bytes_written"]), format_bytes(one["table_bytes"]),
            "unknown" if one["price_usd"] is None else f"{one['price_usd']:,.0f} USD",
        )
        for key, one in found.items()
    ]  # fmt: skip
    caption = (
        "What each device did: share of the run in which it was busy, mean number of reads and writes of flushes and compactions "
        "that it had at a time, bytes moved, and bytes of tables and blob files on it at the end. A WAL has no tables."
    )
    return [Section("devices", "Devices", [Table(names, rows, texts=[0, 1], named=False)], caption)]


def phases(run: RunData) -> list[Section]:
    """Return the sections with a row per phase, and with a row per action beside clients; none for a run without them."""
    store = (
        "bytes of the flushes and compactions that ended in it, and the store at its end: bytes of its files, and files of "
        "each level"
    )
    captions = {
        "phases": f"Length, operations, latencies, time that writers waited, {store}. A phase without clients has no operations.",
        "actions": f"Start and length, time that writers waited meanwhile, and for an ingestion itself, {store}.",
    }
    found = []
    for key, of in (("phases", phase_table), ("actions", action_table)):
        if rows := run.summary.get(key):
            names, *cells = of(rows)
            shown = Table(list(names), cells, texts=[0, len(names) - 1], named=False)
            found.append(Section(key, key.capitalize(), [shown], captions[key]))
    return found


def table(rows: list[dict[str, Any]]) -> Table:
    """Return the table of records; missing keys give empty cells."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[cell(name, row.get(name)) for name in names] for row in rows]
    return Table([name.replace("_", " ") for name in names], cells, named=False)


def cell(name: str, value: Any) -> str:
    """Format a value; the suffix of the name gives its unit."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if math.isinf(value) or math.isnan(value):
        return "none"
    if name.endswith("bytes") or name == "Size":
        return format_bytes(value)
    if name.endswith("_per_s") and "bytes" in name:
        return numbers.rate(value)
    if name.endswith("_s"):
        return numbers.seconds(value)
    return f"{value:,}" if isinstance(value, int) else numbers.count(value) if abs(value) >= _LARGE else f"{value:.4g}"


_LISTED = 25
"""Rows of a table of databases up to which it is shown unfolded."""
_LARGE = 1000.0
"""Numbers from which on digits behind the point say nothing."""
_SIZE_WORDS = ("bytes", "buffer_size", "file_size", "files_size", "size_base", "block_size", "cache_size", "readahead_size")


def option_text(name: str, value: Any) -> str:
    """Format the value of an option; sizes and rates of 4096 bytes or more get a unit."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(option_text("", v) for v in value) or "none"
    large = isinstance(value, int | float) and 4096 <= value < 2**60
    if large and any(word in name for word in _SIZE_WORDS):
        return numbers.rate(value) if name.endswith("per_s") else format_bytes(value)
    return f"{value:,}" if isinstance(value, int) else str(value)

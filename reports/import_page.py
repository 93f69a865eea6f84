"""The page of an imported log: what happened in the real store, what was inferred from it, and what could not be read."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lsmlab.reports import numbers
from lsmlab.reports.figures.amplification import amplification
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.device import device_bandwidth
from lsmlab.reports.figures.jobs import jobs_gantt
from lsmlab.reports.figures.latency import latency_distribution
from lsmlab.reports.figures.levels import l0_and_memtables, level_sizes
from lsmlab.reports.figures.throughput import throughput
from lsmlab.reports.headline import headline
from lsmlab.reports.page import assemble, paragraphs, section, write_page
from lsmlab.reports.run_data import PAGE, RunData, load_run
from lsmlab.reports.tables import configuration
from lsmlab.reports.timeline import Timeline
from lsmlab.reports.words import story
from lsmlab.validation.importer.estimates import LABELS

_KINDS = {"estimate": "", "lower_bound": "at least", "assumed": "assumed"}


def finish_import(directory: Path) -> Path:
    """Write DIR/report.html of an imported log; returns its path."""
    return write_page(directory / PAGE, import_page(load_run(directory)))


def import_page(run: RunData) -> str:
    """Whole HTML page of an imported log."""
    found = run.summary["import"]
    timeline = Timeline.of(run.times_s)
    figures = [
        _throughput(run, timeline, found),
        _moved(run, timeline),
        l0_and_memtables(run, timeline),
        level_sizes(run, timeline),
        jobs_gantt(run),
        *([latency_distribution(run)] if run.latency else []),
        amplification(run),
    ]
    figures = [_real_time(figure) for figure in figures]
    cards = "".join(
        f'<div class="fact" id="fact-{fact.key}"><span class="label">{html.escape(fact.label)}</span>'
        f'<b>{html.escape(fact.text)}</b><span class="note">{html.escape(fact.note)}</span></div>'
        for fact in headline(run)
    )
    body = (
        f'<div class="headline">{cards}</div>{paragraphs([*_story(run), _trust(found)])}'
        f"{''.join(section(figure) for figure in figures)}{_inferred(found)}{_unread(found)}{configuration(run)}"
    )
    version = str(run.summary.get("version", "unknown"))
    footer = f"LSMLab {version}, imported from {found['log']}. This file is complete: it opens without a network."
    return assemble(_title(found), _subtitle(run, found), body, figures, footer)


def _title(found: Mapping[str, Any]) -> str:
    return f"RocksDB {found['version'] or 'of unknown version'}: {Path(str(found['log'])).name}"


def _subtitle(run: RunData, found: Mapping[str, Any]) -> str:
    families = found["column_families"]
    many = f", {len(families)} column families" if len(families) > 1 else ""
    opens = f", {found['opens']} opens" if found["opens"] > 1 else ""
    begins = f" from {found['begins']} (the log's own clock)" if found["begins"] else ""
    return f"A real store's log: {numbers.duration(run.duration_s)}{begins}{many}{opens}"


def _story(run: RunData) -> list[str]:
    """What happened, in the words of a run's page; a log does not tell what the device was asked for."""
    return [sentence.replace("Of the device's traffic", "Of all bytes that were moved") for sentence in story(run)]


def _trust(found: Mapping[str, Any]) -> str:
    if not found["unreadable"]:
        recovered = sum(entry["count"] for entry in found["troubles"] if entry["kind"] == "cut_events")
        cut = f"; {recovered:,} events were cut off by the logger and recovered field by field" if recovered else ""
        return f"All {found['lines']:,} lines of the log were read, and they do not contradict each other{cut}."
    things = "one thing was" if found["unreadable"] == 1 else f"{found['unreadable']:,} things were"
    what = f"{things} unreadable, missing or contradictory (listed below)"
    return f"In the log's {found['lines']:,} lines {what}: totals may be wrong."


def _throughput(run: RunData, timeline: Timeline, found: Mapping[str, Any]) -> Figure:
    figure = throughput(run, timeline)
    known = {
        "report": "Operations per second are those of db_bench's own report.",
        "statistics": "The rate is a mean: the file holds statistics only.",
        "memtables": "Writes per second are the entries of each memtable, spread over the time in which it was filled.",
    }.get(found["workload"]["source"], "The log does not tell how many writes came when.")
    return replace(figure, caption=f"{known} {figure.caption}")


def _moved(run: RunData, timeline: Timeline) -> Figure:
    figure = device_bandwidth(run, timeline)
    caption = (
        "Bytes of each job spread over its time, stacked. Reads are sizes of input files: what came from the page cache is "
        "not told apart from what came from the device."
    )
    return replace(figure, title="Bytes moved by each consumer", caption=caption)


def _real_time(figure: Figure) -> Figure:
    if not figure.timeline or "xaxis" not in figure.layout:
        return figure
    axis = {**figure.layout["xaxis"], "title": {"text": "time since the store was opened (s)"}}
    return replace(figure, layout={**figure.layout, "xaxis": axis})


def _inferred(found: Mapping[str, Any]) -> str:
    """Section with the load and the machine as inferred, and how well each number is known."""
    rows = [*_load_rows(found["workload"]), *(_rate_row(rate) for rate in found["rates"])]
    head = "<tr><th>what</th><th class='number'>value</th><th class='number'>standard error</th><th>from</th></tr>"
    body = "".join(
        f'<tr><td>{html.escape(a)}</td><td class="number">{html.escape(b)}</td><td class="number">{html.escape(c)}</td>'
        f"<td>{html.escape(d)}</td></tr>"
        for a, b, c, d in rows
    )
    notes = "".join(f"<li>{html.escape(str(note))}</li>" for note in found["notes"])
    caption = "What the simulation of this store starts from; every number can be overridden when it is run."
    return (
        f'<section id="inferred"><h2>Load and machine, as inferred</h2><p class="caption">{caption}</p>'
        f'<div class="scroll"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'
        f"{f'<ul>{notes}</ul>' if notes else ''}</section>"
    )


def _load_rows(load: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    rows = []
    if load["key_bytes"] is not None:
        rows.append(("key size", f"{load['key_bytes']:.4g} B", "", "properties of the files"))
        low, high = load["value_range_bytes"] or (None, None)
        spread = f"; file means from {low:,.4g} to {high:,.4g} B" if low is not None and high - low > 0.5 else ""
        rows.append(("value size", f"{load['value_bytes']:,.4g} B", "", f"properties of the files{spread}"))
    rows.append(("entries written", f"{load['writes']:,.0f}", "", "memtables flushed"))
    rows.append(("deletes among them", numbers.percent(load["delete_share"]), "", "memtables flushed"))
    if load["keys"]:
        error = numbers.percent(load["keys_error"]) if load["keys_error"] else ""
        basis = (
            "repetitions that flushes dropped, for keys that are equally likely"
            if error
            else "too few repetitions to tell"
        )
        rows.append(("keys written to", f"{load['keys']:,.0f}", error, basis))
    if load["overwrite_share"] is not None:
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
            ("entries before", f"{load['entries_before']:,.0f}", "", "sizes of files that the log did not make")
        )
    return rows


def _rate_row(rate: Mapping[str, Any]) -> tuple[str, str, str, str]:
    def text(value: float) -> str:
        return numbers.rate(value) if rate["unit"] == "B/s" else numbers.seconds(value)

    kind = _KINDS.get(rate["kind"], rate["kind"])
    error = text(rate["standard_error"]) if rate["standard_error"] else ""
    name = str(rate["name"])
    label = f"{LABELS.get(name, name)} ({name})" if name.startswith("host.") else LABELS.get(name, name)
    return label, f"{kind} {text(rate['value'])}".strip(), error, str(rate["basis"])


def _unread(found: Mapping[str, Any]) -> str:
    """Section on what could not be read or is missing."""
    entries: Sequence[Mapping[str, Any]] = [*found["troubles"], *found["problems"]]
    if not entries:
        return ""
    rows = "".join(
        f'<tr><td class="number">{entry["count"]:,}</td><td>{html.escape(str(entry["what"]))}</td></tr>'
        for entry in entries
    )
    table = f'<div class="scroll"><table><tbody>{rows}</tbody></table></div>'
    return f'<section id="unread"><h2>What could not be read</h2>{table}</section>'

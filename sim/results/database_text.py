"""Text tables of the databases of a run: a row per entry of `databases`, and the databases by rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lsmlab.models.units import format_bytes, format_seconds
from lsmlab.sim.results.comparison_text import cell, in_columns

_Values = Mapping[str, Any]
_COLUMNS: Final[Mapping[str, tuple[str, Callable[[float], str]]]] = {
    "Stalled": ("stall_fraction", "{:.1%}".format),
    "Longest stall": ("longest_stall_s", format_seconds),
    "Writes/s": ("write_ops_per_s", "{:,.0f}".format),
    "Reads/s": ("read_ops_per_s", "{:,.0f}".format),
    "W-Amp": ("write_amplification", "{:.2f}".format),
    "Flushes": ("flush_count", "{:,.0f}".format),
    "Mean flush": ("mean_flush_bytes", format_bytes),
    "Wait for threads": ("slot_wait_s", format_seconds),
    "Live": ("live_bytes", format_bytes),
}
_PLACES: Final = ("min", "median", "max")
_WORST: Final = 3
"""Databases that a sentence names."""
_RANKINGS: Final = (
    ("Stalled most", "Stalled", -1.0), ("Fewest writes per second", "Writes/s", 1.0), ("Highest W-Amp", "W-Amp", -1.0),
    ("Longest wait of jobs for threads", "Wait for threads", -1.0),
)  # fmt: skip
"""Title, column and order (1: ascending) of the rankings."""


def ranked(databases: Mapping[str, _Values]) -> list[_Values]:
    """Return all databases of a run, the one that was stalled most first; of equal ones, that with fewest writes first."""
    each = [one for group in databases.values() for one in group["each"]]
    return sorted(each, key=lambda one: (-one["stall_fraction"], one["write_ops_per_s"]))


def group_rows(databases: Mapping[str, _Values]) -> list[tuple[str, ...]]:
    """Return a header, and a row per entry of `databases`: smallest, median and largest value of alike databases."""
    shown = _shown(databases)
    rows = []
    for name, group in databases.items():
        places = _PLACES if group["count"] > 1 else ("median",)
        for place in places:
            label = f"{name} ({group['count']})" if place == places[0] else ""
            kind = place if len(places) > 1 else ""
            rows.append((label, kind, *(cell(group["range"][key][place], form) for key, form in shown.values())))
    return [("Databases", "", *shown), *rows]


def ranked_rows(databases: Mapping[str, _Values]) -> list[tuple[str, ...]]:
    """Return a header, and a row per database in the order of `ranked`."""
    shown = _shown(databases)
    return [
        ("Database", *shown),
        *((one["name"], *(cell(one[key], form) for key, form in shown.values())) for one in ranked(databases)),
    ]


def rankings(databases: Mapping[str, _Values]) -> list[str]:
    """Return sentences with the first databases by several numbers; without a number that all databases have alike."""
    each, found = ranked(databases), []
    for title, column, order in _RANKINGS:
        key, form = _COLUMNS[column]
        known = [one for one in each if one[key] is not None]
        first = sorted(known, key=lambda one: order * one[key])[:_WORST]
        if len({form(one[key]) for one in known}) > 1:
            names = [f"{one['name']} ({form(one[key])})" for one in first]
            found.append(f"{title}: {', '.join(names)}")
    return found


def database_lines(databases: Mapping[str, _Values] | None) -> list[str]:
    """Return the table of the entries in lines, and the databases that were stalled most; none for a run of one database."""
    if not databases:
        return []
    return [*in_columns(group_rows(databases), left=(0, 1)), *rankings(databases)]


def _shown(databases: Mapping[str, _Values]) -> Mapping[str, tuple[str, Callable[[float], str]]]:
    """Return the columns, without reads where no database has any."""
    each: Sequence[_Values] = ranked(databases)
    return {name: column for name, column in _COLUMNS.items() if name != "Reads/s" or any(one[column[0]] for one in each)}

"""Subcommand `results`: select, group, sort and print the runs of a sweep."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import LineParser
from lsmlab.reports.cli.running import draw
from lsmlab.sim.results.comparison_text import aligned
from lsmlab.sim.results.csvtext import write_csv
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.studies.sweep.query import (
    LABELS,
    MAIN,
    RUNS,
    find_column,
    group,
    query_sql,
    read_index,
    select,
    sort,
    value_text,
)

_MOST_ROWS: Final = 40
"""Largest number of rows that are printed as a table."""
_WIDTH: Final = 120
"""Largest width of a table in characters, unless the user names its columns."""
_FEWEST_COLUMNS: Final = 3
_ROUNDING: Final = 1e-9
"""Largest relative difference that rounding in the mean of equal numbers causes."""

Rows = list[dict[str, Any]]


def results(argv: list[str]) -> int:
    """Run `lsmlab results DIR`: print the selected rows as a table, JSON or CSV, or plot them."""
    arguments = _parser().parse_args(argv)
    table = read_index(arguments.directory)
    if arguments.columns:
        sys.stdout.write("".join(f"{name}\n" for name in table.column_names))
        return 0
    if arguments.sql is not None:
        return _print(query_sql(table, arguments.sql), arguments)
    table = sort(select(table, arguments.where), [] if arguments.by else arguments.sort)
    if arguments.plot:
        return _plot(table, arguments)
    rows = _grouped(table, arguments) if arguments.by else _listed(table, arguments)
    return _print(rows, arguments)


def _metrics(table: Any, arguments: argparse.Namespace) -> list[str]:
    if arguments.show:
        return [find_column(name, table.column_names) for name in arguments.show]
    return [name for name in MAIN if name in table.column_names]


def _listed(table: Any, arguments: argparse.Namespace) -> Rows:
    """Return the rows: all columns for JSON and CSV unless --show names some, else the main metrics."""
    if (arguments.json or arguments.csv) and not arguments.show:
        found: Rows = table.to_pylist()
        return found
    names = dict.fromkeys(["run", *_metrics(table, arguments)])
    rows: Rows = table.select(list(names)).to_pylist()
    return rows


def _grouped(table: Any, arguments: argparse.Namespace) -> Rows:
    rows = group(table, arguments.by, _metrics(table, arguments))
    for key in reversed(arguments.sort):
        name, _, order = key.partition(":")
        column = find_column(name, list(rows[0]) if rows else [])
        rows.sort(key=lambda row: (row[column] is None, row[column]), reverse=order == "desc")
    return rows


def _print(rows: Rows, arguments: argparse.Namespace) -> int:
    if arguments.json:
        sys.stdout.write(to_json({"rows": rows}))
    elif arguments.csv:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        write_csv(sys.stdout, columns, rows)
    else:
        sys.stdout.write(_text(rows, named=bool(arguments.show or arguments.sql)))
    return 0


def _text(rows: Sequence[Mapping[str, Any]], *, named: bool) -> str:
    """Return rows as an aligned table; an interval stands behind its mean.

    Unless the user has `named` the columns, the last ones are left out if the table is too wide.
    """
    if not rows:
        return "no run meets the conditions\n"
    names = [name for name in rows[0] if not name.endswith((".low", ".high")) or name.rpartition(".")[0] not in rows[0]]
    lines = _lines(rows, names)
    while len(lines[1]) > _WIDTH and len(names) > _FEWEST_COLUMNS and not named:
        lines = _lines(rows, names := names[:-1])
    if len(rows) > _MOST_ROWS:
        lines.append(f"... {len(rows) - _MOST_ROWS:,} more rows; --json or --csv prints all, --where selects")
    if f"{names[-1]}.low" in rows[0]:
        lines.append(f"{RUNS}: number of runs; values: mean over these runs ± the noise between them (90 %)")
    return "\n".join(lines) + "\n"


def _lines(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    shown = [[_cell(row, name) for name in names] for row in rows[:_MOST_ROWS]]
    return aligned([[LABELS.get(name, name.rpartition(".")[2] or name) for name in names], *shown])


def _cell(row: Mapping[str, Any], name: str) -> str:
    """Return a value, with half the width of its interval if it has one: 43,210 ± 120 ops/s."""
    text, high = value_text(name, row.get(name)), row.get(f"{name}.high")
    if high is None:
        return text
    half_width = high - row[name]
    half = value_text(name, half_width if half_width > _ROUNDING * abs(high) else 0.0)
    number, _, unit = text.rpartition(" ")
    return f"{number} ± {half}" if number and half.endswith(f" {unit}") else f"{text} ± {half}"


def _plot(table: Any, arguments: argparse.Namespace) -> int:
    """Write the values of the plot to DIR/plot.json, and draw them."""
    from lsmlab.reports.decisions.plot import FILE, Plot, draw_plot

    if len(arguments.plot) < 2:
        raise InputError("--plot: name the horizontal axis and at least one column, such as --plot write_buffer_size ops_per_s")
    x, *ys = (find_column(name, table.column_names) for name in arguments.plot)
    by = [find_column(name, table.column_names) for name in arguments.by]
    rows = table.select(list(dict.fromkeys(["run", x, *ys, *by]))).to_pylist()
    plot = Plot(x, ys, by, arguments.where, rows)
    plot.write(arguments.directory / FILE)
    return draw(lambda: draw_plot(plot, arguments.directory), "Plot")


def _parser() -> LineParser:
    parser = LineParser(
        prog="lsmlab results", allow_abbrev=False,
        description="Print the runs of a sweep, or of another command for many runs. Reads only DIR/runs.parquet.",
        epilog="KEY: a column, or its last part: write_buffer_size. "
        "example: lsmlab results DIR --where 'write_buffer_size>=64MiB' device=nvme --sort ops_per_s:desc",
    )  # fmt: skip
    parser.add_argument("directory", type=Path, metavar="DIR")
    for name, what in (
        ("where", "KEY=VALUE, KEY=A,B, KEY!=VALUE or 'KEY>VALUE', 'KEY<=VALUE'; all must hold"),
        ("by", "one row per value of KEY, with means and the noise between runs (90 %%)"),
        ("sort", "order of the rows; KEY:desc puts large values first"),
        ("show", "columns to print"),
    ):
        parser.add_argument(f"--{name}", nargs="+", action="extend", default=[], metavar="KEY", help=what)
    parser.add_argument("--columns", action="store_true", help="print the names of all columns")
    parser.add_argument("--plot", nargs="+", default=[], metavar="X", help="draw Y ... over X; with --by KEY a colour per value")
    parser.add_argument("--sql", metavar="QUERY", help="query of the table `runs` by DuckDB (pip install 'lsmlab[sql]')")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--csv", action="store_true", help="print comma-separated values with a header")
    return parser

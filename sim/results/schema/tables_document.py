"""Text of docs/reference/tables.md, from the results contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lsmlab.sim.results.schema.columns import FORMAT, TableSchema
from lsmlab.sim.results.schema.log_tables import COMPACTION_TABLES, LEVELS, LOG_JOBS, STATISTICS
from lsmlab.sim.results.schema.run_tables import JOBS, RUN_TABLES

_HEAD: Final = f"""# Tables of a run and of an imported LOG

`make tables` writes this page from the results contract (`sim/results/schema`); a test compares both.

A run writes Parquet tables next to [summary.json](summary.md). The key `lsmlab` in the schema metadata of each file is
a JSON document with `format` (the version of the contract, now {FORMAT}; `results_format` in summary.json), `table`,
`version` of LSMLab, `seed` and the whole `config`. The metadata of each column contain its `unit`. LSMLab reads
results of this version and of older ones, and refuses newer ones and results without a number.

In Python, `series`, `jobs`, `stalls`, `latency` and `events` of a result (`lsmlab.run`, `lsmlab.load`) are the same tables
as pandas DataFrames: [programs and notebooks](../how-to/notebooks.md). A table without rows still has all its columns.

`<…>` in the name of a column stands for a name or a number. Times are simulated seconds from the start of the run.
"""
_LOG_HEAD: Final = """## Tables of an imported LOG

`series`, `stalls` and `latency` (without rows) have the columns of a run. Columns of `series` that a LOG does not give
are missing or zero. [Imported LOGs](imported-logs.md) explains how the values are inferred.
"""


def tables_page() -> str:
    """Return the page with all tables of the contract as Markdown."""
    row = f"{LOG_JOBS.row} It has the columns of a run's `jobs`, and:"
    added = LOG_JOBS.extended((), without=[c.name for c in JOBS.columns], row=row)
    parts = [_HEAD, "## Tables of a run\n", *map(_section, RUN_TABLES), _LOG_HEAD]
    parts += _sections_of_logs([added, LEVELS, STATISTICS, COMPACTION_TABLES])
    return "\n".join(parts)


def _sections_of_logs(tables: Sequence[TableSchema]) -> list[str]:
    return [_section(table, f"{table.name} of a LOG") for table in tables]


def _section(table: TableSchema, title: str = "") -> str:
    since = f" Since version {table.since} of the contract." if table.since else ""
    lines = [f"### {title or table.name}", "", f"`{table.name}.parquet`. {table.row}{since}", ""]
    lines += ["| column | type | unit | meaning |", "|---|---|---|---|"]
    for column in table.columns:
        new = f" (since version {column.since})" if column.since > table.since else ""
        lines.append(f"| `{column.name}` | {column.dtype} | {column.unit} | {column.meaning}{new} |")
    return "\n".join([*lines, "", *([table.note, ""] if table.note else [])])

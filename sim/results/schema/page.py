"""docs/reference/tables.md, written from the results contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lsmlab.sim.results.schema.columns import FORMAT, TableSchema
from lsmlab.sim.results.schema.log_tables import COMPACTION_TABLES, LEVELS, LOG_JOBS, STATISTICS
from lsmlab.sim.results.schema.run_tables import JOBS, RUN_TABLES

_HEAD: Final = f"""# Tables of a run and of an imported LOG

Written from the results contract (`sim/results/schema`) by `make tables`; a test compares both.

A run leaves Parquet tables beside [summary.json](summary.md). Each file holds, in the key `lsmlab` of its schema
metadata, a JSON document: `format` (the version of the contract, now {FORMAT}; summary.json has it as
`results_format`), `table`, `version` of LSMLab, `seed` and the whole `config`. Each column's metadata hold its `unit`.
LSMLab reads results of this version and of older ones (0.1.0 wrote version 0, without a number), and refuses newer ones.

From Python: `Result.series_frame()`, `jobs_frame()`, `stalls_frame()`, `latency_frame()`, `events_frame()` are the same
tables as pandas DataFrames. A table without rows has its columns.

`<…>` in a column's name stands for a name or a number. Times are simulated seconds from the start of the run.
"""
_LOG_HEAD: Final = """## Tables of an imported LOG

`series`, `stalls` and `latency` (empty) are those of a run; of `series`, columns that a LOG does not give are left out or
zero. [Imported logs](imported-logs.md) says how the values are inferred.
"""


def tables_page() -> str:
    """Markdown of every table of the contract."""
    added = LOG_JOBS.extended((), without=[c.name for c in JOBS.columns], row=f"{LOG_JOBS.row} Besides those above:")
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

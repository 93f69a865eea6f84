"""The tables of an imported LOG; series, stalls and latency are those of a simulated run."""

from __future__ import annotations

from typing import Final

from lsmlab.sim.results.schema.columns import Column, TableSchema
from lsmlab.sim.results.schema.run_tables import JOBS, LATENCY, SERIES, STALLS

LOG_JOBS: Final = JOBS.extended(
    (
        Column("status", "string", "", "ok; aborted: the output was thrown away; unfinished: the LOG lacks the job's end"),
        Column("thread", "string", "", "thread that ran the job, as the LOG names it"),
        Column("opening", "int64", "", "number of the open of the store, from 0"),
        Column("memtables", "int64", "count", "memtables that a flush wrote"),
        Column("deletes_in", "int64", "count", "deletes among the entries read"),
    ),
    row="One row per background job, by start; `kind` may also be recovery.",
    note="`parent` is the job before this one on its thread, if this one began within 20 ms of that one's end; else -1. "
    "`queued_s` is `start_s`. `shard` is the number of the column family among those of all opens.",
)

LEVELS: Final = TableSchema(
    "levels",
    "One row per level: totals over the LOG.",
    (
        Column("level", "int64", "", "level"),
        Column("files", "int64", "count", "files at the end"),
        Column("bytes", "float64", "bytes", "bytes at the end; NaN where the LOG does not give the sizes"),
        Column("read_bytes", "float64", "bytes", "bytes that compactions into the level read"),
        Column("read_upper_bytes", "float64", "bytes", "the part from levels above; NaN where unknown"),
        Column("read_output_bytes", "float64", "bytes", "the part from the level itself; NaN where unknown"),
        Column("write_bytes", "float64", "bytes", "bytes written into the level"),
        Column("moved_bytes", "float64", "bytes", "bytes of trivial moves into the level"),
        Column("w_amp", "float64", "ratio", "bytes written / bytes from above (L0: flushed)"),
        Column("jobs", "int64", "count", "flushes and compactions into the level"),
        Column("busy_s", "float64", "s", "time at work of these jobs"),
        Column("cpu_s", "float64", "s", "CPU time of these jobs"),
        Column("entries_in", "float64", "count", "entries that compactions read"),
        Column("entries_dropped", "float64", "count", "entries that compactions dropped"),
    ),
)

STATISTICS: Final = TableSchema(
    "statistics",
    "One row per statistics dump.",
    (
        Column("t_s", "float64", "s", "time of the dump"),
        Column("dump", "int64", "", "number of the dump", optional=True),
        Column("opening", "int64", "", "number of the open of the store, from 0", optional=True),
        Column("uptime_s", "float64", "s", "RocksDB's uptime", optional=True),
        Column("interval_s", "float64", "s", "time since the dump before", optional=True),
        Column("cumulative_<counter>", "float64", "of the counter", "RocksDB's cumulative counters, names end in their unit"),
        Column("interval_<counter>", "float64", "of the counter", "the same over the interval"),
        Column("stall_count_<cause>", "float64", "count", "stall counters, summed over column families"),
    ),
)  # fmt: skip

COMPACTION_TABLES: Final = TableSchema(
    "compaction_tables",
    "One row per line of RocksDB's compaction tables.",
    (
        Column("t_s", "float64", "s", "time of the dump"),
        Column("dump", "int64", "", "number of the dump", optional=True),
        Column("column_family", "string", "", "column family"),
        Column("table", "string", "", "level or priority"),
        Column("row", "string", "", "L0 …, Sum, Int; Low, High, User"),
        Column("Files", "float64", "count", "files", optional=True),
        Column("FilesBusy", "float64", "count", "files in compaction", optional=True),
        Column("<RocksDB's column>", "float64", "of the column", "by RocksDB's own name (GB = 2^30 bytes)"),
    ),
)

LOG_TABLES: Final = (SERIES, LOG_JOBS, STALLS, LATENCY, LEVELS, STATISTICS, COMPACTION_TABLES)

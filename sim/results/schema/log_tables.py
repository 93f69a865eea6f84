"""Tables of an imported LOG; series, stalls and latency have the columns of a simulated run."""

from __future__ import annotations

from typing import Final

from lsmlab.sim.results.schema.columns import Column, TableSchema
from lsmlab.sim.results.schema.run_tables import JOB_WAITS, JOBS, LATENCY, SERIES, STALLS

LOG_JOBS: Final = JOBS.extended(
    (
        Column("status", "string", "", "ok; aborted: the output was deleted; unfinished: the end is not in the LOG"),
        Column("thread", "string", "", "id of the thread that ran the job, as in the LOG"),
        Column("opening", "int64", "", "number of the open of the store, starting with 0"),
        Column("memtables", "int64", "count", "memtables that a flush wrote"),
        Column("deletes_in", "int64", "count", "tombstones among the input entries"),
    ),
    without=[c.name for c in JOB_WAITS],
    row="One row per background job, sorted by start time; `kind` may also be recovery or ingestion.",
    note="`parent` is the previous job of the same thread if it ended at most 20 ms before this job started, else -1. "
    "`queued_s` equals `start_s`. `shard` is the number of the column family, counted over all opens.",
)

LEVELS: Final = TableSchema(
    "levels",
    "One row per level, with totals over the LOG.",
    (
        Column("level", "int64", "", "level"),
        Column("files", "int64", "count", "files at the end of the LOG"),
        Column("bytes", "float64", "bytes", "size of the level at the end of the LOG; NaN if the LOG does not give it"),
        Column("read_bytes", "float64", "bytes", "bytes read by compactions into the level"),
        Column("read_upper_bytes", "float64", "bytes", "part of read_bytes from the levels above; NaN if unknown"),
        Column("read_output_bytes", "float64", "bytes", "part of read_bytes from the level itself; NaN if unknown"),
        Column("write_bytes", "float64", "bytes", "bytes written into the level"),
        Column("moved_bytes", "float64", "bytes", "bytes of trivial moves into the level"),
        Column("w_amp", "float64", "ratio", "write_bytes / bytes read from the levels above (L0: bytes flushed)"),
        Column("jobs", "int64", "count", "flushes and compactions into the level"),
        Column("busy_s", "float64", "s", "sum of the durations of these jobs; of compactions without their commits"),
        Column("cpu_s", "float64", "s", "CPU time of these jobs"),
        Column("entries_in", "float64", "count", "entries read by compactions into the level"),
        Column("entries_dropped", "float64", "count", "entries dropped by compactions into the level"),
    ),
)

STATISTICS: Final = TableSchema(
    "statistics",
    "One row per statistics dump.",
    (
        Column("t_s", "float64", "s", "time of the dump"),
        Column("dump", "int64", "", "number of the dump", optional=True),
        Column("opening", "int64", "", "number of the open of the store, starting with 0", optional=True),
        Column("uptime_s", "float64", "s", "RocksDB's uptime", optional=True),
        Column("interval_s", "float64", "s", "time since the previous dump", optional=True),
        Column(
            "cumulative_<counter>", "float64", "of the counter",
            "cumulative counter of RocksDB; its name ends in its unit",
        ),
        Column("interval_<counter>", "float64", "of the counter", "RocksDB's counter over the interval"),
        Column("stall_count_<cause>", "float64", "count", "stall counter, summed over column families"),
    ),
)  # fmt: skip

COMPACTION_TABLES: Final = TableSchema(
    "compaction_tables",
    "One row per line of the compaction tables in RocksDB's statistics dumps.",
    (
        Column("t_s", "float64", "s", "time of the dump"),
        Column("dump", "int64", "", "number of the dump", optional=True),
        Column("column_family", "string", "", "column family"),
        Column("table", "string", "", "RocksDB's table: level or priority"),
        Column("row", "string", "", "label of the line: L0 …, Sum, Int; Low, High, User"),
        Column("Files", "float64", "count", "files", optional=True),
        Column("FilesBusy", "float64", "count", "files that are inputs of running compactions", optional=True),
        Column("<RocksDB's column>", "float64", "of the column", "value under RocksDB's own name (GB = 2^30 bytes)"),
    ),
)

LOG_TABLES: Final = (SERIES, LOG_JOBS, STALLS, LATENCY, LEVELS, STATISTICS, COMPACTION_TABLES)

"""The tables of a simulated run."""

from __future__ import annotations

from typing import Final

from lsmlab.sim.results.schema.columns import Column, TableSchema

_SECOND: Final = "at the end of the second, summed over shards"

SERIES: Final = TableSchema(
    "series",
    "One row per simulated second.",
    (
        Column("t_s", "float64", "s", "end of the second"),
        Column("write_ops", "float64", "count", "writes of all clients in the second"),
        Column("read_ops", "float64", "count", "reads and scans of all clients in the second"),
        Column("user_bytes", "float64", "bytes", "key and value bytes written by clients in the second"),
        Column(
            "backlog_ops", "float64", "count",
            "operations of open-loop clients that have arrived and are not served, at the end of the second; a LOG does "
            "not show them", 1, optional=True,
        ),
        Column("stall_<cause>_s", "float64", "s", "time that writers waited for this cause in the second"),
        Column("write_<percentile>_s", "float64", "s", "percentile (p50 … p9999) or maximum (max) of write latency"),
        Column("read_<percentile>_s", "float64", "s", "the same of reads and scans"),
        Column(
            "read_bytes_<consumer>_per_s", "float64", "bytes/s",
            "bytes read from the device by client, flush, l0 (compactions that start at L0) or deeper compactions",
        ),
        Column("write_bytes_<consumer>_per_s", "float64", "bytes/s", "the same of bytes written"),
        Column("l0_files", "float64", "count", f"L0 files {_SECOND}"),
        Column("immutables", "float64", "count", f"immutable memtables {_SECOND}"),
        Column("pending_bytes", "float64", "bytes", f"estimated pending compaction bytes {_SECOND}"),
        Column(
            "delayed_rate_bytes_per_s", "float64", "bytes/s",
            "delayed write rate at the end of the second, the lowest of all shards",
        ),
        Column("running_flushes", "float64", "count", f"flushes at work {_SECOND}"),
        Column("running_compactions", "float64", "count", f"compactions at work, halted ones left out, {_SECOND}"),
        Column("level_bytes_<level>", "float64", "bytes", f"bytes of the files of a level {_SECOND}"),
        Column("level_files_<level>", "float64", "count", f"files of a level {_SECOND}"),
        Column(
            "option_<name>", "float64", "of the option",
            "option that a tuner has changed, at the end of the second; mean over shards",
        ),
    ),
)  # fmt: skip

JOBS: Final = TableSchema(
    "jobs",
    "One row per background job: by shard, jobs in the order of their ends, then those that are unfinished.",
    (
        Column("job", "int64", "", "number of the job within its shard"),
        Column(
            "kind", "string", "",
            "flush, compaction, trivial_move, drop (FIFO), link (LDC), or discarded: a compaction that was given up",
        ),
        Column("reason", "string", "", "RocksDB's compaction reason, or the picker's own"),
        Column("start_level", "int64", "", "level of the first input; -1 for a flush"),
        Column("output_level", "int64", "", "level of the output; -1 for a drop"),
        Column("queued_s", "float64", "s", "start_s: a job is picked when its thread starts"),
        Column("start_s", "float64", "s", "the job picks its inputs"),
        Column("merged_s", "float64", "s", "end of reading, merging and writing; the manifest commit follows"),
        Column("end_s", "float64", "s", "commit: the new version is installed"),
        Column("input_files", "int64", "count", "input files of levels other than the output level; memtables of a flush"),
        Column("input_files_output_level", "int64", "count", "input files of the output level"),
        Column("output_files", "int64", "count", "files that the job installed"),
        Column("read_bytes", "int64", "bytes", "bytes of all input files, wherever they were read from; of a discarded "
               "compaction, bytes read from the device"),
        Column("read_bytes_output_level", "int64", "bytes", "the part of read_bytes from the output level"),
        Column("write_bytes", "int64", "bytes", "bytes of the output files; of a discarded compaction, bytes written"),
        Column("entries_in", "float64", "count", "entries read"),
        Column("entries_out", "float64", "count", "entries written"),
        Column("score", "float64", "ratio", "score of the level that was picked"),
        Column("parent", "int64", "", "job whose end made this one start; -1: a memtable switch did"),
        Column("shard", "int64", "", "shard of the job"),
        Column("column_family", "string", "", "column family of the job; left out where a run has one", 1, optional=True),
        Column("cpu_s", "float64", "s", "CPU time"),
        Column("subcompactions", "int64", "count", "threads that shared the job"),
        Column("moved_bytes", "int64", "bytes", "bytes of files that were moved or linked, not rewritten"),
        Column("halted_s", "float64", "s", "time between start and end in which a scheduler had the job halted"),
        Column("pool", "string", "", "thread pool: high or low"),
        Column(
            "unfinished", "bool", "",
            "whether the job was running, halted or waiting for its commit when the run ended. Then end_s is the end of "
            "the run, and bytes, entries and CPU time are those of the steps done so far (a step is up to a fourth of a "
            "job, or the whole job where it computes for less than 0.5 s); output_files and moved_bytes are 0",
            1,
        ),
    ),
)  # fmt: skip

STALLS: Final = TableSchema(
    "stalls",
    "One row per stretch of time in which one cause slowed or stopped writers.",
    (
        Column("stall", "int64", "", "row number"),
        Column("cause", "string", "", "memtable_stop, l0_stop, pending_stop, memtable_slowdown, l0_slowdown, pending_slowdown"),
        Column("start_s", "float64", "s", "writers are slowed or stopped"),
        Column("end_s", "float64", "s", "writers go on, or another cause takes over"),
        Column("shard", "int64", "", "shard whose state it was"),
        Column("column_family", "string", "", "column family whose state it was; left out where a run has one", 1, optional=True),
        Column("chain_jobs", "list<int64>", "", "blame chain: jobs that had to end first, in the order of their starts"),
        Column("chain_levels", "int64", "count", "distinct output levels of the chain's compactions"),
        Column("chain_bytes", "int64", "bytes", "bytes written by the chain's compactions"),
        Column(
            "unfinished", "bool", "",
            "whether writers were still held back when the run ended; the chain ends with the unfinished job that holds them",
            1,
        ),
    ),
)  # fmt: skip

LATENCY: Final = TableSchema(
    "latency",
    "One row per bucket of the latency histogram of the whole run.",
    (
        Column("op", "string", "", "write or read (scans are reads)"),
        Column("upper_s", "float64", "s", "upper bound of the bucket"),
        Column("count", "float64", "count", "operations in the bucket"),
    ),
)

EVENTS: Final = TableSchema(
    "events",
    "One row per file and version edit, per memtable switch, and per input of a compaction without an edit; by time.",
    (
        Column("time_s", "float64", "s", "when the edit was applied; 0 for the tree with which the run begins", 1),
        Column("shard", "int16", "", "shard of the tree", 1),
        Column("column_family", "string", "", "column family of the tree; left out where a run has one", 1, optional=True),
        Column("job", "int32", "", "job that committed the edit; -1: a memtable switch, or the tree at the start", 1),
        Column(
            "kind", "string", "",
            "create: a new file in to_level. move: a file leaves from_level for to_level. freeze (LDC): a file leaves "
            "from_level and stays on the device in no level. link (LDC): a slice of the frozen file is linked to the file "
            "linked_to, and goes with it. delete: a file goes, from from_level or as a frozen file. input: a file was an "
            "input of a compaction that was discarded at that time, or is unfinished at the end. switch: a memtable "
            "becomes immutable",
            1,
        ),
        Column("file", "int32", "", "file number; -1 for a switch", 1),
        Column("from_level", "int8", "", "level that held the file; -1: none", 1),
        Column("to_level", "int8", "", "level that holds the file from now on; -1: none", 1),
        Column(
            "smallest", "float32", "of the key space",
            "smallest key of file or slice, as a fraction: 0 is the first key, 1 the last of workload.num (inserts in "
            "key order go beyond 1); 0 for delete, input, switch",
            1,
        ),
        Column("largest", "float32", "of the key space", "largest key, likewise", 1),
        Column("bytes", "int64", "bytes", "size of file or slice; WAL bytes of a switch; 0 for delete and input", 1),
        Column("entries", "int64", "count", "entries of file, slice or memtable; 0 for delete and input", 1),
        Column("linked_to", "int32", "", "file that a slice is linked to; -1: none", 1),
    ),
    since=1,
    note="Left out with `save.events=false`. Rows of one edit have the same time, shard and job and follow each other, "
    "those of removed files first. Applied from the start they give the tree at any time "
    "(`lsmlab.sim.results.tree_replay`): new L0 files come before all others, or take the place of the newest L0 file "
    "that the same edit removes; in a deeper level the later of two files that overlap is the newer. Inputs of a job "
    "that has committed are the files that its edit moves, freezes or deletes.",
)  # fmt: skip

RUN_TABLES: Final = (SERIES, JOBS, STALLS, LATENCY, EVENTS)

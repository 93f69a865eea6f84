"""Tables of a simulated run."""

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
            "operations of open-loop clients that have arrived and are not served, at the end of the second; missing "
            "for a LOG", 1, optional=True,
        ),
        Column("stall_<cause>_s", "float64", "s", "time that writers waited because of this cause in the second"),
        Column("write_<percentile>_s", "float64", "s", "percentile (p50 … p9999) or maximum (max) of write latency"),
        Column("read_<percentile>_s", "float64", "s", "percentile or maximum of the latency of reads and scans"),
        Column(
            "read_bytes_<consumer>_per_s", "float64", "bytes/s",
            "bytes read from the device by clients (client), flushes (flush), compactions that start at L0 (l0) or "
            "other compactions (deeper)",
        ),
        Column(
            "write_bytes_<consumer>_per_s", "float64", "bytes/s",
            "bytes written to the device by the same consumers",
        ),
        Column("l0_files", "float64", "count", f"L0 files {_SECOND}"),
        Column("immutables", "float64", "count", f"immutable memtables {_SECOND}"),
        Column("pending_bytes", "float64", "bytes", f"estimated pending compaction bytes {_SECOND}"),
        Column(
            "delayed_rate_bytes_per_s", "float64", "bytes/s",
            "delayed write rate at the end of the second, minimum over shards",
        ),
        Column("running_flushes", "float64", "count", f"running flushes {_SECOND}"),
        Column("running_compactions", "float64", "count", f"running compactions, without paused ones, {_SECOND}"),
        Column("level_bytes_<level>", "float64", "bytes", f"size of the level {_SECOND}"),
        Column("level_files_<level>", "float64", "count", f"files of the level {_SECOND}"),
        *(
            Column(name, "float64", unit, f"{meaning} {_SECOND}; missing in a store without blob files", 3, optional=True)
            for name, unit, meaning in (
                ("blob_files", "count", "blob files"), ("blob_bytes", "bytes", "size of all blob files"),
                ("blob_garbage_bytes", "bytes", "garbage in blob files"),
            )
        ),
        Column(
            "option_<name>", "float64", "of the option",
            "value of an option that a tuner changes, at the end of the second, mean over shards",
        ),
    ),
)  # fmt: skip

JOB_WAITS: Final = tuple(
    Column(name, "float64", "s", f"{meaning}; missing for a LOG", 1, optional=True)
    for name, meaning in (
        ("slot_wait_s", "time that the request of the job waited in RocksDB's queue before start_s"),
        ("device_s", "time that the job waited for reads and writes of data on the device, summed over its threads"),
        ("device_alone_s", "time that the same reads and writes take on the idle device without caps"),
        ("core_wait_s", "time in which threads of the job could compute but had no core, or shared one"),
        ("limiter_wait_s", "time that threads of the job waited for the rate limiter"),
        ("sync_wait_s", "time to finish and commit the files: fsyncs of file ends, directory and MANIFEST, and waits for "
         "the journal of the file system"),
    )
)  # fmt: skip
"""What a job waited for; waits that are not over at the end of the run are missing."""

JOB_BLOBS: Final = tuple(
    Column(name, "int64", unit, f"{meaning}; missing in a store without blob files", 3, optional=True)
    for name, unit, meaning in (
        ("blob_files", "count", "new blob files"),
        ("blob_read_bytes", "bytes", "records of blobs that the job relocated; not in read_bytes"),
        ("blob_write_bytes", "bytes", "records of the new blob files; not in write_bytes, except of a discarded job"),
    )
)
"""What a job did to blob files."""

JOBS: Final = TableSchema(
    "jobs",
    "One row per background job, sorted by shard; per shard, finished jobs by end time, then unfinished jobs.",
    (
        Column("job", "int64", "", "number of the job within its shard"),
        Column(
            "kind", "string", "",
            "flush, compaction, trivial_move, drop (FIFO), link (LDC), or discarded (an aborted or failed job)",
        ),
        Column(
            "reason", "string", "",
            "RocksDB's compaction reason, or a reason of the picker; of a failed job, io_error or no_space",
        ),
        Column("start_level", "int64", "", "level of the first input; -1 for a flush"),
        Column("output_level", "int64", "", "level of the output; -1 for a drop"),
        Column("queued_s", "float64", "s", "equals start_s, because a job is picked when its thread starts"),
        Column("start_s", "float64", "s", "time at which the inputs were picked"),
        Column("merged_s", "float64", "s", "end of reading, merging and writing; the manifest commit follows"),
        Column("end_s", "float64", "s", "time of the commit, which installs the new version"),
        Column(
            "input_files", "int64", "count", "input files from levels other than the output level; memtables of a flush"
        ),
        Column("input_files_output_level", "int64", "count", "input files from the output level"),
        Column("output_files", "int64", "count", "output files that the job installed"),
        Column("read_bytes", "int64", "bytes", "size of all input files, read from the device or the page cache; of a "
               "discarded compaction, bytes read from the device"),
        Column("read_bytes_output_level", "int64", "bytes", "part of read_bytes from the output level"),
        Column("write_bytes", "int64", "bytes", "size of the output files; of a discarded compaction, bytes written"),
        Column("entries_in", "float64", "count", "entries read"),
        Column("entries_out", "float64", "count", "entries written"),
        Column("score", "float64", "ratio", "compaction score of the level that was picked"),
        Column("parent", "int64", "", "job whose end triggered this job; -1: a memtable switch triggered it"),
        Column("shard", "int64", "", "shard of the job"),
        Column(
            "column_family", "string", "", "column family of the job; missing if the run has only one", 1, optional=True
        ),
        Column("cpu_s", "float64", "s", "CPU time"),
        Column("subcompactions", "int64", "count", "threads of the job"),
        Column("moved_bytes", "int64", "bytes", "size of the files that were moved or linked without rewriting"),
        *JOB_BLOBS,
        Column("halted_s", "float64", "s", "time between start and end during which a scheduler paused the job"),
        Column("pool", "string", "", "thread pool: high or low"),
        Column(
            "unfinished", "bool", "",
            "whether the job was running, paused or waiting for its commit at the end of the run. If so, end_s is the "
            "end of the run; bytes, entries and CPU time cover the finished steps (a step is at most a quarter of a "
            "job, or the whole job if its CPU time is below 0.5 s); output_files and moved_bytes are 0",
            1,
        ),
        *JOB_WAITS,
    ),
)  # fmt: skip

STALLS: Final = TableSchema(
    "stalls",
    "One row per interval during which one cause slowed or stopped writes.",
    (
        Column("stall", "int64", "", "row number"),
        Column(
            "cause", "string", "",
            "memtable_stop, l0_stop, pending_stop, memtable_slowdown, l0_slowdown, pending_slowdown, "
            "background_error (after a failed job, the database accepts no write), write_buffer_manager_limit "
            "(with allow_stall, all memtables take the whole buffer), or ingestion (of files)",
        ),
        Column("start_s", "float64", "s", "start of the stall"),
        Column("end_s", "float64", "s", "end of the stall, or start of another cause"),
        Column("shard", "int64", "", "shard that caused the stall"),
        Column("column_family", "string", "", "column family that caused the stall; missing if the run has only one", 1,
               optional=True),
        Column("lost_ops", "float64", "count",
               "operations that clients asked for, or would have done, and did not get during the stall; estimated for a LOG",
               1, optional=True),
        Column("chain_jobs", "list<int64>", "", "jobs that had to end before the stall could end, by start time"),
        Column("chain_levels", "int64", "count", "number of different output levels of the chain's compactions"),
        Column("chain_bytes", "int64", "bytes", "bytes written by the chain's compactions"),
        Column(
            "unfinished", "bool", "",
            "whether the stall lasted until the end of the run; then the last job of the chain is unfinished",
            1,
        ),
    ),
)  # fmt: skip

LATENCY: Final = TableSchema(
    "latency",
    "One row per bucket of the latency histogram of the whole run.",
    (
        Column("op", "string", "", "write, read (a point read) or scan"),
        Column("upper_s", "float64", "s", "upper bound of the bucket"),
        Column("count", "float64", "count", "operations in the bucket"),
    ),
)

EVENTS: Final = TableSchema(
    "events",
    "One row per file of a version edit, per memtable switch, per level at the pick of a compaction, and per input of a "
    "compaction that committed no edit; sorted by time.",
    (
        Column("time_s", "float64", "s", "time of the edit; 0 for the tree at the start of the run", 1),
        Column("shard", "int16", "", "shard of the tree", 1),
        Column(
            "column_family", "string", "", "column family of the tree; missing if the run has only one", 1,
            optional=True,
        ),
        Column("job", "int32", "", "job that committed the edit; -1: a memtable switch, or the tree at the start", 1),
        Column(
            "kind", "string", "",
            "create: a new file in to_level. move: a file moves from from_level to to_level. freeze (LDC): a file "
            "leaves from_level and stays on the device without a level. link (LDC): a slice of the frozen file is "
            "linked to the file linked_to, and is removed with it. delete: a file of from_level, or a frozen file, is "
            "removed. input: input file of a compaction that was discarded at this time, or that is unfinished at the "
            "end of the run. switch: a memtable becomes immutable. pick: score of from_level when the job was picked, before its "
            "inputs were locked; one row per level with files. blob_create, blob_delete: a blob file comes, or goes. "
            "blob_garbage: bytes is all garbage of a blob file up to now; a row whenever it has grown by a sixteenth of the file",
            1,
        ),
        Column("file", "int32", "", "file number, of blob_… that of the blob file; -1 for a switch or pick", 1),
        Column("from_level", "int8", "", "level of the file before the edit; -1: none", 1),
        Column("to_level", "int8", "", "level of the file after the edit; -1: none", 1),
        Column(
            "smallest", "float32", "of the key space",
            "smallest key of the file or slice, as a fraction: 0 is the first key, 1 the last key of workload.num "
            "(inserts in key order may exceed 1); 0 for delete, input, switch, pick and blob files",
            1,
        ),
        Column("largest", "float32", "of the key space", "largest key of the file or slice, as a fraction", 1),
        Column("bytes", "int64", "bytes", "size of the file or slice; WAL bytes of a switch; target size of the level of a pick, "
               "0: no target; garbage of blob_garbage; 0 for delete, input and blob_delete", 1),
        Column("entries", "int64", "count", "entries of the file, slice or memtable, values of a new blob file; 0 for others", 1),
        Column("linked_to", "int32", "", "file to which a slice is linked; -1: none", 1),
        Column("score", "float32", "ratio", "compaction score of the level of a pick; NaN for other rows", 1),
    ),
    since=1,
    note="`save.events=false` omits this table. The rows of one edit have the same time, shard and job and are "
    "adjacent, removed files first. Applied from the start, the rows give the tree at any time "
    "(`lsmlab.sim.results.tree_replay`). New L0 files come before all other L0 files, or replace the newest L0 file "
    "that the same edit removes. In a deeper level, the later one of two overlapping files is newer. The inputs of a "
    "committed job are the files that its edit moves, freezes or deletes.",
)  # fmt: skip

RUN_TABLES: Final = (SERIES, JOBS, STALLS, LATENCY, EVENTS)

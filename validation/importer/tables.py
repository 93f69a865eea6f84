"""Tables of an imported LOG, with the columns of a simulated run's tables (docs/reference/imported-logs.md)."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

import numpy as np
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.rocksdb.scheduler import slots
from lsmlab.sim.explain.chains import Chain, chains, stall_rows
from lsmlab.sim.explain.lost_operations import curves_of_series
from lsmlab.sim.explain.stall_analysis import StallData, lost_operations
from lsmlab.sim.explain.stall_division import Slots
from lsmlab.sim.results.schema.columns import TableSchema, column_array
from lsmlab.sim.results.schema.log_tables import COMPACTION_TABLES, LEVELS, LOG_JOBS, STATISTICS
from lsmlab.sim.results.schema.run_tables import JOB_BLOBS, JOBS, LATENCY, SERIES, STALLS
from lsmlab.sim.results.series import Table, spread, step_values
from lsmlab.sim.store.records import CAUSES, JobRecord, StallInterval
from lsmlab.validation.importer.device import job_spans
from lsmlab.validation.importer.estimates import log_writes
from lsmlab.validation.importer.reading import Floats, Reading, families, grid
from lsmlab.validation.importer.workload import InferredWorkload
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.history.summary import busy_s
from lsmlab.validation.logs.history.tree import LevelTracker, states, total

_COMMIT_S: Final = 2e-3
"""A job ended a stall if its commit is this close in time to the stall's end. Times of stall line and commit event
differ by less."""
_SUCCESSOR_S: Final = 0.02
"""A job that starts within this time after another job's end on the same thread was waiting for that job."""


Tables = Sequence[tuple[TableSchema, Table]]
"""Tables with their schemas."""


def tables_of(reading: Reading, workload: InferredWorkload) -> tuple[Tables, StallData]:
    """Return the tables jobs, stalls, series, levels, statistics, compaction_tables and latency, and the data of stalls."""
    records = job_records(reading)
    intervals = [] if reading.from_tables else stall_records(reading, records)
    stalls = stall_rows(intervals, named=len(reading.jobs.families) > 1)
    statistics, rows = statistics_tables(reading)
    jobs, series = jobs_table(reading, records), series_table(reading, workload)
    data = _stall_data(reading, workload, stalls, jobs, series)
    for stall, lost_ops in zip(stalls, lost_operations(data), strict=True):
        stall["lost_ops"] = lost_ops if data.costed else math.nan
    return [
        (LOG_JOBS, jobs),
        (STALLS, STALLS.table(stalls)),
        (SERIES, series),
        (LEVELS, columns_of(reading.summary["levels"], LEVELS)),
        (STATISTICS, columns_of(statistics, STATISTICS)),
        (COMPACTION_TABLES, columns_of(rows, COMPACTION_TABLES)),
        (LATENCY, LATENCY.empty()),
    ], data


def _stall_data(
    reading: Reading, workload: InferredWorkload, stalls: list[dict[str, Any]], jobs: Table, series: Table
) -> StallData:
    """Return the data that explain the stalls; a LOG does not tell the use of device and cores."""
    length_s = np.diff(series["t_s"], prepend=0.0)
    stalled = np.minimum(np.sum([series[f"stall_{cause.value}_s"] for cause in CAUSES], axis=0), 1.0)
    writes, reads = (series[name] * length_s for name in ("write_ops", "read_ops"))
    options = reading.options.overrides if reading.options is not None else {}
    memtable_bytes = float(options.get("write_buffer_size", RocksDbOptions().write_buffer_size))
    summary = reading.summary
    return StallData(
        stalls=stalls, jobs=jobs, series=series,
        clients=curves_of_series(series["t_s"], writes, reads, stalled * length_s),
        memtable_writes=memtable_bytes / max(1.0, workload.entry_bytes), usage={},
        stall_seconds={cause: s for cause, s in summary["stall_seconds"].items() if s is not None},
        slots=_slots(reading), unseen=not stalls and _stalled(reading), pools=_pools(reading, stalls, jobs),
        rated=len(workload.seconds) > 0, waited_share=_waited_share(summary),
    )  # fmt: skip


def _pools(reading: Reading, stalls: Sequence[Mapping[str, Any]], jobs: Table) -> list[int]:
    """Return the pool of threads of each shard: all families of an open have one."""
    count = 1 + max([0, *(int(n) for n in jobs["shard"]), *(int(row["shard"]) for row in stalls)])
    return [shard // len(families(reading.jobs)) for shard in range(count)]


def _stalled(reading: Reading) -> bool:
    """Return whether writers were stalled, or may have been: the LOG does not tell."""
    fraction = reading.summary["stall_fraction"]
    return fraction is None or bool(fraction or any(reading.summary["stall_count"].values()))


def _waited_share(summary: Mapping[str, Any]) -> float | None:
    """Return the share of the time that writers waited: RocksDB's own, or that of stops; None if it is unknown."""
    fraction: float | None = summary["stall_fraction"]
    if summary["stall_measured"] is not None or not fraction:
        return fraction
    length_s = summary.get("stall_until_s") or summary["duration_s"]
    return float(sum(s or 0.0 for cause, s in summary["stall_seconds"].items() if cause.endswith("stop")) / length_s)


def _slots(reading: Reading) -> Slots | None:
    """Return the threads of flushes and compactions that the options give; None without options."""
    if reading.options is None:
        return None
    given = {name: value for name, value in reading.options.overrides.items() if name in _THREADS}
    options = replace(RocksDbOptions(), **given)
    return Slots(*slots(options, speedup=True), options.level0_file_num_compaction_trigger)


_THREADS: Final = (
    "max_background_jobs", "max_background_flushes", "max_background_compactions", "level0_file_num_compaction_trigger",
)  # fmt: skip
"""Options that `_slots` reads."""


def job_records(reading: Reading) -> list[JobRecord]:
    """Convert the jobs to the simulator's job records, by start time."""
    names = list(families(reading.jobs))
    records: list[JobRecord] = []
    last: dict[tuple[int, str], JobRecord] = {}
    for job in reading.jobs.jobs:
        start_s = reading.seconds(job.start_us)
        end_s = reading.seconds(job.end_us if job.end_us is not None else reading.end_us)
        before = last.get((job.opening, job.thread)) if job.thread else None
        follows = before is not None and 0 <= start_s - before.end_s <= _SUCCESSOR_S
        record = JobRecord(
            job=job.job, kind=job.kind, reason=job.reason, start_level=job.start_level, output_level=job.output_level,
            queued_s=start_s, start_s=start_s, merged_s=min(end_s, start_s + busy_s(job)), end_s=end_s,
            input_files=job.input_files, input_files_output_level=job.input_files_output_level,
            output_files=job.output_files, read_bytes=job.read_bytes,
            read_bytes_output_level=job.input_bytes.get(job.output_level, 0), write_bytes=job.write_bytes,
            entries_in=float(job.entries_in), entries_out=float(job.entries_out), score=job.score,
            parent=before.job if follows and before is not None and before.job != job.job else -1,
            shard=job.opening * len(names) + names.index(job.column_family), cpu_s=job.cpu_s or 0.0,
            subcompactions=job.subcompactions, moved_bytes=job.moved_bytes, blob_files=job.blob_files,
            blob_read_bytes=job.blob_read_bytes, blob_write_bytes=job.blob_write_bytes, unfinished=job.status == "unfinished",
        )  # fmt: skip
        records.append(record)
        if job.kind in ("flush", "compaction"):
            last[job.opening, job.thread] = record
    return records


def jobs_table(reading: Reading, records: Sequence[JobRecord]) -> Table:
    """Return the columns of jobs.parquet (`LOG_JOBS`): those of a simulated run, and those that only a LOG has."""
    pairs = list(zip(records, reading.jobs.jobs, strict=True))
    simulated = {c.name for c in JOBS.columns} & {f.name for f in fields(JobRecord)}
    blobs = any(record.blob_files or record.blob_read_bytes for record in records)
    return {
        c.name: column_array([getattr(record if c.name in simulated else job, c.name) for record, job in pairs], c.dtype)
        for c in LOG_JOBS.columns
        if blobs or c not in JOB_BLOBS
    }


def stall_records(reading: Reading, records: Sequence[JobRecord]) -> list[tuple[StallInterval, Chain]]:
    """Return the stall intervals by start time, each with the chain of jobs that had to end before the stall could end.

    Chains are built within one open of the store, because job ids are unique there only.
    """
    found: list[tuple[StallInterval, Chain]] = []
    names = list(families(reading.jobs))
    for opening in range(max(1, len(reading.log.openings))):
        mine: dict[int, JobRecord] = {}
        for job, record in zip(reading.jobs.jobs, records, strict=True):
            own = job.opening == opening and job.kind in ("flush", "compaction") and (job.done or record.unfinished)
            if own and record.job >= 0:  # the event of a damaged LOG may have no number
                mine.setdefault(record.job, record)
        mine = {number: _after_parent(record, mine.get(record.parent)) for number, record in mine.items()}
        ends = sorted((record.end_s, record.job) for record in mine.values() if not record.unfinished)
        intervals = []
        for stall in reading.stalls.intervals:
            if stall.opening == opening:
                start_s, end_s = reading.seconds(stall.start_us), reading.seconds(stall.end_us)
                at = bisect.bisect_left(ends, (end_s - _COMMIT_S, -1))
                ended_by = ends[at][1] if at < len(ends) and ends[at][0] <= end_s + _COMMIT_S else -1
                number = names.index(stall.column_family) if stall.column_family in names else 0
                shard = mine[ended_by].shard if ended_by in mine else opening * len(names) + number
                lasts = ended_by < 0 and stall.end_us >= reading.end_us
                family = stall.column_family
                intervals.append(StallInterval(stall.cause, start_s, end_s, shard, ended_by, family, lasts))
        found += zip(intervals, chains(intervals, mine.get, [r for r in mine.values() if r.unfinished]), strict=True)
    return sorted(found, key=lambda pair: pair[0].start_s)


def _after_parent(record: JobRecord, parent: JobRecord | None) -> JobRecord:
    """Return a job without a parent that began no earlier: in a damaged LOG several jobs may have one number."""
    return record if parent is None or parent.start_s < record.start_s else replace(record, parent=-1)


def series_table(reading: Reading, workload: InferredWorkload) -> Table:
    """Return the time series with one row per second, in the simulator's columns. A LOG has no latencies and no reads.

    For a LOG longer than `MOST_INTERVALS` seconds each row covers several seconds; values are still per second.
    """
    edges = grid(max(reading.seconds(reading.end_us), workload.until_s))
    step_s = float(edges[1])
    writes = np.zeros(len(edges) - 1)
    if len(workload.seconds):
        curve = np.concatenate(([0.0], np.cumsum(workload.operations)))
        borders = np.append(workload.seconds, workload.until_s)
        writes = np.diff(np.interp(edges, borders, curve)) / step_s
    table: Table = {
        "t_s": edges[1:],
        "write_ops": writes,
        "read_ops": np.zeros(len(writes)),
        "user_bytes": writes * workload.entry_bytes,
    }
    for cause in CAUSES:
        mine = [s for s in reading.stalls.intervals if s.cause is cause]
        start = np.array([reading.seconds(s.start_us) for s in mine], dtype=np.float64)
        end = np.array([reading.seconds(s.end_us) for s in mine], dtype=np.float64)
        table[f"stall_{cause.value}_s"] = spread(start, end, end - start, edges) / step_s
    return table | _transfers(reading, workload, edges) | _states(reading, edges)


def _transfers(reading: Reading, workload: InferredWorkload, edges: Floats) -> Table:
    table: Table = {}
    groups = {
        "flush": reading.jobs.done("flush", "recovery"),
        "l0": [j for j in reading.jobs.done("compaction") if j.start_level == 0],
        "deeper": [j for j in reading.jobs.done("compaction") if j.start_level != 0],
    }
    logged = np.empty(0)
    if len(workload.seconds) and log_writes(reading, workload):
        logged = workload.rate_per_s * workload.entry_bytes
    table["read_bytes_client_per_s"] = np.zeros(len(edges) - 1)
    table["write_bytes_client_per_s"] = np.zeros(len(edges) - 1)
    if len(logged):
        table["write_bytes_client_per_s"] = step_values(workload.seconds, logged, edges[:-1])
        table["write_bytes_client_per_s"][edges[:-1] >= workload.until_s] = 0.0
    for consumer, jobs in groups.items():
        start, end = job_spans(jobs, reading)
        for direction in ("read", "write"):
            amount = np.array([float(getattr(j, f"all_{direction}_bytes")) for j in jobs], dtype=np.float64)
            table[f"{direction}_bytes_{consumer}_per_s"] = spread(start, end, amount, edges) / edges[1]
    return table


def _states(reading: Reading, edges: Floats) -> Table:
    """Return files and bytes per level, immutable memtables, pending bytes, delayed rate and running jobs by second."""
    at = edges[1:]
    sizes_of = LevelTracker.estimated_sizes
    rows = [(reading.seconds(job.end_us or 0), *total(trackers, sizes_of)) for job, trackers in states(reading.jobs)]
    levels = max((len(counts) for _, counts, _ in rows), default=0)
    times = np.array([t for t, _, _ in rows], dtype=np.float64)
    table: Table = {"l0_files": _column(times, [c[0] if c else 0 for _, c, _ in rows], at)}
    waiting = [(s.time_us, s.immutables) for s in reading.stalls.states if s.immutables is not None]
    waiting += [(j.end_us or 0, j.immutables) for j in reading.jobs.done("flush") if j.immutables is not None]
    waiting += [(r.time_us, r.immutables + 1) for r in reading.log.switches()]
    waiting.sort()
    table["immutables"] = _column(_times(reading, [t for t, _ in waiting]), [n for _, n in waiting], at)
    debt = [(s.time_us, s.pending_bytes) for s in reading.stalls.states if s.pending_bytes is not None]
    table["pending_bytes"] = _column(_times(reading, [t for t, _ in debt]), [n for _, n in debt], at)
    rates = [(s.time_us, s.rate_bytes_per_s or 0) for s in reading.stalls.states]
    table["delayed_rate_bytes_per_s"] = _column(_times(reading, [t for t, _ in rates]), [n for _, n in rates], at)
    for kind, name in (("flush", "running_flushes"), ("compaction", "running_compactions")):
        table[name] = _running([j for j in reading.jobs.jobs if j.kind == kind], reading, at)
    table |= _blob_states(reading, at)
    for level in range(levels):
        sizes = [s[level] if level < len(s) else 0 for _, _, s in rows]
        table[f"level_bytes_{level}"] = _column(times, sizes, at)
        table[f"level_files_{level}"] = _column(times, [c[level] if level < len(c) else 0 for _, c, _ in rows], at)
    return table


def _blob_states(reading: Reading, at: Floats) -> Table:
    """Return files, bytes and garbage of blob files by second: those of the last dump before, NaN before the first one.

    A column that some dump lacks is left out, as are all in a LOG without blob files.
    """
    dumps = [(dump.time_us, [f.blobs for f in dump.families.values() if f.blobs]) for dump in reading.log.dumps]
    told = [(time_us, families) for time_us, families in dumps if time_us is not None and families]
    if not any(one["files"] for _, families in told for one in families):
        return {}
    times = _times(reading, [time_us for time_us, _ in told])
    table: Table = {}
    for column, name in (("blob_files", "files"), ("blob_bytes", "bytes"), ("blob_garbage_bytes", "garbage_bytes")):
        if all(name in one for _, families in told for one in families):
            values = np.array([sum(one[name] for one in families) for _, families in told])
            table[column] = step_values(times, values, at, np.nan)
    return {column: values for column, values in table.items() if np.isfinite(values).any()}


def _times(reading: Reading, times_us: Sequence[int]) -> Floats:
    return np.array([reading.seconds(t) for t in times_us], dtype=np.float64)


def _column(times: Floats, values: Sequence[float | int | None], at: Floats) -> Floats:
    return step_values(times, np.array(values, dtype=np.float64), at)


def _running(jobs: Sequence[LogJob], reading: Reading, at: Floats) -> Floats:
    start = np.sort(_times(reading, [j.start_us for j in jobs]))
    end = np.sort(_times(reading, [j.end_us if j.end_us is not None else reading.end_us for j in jobs]))
    return (np.searchsorted(start, at, side="right") - np.searchsorted(end, at, side="right")).astype(np.float64)


def statistics_tables(reading: Reading) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows of the statistics dumps, and rows of their compaction tables with RocksDB's own column names."""
    statistics: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for number, dump in enumerate(reading.log.dumps):
        t_s = reading.seconds(dump.time_us) if dump.time_us is not None else dump.uptime_s
        base = {"t_s": t_s, "dump": number}
        statistics.append(
            {**base, "opening": dump.opening, "uptime_s": dump.uptime_s, "interval_s": dump.interval_s, **dump.db}
        )
        for family, stats in dump.families.items():
            for table, lines in (("level", stats.levels), ("priority", stats.priorities)):
                for line in lines:
                    cells = {k: v for k, v in line.items() if k not in ("Level", "Priority", "Files")}
                    files = str(line.get("Files", "0/0")).split("/")
                    busy = {"Files": float(files[0]), "FilesBusy": float(files[-1])}
                    name = str(line.get("Level", line.get("Priority")))
                    rows.append({**base, "column_family": family, "table": table, "row": name, **busy, **cells})
            for cause, count in stats.stall_counts.items():
                statistics[-1][f"stall_count_{cause}"] = statistics[-1].get(f"stall_count_{cause}", 0) + count
    return statistics, rows


def columns_of(rows: Sequence[Mapping[str, Any]], schema: TableSchema) -> Table:
    """Convert rows to columns. Rows may have different keys: a missing number is NaN, a missing text is empty."""
    names = list(dict.fromkeys([*schema.empty(), *(name for row in rows for name in row)]))
    table: Table = {}
    for name in names:
        dtype = schema.column(name).dtype
        absent: Any = {"string": "", "float64": math.nan}.get(dtype)
        values = [row.get(name) for row in rows]
        table[name] = column_array([absent if v is None else v for v in values], dtype)
    return table

"""Result of a run: summary and tables, and the files that contain them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from lsmlab.models.options.values import plain
from lsmlab.sim.clients.all_clients import AllClients
from lsmlab.sim.clients.group import READ, SCAN, WRITE
from lsmlab.sim.clients.latency import QUANTILES, Floats, LatencyDistribution
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.process_memory import LARGE_RUN_JOBS, return_freed_memory
from lsmlab.sim.results.conditions import condition_facts
from lsmlab.sim.results.database_summaries import database_summaries
from lsmlab.sim.results.job_sums import JobSums
from lsmlab.sim.results.phases import action_rows, phase_rows
from lsmlab.sim.results.schema.columns import FORMAT, TableSchema
from lsmlab.sim.results.schema.run_tables import EVENTS, JOB_BLOBS, JOB_WAITS, JOBS, LATENCY, SERIES, STALLS
from lsmlab.sim.results.series import (
    Table,
    client_series,
    option_series,
    quantile_series,
    state_series,
    transfer_series,
)
from lsmlab.sim.results.stores import Store
from lsmlab.sim.results.summary import family_summaries, last_second, latency_of, memory_summary, summarise
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.event_log import EventKind, EventLog
from lsmlab.sim.yaml_text import to_yaml

if TYPE_CHECKING:
    from lsmlab.sim.setting import Setting
    from lsmlab.sim.setup import Setup


_VERSION: Final = installed_version("lsmlab")


@dataclass(slots=True)
class Result:
    """Result of a finished run. A table maps column names to arrays, as `pandas.DataFrame` accepts them.

    docs/reference/tables.md defines every column.
    """

    config: dict[str, Any]
    summary: dict[str, Any]
    """Content of summary.json; docs/reference/summary.md defines every number."""
    series: Table
    """One row per simulated second."""
    jobs: Table
    """One row per background job."""
    stalls: list[dict[str, Any]]
    """One row per stall."""
    latency: Table
    """Histogram of latencies: columns op, upper_s (upper bound of the bucket) and count."""
    events: Table | None = None
    """One row per file of a version edit and per memtable switch; None with `save.events=false`."""

    def save(self, directory: Path) -> None:
        """Write config.yaml, summary.json and the Parquet tables to `directory`; create it if it does not exist."""
        from lsmlab.sim.results.parquet import write_table

        directory.mkdir(parents=True, exist_ok=True)
        (directory / "config.yaml").write_text(to_yaml(self.config))
        about = {"version": self.summary["version"], "seed": self.summary["seed"], "config": self.config}
        for schema, columns in self.tables():
            if columns is not None:
                write_table(directory, schema, columns, about)
        (directory / "summary.json").write_text(json.dumps(self.summary, indent=1) + "\n")

    def tables(self) -> list[tuple[TableSchema, Table | None]]:
        """Return each table with its schema; None for a table that the run did not record."""
        stalls = STALLS.table(self.stalls)
        return [
            (SERIES, self.series), (JOBS, self.jobs), (STALLS, stalls), (LATENCY, self.latency), (EVENTS, self.events),
        ]  # fmt: skip


def collect(
    setting: Setting, machine: Machine, stores: Sequence[Store], end_s: float, logs: Sequence[EventLog] | None = None
) -> Result:  # fmt: skip
    """Return the result of a run that ended at `end_s`, without its stalls (`sim.explain`).

    The trees of a large run lose their keys. `logs`: event logs of all databases, None without events.
    """
    setup, clients = stores[0].setup, AllClients([store.clients for store in stores])
    families = [family for store in stores for family in store.families]
    databases = [database for store in stores for database in store.databases]
    duration_s = max(end_s, 1e-9)
    jobs = _jobs_table(families)
    summary = summarise(setup, machine, families, clients, JobSums(jobs), duration_s)
    if len(stores) > 1:
        summary["databases"] = database_summaries(stores, JobSums(jobs), duration_s)
    if len(jobs["job"]) >= LARGE_RUN_JOBS:
        _forget_keys(families)
    seconds = np.arange(last_second(duration_s) + 1, dtype=np.float64)
    writes, write_pieces = latency_of(clients.groups, (WRITE,), seconds)
    reads_and_scans, read_pieces = latency_of(clients.groups, (READ, SCAN), seconds)
    scans, _ = latency_of(clients.groups, (SCAN,), seconds)
    reads_alone = latency_of(clients.groups, (READ,), seconds)[0] if scans else reads_and_scans
    latencies = {"write": writes, "read": reads_alone, "scan": scans}
    summary["memory"] = _memory(stores)
    if facts := condition_facts(setup, databases):
        summary["conditions"] = facts
    for name, rows in (("phases", phase_rows), ("actions", action_rows)):
        if found := rows(stores, jobs):
            summary[name] = found
    if len(setup.families) > 1 and len(stores) == 1:
        summary["column_families"] = family_summaries(setup, families, JobSums(jobs))
    summary |= _reads(stores)
    summary |= {
        **{f"{op}_latency_s": found.summary(duration_s) if found else None for op, found in latencies.items()},
        "keys": _key_facts(setup),
        "engine": setup.engine.name,
        "engine_version": str(setup.engine.version),
        "workload": setup.workload.name,
        "shards": setup.workload.shards,
        "options": plain(asdict(setup.engine.options)),
        "not_simulated": [option.as_data() for option in setup.setting.not_simulated],
        "notes": [*_notes(stores), *_late(stores, duration_s)],
        "seed": setting.seed,
        "version": _VERSION,
        "results_format": FORMAT,
    }
    series = _series(setup, machine, families, clients, (writes, write_pieces), (reads_and_scans, read_pieces), seconds)
    for family in families:
        family.recorder.forget_states()
    return Result(
        config=dict(setting.config),
        summary=summary,
        series=series,
        jobs=jobs,
        stalls=[],
        latency=_latency_table(latencies),
        events=None if logs is None else events_table(logs),
    )


def _notes(stores: Sequence[Store]) -> list[str]:
    """Return notes on options and workloads, each once, and those on a run of several databases or devices."""
    found = dict.fromkeys(n for store in stores for n in (*store.setup.engine.notes, *store.setup.workload.notes))
    several = "intervals are learnt from runs of one database; seven recordings of 2 to 100 databases have been compared"
    return [*found, *([several] if len(stores) > 1 else []), *_device_notes(stores)]


def _late(stores: Sequence[Store], end_s: float) -> list[str]:
    """Return a note on conditions and actions whose time is after the end of the run; none if all are before it."""
    conditions, workload = stores[0].setup.setting.conditions, stores[0].setup.workload
    times = {
        "conditions.changes": [change.at for change in conditions.changes],
        "conditions.compaction_errors": [errors.at for errors in conditions.compaction_errors],
        "conditions.snapshots": [snapshot.at for snapshot in conditions.snapshots],
        "workload.actions": [action.at_s for action in workload.actions],
    }
    late = [f"{name}[{i}] ({at:g} s)" for name, own in times.items() for i, at in enumerate(own) if at >= end_s]
    return [f"the run ends after {end_s:.3g} s, before {', '.join(late)}: that has no effect"] if late else []


def _device_notes(stores: Sequence[Store]) -> list[str]:
    """Return notes on a run with `cold_device` or `wal_device`; none for another run."""
    setting = stores[0].setup.setting
    if setting.cold_device is None and setting.wal_device is None:
        return []
    notes = [
        "several devices: which files are where follows RocksDB's source; no recorded store on several devices has been "
        "compared, so the error of these numbers is not known"
    ]
    if setting.cold_device is not None and not any(f.cold for store in stores for one in store.families for f in one.files()):
        options = setting.engine.options
        of_level = f"L{options.num_levels - 1}, the last level, has none"
        fifo = options.compaction_options_fifo.cold_from_s is not None
        why = "the first path has room for all files" if options.paths else "none was old enough" if fifo else of_level
        notes.append(f"cold_device: no file is there at the end; {why}")
    return notes


def _memory(stores: Sequence[Store]) -> dict[str, Any]:
    """Return bytes by use at the end of the run, of all databases."""
    each = [memory_summary(store.setup, store.families) for store in stores]
    return {name: sum(one.get(name, 0) for one in each) for name in dict.fromkeys(name for one in each for name in one)}


def _reads(stores: Sequence[Store]) -> dict[str, Any]:
    """Return the read amplification of all reads, and the block cache of the database that serves most of them."""
    reading = [(store.reads, store.clients.totals().reads) for store in stores if store.reads is not None]
    if not reading:
        return {}
    total = sum(count for _, count in reading)
    most = max(reading, key=lambda pair: pair[1])[0]
    blocks = most.mean_blocks_per_read()
    if len(reading) > 1 and total > 0.0:
        blocks = sum(reads.mean_blocks_per_read() * count for reads, count in reading) / total
    return {"read_amplification": blocks, "block_cache": most.facts()}


def _forget_keys(families: Sequence[ColumnFamily]) -> None:
    """Free the keys of all files, before the tables of the run take memory."""
    for family in families:
        family.tree.forget_keys()
    return_freed_memory()


Latencies = tuple[LatencyDistribution | None, Floats]


def _series(
    setup: Setup, machine: Machine, families: Sequence[ColumnFamily], clients: AllClients, writes: Latencies, reads: Latencies,
    seconds: Floats,
) -> Table:  # fmt: skip
    table: Table = {"t_s": seconds[1:]}
    table |= client_series(clients, seconds)
    for name, (distribution, pieces), ops in (("write", writes, "write_ops"), ("read", reads, "read_ops")):
        plain = distribution.unstalled_quantiles() if distribution else dict.fromkeys((*QUANTILES, "max"), 0.0)
        timed = pieces[pieces[:, 0] >= 0.0]
        columns = quantile_series(timed, np.asarray(table[ops], dtype=np.float64), seconds, plain)
        for suffix, values in columns.items():
            table[f"{name}_{suffix}_s"] = values
    table |= transfer_series([volume.device.log for volume in machine.volumes], seconds)
    table |= state_series([s.recorder for s in families], seconds)
    table |= option_series([s.recorder for s in families], setup.engine, seconds)
    return table


def _jobs_table(families: Sequence[ColumnFamily]) -> Table:
    logs = [f.recorder.jobs.columns() for f in families]
    blobs = any(log[c.name].any() for log in logs for c in JOB_BLOBS)
    names = [c.name for c in JOBS.columns if c in JOB_WAITS or not c.optional or (blobs and c in JOB_BLOBS)]
    table = logs[0] if len(logs) == 1 else {name: np.concatenate([log[name] for log in logs]) for name in names}
    table = {name: table[name] for name in names} | {
        c.name: np.maximum(table[c.name], 0.0) for c in JOB_WAITS  # a difference of times may be -1e-12 s
    }
    if len({f.name for f in families}) > 1:
        jobs = [len(log["job"]) for log in logs]
        table["column_family"] = np.repeat(np.array([f.name for f in families], dtype=object), jobs)
    return table


def _latency_table(latencies: Mapping[str, LatencyDistribution | None]) -> Table:
    ops: list[Any] = []
    bounds, counts = [np.empty(0)], [np.empty(0)]
    for name, distribution in latencies.items():
        if distribution is not None:
            upper, count = distribution.histogram()
            ops.extend([name] * len(upper))
            bounds.append(upper)
            counts.append(count)
    return {"op": np.array(ops, dtype=object), "upper_s": np.concatenate(bounds), "count": np.concatenate(counts)}


def _key_facts(setup: Setup) -> dict[str, Any]:
    first = setup.families[0]
    sample = first.sample
    per_file = setup.engine.smallest_file_bytes / max(1.0, first.content.entry.put) / sample.weight
    return {
        "mode": setup.setting.keys.mode,
        "rate": sample.rate,
        "weight": sample.weight,
        "hot": len(sample.hot),
        "samples_per_file": per_file,
        # relative standard error of the number of sampled keys in a file: at most 1/sqrt(mean number)
        "error": 0.0 if sample.exact else 1.0 / float(np.sqrt(max(1.0, per_file))),
    }


_KINDS: Final = np.array([kind.name.lower() for kind in EventKind], dtype=object)


def events_table(logs: Sequence[EventLog]) -> Table:
    """Return the columns of events.parquet, with rows sorted by time, then shard, then column family.

    The rows of one version edit are adjacent, removed files first.
    """
    parts = [log.columns() for log in logs]
    rows = [len(part["time_s"]) for part in parts]
    found = parts[0] if len(parts) == 1 else {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    found = {**found, "kind": _KINDS[found["kind"]], "shard": np.repeat(np.array([g.shard for g in logs], np.int16), rows)}
    table = {name: found[name] for name in EVENTS.empty()}
    if len({log.family for log in logs}) > 1:
        table["column_family"] = np.repeat(np.array([log.family for log in logs], dtype=object), rows)
    if len(parts) > 1:
        order = np.lexsort((np.repeat(range(len(parts)), rows), table["time_s"]))
        table = {name: values[order] for name, values in table.items()}
    return table

"""Input of the estimators: parsed files of a store, the load inferred from them, and the jobs with their times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.validation.importer.reading import Floats, Reading
from lsmlab.validation.importer.workload import InferredWorkload
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.timings.fsync_periods import TimedLog
from lsmlab.validation.logs.timings.timed_jobs import timed_jobs

_READ_BY_WRITE: Final = 0.65
"""Time of a copy out of the page cache divided by that of a copy into it: 0.257 ns per byte (compactions on persistent
memory) divided by 0.392 (same device, RocksDB 6.4)."""


@dataclass(frozen=True)
class Observation:
    """Parsed LOG and inferred load. No field depends on an estimate."""

    reading: Reading
    entry_bytes: float = 0.0
    """Mean bytes of key and value of one entry over all column families; 0 if the LOG does not have them."""
    family_bytes: Mapping[str, float] = field(default_factory=dict)
    """Mean bytes of key and value of one entry, by column family, if the LOG shows several."""
    wal_bytes_per_s: Floats = field(default_factory=lambda: np.empty(0))
    """WAL bytes per second that reach the device, by interval from the origin on."""
    threads: int = 1
    """Number of client threads that write."""
    logged: bool = True
    """Whether writes go to the WAL."""

    @property
    def stalled_share(self) -> float:
        """Share of the time in write stalls, from 0 to 1."""
        return self.reading.summary.get("stall_fraction") or 0.0

    @property
    def buffered_writes(self) -> bool:
        """Whether flushes and compactions write through the page cache.

        If so, a write call takes the time of a copy, and an fsync the time of the device.
        """
        return not self.reading.option("use_direct_io_for_flush_and_compaction")

    @property
    def buffered_reads(self) -> bool:
        """Whether compactions read through the page cache."""
        return not self.reading.option("use_direct_reads")

    def entry_bytes_of(self, job: LogJob) -> float:
        """Key and value of one entry of a job's column family."""
        return self.family_bytes.get(job.column_family, self.entry_bytes)

    @cached_property
    def jobs(self) -> TimedLog:
        """Committed jobs in seconds, as the periods with fsyncs need them."""
        done = self.reading.jobs.done("flush", "compaction")
        dated = [job for job in done if all(file.created_us is not None for file in job.outputs)]
        jobs = timed_jobs(dated, self.reading.origin_us, self.entry_bytes_of)
        jobs = [job for job in jobs if job.kind == "flush" or job.cpu_s]
        return TimedLog(jobs, any(job.sync_s is not None for job in jobs))

    @cached_property
    def read_copy_s(self) -> float:
        """Seconds per byte of a compaction's copies out of the page cache, if its CPU time excludes them; otherwise 0.

        With report_bg_io_stats RocksDB subtracts reads and writes from a compaction's CPU time
        (CompactionJob::ProcessKeyValueCompaction), but prints only the time of writes.
        """
        timed = [job for job in self.reading.jobs.done("compaction") if job.writing_s and job.write_bytes]
        if not timed or not self.buffered_reads or not self.buffered_writes:
            return 0.0
        return _READ_BY_WRITE * float(np.median([(job.writing_s or 0.0) / job.write_bytes for job in timed]))


def observe(reading: Reading, workload: InferredWorkload) -> Observation:
    """Build the observation from a parsed LOG and its inferred load."""
    entry_bytes = workload.entry_bytes
    family_bytes = {name: part.write_bytes for name, part in workload.families.items()}
    wal_bytes_per_s = workload.rate_per_s * (entry_bytes if wal_reaches_device(reading, workload) else 0.0)
    logged = log_writes(reading, workload)
    return Observation(reading, entry_bytes, family_bytes, wal_bytes_per_s, workload.threads or 1, logged)


def log_writes(reading: Reading, workload: InferredWorkload) -> bool:
    """Whether writes went to a WAL, according to the statistics; without statistics a WAL is assumed."""
    with_wal = wal_is_used(reading)
    return bool(workload.writes) if with_wal is None else with_wal


def wal_reaches_device(reading: Reading, workload: InferredWorkload) -> bool:
    """Whether the bytes of a WAL are written to the device before the WAL is deleted.

    They are if the WAL is synced, or if it lives longer than dirty_expire_centisecs. A WAL lives about twice as long as
    the memtable of the column family that fills its memtables most slowly.
    """
    if not log_writes(reading, workload):
        return False
    if reading.option("wal_bytes_per_sync") or not workload.fills:
        return True
    loads = [load for load in workload.families.values() if len(load.fills)] or [workload]
    filled_s = [float(np.median([end - start for start, end, _ in load.fills])) for load in loads]
    return 2.0 * max(filled_s) >= Host().dirty_expire


def wal_is_used(reading: Reading) -> bool | None:
    """Whether the statistics show bytes written to a WAL; None if no dump has both WAL bytes and writes."""
    with_wal = [
        dump.db["cumulative_wal_bytes"] > 0 or dump.db.get("cumulative_wal_writes", 0) > 0  # few bytes are 0.00 GB
        for dump in reading.log.dumps
        if "cumulative_wal_bytes" in dump.db
        and (dump.db.get("cumulative_keys") or dump.db.get("cumulative_ingest_bytes"))
    ]
    return any(with_wal) if with_wal else None

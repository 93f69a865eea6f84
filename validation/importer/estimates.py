"""Input of the estimators (the observation), their output (numbers with errors and sources), and statistics that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.sim.machine.make import DIRECT_READAHEAD_BYTES
from lsmlab.validation.importer.reading import Floats, Reading
from lsmlab.validation.importer.workload import InferredWorkload
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.timings.fsync_periods import TimedLog
from lsmlab.validation.logs.timings.timed_jobs import timed_jobs
from numpy.typing import NDArray

WINDOW_S: Final = 10
"""Length of the windows over which rates are averaged, in seconds. The work of a job is spread evenly over its time, so
rates of single seconds are not exact."""
FEWEST_WINDOWS: Final = 20
PARTS: Final = 10
"""Number of parts of the LOG that are left out in turn for a standard error."""
P5_TO_P95: Final = 3.29
"""Distance from the 5 % to the 95 % quantile of a normal distribution, in standard deviations."""
_ALWAYS: Final = 0.999
MEDIAN_BY_MEAN: Final = 1.2533
"""Standard error of a median divided by that of a mean: sqrt(pi / 2)."""
LABELS: Final = {
    "host.compaction_record": "compaction, CPU per entry",
    "host.compaction_byte": "compaction, CPU per byte",
    "host.compress_byte": "compression, CPU per byte",
    "host.decompress_byte": "decompression, CPU per byte",
    "host.flush_record": "flush, CPU per entry",
    "host.flush_byte": "flush, CPU per byte",
    "flush_bytes_per_s": "write rate of a flush",
    "compaction_write_bytes_per_s": "write rate of a compaction",
    "host.job_start": "start of a compaction",
    "host.file_overhead": "end of a compaction, per file",
    "host.write_op": "client, time of a write",
    "host.wal_op": "client, append to the WAL",
    "host.memtable_depth": "client, larger memtables",
    "host.cores": "cores",
    "device.write_bandwidth": "device, writes",
    "device.slc_write_bandwidth": "device, writes into its SLC cache",
    "device.slc_cache": "device, room of its SLC cache",
    "device.slc_idle": "device, pause after which it copies its SLC cache",
    "device.fsync_latency": "device, small fsync",
    "device.wal_fsync_latency": "device, fsync of the WAL",
    "device.write_limit": "write limit of all jobs",
    "device.read_limit": "read limit of all jobs",
    "device.iops_limit": "limit of operations",
    "device.write_latency": "device, latency of a write",
    "device.read_latency": "device, latency of a read",
    "device.read_bandwidth": "device, reads",
}
"""Labels of the estimates in the terminal and on the page."""
_READ_BY_WRITE: Final = 0.65
"""Time of a copy out of the page cache divided by that of a copy into it: 0.257 ns per byte (compactions on persistent
memory) divided by 0.392 (same device, RocksDB 6.4)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One inferred number."""

    name: str
    """Key of the configuration, such as host.compaction_record, or a name outside the configuration."""
    value: float
    standard_error: float | None
    unit: str
    kind: str
    """estimate; lower_bound (the machine reaches at least this value); or assumed (the LOG does not show it)."""
    basis: str
    """Source of the number, in words."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Numbers inferred from one LOG, and notes on missing ones."""

    estimates: tuple[Estimate, ...] = ()
    notes: tuple[str, ...] = ()
    alternative: tuple[Estimate, ...] = ()
    """Limits according to another hypothesis that the LOG does not exclude; empty if there is none."""

    def __add__(self, more: Estimates) -> Estimates:
        """Combine two sets of estimates."""
        return Estimates(
            self.estimates + more.estimates, self.notes + more.notes, self.alternative + more.alternative
        )

    def get(self, name: str) -> Estimate | None:
        """Return the estimate with this name; None if there is none."""
        return next((e for e in self.estimates if e.name == name), None)

    def without(self, prefix: str) -> Estimates:
        """Return all but the estimates whose name begins with `prefix`."""
        return replace(self, estimates=tuple(e for e in self.estimates if not e.name.startswith(prefix)))

    @property
    def write_limited(self) -> bool:
        """Whether flushes and compactions wrote at a limit."""
        return self.get("device.write_limit") is not None or self.get("device.iops_limit") is not None


Earlier = Mapping[str, Estimate | None]
"""Earlier estimates that an estimator needs, by name; None for an estimate that the LOG did not allow."""


def host_with(earlier: Earlier) -> Host:
    """Return the default host with the constants that were estimated earlier."""
    known = {name.removeprefix("host."): estimate.value for name, estimate in earlier.items() if estimate is not None}
    return replace(Host(), **{name: value for name, value in known.items() if hasattr(Host, name)})


def jackknife_error(statistic: Callable[[NDArray[np.int64]], float], count: int) -> float:
    """Return the standard error of a statistic of `count` rows, from its values with one of `PARTS` parts left out at a time.

    `statistic`: gets the places of the rows that stay.
    """
    everything = np.arange(count)
    parts = np.array_split(everything, min(PARTS, count))
    values = np.array([statistic(np.delete(everything, part)) for part in parts])
    return float(np.sqrt((len(parts) - 1) / len(parts) * ((values - values.mean()) ** 2).sum()))


def windows(total: Floats, busy: Floats, length: int) -> tuple[Floats, Floats]:
    """Return the mean rate and the mean number of running jobs of each window in which at least one job always ran."""
    if len(total) < 2 * length:
        return np.empty(0), np.empty(0)
    kernel = np.ones(length) / length
    always = np.convolve(busy >= _ALWAYS, kernel, "valid") >= _ALWAYS
    return np.convolve(total, kernel, "valid")[always], np.convolve(busy, kernel, "valid")[always]


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

    @property
    def readahead_bytes(self) -> int:
        """Bytes of a compaction's read of an input file with direct reads; 0 with buffered reads."""
        return 0 if self.buffered_reads else int(self.reading.option("compaction_readahead_size") or DIRECT_READAHEAD_BYTES)

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
        timed = [job for job in self.reading.jobs.done("compaction") if job.writing_s and job.all_write_bytes]
        if not timed or not self.buffered_reads or not self.buffered_writes:
            return 0.0
        return _READ_BY_WRITE * float(np.median([(job.writing_s or 0.0) / job.all_write_bytes for job in timed]))


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

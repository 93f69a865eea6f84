"""What an imported LOG shows, as estimators take it: files that were read, the load found in them, the jobs that were timed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from lsmlab.validation.importer.reading import Floats, Reading
from lsmlab.validation.importer.wal import wal_reaches_device
from lsmlab.validation.importer.workload import InferredWorkload
from lsmlab.validation.logs.timings.job_records import JobLog
from lsmlab.validation.logs.timings.jobs import timed_jobs

_READ_BY_WRITE: Final = 0.65
"""A copy out of the page cache by one into it: 0.257 ns per byte (merges on persistent memory) by 0.392 (there, RocksDB 6.4)."""


@dataclass(frozen=True)
class Observation:
    """A LOG and the load that it shows. Nothing here depends on an estimate."""

    reading: Reading
    entry_bytes: float = 0.0
    """Key and value of one entry; 0 where the LOG does not have them."""
    wal_bytes_per_s: Floats = field(default_factory=lambda: np.empty(0))
    """Bytes of the write-ahead log that reach the device, by second from the origin on."""
    threads: int = 1
    """Client threads that write."""

    @property
    def stalled_share(self) -> float:
        """Share of the time in write stalls."""
        return self.reading.summary.get("stall_fraction") or 0.0

    @property
    def buffered_writes(self) -> bool:
        """Whether flushes and compactions write through the page cache; then a write is a copy, and an fsync the device."""
        return not self.reading.option("use_direct_io_for_flush_and_compaction")

    @property
    def buffered_reads(self) -> bool:
        """Whether compactions read through the page cache."""
        return not self.reading.option("use_direct_reads")

    @cached_property
    def jobs(self) -> JobLog:
        """The committed jobs as the calibrator's fits take them."""
        done = self.reading.jobs.done("flush", "compaction")
        dated = [job for job in done if all(file.created_us is not None for file in job.outputs)]
        jobs = timed_jobs(dated, self.reading.origin_us, self.entry_bytes)
        jobs = [job for job in jobs if job.kind == "flush" or job.cpu_s]
        return JobLog(jobs, any(job.sync_s is not None for job in jobs), [])

    @cached_property
    def read_copy_s(self) -> float:
        """Seconds per byte for which a compaction copies its input out of the page cache, where its CPU time leaves that out.

        With report_bg_io_stats RocksDB takes reads and writes off a compaction's CPU time
        (CompactionJob::ProcessKeyValueCompaction) and prints the time of writes alone.
        """
        timed = [job for job in self.reading.jobs.done("compaction") if job.writing_s and job.write_bytes]
        if not timed or not self.buffered_reads or not self.buffered_writes:
            return 0.0
        return _READ_BY_WRITE * float(np.median([(job.writing_s or 0.0) / job.write_bytes for job in timed]))


def observe(reading: Reading, workload: InferredWorkload) -> Observation:
    """Put a LOG and its load together."""
    entry_bytes = (workload.key_bytes or 0.0) + (workload.value_bytes or 0.0)
    wal_bytes_per_s = workload.rate_per_s * (entry_bytes if wal_reaches_device(reading, workload) else 0.0)
    return Observation(reading, entry_bytes, wal_bytes_per_s, workload.threads or 1)

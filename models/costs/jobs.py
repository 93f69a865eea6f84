"""CPU time of flushes and compactions, the fixed times of jobs, and deletions of files.

CPU costs per entry and byte follow RocksDB's own measurement (`compaction_time_cpu_micros`, "Flush lasted … cpu
microseconds"); docs/decisions/0011 has the cost of dropped entries.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lsmlab.models.costs.cost import Cost, of_host

if TYPE_CHECKING:
    from lsmlab.models.costs.host import Host


def entry_share(entries_in: float, entries_out: float, dropped: float) -> float:
    """CPU time of a job's entries as a share of the time that they take if all are written.

    A dropped entry takes `dropped` of a written one (`Host.flush_dropped`, `Host.compaction_dropped`).
    """
    kept = min(1.0, entries_out / entries_in) if entries_in else 1.0
    return kept + (1.0 - kept) * dropped


def doublings(runs: int) -> float:
    """Doublings of the sorted runs of a compaction beyond two: levels of the heap of RocksDB's MergingIterator."""
    return math.log2(max(runs, 2) / 2.0)


def flush_cpu(
    host: Host, *, entries_in: float, entries_out: float, raw_bytes: float, compressed_bytes: float = 0.0,
    file_bytes: float = 0.0,
) -> Cost:  # fmt: skip
    """CPU time of a flush.

    `raw_bytes`: keys and values that go in. `compressed_bytes`: those that are compressed. `file_bytes`: bytes of the
    output file, which are checksummed.
    """
    return Cost(
        of_host(
            entry_share(entries_in, entries_out, host.flush_dropped), flush_record=entries_in, flush_byte=raw_bytes
        ),
        of_host(compress_byte=compressed_bytes, checksum_byte=file_bytes),
    )


def compaction_cpu(
    host: Host, *, entries_in: float, entries_out: float, raw_bytes: float, runs: int = 2, checked_entries: float = 0.0,
    compressed_bytes: float = 0.0, file_bytes: float = 0.0, slept_files: float = 0.0,
) -> Cost:  # fmt: skip
    """CPU time of a compaction.

    `raw_bytes`: keys and values that go in. `runs`: sorted runs that it reads. `checked_entries`: entries that the cutter
    compares with the files below. `compressed_bytes`: raw bytes that are decompressed and compressed again. `file_bytes`:
    bytes of input and output files, which are checksummed. `slept_files`: output files whose fsync the thread sleeps through.
    """
    share = entry_share(entries_in, entries_out, host.compaction_dropped)
    return Cost(
        of_host(share, compaction_record=entries_in, compaction_byte=raw_bytes),
        of_host(doublings(runs), compaction_compare=entries_in),
        of_host(overlap_check=checked_entries),
        of_host(compress_byte=compressed_bytes, decompress_byte=compressed_bytes),
        of_host(checksum_byte=file_bytes),
        of_host(cold_start=slept_files),
    )


def job_start() -> Cost:
    """Wall time from the decision to start a job to its first byte."""
    return Cost(of_host(job_start=1.0))


def file_ends(files: float) -> Cost:
    """Wall time to finish output files beyond their data and fsyncs."""
    return Cost(of_host(file_overhead=files))


def deletions(files: float, cached_bytes: float = 0.0, wal_bytes: float = 0.0) -> Cost:
    """Wall time to delete files, of which `cached_bytes` are in the page cache, and write-ahead logs of `wal_bytes`."""
    return Cost(of_host(unlink=files, unlink_byte=cached_bytes, unlink_wal_byte=wal_bytes))

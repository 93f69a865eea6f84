"""CPU time of flushes and compactions, fixed times of jobs, and deletions of files.

CPU times per entry and byte follow RocksDB's own measurements (`compaction_time_cpu_micros`, "Flush lasted … cpu
microseconds"); docs/decisions/0011 explains the CPU time of dropped entries.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from lsmlab.models.costs.cost import Cost, of_host

if TYPE_CHECKING:
    from lsmlab.models.costs.host import Host


def entry_share(entries_in: float, entries_out: float, dropped: float) -> float:
    """Return the CPU time of a job's entries, as a share of the time for the same entries if all were written.

    `dropped`: CPU time of a dropped entry as a share of a written entry (`Host.flush_dropped`,
    `Host.compaction_dropped`).
    """
    kept = min(1.0, entries_out / entries_in) if entries_in else 1.0
    return kept + (1.0 - kept) * dropped


BLOCK_BYTES: Final = 4096.0
"""RocksDB's default size of a data block, with which the constants were measured."""


def counted_bytes(entries: float, raw_bytes: float, block_bytes: float, large: float) -> float:
    """Return the bytes of small entries that take as much CPU time as `raw_bytes` of these entries.

    A data block ends with the entry that fills it, so an entry beyond `block_bytes` is a block of its own: its further bytes
    are only copied and checksummed (`large`: `Host.large_byte`; docs/decisions/0034).
    """
    entry = raw_bytes / entries if entries else 0.0
    return raw_bytes if entry <= block_bytes else entries * (block_bytes + large * (entry - block_bytes))


def relative_byte_time(file_share: float, compression_ratio: float) -> float:
    """Return the CPU time per raw byte of compressed files, relative to that of uncompressed ones.

    `file_share`: share of this time that follows the bytes of files (`Host.flush_file_share`, `Host.compaction_file_share`).
    `compression_ratio`: bytes of data blocks in the files, divided by their raw bytes.
    """
    return 1.0 - file_share * (1.0 - compression_ratio)


def doublings(runs: int) -> float:
    """Return the base-2 logarithm of half the sorted runs of a compaction: levels of the heap in MergingIterator."""
    return math.log2(max(runs, 2) / 2.0)


def flush_cpu(
    host: Host, *, entries_in: float, entries_out: float, raw_bytes: float, block_bytes: float = BLOCK_BYTES,
    compression_ratio: float = 1.0, compress_bytes: float = 0.0, file_bytes: float = 0.0,
) -> Cost:  # fmt: skip
    """Return the CPU time of a flush.

    `raw_bytes`: input bytes of keys and values. `block_bytes`: size of a data block. `compression_ratio`: compressed bytes of the
    output's data blocks, divided by their raw bytes. `compress_bytes`: raw bytes that are compressed, in bytes that LZ4
    compresses in the same time. `file_bytes`: bytes of the output file, which are checksummed.
    """
    share = entry_share(entries_in, entries_out, host.flush_dropped)
    counted = counted_bytes(entries_in, raw_bytes, block_bytes, host.large_byte)
    counted *= relative_byte_time(host.flush_file_share, compression_ratio)
    return Cost(
        of_host(share, flush_record=entries_in, flush_byte=counted),
        of_host(compress_byte=compress_bytes, checksum_byte=file_bytes),
    )


def compaction_cpu(
    host: Host, *, entries_in: float, entries_out: float, raw_bytes: float, block_bytes: float = BLOCK_BYTES, runs: int = 2,
    checked_entries: float = 0.0, compression_ratio: float = 1.0, compress_bytes: float = 0.0, decompress_bytes: float = 0.0,
    file_bytes: float = 0.0, slept_files: float = 0.0,
) -> Cost:  # fmt: skip
    """Return the CPU time of a compaction.

    `raw_bytes`: input bytes of keys and values. `block_bytes`: size of a data block. `runs`: input sorted runs.
    `checked_entries`: entries that the cutter compares with the files of the next level. `compression_ratio`: compressed bytes of
    data blocks, divided by their raw bytes, mean of inputs and outputs. `compress_bytes`, `decompress_bytes`: raw bytes that
    are compressed and decompressed, in bytes for which LZ4 takes the same time. `file_bytes`: bytes of input and output
    files, which are checksummed. `slept_files`: output files during whose fsync the thread sleeps.
    """
    share = entry_share(entries_in, entries_out, host.compaction_dropped)
    counted = counted_bytes(entries_in, raw_bytes, block_bytes, host.large_byte)
    counted *= relative_byte_time(host.compaction_file_share, compression_ratio)
    return Cost(
        of_host(share, compaction_record=entries_in, compaction_byte=counted),
        of_host(doublings(runs), compaction_compare=entries_in),
        of_host(overlap_check=checked_entries),
        of_host(compress_byte=compress_bytes, decompress_byte=decompress_bytes),
        of_host(checksum_byte=file_bytes),
        of_host(cold_start=slept_files),
    )


def job_start() -> Cost:
    """Return the wall time from the decision to start a job to its first byte."""
    return Cost(of_host(job_start=1.0))


def file_ends(files: float) -> Cost:
    """Return the wall time to finish output files, without their data and fsyncs."""
    return Cost(of_host(file_overhead=files))


def deletions(files: float, cached_bytes: float = 0.0, wal_bytes: float = 0.0) -> Cost:
    """Return the wall time to delete files with `cached_bytes` in the page cache and WALs of `wal_bytes`."""
    return Cost(of_host(unlink=files, unlink_byte=cached_bytes, unlink_wal_byte=wal_bytes))

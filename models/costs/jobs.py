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


FLUSH_DROPPED: Final = 0.39
"""CPU time of an entry that a flush drops because its memtable has a newer version, as a share of that of a written entry: the
flush reads and compares it, but builds no output. db_bench 7.8.3, overwrites of 5,000 to 60,000 keys (docs/decisions/0011)."""
COMPACTION_DROPPED: Final = 0.22
"""CPU time of an entry that a compaction drops (overwritten, or a tombstone without data below it), as a share of that of a
written entry: db_bench 7.8.3, deletes and overwrites, +- 0.05 (docs/decisions/0011)."""
_LARGE_BYTE: Final = 0.4
"""CPU time of a job per byte of an entry beyond the size of a data block, as a share of `Host.flush_byte` and
`Host.compaction_byte`: 0.35 for flushes, 0.44 for compactions; db_bench 7.8.3, values of 100 B to 64 KiB
(docs/decisions/0034)."""
_FLUSH_FILE_SHARE: Final = 0.4
"""Share of `Host.flush_byte` that follows the bytes of the file, compressed or not: checksum, copies, write calls
(benchmarks/job_profile.py; docs/decisions/0048)."""
_COMPACTION_FILE_SHARE: Final = 0.6
"""Share of `Host.compaction_byte` that follows the bytes of the input and output files."""
_OVERLAP_CHECK_S: Final = 20e-9
"""CPU time per key of a job whose cutter compares each key with the files of the next level (vLSM's L0 -> L1). Assumption: one
comparison of two short keys in a cache; the vLSM paper gives no number."""
_INPUT_FILE_S: Final = 0.13e-3
"""CPU time to open an input file of a compaction, at a `cpu_speed` of 1 (docs/decisions/0058)."""
_BUFFER_BYTE_S: Final = 0.35e-9
"""CPU time per byte of the readahead buffers of direct reads, at a `cpu_speed` of 1: the kernel maps their pages
(docs/decisions/0059)."""


def entry_share(entries_in: float, entries_out: float, dropped: float) -> float:
    """Return the CPU time of a job's entries, as a share of the time for the same entries if all were written.

    `dropped`: CPU time of a dropped entry as a share of a written entry (`FLUSH_DROPPED`, `COMPACTION_DROPPED`).
    """
    kept = min(1.0, entries_out / entries_in) if entries_in else 1.0
    return kept + (1.0 - kept) * dropped


BLOCK_BYTES: Final = 4096.0
"""RocksDB's default size of a data block, with which the constants were measured."""


def counted_bytes(entries: float, raw_bytes: float, block_bytes: float) -> float:
    """Return the bytes of small entries that take as much CPU time as `raw_bytes` of these entries.

    A data block ends with the entry that fills it, so an entry beyond `block_bytes` is a block of its own: its further bytes
    are only copied and checksummed (docs/decisions/0034).
    """
    entry = raw_bytes / entries if entries else 0.0
    return raw_bytes if entry <= block_bytes else entries * (block_bytes + _LARGE_BYTE * (entry - block_bytes))


def relative_byte_time(file_share: float, compression_ratio: float) -> float:
    """Return the CPU time per raw byte of compressed files, relative to that of uncompressed ones.

    `file_share`: share of this time that follows the bytes of files.
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
    share = entry_share(entries_in, entries_out, FLUSH_DROPPED)
    counted = counted_bytes(entries_in, raw_bytes, block_bytes)
    counted *= relative_byte_time(_FLUSH_FILE_SHARE, compression_ratio)
    return Cost(
        of_host(share, flush_record=entries_in, flush_byte=counted),
        of_host(1.0 / host.cpu_speed, compress_byte=compress_bytes),
        of_host(checksum_byte=file_bytes),
    )


def compaction_cpu(
    host: Host, *, entries_in: float, entries_out: float, raw_bytes: float, block_bytes: float = BLOCK_BYTES, runs: int = 2,
    checked_entries: float = 0.0, compression_ratio: float = 1.0, compress_bytes: float = 0.0, decompress_bytes: float = 0.0,
    file_bytes: float = 0.0, slept_files: float = 0.0, input_files: float = 0.0, buffer_bytes: float = 0.0,
) -> Cost:  # fmt: skip
    """Return the CPU time of a compaction.

    `raw_bytes`: input bytes of keys and values. `block_bytes`: size of a data block. `runs`: input sorted runs.
    `checked_entries`: entries that the cutter compares with the files of the next level. `compression_ratio`: compressed bytes of
    data blocks, divided by their raw bytes, mean of inputs and outputs. `compress_bytes`, `decompress_bytes`: raw bytes that
    are compressed and decompressed, in bytes for which LZ4 takes the same time. `file_bytes`: bytes of input and output
    files, which are checksummed. `slept_files`: output files during whose fsync the thread sleeps. `buffer_bytes`: bytes
    of readahead buffers that direct reads fill, one per sorted run of each subcompaction.
    """
    share = entry_share(entries_in, entries_out, COMPACTION_DROPPED)
    counted = counted_bytes(entries_in, raw_bytes, block_bytes)
    counted *= relative_byte_time(_COMPACTION_FILE_SHARE, compression_ratio)
    return Cost(
        of_host(share, compaction_record=entries_in, compaction_byte=counted),
        of_host(doublings(runs), compaction_compare=entries_in),
        of_host(
            cpu_speed=checked_entries * _OVERLAP_CHECK_S + input_files * _INPUT_FILE_S + buffer_bytes * _BUFFER_BYTE_S
        ),
        of_host(1.0 / host.cpu_speed, compress_byte=compress_bytes, decompress_byte=decompress_bytes),
        of_host(checksum_byte=file_bytes),
        of_host(cold_start=slept_files),
    )


def job_start() -> Cost:
    """Return the wall time from the decision to start a job to its first byte."""
    return Cost(of_host(job_start=1.0))


def file_ends(files: float) -> Cost:
    """Return the wall time to finish output files, without their data and fsyncs."""
    return Cost(of_host(file_overhead=files))


def deletions(files: float, file_bytes: float, wal_bytes: float = 0.0) -> Cost:
    """Return the wall time to delete files: WALs of `wal_bytes` and others of `file_bytes`."""
    return Cost(of_host(unlink=files, unlink_byte=file_bytes, unlink_wal_byte=wal_bytes))

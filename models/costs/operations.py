"""CPU time of one write, point read or scan; serial part of a group commit.

The costs of reads have the same proportions on all machines: geometric means of two virtual machines (benchmarks/read_costs.py;
docs/decisions/0050), for the speed of `host=default`. `Host.read_speed` scales them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lsmlab.models.costs.assertions import asserted
from lsmlab.models.costs.cost import Cost, of_host

if TYPE_CHECKING:
    from lsmlab.models.costs.host import Host

READ_SPREAD: Final = 0.42
"""Standard deviation of the logarithm of the time of an unstalled read without a request to the device: 0.37 to 0.49 in
calibration runs (docs/decisions/0043)."""
WRITE_SERIAL: Final = 0.74
"""Share of a write that only one thread at a time can do (WAL, leadership of the write group): 1.6 us per write with four threads
against 2.15 us with one (behaviour/measurements.md, CPU costs)."""
_WRITE_BYTE_S: Final = 0.35e-9
"""Copy of a byte of key and value into the write batch and the memtable: 0.37 ns on epyc_vm and 0.33 ns on i7_8700k, times their
speeds (docs/decisions/0037)."""
_WAL_BYTE_S: Final = 1.0e-9
"""Append of a byte to the WAL: checksum, two copies, pages of the cache. 1.2 ns up to 4 KB and 0.8 ns beyond on an EPYC of family
26, whose speed is 1.46 (docs/decisions/0037)."""
_READ_S: Final = 0.383e-6
"""Point read without the memtables and files that it searches."""
_MEMTABLE_S: Final = 0.495e-6
"""Search in a memtable of up to 16,384 entries."""
_MEMTABLE_DEPTH_S: Final = 0.607e-6
"""The same per doubling of the entries beyond (`read_depth`)."""
_RUN_S: Final = 0.177e-6
"""Sorted run probed: choice of the file, filter."""
_INDEX_S: Final = 0.336e-6
"""Further time of a probe whose engine finds its filter by an index search, if it searches no block
(`TableReads.index_searches`): benchmarks/leveldb_reads.py; docs/decisions/0040."""
_INDEX_DEPTH_S: Final = 0.280e-6
"""The same per doubling of the searched tables beyond 48 MiB (`index_depth`)."""
_BLOCK_S: Final = 0.523e-6
"""Search in the index and in a block, if at most 2 MiB compete for the processor's caches (`competing_bytes`)."""
_BLOCK_DEPTH_S: Final = 0.262e-6
"""The same per doubling of the tables that compete for the processor's caches (`block_depth`)."""
_CALL_S: Final = 1.12e-6
"""Block that is not in the block cache: system call, copy out of the page cache, checksum."""
_OPEN_S: Final = 37e-6
"""SST file that a read finds closed: system calls, mapping, page faults on footer, index, filter and block; 35 to 46 us with
LevelDB 1.23 on a virtual machine."""
_SCAN_ENTRY_S: Final = 0.3e-6
"""Entry that an iterator passes. Assumption: the CPU time of merging one entry (`Host.compaction_record`)."""

_SHALLOW_BYTES: Final = 2.0**23
"""Size of a memtable up to which the cost of a write hardly depends on it: a search finds most nodes of the skip list in the
processor's caches (docs/decisions/0025); `Host.write_op` is for it."""


def depth(memtable_bytes: float) -> float:
    """Return the doublings of a memtable beyond 8 MiB of keys and values, for writes.

    In a larger memtable, a smaller part of a search path in the skip list is in the processor's caches.
    """
    return max(0.0, math.log2(max(memtable_bytes, 1.0) / _SHALLOW_BYTES))


_SHALLOW_ENTRIES: Final = 2.0**14
"""Entries of a memtable up to which the cost of a read from it hardly depends on them (docs/decisions/0047)."""


def read_depth(memtable_entries: float) -> float:
    """Return the doublings of a memtable beyond 16,384 entries, for reads: they depend on entries, hardly on their bytes."""
    return max(0.0, math.log2(max(memtable_entries, 1.0) / _SHALLOW_ENTRIES))


_SHALLOW_TABLES_BYTES: Final = 48 * 2.0**20
"""Bytes of tables up to which the cost of a search in LevelDB's index hardly depends on them (docs/decisions/0040)."""


def index_depth(tables_bytes: float) -> float:
    """Return the doublings of the tables beyond 48 MiB: of larger indexes, a smaller part is in the processor's caches."""
    return max(0.0, math.log2(max(tables_bytes, 1.0) / _SHALLOW_TABLES_BYTES))


_CACHED_BYTES: Final = 2.0 * 2.0**20
"""Size of a core's second-level cache; up to it, the cost of a search in index and block hardly depends on the bytes of tables
(docs/decisions/0050)."""


def block_depth(competing_bytes: float) -> float:
    """Return the doublings beyond 2 MiB of the bytes of tables that compete for the processor's caches (`competing_bytes`)."""
    return max(0.0, math.log2(max(competing_bytes, 1.0) / _CACHED_BYTES))


def write_cpu(user_bytes: float, *, logged: bool, statistics: bool = False, memtable_bytes: float = 0.0) -> Cost:
    """Return the CPU time of one write by a single client thread, memtable insert included.

    `user_bytes`: bytes of key and value. `logged`: the write goes to the WAL. `statistics`: the store keeps statistics.
    """
    return Cost(
        of_host(write_op=1.0, statistics_op=float(statistics), cpu_speed=user_bytes * _WRITE_BYTE_S),
        of_host(float(logged), wal_op=1.0, cpu_speed=user_bytes * _WAL_BYTE_S),
        of_host(memtable_depth=depth(memtable_bytes)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """Places that one read or scan searches; means over many."""

    memtables: float = 0.0
    """Memtables with entries."""
    doublings: float = 0.0
    """`read_depth` of all memtables."""
    runs: float = 0.0
    """Sorted runs probed."""
    indexes: float = 0.0
    """Indexes searched without a block, before a filter that excludes the key."""
    index_doublings: float = 0.0
    """`index_depth`, summed over these searches."""
    block_doublings: float = 0.0
    """`block_depth`, summed over the searches in data blocks."""
    blocks: float = 0.0
    """Data blocks searched."""
    calls: float = 0.0
    """Blocks that are not in the block cache."""
    requests: float = 0.0
    """Blocks that come from the device."""
    block_bytes: float = 0.0
    """Size of a block on the device."""
    decompress_bytes: float = 0.0
    """Uncompressed size of a block that is compressed, in bytes that LZ4 decompresses in the same time."""
    opens: float = 0.0
    """SST files opened."""


def point_read_cpu(searched: Searched, host: Host) -> Cost:
    """Return the CPU time of one point read (DBImpl::GetImpl: memtables, then Version::Get) on this host's build."""
    memtables_s = searched.memtables * asserted("read_memtable", _MEMTABLE_S, host.assertions)
    read_s = _READ_S + memtables_s + searched.doublings * _MEMTABLE_DEPTH_S + searched.runs * _RUN_S
    read_s += searched.indexes * _INDEX_S + searched.index_doublings * _INDEX_DEPTH_S
    read_s += searched.blocks * _BLOCK_S + searched.block_doublings * _BLOCK_DEPTH_S + searched.calls * _CALL_S
    decompressing = searched.calls * searched.decompress_bytes
    return Cost(
        of_host(read_speed=read_s),
        of_host(cpu_speed=searched.opens * _OPEN_S),
        of_host(searched.calls, checksum_byte=searched.block_bytes),
        of_host(1.0 / host.cpu_speed, decompress_byte=decompressing),
        *block_requests(searched).groups,
    )


def blob_read_cpu(calls: float, requests: float, record_bytes: float, decompress_bytes: float, host: Host) -> Cost:
    """Return the CPU time of reads of blobs: a call, a checksum and a decompression each (BlobFileReader::GetBlob).

    `calls`: blobs that are not in the block cache; `requests`: those that come from the device; `decompress_bytes`: uncompressed
    bytes of a compressed blob, in bytes that LZ4 decompresses in the same time. A call is assumed to cost as that of a block.
    """
    return Cost(
        of_host(read_speed=calls * _CALL_S),
        of_host(calls, checksum_byte=record_bytes),
        of_host(1.0 / host.cpu_speed, decompress_byte=calls * decompress_bytes),
        *blob_requests(requests).groups,
    )


def blob_requests(requests: float) -> Cost:
    """Return the CPU time of the requests of blobs to the device."""
    return Cost(of_host(read_request=requests))


def block_requests(searched: Searched) -> Cost:
    """Return the CPU time of the requests of data blocks to the device."""
    return Cost(of_host(read_request=searched.requests))


def scan_cpu(searched: Searched, host: Host, *, entries: float) -> Cost:
    """Return the CPU time of one scan: a seek in the memtables and in each sorted run, then `entries` steps."""
    entry_s = asserted("scan_entry", _SCAN_ENTRY_S, host.assertions)
    return point_read_cpu(searched, host) + Cost(of_host(cpu_speed=entries * entry_s))


def coreless_share(writers: int, background: float, cores: float) -> float:
    """Return the share, 0 to 1, in which a further core is missing for one of `writers` and `background` threads."""
    return min(1.0, max(0.0, background + writers - cores))


_QUICK_WRITERS: Final = 0.5
"""Writers that join the group after the one with which they were served, per group (benchmarks/synced_writes.py)."""
_NEW_BLOCK: Final = 0.55
"""Further time of an fsync that reaches a new block of the WAL, relative to one that does not: 74 of 134 us on ext4
(benchmarks/synced_writes.py)."""
_BLOCK_BYTES: Final = 4096.0


def synced_group(writers: int) -> float:
    """Return the mean number of synced writes that one fsync of the WAL serves.

    While a write group waits for its fsync, the other writers queue; the next leader takes them all at once
    (WriteThread::EnterAsBatchGroupLeader), before most of those of the first group have called again. So two groups take turns.
    Each has half of the writers and, in every other group, one that was quick (docs/decisions/0042).
    """
    return 1.0 if writers == 1 else (writers + _QUICK_WRITERS) / 2.0


def group_wake_ups(writers: int) -> Cost:
    """Return the time in which the threads of one synced group of `writers` are woken; a single writer wakes no other."""
    return Cost(of_host(group_wake_up=synced_group(writers))) if writers > 1 else Cost()


def wal_fsync_factor(appended_bytes: float) -> float:
    """Return the time of an fsync of the WAL after `appended_bytes`, relative to one that reaches no new block of the file.

    RocksDB allocates the WAL's blocks ahead (PosixWritableFile::Allocate). The first fsync that writes a block also marks its
    extent as written, in further blocks of the journal (docs/decisions/0042).
    """
    return 1.0 + _NEW_BLOCK * min(1.0, appended_bytes / _BLOCK_BYTES)


def group_share(writers: int, coreless: float) -> float:
    """Return the time between two writes of `writers` threads in write groups, divided by the time of one write.

    With a core for each thread, only the serial part of a write (`WRITE_SERIAL`) follows that of the write before. If a
    core is missing (`coreless`), one writer after the other writes alone for a time slice, as a single writer does
    (docs/decisions/0029).
    """
    if writers == 1:
        return 1.0
    return WRITE_SERIAL + (1.0 - WRITE_SERIAL) * coreless


def handover(writers: int) -> Cost:
    """Return the CPU time by which the next of `writers` threads begins its write later than `group_share` says."""
    return Cost(of_host(group_handover=1.0)) if writers > 1 else Cost()

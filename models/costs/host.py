"""Constants of a host: its cores, and what each piece of a store's work costs one of them."""

from __future__ import annotations

from dataclasses import dataclass

from lsmlab.models.costs.prior import estimated
from lsmlab.models.units import quantity


@dataclass(frozen=True, slots=True)
class Host:
    """Cores shared by clients, flushes, compactions and compression; CPU costs per operation, entry and byte.

    A parameter set belongs to a machine; `configs/host/*.yaml` name theirs and the source of each number. All times are
    seconds of one core unless said otherwise. The formulas are in the other files of this room. `lsmlab calibrate`
    estimates the constants that are declared with `estimated`, in this order.
    """

    cores: float = quantity("count", 16, low=0.1)
    write_op: float = estimated("seconds", 2.15e-6, width=0.5)
    """One write by a single client thread: batch, log record, memtable insert."""
    write_byte: float = estimated("seconds", 0.0, width=1.0, start=0.5e-9)
    """Further cost of a write per byte of key and value. Prior: copying at 2 GB/s."""
    write_depth: float = quantity("seconds", 0.0)
    """Further cost of a write for each doubling of its memtable beyond 64 MiB of keys and values (`depth`)."""
    write_serial: float = estimated("ratio", 0.74, width=0.3, high=1.0)
    """Share of a write that only one thread at a time can do (log, group leadership); the rest runs in parallel."""
    write_spread: float = estimated("ratio", 0.45, width=0.5, high=0.8)
    """Standard deviation of the logarithm of an unstalled write's time, which is log-logistic
    (sim/clients/latency.py)."""
    sleep_penalty: float = estimated("seconds", 0.0, width=1.0, start=20e-6)
    """Time that a delayed writer loses after each sleep; RocksDB does not count it as stall. Prior: caches of a core are
    filled again."""
    wal_op: float = estimated("seconds", 0.0, width=1.0, start=2e-6)
    """Further CPU time of one write if it goes to the write-ahead log: a record in the page cache by a system call,
    which is also the prior (behaviour/write-path.md, Write-ahead log)."""
    statistics_op: float = quantity("seconds", 0.0)
    """Further CPU time of one write if the store keeps statistics: tickers and the histogram of write times."""
    read_op: float = estimated("seconds", 1.5e-6, width=0.5)
    """CPU of a point read apart from the files it probes."""
    read_run: float = estimated("seconds", 0.6e-6, width=0.5)
    """CPU per sorted run probed: filter, index search."""
    read_block: float = estimated("seconds", 2.0e-6, width=1.0)
    """CPU per data block searched: checksum, decompression, binary search."""
    read_spread: float = quantity("ratio", 0.45, high=0.8)
    """Standard deviation of the logarithm of an unstalled read's time."""
    table_open: float = quantity("seconds", 37e-6)
    """CPU of opening a table that a read finds closed: system calls, its mapping, faults on footer, index, filter and
    block."""
    scan_entry: float = quantity("seconds", 0.3e-6)
    """CPU per entry that an iterator passes."""
    flush_record: float = estimated("seconds", 0.35e-6, width=0.5)
    """CPU of a flush per entry that it writes."""
    flush_byte: float = estimated("seconds", 1.0e-9, width=0.5)
    """CPU of a flush per byte of key and value."""
    compaction_record: float = estimated("seconds", 0.28e-6, width=0.5)
    """CPU of a compaction per entry that it reads and writes."""
    compaction_byte: float = estimated("seconds", 1.2e-9, width=0.5)
    """CPU of a compaction per byte of key and value."""
    compaction_compare: float = estimated("seconds", 0.0, width=1.0, start=20e-9)
    """Further CPU of a compacted entry for each doubling of the sorted runs beyond two: RocksDB's MergingIterator keeps
    them in a binary heap (table/merging_iterator.cc). Prior: a comparison of two keys that are in a cache."""
    flush_dropped: float = quantity("ratio", 0.39, high=1.0)
    """CPU of an entry that a flush drops, because a newer one of its memtable replaces it, as a share of one that it writes:
    it is read and compared, but nothing is built (docs/decisions/0011)."""
    compaction_dropped: float = quantity("ratio", 0.22, high=1.0)
    """The same of an entry that a compaction drops: overwritten, or a tombstone with nothing below it."""
    checksum_byte: float = quantity("seconds", 0.0)
    """Further CPU per byte that is checksummed, where the store has no instruction for it ("Fast CRC32 supported: Not
    supported" in the LOG): a flush sums what it writes, a compaction checks what it reads besides, a read its blocks."""
    cold_start: float = estimated("seconds", 0.0, width=1.5, start=5e-3)
    """Further CPU of a compaction per output file whose fsync it sleeps through: its caches are cold, its core has clocked
    down, and the kernel has allocated the file's blocks and handed over its pages in the compaction's thread. Prior: half of
    what configs/parameters/xeon_6230 has."""
    overlap_check: float = quantity("seconds", 20e-9)
    """CPU per key of a job whose cutter compares each key with the files below (vLSM's L0 -> L1)."""
    compress_byte: float = quantity("seconds", 2.0e-9)
    """CPU per uncompressed byte written, when the store compresses."""
    decompress_byte: float = quantity("seconds", 0.7e-9)
    """CPU per uncompressed byte read, when the store compresses."""
    job_start: float = estimated("seconds", 4e-3, width=1.5)
    """Wall time from the decision to start a job to its first byte."""
    file_overhead: float = estimated("seconds", 2e-3, width=1.0)
    """Wall time to finish an output file beyond its data: metadata fsync, reopening."""
    unlink: float = estimated("seconds", 0.1e-3, width=2.0)
    """Wall time to delete one input file, without its pages in memory."""
    unlink_byte: float = quantity("seconds", 1.0e-10)
    """Further time per byte of a deleted file that is in the page cache: its pages are freed one by one."""
    unlink_wal_byte: float = quantity("seconds", 2.5e-10)
    """The same of a deleted write-ahead log, whose pages are dirty. The flush keeps its slot meanwhile."""
    switch: float = quantity("seconds", 0.3e-3)
    """Wall time for which a memtable switch holds the write group leader."""
    sleep_step: float = estimated("seconds", 1.06e-3, width=0.1)
    """Length of one sleep of a delayed writer: 1.001 ms asked for, plus timer slack
    (behaviour/measurements.md, Sleeps of delayed writers)."""
    core_contention: float = estimated("ratio", 0.0, width=1.0, start=0.1, high=1.0)
    """By how much each further running thread makes the work of all longer: clock, caches and memory are shared."""
    time_slice: float = estimated("seconds", 3e-3, width=0.5)
    """How long a thread waits for a core where all are taken: a client's for up to as long, a job's that slept for a request
    as long each time."""
    interrupt_every: float = estimated("seconds", 0.0, width=1.5, start=4e-3)
    """Computing between two interruptions of a client's thread by the kernel or the hypervisor; 0: there are none. Prior: a
    timer tick (HZ = 250) that leaves the virtual machine."""
    interrupt: float = estimated("seconds", 0.0, width=1.0, start=20e-6)
    """How long such an interruption holds it up, on average."""
    dirty_expire: float = quantity("seconds", 30.0)
    """Age at which the kernel writes dirty pages back (vm.dirty_expire_centisecs = 3000)."""

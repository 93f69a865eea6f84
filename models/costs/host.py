"""Constants of a host, with their priors: its cores, and the CPU time of each operation of a store."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lsmlab.models.units import quantity

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Prior(NamedTuple):
    """Log-normal prior of a constant: its value and spread from machine to machine, before a fit uses any measurement."""

    value: float
    """Median in base units."""
    width: float
    """Standard deviation of the logarithm."""
    high: float = math.inf
    """Largest value."""


def estimated(
    kind: str, default: float, *, width: float, start: float | None = None, low: float = 0.0, high: float = math.inf,
    submodel: str = "",
) -> Any:  # fmt: skip
    """Declare a constant that fits estimate: a quantity of `kind` (`lsmlab.models.units.quantity`) with a prior.

    `width`: standard deviation of the logarithm, from machine to machine. `start`: median of the prior if the default
    is 0; a default of 0 disables the constant in a run. `submodel`: name of the sub-model to which the constant belongs.
    """
    prior = Prior(default if start is None else start, width, high)
    return quantity(kind, default, low=low, high=high, submodel=submodel, prior=prior)


def priors_of(cls: type[DataclassInstance]) -> dict[str, Prior]:
    """Return the priors of the constants of `cls` that were declared with `estimated`, in the order of its fields."""
    return {f.name: f.metadata["prior"] for f in fields(cls) if f.default is not MISSING and "prior" in f.metadata}


@dataclass(frozen=True, slots=True)
class Host:
    """Cores shared by clients, flushes, compactions and compression; CPU costs per operation, entry and byte.

    Each machine has a parameter set; `configs/host/*.yaml` name the set and give the source of each number. All times
    are seconds of one core, unless a constant says wall time. The formulas are in the other files of this package, with the
    costs that all machines have in the same proportions: `cpu_speed` and `read_speed` scale them.
    `lsmlab calibrate` estimates the constants that are declared with `estimated`, in this order. Those with a `submodel`
    belong to a sub-model (`lsmlab.models.units.submodels_of`).
    """

    cores: float = quantity("count", 16, low=0.1)
    cpu_speed: float = quantity("ratio", 1.0, low=1e-3)
    """Speed of a core in codecs, scans, opening of files and the bytes of a put, relative to `host=default`: the CPU time of a
    compacted entry there, divided by that on this machine (`entry_speed`)."""
    read_speed: float = estimated("ratio", 1.0, width=0.5, low=1e-3)
    """Speed of a core in point reads and seeks (`models/costs/operations.py`), relative to `host=default`. Where no run reads
    from a cache, it is `cpu_speed`."""
    write_op: float = estimated("seconds", 0.75e-6, width=0.5, low=1e-9)
    """CPU time of one write by a single client thread, without its bytes and the WAL: write batch, memtable insert."""
    memtable_depth: float = estimated("seconds", 0.35e-6, width=0.5)
    """Further CPU time of a search in a memtable per doubling beyond 8 MiB of keys and values (`depth`): every write searches
    the active memtable, every read all memtables."""
    wal_op: float = estimated("seconds", 0.84e-6, width=1.0)
    """Further CPU time of one write if it goes to the WAL: a system call writes the record into the page cache
    (behaviour/write-path.md, Write-ahead log). Its share of a write: docs/decisions/0037."""
    read_request: float = estimated("seconds", 5e-6, width=1.0)
    """Further CPU time per block that comes from the device: block layer, interrupt, two switches of the thread."""
    flush_record: float = estimated("seconds", 0.35e-6, width=0.5)
    """CPU time of a flush per entry that it writes."""
    flush_byte: float = estimated("seconds", 1.0e-9, width=0.5)
    """CPU time of a flush per byte of key and value, without compression."""
    compaction_record: float = estimated("seconds", 0.28e-6, width=0.5)
    """CPU time of a compaction per entry that it reads and writes."""
    compaction_byte: float = estimated("seconds", 1.14e-9, width=0.5)
    """CPU time of a compaction per byte of key and value, without compression."""
    compaction_compare: float = estimated("seconds", 0.0, width=1.0, start=20e-9)
    """Further CPU time of a compacted entry per doubling of the input sorted runs beyond two: RocksDB's MergingIterator
    keeps the runs in a binary heap (table/merging_iterator.cc). Prior: comparison of two keys in a cache."""
    compress_byte: float = quantity("seconds", 0.8e-9)
    """CPU time of LZ4 per uncompressed byte of a block that a job compresses, at a `cpu_speed` of 1 (`CODECS` has the other
    codecs)."""
    decompress_byte: float = quantity("seconds", 0.2e-9)
    """CPU time of LZ4 per uncompressed byte of a block that a job or a read decompresses, at a `cpu_speed` of 1."""
    job_start: float = quantity("seconds", 0.4e-3)
    """Wall time from the decision to start a job to its first byte. Prediction does not gain by a value of each machine
    (docs/decisions/0056)."""
    file_overhead: float = estimated("seconds", 0.35e-3, width=1.0)
    """Wall time to finish an output file beyond its data: metadata fsync, reopening."""
    unlink: float = quantity("seconds", 0.15e-3)
    """Wall time to delete an empty file."""
    unlink_byte: float = quantity("seconds", 1.0e-10)
    """Further wall time per byte of a deleted file, whose extents the file system frees, whether its pages are in the page cache
    or not."""
    unlink_wal_byte: float = quantity("seconds", 2.5e-10)
    """Further wall time per byte of a deleted WAL, whose pages are dirty. The flush keeps its job slot during this
    time."""
    sleep_step: float = estimated("seconds", 1.06e-3, width=0.1)
    """Wall time of one sleep of a delayed writer: 1.001 ms requested, plus timer slack
    (behaviour/measurements.md, Sleeps of delayed writers)."""
    time_slice: float = estimated("seconds", 3e-3, width=0.5)
    """Wall time of a scheduler time slice. While all cores are taken, a client thread waits up to one time slice for a
    core; a job's thread waits one time slice after each request during which it slept."""
    dirty_expire: float = quantity("seconds", 30.0)
    """Age in seconds at which the kernel writes back dirty pages (vm.dirty_expire_centisecs = 3000)."""
    core_contention: float = quantity("ratio", 0.0, high=1.0, submodel="core_contention")
    """Relative increase of every thread's CPU time per further running thread: clock, caches and memory are shared. Known of a
    machine with 40 hardware threads; on five machines with two cores each no fit gains by it (docs/decisions/0056)."""
    assertions: float = quantity("ratio", 0.0, high=1.0, submodel="assertions")
    """1 if RocksDB is built with assertions, as Debian's is ("Assertions are enabled" in the output of db_bench), 0 for a release
    build. The other constants are CPU times of a release build; assertions multiply some of them (models/costs/assertions.py)."""
    statistics_op: float = quantity("seconds", 0.0, submodel="statistics")
    """Further CPU time of one write if the store keeps statistics: tickers and the histogram of write times."""
    checksum_byte: float = quantity("seconds", 0.0, submodel="software_crc")
    """Further CPU time per checksummed byte, if the store does not use the processor's CRC32 instruction ("Fast CRC32
    supported: Not supported" in the LOG). A flush checksums its output, a compaction its input and output, a read its
    blocks."""
    cold_start: float = estimated("seconds", 0.0, width=1.5, start=5e-3, submodel="cold_caches")
    """Further CPU time of a compaction per output file during whose fsync its thread sleeps. After the sleep, the
    thread's caches are cold and the clock of its core is low. In the fsync, the kernel allocates the file's blocks and
    submits its pages in this thread. Prior: half the value in configs/parameters/xeon_6230. A writer loses the same time after a
    write stop (docs/decisions/0039)."""
    client_wake_up: float = quantity("seconds", 120e-6, submodel="wake_ups")
    """Mean wait of a client thread for a core when it wakes up from a device request or an fsync and no core is free. Most
    often it preempts a running thread at once; else it waits for `late_wake_up` (docs/decisions/0043)."""
    late_wake_up: float = quantity("seconds", 0.84e-3, submodel="wake_ups")
    """Wait of a client thread that wakes up and does not preempt a running thread: the rest of that thread's slice.
    Mean latency of reads of 0.38 to 4.4 ms in two calibration runs, less that of usual reads (docs/decisions/0043)."""
    group_wake_up: float = quantity("seconds", 13e-6, submodel="wake_ups")
    """Wall time of a synced write group per writer: the leader wakes the writers of its group and the next leader one after the
    other (WriteThread::ExitAsBatchGroupLeader)."""
    group_handover: float = estimated("seconds", 0.7e-6, width=0.7, submodel="wake_ups")
    """Further CPU time of a write among several writers: the next one gets the write group on another core, and the others
    spin until then (WriteThread::AwaitState). 0.4 us on a virtual machine of an EPYC, 1.2 us on one of a Xeon
    (docs/decisions/0057)."""
    interrupt_every: float = estimated("seconds", 0.0, width=1.5, start=4e-3, submodel="interrupts")
    """CPU time of a client thread between two interruptions by the kernel or the hypervisor; 0: no interruptions.
    Prior: a timer tick (HZ = 250) that causes an exit from the virtual machine."""
    interrupt: float = estimated("seconds", 0.0, width=1.0, start=20e-6, submodel="interrupts")
    """Mean wall time of one interruption (`interrupt_every`)."""


_ENTRY_BYTES: Final = 1016.0
"""Bytes of key and value of the compacted entry by which cores are compared."""


def entry_speed(host: Host) -> float:
    """Return the speed of a core relative to `host=default`, by the CPU time of a compacted entry of 1016 bytes."""
    usual = Host()
    reference_s = usual.compaction_record + _ENTRY_BYTES * usual.compaction_byte
    return reference_s / (host.compaction_record + _ENTRY_BYTES * host.compaction_byte)

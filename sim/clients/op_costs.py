"""Costs of operations on the present trees and memtables, whatever shares of the machine they get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, NamedTuple

from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import write_cpu
from lsmlab.models.devices.capped import SYNC_WRITES
from lsmlab.sim.clients.group import READ, WRITE, ClientGroup
from lsmlab.sim.store.write_shape import WriteShape

_NO_READS_BYTES: Final = 4096.0
"""Block size of clients that do not read; its value has no effect."""


@dataclass(frozen=True, slots=True)
class ReadCost:
    """Cost of one read on the present trees."""

    cpu_s: float = 0.0
    """CPU time, that of its requests included."""
    request_cpu_s: float = 0.0
    """Part of `cpu_s` for requests of data blocks to the device."""
    device_reads: float = 0.0
    """Mean requests to the device: single blocks, or several blocks that a scan reads ahead."""
    device_bytes: float = 0.0
    """Bytes of these requests."""
    memory_share: float = 1.0
    """Share of reads without a request to the device."""
    blocks: float = 0.0
    """Mean number of data blocks that it searches, in memory or from the device."""
    cold_reads: float = 0.0
    """Part of `device_reads` that goes to `cold_device`."""
    cold_bytes: float = 0.0
    """Bytes of these requests; part of `device_bytes`."""

    def by_device(self, warm_share: float) -> list[tuple[float, ReadCost]]:
        """Return (share, cost) of reads without and with requests to `cold_device`, which take other times.

        `warm_share`: share of the reads without one.
        """
        if self.cold_reads <= 0.0 or warm_share >= 1.0:
            return [(1.0, self)]
        warm_reads = self.device_reads - self.cold_reads
        other_s = self.cpu_s - self.request_cpu_s
        request_s = self.request_cpu_s / self.device_reads
        cold = 1.0 - warm_share
        cold_reads, cold_bytes = self.cold_reads / cold, self.cold_bytes / cold
        warm = replace(
            self, cpu_s=other_s + warm_reads * request_s, request_cpu_s=warm_reads * request_s, device_reads=warm_reads,
            device_bytes=self.device_bytes - self.cold_bytes, cold_reads=0.0, cold_bytes=0.0,
            memory_share=min(1.0, self.memory_share / warm_share) if warm_share > 0.0 else 0.0,
        )  # fmt: skip
        with_cold = replace(
            self, cpu_s=other_s + (warm_reads + cold_reads) * request_s, request_cpu_s=(warm_reads + cold_reads) * request_s,
            device_reads=warm_reads + cold_reads, device_bytes=self.device_bytes - self.cold_bytes + cold_bytes,
            cold_reads=cold_reads, cold_bytes=cold_bytes, memory_share=0.0,
        )  # fmt: skip
        return [(warm_share, warm), (cold, with_cold)] if warm_share > 0.0 else [(1.0, with_cold)]


ReadClasses = Sequence[tuple[float, ReadCost]]
"""(share of the reads, cost) of classes of reads that take different times: of scans by length, or of column families. Shares
sum to 1."""


def mean_cost(classes: ReadClasses) -> ReadCost:
    """Return the mean cost of reads of several classes; without classes, that of no read."""
    if not classes:
        return ReadCost()
    return ReadCost(
        **{f.name: sum(share * getattr(cost, f.name) for share, cost in classes) for f in fields(ReadCost)}
    )


class OpCosts(NamedTuple):
    """What operations cost on the present trees and memtables, whatever the machine gives them."""

    host: Host
    shape: WriteShape
    write_cpu_s: float
    """CPU time of one write to a memtable, and to the WAL if there is one."""
    sync_writes: int = 0
    """Small writes of the fsync for which a write waits; 0: writes do not wait for one."""
    read_classes: Sequence[ReadClasses] = ()
    """Costs of point reads and of scans; empty if clients do not read."""
    read_costs: Sequence[ReadCost] = ()
    """Their means."""
    block_bytes: float = _NO_READS_BYTES
    """Device bytes of one block read of a client."""

    @classmethod
    def of(
        cls, host: Host, shape: WriteShape, memtable_entries: float, *, synced: bool, reads: Sequence[ReadClasses] = (),
        block_bytes: float = _NO_READS_BYTES,
    ) -> OpCosts:  # fmt: skip
        """Return the costs.

        `memtable_entries`: mean number of writes that fill a memtable. `synced`: a write waits for the fsync of the WAL. `reads`:
        classes of point reads and of scans.
        """
        costs = cls(host, shape, write_cpu_s(host, shape, memtable_entries), SYNC_WRITES if synced else 0)
        return costs.with_reads(reads, block_bytes)

    def with_reads(self, reads: Sequence[ReadClasses], block_bytes: float) -> OpCosts:
        """Return the costs with those of reads on the present trees."""
        return OpCosts(*self[:4], reads, [mean_cost(classes) for classes in reads], block_bytes)

    def cpu_s(self, kind: int) -> float:
        """Return the CPU time of one operation."""
        return self.write_cpu_s if kind == WRITE else self.read_cost(kind).cpu_s

    def read_cost(self, kind: int) -> ReadCost:
        """Return the mean cost of a read or scan."""
        return self.read_costs[kind - READ]

    def client_s(self, group: ClientGroup) -> float:
        """Return the CPU time that a client spends outside the database per operation."""
        return group.spec.client_work * self.host.write_op


def write_cpu_s(host: Host, shape: WriteShape, entries: float) -> float:
    """Return the CPU time of one write to a memtable that is full with this number of entries."""
    size = entries * shape.user_bytes
    logged = shape.wal_bytes > 0.0
    return write_cpu(shape.user_bytes, logged=logged, statistics=shape.statistics, memtable_bytes=size).seconds(host)

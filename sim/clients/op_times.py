"""How long one client operation takes that waits for no stall: its mean, and the parts that are far apart.

Means follow from what a thread gets of a core (`CoreStation.share`). But a thread does not advance at a fraction of its
speed: it computes at full speed, is now and then interrupted, and when more threads can run than there are cores it
stands still for up to a time slice of the scheduler. So the same mean is made of many short operations and a few long
ones (Linux kernel/sched/fair.c; db_bench's histograms on two busy cores have nothing between 0.2 and 0.9 ms and
thousands of writes from there to 3 ms).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from lsmlab.models.costs.cores import excess, mean_wait_s, slowdown
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import coreless_leader, serial_share, switch_s, write_cpu
from lsmlab.models.sums import float_sum
from lsmlab.sim.clients.filling import Filling
from lsmlab.sim.clients.group import READ, WRITE, Group
from lsmlab.sim.clients.latency import Unstalled
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.store.write_shape import WriteShape

if TYPE_CHECKING:
    from lsmlab.sim.clients.family_reads import FamilyReads
    from lsmlab.sim.clients.reads import ReadCost

Parts = list[tuple[float, float]]
"""(share of the operations, their mean time in seconds)."""

_NO_READS_BYTES: Final = 4096.0
"""Of clients that do not read: any size does."""
_RARE: Final = 0.5
"""Operations of which more than this share are interrupted or lose their core are long: for them the mean says it all."""


class OpTimes:
    """Times of writes, point reads and scans (`kind`: WRITE, READ or SCAN) on the machine as it is now."""

    def __init__(
        self, machine: Machine, shape: WriteShape, filling: Filling, reads: FamilyReads | None, sync_s: float
    ) -> None:
        """`sync_s`: wait of a write for the log's fsync."""
        self._machine = machine
        self._host: Host = machine.host
        self._filling = filling
        self._reads = reads
        self._read_costs: Sequence[ReadCost] = ()
        self.sync_s = sync_s
        host = machine.host
        self._shape = shape
        self._write_cpu_s = self._write_into(0.0)
        """Of a memtable whose size does not matter."""
        self._square_ratios = [
            1.0 + Unstalled(1.0, 1.0, spread).variation for spread in (host.write_spread, host.read_spread)
        ]
        """Mean square of a write's and a read's time by the square of its mean."""

    def cpu_s(self, kind: int) -> float:
        """Core time of one operation; of a write: into the memtable, and into the log if there is one."""
        if kind != WRITE:
            return self.read_cost(kind).cpu_s
        if self._host.write_depth == 0.0:
            return self._write_cpu_s
        return self._write_into(self._filling.entries * self._shape.user_bytes)

    def _write_into(self, memtable_bytes: float) -> float:
        """CPU time of one write into a memtable of this size."""
        shape, logged = self._shape, self._shape.wal_bytes > 0.0
        cost = write_cpu(shape.user_bytes, logged=logged, statistics=shape.statistics, memtable_bytes=memtable_bytes)
        return cost.seconds(self._host)

    def look(self) -> None:
        """See what reads cost on the trees as they are; all answers go by that until the next look."""
        if self._reads is not None:
            self._read_costs = self._reads.costs()

    def read_cost(self, kind: int) -> ReadCost:
        """What a read or scan costs, as of the last look."""
        return self._read_costs[kind - READ]

    @property
    def reads(self) -> bool:
        """Whether clients read."""
        return self._reads is not None

    @property
    def block_bytes(self) -> float:
        """Bytes that a client's read of a block costs the device."""
        return self._reads.block_bytes if self._reads is not None else _NO_READS_BYTES

    def mean_s(self, kind: int) -> float:
        """Mean time of one operation in the store."""
        return self.cpu_s(kind) / self._machine.cores.share + self._fixed_s(kind)

    def client_s(self, group: Group) -> float:
        """Core time that a client spends outside the store."""
        return group.spec.client_work * self._host.write_op

    def _fixed_s(self, kind: int) -> float:
        """What does not depend on the cores."""
        if kind == WRITE:
            return switch_s(self._host, self._filling.entries) + self.sync_s
        return self.read_cost(kind).device_reads * self._machine.device.grant.client_read_latency_s

    def capacity(self, group: Group) -> float:
        """Operations per second with nothing in the way but the machine."""
        if group.finished:
            return 1.0
        mean_s = float_sum(share * self.mean_s(kind) for kind, share in group.kinds)
        mean_s += self.client_s(group) / self._machine.cores.share
        capacity = group.spec.threads / mean_s
        if group.write_share > 0.0:
            # one fsync serves all writers of a group, so it costs each thread its time but is no serial part
            serial_s = self.mean_s(WRITE) - self.sync_s
            writers = group.spec.threads
            if writers > 1:
                cores, serial = self._machine.cores, self._host.write_serial
                serial_s *= serial_share(serial, writers) * coreless_leader(serial, writers, cores.background, cores.cores)
            capacity = min(capacity, 1.0 / (serial_s * group.write_share))
        return capacity

    def parts(self, kind: int, group: Group) -> Parts:
        """The operation's parts: with and without the device, unstalled, interrupted, and waiting for a core."""
        computing = self._computing(self.cpu_s(kind) + self.client_s(group), group)
        found: Parts = []
        for away, fixed_s in self._places(kind):
            found += [(away * share, fixed_s + time_s) for share, time_s in computing if away * share > 0.0]
        return found

    def residual_s(self, group: Group) -> float:
        """What is left of an operation in progress, seen from outside: E[S^2] / 2 E[S] over all kinds, as in `group.times`.

        Whoever finds all threads busy waits for operations of every kind, a write behind reads as well.
        """
        mean_s = square = 0.0
        for (kind, share), parts in zip(group.kinds, group.times, strict=True):
            square_ratio = self._square_ratios[min(kind, 1)]
            for part, part_s in parts:
                mean_s += share * part * part_s
                square += share * part * part_s * part_s * square_ratio
        return square / (2.0 * mean_s) if mean_s > 0.0 else 0.0

    def _places(self, kind: int) -> Parts:
        """(share, time beyond computing): reads that need the device and reads that do not are far apart."""
        fixed_s = self._fixed_s(kind)
        away = 1.0 if kind == WRITE else 1.0 - self.read_cost(kind).memory_share
        return [(1.0 - away, 0.0), (away, fixed_s / away)] if away > 0.0 else [(1.0, 0.0)]

    def _computing(self, cpu_s: float, group: Group) -> Parts:
        """`cpu_s` of core time of one thread of `group`: at full speed, interrupted, and waiting for a core."""
        host, cores = self._host, self._machine.cores
        wanted = cores.wanted
        if group.closed and group.limit_per_s < group.capacity:
            # it runs in bursts, one per refill of its limit: while it does, its threads are there as a whole
            wanted += group.spec.threads - min(group.spec.threads, group.runnable)
        alone_s = cpu_s * slowdown(wanted, cores.cores, host.core_contention)
        waiting_s = alone_s * excess(wanted, cores.cores)
        wait_s = mean_wait_s(wanted, cores.cores, host.time_slice)
        waiting = waiting_s / wait_s if wait_s > 0.0 else 1.0
        interrupted = alone_s / host.interrupt_every if host.interrupt_every > 0.0 else 0.0
        if waiting > _RARE or interrupted > _RARE:
            return [(1.0, alone_s + waiting_s)]
        alone_s -= interrupted * host.interrupt
        return [
            (1.0 - interrupted - waiting, alone_s),
            (interrupted, alone_s + host.interrupt),
            (waiting, alone_s + wait_s),
        ]

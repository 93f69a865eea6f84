"""Times of unstalled client operations: their mean, and its split into classes of very different length.

The mean follows from the share of a core that a thread gets (`CoreStation.share`). But a thread does not run at a
fraction of its speed all the time: it computes at full speed, is interrupted now and then, and waits up to one time slice
of the scheduler when more threads are runnable than there are cores. The mean is therefore made of many short operations
and a few long ones (Linux kernel/sched/fair.c). Example: db_bench's histograms on two busy cores contain no write between
0.2 and 0.9 ms and thousands of writes from 0.9 to 3 ms.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from lsmlab.models.costs.cores import client_wake_up, excess, mean_wait_s, slowdown
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import (
    READ_SPREAD,
    coreless_share,
    group_share,
    group_wake_ups,
    handover,
    synced_group,
    wal_fsync_factor,
)
from lsmlab.sim.clients.group import READ, WRITE, ClientGroup
from lsmlab.sim.clients.latency import Unstalled, spread_of
from lsmlab.sim.clients.op_costs import OpCosts, ReadCost
from lsmlab.sim.machine.machine import MachineShares

TimeParts = list[tuple[float, float]]
"""(share of the operations, mean time in seconds) of each class of operations."""
Classes = list[tuple[float, float, float]]
"""The same, and the standard deviation of the logarithm of the time."""

_WRITE_SPREAD: Final = 0.45
"""Standard deviation of the logarithm of the latency of an unstalled write, which is log-logistic (sim/clients/latency.py):
0.35 to 0.50 on five machines. Prediction does not gain by a value of each (docs/decisions/0056)."""
_DEVICE_READ_SPREAD: Final = 0.28
"""The same of an unstalled read with a request to the device: 0.18 to 0.37 in calibration runs (docs/decisions/0043, 0056)."""
_LATE_SPREAD: Final = 0.5
"""Standard deviation of the logarithm of the latency of reads that waited for a core (`Host.late_wake_up`): 0.46 to 0.58 in two
calibration runs."""
_RARE: Final = 0.5
"""Largest share of interrupted operations, or of operations that wait for a core, for which they form a class of their own;
above it, all operations form one class with the mean time."""


class OpTimes(NamedTuple):
    """Times of writes, point reads and scans (`kind`: WRITE, READ or SCAN) with the clients' shares of the machine."""

    costs: OpCosts
    shares: MachineShares

    @property
    def _host(self) -> Host:
        return self.costs.host

    @property
    def sync_s(self) -> float:
        """Return the wait of a write for an fsync of the WAL by its writer alone, in s."""
        return self._fsync_s(1.0) if self.costs.sync_writes else 0.0

    def _fsync_s(self, writes: float) -> float:
        """Return the wait for an fsync of the WAL after `writes`, with the wake-ups after it."""
        alone_s = self.shares.fsync_s * wal_fsync_factor(writes * self.costs.shape.wal_bytes)
        return alone_s + self.costs.sync_writes * self.shares.queued_s + self._wake_ups_s(self.costs.sync_writes)

    def _group_s(self, writers: int) -> float:
        """Return the time per write that `writers` in a closed loop spend on their groups: handover, or fsync of the WAL."""
        if not self.costs.sync_writes:
            return handover(writers).seconds(self._host) / self.shares.core_share
        size, waking_s = synced_group(writers), group_wake_ups(writers).seconds(self._host)
        return (self._fsync_s(size) + waking_s) / size

    def mean_s(self, kind: int) -> float:
        """Return the mean time of one operation in the database, without stalls."""
        return self.costs.cpu_s(kind) / self.shares.core_share + self._fixed_s(kind)

    def _fixed_s(self, kind: int) -> float:
        """Return the mean time per operation that does not depend on the cores: fsync or device reads."""
        return self.sync_s if kind == WRITE else self._reading_s(self.costs.read_cost(kind))

    def _reading_s(self, cost: ReadCost) -> float:
        """Return the mean time of a read in requests to the device, with the wake-ups after them."""
        requests, shares = cost.device_reads, self.shares
        time_s = requests * shares.read_latency_s + self._wake_ups_s(requests)
        return time_s + cost.cold_reads * (shares.cold_latency_s - shares.read_latency_s) if cost.cold_reads else time_s

    def _wake_ups_s(self, sleeps: float) -> float:
        """Return the mean time that a thread waits for a core in an operation, after its `sleeps` on the device."""
        if sleeps == 0.0 or (taken := self.shares.busy_probability) == 0.0:
            return 0.0
        return client_wake_up(taken * sleeps).seconds(self._host)

    def capacity(self, group: ClientGroup) -> float:
        """Return the operations per second that the machine allows without stalls."""
        if group.finished:
            return 1.0
        capacity = group.spec.threads / self._own_s(group)
        if group.write_share > 0.0:
            serial_s = self.mean_s(WRITE) - self.sync_s
            serial_s *= group_share(group.spec.threads, self._coreless(group))
            serial_s += self._group_s(group.spec.threads)
            capacity = min(capacity, 1.0 / (serial_s * group.write_share))
        return capacity

    def _own_s(self, group: ClientGroup) -> float:
        """Return the mean time of an operation, without stalls and without the waits of writers for each other."""
        mean_s = sum(share * self.mean_s(kind) for kind, share in group.kinds)
        return mean_s + self.costs.client_s(group) / self.shares.core_share

    def _coreless(self, group: ClientGroup) -> float:
        return coreless_share(group.spec.threads, self.shares.background, self.shares.cores)

    def _behind_s(self, group: ClientGroup) -> float:
        """Return the mean wait of a write for the other writers of a closed loop at full speed (Little's law)."""
        if group.spec.threads == 1 or not group.closed or group.limit_per_s < group.capacity or group.finished:
            return 0.0
        return max(0.0, group.spec.threads / group.capacity - self._own_s(group)) / group.write_share

    def parts(self, kind: int, group: ClientGroup) -> Classes:
        """Return the classes of an operation."""
        return self._write_parts(group) if kind == WRITE else self._read_parts(kind, group)

    def _write_parts(self, group: ClientGroup) -> Classes:
        """Return the classes of a write: every class of `_computing`, without and with the time of `_places`."""
        computing = self._computing(self.costs.cpu_s(WRITE) + self.costs.client_s(group), group)
        syncs = self.costs.sync_writes
        places = self._places(float(syncs > 0), self.sync_s, self._wake_ups_s(syncs))
        classes = [
            (share * part, fixed_s + time_s)
            for share, fixed_s in places
            for part, time_s in computing
            if share * part > 0.0
        ]
        if (behind_s := self._behind_s(group)) > 0.0:
            classes = self._with_waits(classes, behind_s, self._coreless(group))
        return [(share, time_s, _WRITE_SPREAD) for share, time_s in classes]

    def _read_parts(self, kind: int, group: ClientGroup) -> Classes:
        """Return the classes of a read or scan: without a request to the device (the first of `_places`), and with one."""
        classes: Classes = []
        for reads, cost in self.costs.read_classes[kind - READ]:
            search_s = cost.cpu_s - cost.request_cpu_s + self.costs.client_s(group)
            late_s = self._wake_ups_s(cost.device_reads)
            (memory, _), *away = self._places(1.0 - cost.memory_share, self._reading_s(cost), late_s)
            if memory > 0.0:
                share, spread = reads * memory, READ_SPREAD
                classes += [(share * part, time_s, spread) for part, time_s in self._computing(search_s, group) if part > 0.0]
            if away:
                computing = self._computing(search_s + cost.request_cpu_s / (1.0 - cost.memory_share), group)
                for (share, fixed_s), spread in zip(away, (_DEVICE_READ_SPREAD, _LATE_SPREAD), strict=False):
                    classes += [(reads * share * part, fixed_s + time_s, spread) for part, time_s in computing if part > 0.0]
        return _multigets(classes, group.spec.read_batch) if kind == READ else classes

    def _with_waits(self, classes: TimeParts, behind_s: float, coreless: float) -> TimeParts:
        """Add the waits of writes for other writers, `behind_s` per write.

        With a core for each writer, every write waits for the few before it, and a synced write for the fsync of another group.
        Where a core is missing (`coreless`), few writes wait, each for the time slice in which another writer writes alone.
        """
        if self.costs.sync_writes:
            return [(share, time_s + behind_s) for share, time_s in classes]
        slices = coreless * behind_s / self._host.time_slice if self._host.time_slice > 0.0 else 1.0
        if slices > _RARE:
            return [(share, time_s + behind_s) for share, time_s in classes]
        short_s = (1.0 - coreless) * behind_s
        mean_s = sum(share * time_s for share, time_s in classes)
        waited = [((1.0 - slices) * share, time_s + short_s) for share, time_s in classes]
        return [*waited, (slices, mean_s + short_s + self._host.time_slice)] if slices > 0.0 else waited

    def residual_s(self, group: ClientGroup) -> float:
        """Return the mean residual time of an operation in progress at an arrival: E[S^2] / (2 E[S]), S from `group.times`.

        The mean is over all kinds of operation: an arrival that finds all threads busy waits for operations of any kind.
        """
        mean_s = square = 0.0
        for (_, share), parts in zip(group.kinds, group.times, strict=True):
            for part, part_s, spread in parts:
                mean_s += share * part * part_s
                square += share * part * part_s * part_s * _square_ratio(spread)
        return square / (2.0 * mean_s) if mean_s > 0.0 else 0.0

    def _places(self, away: float, fixed_s: float, late_s: float) -> TimeParts:
        """Return (share, time besides CPU time): operations without such time (device, fsync), then with it.

        Operations that also wait for a core come third; there are few of them. `away`: share of operations with such time;
        `fixed_s`: its mean over all operations; `late_s`: the part of it that is spent waiting for a core.
        """
        wait_s = self._host.late_wake_up
        if away <= 0.0:
            return [(1.0, 0.0)]
        late = late_s / wait_s if wait_s > 0.0 else 0.0
        if not 0.0 < late < _RARE * away:
            return [(1.0 - away, 0.0), (away, fixed_s / away)]
        prompt_s = (fixed_s - late * wait_s) / away
        return [(1.0 - away, 0.0), (away - late, prompt_s), (late, prompt_s + wait_s)]

    def _computing(self, cpu_s: float, group: ClientGroup) -> TimeParts:
        """Return the classes of operations with `cpu_s` of CPU time: uninterrupted, interrupted, and waiting for a core."""
        host, cores, wanted = self._host, self.shares.cores, self.shares.runnable
        if group.closed and group.limit_per_s < group.capacity:
            # a rate-limited closed loop runs in bursts, one per refill: during a burst all its threads are runnable
            wanted += group.spec.threads - min(group.spec.threads, group.runnable)
        alone_s = cpu_s * slowdown(wanted, cores, host.core_contention)
        waiting_s = alone_s * excess(wanted, cores)
        wait_s = mean_wait_s(wanted, cores, host.time_slice)
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


_SPREAD_DIGITS: Final = 2
"""Decimal digits of the spread of a MultiGet, so that few values are tallied."""


def _multigets(reads: Classes, keys: int) -> Classes:
    """Return the classes of MultiGets of `keys` keys each: a call takes the sum of the times of that many independent reads.

    The block reads of a call follow each other, as in a build without io_uring (RandomAccessFile::MultiRead). A key that exists
    costs as much CPU time as in a Get, within 12 %; one that does not takes 0.6 to 0.9 of it (docs/decisions/0050).
    """
    if keys == 1:
        return reads
    mean_s = sum(share * time_s for share, time_s, _ in reads)
    square = sum(share * time_s * time_s * _square_ratio(spread) for share, time_s, spread in reads)
    variation = max(0.0, square / (mean_s * mean_s) - 1.0) / keys if mean_s > 0.0 else 0.0
    return [(1.0 / keys, keys * mean_s, round(spread_of(variation), _SPREAD_DIGITS))]


@lru_cache(maxsize=256)
def _square_ratio(spread: float) -> float:
    """Return the mean square of the time of a class divided by the square of its mean time, by the class's spread."""
    return 1.0 + Unstalled(1.0, 1.0, spread).variation

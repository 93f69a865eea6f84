"""Demand of the clients for cores and device bandwidth, at the rates at which they are served."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.sim.clients.filling import Filling
from lsmlab.sim.clients.group import WRITE, Group, writes_per_s
from lsmlab.sim.clients.op_times import OpTimes
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.store.write_shape import WriteShape


class ClientDemand:
    """Demand of all client groups: runnable threads, device reads, and WAL bytes that reach the device."""

    def __init__(
        self, machine: Machine, times: OpTimes, shape: WriteShape, filling: Filling, stores: int, wal_reaches_device: bool
    ) -> None:  # fmt: skip
        """`wal_reaches_device`: WAL bytes always reach the device (`Setup.wal_reaches_device`)."""
        self._machine = machine
        self._times = times
        self._wal_bytes = shape.wal_bytes
        self._filling = filling
        self._stores = stores
        self._wal_reaches_device = wal_reaches_device
        self.device_bytes_per_s = 0.0
        """Current device traffic of the clients: reads, and WAL bytes that reach the device."""

    def update(self, groups: Sequence[Group]) -> None:
        """Set the demand of all groups on cores and device, which may call the observers of both.

        A thread wants a core while it computes and while it waits for a core.
        """
        core_share = self._machine.cores.share
        runnable = read_iops = read_bytes = threads = 0.0
        for group in groups:
            busy_s = self._times.client_s(group)
            for kind, share in group.kinds:
                busy_s += share * self._times.cpu_s(kind)
                if kind != WRITE:
                    cost = self._times.read_cost(kind)
                    read_iops += group.served_rate * share * cost.device_reads
                    read_bytes += group.served_rate * share * cost.device_bytes
                    threads = max(threads, group.spec.threads)
            group.runnable = min(group.spec.threads, group.served_rate * busy_s / core_share)
            runnable += group.runnable
        log = writes_per_s(groups) * self._wal_bytes
        self._machine.cores.set_clients(runnable)
        self._machine.wals_on_device = self._wal_lives_long(log)
        logged = log if self._machine.wals_on_device else 0.0
        request_bytes = read_bytes / read_iops if read_iops > 0.0 else self._times.block_bytes
        self.device_bytes_per_s = read_bytes + logged
        self._machine.device.set_clients(read_iops, request_bytes, max(1.0, threads), logged)

    def _wal_lives_long(self, wal_bytes_per_s: float) -> bool:
        """Return whether WAL bytes reach the device, because they always do or because a WAL lives long enough.

        The kernel writes dirty pages after dirty_expire_centisecs. A WAL is deleted once its memtable is flushed, and the
        kernel never writes dirty pages of a deleted file.
        """
        if self._wal_reaches_device or wal_bytes_per_s <= 0.0:
            return self._wal_reaches_device
        life_s = self._filling.slowest_entries * self._wal_bytes * self._stores / wal_bytes_per_s
        return life_s > self._machine.host.dirty_expire

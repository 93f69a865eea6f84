"""Clients of several databases on one machine: the shares of each beside the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lsmlab.sim.machine.journal import Journal
from lsmlab.sim.machine.machine import ClientDemand, Machine, MachineShares
from lsmlab.sim.machine.queues import Alarm

_FEW: Final = 8
"""Sets of clients that hear of every change; of more, each hears of large changes only."""
_FELT: Final = 0.05
"""Relative change of a share or latency from which many sets of clients plan again."""
_PAUSE_S: Final = 0.05
"""Time between two such plans, per set of clients."""


class ClientShares:
    """Demand of one set of clients on the machine, and what they get beside the other sets (`ClientSets`)."""

    def __init__(self, sets: ClientSets) -> None:
        self._sets = sets
        self.client_demand = ClientDemand()
        """Present demand of this set."""
        self.wals_on_device = False
        """Whether WAL bytes of its databases reach the device before the WAL is deleted."""

    def shares(self, demand: ClientDemand) -> MachineShares:
        """Return the shares that this set would get now with this demand."""
        return self._sets.machine.shares(self._sets.with_others(self, demand))

    def serve(self, demand: ClientDemand, *, wals_on_device: bool) -> None:
        """Set the demand of this set."""
        self._sets.set(self, demand, wals_on_device)

    @property
    def journal(self) -> Journal | None:
        """Journal of the file system of the WALs, whose locks this set feels; None without one. Many sets do not feel them."""
        return self._sets.machine.wal.journal if self._sets.few else None

    def observe(self, refresh: Callable[[], None], *, sleeping: bool) -> None:
        """Call `refresh` after changes of the shares by background work or other sets.

        `sleeping`: also after changes of the device's grant, because operations wait for the device.
        """
        self._sets.observe(refresh, sleeping=sleeping)


class ClientSets:
    """Sets of clients on one machine: one per database that has clients of its own.

    A few sets hear of every change. Of many, each hears of large changes only; a small one reaches it with its own next event.
    """

    def __init__(self, machine: Machine, count: int = 1) -> None:
        """`count`: sets that will be added."""
        self.machine = machine
        self._count = count
        self.few = count <= _FEW
        self._sets: list[ClientShares] = []
        self._runnable = self._iops = self._read_bytes = self._depth = self._write_bytes = 0.0
        """Sums over the sets."""
        self._observers: list[Callable[[], None]] = []
        self._sleeping = False
        """Whether some set waits for the device."""
        self._told: MachineShares | None = None
        self._next_s = 0.0
        self._alarm = Alarm(machine.env, self._tell)

    @property
    def patience(self) -> float:
        """Factor of the times between two looks at what changes slowly: with many sets, each looks less often."""
        return max(1.0, self._count / _FEW)

    def add(self) -> ClientShares:
        """Add a set without demand."""
        self._sets.append(ClientShares(self))
        return self._sets[-1]

    def with_others(self, own: ClientShares, demand: ClientDemand) -> ClientDemand:
        """Return the demand of all sets if that of `own` were `demand`."""
        if self._count == 1:
            return demand
        before = own.client_demand
        iops = max(0.0, self._iops - before.read_iops) + demand.read_iops
        read = max(0.0, self._read_bytes - before.read_iops * before.read_bytes) + demand.read_iops * demand.read_bytes
        depth = self._depth - _depth(before) + _depth(demand)
        return ClientDemand(
            max(0.0, self._runnable - before.runnable) + demand.runnable, iops,
            read / iops if iops > 0.0 else demand.read_bytes, max(1.0, depth),
            max(0.0, self._write_bytes - before.write_bytes_per_s) + demand.write_bytes_per_s,
        )  # fmt: skip

    def set(self, own: ClientShares, demand: ClientDemand, wals_on_device: bool) -> None:
        """Set the demand of one set, and that of all on the machine."""
        whole, before = self.with_others(own, demand), own.client_demand
        self._runnable, self._iops, self._write_bytes = whole.runnable, whole.read_iops, whole.write_bytes_per_s
        self._read_bytes = whole.read_iops * whole.read_bytes
        self._depth += _depth(demand) - _depth(before)
        own.client_demand, own.wals_on_device = demand, wals_on_device
        self.machine.serve(whole)
        on_device = any(one.wals_on_device for one in self._sets)
        for view in self.machine.views:
            view.wals_on_device = on_device
        if self._count > 1:
            self._changed()

    def observe(self, refresh: Callable[[], None], *, sleeping: bool) -> None:
        """Call `refresh` after changes that a set feels."""
        machine, hear = self.machine, refresh if self.few else self._changed
        if self.few or not self._observers:
            machine.cores.changed.add(hear)
        if sleeping and (self.few or not self._sleeping):
            self._sleeping = True
            for volume in machine.volumes:
                volume.device.changed.add(hear)
        self._observers.append(refresh)

    def _changed(self) -> None:
        """Tell all sets soon, if the shares have changed by much since they were told."""
        if self._feels():
            self._alarm.set(max(0.0, self._next_s - self.machine.env.now))

    def _feels(self) -> bool:
        now = self.machine.shares(self.machine.client_demand)
        told = self._told
        if told is None:
            return True
        pairs = [(now.core_share, told.core_share)]
        if self._sleeping:
            pairs += [(now.read_latency_s, told.read_latency_s), (now.queued_s, told.queued_s)]
        return any(abs(a - b) > _FELT * max(a, b) for a, b in pairs)

    def _tell(self) -> None:
        if not self._feels():
            return
        self._next_s = self.machine.env.now + _PAUSE_S * self._count
        self._told = self.machine.shares(self.machine.client_demand)
        for refresh in self._observers:
            refresh()


def _depth(demand: ClientDemand) -> float:
    return demand.depth if demand.read_iops > 0.0 else 0.0

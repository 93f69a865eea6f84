"""Rates of the clients: a pure function of stores and machine, and the solver of the point where both agree.

Reads and writes share cores and device: the rate of a group depends on the latencies and core shares that all groups leave
to it, and these on the rates. `solve` iterates until both agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from lsmlab.sim.clients.admission import Admitted, WriteLimits, admitted_writes
from lsmlab.sim.clients.group import WRITE, ClientGroup
from lsmlab.sim.clients.op_costs import OpCosts
from lsmlab.sim.clients.op_times import OpTimes
from lsmlab.sim.machine.machine import ClientDemand, MachineShares

_MOST_ITERATIONS: Final = 20
"""Maximum number of iterations."""
_TOLERANCE: Final = 0.005
"""Relative difference at which the iteration ends: of rates from those that their own use of the machine allows, and of core
shares."""
_JUMP: Final = 1e-4
"""Relative distance of two rates between which the wanted rate jumps. Near full load a read's time grows by a tenth in a rate's
thousandth, so the distance is small."""


class MachineView(Protocol):
    """Machine as one set of clients sees it: the whole machine, or beside other clients (`ClientShares`)."""

    @property
    def client_demand(self) -> ClientDemand:
        """Present demand of the clients."""

    def shares(self, demand: ClientDemand) -> MachineShares:
        """Return the shares that clients with this demand would get now."""


class WalWrites(NamedTuple):
    """What decides whether WAL bytes reach the device."""

    always: bool
    """Whether they always do (`Setting.wal_reaches_device`)."""
    writes: float
    """Writes of all clients during the life of a WAL: until the slowest memtable is full."""
    dirty_expire_s: float
    """Age from which the kernel writes dirty pages (dirty_expire_centisecs)."""

    def reach_device(self, wal_bytes: float, wal_bytes_per_s: float) -> bool:
        """Return whether WAL bytes reach the device, because they always do or because a WAL lives long enough.

        A WAL is deleted once its memtable is flushed, and the kernel never writes dirty pages of a deleted file.
        """
        if self.always or wal_bytes_per_s <= 0.0:
            return self.always
        return self.writes * wal_bytes / wal_bytes_per_s > self.dirty_expire_s


class LoadState(NamedTuple):
    """State of clients and stores on which the rates depend, besides that of the machine."""

    groups: Sequence[ClientGroup]
    """With their queues; their present rates are only the start of the iteration."""
    limits: WriteLimits
    costs: OpCosts
    wal: WalWrites


class GroupRates(NamedTuple):
    """Rates of one client group, in operations per second."""

    capacity: float
    """What the machine allows without stalls."""
    demand: float
    """What the group would do without stalls."""
    served: float


class Allowed(NamedTuple):
    """Rates that stores and machine allow the clients."""

    groups: list[GroupRates]
    admitted: Admitted
    waiting_share: float
    """Share of its time that the leader of the write group spends waiting for a stall."""


class Use(NamedTuple):
    """Use of the machine by clients at their rates."""

    runnable: list[float]
    """Mean number of threads of each group that want a core."""
    demand: ClientDemand
    wals_on_device: bool
    """Whether WAL bytes reach the device before the WAL is deleted."""
    device_bytes_per_s: float
    """Device traffic of the clients: reads, and WAL bytes that reach the device."""


class Rates(NamedTuple):
    """Rates at which clients, stores and machine agree."""

    groups: list[GroupRates]
    allowed: Allowed
    use: Use
    shares: MachineShares
    """Shares of the machine at these rates."""

    def still_hold(self, before: LoadState, state: LoadState, machine: MachineView) -> bool:
        """Return whether `solve` would find these rates again: for `before`, they are those of `state` on this machine now.

        An iteration that ended near the point where both agree would go on towards it, so only rates that agree exactly hold.
        """
        return (
            state[1:] == before[1:]
            and all(
                own.served == allowed.served and own.demand == group.demand_at(own.capacity)
                for own, allowed, group in zip(self.groups, self.allowed.groups, state.groups, strict=True)
            )
            and machine.shares(self.use.demand) == self.shares
        )


def allowed_rates(state: LoadState, shares: MachineShares) -> Allowed:
    """Return the rates that stores and machine allow if clients have these shares of the machine."""
    times = OpTimes(state.costs, shares)
    admitted = admitted_writes(state.limits, state.groups, times)
    capacities = [times.capacity(group) for group in state.groups]
    demands = [group.demand_at(capacity) for group, capacity in zip(state.groups, capacities, strict=True)]
    wanted = sum([demand * group.write_share for demand, group in zip(demands, state.groups, strict=True)])
    factor = 1.0 if wanted <= admitted.writes_per_s else admitted.writes_per_s / wanted
    waiting_share, found = 0.0, []
    for group, capacity, demand in zip(state.groups, capacities, demands, strict=True):
        served = demand
        if group.write_share > 0.0:
            if admitted.cause is not None and demand > 0.0 and factor < 1.0:
                waiting_share = max(waiting_share, 1.0 - factor * demand / capacity)
            served *= factor
        found.append(GroupRates(capacity, demand, served))
    return Allowed(found, admitted, waiting_share)


def use_at(served: Sequence[float], state: LoadState, shares: MachineShares) -> Use:
    """Return what clients demand of cores and device if they are served at these rates and have these shares.

    A thread wants a core while it computes and while it waits for a core.
    """
    costs = state.costs
    read_iops = read_bytes = cold_iops = cold_bytes = writes = threads = 0.0
    runnable: list[float] = []
    for group, rate in zip(state.groups, served, strict=True):
        busy_s = costs.client_s(group)
        reading = False
        for kind, share in group.kinds:
            busy_s += share * costs.cpu_s(kind)
            if kind != WRITE:
                cost = costs.read_cost(kind)
                read_iops += rate * share * (cost.device_reads - cost.cold_reads)
                read_bytes += rate * share * (cost.device_bytes - cost.cold_bytes)
                cold_iops += rate * share * cost.cold_reads
                cold_bytes += rate * share * cost.cold_bytes
                reading = True
        threads += group.spec.threads * reading
        runnable.append(min(group.spec.threads, rate * busy_s / shares.core_share))
        writes += rate * group.write_share
    wal_bytes = costs.shape.wal_bytes
    log = writes * wal_bytes
    on_device = state.wal.reach_device(wal_bytes, log)
    logged = log if on_device else 0.0
    request_bytes = read_bytes / read_iops if read_iops > 0.0 else costs.block_bytes
    cold = (cold_iops, cold_bytes / cold_iops) if cold_iops > 0.0 else ()
    demand = ClientDemand(sum(runnable), read_iops, request_bytes, max(1.0, threads), logged, *cold)
    return Use(runnable, demand, on_device, read_bytes + cold_bytes + logged)


class Damping:
    """Damped iteration of a rate that lowers itself: several readers of one drive are slow if they were fast.

    The step follows from the slope of the wanted rate between the last two rates (Wegstein's method). It stays between the
    last rate that was too low and the last that was too high: at full load the wanted rate may jump between them.
    """

    __slots__ = ("_high", "_last", "_low", "jumps")

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        """Last rate, and the rate that it made clients want; None before the first."""
        self.restart()

    def restart(self) -> None:
        """Forget the bounds, because other groups or the cores have moved since."""
        self._low: float | None = None
        self._high: float | None = None
        self.jumps = False
        """Whether the wanted rate jumps at the last rate: from above it to below it."""

    def next(self, rate: float, wanted: float) -> float:
        """Return the next rate after `rate`."""
        if wanted > rate:
            self._low = rate
            self._high = None if self._high is None or self._high <= rate else self._high
        else:
            self._high = rate
            self._low = None if self._low is None or self._low >= rate else self._low
        step = 1.0
        if self._last is not None and (moved := rate - self._last[0]) != 0.0:
            step = 1.0 / (1.0 - min(0.0, (wanted - self._last[1]) / moved))
        self._last = rate, wanted
        rate += step * (wanted - rate)
        low, high = self._low, self._high
        if low is None or high is None:
            return rate
        self.jumps = high - low <= _JUMP * high
        if self.jumps:
            return low
        return rate if low < rate < high else (low + high) / 2.0


def solve(state: LoadState, machine: MachineView) -> Rates:
    """Return the rates at which clients, stores and machine agree.

    The machine is asked what it would grant; `ClientShares.serve` sets the demand.
    """
    shares = machine.shares(machine.client_demand)
    allowed = allowed_rates(state, shares)
    served = [group.served_rate for group in state.groups]
    dampings = [Damping() for _ in state.groups]
    for _ in range(_MOST_ITERATIONS):
        served = [d.next(rate, own.served) for d, rate, own in zip(dampings, served, allowed.groups, strict=True)]
        use = use_at(served, state, shares)
        before, shares = shares, machine.shares(use.demand)
        if shares != before:
            allowed = allowed_rates(state, shares)
        agrees = [
            damping.jumps or abs(own.served - rate) <= _TOLERANCE * rate
            for damping, own, rate in zip(dampings, allowed.groups, served, strict=True)
        ]
        steady = abs(shares.core_share - before.core_share) <= _TOLERANCE * before.core_share
        if all(agrees) and steady:
            break
        for damping in dampings:
            if not steady or (damping.jumps and len(dampings) > 1):
                damping.restart()
    groups = [
        GroupRates(own.capacity, own.demand * (rate / own.served) if own.served > 0.0 else own.demand, rate)
        for own, rate in zip(allowed.groups, served, strict=True)
    ]
    return Rates(groups, allowed, use, shares)

"""Rates of the clients as a function of stores and machine, and the solver where reads and writes share the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lsmlab.models.policies.decisions import StallCause
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Clients, Mix
from lsmlab.sim.clients.admission import Delay, WriteLimits
from lsmlab.sim.clients.group import ClientGroup, start_group
from lsmlab.sim.clients.op_costs import OpCosts, ReadCost
from lsmlab.sim.clients.rates import LoadState, WalWrites, allowed_rates, solve, use_at
from lsmlab.sim.machine.machine import ClientDemand, Machine
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.setting import Setting
from running import SMALL, configuration


def a_machine() -> Machine:
    """Return an idle machine with two cores."""
    phase = Phase(Setting.of(configuration(*SMALL, "host.cores=2")), np.random.SeedSequence(1).spawn(SEEDS))
    return phase.machine


def limits(**changes: Any) -> WriteLimits:
    """Return stall conditions of one database that admits all writes, with changes."""
    given: dict[str, Any] = {"stopped_by": None, "held": False, "delays": []}
    phase = Setting.of(configuration(*SMALL))
    return WriteLimits(databases=1, version=phase.engine.version, **{**given, **changes})


def a_state(machine: Machine, threads: int = 1, reads: float = 0.0, **changes: Any) -> LoadState:
    """Return a closed loop with this share of reads, each of one block from the device."""
    setting = Setting.of(configuration(*SMALL))
    shape = Phase(setting, np.random.SeedSequence(1).spawn(SEEDS)).setup.shape
    mix = Mix(update=1.0 - reads, read=reads)
    spec = Clients("clients", threads=threads, mix=mix, arrivals=ClosedLoop())
    group: ClientGroup = start_group(spec, 10.0, np.random.default_rng(1), shape)
    block = ReadCost(cpu_s=5e-6, request_cpu_s=3e-6, device_reads=1.0, device_bytes=4096.0, memory_share=0.0, blocks=1.0)
    costs = OpCosts.of(machine.host, shape, 1e4, synced=False, reads=([(1.0, block)], [(1.0, block)]))
    return LoadState([group], limits(**changes), costs, WalWrites(False, 1e9, 30.0))


def test_a_stop_admits_no_write() -> None:
    """While a database stops writes, the clients do nothing and wait all the time for its cause."""
    machine = a_machine()
    rates = allowed_rates(a_state(machine, stopped_by=StallCause.L0_STOP), machine.shares(ClientDemand()))

    assert [0.0] == [own.served for own in rates.groups]
    assert (rates.admitted.cause, rates.waiting_share) == (StallCause.L0_STOP, 1.0)


def test_a_held_write_is_no_stall() -> None:
    """While the journal is locked, no write is admitted, and no stall is counted."""
    machine = a_machine()
    rates = allowed_rates(a_state(machine, held=True), machine.shares(ClientDemand()))

    assert (rates.groups[0].served, rates.admitted.cause, rates.waiting_share) == (0.0, None, 0.0)


def test_a_delay_admits_its_rate_in_bytes() -> None:
    """At a delayed write rate of 1 MB/s, clients write 1 MB/s of write batches and wait most of the time."""
    machine = a_machine()
    state = a_state(machine, delays=[Delay(1e6, 0.0, 1.0, StallCause.L0_SLOWDOWN)])
    rates = allowed_rates(state, machine.shares(ClientDemand()))

    assert rates.groups[0].served * state.costs.shape.batch_bytes == pytest.approx(1e6)
    assert rates.groups[0].demand > 10.0 * rates.groups[0].served
    assert rates.waiting_share == pytest.approx(1.0 - rates.groups[0].served / rates.groups[0].capacity)


@pytest.mark.parametrize(("threads", "reads"), [(1, 0.0), (1, 1.0), (64, 1.0), (2, 0.1)])
def test_the_solution_is_a_fixed_point_and_changes_nothing(threads: int, reads: float) -> None:
    """The rates at the shares that their own demand leaves are the same within 2 %; the machine stays as it is."""
    machine = a_machine()
    state = a_state(machine, threads, reads)
    before = machine.client_demand

    rates = solve(state, machine)

    assert machine.client_demand == before
    assert rates.shares == machine.shares(rates.use.demand)
    assert allowed_rates(state, rates.shares).groups[0].served == pytest.approx(rates.groups[0].served, rel=0.05)


@pytest.mark.parametrize(("threads", "reads"), [(2, 0.5), (16, 0.5), (64, 0.5), (64, 1.0)])
def test_small_steps_lead_to_the_same_rates(threads: int, reads: float) -> None:
    """Threads that read and write on two cores get the rates to which 1000 steps of 3 % lead."""
    machine = a_machine()
    state = a_state(machine, threads, reads)
    shares = machine.shares(machine.client_demand)
    rate = 0.0
    for _ in range(1000):
        rate += 0.03 * (allowed_rates(state, shares).groups[0].served - rate)
        shares = machine.shares(use_at([rate], state, shares).demand)

    assert solve(state, machine).groups[0].served == pytest.approx(rate, rel=0.015)


def test_many_readers_wait_for_the_device() -> None:
    """With 64 threads the drive is shared: a read takes longer than alone, and throughput grows less than threads do."""
    machine = a_machine()
    one, many = (solve(a_state(machine, threads, 1.0), machine) for threads in (1, 64))

    assert many.shares.read_latency_s > one.shares.read_latency_s or many.shares.core_share < one.shares.core_share
    assert one.groups[0].served < many.groups[0].served < 64.0 * one.groups[0].served


def test_clients_are_not_told_of_their_own_demand() -> None:
    """Observers of cores and device hear of changes by jobs, not of those that clients make themselves."""
    machine, heard = a_machine(), list[str]()
    machine.cores.changed.add(lambda: heard.append("cores"))
    machine.device.changed.add(lambda: heard.append("device"))

    machine.serve(ClientDemand(5.0, 1e4, 4096.0, 8.0, 1e8))
    assert heard == []
    assert machine.client_demand.read_iops == 1e4

    machine.device.read(1e6, 2)
    machine.cores.work(1.0)
    assert set(heard) == {"cores", "device"}


def test_rates_hold_until_something_changes() -> None:
    """Rates that agree exactly are those that `solve` finds again, until stalls, costs, jobs or the demand change."""
    machine = a_machine()
    state = a_state(machine)
    for _ in range(5):
        rates = solve(state, machine)
        machine.serve(rates.use.demand)
        state.groups[0].served_rate = rates.groups[0].served
    assert rates.still_hold(state, state, machine)
    assert solve(state, machine) == rates

    assert not rates.still_hold(state, state._replace(limits=limits(held=True)), machine)
    assert not rates.still_hold(state, state._replace(costs=state.costs._replace(write_cpu_s=1.0)), machine)
    machine.cores.copying(5.0)
    assert not rates.still_hold(state, state, machine)
    machine.cores.copying(-5.0)
    state.groups[0].finished = True
    assert not rates.still_hold(state, state, machine)

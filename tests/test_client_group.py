"""Groups of clients between two changes of their state, and the effect of stops and sleeps on their writes."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.models.policies.decisions import StallCause
from lsmlab.models.workloads.arrivals import ClosedLoop, ConstantRate
from lsmlab.models.workloads.base import Clients
from lsmlab.sim.clients.admission import Sleeps
from lsmlab.sim.clients.group import WRITE, ClientGroup, start_group
from lsmlab.sim.clients.unstalled import UnstalledTally
from lsmlab.sim.clients.write_waits import WriteWaits
from lsmlab.sim.store.records import CAUSES
from plain_machine import SHAPE


def closed(threads: int = 4) -> ClientGroup:
    """Return a closed loop of `threads` writers with a million writes in all."""
    spec = Clients("writers", threads=threads, arrivals=ClosedLoop(), operations=1_000_000)
    return start_group(spec, 10.0, np.random.default_rng(1), SHAPE)


def test_a_closed_loop_demands_its_capacity_until_complete() -> None:
    """A million writes at 100,000 per second take ten seconds; then the demand is 0."""
    group = closed()
    group.capacity = group.served_rate = 1e5
    group.times = [[(1.0, 10e-6, 0.4)]]

    assert group.demand_at(group.capacity) == 1e5
    assert group.next_change_s(0.0) == 10.0
    assert not group.complete
    assert group.advance(10.0) == 1e6
    assert group.complete
    group.finished = True
    assert group.demand_at(group.capacity) == 0.0


@pytest.mark.parametrize(("held_s", "saved"), [(0.05, 5.0), (1.0, 10.0)])
def test_a_rate_limited_client_makes_up_for_a_short_wait(held_s: float, saved: float) -> None:
    """A limit of 100 ops/s saves the tokens of a wait, at most those of one refill of 100 ms; the client then uses them."""
    spec = Clients("writer", arrivals=ClosedLoop(limit_ops_per_s=100.0))
    group = start_group(spec, 20.0, np.random.default_rng(1), SHAPE)
    group.times, group.capacity, group.demand_rate, group.served_rate = [[(1.0, 1e-3, 0.4)]], 1000.0, 100.0, 0.0
    group.advance(held_s)

    assert saved == pytest.approx(group.saved)
    assert 1000.0 == group.demand_at(group.capacity)
    group.served_rate = 1000.0
    assert saved / 900.0 == pytest.approx(group.next_change_s(held_s))
    group.advance(saved / 900.0)
    assert 100.0 == group.demand_at(group.capacity)


def test_an_open_loop_works_off_its_backlog() -> None:
    """10 s of 100 arrivals and 50 served writes per second leave a backlog of 500; 150 per second clear it in 10 s."""
    spec = Clients("open", arrivals=ConstantRate(100.0))
    group = start_group(spec, 20.0, np.random.default_rng(1), SHAPE)
    group.arrive(0.0)
    group.times, group.capacity, group.served_rate = [[(1.0, 1e-3, 0.4)]], 50.0, 50.0
    group.advance(10.0)

    group.arrive(10.0)
    group.capacity = group.served_rate = 150.0

    assert group.backlog == 500.0
    assert group.demand_at(group.capacity) == 150.0
    assert group.next_change_s(10.0) == 10.0


def test_unstalled_operations_are_counted_by_their_times() -> None:
    """Of a hundred writes, 90 % take 2 us and 10 % take 1 ms: the tally has two classes with times within 2 %."""
    tally = UnstalledTally()
    tally.add(100.0, [(WRITE, 1.0)], [[(0.9, 2e-6, 0.3), (0.1, 1e-3, 0.5)]], 0.0, None)

    served = [s.operations for s in tally.of(WRITE)]

    assert [s.count for s in served] == [90.0, 10.0]
    assert [2e-6, 1e-3] == pytest.approx([s.mean_s for s in served], rel=0.022)
    assert [s.spread for s in served] == [0.3, 0.5]


def test_one_write_per_thread_waits_for_the_end_of_a_stop() -> None:
    """In a stop of 3 s, each of four threads has one write that waits for 3 s."""
    group = closed(threads=4)
    waits = WriteWaits([group])

    waits.set_stopped(5.0, stopped=True)
    waits.set_stopped(6.0, stopped=True)
    waits.set_stopped(8.0, stopped=False)

    assert group.write_pieces.table().tolist() == [[8.0, 4.0, 3.0, 3.0]]
    assert waits.longest_s == 3.0


def test_sleeps_and_stops_are_stalls() -> None:
    """A writer that sleeps 1 ms at a time for four fifths of a second does so 800 times; a stop lasts for its whole time."""
    group = closed(threads=1)
    group.served_rate = 1e6
    waits = WriteWaits([group])

    waits.add_stretch(0.0, 1.0, StallCause.L0_SLOWDOWN, 0.8, Sleeps(1e-3, ((1e-3, 1.0),)))
    waits.add_stretch(1.0, 2.0, StallCause.L0_STOP, 1.0, None)

    assert waits.table()[:, 3].tolist() == pytest.approx([0.8, 1.0])
    assert waits.table()[:, 2].tolist() == [CAUSES.index(StallCause.L0_SLOWDOWN), CAUSES.index(StallCause.L0_STOP)]
    assert group.write_pieces.table().tolist() == [[1.0, pytest.approx(800.0), 1e-3, 1e-3]]

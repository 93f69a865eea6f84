"""Stations of the machine: timers, cores, device, rate limiter and gate, each at moments known in advance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import simpy
from lsmlab.models.devices.base import Grant
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.rate_limiter import Priority, RateLimiter
from lsmlab.models.version import Version
from lsmlab.sim.machine.core_station import CoreStation
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.limiter import LimiterStation
from lsmlab.sim.machine.queues import Alarm, Events
from plain_machine import MIB, Plain


class Clock:
    """Environment that notes when events fire."""

    def __init__(self) -> None:
        self.env = simpy.Environment()
        self.ends: dict[str, float] = {}

    def at(self, time_s: float, name: str, begin: Any) -> None:
        """Call `begin` at `time_s`, and note the time at which its event fires."""

        def process() -> Events:
            yield self.env.timeout(time_s)
            yield begin()
            self.ends[name] = self.env.now

        self.env.process(process())

    def run(self) -> dict[str, float]:
        """Run to the end; return the time of each event by its name."""
        self.env.run()
        return self.ends


# --- timers -----------------------------------------------------------------------------------------------------------


def test_an_alarm_that_is_moved_rings_once() -> None:
    """Of several times that an alarm was set to, the last one counts; infinity switches it off."""
    env, rings = simpy.Environment(), []
    alarm = Alarm(env, lambda: rings.append(env.now))
    for delay_s in (1.0, 5.0, 3.0):
        alarm.set(delay_s)
    env.run()
    alarm.set(1.0)
    alarm.set(float("inf"))
    env.run()

    assert rings == [3.0]


# --- cores ------------------------------------------------------------------------------------------------------------


def test_threads_share_the_cores_equally() -> None:
    """On one core, 1 s and 3 s of work that begin together take 2 s and 4 s; the core is busy throughout."""
    clock = Clock()
    cores = CoreStation(clock.env, 1.0)
    clock.at(0.0, "short", lambda: cores.work(1.0))
    clock.at(0.0, "long", lambda: cores.work(3.0))

    assert clock.run() == pytest.approx({"short": 2.0, "long": 4.0})
    cores.settle()
    assert cores.busy_s == pytest.approx(4.0)


def test_clients_take_their_share_of_the_cores() -> None:
    """A job beside three client threads on two cores has half a core, until the clients leave."""
    clock = Clock()
    cores = CoreStation(clock.env, 2.0)
    shares: list[float] = []
    cores.changed.add(lambda: shares.append(cores.share))
    cores.set_clients(3.0)
    clock.at(0.0, "job", lambda: cores.work(2.0))
    clock.env.process(_later(clock.env, 2.0, lambda: cores.set_clients(0.0)))

    assert clock.run() == pytest.approx({"job": 3.0})
    assert shares == [0.5], "clients hear of changes by jobs, not of their own"


def test_with_a_core_for_each_thread_nothing_is_shared() -> None:
    """If the run never has more threads than cores, work takes its CPU time whatever the clients do."""
    clock = Clock()
    cores = CoreStation(clock.env, 4.0, most_threads=4.0)
    cores.set_clients(10.0)
    clock.at(0.0, "job", lambda: cores.work(1.0))

    assert clock.run() == {"job": 1.0}
    assert (cores.share, cores.busy_s) == (1.0, 1.0)


# --- device -----------------------------------------------------------------------------------------------------------


def station(env: simpy.Environment, **order: bool) -> DeviceStation:
    """Return a station of the plain device."""
    return DeviceStation(env, Plain(), 2 * MIB, MIB, 1.0, **order)


def test_a_transfer_speeds_up_when_another_ends() -> None:
    """Two writers have 50 MiB/s each; a reader has its own 100 MiB/s."""
    clock = Clock()
    device = station(clock.env)
    clock.at(0.0, "100 MiB", lambda: device.write(100 * MIB, 1))
    clock.at(0.5, "25 MiB", lambda: device.write(25 * MIB, 1))
    clock.at(0.0, "read", lambda: device.read(50 * MIB, 2))

    assert clock.run() == pytest.approx({"read": 0.5, "25 MiB": 1.0, "100 MiB": 1.25})
    assert (device.read_bytes, device.write_bytes, device.busy_s) == pytest.approx((50 * MIB, 125 * MIB, 1.25))


def test_writes_in_order_do_not_overtake() -> None:
    """A small write behind a large one waits for all of it; the last one ends as if they shared."""
    clock = Clock()
    device = station(clock.env, writes_in_order=True)
    clock.at(0.0, "large", lambda: device.write(90 * MIB, 1))
    clock.at(0.1, "small", lambda: device.write(10 * MIB, 1))

    assert clock.run() == pytest.approx({"large": 0.9, "small": 1.0})


def test_the_wal_of_clients_takes_bandwidth_from_jobs() -> None:
    """While clients write 50 MiB/s, a job has the other half; their bytes count as written."""
    clock = Clock()
    device = station(clock.env)
    device.set_clients(0.0, 4096.0, 1.0, 50 * MIB)
    clock.at(0.0, "job", lambda: device.write(75 * MIB, 1))
    clock.env.process(_later(clock.env, 1.0, lambda: device.set_clients(0.0, 4096.0, 1.0, 0.0)))

    assert clock.run() == pytest.approx({"job": 1.25})
    assert device.write_bytes == pytest.approx(125 * MIB)


def test_no_write_proceeds_during_a_cache_flush() -> None:
    """A write in progress rests for the 0.1 s of a cache flush; a read does not."""
    clock = Clock()
    device = station(clock.env)
    clock.at(0.0, "write", lambda: device.write(50 * MIB, 1))
    clock.at(0.0, "read", lambda: device.read(50 * MIB, 2))
    clock.at(0.2, "flush", lambda: clock.env.process(device.flush_cache()))

    assert clock.run() == pytest.approx({"flush": 0.3, "read": 0.5, "write": 0.6})


def test_the_log_has_one_row_per_transfer() -> None:
    """A row has consumer, begin, end and bytes; writes are marked in the consumer's number."""
    clock = Clock()
    device = station(clock.env)
    clock.at(1.0, "write", lambda: device.write(50 * MIB, 1))
    clock.run()

    assert list(device.log.rows) == pytest.approx([1 + device.log.WRITE, 1.0, 1.5, 50 * MIB])


def test_a_device_is_idle_between_two_transfers() -> None:
    """A device without load is not busy, and who asks it for its rates hears those of an idle device."""
    clock = Clock()
    device = station(clock.env)
    clock.at(0.0, "first", lambda: device.write(50 * MIB, 1))
    clock.at(2.0, "second", lambda: device.write(25 * MIB, 1))

    assert clock.run() == pytest.approx({"first": 0.5, "second": 2.25})
    assert device.grant == Grant(100 * MIB, 100 * MIB)
    clock.env.run(until=5.0)
    device.settle()
    assert device.busy_s == pytest.approx(0.75)


# --- rate limiter -----------------------------------------------------------------------------------------------------


def test_requests_wait_for_refills_of_the_limiter() -> None:
    """At 10 MB/s, 2.5 MB are granted with the third refill; a flush that asks later is granted before a compaction."""
    clock = Clock()
    options = RocksDbOptions(rate_limiter_bytes_per_sec=10_000_000)
    limiter = LimiterStation(clock.env, RateLimiter(options, Version(8, 6)), np.random.default_rng(1))
    clock.at(0.0, "first", lambda: limiter.request(2_500_000, Priority.LOW))
    clock.at(0.25, "compaction", lambda: limiter.request(2_000_000, Priority.LOW))
    clock.at(0.26, "flush", lambda: limiter.request(400_000, Priority.HIGH))
    ends = clock.run()

    assert ends == pytest.approx({"first": 0.2, "flush": 0.3, "compaction": 0.4})
    assert clock.env.now < 1.0, "an idle limiter needs no timer"


def test_a_new_rate_holds_from_the_next_refill() -> None:
    """At 10 MB/s instead of 1 MB/s, the rest of a request of 2 MB is granted within two further refills."""
    clock = Clock()
    options = RocksDbOptions(rate_limiter_bytes_per_sec=1_000_000)
    limiter = LimiterStation(clock.env, RateLimiter(options, Version(8, 6)), np.random.default_rng(1))
    clock.at(0.0, "request", lambda: limiter.request(2_000_000, Priority.LOW))
    clock.env.process(_later(clock.env, 0.15, lambda: limiter.set_rate(10_000_000)))

    assert clock.run() == pytest.approx({"request": 0.3})


# --- gate -------------------------------------------------------------------------------------------------------------


def _threads(env: simpy.Environment, gate: Gate, work_s: tuple[float, ...]) -> list[tuple[float, bool]]:
    """Start threads that look at the gate after their work; each notes when it goes on, and whether it is aborted."""
    gate.threads = len(work_s)
    ends: list[tuple[float, bool]] = []

    def thread(seconds: float) -> Events:
        yield env.timeout(seconds)
        if gate.closed:
            yield from gate.wait()
        ends.append((env.now, gate.discarded))
        gate.finished()

    for seconds in work_s:
        env.process(thread(seconds))
    return ends


def test_a_job_is_halted_when_its_last_thread_waits() -> None:
    """Threads that look at 1 s and 3 s halt the job at 3 s; both go on when the gate opens."""
    env, halts = simpy.Environment(), []
    gate = Gate(env, lambda: halts.append(env.now))
    gate.close()
    ends = _threads(env, gate, (1.0, 3.0))
    env.process(_later(env, 5.0, gate.open))
    env.run()

    assert halts == [3.0]
    assert ends == [(5.0, False), (5.0, False)]


def test_a_job_is_halted_when_its_only_running_thread_ends() -> None:
    """A thread that finishes while the others wait halts the job, too: nobody is left to arrive at the gate."""
    env, halts = simpy.Environment(), []
    gate = Gate(env, lambda: halts.append(env.now))
    ends = _threads(env, gate, (1.0, 2.0))
    env.process(_later(env, 1.5, gate.close))
    gate.threads += 1  # a thread in its last step
    env.process(_later(env, 4.0, gate.finished))
    env.process(_later(env, 6.0, gate.open))
    env.run()

    assert (halts, ends) == ([4.0], [(1.0, False), (6.0, False)])


def test_threads_of_an_aborted_job_do_not_wait() -> None:
    """Waiting threads go on at once, later ones do not stop; the job is not reported as halted again."""
    env, halts = simpy.Environment(), []
    gate = Gate(env, lambda: halts.append(env.now))
    gate.close()
    ends = _threads(env, gate, (1.0, 3.0))
    env.process(_later(env, 2.0, gate.discard))
    env.run()

    assert (halts, ends) == ([], [(2.0, True), (3.0, True)])


def _later(env: simpy.Environment, delay_s: float, action: Any) -> Events:
    yield env.timeout(delay_s)
    action()

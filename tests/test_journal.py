"""Fsyncs of several files, as ext4's journal orders them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import pytest
import simpy
from lsmlab.models.devices.base import DeviceFacts, Flow, Grant, Load
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.journal import Journal
from lsmlab.sim.machine.queues import Events

MIB = 2.0**20


@dataclass(frozen=True)
class Plain:
    """100 MiB/s shared by all writers; a cache flush takes a tenth of a second."""

    name: str = "plain"

    def initial(self) -> None:
        """Return no state."""

    def allocate(self, state: None, load: Load) -> Grant:
        """Equal shares."""
        return Grant(100 * MIB, 100 * MIB / max(1, load.writers))

    def advance(self, state: None, elapsed_s: float, flow: Flow) -> None:
        """Nothing to remember."""

    def fsync_s(self, state: None) -> float:
        """Time of a cache flush."""
        return 0.1

    def facts(self, state: None, live_bytes: float) -> DeviceFacts:
        """Nothing."""
        return DeviceFacts()


def play(
    starts: list[tuple[float, Callable[[Journal], Events]]], portion: float = inf, queue: float = inf
) -> tuple[list[float], list[tuple[float, bool]]]:
    """When each of the fsyncs ends, and when the log was locked and released."""
    env = simpy.Environment()
    station = DeviceStation(env, Plain(), MIB, MIB, 1.0)
    journal = Journal(env, station, portion, queue)
    ends = [0.0] * len(starts)
    locks: list[tuple[float, bool]] = []
    journal.lock_changed.add(lambda: locks.append((env.now, journal.locked)))

    def one(number: int, at_s: float, fsync: Callable[[Journal], Events]) -> Events:
        yield env.timeout(at_s)
        yield from fsync(journal)
        ends[number] = env.now

    for number, (at_s, fsync) in enumerate(starts):
        env.process(one(number, at_s, fsync))
    env.run()
    return ends, locks


def file_of(size: float) -> Callable[[Journal], Events]:
    """The fsync of a file."""
    return lambda journal: journal.fsync_file(size, 1)


def manifest(journal: Journal) -> Events:
    """A small fsync."""
    return journal.fsync()


def test_files_of_one_transaction_end_together() -> None:
    """A file of 10 MiB is on the device after 0.2 s, but its fsync waits for the 50 MiB handed over beside it: 0.6 s."""
    ends, _ = play([(0.0, file_of(50 * MIB)), (0.0, file_of(10 * MIB))])

    assert [0.7, 0.7] == pytest.approx(ends)


def test_a_small_fsync_waits_for_files_of_its_transaction_only() -> None:
    """Handed over after the file, a manifest waits for it; once that transaction commits, the next manifest does not."""
    ends, _ = play([(0.0, file_of(50 * MIB)), (0.1, manifest), (0.75, manifest)])

    assert [0.6, 0.6, 0.85] == pytest.approx(ends)


def test_one_transaction_commits_at_a_time() -> None:
    """A file handed over while another's commit is under way belongs to the next transaction and waits for its turn."""
    ends, _ = play([(0.0, file_of(10 * MIB)), (0.05, manifest), (0.12, file_of(10 * MIB))])

    assert [0.2, 0.2] == pytest.approx(ends[:2])
    assert 0.4 == pytest.approx(ends[2])  # 0.08 s of the flush in which nothing else is written, 0.1 s, 0.1 s


def test_portions_keep_others_from_waiting_for_whole_files_and_lock_the_log() -> None:
    """With a queue that takes nothing, a manifest waits for the 8 MiB in hand (0.08 s), and the log is locked as long."""
    ends, locks = play([(0.0, file_of(80 * MIB)), (0.01, manifest)], portion=8 * MIB, queue=0.0)

    assert 0.18 == pytest.approx(ends[1])
    assert [0.01, 0.08] == pytest.approx([at_s for at_s, _ in locks[:2]])
    assert [True, False] == [locked for _, locked in locks[:2]]


def test_a_queue_with_room_takes_whole_files() -> None:
    """Two files fit into a queue of 160 MiB, so both belong to one transaction and nothing is locked."""
    ends, locks = play([(0.0, file_of(50 * MIB)), (0.0, file_of(10 * MIB))], portion=8 * MIB, queue=160 * MIB)

    assert [0.7, 0.7] == pytest.approx(ends)
    assert [] == locks


def test_nothing_else_is_written_while_the_cache_is_flushed() -> None:
    """10 MiB handed over at the beginning of a flush of 0.1 s take 0.1 s more."""
    ends, _ = play([(0.0, manifest), (0.0, file_of(10 * MIB))])

    assert 0.3 == pytest.approx(ends[1])

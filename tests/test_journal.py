"""Fsyncs of several files through ext4's journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pytest
import simpy
from lsmlab.models.devices.base import DeviceFacts, DeviceLoad, Flow, Grant
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.journal import Journal
from lsmlab.sim.machine.queues import Events

MIB = 2.0**20


def near(expected: float | list[float]) -> Any:
    """Return `expected` within 1 ms: a commit begins a wake-up after its request."""
    return pytest.approx(expected, abs=1e-3)


@dataclass(frozen=True)
class Plain:
    """100 MiB/s shared by all writers; a cache flush takes 0.1 s."""

    name: str = "plain"

    def initial(self) -> None:
        """Return no state."""

    def allocate(self, state: None, load: DeviceLoad) -> Grant:
        """Grant equal shares."""
        return Grant(100 * MIB, 100 * MIB / max(1, load.writers))

    def advance(self, state: None, elapsed_s: float, flow: Flow) -> None:
        """Keep no state."""

    def fsync_s(self, state: None) -> float:
        """Return the time of a cache flush in s."""
        return 0.1

    def facts(self, state: None, live_bytes: float) -> DeviceFacts:
        """Return empty facts."""
        return DeviceFacts()


def run_fsyncs(
    starts: list[tuple[float, Callable[[Journal], Events]]], portion: float = inf, queue: float = inf, *,
    behind_files: bool = True,
) -> tuple[list[float], list[tuple[float, bool]]]:  # fmt: skip
    """Return the end of each fsync in s, and the times at which the WAL was locked and unlocked."""
    env = simpy.Environment()
    station = DeviceStation(env, Plain(), MIB, MIB, 1.0)
    journal = Journal(env, station, portion, queue, behind_files=behind_files)
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
    """Return the fsync of a file of `size` bytes."""
    return lambda journal: journal.fsync_file(size, 1)


def manifest(journal: Journal) -> Events:
    """Return a small fsync, as of a manifest."""
    return journal.fsync()


def test_files_of_one_transaction_end_together() -> None:
    """The fsync of a 10 MiB file waits for all 60 MiB of its transaction (0.6 s) and the cache flush (0.1 s)."""
    ends, _ = run_fsyncs([(0.0, file_of(50 * MIB)), (0.0, file_of(10 * MIB))])

    assert [0.7, 0.7] == near(ends)


def test_a_small_fsync_waits_for_files_of_its_transaction_only() -> None:
    """A manifest fsync during a file's transaction waits for that file; the next one, after the commit, does not."""
    ends, _ = run_fsyncs([(0.0, file_of(50 * MIB)), (0.1, manifest), (0.75, manifest)])

    assert [0.6, 0.6, 0.85] == near(ends)


def test_one_transaction_commits_at_a_time() -> None:
    """A file that is submitted during another transaction's commit belongs to the next transaction and waits for it."""
    ends, _ = run_fsyncs([(0.0, file_of(10 * MIB)), (0.05, manifest), (0.12, file_of(10 * MIB))])

    assert [0.2, 0.2] == near(ends[:2])
    assert 0.4 == near(ends[2])  # rest of a flush 0.08 s, write 0.1 s, flush 0.1 s


def test_portions_limit_the_wait_and_lock_the_wal() -> None:
    """With a queue of 0 bytes, a manifest waits only for the 8 MiB in progress, and the WAL is locked for it."""
    ends, locks = run_fsyncs([(0.0, file_of(80 * MIB)), (0.01, manifest)], portion=8 * MIB, queue=0.0)

    assert 0.18 == near(ends[1])
    assert [0.01, 0.08] == near([at_s for at_s, _ in locks[:2]])
    assert [True, False] == [locked for _, locked in locks[:2]]


def test_a_long_queue_holds_whole_files() -> None:
    """Two files that fit into a queue of 160 MiB belong to one transaction; the WAL waits for what is in the queue then."""
    ends, locks = run_fsyncs([(0.0, file_of(50 * MIB)), (0.0, file_of(10 * MIB))], portion=8 * MIB, queue=160 * MIB)

    assert [0.7, 0.7] == near(ends)
    assert [0.2, 0.6] == near([at_s for at_s, _ in locks])  # the small file asks for the commit at 0.2 s
    assert [True, False] == [locked for _, locked in locks]


def test_a_longer_queue_puts_more_files_into_a_commit() -> None:
    """Files of four jobs, begun at different times, end in fewer groups if more of each file fits into the queue."""

    def groups(queue: float) -> int:
        starts = [(0.37 * job + 2.9 * turn, file_of(64 * MIB)) for job in range(4) for turn in range(3)]
        ends = np.sort(run_fsyncs(starts, portion=8 * MIB, queue=queue)[0])
        return 1 + int((np.diff(ends) > 2e-3).sum())

    assert groups(20 * MIB) > groups(39 * MIB) > groups(960 * MIB)


@pytest.mark.parametrize(
    ("queue", "behind_files", "locked_s"), [(80 * MIB, True, 0.25), (80 * MIB, False, 0.0), (inf, True, 0.0), (0.0, False, 0.03)],
    ids=["drive", "written_before", "cap", "no_queue"],
)  # fmt: skip
def test_appends_wait_for_the_blocks_of_the_journal(queue: float, behind_files: bool, locked_s: float) -> None:
    """A commit's blocks are written behind the 25 MiB in the drive's queue; data and cache flush hold up no append.

    No append waits where files are written before their fsync, nor behind a cap. Without a queue the transaction is locked for
    the portion in progress.
    """
    starts = [(0.0, file_of(30 * MIB)), (0.05, manifest)]
    ends, locks = run_fsyncs(starts, portion=8 * MIB, queue=queue, behind_files=behind_files)
    times = [at_s for at_s, _ in locks]

    assert sum(times[1::2]) - sum(times[::2]) == near(locked_s)
    assert (0.4 if queue else 0.18) == near(ends[1])


def test_no_writes_during_a_cache_flush() -> None:
    """10 MiB submitted at the beginning of a 0.1 s cache flush are written after it, in another 0.1 s."""
    ends, _ = run_fsyncs([(0.0, manifest), (0.001, file_of(10 * MIB))])

    assert 0.3 == near(ends[1])


def test_a_commit_wakes_its_threads_in_any_order() -> None:
    """Of two files of one transaction, either may continue first; both directory fsyncs that follow share one commit."""
    env = simpy.Environment()
    station = DeviceStation(env, Plain(), MIB, MIB, 1.0)
    journal = Journal(env, station, rng=np.random.default_rng(1))
    firsts, ends = [], []

    def job(name: str) -> Events:
        yield from journal.fsync_file(10 * MIB, 1)
        woken.append(name)
        yield from journal.fsync()
        ends.append(env.now)

    for _ in range(20):
        woken: list[str] = []
        ends.clear()
        for name in ("flush", "compaction"):
            env.process(job(name))
        env.run()
        firsts.append(woken[0])
        assert ends[0] == ends[1]
    assert 5 <= firsts.count("flush") <= 15

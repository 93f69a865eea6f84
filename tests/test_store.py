"""One store without clients: memtables switch by hand, and flushes, compactions and stops follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import simpy
from lsmlab.models.policies.decisions import Compaction, StallCause
from lsmlab.models.policies.scheduling import Hold, JobState
from lsmlab.models.tree.files import NO_KEYS
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.setting import Setting
from lsmlab.sim.store.column_family import ColumnFamily, MemtableSwitch
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.jobs.merging import Merged
from lsmlab.sim.store.jobs.work import compaction_work, flush_work
from lsmlab.sim.store.manifest import Manifest
from lsmlab.sim.store.memtables import WAL_FULL, WRITE_BUFFER_FULL, Memtables
from lsmlab.sim.store.records import JobRecord, VersionEdit
from lsmlab.sim.store.version_edits import apply_edit, opening_edit
from plain_machine import plain_machine
from running import configuration

ENTRIES = 10_000
"""Writes of a memtable, about 1.2 MB."""


@dataclass
class Store:
    """Database with one column family, and what happened in it."""

    database: Database
    family: ColumnFamily
    env: simpy.Environment
    jobs: list[JobRecord] = field(default_factory=list)
    edits: list[VersionEdit] = field(default_factory=list)
    released: list[tuple[float, int]] = field(default_factory=list)
    """Times at which stopped writers were released, and the job whose end did it."""

    def switch(self, entries: float = ENTRIES, reason: str = WRITE_BUFFER_FULL) -> None:
        """Switch a memtable of `entries` writes."""
        self.database.switch_memtables([MemtableSwitch(0, entries, 124.0 * entries, 148.0 * entries, reason)])

    def settle(self) -> None:
        """Let all jobs end."""
        self.env.run(until=self.env.now + 100.0)
        assert not self.database.background.view.jobs


def store(*overrides: str) -> Store:
    """Open a store of 200,000 keys with 100-byte values on an NVMe drive."""
    config = configuration(
        "engine.version=8.6", "keys=exact", "device=nvme", "workload=fillrandom", "workload.num=200000",
        "workload.value_size=100", "engine.options.max_background_jobs=8", "engine.options.max_write_buffer_number=4",
        *overrides,
    )  # fmt: skip
    phase = Phase(Setting.of(config), np.random.SeedSequence(1).spawn(SEEDS))
    found = Store(phase.databases[0], phase.families[0], phase.env)
    events = found.family.events
    events.job_ended.add(found.jobs.append)
    events.edited.add(found.edits.append)
    events.writers_released.add(lambda time_s, job: found.released.append((time_s, job)))
    return found


# --- memtables and flushes --------------------------------------------------------------------------------------------


def test_a_switched_memtable_becomes_an_l0_file() -> None:
    """Until the commit it is immutable and its WAL occupies space; then only the file does."""
    one = store()
    one.switch()

    assert (len(one.family.immutables), one.database.wals.closed_bytes) == (1, 124.0 * ENTRIES)
    assert not one.database.idle
    one.settle()
    (job,), (file,) = one.jobs, one.family.files()
    assert one.database.idle
    assert one.database.machine.space.used_bytes == pytest.approx(file.size_bytes)
    assert (job.kind, job.reason, job.entries_in) == ("flush", WRITE_BUFFER_FULL, ENTRIES)
    assert job.entries_out == file.entries == len(np.unique(file.keys)) < ENTRIES, "the newest write of each key"


def test_a_flush_waits_for_as_many_memtables_as_it_merges() -> None:
    """With min_write_buffer_number_to_merge=2 one memtable waits, unless another reason than its size forces the flush."""
    two = store("engine.options.min_write_buffer_number_to_merge=2")
    two.switch()
    two.settle()
    assert two.jobs == []
    two.switch()
    two.settle()
    two.switch(reason=WAL_FULL)
    two.settle()

    assert [(job.input_files, job.reason) for job in two.jobs] == [(2, WRITE_BUFFER_FULL), (1, WAL_FULL)]


def test_flushes_commit_in_the_order_of_their_memtables() -> None:
    """A small flush that is written first waits for the large one before it; L0 has the newer file in front."""
    one = store()
    one.switch(100 * ENTRIES)
    one.env.run(until=1e-4)
    one.switch(1000)
    assert one.database.background.view.flushes == 2
    one.settle()
    large, small = one.jobs

    assert large.entries_in > small.entries_in
    assert small.merged_s < large.merged_s <= large.end_s == small.end_s
    assert [edit.job for edit in one.edits] == [large.job, small.job]
    assert [file.entries for file in one.family.tree.l0] == [small.entries_out, large.entries_out]


def test_a_memtable_switch_can_stop_writers_until_a_flush_commits() -> None:
    """With two memtables, the second switch during a flush stops writers; the end of the flush job releases them."""
    one = store("engine.options.max_write_buffer_number=2")
    one.switch()
    assert not one.database.blocked
    one.switch()

    assert (one.database.blocked, one.database.blocked_by) == (True, StallCause.MEMTABLE_STOP)
    one.settle()
    assert not one.database.blocked
    (time_s, job), first = one.released[0], one.jobs[0]
    assert job == first.job
    assert time_s >= first.end_s, "the job also deletes its WAL before its slot is free"


# --- stall conditions -------------------------------------------------------------------------------------------------


def test_l0_files_stop_writers_once_compactions_are_on() -> None:
    """Without automatic compactions 9 files are no reason to stop; switched on, they stop writers until a compaction ends."""
    one = store(
        "engine.options.disable_auto_compactions=true", "engine.options.level0_slowdown_writes_trigger=5",
        "engine.options.level0_stop_writes_trigger=8",
    )  # fmt: skip
    for _ in range(9):
        one.switch()
        one.settle()
        assert one.family.throttle.cause is None
    one.database.retune({"disable_auto_compactions": False})

    assert (one.database.blocked, one.family.throttle.cause) == (True, StallCause.L0_STOP)
    one.settle()
    assert not one.database.blocked
    assert one.jobs[-1].job == one.released[-1][1]


def test_each_flush_during_a_slowdown_lowers_the_delayed_rate() -> None:
    """Behind a compaction of a minute each flush lowers the rate by one or more fifths; its end lifts the slowdown."""
    one = store(
        "engine.options.level0_file_num_compaction_trigger=2", "engine.options.level0_slowdown_writes_trigger=3",
        "engine.options.delayed_write_rate=16MiB/s", "device.write_cap=1MiB/s",
    )  # fmt: skip
    one.switch(30 * ENTRIES)
    one.env.run(until=40.0)
    one.switch(30 * ENTRIES)
    one.env.run(until=80.0)
    states = []
    for _ in range(6):
        one.switch(100)
        one.env.run(until=one.env.now + 1.0)
        states.append((one.family.throttle.cause, one.family.throttle.rate_bytes_per_s / 2**20))

    assert [cause for cause, _ in states] == [None, None, *[StallCause.L0_SLOWDOWN] * 4], states
    fifths = np.log([rate / 16.0 for _, rate in states[2:]]) / np.log(0.8)
    assert fifths == pytest.approx(fifths.round(), abs=1e-3), states
    assert fifths[0] == 0
    assert (np.diff(fifths) > 0.5).all()
    one.settle()
    assert one.family.throttle.cause is None


# --- compactions ------------------------------------------------------------------------------------------------------


def test_the_end_of_a_flush_starts_the_compaction_that_is_due() -> None:
    """The fourth L0 file makes a compaction due: its parent is the flush job, and it starts at the flush's commit."""
    one = store()
    for _ in range(4):
        one.switch()
        one.settle()
    *flushes, compaction = one.jobs

    assert [job.kind for job in flushes] == ["flush"] * 4
    assert (compaction.kind, compaction.start_level, compaction.input_files) == ("compaction", 0, 4)
    assert (compaction.parent, compaction.start_s) == (flushes[-1].job, flushes[-1].end_s)
    assert one.family.tree.file_count(0) == 0
    assert one.database.machine.space.used_bytes == pytest.approx(one.family.tree.total_bytes())


@pytest.mark.parametrize(("jobs", "most"), [(2, 1), (8, 6)])
def test_compactions_keep_to_their_slots(jobs: int, most: int) -> None:
    """A tree with much to do never has more compactions than RocksDB's limit for these jobs, and reaches it."""
    one = store(
        f"engine.options.max_background_jobs={jobs}", "engine.options.max_write_buffer_number=40",
        "engine.options.max_bytes_for_level_base=1MiB", "engine.options.max_bytes_for_level_multiplier=2",
        "engine.options.target_file_size_base=256KiB", "engine.options.level0_slowdown_writes_trigger=4",
    )  # fmt: skip
    running = [0]
    one.family.events.activity.add(lambda _s, _flushes, change: running.append(running[-1] + change))
    for _ in range(30):
        one.switch()
        one.env.run(until=one.env.now + 0.02)
    one.settle()

    assert max(running) == most
    assert running[-1] == 0


def test_outputs_of_a_compaction_hold_the_newest_entry_of_each_key() -> None:
    """Its work is known at the start: sorted files of about the target size, and one list of steps per subcompaction."""
    one = store(
        "engine.options.disable_auto_compactions=true", "engine.options.target_file_size_base=1MiB",
        "engine.options.max_subcompactions=4", "engine.options.max_bytes_for_level_base=4MiB",
    )  # fmt: skip
    for _ in range(6):
        one.switch(4 * ENTRIES)
        one.settle()
    family = one.family
    pick = family.picker.pick(family.tree, [], 0.0)
    assert isinstance(pick, Compaction)
    work = compaction_work(family, pick)

    keys = np.concatenate([f.keys for f in work.outputs])
    assert (np.diff(keys) > 0).all()
    assert work.entries_out == len(keys) == len(np.unique(np.concatenate([f.keys for f in family.files()])))
    assert max(f.size_bytes for f in work.outputs) < 1.5 * 2**20
    assert 1 < len(work.parts) <= 4
    steps = [step for part in work.parts for step in part]
    assert sum(s.write_bytes for s in steps) == pytest.approx(work.output_bytes)
    assert sum(s.read_bytes for s in steps) == pytest.approx(work.input_bytes)
    assert sum(s.cpu_s for s in steps) == pytest.approx(work.cpu_s)


def test_a_flush_without_entries_writes_no_file() -> None:
    """A memtable of no keys, such as of deletions of nothing, costs no bytes."""
    empty = flush_work(store().family, Merged(NO_KEYS), 0.0)

    assert empty.file is None
    assert sum(step.write_bytes for step in empty.steps) == 0.0


# --- halting ----------------------------------------------------------------------------------------------------------


def halting() -> tuple[Store, int]:
    """Return a store whose scheduler can halt jobs, 10 ms into a compaction of L0, and the number of the compaction."""
    unlimited = "engine.scheduler.limit_reads=false"  # no tokens of the limiter gather for a halted job
    one = store("engine=silk", "engine.scheduler.chunk=64KiB", "engine.options.level0_file_num_compaction_trigger=2", unlimited)
    for _ in range(2):
        one.switch(4 * ENTRIES)
        while not one.database.background.view.compactions and one.database.background.view.flushes:
            one.env.step()
    one.env.run(until=one.env.now + 0.01)
    (job,) = one.database.background.view.jobs
    return one, job.job


def test_a_halted_compaction_goes_on_where_it_stopped() -> None:
    """Halted for 5 s, it ends 5 s later with the same outputs, and counts the time as halted."""
    plain, _ = halting()
    plain.settle()
    one, job = halting()
    one.family.compacting.pause(job, Hold.LOAD)
    one.env.run(until=one.env.now + 1.0)
    assert one.database.background.view.jobs[0].state is JobState.HALTED
    one.env.run(until=one.env.now + 4.0)
    one.family.compacting.resume(job)
    one.settle()

    assert one.jobs[-1].halted_s == pytest.approx(5.0)
    assert one.jobs[-1].end_s == pytest.approx(plain.jobs[-1].end_s + 5.0, abs=0.01)
    assert one.jobs[-1].write_bytes == plain.jobs[-1].write_bytes


def test_an_aborted_compaction_leaves_the_tree_and_is_done_again() -> None:
    """Its partial outputs are deleted, its inputs are free for the next compaction, and its bytes count as discarded."""
    one, job = halting()
    files = one.family.files()
    one.family.compacting.discard(job)
    one.env.run(until=one.env.now + 1e-6)

    assert one.family.files() == files
    one.settle()
    kinds = [(record.kind, record.job == job) for record in one.jobs if record.kind != "flush"]
    assert kinds == [("discarded", True), ("compaction", False)]
    assert one.database.machine.space.used_bytes == pytest.approx(one.family.tree.total_bytes())


# --- errors -----------------------------------------------------------------------------------------------------------


def test_a_flush_without_room_stops_the_database_until_space_is_free() -> None:
    """No job starts while the device is full; then the memtable is flushed first, and writes are accepted after it."""
    one = store()
    space = one.database.machine.space
    one.switch()
    space.limit_bytes = space.used_bytes + 1000.0
    one.env.run(until=3.0)
    assert (one.database.blocked, one.family.throttle.cause) == (True, StallCause.BACKGROUND_ERROR)
    assert (len(one.family.files()), len(one.family.immutables), one.database.background.view.flushes) == (0, 1, 0)

    space.limit_bytes = 1e9
    one.env.run(until=20.0)
    assert (len(one.family.files()), one.database.blocked, one.database.idle) == (1, False, True)
    (failed, flushed), (error,) = one.jobs, one.database.errors.records
    assert (failed.kind, flushed.kind) == ("discarded", "flush")
    assert (error.start_s, error.end_s) == (failed.end_s, flushed.end_s)


# --- hot keys ---------------------------------------------------------------------------------------------------------


class Updates:
    """Source of memtables: keys 0 to 9, of which key 3 has all writes but nine."""

    def memtable_with_counts(self, family: int, entries: float) -> tuple[Any, Any, Any]:
        """Return the ten keys and their writes."""
        return np.arange(10), None, np.where(np.arange(10) == 3, entries - 9.0, 1.0)

    def memtable(self, family: int, entries: float) -> tuple[Any, Any]:
        """Return the ten keys."""
        return np.arange(10), None


class Weights:
    """Each carried key represents two real ones."""

    def weights(self, keys: Any) -> float:
        """Return two."""
        return 2.0


class MostUpdated:
    """Rule that keeps keys with more than ten writes."""

    keeps_hot_keys = True

    def hot(self, updates: Any, keys: Any, entries: float) -> Any:
        """Return the mask of keys with more than ten writes."""
        return updates > 10.0


def test_hot_keys_stay_in_memory_and_are_logged_again() -> None:
    """The flush writes the other nine keys; the next WAL also contains the key that stayed; a last flush writes all."""
    memtables = Memtables(0, Updates(), Weights())
    rule: Any = MostUpdated()
    first = memtables.full(1000.0, 5000.0, rule)
    assert first is not None
    assert (first.keys.tolist(), first.entries, first.wal_bytes) == ([0, 1, 2, 4, 5, 6, 7, 8, 9], 18.0, 5000.0)
    assert (memtables.kept_hot_keys.keys.tolist(), memtables.kept_hot_keys.entries) == ([3], 2.0)

    second = memtables.full(1000.0, 5000.0, rule)
    assert second is not None
    assert second.wal_bytes == pytest.approx(5000.0 * 1.002)
    last = memtables.all_keys(2.0)
    assert last is not None
    assert last.keys.tolist() == [3]
    assert memtables.all_keys(0.0) is None


# --- versions ---------------------------------------------------------------------------------------------------------


def test_an_edit_is_told_and_counts_written_bytes_once() -> None:
    """A moved file is no new bytes of its level; the edit names job, time and files."""
    one = store()
    one.switch()
    one.settle()
    (file,) = one.family.tree.l0
    apply_edit(one.family, 7, [(0, [file])], [(3, [file])])

    assert dict(one.family.written_bytes) == {0: file.size_bytes, 3: 0}
    assert (one.edits[-1].job, one.edits[-1].time_s) == (7, one.env.now)
    assert list(one.family.tree.files_of(3)) == [file]


def test_the_opening_edit_builds_the_tree() -> None:
    """Applied to an empty tree, the edit of a tree gives the same files in the same levels."""
    one = store()
    for _ in range(7):
        one.switch()
        one.settle()
    tree, again = one.family.tree, Tree()
    again.install((), opening_edit(tree, 0.0).added)

    assert tree.file_count(0) == 3
    assert [list(again.files_of(level)) for level in range(7)] == [list(tree.files_of(level)) for level in range(7)]


def test_new_options_take_effect_with_the_version_that_they_install() -> None:
    """A lower trigger starts a compaction at once; the size of the next memtable is the new one."""
    one = store("engine.options.level0_file_num_compaction_trigger=10")
    for _ in range(3):
        one.switch()
        one.settle()
    sizes = []
    family = one.family
    family.events.memtable_resized.add(lambda _: sizes.append(family.memtable_options.options.write_buffer_size))
    one.database.retune({"level0_file_num_compaction_trigger": 2, "write_buffer_size": 1 << 21})
    one.settle()

    assert sizes == [1 << 21]
    assert (one.jobs[-1].kind, one.jobs[-1].input_files) == ("compaction", 3)


# --- MANIFEST ---------------------------------------------------------------------------------------------------------


def test_edits_that_wait_for_the_manifest_share_the_next_write() -> None:
    """With 0.1 s per write, edits at 0, 0.03 and 0.06 s are durable at 0.1, 0.2 and 0.2 s; a later one takes 0.1 s."""
    env, ends = simpy.Environment(), []
    manifest = Manifest(env, plain_machine(env))

    def job(at_s: float) -> Events:
        yield env.timeout(at_s)
        yield from manifest.commit()
        ends.append(env.now)

    for at_s in (0.0, 0.03, 0.06, 0.5):
        env.process(job(at_s))
    env.run()

    assert ends == pytest.approx([0.1, 0.2, 0.2, 0.6])


def test_states_are_recorded_when_they_change() -> None:
    """No two rows of states, or of a level, are equal, and the last ones are those of the tree."""
    opened = store()
    for _ in range(6):
        opened.switch()
        opened.settle()
    recorder, tree = opened.family.recorder, opened.family.tree
    states = np.array(recorder.states).reshape(-1, recorder.STATE_WIDTH)
    levels = [np.array(rows).reshape(-1, 3) for rows in recorder.level_states]

    assert all(len(rows) < 2 or (np.diff(rows[:, 1:], axis=0) != 0).any(axis=1).all() for rows in (states, *levels))
    assert [len(tree.l0), 0] == states[-1, 1:3].tolist()
    assert [(tree.size_bytes(i), tree.file_count(i)) for i, rows in enumerate(levels) if len(rows)] == [
        tuple(rows[-1, 1:]) for rows in levels if len(rows)
    ]
    assert sum(map(len, levels)) < len(levels) * len(opened.edits)


def test_a_manifest_write_without_waiting_edits_is_one_event() -> None:
    """The end of a write is told only to edits that wait for it."""
    env = simpy.Environment()
    manifest = Manifest(env, plain_machine(env))
    env.process(manifest.commit())
    steps = 0
    while env.peek() < float("inf"):
        env.step()
        steps += 1

    assert steps == 3  # begin of the process, end of the write, end of the process

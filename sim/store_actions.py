"""Actions on the databases of a run: as phases, and beside clients at their times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import simpy
from lsmlab.models import since
from lsmlab.models.policies.rocksdb.manual import flush_would_stall
from lsmlab.models.tree.files import KeyRange
from lsmlab.models.workloads.base import StoreAction, TimedAction, WorkloadPhase
from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.results.phase_records import PhaseRecord, TreeState
from lsmlab.sim.setup import Setup
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.ingest import external_files, ingest
from lsmlab.sim.store.manual import compact_range, delete_files_in_range
from lsmlab.sim.store.memtables import INGESTION, MANUAL_COMPACTION, MANUAL_FLUSH

_FLUSHES: Final[Mapping[StoreAction, str]] = {
    StoreAction.FLUSH: MANUAL_FLUSH, StoreAction.COMPACT: MANUAL_COMPACTION,
}  # fmt: skip
"""Actions that begin with a flush of all memtables, with RocksDB's reasons."""


class StoreActions:
    """Performs actions on all databases of one workload at once."""

    def __init__(self, env: simpy.Environment, setup: Setup, databases: Sequence[Database], clients: ClientLoad) -> None:
        self._env = env
        self._setup = setup
        self._databases = databases
        self._families = [family for database in databases for family in database.families]
        self._clients = clients
        self.ended: list[PhaseRecord] = []
        """Actions beside clients that have ended, by time of their end."""
        self._running: dict[int, tuple[str, float]] = {}
        """Name and start of those that have begun, by the number of their clock."""
        self._numbers = itertools.count()

    def tree_state(self) -> TreeState:
        """Return the present size of all trees together."""
        return TreeState.sum([TreeState.of(family.tree) for family in self._families])

    def run(self, step: WorkloadPhase) -> Events:
        """Perform an action and wait for its end on all databases."""
        if step.action is StoreAction.WAIT:
            yield self._env.timeout(step.duration_s or 0.0)
        else:
            yield self._env.all_of([self._env.process(self._on(database, step)) for database in self._databases])

    def start(self, actions: Sequence[TimedAction]) -> None:
        """Start the clocks of actions beside the present clients; times count from now."""
        for timed in actions:
            self._env.process(self._beside(timed))

    def _beside(self, timed: TimedAction) -> Events:
        """Perform an action at its times, until the clients have finished; one that is late waits for the next time."""
        number, began_s, at_s = next(self._numbers), self._env.now, timed.at_s
        groups = self._clients.present
        for count in itertools.count():
            yield self._env.timeout(max(0.0, began_s + at_s - self._env.now))
            if all(group.finished or group.spec.background for group in groups):
                return
            self._running[number] = timed.step.name, self._env.now
            yield from self.run(timed.number(count))
            self._note(number)
            if timed.every_s is None:
                return
            at_s += timed.every_s * max(1, math.ceil((self._env.now - began_s - at_s) / timed.every_s))

    def close(self) -> None:
        """Note the actions that have not ended, at the end of the run."""
        for number in list(self._running):
            self._note(number, unfinished=True)

    def _note(self, number: int, *, unfinished: bool = False) -> None:
        name, start_s = self._running.pop(number)
        self.ended.append(PhaseRecord(name, start_s, self._env.now, [], self.tree_state(), unfinished))

    def _ranges(self, step: WorkloadPhase) -> list[KeyRange]:
        """Return the key codes of an action's range, by column family of a database."""
        first, last = step.span
        # the code of a key is twice its position in key order (models/tree/keys.py)
        return [
            KeyRange(2 * math.ceil(first * f.sample.population), 2 * math.ceil(last * f.sample.population) - 1)
            for f in self._setup.families
        ]

    def _on(self, database: Database, step: WorkloadPhase) -> Events:
        if step.action in _FLUSHES:
            yield from self._flush_without_stall(database, step)
        if step.action is StoreAction.COMPACT:
            yield from compact_range(database, step.compact_range)
        if step.action is StoreAction.DELETE_RANGE:
            yield from database.until(lambda: not database.blocked)  # a range tombstone is a write
            for family, keys in zip(database.families, self._ranges(step), strict=True):
                family.memtables.delete_range(keys, self._entries(family))
        if step.action is StoreAction.DELETE_FILES_IN_RANGE:
            yield from delete_files_in_range(database, self._ranges(step))
        if step.action is StoreAction.INGEST:
            yield from ingest(
                database, external_files(database, self._ranges(step), step.files), self._entries,
                lambda families: self._flush(database, families, INGESTION), move_files=step.move_files,
            )  # fmt: skip
        if step.action is StoreAction.WAIT_FOR_COMPACTION:
            yield from database.until(lambda: database.idle)

    def _entries(self, family: ColumnFamily) -> float:
        """Return the present entries of a family's active memtable."""
        self._clients.refresh()
        return self._clients.unflushed()[family.number]

    def _flush_without_stall(self, database: Database, step: WorkloadPhase) -> Events:
        """Flush all memtables, once this would stall no writer (`DBImpl::FlushMemTable`)."""
        version = database.first_options[0]
        awaits = version >= since.FLUSH_AWAITS_STALLS
        if step.action is StoreAction.COMPACT:
            awaits = step.compact_range.awaits_stalls(version)
        before = {family: family.memtables_switched for family in database.families}
        if awaits:
            yield from database.until(lambda: database.idle or not any(map(_would_stall, database.families)))
        yield from database.until(lambda: not database.blocked)
        families = [family for family, active in before.items() if family.memtables_switched - len(family.immutables) <= active]
        yield from self._flush(database, families, _FLUSHES[step.action or StoreAction.FLUSH])

    def _flush(self, database: Database, families: Collection[ColumnFamily], reason: str) -> Events:
        """Make the memtables of families immutable and wait until they are flushed."""
        self._clients.flush([family.number for family in families], reason)
        newest = {family: family.immutables[-1] for family in families if family.immutables}
        yield from database.until(lambda: not any(last in family.immutables for family, last in newest.items()))


def _would_stall(family: ColumnFamily) -> bool:
    engine = family.version_options
    return flush_would_stall(engine.throttle, family.throttle, family.stall_inputs, engine.options)

"""Phases of a workload with phases: clients, and actions on the store, one after the other on the same databases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import simpy
from lsmlab.models.tree.files import KeyRange
from lsmlab.models.workloads.base import Clients, StoreAction, WorkloadPhase
from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.results.phases import PhaseRecord, TreeState
from lsmlab.sim.setup import Setup
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.ingest import ingest
from lsmlab.sim.store.manual import compact_range, delete_files_in_range
from lsmlab.sim.store.memtables import INGESTION, MANUAL_COMPACTION, MANUAL_FLUSH

LONGEST_RUN_S: Final = 1e8
"""Simulated time at which a run without `workload.duration` ends: about three years."""
_FLUSHES: Final[Mapping[StoreAction, str]] = {
    StoreAction.FLUSH: MANUAL_FLUSH, StoreAction.COMPACT: MANUAL_COMPACTION, StoreAction.INGEST: INGESTION,
}  # fmt: skip
"""Actions that begin with a flush of all memtables, with RocksDB's reasons."""


class PhaseSteps:
    """Goes through the phases and records each."""

    def __init__(
        self, env: simpy.Environment, setup: Setup, databases: Sequence[Database], clients: ClientLoad,
        begin_fill: Callable[[Sequence[Clients]], None],
    ) -> None:  # fmt: skip
        """`begin_fill`: to call with the client groups that write from now on."""
        self._env = env
        self._setup = setup
        self._databases = databases
        self._families = [family for database in databases for family in database.families]
        self._clients = clients
        self._begin_fill = begin_fill
        self.ended: list[PhaseRecord] = []
        """Phases that have ended."""
        self._phase_done: Callable[[], object] | None = None
        """To call when the clients of the present phase have finished."""
        clients.finished.add(self._clients_done)

    def run(self, finished: simpy.Event) -> Events:
        """Go through the phases of the workload, one after the other on the same databases."""
        for step in self._setup.workload.phases:
            start_s, groups = self._env.now, []
            if step.clients:
                groups = self._clients.begin(step.clients, LONGEST_RUN_S if step.duration_s is None else step.duration_s)
                self._begin_fill(step.clients)
                yield from self._until_done(step)
                self._clients.stop()
            else:
                yield from self._act(step)
            states = [TreeState.of(family.tree) for family in self._families]
            self.ended.append(PhaseRecord(step.name, start_s, self._env.now, groups, TreeState.sum(states)))
        finished.succeed()

    def _clients_done(self) -> None:
        if self._phase_done is not None:
            self._phase_done()
            self._phase_done = None

    def _until_done(self, step: WorkloadPhase) -> Events:
        """Wait until all operations of a phase are done, or for its length."""
        done = self._env.event()
        self._phase_done = done.succeed
        if not all(group.finished or group.spec.background for group in self._clients.present):
            yield done if step.duration_s is None else self._env.any_of([done, self._env.timeout(step.duration_s)])
        self._phase_done = None

    def _act(self, step: WorkloadPhase) -> Events:
        """Do the action of a phase on all databases at once."""
        if step.action is StoreAction.WAIT:
            yield self._env.timeout(step.duration_s or 0.0)
            return
        if step.action is StoreAction.DELETE_RANGE:
            self._clients.refresh()
            for family, keys, entries in zip(self._families, self._ranges(step), self._clients.unflushed(), strict=True):
                family.memtables.delete_range(keys, entries)
            return
        reason = _FLUSHES.get(step.action) if step.action is not None else None
        if reason is not None:
            self._clients.flush(reason)
        yield self._env.all_of([self._env.process(self._act_on(database, step)) for database in self._databases])

    def _ranges(self, step: WorkloadPhase) -> list[KeyRange]:
        """Return the key codes of an action's range, by column family of each database."""
        first, last = step.span
        # the code of a key is twice its position in key order (models/tree/keys.py)
        own = [
            KeyRange(2 * math.ceil(first * f.sample.population), 2 * math.ceil(last * f.sample.population) - 1)
            for f in self._setup.families
        ]
        return own * len(self._databases)

    def _act_on(self, database: Database, step: WorkloadPhase) -> Events:
        if step.action in _FLUSHES:
            yield from database.until(lambda: not database.has_immutables)
        if step.action is StoreAction.COMPACT:
            yield from compact_range(database, step.compact_range)
        if step.action is StoreAction.DELETE_FILES_IN_RANGE:
            yield from delete_files_in_range(database, self._ranges(step)[: len(database.families)])
        if step.action is StoreAction.INGEST:
            for family, keys in zip(database.families, self._ranges(step), strict=False):
                yield from ingest(family, keys, step.files)
        if step.action is StoreAction.WAIT_FOR_COMPACTION:
            yield from database.until(lambda: database.idle)

"""Phase of a run: one workload on its databases, from an idle start to the last operation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import simpy
from lsmlab.models.policies.rocksdb.due_files import least_age_s, trigger_period_s
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import Tombstones, merge_runs
from lsmlab.models.workloads.base import Clients, WriteStream, fill_together
from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.clients.control import start_control
from lsmlab.sim.machine.make import make_machine
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.machine.space import Faults
from lsmlab.sim.machine.usage_log import UsageLog
from lsmlab.sim.phase_steps import LONGEST_RUN_S, PhaseSteps
from lsmlab.sim.preload import settled_tree
from lsmlab.sim.progress import Progress
from lsmlab.sim.setting import Setting
from lsmlab.sim.setup import Setup, set_up
from lsmlab.sim.store.column_family import ColumnFamily, FamilyParts
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.event_log import EventLog
from lsmlab.sim.store.memtables import Floats, sum_updates
from lsmlab.sim.store.recorder import StoreRecorder
from lsmlab.sim.store.write_buffer_manager import WriteBufferManager

if TYPE_CHECKING:
    from lsmlab.sim.clients.family_reads import FamilyReads

SEEDS: Final = 5
"""Number of random streams of a phase; their fixed order gives all engines the same clients and keys."""
_PROGRESS_STEPS: Final = 100


class Fills:
    """Source of memtable contents, with one random stream and one cursor per column family of each database."""

    def __init__(self, setup: Setup, seeds: np.random.SeedSequence) -> None:
        databases = setup.workload.shards
        own = [seeds.spawn(databases) for _ in setup.families]
        self._rngs = [np.random.default_rng(own[f][d]) for d in range(databases) for f in range(len(setup.families))]
        self._short_lived = [f.share.load.short_lived for f in setup.families] * databases
        self._places = [(database, family) for database in range(databases) for family in setup.families]
        self.cursors = [family.workload.cursor(database) for database, family in self._places]
        self._shares: list[float] = []
        """Share of the writes of each client group that writes."""
        self._streams: list[list[WriteStream]] = []
        """Their streams, by column family of each database."""
        self.begin(setup.workload.rounds[0].clients)

    def begin(self, clients: Sequence[Clients]) -> None:
        """Take the keys from the groups of a phase from now on, unless none of them writes.

        The memtable at the border of two phases has the keys of the later one.
        """
        writers = [c for c in clients if c.mix.writes > 0]
        if not writers and self._streams:
            return
        total = sum(c.mix.writes * c.threads for c in writers)
        self._shares = [c.mix.writes * c.threads / total for c in writers]
        self._streams = [
            [c.start(family.sample, cursor) for c in writers]
            for (_, family), cursor in zip(self._places, self.cursors, strict=True)
        ]

    def memtable(self, family: int, entries: float) -> tuple[KeyArray, Tombstones]:
        """Return the distinct keys of the next `entries` writes to column family number `family`, newest version each."""
        streams, rng = self._streams[family], self._rngs[family]
        if self._short_lived[family]:
            keys, _ = fill_together(streams, [0.5 * entries * s for s in self._shares], rng)
            return keys, np.ones(len(keys), dtype=np.bool_)
        if len(streams) == 1:
            return streams[0].fill(entries, rng)
        return fill_together(streams, [entries * s for s in self._shares], rng)

    def memtable_with_counts(self, family: int, entries: float) -> tuple[KeyArray, Tombstones, Floats]:
        """Return the same as `memtable`, and the number of writes of each key."""
        rng, counts = self._rngs[family], [entries * s for s in self._shares]
        parts = [stream.distinct_with_counts(n, rng) for stream, n in zip(self._streams[family], counts, strict=True) if n > 0]
        keys, tombstones = merge_runs([(keys, flags) for keys, flags, _ in parts])
        return keys, tombstones, sum_updates([(keys, updates) for keys, _, updates in parts])[1]


class Phase:
    """Machine, databases and clients of one workload."""

    def __init__(
        self, setting: Setting, seeds: Sequence[np.random.SeedSequence], like: Mapping[str, KeySample] | None = None
    ) -> None:
        """Open the databases. `like`: keys by column family of another phase on the same databases, shared with this phase."""
        self.env = env = simpy.Environment()
        arrivals, keys, machine, reads, self._preload_seed = seeds
        self.setup = set_up(setting, like)
        rng = np.random.default_rng(machine)
        self.machine = make_machine(env, setting.engine, setting.workload, setting.host, setting.devices, rng)
        self.machine.faults = Faults(setting.conditions.compaction_errors)
        self.fills = Fills(self.setup, keys)
        self.databases = [
            self._open(number, np.random.default_rng(own), checks=setting.checks)
            for number, own in enumerate(machine.spawn(setting.workload.shards))
        ]
        self._arrivals_rng = np.random.default_rng(arrivals)
        self._reads_rng = np.random.default_rng(reads)
        self.clients: ClientLoad
        """Clients of the workload; set by `run`."""
        self.reads: FamilyReads | None = None
        self.steps: PhaseSteps | None = None
        """Phases of the workload; None: it has none."""
        self.usage = UsageLog(self.machine)
        for database in self.databases:
            database.stall_changed.add(self.usage.sample)

    def _open(self, number: int, rng: np.random.Generator, checks: bool) -> Database:
        setup, engine = self.setup, self.setup.engine
        rate = engine.throttle.initial().rate_bytes_per_s
        database = Database(number, self.env, self.machine, engine.scheduler(), rng, rate)
        database.write_buffer_manager = WriteBufferManager(engine.options.db_write_buffer_size)
        for family in setup.families:
            place = number * len(setup.families) + len(database.families)
            recorder = StoreRecorder(number, family.engine.options.num_levels, family.name)
            written = family.share.writes > 0.0
            parts = FamilyParts(
                place, family.name, family.engine, family.content, self.fills, recorder, written, checks
            )
            database.add_family(parts)
        return database

    @property
    def families(self) -> list[ColumnFamily]:
        """Column families of all databases."""
        return [family for database in self.databases for family in database.families]

    def preload(self) -> None:
        """Start with trees that contain the preloaded keys of the workload, with no compaction due."""
        workload = self.setup.workload
        if workload.preload_keys > 0:
            families, setups = self.families, self.setup.families * len(self.databases)
            places = self._preload_seed.spawn(len(families))
            for family, setup, place in zip(families, setups, places, strict=True):
                if setup.share.writes + setup.share.reads > 0.0 and setup.workload.preload_keys > 0:
                    rng = np.random.default_rng(place)
                    family.preload(settled_tree(family, setup.workload, setup.sample, rng))

    def log_events(self) -> list[EventLog]:
        """Start to log version edits and memtable switches. Return one log per column family."""
        logs = [
            # the code of a key is twice its position in key order (models/tree/keys.py)
            EventLog(family.database.number, family.name, last_code=2.0 * setup.sample.population)
            for family, setup in zip(self.families, self.setup.families * len(self.databases), strict=True)
        ]
        for log, family in zip(logs, self.families, strict=True):
            log.observe(family.events)
        return logs

    def run(self, progress: Progress | None = None) -> None:
        """Simulate until the end of the workload."""
        workload, env = self.setup.workload, self.env
        until_s = LONGEST_RUN_S if workload.phases or workload.duration_s is None else workload.duration_s
        finished = env.event()

        self.reads = self._tree_reads()
        self.clients = ClientLoad(env, self.setup, self.machine, self.databases, until_s, self._arrivals_rng, self.reads)
        if not workload.phases:
            self.clients.finished.add(finished.succeed)
        start_control(env, self.databases, self.clients, self.machine, workload, self.reads)
        self.clients.start()
        self._look_at_ages()
        if self.setup.setting.device_changes:
            env.process(self._change_device())
        if workload.phases:
            self.steps = PhaseSteps(env, self.setup, self.databases, self.clients, self.fills.begin)
            env.process(self.steps.run(finished))
        _advance(env, until_s, finished, progress)

    def _look_at_ages(self) -> None:
        for database in self.databases:
            engines = [family.latest_options for family in database.families]
            period_s = min(trigger_period_s(engine.options, engine.version) for engine in engines)
            if period_s < math.inf:
                self.env.process(database.look_at_ages(period_s, min(least_age_s(engine.options) for engine in engines)))

    def _change_device(self) -> Events:
        """Change the device at the times of `conditions.changes`."""
        for change in self.setup.setting.device_changes:
            yield self.env.timeout(max(0.0, change.at_s - self.env.now))
            self.machine.space.limit_bytes = math.inf if change.space_bytes is None else change.space_bytes
            self.machine.device.replace(change.setup.device)

    def settle(self) -> None:
        """Account for the time up to now in all stations and recorders, at the end of the phase."""
        self.clients.settle()
        self.machine.device.settle()
        self.machine.cores.settle()
        self.usage.sample()
        for family in self.families:
            family.close()

    def run_until_idle(self, within_s: float = math.inf) -> None:
        """Stop the clients, flush all memtables and run until no compaction is due, or for `within_s` of simulated time."""
        self.clients.stop()
        for family, entries in zip(self.families, self.clients.unflushed(), strict=True):
            family.flush_all(entries)
        end_s = self.env.now + within_s
        while not all(database.idle for database in self.databases) and self.env.now < end_s:
            self.env.step()
        self.machine.device.settle()

    def _tree_reads(self) -> FamilyReads | None:
        if not any(c.mix.gets + c.mix.scan > 0 for c in self.setup.workload.clients):
            return None
        from lsmlab.sim.clients.family_reads import FamilyReads

        return FamilyReads(self.env, self.machine, self.families, self.setup, self.fills.cursors, self._reads_rng)


def _advance(env: simpy.Environment, until_s: float, finished: simpy.Event, progress: Progress | None) -> None:
    deadline = env.timeout(until_s)
    end = env.any_of([finished, deadline])
    if progress is None:
        env.run(until=end)
        return
    # no event of the simulation updates the bar, so results are the same with and without a bar
    step_s = min(until_s, 86400.0) / _PROGRESS_STEPS
    while not end.processed:
        target_s = min(env.now + step_s, until_s)
        while env.peek() <= target_s and not end.processed:
            env.step()
        progress(min(target_s, env.peek()), until_s)
        if env.peek() > target_s:
            step_s = max(step_s, env.peek() - env.now)

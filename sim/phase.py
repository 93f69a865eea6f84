"""Phase of a run: one workload on its databases, from an idle start to the last operation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import simpy
from lsmlab.models.devices.conditions import DeviceChange
from lsmlab.models.policies.rocksdb.due_files import least_age_s, trigger_period_s
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import Tombstones, merge_runs
from lsmlab.models.workloads.base import Clients, WriteStream, fill_together
from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.clients.control import start_control
from lsmlab.sim.databases import Sharing
from lsmlab.sim.machine.client_shares import ClientSets
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.machine.make import make_machine, most_threads
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
from lsmlab.sim.store.held_snapshots import hold_snapshots
from lsmlab.sim.store.memtables import Floats, sum_updates
from lsmlab.sim.store.recorder import StoreRecorder
from lsmlab.sim.store.snapshots import Snapshots
from lsmlab.sim.store.thread_pools import ThreadPool, ThreadPools
from lsmlab.sim.store.write_buffer_manager import SharedMemtables
from lsmlab.sim.store_actions import StoreActions

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


@dataclass(frozen=True, slots=True)
class Process:
    """What databases that one process has opened share."""

    machine: Machine
    """Machine behind the rate limiter of the process."""
    pools: ThreadPools | None = None
    """Threads; None: each database has as many as it asks for."""
    memtables: SharedMemtables | None = None
    """Memtables of one write buffer manager; None: each database has its own, or none."""

    @classmethod
    def of(cls, machine: Machine, settings: Sequence[Setting], rng: np.random.Generator) -> Process:
        """Return the process of databases with these settings."""
        sharing, engine = settings[0].sharing, settings[0].engine
        most = [one.engine.scheduler().most_jobs() for one in settings] if len(settings) > 1 else [(math.inf, math.inf)]
        flushes, compactions = (max(1, *(jobs[kind] for jobs in most), 1) for kind in (0, 1))
        pools = ThreadPools(
            ThreadPool(sharing.flush_threads or flushes), ThreadPool(sharing.compaction_threads or compactions)
        )
        manager = sharing.manager(engine) if sharing.write_buffer_manager is not None else None
        memtables = None if manager is None else SharedMemtables(machine.env, manager, rng.spawn(1)[0])
        return cls(machine, pools, memtables)


@dataclass(frozen=True, slots=True)
class Beside:
    """What the databases of a phase share with those of other phases."""

    setup: Setup
    """Setup of the phase, which others of the same kind have, too."""
    process: Process
    client_sets: ClientSets
    number: int
    """Of the first database of the phase among all on the machine."""


class Phase:
    """Machine, databases and clients of one workload."""

    def __init__(
        self, setting: Setting, seeds: Sequence[np.random.SeedSequence], like: Mapping[str, KeySample] | None = None,
        beside: Beside | None = None,
    ) -> None:  # fmt: skip
        """Open the databases.

        `like`: keys by column family of another phase on the same databases, shared with this phase. `beside`: what the
        databases share with those of other phases; None: they are alone on their machine.
        """
        arrivals, keys, machine, reads, self._preload_seed = seeds
        if beside is None:
            self.env = simpy.Environment()
            self.setup = set_up(setting, like)
            rng = np.random.default_rng(machine)
            threads = most_threads(setting.engine, setting.workload)
            self.machine = make_machine(
                self.env, setting.engine, threads, setting.host, setting.devices, rng, setting.cold_device, setting.wal_device
            )
            self._client_sets = ClientSets(self.machine)
            self.machine.faults = Faults(setting.conditions.compaction_errors)
            self._process = Process.of(self.machine, [setting], rng) if setting.sharing != Sharing() else Process(self.machine)
            self._first = 0
        else:
            self._process, self.setup, self._client_sets = beside.process, beside.setup, beside.client_sets
            self.machine, self._first = beside.process.machine, beside.number
            self.env = self.machine.env
        self.fills = Fills(self.setup, keys)
        self.databases = [
            self._open(number, np.random.default_rng(own), checks=setting.checks)
            for number, own in enumerate(machine.spawn(setting.workload.shards))
        ]
        """By number in this phase; `Database.number` counts those of all phases on the machine."""
        self._arrivals_rng = np.random.default_rng(arrivals)
        self._reads_rng = np.random.default_rng(reads)
        self.clients: ClientLoad
        """Clients of the workload; set by `run`."""
        self.actions: StoreActions
        """Actions on the databases; set by `run`."""
        self.reads: FamilyReads | None = None
        self.steps: PhaseSteps | None = None
        """Phases of the workload; None: it has none."""
        self.usage = UsageLog(self.machine)
        for database in self.databases if beside is None else ():
            database.stall_changed.add(self.usage.sample)

    def _open(self, number: int, rng: np.random.Generator, checks: bool) -> Database:
        setup, engine = self.setup, self.setup.engine
        rate = engine.throttle.initial().rate_bytes_per_s
        database = Database(self._first + number, self.env, self.machine, engine.scheduler(), rng, rate, self._process.pools)
        if setup.setting.conditions.snapshots:
            database.snapshots = Snapshots()
        manager = setup.setting.sharing.manager(engine)
        if self._process.memtables is not None:
            database.shared_memtables = self._process.memtables
        elif manager is not None:
            database.shared_memtables = SharedMemtables(self.env, manager, rng)
        for family in setup.families:
            place = number * len(setup.families) + len(database.families)
            recorder = StoreRecorder(database.number, family.engine.options.num_levels, family.name)
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
        finished = self.start()
        if self.setup.setting.device_changes:
            self.env.process(change_device(self.machine, self.setup.setting.device_changes))
        advance(self.env, self.until_s, finished, progress)

    @property
    def until_s(self) -> float:
        """Time at which the workload ends at the latest, in s."""
        workload = self.setup.workload
        return LONGEST_RUN_S if workload.phases or workload.duration_s is None else workload.duration_s

    def start(self) -> simpy.Event:
        """Start the clients now; return the event of their end."""
        finished = self.env.event()
        self.reads = self._tree_reads()
        self.clients = ClientLoad(
            self.env, self.setup, self.machine, self.databases, self.until_s, self._arrivals_rng, self.reads,
            self._client_sets.add(),
        )  # fmt: skip
        if not self.setup.workload.phases:
            self.clients.finished.add(finished.succeed)
        start_control(self.env, self.databases, self.clients, self.machine, self.setup.workload, self.reads)
        self.clients.start()
        self._look_at_ages()
        for held in self.setup.setting.conditions.snapshots:
            self.env.process(hold_snapshots(self.env, self.databases, held, self._unflushed))
        self.actions = StoreActions(self.env, self.setup, self.databases, self.clients)
        self.actions.start(self.setup.workload.actions)
        if phases := self.setup.workload.phases:
            self.steps = PhaseSteps(self.env, phases, self.actions, self.clients, self.fills.begin)
            self.env.process(self.steps.run(finished))
        return finished

    def _unflushed(self) -> list[float]:
        """Return the entries in the active memtable of each column family now."""
        self.clients.refresh()
        return self.clients.unflushed()

    def _look_at_ages(self) -> None:
        for database in self.databases:
            engines = [family.latest_options for family in database.families]
            period_s = min(trigger_period_s(engine.options, engine.version) for engine in engines)
            if period_s < math.inf:
                self.env.process(database.look_at_ages(period_s, min(least_age_s(engine.options) for engine in engines)))

    def settle(self) -> None:
        """Account for the time up to now in all stations and recorders, at the end of the phase."""
        self.clients.settle()
        self.actions.close()
        for volume in self.machine.volumes:
            volume.device.settle()
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

        return FamilyReads(
            self.env, self.machine, self.families, self.setup, self.fills.cursors, self._reads_rng, self._client_sets.patience
        )


def change_device(machine: Machine, changes: Sequence[DeviceChange]) -> Events:
    """Change the device at the times of `conditions.changes`."""
    for change in changes:
        yield machine.env.timeout(max(0.0, change.at_s - machine.env.now))
        machine.space.limit_bytes = math.inf if change.space_bytes is None else change.space_bytes
        machine.device.replace(change.setup.device)


def advance(env: simpy.Environment, until_s: float, finished: simpy.Event, progress: Progress | None) -> None:
    """Simulate until the event `finished`, or the time `until_s`."""
    deadline = env.timeout(until_s)
    end = env.any_of([finished, deadline])
    if progress is None:
        env.run(until=end)
        return
    # no event of the simulation updates the bar, so results are the same with and without a bar
    step_s = min(until_s, 86400.0) / _PROGRESS_STEPS
    while not end.processed:
        target_s = max(env.now + step_s, env.peek())  # at least the next event, however far it is
        while env.peek() <= target_s and not end.processed:
            env.step()
        progress(min(target_s, env.peek(), until_s), until_s)

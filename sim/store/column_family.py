"""Column family: memtables, tree, options, and the stall conditions and compactions that follow from a new version.

The order of events is RocksDB's (behaviour/jobs-and-threads.md, Scheduling; End of a job). The engine's policies make
the decisions; the machine's stations compute the durations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models import since
from lsmlab.models.engines.engine import Engine
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import Picker, StallInputs
from lsmlab.models.policies.tuning import Changes
from lsmlab.models.tree.blobs import NO_BLOBS, BlobEdit
from lsmlab.models.tree.content import Content
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.memtable_history import NO_MEMORY, MemtableHistory, MemtableMemory
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.machine.page_cache import StoredFile
from lsmlab.sim.store.jobs.blobs import files_without_garbage
from lsmlab.sim.store.jobs.compacting import Compacting
from lsmlab.sim.store.jobs.context import DatabaseContext
from lsmlab.sim.store.jobs.flushing import Flushing
from lsmlab.sim.store.memtables import WRITE_BUFFER_FULL, KeySource, Memtable, Memtables
from lsmlab.sim.store.purge import Purge
from lsmlab.sim.store.recorder import StoreRecorder
from lsmlab.sim.store.records import NO_JOB
from lsmlab.sim.store.store_events import StoreEvents
from lsmlab.sim.store.version_edits import apply_edit, opening_edit

_EMPTY: Final = StallInputs(0, 0, 0)


@dataclass(frozen=True, slots=True)
class MemtableSwitch:
    """Switch of the active memtable of one column family."""

    family: int
    """Index among the column families of all databases of the run."""
    entries: float
    """Writes to the memtable."""
    wal_bytes: float
    """Size of the WAL that the switch closes; 0 if it is empty or there is none."""
    memory: MemtableMemory = NO_MEMORY
    """Memory of the memtable, where a write buffer manager or its history counts it."""
    reason: str = WRITE_BUFFER_FULL
    """Flush reason in RocksDB's LOG; every other reason flushes at once, whatever min_write_buffer_number_to_merge is."""


@dataclass(frozen=True, slots=True)
class FamilyParts:
    """Arguments with which a column family is opened."""

    number: int
    """Index among the column families of all databases of the run."""
    name: str
    engine: Engine
    content: Content
    source: KeySource
    recorder: StoreRecorder
    written: bool = True
    """Whether clients write to the column family; one without writes keeps no WAL alive."""
    checks: bool = False
    """Whether to check the invariants of the tree after every change."""


def memtable_history(engine: Engine) -> MemtableHistory:
    """Return the empty memtable history of a column family."""
    options = engine.options
    return MemtableHistory(
        options.max_write_buffer_size_to_maintain, options.max_write_buffer_number_to_maintain,
        by_allocation=engine.version >= since.HISTORY_BY_ALLOCATION,
    )  # fmt: skip


class ColumnFamily:
    """Memtables, tree and options of one column family (RocksDB's `ColumnFamilyData`)."""

    def __init__(self, database: DatabaseContext, parts: FamilyParts) -> None:
        self.database = database
        self.number = parts.number
        self.name = parts.name
        self.latest_options = parts.engine
        """Engine with the latest options."""
        self.version_options = parts.engine
        """Engine with the options of the current version: its level targets, scores and pending compaction bytes."""
        self.memtable_options = parts.engine
        """Engine with the options that give the size of the active memtable."""
        self.written_bytes: dict[int, int] = defaultdict(int)
        """Bytes of SST files that flushes, compactions and `preload` have added so far, by level."""
        self.ingested_bytes = 0
        self.content = parts.content
        self.table_formats: tuple[TableFormat, ...] = parts.content.table_formats
        """Table formats that SST files may have: those of new files first, then those of files at the start."""
        self.recorder = parts.recorder
        self.events = StoreEvents()
        parts.recorder.observe(self.events)
        self.checks = parts.checks
        self.tree = parts.engine.new_tree()
        self.throttle = parts.engine.throttle.initial()
        """Token in the database's write controller."""
        self.stall_inputs = _EMPTY
        """Inputs of the stall conditions at the last `install`."""
        self.memtables = Memtables(parts.number, parts.source, parts.content.sample)
        self.immutables: list[Memtable] = []
        self.memtables_switched = 0
        """Number of memtables that became immutable; that of the active memtable, counted from 0 (`MemTable::GetID`)."""
        self.history = memtable_history(parts.engine)
        """Flushed memtables that stay in memory."""
        self.memtables_full = 0
        """Number of memtables that filled up while an older one was not flushed yet."""
        self.purge = Purge()
        self.flushing = Flushing(self)
        self.compacting = Compacting(self)

    @property
    def options(self) -> RocksDbOptions:
        """Latest values of RocksDB's options."""
        return self.latest_options.options

    @property
    def picker(self) -> Picker:
        """Compaction picker with the level targets and scores of the current version."""
        return self.version_options.picker

    # --- memtables ----------------------------------------------------------------------------------------------------

    def switch_memtable(self, switch: MemtableSwitch) -> bool:
        """Make the active memtable immutable, except its hot keys (SwitchMemtable). Return whether there is data to flush."""
        now_s = None if self.database.snapshots is None else self.database.env.now
        memtable = self.memtables.full(switch.entries, switch.wal_bytes, self.latest_options.picker, now_s)
        if memtable is None:
            return False
        memtable.first_wal = self.database.wal_closed(self.number, memtable.wal_bytes)
        memtable.reason, memtable.memory = switch.reason, switch.memory
        self.memtables_switched += 1
        self.memtables_full += bool(self.immutables)
        self.immutables.append(memtable)
        self.trim_history()
        self.events.switched(self.database.env.now, memtable.entries, memtable.wal_bytes)
        self.memtable_options = self.latest_options
        self.install(by_writers=True)
        return True

    def flush_all(self, entries: float) -> None:
        """Flush all memtables; the active one holds `entries` (DB::Flush)."""
        memtable = self.memtables.all_keys(entries)
        if memtable is not None:
            memtable.first_wal = self.database.wal_closed(self.number, 0.0)
            self.immutables.append(memtable)
        if self.has_waiting_memtables:
            self.database.flush_requested(self.flushing)
        self.install()

    @property
    def has_waiting_memtables(self) -> bool:
        """Return whether an immutable memtable is not being flushed yet."""
        return any(not m.in_progress for m in self.immutables)

    @property
    def flush_pending_or_running(self) -> bool:
        """Return whether a flush runs or is due (MemTableList::IsFlushPendingOrRunning).

        Fewer immutable memtables than min_write_buffer_number_to_merge wait without a flush, unless one was requested.
        """
        waiting = sum(not m.in_progress for m in self.immutables)
        if waiting < len(self.immutables) or waiting >= self.options.min_write_buffer_number_to_merge:
            return True
        return waiting > 0 and self.database.has_queued_flush(self.flushing)

    @property
    def inactive_bytes(self) -> float:
        """Memory of the immutable memtables and of the flushed ones that are kept (FreeMem follows their destruction)."""
        return sum(m.memory.allocated_bytes for m in self.immutables) + self.history.allocated_bytes

    def trim_history(self, active: MemtableMemory = NO_MEMORY) -> None:
        """Drop flushed memtables beyond the limit; `active`: the active memtable, at a write."""
        if len(self.history):
            self.history.trim([m.memory for m in self.immutables], active)

    def request_flush(self, forced: bool = False) -> None:
        """Queue a flush if min_write_buffer_number_to_merge memtables wait; if `forced`, one suffices (IsFlushPending)."""
        waiting = sum(not m.in_progress for m in self.immutables)
        if waiting >= (1 if forced else self.options.min_write_buffer_number_to_merge):
            self.database.flush_requested(self.flushing)

    # --- trees that were built before the run -------------------------------------------------------------------------

    def preload(self, levels: list[tuple[int, list[SortedFile]]]) -> None:
        """Start with a tree of these files. `levels`: (level, files) pairs."""
        deepest = max([level for level, files in levels if files], default=0)
        for level, files in levels:
            if self.latest_options.level_is_cold(level, deepest, sum([f.size_bytes for f in files])):
                for file in files:
                    file.cold = True
        apart = self.content.apart
        held = [] if apart is None else [(f.keys, f.blobs) for _, files in levels for f in files]
        blobs = NO_BLOBS if apart is None else BlobEdit(files_without_garbage(apart.values, held))
        apply_edit(self, NO_JOB, added=levels, blobs=blobs)
        self.recorder.entries_preloaded = sum(f.entries for _, files in levels for f in files)
        for _, files in levels:
            self._begin_with(files)
        self._begin_with(self.tree.blobs.files)
        self.install()

    def start_with_tree(self, tree: Tree) -> None:
        """Start with the tree that the prefill phase has left; its files keep their table format."""
        self.tree = tree
        self.table_formats = tuple(dict.fromkeys((*self.table_formats, *(f.table_format for f in tree.files()))))
        self.recorder.entries_preloaded = tree.live_entries()
        self.events.edited(opening_edit(tree, self.database.env.now))
        self._begin_with(self.files())
        self._begin_with(self.tree.blobs.files)
        self.install()

    def _begin_with(self, files: Sequence[StoredFile]) -> None:
        self.database.machine.cache.add_written(files)
        self.database.machine.take_space(files)

    def take_in(self, files: Sequence[SortedFile]) -> None:
        """Count files that came from outside of the store, and install the version with them."""
        self.ingested_bytes += sum(f.size_bytes for f in files)
        self.recorder.entries_preloaded += sum(f.entries for f in files)
        self._begin_with(files)
        self.install()

    def files(self) -> list[SortedFile]:
        """Return all SST files on the device."""
        return list(self.tree.files())

    def close(self) -> None:
        """End the run: report the unfinished jobs to the observers."""
        now_s = self.database.env.now
        for job in self.compacting.jobs.values():
            self.events.abandoned(now_s, job.number, job.pick.inputs)
        self.events.closed(now_s, [*self.flushing.unfinished(), *self.compacting.unfinished()])

    # --- versions -----------------------------------------------------------------------------------------------------

    def retune(self, changes: Changes) -> None:
        """Set new option values; `Database.retune` installs a version with them."""
        self.events.retuned(self.database.env.now, changes)
        self.latest_options = self.latest_options.retuned(changes)

    def install_options_of(self, engine: Engine) -> None:
        """Use the options of `engine` for the current version and for the active memtable."""
        self.version_options = engine
        before, self.memtable_options = self.memtable_options, engine
        if engine.options.write_buffer_size != before.options.write_buffer_size:
            self.events.memtable_resized(self.number)

    def install(self, *, by_writers: bool = False, job: int = NO_JOB) -> None:
        """Tell the database of a new version or memtable list, with the inputs of its stall condition.

        `by_writers`: the writers have changed it themselves, by a memtable switch; `job`: the job that has committed it.
        See (behaviour/write-stalls.md, When the condition is recomputed) and
        (behaviour/jobs-and-threads.md, Scheduling).
        """
        picker = self.version_options.picker
        self.stall_inputs = StallInputs(
            immutables=len(self.immutables),
            l0_files=picker.stall_run_count(self.tree),
            pending_bytes=picker.pending_bytes(self.tree),
            bottommost_bytes=picker.bottommost_bytes(self.tree),
        )
        if self.checks:
            self.tree.check()
        self.database.version_installed(self, by_writers=by_writers, job=job)

    def install_after(self, job: int, began_with: Engine) -> None:
        """Install the version that `job` has committed. `began_with`: engine with the options at the start of the job."""
        self.install_options_of(began_with if self.latest_options.reverts_options else self.latest_options)
        self.install(job=job)

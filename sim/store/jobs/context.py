"""Protocols for the members of a database and of a column family that background jobs use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import simpy
from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.decisions import Compaction
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.models.policies.rocksdb.errors import WriteFailure
from lsmlab.models.policies.scheduling import JobKind, JobView
from lsmlab.models.tree.content import Content
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.sim.machine.machine import Events, Machine
from lsmlab.sim.observers import Observers
from lsmlab.sim.store.background import FlushThreads, QueuedFamily
from lsmlab.sim.store.memtables import Memtable
from lsmlab.sim.store.purge import Purge
from lsmlab.sim.store.store_events import StoreEvents
from lsmlab.sim.store.write_controller import TokenHolder


class DatabaseContext(Protocol):
    """What column families and jobs tell their database, which then acts; `Database` documents each member."""

    number: int
    env: simpy.Environment
    machine: Machine
    file_numbers: Iterator[int]
    memory_freed: Observers[[]]

    @property
    def halt_bytes(self) -> float | None:
        """Bytes after which a compaction can be halted; None: the scheduler halts none."""

    def io_priority(self, kind: JobKind) -> Priority:
        """Return the rate limiter's priority for the I/O of a job."""

    def admits(self, pick: Compaction) -> bool:
        """Return whether a compaction may start in spite of a background error."""

    def commit_edit(self) -> Events:
        """Make one version edit durable in the MANIFEST."""

    def version_installed(self, family: FamilyState, *, by_writers: bool, job: int) -> None:
        """Act on a new version or memtable list of a column family."""

    def flush_requested(self, threads: FlushThreads) -> None:
        """Queue a flush of one column family."""

    def wal_closed(self, family: int, size_bytes: float) -> int:
        """Close the WAL of a memtable switch. Return the number of the oldest WAL with data of the memtable."""

    def compaction_picked(self, family: QueuedFamily, parent: int, *, gave_way: bool) -> None:
        """Queue the next compaction of a family; `gave_way`: other jobs were halted or aborted for the one that was picked."""

    def compaction_preempted(self) -> None:
        """Give the slot of a job that is halted to the job that it gives way to."""

    def compaction_halted(self) -> None:
        """Look for work after all threads of a job have halted."""

    def compaction_resumed(self) -> None:
        """Take the slot back for a job that had given way."""

    def compaction_discarded(self, family: QueuedFamily, view: JobView) -> None:
        """Forget an aborted job and queue its family again."""

    def compaction_put_back(self, family: QueuedFamily) -> None:
        """Queue the family of a job again that committed nothing."""

    def job_failed(self, failure: WriteFailure, *, flush: bool) -> None:
        """Set the background error that a failed write causes."""

    def end_job(self, job: int, worked: bool = True) -> None:
        """End a job whose slot is free; `worked` is False if its thread found nothing to do."""

    def finish_job(self, view: JobView, worked: bool = True) -> None:
        """Free the slot of a job and end the job."""

    def commit_flushes(self, job: int) -> None:
        """Commit the finished flushes of all column families (atomic_flush)."""

    def delete_wals(self) -> list[float]:
        """Delete the WALs without unflushed data of any column family. Return their sizes in bytes, oldest first."""


class FamilyState(QueuedFamily, TokenHolder, Protocol):
    """Members of a column family that decide its stall condition; `ColumnFamily` documents each."""

    version_options: Engine
    events: StoreEvents

    @property
    def running_compactions(self) -> int:
        """Number of compactions that have picked their inputs and are neither committed nor aborted."""


class JobContext(QueuedFamily, Protocol):
    """Members of a column family that its jobs use; `ColumnFamily` documents each."""

    name: str
    latest_options: Engine
    content: Content
    written_bytes: dict[int, int]
    table_formats: tuple[TableFormat, ...]
    events: StoreEvents
    immutables: list[Memtable]
    purge: Purge

    @property
    def database(self) -> DatabaseContext:
        """Database of the column family."""

    def request_flush(self, forced: bool = False) -> None:
        """Queue a flush if enough memtables wait for one."""

    def install_after(self, job: int, began_with: Engine) -> None:
        """Install the version that `job` has committed. `began_with`: engine with the options at the start of the job."""

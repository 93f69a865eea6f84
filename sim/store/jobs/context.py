"""Protocols for the members of a database and of a column family that background jobs use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import simpy
from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.decisions import ThrottleState
from lsmlab.models.policies.scheduling import JobView
from lsmlab.models.tree.content import Content
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.observers import Observers
from lsmlab.sim.store.background import Background, QueuedFamily
from lsmlab.sim.store.background_errors import BackgroundErrors
from lsmlab.sim.store.manifest import Manifest
from lsmlab.sim.store.memtables import Memtable
from lsmlab.sim.store.purge import Purge
from lsmlab.sim.store.store_events import StoreEvents
from lsmlab.sim.store.wal_files import WalFiles
from lsmlab.sim.store.write_controller import TokenHolder, WriteController


class DatabaseContext(Protocol):
    """Members of a database that its jobs and column families use; `Database` documents each."""

    number: int
    env: simpy.Environment
    machine: Machine
    background: Background
    write_controller: WriteController
    manifest: Manifest
    file_numbers: Iterator[int]
    blocked: bool
    wals: WalFiles
    memory_freed: Observers[[]]
    errors: BackgroundErrors

    def stall_conditions_changed(self, family: TokenHolder, before: ThrottleState, *, by_writers: bool) -> None:
        """Stop writers if `family` is stopped, and notify observers if its stall state differs from `before`."""

    def end_job(self, job: int, worked: bool = True) -> None:
        """End a job whose slot is free; `worked` is False if its thread found nothing to do."""

    def commit_flushes(self, job: int) -> None:
        """Commit the finished flushes of all column families (atomic_flush)."""

    def delete_wals(self) -> list[float]:
        """Delete the WALs without unflushed data of any column family. Return their sizes in bytes, oldest first."""

    def finish_job(self, view: JobView, worked: bool = True) -> None:
        """Free the slot of a job and end the job."""


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

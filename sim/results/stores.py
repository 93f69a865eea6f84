"""Databases of a finished run, by the clients that they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.results.phase_records import PhaseRecord
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.database import Database

if TYPE_CHECKING:
    from lsmlab.sim.clients.family_reads import FamilyReads
    from lsmlab.sim.setup import Setup


@dataclass(frozen=True, slots=True)
class Store:
    """Databases with common clients after their run: the shards of a run, or one database of several."""

    name: str
    """Name of the database; "" for the only ones of a run."""
    group: str
    """Entry of `databases` that it belongs to."""
    setup: Setup
    databases: Sequence[Database]
    clients: ClientLoad
    reads: FamilyReads | None
    phases: Sequence[PhaseRecord] = ()
    """Phases of a workload with phases."""
    actions: Sequence[PhaseRecord] = ()
    """Actions beside clients."""

    @property
    def families(self) -> list[ColumnFamily]:
        """Column families of all its databases."""
        return [family for database in self.databases for family in database.families]

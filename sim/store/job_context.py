"""A store as its background jobs see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import simpy
from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.decisions import Picker, ThrottleState
from lsmlab.models.policies.scheduling import Scheduler, StoreView
from lsmlab.models.tree.content import Content
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.store.manifest import Manifest
from lsmlab.sim.store.memtables import Memtable
from lsmlab.sim.store.purge import Purge
from lsmlab.sim.store.store_events import StoreEvents


class JobContext(Protocol):
    """What jobs read of their store, and whom they tell when something has changed; `Store` explains each member."""

    number: int
    env: simpy.Environment
    engine: Engine
    content: Content
    machine: Machine
    events: StoreEvents
    tree: Tree
    throttle: ThrottleState
    scheduler: Scheduler
    view: StoreView
    immutables: list[Memtable]
    file_numbers: Iterator[int]
    manifest: Manifest
    purge: Purge

    @property
    def picker(self) -> Picker:
        """The picker of the present version."""

    def request_flush(self) -> None:
        """Note that memtables wait for a flush, if they are enough."""

    def queue_compactions(self, picker: Picker) -> bool:
        """Note that there is work, if the picker says so; whether something is new."""

    def schedule(self) -> None:
        """Do what the scheduler says."""

    def schedule_after(self, parent: int) -> None:
        """`schedule`, where `parent` is why something may start now."""

    def install_after(self, job: int, began_with: Engine) -> None:
        """Handle the version that `job` installed; `began_with` is the engine as it was when the job started."""

    def end_job(self, job: int, worked: bool = True) -> None:
        """The very end of a job; `worked` is False if it found nothing to do."""

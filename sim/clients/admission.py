"""Admission of writes: write stops, delayed write rates, and sleeps of delayed writers."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.policies.decisions import StallCause
from lsmlab.sim.clients.group import NEVER, WRITE, Group
from lsmlab.sim.clients.op_times import OpTimes
from lsmlab.sim.clients.sleeps import Sleeps, fixed_sleep, sleeps_at
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.write_controller import WriteController
from lsmlab.sim.store.write_shape import WriteShape


class Admission:
    """Admission of writes to all databases. A thread waits at a stopped database, so one stop ends up stopping all threads."""

    def __init__(
        self, databases: Sequence[Database], parts: Sequence[float], groups: Sequence[Group], machine: Machine,
        shape: WriteShape, times: OpTimes,
    ) -> None:  # fmt: skip
        """`parts`: writes to each database, relative to the mean over all."""
        self._databases = databases
        self._parts = parts
        self._groups = groups
        self._journal = machine.journal
        self._host = machine.host
        self._shape = shape
        self._times = times
        self.cause: StallCause | None = None
        """Cause of the last decision; None: no stall."""
        self._each_per_s = NEVER
        """Writes per second that each database admits, by the last decision."""
        self._asked_sleep_s = 0.0
        """Sleep that the throttles asked for in the last decision; 0: derived from the delayed write rate."""

    @property
    def writes_blocked(self) -> bool:
        """Whether the journal is locked for WAL writes (`Journal.locked`) or an OPTIONS file is being written (`OptionsFile`)."""
        locked = self._journal is not None and self._journal.locked and self._shape.wal_bytes > 0.0
        return locked or any(database.options_file.holds_writers for database in self._databases)

    def decide(self, blocked: bool) -> float:
        """Decide the writes per second that all databases together admit until the next decision."""
        allowed, self.cause = self._allowed(blocked)
        self._each_per_s = allowed / len(self._databases)
        self._asked_sleep_s = max(database.write_controller.sleep_s for database in self._databases)
        return allowed

    def sleeps(self) -> Sleeps:
        """Sleeps of delayed writers at the decided rate, or of the length that the throttle asks for."""
        if self._asked_sleep_s > 0.0:
            return fixed_sleep(self._asked_sleep_s, self._host)
        threads = sum(g.spec.threads for g in self._groups if g.closed and g.write_share > 0.0)
        group_bytes = max(1, threads) * self._shape.batch_bytes
        rate = self._each_per_s * self._shape.batch_bytes
        version = self._databases[0].families[0].latest_options.version
        return sleeps_at(rate, group_bytes, self._times.cpu_s(WRITE), self._host, version)

    def _allowed(self, blocked: bool) -> tuple[float, StallCause | None]:
        allowed, cause = NEVER, None
        for database in self._databases:
            if database.blocked:
                return 0.0, database.blocked_by
        if blocked:
            return 0.0, None  # RocksDB does not count this as a stall
        for database, part in zip(self._databases, self._parts, strict=True):
            controller = database.write_controller
            if controller.delayed:
                rate = self._delayed(controller) * len(self._databases) / part
                if rate < allowed:
                    allowed, cause = rate, controller.delay_cause
        return allowed, cause

    def _delayed(self, controller: WriteController) -> float:
        """Writes per second that a delayed database admits: by its delayed rate in bytes, or one write group per sleep."""
        if controller.sleep_s == 0.0:
            return controller.rate_bytes_per_s / self._shape.batch_bytes
        writers = sum(g.spec.threads for g in self._groups if g.write_share > 0.0 and not g.finished)
        sleep_s = fixed_sleep(controller.sleep_s, self._host).mean_s + self._host.sleep_penalty
        return max(1, writers) / (sleep_s + self._times.mean_s(WRITE))

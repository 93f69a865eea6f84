"""RocksDB's OPTIONS file: written anew after every change at run time, while nobody may write to the store."""

from __future__ import annotations

from collections.abc import Callable

import simpy
from lsmlab.sim.machine.machine import Events, Machine


class OptionsFile:
    """SetOptions and SetDBOptions return when the file is on the device (`DBImpl::WriteOptionsFile`).

    The new values count before. The call takes its turn among the writers, so it waits while they are stopped, and they
    wait while the file is written; RocksDB counts neither as a stall. Values of policies that RocksDB does not know are
    in no file.
    """

    def __init__(
        self, env: simpy.Environment, machine: Machine, stopped: Callable[[], bool], holding_changed: Callable[[], None]
    ) -> None:
        """`stopped` says whether the writers are; `holding_changed` is called when a file begins or ends to hold them."""
        self._env = env
        self._machine = machine
        self._stopped = stopped
        self._holding_changed = holding_changed
        self._released: simpy.Event | None = None
        """Ends with the present stop of the writers."""
        self.unfinished = 0
        """Files that are being written or wait for their turn."""
        self.holds_writers = False

    def changed(self, calls: int) -> None:
        """Options were changed by so many calls: one for those of the whole store, one for those of the column family."""
        for _ in range(calls):
            self.unfinished += 1
            self._env.process(self._write())

    def released(self) -> None:
        """Stopped writers go on."""
        if self._released is not None:
            self._released.succeed()
            self._released = None

    def _write(self) -> Events:
        while self._stopped() or self.holds_writers:
            if self._released is None:
                self._released = self._env.event()
            yield self._released
        self.holds_writers = True
        self._holding_changed()
        yield from self._machine.commit()
        self.holds_writers = False
        self.unfinished -= 1
        self.released()
        self._holding_changed()

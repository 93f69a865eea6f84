"""RocksDB's OPTIONS file: rewritten after every option change at run time; writers wait for the write."""

from __future__ import annotations

from collections.abc import Callable

import simpy
from lsmlab.sim.machine.machine import Events, Machine


class OptionsFileWriter:
    """Writes of the OPTIONS file by SetOptions and SetDBOptions (`DBImpl::WriteOptionsFile`).

    The new values take effect before the write. The call queues with the writers: it waits while writers are stopped, and
    writers wait while it writes the file. RocksDB counts neither wait as a stall. Settings of policies that RocksDB does
    not have are not in the file.
    """

    def __init__(
        self, env: simpy.Environment, machine: Machine, stopped: Callable[[], bool], holding_changed: Callable[[], None]
    ) -> None:
        """Start without a write. `stopped` returns whether writers are stopped.

        `holding_changed` is called when `holds_writers` changes.
        """
        self._env = env
        self._machine = machine
        self._stopped = stopped
        self._holding_changed = holding_changed
        self._released: simpy.Event | None = None
        """Fires when writers are released from a stop or from a write of the file; None: no call waits for the release."""
        self.unfinished = 0
        """Files that are being written or wait to be written."""
        self.holds_writers = False
        """Whether writers wait for a file."""

    def changed(self, calls: int) -> None:
        """Write the file once per call of SetDBOptions (once per database) or SetOptions (once per column family)."""
        for _ in range(calls):
            self.unfinished += 1
            self._env.process(self._write())

    def on_writers_released(self) -> None:
        """Let waiting files be written, now that writers are released."""
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
        self.on_writers_released()
        self._holding_changed()

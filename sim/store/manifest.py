"""The manifest: version edits become durable one write at a time, and those that wait meanwhile go together."""

from __future__ import annotations

import simpy
from lsmlab.sim.machine.machine import Events, Machine


class Manifest:
    """Group commit of one store's version edits (`VersionSet::LogAndApply`, manifest_writers_).

    A job whose edit finds a write in progress waits for its end; the first of those waiting then writes for all. So jobs
    that end close together install their results at the same moment, as LOGs of busy stores show.
    """

    def __init__(self, env: simpy.Environment, machine: Machine) -> None:
        self._env = env
        self._machine = machine
        self._current: simpy.Event | None = None
        """Ends with the write in progress; None if there is none."""
        self._next: simpy.Event | None = None
        """Ends with the write after it; None if nobody waits for one."""

    def commit(self) -> Events:
        """Make one edit durable."""
        if self._current is None:
            yield from self._write(self._env.event())
        elif self._next is None:
            group = self._next = self._env.event()
            yield self._current
            self._next = None
            yield from self._write(group)
        else:
            yield self._next

    def _write(self, done: simpy.Event) -> Events:
        self._current = done
        yield from self._machine.commit()
        if self._next is None:  # else the leader of the next group takes over at once
            self._current = None
        done.succeed()

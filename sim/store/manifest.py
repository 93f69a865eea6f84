"""MANIFEST: one write at a time makes version edits durable; edits that wait for it share the next write."""

from __future__ import annotations

import simpy
from lsmlab.sim.machine.machine import Events, Machine


class Manifest:
    """Group commit of the version edits of one database (`VersionSet::LogAndApply`, manifest_writers_).

    A job that finds a MANIFEST write in progress waits for its end. The first waiting job then writes the edits of all
    waiting jobs. Jobs that end shortly after each other therefore install their results at the same moment, as in LOGs
    of busy databases.
    """

    def __init__(self, env: simpy.Environment, machine: Machine) -> None:
        self._env = env
        self._machine = machine
        self._current: simpy.Event | None = None
        """Fires at the end of the write in progress; None if there is none."""
        self._next: simpy.Event | None = None
        """Fires at the end of the next write; None if no job waits for one."""

    def commit(self) -> Events:
        """Make one version edit durable."""
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
        if self._next is None:  # else the leader of the next group starts its write at once
            self._current = None
        if done.callbacks:  # else no edit waits for this write
            done.succeed()

"""Samples of the use of device and cores, taken whenever the stall state of a database changes."""

from __future__ import annotations

from array import array
from typing import Final

from lsmlab.sim.machine.machine import Machine


class UsageLog:
    """Busy time of device and cores by time. Samples change no counter of the stations, and so no result."""

    WIDTH: Final = 4

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.rows = array("d")
        """Rows of (time in s, busy time of the device in s, core-seconds of background work, client threads that want a
        core)."""
        self.sample()

    def sample(self) -> None:
        """Add a row for the present time."""
        machine = self._machine
        cores = machine.cores
        self.rows.extend((machine.env.now, machine.device.busy_so_far_s, cores.busy_so_far_s, cores.clients))

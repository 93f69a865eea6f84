"""Samples of the use of devices and cores, taken whenever the stall state of a database changes."""

from __future__ import annotations

from array import array

import numpy as np
from lsmlab.sim.machine.machine import Machine
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class UsageLog:
    """Busy time of devices and cores by time. Samples change no counter of the stations, and so no result."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._stations = [volume.device for volume in machine.volumes]
        self._rows = array("d")
        self.sample()

    @property
    def table(self) -> Floats:
        """Rows of (time in s, core-seconds of background work, client threads that want a core, busy time in s by device)."""
        return np.frombuffer(self._rows, dtype=np.float64).reshape(-1, 3 + len(self._stations))

    def sample(self) -> None:
        """Add a row for the present time."""
        cores = self._machine.cores
        self._rows.extend((self._machine.env.now, cores.busy_so_far_s, cores.clients))
        self._rows.extend([station.busy_so_far_s for station in self._stations])

"""Clients of all databases of a run together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.clients.group import ClientGroup, ClientTraffic
from lsmlab.sim.clients.latency import Floats


class AllClients:
    """Sums over the clients of all databases; waits are means over the databases."""

    def __init__(self, loads: Sequence[ClientLoad]) -> None:
        self.loads = loads

    @property
    def groups(self) -> list[ClientGroup]:
        """All groups of clients."""
        return [group for load in self.loads for group in load.groups]

    def totals(self) -> ClientTraffic:
        """Return the operations and device bytes of all clients so far."""
        return ClientTraffic(*(sum(values) for values in zip(*(load.totals() for load in self.loads), strict=True)))

    def user_bytes_written(self) -> float:
        """Return the bytes of keys and values that clients have written so far."""
        return sum(load.totals().writes * load.shape.user_bytes for load in self.loads)

    def waits(self) -> Floats:
        """Return intervals in which writers waited, as `WriteWaits.table`; shares are of the writers of all databases."""
        tables = [load.waits.table() for load in self.loads]
        if len(tables) == 1:
            return tables[0]
        table = np.concatenate(tables)
        table[:, 3] /= len(tables)
        return table

    @property
    def longest_wait_s(self) -> float:
        """Longest single wait for a stall condition."""
        return max(load.waits.longest_s for load in self.loads)

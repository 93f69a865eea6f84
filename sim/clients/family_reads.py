"""What reads cost in the column families that clients read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.workloads.choosers import InsertCursor
from lsmlab.sim.clients.op_costs import ReadClasses
from lsmlab.sim.clients.reads import TreeReads
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.store.column_family import ColumnFamily

if TYPE_CHECKING:
    from lsmlab.sim.setup import Setup


class FamilyReads:
    """Costs of point reads and scans: those of each column family, weighed by its share of the reads.

    The families share one block cache in proportion to their reads.
    """

    def __init__(
        self, env: simpy.Environment, machine: Machine, families: Sequence[ColumnFamily], setup: Setup,
        cursors: Sequence[InsertCursor], rng: np.random.Generator, patience: float = 1.0,
    ) -> None:  # fmt: skip
        """`families` of all databases, and `cursors` of their writers in the same order; `patience` as for `TreeReads`."""
        self._parts = [
            (one.share.reads, TreeReads(env, machine, families, setup, one, cursors, rng, patience))
            for one in setup.families
            if one.share.reads > 0.0
        ]

        self._found: list[tuple[ReadClasses, ReadClasses]] = []
        self._costs: tuple[ReadClasses, ReadClasses] = ((), ())
        """Weighed costs of `_found`."""

    @property
    def block_bytes(self) -> float:
        """Bytes that a block costs the device, averaged over reads."""
        return sum(share * reads.block_bytes for share, reads in self._parts)

    @property
    def next_s(self) -> float:
        """Time at which the block cache has filled further; infinity: it is warm."""
        return min(reads.next_s for _, reads in self._parts)

    def begin(self, *, writes: bool) -> None:
        """Begin a phase with reads, beside `writes` or alone: look at trees and block cache at once."""
        for _, reads in self._parts:
            reads.begin(writes=writes)

    def costs(self, gets: float, scans: float, active: Callable[[int], float]) -> tuple[ReadClasses, ReadClasses]:
        """Costs of (point reads, scans) of each column family now; arguments as those of `TreeReads.costs`.

        Returns the same object as before if no cost has changed.
        """
        found = [reads.costs(gets, scans, active) for _, reads in self._parts]
        if len(found) != len(self._found) or any(now is not before for now, before in zip(found, self._found, strict=True)):
            self._found = found
            weighed = [(share, both) for (share, _), both in zip(self._parts, found, strict=True)]
            points, ranges = (
                [(share * part, cost) for share, both in weighed for part, cost in both[kind]] for kind in (0, 1)
            )
            self._costs = points, ranges
        return self._costs

    def mean_blocks_per_read(self) -> float:
        """Data blocks per point read over the run: the read amplification in blocks."""
        return sum(share * reads.mean_blocks_per_read() for share, reads in self._parts)

    def facts(self) -> Mapping[str, Any]:
        """Block cache and filter as they act on the family with most reads."""
        return max(self._parts, key=lambda part: part[0])[1].facts()

    def sample_codes(self, family: int) -> KeyArray:
        """Keys that the clients' next reads of family number `family` may ask for."""
        return next(reads for _, reads in self._parts if reads.reads_from(family)).sample_codes(family)

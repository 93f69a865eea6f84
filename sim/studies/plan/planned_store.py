"""Store of one machine under a rate of operations: configurations of closed and open loops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from lsmlab.sim.explain.settled import is_leveled, main_family, round_bytes
from lsmlab.sim.runs.estimate import tree_shape
from lsmlab.sim.setting import Setting
from lsmlab.sim.setup import FamilySetup, Setup, set_up

_CREDITS: Final = ("burst_ios", "burst_bytes")
"""Burst credit of a cloud volume, with which a run would begin. A rate without end has used it up."""
_GENERIC: Final = "lsmlab.models.workloads.generic"
SHORTEST_S: Final = 40.0
"""Shortest run: series.parquet has one row per second, and the later half of them is tested."""
ROUNDS: Final = 32.0
"""Compactions of L0 in the shortest run; sizes rise and fall with each, so fewer could not show a trend."""
READ_ONLY_S: Final = 600.0
"""Length of a run without writes, whose tree does not change."""


@dataclass(frozen=True)
class PlannedStore:
    """Configuration of one machine, and its load without rate and schedule."""

    config: Mapping[str, Any]
    """Resolved configuration; its workload is replaced."""
    load: Mapping[str, Any]
    """Keys of the generic workloads: keys, sizes, mix of operations, clients."""

    def open_loop(self, rate_per_s: float, duration_s: float, seed: int) -> dict[str, Any]:
        """Return the configuration of an open loop at a constant rate."""
        own = {"_target_": f"{_GENERIC}.Constant", "rate": rate_per_s, "duration": duration_s}
        return self._without_credit(self._with(own, seed))

    def closed_loop(self, operations: float, longest_s: float, seed: int) -> dict[str, Any]:
        """Return the configuration of a closed loop at full speed."""
        own = {"_target_": f"{_GENERIC}.FullSpeed", "operations": max(1, round(operations)), "duration": longest_s}
        return self._without_credit(self._with(own, seed))

    def burst(self, rate_per_s: float, factor: float, burst_s: float, around_s: float, seed: int) -> dict[str, Any]:
        """Return the configuration of one burst after `around_s` at the constant rate, and `around_s` after it."""
        own = {
            "_target_": f"{_GENERIC}.PeaksAndValleys", "valley_rate": rate_per_s, "quiet": around_s, "peak": burst_s,
            "peak_rate": factor * rate_per_s, "valley": around_s, "duration": 2.0 * around_s + burst_s,
        }  # fmt: skip
        return self._with(own, seed)

    def _with(self, own: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {**self.config, "workload": {**self.load, **own}, "seed": seed, "save": {"events": False}}

    def _without_credit(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return a configuration whose volume has no burst credit left."""
        if not self.has_credit:
            return config
        return {**config, "device": {**config["device"], **dict.fromkeys(_CREDITS, 0)}}

    @property
    def has_credit(self) -> bool:
        """Return whether the drive is a volume with burst credit."""
        return any(self.config["device"].get(name) for name in _CREDITS)

    @cached_property
    def setup(self) -> Setup:
        """Return the parts of the store. Raises InputError if the configuration cannot run."""
        config = self.open_loop(1.0, SHORTEST_S, 1)
        return set_up(Setting.of(config))

    @cached_property
    def write_share(self) -> float:
        """Return the entries written per operation."""
        return self.setup.workload.clients[0].mix.writes

    @cached_property
    def _bytes_per_operation(self) -> float:
        """Return the bytes that an operation adds to the tree, on average."""
        return self._family.content.entry.put * self.write_share

    @property
    def _family(self) -> FamilySetup:
        return main_family(self.setup)

    @cached_property
    def tree_bytes(self) -> float:
        """Return the bytes of the full trees of all shards."""
        shape = tree_shape(self.setup, self._family, 0.0)
        return self.setup.workload.shards * (shape.data_bytes + shape.upper_bytes)

    @cached_property
    def round_bytes(self) -> float:
        """Return the bytes that L0 of all shards gathers between two compactions: the step in which a tree changes."""
        return round_bytes(self.setup)

    @property
    def balanced_debt_bytes(self) -> float:
        """Return the compaction debt of a tree in balance: one round of L0 on its way through all levels.

        A round that reaches a level goes on to the next one, and rewrites `multiplier` times its own size there.
        """
        shape = tree_shape(self.setup, self._family, 0.0)
        return self.round_bytes * (1.0 + math.ceil(shape.levels) * (1.0 + self.multiplier))

    def operations(self, turnovers: float) -> float:
        """Return the operations of a run: `turnovers` times the bytes of the tree, and at least `ROUNDS` rounds of L0.

        After a turnover each level has passed on its content once, the last one included. Infinity without writes.
        """
        written = max(turnovers * self.tree_bytes, ROUNDS * self.round_bytes)
        return written / self._bytes_per_operation if self._bytes_per_operation > 0.0 else math.inf

    def turnovers(self, operations: float) -> float:
        """Return the turnovers of the tree after so many operations."""
        return operations * self._bytes_per_operation / self.tree_bytes

    @property
    def tree_memtables(self) -> float:
        """Return the bytes of the full trees in memtables."""
        return self.tree_bytes / (self._family.shape.memtable_entries * self._family.content.entry.put)

    @property
    def multiplier(self) -> float:
        """Return the size of a level over that of the level above."""
        return max(2.0, float(self._family.engine.options.max_bytes_for_level_multiplier))

    @property
    def leveled(self) -> bool:
        """Return whether the main column family uses leveled compaction."""
        return is_leveled(self.setup)

    @property
    def capacity_bytes(self) -> float | None:
        """Return the capacity of the drive; None if unknown."""
        return self.setup.setting.device.capacity_bytes

"""Large trees: simulated with fewer levels, of the same shape; what each level costs follows from two such trees.

A tree that is `multiplier` times smaller has one level less: the same L0, the same sizes of levels relative to each other, the
same fill of the last one. Every level adds about the same bytes per write, so the written bytes are a line over the number of
levels; two trees give the line. The whole tree moves the same bytes per second at the same use, so its rate is smaller by the
ratio of the bytes per write. Bandwidths and limits of the drive stay. Its capacity shrinks with the tree, because garbage
collection depends on the share in use.

The limits of the compaction debt have two parts. A tree in balance has debt too: each round of L0 waits on its way down, once
per level. This part has the size of L0, so it stays, for the levels that the smaller tree has. The rest is what levels are
above their targets, mainly the largest one above the last; this part shrinks with the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lsmlab.models.units import parse_quantity
from lsmlab.sim.explain.settled import main_family
from lsmlab.sim.studies.plan.planned_store import PlannedStore
from lsmlab.sim.studies.plan.trial import Trial

FEWER_LEVELS_ERROR: Final = 0.2
"""Largest error seen of the rate of a tree with one level less, against the whole one (docs/how-to/plan-capacity.md)."""
FEWER_LEVELS_WRITTEN_ERROR: Final = 0.05
"""Largest error seen of the bytes that such a tree writes per operation."""
_FEWEST_MEMTABLES: Final = 50.0
"""Smallest simulated tree; a smaller one is hardly more than its L0."""
_SCALED: Final = ("capacity", "filled", "page_cache")
"""Settings of a drive that shrink with the tree."""
_LIMITS: Final = ("soft_pending_compaction_bytes_limit", "hard_pending_compaction_bytes_limit")
"""Limits of the compaction debt. With those of the whole tree, a small one could be behind by more than its own size."""


@dataclass(frozen=True)
class FewerLevels:
    """Line over the number of levels."""

    left_out: int
    """Levels that the larger simulated tree lacks."""
    shrunk: float
    """Bytes of the whole tree over those of the larger simulated one."""
    share: float
    """Sustainable rate of the whole tree over that of the larger simulated one."""
    written: float
    """Bytes that an operation writes to the drive, whole tree over larger simulated one."""

    def whole(self, trial: Trial) -> Trial:
        """Return a trial of the larger simulated tree as one of the whole tree: the same use, at the rate of the whole tree."""
        factors = {
            "ops_per_s": self.share, "device.write_bytes_per_s": self.share * self.written, "live_bytes": self.shrunk,
            "write_amplification": self.written,
        }  # fmt: skip
        values = {name: value * factors.get(name, 1.0) for name, value in trial.values.items()}
        return replace(trial, rate_per_s=trial.rate_per_s * self.share, values=values)


def levels_to_leave_out(store: PlannedStore, most_memtables: float | None) -> int:
    """Return how many levels to leave out so that a tree has at most `most_memtables` (None: any number)."""
    if most_memtables is None:
        return 0
    shards, left_out, size = store.setup.workload.shards, 0, store.tree_memtables
    while size > most_memtables and size / shards > _FEWEST_MEMTABLES * store.multiplier**2:
        size, left_out = size / store.multiplier, left_out + 1
    return left_out


def without_levels(store: PlannedStore, count: int) -> PlannedStore:
    """Return the store with `count` levels less: fewer keys, and a drive of smaller capacity."""
    shrunk = store.multiplier**count
    load = {**store.load, "num": max(1, round(float(store.load["num"]) / shrunk))}
    device = dict(store.config["device"])
    for key in _SCALED:
        if device.get(key):
            device[key] = parse_quantity(device[key], "bytes") / shrunk
    smaller = PlannedStore({**store.config, "device": device}, load)
    own = main_family(store.setup).engine.options
    limits = {key: _limit(getattr(own, key), shrunk, store.balanced_debt_bytes, smaller.balanced_debt_bytes) for key in _LIMITS}
    engine = {**store.config["engine"], "options": {**store.config["engine"]["options"], **limits}}
    return PlannedStore({**smaller.config, "engine": engine}, load)


def _limit(debt_bytes: float, shrunk: float, balanced_bytes: float, smaller_balanced_bytes: float) -> int:
    """Return a limit of the debt for a smaller tree: its debt in balance, and its share of what the whole tree may have above.

    `balanced_bytes`, `smaller_balanced_bytes`: debt of both trees in balance. 0 is no limit.
    """
    above = max(0.0, debt_bytes - balanced_bytes) / shrunk
    return round(min(debt_bytes, smaller_balanced_bytes + above))


def line_of(store: PlannedStore, left_out: int, larger: Trial, smaller: Trial) -> FewerLevels:
    """Return the line through the trials of one rate on two trees, of which the smaller has one level less.

    A tree with more levels never writes less: a line that falls, by noise, counts as level.
    """
    written = _written(larger.values)
    more = max(0.0, 1.0 - _written(smaller.values) / written) if written else 0.0
    factor = 1.0 + left_out * more
    return FewerLevels(left_out, store.multiplier**left_out, 1.0 / factor, factor)


def _written(values: Mapping[str, Any]) -> float:
    """Return the bytes that an operation writes to the drive."""
    return float(values.get("device.write_bytes_per_s", 0.0)) / max(1e-9, float(values.get("ops_per_s", 0.0)))

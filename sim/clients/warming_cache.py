"""Block cache of a column family while the reads of the clients fill it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.models.sums import float_sum
from lsmlab.models.workloads.choosers import Popularity
from lsmlab.models.workloads.reads import LruCache, lru_cache

_GROWTH: Final = 0.02
"""Relative change of the number of data blocks from which the hit rate is computed again."""
_STEP: Final = 0.02
"""Increase of the hit rate of a cache that fills, between two calls."""
_SETTLED: Final = 1e-4
"""The same, below which the cache is warm."""
_SHORTEST_STEP_S: Final = 1e-3
"""Shortest time between two calls while the cache fills."""
_REPLACED: Final = 0.02
"""Share of a cache's blocks that compactions have replaced and accesses have not renewed, below which it does not matter."""
_RENEWAL_STEP_S: Final = 1.0
"""Time between two calls while accesses renew replaced blocks."""


class WarmingCache:
    """Block cache of a shard, empty or full at the start: its hit rate now, and once it is full (docs/decisions/0047)."""

    def __init__(self, readers: Sequence[tuple[float, Popularity]], cached_blocks: float, *, warm: bool) -> None:
        """Describe an empty cache, or a full one if `warm`.

        `readers`: weight of each group of readers, and how popular each data block is among its reads. `cached_blocks`:
        number of data blocks that fill the cache.
        """
        self._readers = readers
        self._weight = float_sum(weight for weight, _ in readers)
        self._cached_blocks = cached_blocks
        self._lru: list[LruCache] = []
        """The cache as each group of readers would fill it alone."""
        self._block_ratio = 0.0
        """Blocks of the trees of a shard, per block of the popularity, for which `_lru` was computed."""
        self._accesses = math.inf if warm else 0.0
        """Accesses since the start."""
        self._replaced = 0.0
        """Share of the store that compactions have replaced; as many accesses as the cache has blocks renew all but 1/e of it."""
        self._blocks = 1.0
        """Blocks of the full cache, at least 1."""
        self._looked_s = 0.0
        """Time of the last call of `advance`."""
        self.hit_rate = self.final_hit_rate = 0.0

    @property
    def warm(self) -> bool:
        """Whether the hit rate is that of a full cache, which changes only with the trees."""
        return self.hit_rate >= self.final_hit_rate

    def advance(self, accesses: float, data_blocks: float, now_s: float, replaced: float = 0.0) -> float:
        """Set the hit rate until the next call; return the seconds until then, infinity for a warm cache or without reads.

        `accesses` to the cache of a shard since the last call; `data_blocks` of a shard; `replaced`: share of its bytes that
        compactions have replaced since. While the cache fills, a call follows when the hit rate has risen by `_STEP`, or by a
        quarter of what it lacks. Until then, the hit rate is that of the middle of the step. A warm cache has the hit rate at
        which accesses renew as many blocks as compactions replace.
        """
        elapsed_s = now_s - self._looked_s
        per_s = accesses / elapsed_s if elapsed_s > 0.0 else 0.0
        self._accesses, self._looked_s = self._accesses + accesses, now_s
        self._fit(data_blocks)
        self._blocks = max(1.0, min(data_blocks, self._block_ratio * max(lru.lifetime for lru in self._lru)))
        renewed = accesses / self._blocks  # files were replaced evenly over the time since the last call
        self._replaced *= math.exp(-renewed)
        self._replaced += replaced * -math.expm1(-renewed) / renewed if renewed > 0.0 else replaced
        self.final_hit_rate, rate = self._hit_rate(math.inf), self._hit_rate(self._accesses)
        step = min(_STEP, (self.final_hit_rate - rate) / 4.0)
        if step <= _SETTLED:
            self.hit_rate = self.final_hit_rate
            return math.inf if self._replaced < _REPLACED else _RENEWAL_STEP_S
        self.hit_rate = rate + step / 2.0
        place = self._accesses / self._block_ratio, self._replaced_per_access
        rise_per_s = max(lru.growth(*place) for lru in self._lru) / self._block_ratio * per_s
        if rise_per_s > 0.0:
            return max(_SHORTEST_STEP_S, step / rise_per_s)
        return _SHORTEST_STEP_S if elapsed_s == 0.0 else math.inf  # the rate of the first reads is not known yet

    def _fit(self, data_blocks: float) -> None:
        """Compute the cache again if the number of data blocks has changed by more than `_GROWTH`.

        A popularity has a block for every few keys of the key space; the trees lack keys that were never written, and keep
        old versions of others. n times as many blocks, each 1/n times as popular, fill a cache like n times its size.
        """
        blocks = float(np.mean([popularity.blocks.sum() for _, popularity in self._readers]))
        ratio = max(1.0, data_blocks) / blocks
        if abs(ratio - self._block_ratio) > _GROWTH * self._block_ratio:
            self._block_ratio = ratio
            self._lru = [lru_cache(popularity, self._cached_blocks / ratio) for _, popularity in self._readers]

    @property
    def _replaced_per_access(self) -> float:
        """Share of the store that compactions replace per access to a cache of the popularity's blocks.

        If a share r is replaced in the time of a accesses, again and again, `_replaced` tends to r blocks / a.
        """
        return self._block_ratio * self._replaced / self._blocks

    def _hit_rate(self, accesses: float) -> float:
        """Return the mean hit rate of the readers after `accesses`."""
        rates = [lru.hit_rate(accesses / self._block_ratio, self._replaced_per_access) for lru in self._lru]
        return float_sum(weight * rate for (weight, _), rate in zip(self._readers, rates, strict=True)) / self._weight

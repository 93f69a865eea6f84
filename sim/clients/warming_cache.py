"""Block cache of a column family while the reads of the clients fill it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from types import MappingProxyType
from typing import Final

import numpy as np
from lsmlab.models.workloads.choosers import FloatArray, Popularity
from lsmlab.models.workloads.reads import BlockGroup, BlockPlace, LruCache, access_shares, in_groups, lru_cache

Groups = Mapping[BlockPlace, BlockGroup]
"""Blocks of a shard by place; none has 0 blocks."""
_NO_BLOCKS: Final[Groups] = MappingProxyType({})
PopularityOf = Callable[[int], Popularity]
"""Function from n to the popularity of blocks that cover 2^n times as many keys as a block of a table with all keys."""

_GROWTH: Final = 0.02
"""Relative change of the number of data blocks, or of the accesses to a group of them, from which the hit rates are computed
again."""
_STEP: Final = 0.02
"""Increase of the hit rate of a cache that fills, between two calls."""
_SETTLED: Final = 1e-4
"""The same, below which the cache is warm."""
_SHORTEST_STEP_S: Final = 1e-3
"""Shortest time between two calls while the cache fills."""
_NEW: Final = 0.02
"""Share of blocks that jobs have written and reads have not cached since, below which it does not matter."""
_RENEWAL_STEP_S: Final = 1.0
"""Time between two calls while reads cache blocks of new files."""


class WarmingCache:
    """Block cache of a shard, empty or full at the start: its hit rate now, and once it is full (docs/decisions/0047)."""

    def __init__(self, readers: Sequence[tuple[float, PopularityOf]], cached_blocks: float, *, warm: bool) -> None:
        """Describe an empty cache, or a full one if `warm`.

        `readers`: weight of each group of readers, and how popular blocks are among its reads. `cached_blocks`: number of data
        blocks that fill the cache.
        """
        self._readers = [(weight, cache(popularity)) for weight, popularity in readers]
        self._weight = sum(weight for weight, _ in readers)
        self._cached_blocks = cached_blocks
        self._lru: list[LruCache] = []
        """The cache as each group of readers would fill it alone."""
        self._groups: Groups = {}
        """Blocks for which `_lru` was computed."""
        self._beside: Groups = {}
        self.beside_rates: Mapping[BlockPlace, float] = {}
        """Hit rates of the blocks beside them, as those of a full cache."""
        self._per_block: dict[BlockPlace, float] = {}
        """Accesses to one block of each group, per access to the cache."""
        self._starts: list[list[int]] = []
        """Index of the first class of each group in the popularity of each of `_lru`."""
        self._accesses = math.inf if warm else 0.0
        """Accesses since the start."""
        self._new: dict[BlockPlace, float] = {}
        """New blocks of each group, divided by its blocks; one access per block of the group caches all but 1/e of them."""
        self._looked_s = 0.0
        """Time of the last call of `advance`."""
        self.hit_rate = self.final_hit_rate = 0.0
        self.hit_rates: Mapping[BlockPlace, float] = {}
        """Hit rate of the accesses to each group of blocks; their mean by accesses is `hit_rate`."""

    @property
    def warm(self) -> bool:
        """Whether the hit rate is that of a full cache, which changes only with the trees."""
        return self.hit_rate >= self.final_hit_rate

    def begin(self, now_s: float) -> None:
        """Note that reads begin again after a time without any: their rate is not that since the last call."""
        self._looked_s = now_s

    def advance(self, accesses: float, groups: Groups, now_s: float, beside: Groups = _NO_BLOCKS) -> float:
        """Set the hit rates until the next call; return the seconds until then, infinity for a warm cache or without reads.

        `accesses` to the data blocks of a shard since the last call; `groups`: these blocks; `beside`: index and filter blocks
        that share the cache, which takes them in when files are written or first read. While the cache fills, a call
        follows when the hit rate has risen by `_STEP`, or by a quarter of what it lacks. Until then, the hit rate is that of the
        middle of the step. A warm cache has the hit rate at which reads cache as many blocks as jobs write.
        """
        elapsed_s = now_s - self._looked_s
        per_s = accesses / elapsed_s if elapsed_s > 0.0 else 0.0
        self._accesses, self._looked_s = self._accesses + accesses, now_s
        self._fit(groups, beside)
        for place, group in groups.items():
            renewed = accesses * self._per_block[place]
            added = -math.expm1(-renewed) / renewed if renewed > 0.0 else 1.0  # of files written evenly since the last call
            self._new[place] = self._new.get(place, 0.0) * math.exp(-renewed) + group.written * added
        final, now = self._hits(math.inf), self._hits(self._accesses)
        self.final_hit_rate, rate = min(1.0, float(final.sum())), float(now.sum())
        step = min(_STEP, (self.final_hit_rate - rate) / 4.0)
        if step <= _SETTLED:
            self.hit_rate = self.final_hit_rate
            self.hit_rates = self._by_group(final)
            shares = access_shares(list(groups.values()))
            new = sum(share * min(1.0, self._new[place]) for share, place in zip(shares, groups, strict=True))
            return math.inf if new < _NEW else _RENEWAL_STEP_S
        self.hit_rate = rate + step / 2.0
        self.hit_rates = self._by_group(now + (final - now) * (step / 2.0 / (self.final_hit_rate - rate)))
        rises = [
            lru.growth(self._accesses, self._new_per_access(starts)) for lru, starts in zip(self._lru, self._starts, strict=True)
        ]
        rise_per_s = max(rises) * per_s
        if rise_per_s > 0.0:
            return max(_SHORTEST_STEP_S, step / rise_per_s)
        return _SHORTEST_STEP_S if elapsed_s == 0.0 else math.inf  # the rate of the first reads is not known yet

    def _fit(self, groups: Groups, beside: Groups) -> None:
        """Compute the cache again if the blocks, or the accesses to them, have changed by more than `_GROWTH`.

        A popularity has a block for every few keys of the key space. A block of a small level covers more of them. The trees lack
        keys that were never written, and keep old versions of others; their blocks are as popular as those of the keys.
        """
        if _change({**self._groups, **self._beside}, {**groups, **beside}) <= _GROWTH:
            return
        self._groups, self._beside, self._lru, self._starts = groups, beside, [], []
        blocks_of = list(groups.values())
        resident = self._keep_beside(list(beside.values()), blocks_of) if beside else [0.0] * len(self._readers)
        shares = access_shares(blocks_of)
        self._per_block = {place: share / group.blocks for share, (place, group) in zip(shares, groups.items(), strict=True)}
        for (_, popularity), taken in zip(self._readers, resident, strict=True):
            parts = _popularity_in(blocks_of, popularity)
            self._lru.append(lru_cache(_joined(parts), self._cached_blocks - taken))
            self._starts.append([*accumulate((len(part.blocks) for part in parts), initial=0)])

    def _keep_beside(self, beside: Sequence[BlockGroup], data: Sequence[BlockGroup]) -> list[float]:
        """Set the hit rates of index and filter blocks; return how many of them a full cache of each group of readers has.

        All blocks of a full cache stay as long after their last access; so data blocks have the rest of it.
        """
        shares, rates, resident = access_shares([*beside, *data])[: len(beside)], np.zeros(len(beside)), []
        for weight, popularity in self._readers:
            parts = _popularity_in([*beside, *data], popularity)
            lru = lru_cache(_joined(parts), self._cached_blocks)
            own = parts[: len(beside)]
            starts = [0, *accumulate(len(part.blocks) for part in own)][:-1]
            hits = np.add.reduceat(lru.hits()[: sum(len(part.blocks) for part in own)], starts)
            rates += weight / self._weight * np.divide(hits, shares, out=np.zeros_like(hits), where=np.array(shares) > 0.0)
            resident.append(sum(float(part.blocks @ -np.expm1(-part.probability * lru.lifetime)) for part in own))
        self.beside_rates = {place: min(1.0, rate) for place, rate in zip(self._beside, rates.tolist(), strict=True)}
        return resident

    def _new_per_access(self, starts: Sequence[int]) -> FloatArray:
        """Return the share of the blocks of each class that jobs write anew per access to the cache.

        If a share r of a group's blocks is written in the time of a accesses, again and again, `_new` tends to
        r / (a `_per_block`), and this share to r / a.
        """
        return np.repeat([self._new[place] * self._per_block[place] for place in self._groups], np.diff(starts))

    def _hits(self, accesses: float) -> FloatArray:
        """Return the readers' mean hits per access, by group of blocks, after `accesses`."""
        total = np.zeros(len(self._groups))
        for (weight, _), lru, starts in zip(self._readers, self._lru, self._starts, strict=True):
            hits = lru.hits(accesses, self._new_per_access(starts))
            total += weight / self._weight * np.add.reduceat(hits, starts[:-1])
        return total

    def _by_group(self, hits: FloatArray) -> Mapping[BlockPlace, float]:
        """Return the hit rate of each group; `hits`: hits per access to any group."""
        shares = np.array(access_shares(list(self._groups.values())))
        rates = np.divide(hits, shares, out=np.zeros_like(hits), where=shares > 0.0)
        return {place: min(1.0, rate) for place, rate in zip(self._groups, rates.tolist(), strict=True)}  # a sum may be 1 + 1e-16


def _popularity_in(groups: Sequence[BlockGroup], popularity: PopularityOf) -> list[Popularity]:
    """Return how popular each block of a group is; a block of a small group covers more keys."""
    finest = float(popularity(0).blocks.sum())
    coarser = [max(0, round(math.log2(finest / group.blocks))) for group in groups]
    return in_groups(groups, [popularity(doublings) for doublings in coarser])


def _joined(parts: Sequence[Popularity]) -> Popularity:
    return Popularity(np.concatenate([p.probability for p in parts]), np.concatenate([p.blocks for p in parts]))


def _change(before: Groups, now: Groups) -> float:
    """Return the largest change of the blocks of a group or of the accesses to it, relative to those of all groups before."""
    if list(before) != list(now):
        return math.inf
    old, new = list(before.values()), list(now.values())
    blocks = sum(group.blocks for group in old)
    moved = [abs(a - b) for a, b in zip(access_shares(old), access_shares(new), strict=True)]
    grown = [abs(a.blocks - b.blocks) / blocks for a, b in zip(old, new, strict=True)]
    return max(*moved, *grown)

"""Keys that some operations prefer: by popularity rank, or by recency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import NO_KEYS, KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import unique_sorted
from lsmlab.models.workloads.choosers import (
    ChooserState,
    HotPresence,
    InsertCursor,
    Owed,
    Popularity,
    share_of,
)
from lsmlab.models.workloads.hashes import fnv1a_64, splitmix_64
from lsmlab.models.workloads.popularity import adjacent_blocks, scattered_blocks
from lsmlab.models.workloads.ranks import RankLaw
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def scatter(ranks: KeyArray, n: int) -> KeyArray:
    """Key numbers of `ranks`: FNV-1a modulo n, as YCSB's scrambled Zipfian does; some ranks share a key."""
    return (fnv1a_64(ranks) % np.uint64(n)).astype(np.int64)


def scatter_groups(groups: KeyArray, n: int) -> KeyArray:
    """Places of groups of ranks among n groups of keys: with enough keys, FNV-1a scatters as evenly as this does."""
    return (splitmix_64(groups) % np.uint64(n)).astype(np.int64)


@dataclass(frozen=True)
class RankedKeys:
    """Keys whose popularity follows a law by rank: Zipfian, hotspot, log-uniform.

    `scattered` ranks are hashed over the key numbers (YCSB's scrambled Zipfian); otherwise rank 0 is key number 0.
    Only the first `share` of the numbers is used.

    In a sampled run the first ranks, which differ most, are carried one by one: whether n writes touch such a key is
    drawn with 1 - (1 - p)^n. Of the others, `stride` adjacent ranks, alike in popularity, stand for one group of keys.
    """

    law: RankLaw
    scattered: bool = True
    share: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"keys: a share of {self.share} of the key space must lie in (0, 1]")

    def hot_numbers(self, population: int, stride: int) -> KeyArray:
        """Numbers of the first ranks."""
        if stride == 1:
            return NO_KEYS
        n = share_of(population, self.share)
        return np.unique(self.numbers(np.arange(self.law.heads(n, stride), dtype=np.int64), n))

    def numbers(self, ranks: KeyArray, n: int) -> KeyArray:
        """Key numbers of ranks, of n keys."""
        return scatter(ranks, n) if self.scattered else np.minimum(ranks, n - 1)

    def start(self, sample: KeySample, cursor: InsertCursor) -> ChooserState:  # noqa: ARG002
        """State for one tree."""
        return _RankedState(self, sample)

    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:
        """Blocks of adjacent ranks, or of ranks from anywhere if these or the key order are scattered."""
        n = share_of(population, self.share)
        if ordered and not self.scattered:
            return adjacent_blocks(self.law, n, keys_per_block)
        return scattered_blocks(self.law, n, keys_per_block)


class _RankedState:
    def __init__(self, chooser: RankedKeys, sample: KeySample) -> None:
        self._chooser = chooser
        self._sample = sample
        self._n = share_of(sample.population, chooser.share)
        self._groups = max(1, -(-self._n // sample.stride))
        heads = 0 if sample.exact else chooser.law.heads(self._n, sample.stride)
        numbers = chooser.numbers(np.arange(heads, dtype=np.int64), self._n)
        if heads and not np.isin(numbers, sample.hot).all():
            heads, numbers = 0, numbers[:0]  # a sample that was made for others: these ranks stay in their groups
        self._heads = heads
        bounds = chooser.law.cdf(np.arange(heads + 1, dtype=np.float64), self._n)
        carried, where = np.unique(numbers, return_inverse=True)
        chance = np.zeros(len(carried))
        np.add.at(chance, where, np.diff(bounds))
        self._hot = HotPresence(sample.hot_codes[sample.hot.searchsorted(carried)], chance)
        self._below = float(bounds[-1])
        self._owed = Owed()

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:
        codes = self._cold(count, rng)
        if self._heads:
            codes = np.concatenate((codes, self._hot.touched(count, rng)))
        return unique_sorted(codes)

    def counted(self, count: float, rng: np.random.Generator) -> tuple[KeyArray, FloatArray]:
        """Codes as in `distinct`; a group that was drawn n times had each of its keys written n times."""
        codes, times = np.unique(self._cold(count, rng), return_counts=True)
        hot, updates = self._hot.counted(count, rng) if self._heads else (NO_KEYS, np.empty(0))
        codes, updates = np.concatenate((codes, hot)), np.concatenate((times.astype(np.float64), updates))
        order = np.argsort(codes)
        return codes[order], updates[order]

    def _cold(self, count: float, rng: np.random.Generator) -> KeyArray:
        """Groups of ranks that are not carried one by one, in the order of the draws."""
        cold = 1.0 - self._below
        drawn = self._owed.take(count * cold / self._sample.weight) if self._sample.weight else 0
        ranks = self._chooser.law.draw(self._below + cold * rng.random(drawn), self._n)
        return self._group_codes(np.maximum(ranks, self._heads))

    def sample_reads(self, k: int, rng: np.random.Generator) -> KeyArray:
        u = (np.arange(k) + rng.random(k)) / max(1, k)  # one in each k-th of the law: less noise than k free draws
        ranks = self._chooser.law.draw(u, self._n)
        first = ranks < self._sample.stride  # ranks of the first group are read one by one, wherever they are carried
        codes = self._group_codes(ranks)
        codes[first] = self._sample.number_codes(self._chooser.numbers(ranks[first], self._n))
        return codes

    def _group_codes(self, ranks: KeyArray) -> KeyArray:
        if self._sample.exact:
            return self._sample.group_codes(self._chooser.numbers(ranks, self._n))
        groups = ranks >> self._sample.shift
        if self._chooser.scattered:
            return self._sample.group_codes(scatter_groups(groups, self._groups))
        return self._sample.group_codes(np.minimum(groups, self._groups - 1))


@dataclass(frozen=True)
class RecentKeys:
    """The key inserted r insertions ago, r by a law: YCSB's `latest` (Zipfian) and `exponential`.

    The keys move with every insert, so none is carried by itself.
    """

    law: RankLaw

    def hot_numbers(self, population: int, stride: int) -> KeyArray:  # noqa: ARG002 - the protocol's signature
        """None."""
        return NO_KEYS

    def start(self, sample: KeySample, cursor: InsertCursor) -> ChooserState:
        """State for one tree: it follows `cursor`."""
        return _RecentState(self.law, sample, cursor)

    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:
        """As of one moment: the newest keys side by side if the key order is, else anywhere."""
        blocks = adjacent_blocks if ordered else scattered_blocks
        return blocks(self.law, population, keys_per_block)


class _RecentState:
    def __init__(self, law: RankLaw, sample: KeySample, cursor: InsertCursor) -> None:
        self._law = law
        self._sample = sample
        self._cursor = cursor
        self._owed = Owed()

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:
        drawn = self._owed.take(count / self._sample.weight) if self._sample.weight else 0
        return unique_sorted(self._sample.number_codes(self._numbers(rng.random(drawn))))

    def sample_reads(self, k: int, rng: np.random.Generator) -> KeyArray:
        return self._sample.number_codes(self._numbers((np.arange(k) + rng.random(k)) / max(1, k)))

    def _numbers(self, u: FloatArray) -> KeyArray:
        written = max(1, int(self._cursor.number))
        ranks = np.minimum(self._law.draw(u, written), written - 1)
        return written - 1 - ranks

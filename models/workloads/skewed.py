"""Skewed distributions of keys, by popularity rank or by recency, and the access probabilities of their blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import NO_KEYS, KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import unique_sorted
from lsmlab.models.workloads.choosers import (
    Carry,
    Chooser,
    ChooserState,
    HotPresence,
    InsertCursor,
    Popularity,
    share_of,
)
from lsmlab.models.workloads.hashes import fnv1a_64, splitmix_64
from lsmlab.models.workloads.ranks import RankLaw
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_CLASSES: Final = 256  # classes of a condensed popularity: more than 100 change hit rates by less than 0.1 %
_BINS: Final = 1 << 17  # maximum of single blocks; more blocks are sampled
_HEADS: Final = 1 << 13  # ranks with a block each among sampled blocks: so few of 2^17 blocks that few would share one
_PER_BIN: Final = 4  # rank groups per bin; the mass of deeper ranks is even to within 1 / sqrt(4 · 2^17)


def scatter(ranks: KeyArray, n: int) -> KeyArray:
    """Key numbers of `ranks`: FNV-1a modulo n, as in YCSB's scrambled Zipfian; some ranks share a key."""
    return (fnv1a_64(ranks) % np.uint64(n)).astype(np.int64)


def scatter_groups(groups: KeyArray, n: int) -> KeyArray:
    """Places of groups of ranks among n groups of keys by SplitMix64, as even as FNV-1a over many keys."""
    return (splitmix_64(groups) % np.uint64(n)).astype(np.int64)


@dataclass(frozen=True)
class RankedKeys(Chooser):
    """Keys with popularity by rank: Zipfian, hotspot, log-uniform.

    `scattered` ranks are hashed over the key numbers (YCSB's scrambled Zipfian); otherwise rank 0 is key number 0. The
    distribution covers only the first `share` of the numbers.

    In a sampled run the first ranks, whose popularity differs most, have codes of their own: n writes include such a
    key with probability 1 - (1 - p)^n. Groups of `stride` adjacent further ranks, similar in popularity, share a code.
    """

    law: RankLaw
    scattered: bool = True
    share: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"keys: a share of {self.share} of the key space is out of range; it must be in (0, 1]")

    def hot_numbers(self, population: int, stride: int) -> KeyArray:
        """Numbers of the first ranks."""
        if stride == 1:
            return NO_KEYS
        n = share_of(population, self.share)
        return np.unique(self.numbers(np.arange(self.law.heads(n, stride), dtype=np.int64), n))

    def numbers(self, ranks: KeyArray, n: int) -> KeyArray:
        """Key numbers of ranks among n keys."""
        return scatter(ranks, n) if self.scattered else np.minimum(ranks, n - 1)

    def start(self, sample: KeySample, cursor: InsertCursor) -> ChooserState:  # noqa: ARG002
        """Return the state for one shard."""
        return _RankedState(self, sample)

    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:
        """Return blocks of adjacent ranks, or of random ranks if the ranks or the key order are scattered."""
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
            heads, numbers = 0, numbers[:0]  # a sample without codes for these ranks: they stay in their groups
        self._heads = heads
        bounds = chooser.law.cdf(np.arange(heads + 1, dtype=np.float64), self._n)
        carried, where = np.unique(numbers, return_inverse=True)
        chance = np.zeros(len(carried))
        np.add.at(chance, where, np.diff(bounds))
        self._hot = HotPresence(sample.hot_codes[sample.hot.searchsorted(carried)], chance)
        self._below = float(bounds[-1])
        self._carry_over = Carry()

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:
        codes = self._cold(count, rng)
        if self._heads:
            codes = np.concatenate((codes, self._hot.touched(count, rng)))
        return unique_sorted(codes)

    def distinct_with_counts(self, count: float, rng: np.random.Generator) -> tuple[KeyArray, FloatArray]:
        """Codes as in `distinct`; n draws of a group are n writes to each of its keys."""
        codes, times = np.unique(self._cold(count, rng), return_counts=True)
        hot, updates = self._hot.distinct_with_counts(count, rng) if self._heads else (NO_KEYS, np.empty(0))
        codes, updates = np.concatenate((codes, hot)), np.concatenate((times.astype(np.float64), updates))
        order = np.argsort(codes)
        return codes[order], updates[order]

    def _cold(self, count: float, rng: np.random.Generator) -> KeyArray:
        """Groups of the ranks without codes of their own, in the order of the draws."""
        cold = 1.0 - self._below
        drawn = self._carry_over.take(count * cold / self._sample.weight) if self._sample.weight else 0
        ranks = self._chooser.law.draw(self._below + cold * rng.random(drawn), self._n)
        return self._group_codes(np.maximum(ranks, self._heads))

    def sample_reads(self, k: int, rng: np.random.Generator) -> KeyArray:
        u = (np.arange(k) + rng.random(k)) / max(1, k)  # stratified: less noise than k draws
        ranks = self._chooser.law.draw(u, self._n)
        first = ranks < self._sample.stride  # ranks of the first group are single keys, with or without codes of their own
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
class RecentKeys(Chooser):
    """Keys by recency: the key inserted r insertions ago, r by a law; YCSB's `latest` (Zipfian) and `exponential`.

    The popularity of keys changes with every insert, so no key has a code of its own.
    """

    law: RankLaw

    def start(self, sample: KeySample, cursor: InsertCursor) -> ChooserState:
        """Return the state for one shard, which reads `cursor`."""
        return _RecentState(self.law, sample, cursor)

    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:
        """Return the popularity at one point in time: the newest keys share blocks only if the key space is ordered."""
        blocks = adjacent_blocks if ordered else scattered_blocks
        return blocks(self.law, population, keys_per_block)


class _RecentState:
    def __init__(self, law: RankLaw, sample: KeySample, cursor: InsertCursor) -> None:
        self._law = law
        self._sample = sample
        self._cursor = cursor
        self._carry_over = Carry()

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:
        drawn = self._carry_over.take(count / self._sample.weight) if self._sample.weight else 0
        return unique_sorted(self._sample.number_codes(self._numbers(rng.random(drawn))))

    def sample_reads(self, k: int, rng: np.random.Generator) -> KeyArray:
        return self._sample.number_codes(self._numbers((np.arange(k) + rng.random(k)) / max(1, k)))

    def _numbers(self, u: FloatArray) -> KeyArray:
        written = max(1, int(self._cursor.number))
        ranks = np.minimum(self._law.draw(u, written), written - 1)
        return written - 1 - ranks


def scattered_blocks(law: RankLaw, n: int, keys_per_block: float, values: int | None = None) -> Popularity:
    """Popularity of blocks of n keys with random ranks; `values`: number of values of the law, if different from n.

    Each rank is in a random block. More than 2^17 blocks are sampled as keys are: the first ranks have a block each; of
    the others, adjacent ranks form groups of as many ranks as a sampled block represents blocks.
    """
    blocks = max(1.0, n / keys_per_block)
    bins = max(1, min(_BINS, round(blocks)))
    per_bin = blocks / bins
    items = law.items(values or n)
    heads = 0 if per_bin <= 1.0 else min(_HEADS, items, int(blocks))
    step = max(1.0, per_bin)
    groups = min(_PER_BIN * bins, int((items - heads) / step) + 1)
    edges: FloatArray = heads + np.arange(groups + 1, dtype=np.float64) * step
    mass = np.diff(law.cdf(edges, values or n))
    placed = np.bincount((splitmix_64(np.arange(groups)) % np.uint64(bins)).astype(np.int64), mass, bins)
    head_mass = np.diff(law.cdf(np.arange(heads + 1, dtype=np.float64), values or n))
    rest = max(0.0, 1.0 - float(mass.sum()) - float(head_mass.sum()))
    return condense(
        np.concatenate((head_mass + (rest + mass.sum()) / blocks, placed / per_bin + rest / blocks)),
        np.concatenate((np.ones(heads), np.full(bins, (blocks - heads) / bins))),
    )


def adjacent_blocks(law: RankLaw, n: int, keys_per_block: float) -> Popularity:
    """Popularity of blocks of adjacent ranks: the first blocks singly, then in classes whose size grows by 1 %."""
    blocks = max(1.0, n / keys_per_block)
    singles = np.arange(min(4096.0, blocks), dtype=np.float64)
    edges = np.concatenate((singles, [blocks]))
    if blocks > 4096:
        steps = int(np.log(blocks / 4096) / np.log(1.01)) + 2
        edges = np.unique(np.concatenate((singles, np.geomspace(4096, blocks, steps))))
    counts: FloatArray = np.diff(edges).astype(np.float64)
    chance = law.cdf(np.minimum(edges * keys_per_block, n), n)
    last = np.diff(chance)
    last[-1] += 1.0 - chance[-1] + chance[0]
    return condense(last / counts, counts)


def condense(probability: FloatArray, blocks: FloatArray) -> Popularity:
    """Merge classes of similar probability; accesses and blocks are conserved."""
    if len(probability) <= _CLASSES:
        return Popularity(probability, blocks)
    log = np.log(np.maximum(probability, 1e-300))
    low, high = float(log.min()), float(log.max())
    place = np.minimum(((log - low) / max(high - low, 1e-12) * _CLASSES).astype(np.int64), _CLASSES - 1)
    merged, mass = np.zeros(_CLASSES), np.zeros(_CLASSES)
    np.add.at(merged, place, blocks)
    np.add.at(mass, place, probability * blocks)
    keep = merged > 0
    return Popularity(mass[keep] / merged[keep], merged[keep])

"""mixgraph's keys: ranges of different popularity, a power law of hashed keys within each (behaviour/db-bench.md, mixgraph)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import NO_KEYS, KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import unique_sorted
from lsmlab.models.workloads.choosers import Carry, Chooser, ChooserState, HotPresence, InsertCursor, Popularity
from lsmlab.models.workloads.mt19937 import Mt19937x64
from lsmlab.models.workloads.ranks import PowerLaw
from lsmlab.models.workloads.skewed import FloatArray, condense, scatter_groups, scattered_blocks
from numpy.typing import NDArray

MOST_PLACES: Final = 65_536
"""Maximum of the remainders that `RangedKeys.levels` evaluates; of more remainders it takes evenly spaced ones."""
MOST_SHARES: Final = 2**63 - 1
"""Maximum sum of the shares: db_bench keeps them as int64_t."""


def range_shares(a: float, b: float, c: float, d: float, ranges: int) -> tuple[int, ...]:
    """Shares of the key ranges, in key order: in proportion to a · e^(b i) + c · e^(d i) for i = ranges … 1, shuffled.

    `GenerateTwoTermExpKeys::InitiateExpDistribution`: the probabilities, scaled by 1 / the first one above 0, are rounded
    down to whole shares, and the seed of the shuffle is the sum of the shares.
    """
    order = range(ranges, 0, -1)
    try:
        chances = [a * math.exp(b * i) + c * math.exp(d * i) for i in order]
    except OverflowError:
        chances = [math.inf]
    chances = [p if p >= 1e-16 else 0.0 for p in chances]
    first = next((p for p in chances if p > 0), 0.0)
    if not first or not math.isfinite(sum(chances)):
        raise InputError("keyrange_dist_a, _b, _c, _d: no key range has a finite probability above 0; change them")
    amplify = math.floor(1.0 / first) + 1
    shares = [math.floor(amplify * p) for p in chances]
    total = sum(shares)
    if not total:
        raise InputError("keyrange_dist_a, _b, _c, _d: all key ranges have a share of 0; change them")
    if total > MOST_SHARES:
        raise InputError(
            f"keyrange_dist_a, _b, _c, _d: the shares sum to {float(total):.3g}, more than a 64-bit integer; change them"
        )
    for i, at in enumerate((Mt19937x64(total).take(ranges) % np.uint64(ranges)).tolist()):
        shares[i], shares[at] = shares[at], shares[i]
    return tuple(shares)


@dataclass(frozen=True)
class RangedKeys(Chooser):
    """Keys by range: a range by its share, then a key in it by a power law over hashed seeds.

    A seed has the same place in every range, as in db_bench; the hash is SplitMix64's here, the first output of a
    Mersenne Twister there.
    """

    shares: tuple[int, ...]
    """Shares of the ranges, in any unit: db_bench divides them by their sum."""
    law: PowerLaw
    share: float = 1.0
    """Random numbers that give an operation of this kind, per key. db_bench takes the kind of an operation from the same
    random number as its key, so gets and puts have different ones."""

    @property
    def chances(self) -> FloatArray:
        """Probability of each range."""
        shares: FloatArray = np.array(self.shares, dtype=np.float64)
        return shares / float(shares.sum())

    def hot_numbers(self, population: int, stride: int) -> KeyArray:
        """Numbers of the 2 · stride most popular (range, seed) pairs of the first group of seeds."""
        if stride == 1:
            return NO_KEYS
        pairs = self.hot_pairs(population, stride)
        return np.unique(self.numbers(pairs[0], pairs[1], population))

    def hot_pairs(self, population: int, stride: int) -> tuple[KeyArray, KeyArray]:
        """Return (ranges, seeds) of the hot keys."""
        seeds = self.law.heads(self.range_size(population), stride)
        mass = self.seed_probabilities(seeds, population)
        flat = np.argsort(-mass, axis=None, kind="stable")[: 2 * stride]
        flat = flat[mass.ravel()[flat] > 0]
        return flat // seeds, flat % seeds

    def levels(self, population: int) -> KeyArray:
        """Effective number of values of the power law's u in each range.

        In db_bench one random number below the population gives both the range (its remainder by the sum of the shares)
        and u (its remainder by the size of a range), so u and range are not independent. One value of u comes from as
        many random numbers as there are ranges, and several of these may give the same range: with 667 shares and
        ranges of 333,333 keys, four times which is one less than a multiple of 667, up to 5 of 7. The result is the
        number of equally likely values with the same probability of a repetition: (sum of hits)^2 / sum of squares. Each
        random number is one of this kind of operation with probability `share`.
        """
        size, total = self.range_size(population), sum(self.shares)
        places = min(total, size)
        place = np.arange(0, places, max(1, places // MOST_PLACES), dtype=np.int64)
        edges = np.cumsum(np.array(self.shares, dtype=np.int64))
        hits = np.zeros((len(self.shares), len(place)))
        for turn in range(population // size):
            hits[edges.searchsorted((place + turn * size) % total, side="right"), np.arange(len(place))] += 1.0
        squares = (hits * (1.0 - self.share) + hits**2 * self.share).sum(axis=1)
        met = self.share * hits.sum(axis=1) ** 2 / np.maximum(squares, 1e-300)
        levels: KeyArray = np.maximum(np.round(met / len(place) * size), 1.0).astype(np.int64)
        return levels

    def seed_probabilities(self, seeds: int, population: int) -> FloatArray:
        """Probabilities of the first `seeds` seeds of each range. Shape (ranges, seeds)."""
        edges = np.arange(seeds + 1, dtype=np.float64)
        rows = [np.diff(self.law.cdf(edges, n)) for n in self.levels(population).tolist()]
        return np.asarray(np.array(rows) * self.chances[:, None], dtype=np.float64)

    def numbers(self, ranges: KeyArray, seeds: KeyArray, population: int) -> KeyArray:
        """Key numbers of (range, seed) pairs."""
        size = self.range_size(population)
        return ranges * size + scatter_groups(seeds, size)

    def range_size(self, population: int) -> int:
        """Number of keys of one range."""
        size = population // len(self.shares)
        if size < 1:
            raise InputError(f"keyrange_num: {len(self.shares)} ranges need at least as many keys, not {population}")
        return size

    def start(self, sample: KeySample, cursor: InsertCursor) -> ChooserState:  # noqa: ARG002
        """Return the state for one shard."""
        return _RangedState(self, sample)

    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:  # noqa: ARG002
        """Return the blocks of each range, weighted by its share."""
        size, shares = self.range_size(population), self.chances
        levels = self.levels(population).tolist()
        by_level = {n: scattered_blocks(self.law, size, keys_per_block, n) for n in set(levels)}
        ranges = [(share, by_level[n]) for share, n in zip(shares.tolist(), levels, strict=True)]
        return condense(
            np.concatenate([share * one.probability for share, one in ranges]),
            np.concatenate([one.blocks for _, one in ranges]),
        )


class _RangedState:
    def __init__(self, chooser: RangedKeys, sample: KeySample) -> None:
        self._chooser = chooser
        self._sample = sample
        self._population = sample.population
        self._size = chooser.range_size(sample.population)
        self._levels = chooser.levels(sample.population)
        self._cells = max(1, -(-self._size // sample.stride))
        self._edges = np.cumsum(chooser.chances)[:-1]
        self._carry_over = Carry()
        self._is_hot: NDArray[np.bool_] = np.zeros((len(chooser.shares), 0), dtype=np.bool_)
        self._hot = HotPresence(NO_KEYS, 0.0)
        self._cold_share = 1.0
        if len(sample.hot):
            self._set_up_hot()

    def _set_up_hot(self) -> None:
        ranges, seeds = self._chooser.hot_pairs(self._population, self._sample.stride)
        numbers = self._chooser.numbers(ranges, seeds, self._population)
        hot = self._sample.hot
        if not np.isin(numbers, hot).all():
            return  # a sample without codes for these keys
        heads = int(seeds.max()) + 1
        mass = self._chooser.seed_probabilities(heads, self._population)
        self._is_hot = np.zeros((len(self._chooser.shares), heads), dtype=np.bool_)
        self._is_hot[ranges, seeds] = True
        carried, where = np.unique(numbers, return_inverse=True)
        chance = np.zeros(len(carried))
        np.add.at(chance, where, mass[ranges, seeds])
        self._hot = HotPresence(self._sample.hot_codes[hot.searchsorted(carried)], chance)
        self._cold_share = max(0.0, 1.0 - float(chance.sum()))

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:
        weight = self._sample.weight
        wanted = self._carry_over.take(count * self._cold_share / weight) if weight else 0
        parts: list[KeyArray] = []
        missing = wanted
        while missing > 0:  # draw from all pairs and reject the hot ones: the rest follows the law of the cold ones
            tries = int(1.1 * missing / max(self._cold_share, 0.01)) + 8
            ranges, seeds = self._draw(rng.random(tries), rng.random(tries))
            cold = np.flatnonzero(~self._carried(ranges, seeds))[:missing]
            parts.append(self._group_codes(ranges[cold], seeds[cold]))
            missing -= len(cold)
        parts.append(self._hot.touched(count, rng))
        return unique_sorted(np.concatenate(parts))

    def sample_reads(self, k: int, rng: np.random.Generator) -> KeyArray:
        ranges, seeds = self._draw((np.arange(k) + rng.random(k)) / max(1, k), rng.random(k))
        codes = self._group_codes(ranges, seeds)
        first = seeds < self._sample.stride
        numbers = self._chooser.numbers(ranges[first], seeds[first], self._population)
        codes[first] = self._sample.number_codes(numbers)
        return codes

    def _draw(self, u: FloatArray, v: FloatArray) -> tuple[KeyArray, KeyArray]:
        """Draw ranges, and seeds of the law."""
        ranges = self._edges.searchsorted(u, side="right").astype(np.int64)
        return ranges, self._chooser.law.draw(v, self._levels[ranges])

    def _carried(self, ranges: KeyArray, seeds: KeyArray) -> NDArray[np.bool_]:
        heads = self._is_hot.shape[1]
        if not heads:
            return np.zeros(len(seeds), dtype=np.bool_)
        hot: NDArray[np.bool_] = self._is_hot[ranges, np.minimum(seeds, heads - 1)]
        hot[seeds >= heads] = False
        return hot

    def _group_codes(self, ranges: KeyArray, seeds: KeyArray) -> KeyArray:
        places = self._size if self._sample.exact else self._cells
        groups = scatter_groups(seeds >> self._sample.shift, places)
        return self._sample.group_codes(((ranges * self._size) >> self._sample.shift) + groups)

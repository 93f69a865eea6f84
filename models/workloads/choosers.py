"""Choosers: distributions of the keys of operations; the contract, and uniform and sequential keys.

A chooser is a frozen description. `start` returns its state for one shard of one run. The state works on whole
memtables: it returns the distinct keys of the next n writes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import NO_KEYS, KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import unique_sorted
from lsmlab.models.workloads.mt19937 import FillRandomKeys
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

TURN_WRITES: Final = 8000.0
"""Writes that a thread of fillseq makes before another one goes on (behaviour/measurements.md, Threads of fillseq)."""
_FEWEST_TURNS: Final = 0.01
"""Least number of turns in a memtable: with it, one thread makes nearly all writes."""


@dataclass(slots=True)
class InsertCursor:
    """Number of the next key to insert into one shard; all choosers of this shard share the cursor."""

    number: float = 0.0
    shard: int = 0
    """Number of the shard: choosers with a seed of their own draw different keys in each."""


@dataclass(frozen=True, eq=False)
class Popularity:
    """Access probabilities of blocks, in classes of blocks with equal probability. `probability` · `blocks` sums to 1."""

    probability: FloatArray
    """Probability that one access is to one given block of the class. Shape (classes,)."""
    blocks: FloatArray
    """Number of blocks of the class. Shape (classes,)."""


class ChooserState(Protocol):
    """State of a chooser for one shard."""

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:
        """Codes of the next `count` writes: ascending and distinct."""

    def sample_reads(self, k: int, rng: np.random.Generator) -> KeyArray:
        """Draw `k` codes from the distribution of reads, each for the same number of reads. In no order."""


@runtime_checkable
class CountsUpdates(Protocol):
    """State of a chooser with a skewed distribution, which counts the writes per key."""

    def distinct_with_counts(self, count: float, rng: np.random.Generator) -> tuple[KeyArray, FloatArray]:
        """Codes as in `distinct`, and the mean number of writes to each of the keys of a code."""


def distinct_with_counts(state: ChooserState, count: float, rng: np.random.Generator) -> tuple[KeyArray, FloatArray]:
    """Codes of the next `count` writes, and the number of writes per key: 1 for unskewed distributions."""
    if isinstance(state, CountsUpdates):
        return state.distinct_with_counts(count, rng)
    codes = state.distinct(count, rng)
    return codes, np.ones(len(codes))


class Chooser(ABC):
    """Distribution over key numbers."""

    def hot_numbers(self, population: int, stride: int) -> KeyArray:  # noqa: ARG002
        """Numbers of the keys that need a code of their own in a sample of one key in `stride`, ascending. Default: none."""
        return NO_KEYS

    @abstractmethod
    def start(self, sample: KeySample, cursor: InsertCursor) -> ChooserState:
        """Return the state for one shard."""

    @abstractmethod
    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:
        """Access probabilities of blocks of adjacent keys, for caches; `ordered`: key order is number order."""


def share_of(population: int, share: float) -> int:
    """Number of keys in the first `share` of a population; at least 1."""
    return max(1, round(population * share))


@dataclass(slots=True)
class Carry:
    """Carry of the fraction of a sampled key to the next call, so that rounding adds no noise."""

    fraction: float = 0.0

    def take(self, amount: float) -> int:
        """Return the whole part of `amount` plus the carry, and carry the rest."""
        total = self.fraction + amount
        whole = int(total + 1e-9)  # tolerance for rounding: 10 times 0.1 is one key
        self.fraction = total - whole
        return whole

    def put_back(self, keys: int) -> None:
        """Add `keys` that the caller took and did not use to the carry."""
        self.fraction += keys


class HotPresence:
    """Hot keys among the next writes, each with its own probability per write."""

    def __init__(self, codes: KeyArray, probability: FloatArray | float) -> None:
        self._codes = codes
        p = np.broadcast_to(np.minimum(probability, 1.0 - 2.0**-53), codes.shape)
        self._log_absent = np.log1p(-np.asarray(p, dtype=np.float64))

    def touched(self, count: float, rng: np.random.Generator) -> KeyArray:
        """Codes written at least once, each with probability 1 - (1 - p)^count."""
        return self.distinct_with_counts(count, rng)[0]

    def distinct_with_counts(self, count: float, rng: np.random.Generator) -> tuple[KeyArray, FloatArray]:
        """Codes as in `touched`, and the mean number of writes to each, given at least one."""
        if not len(self._codes):
            return NO_KEYS, np.empty(0)
        present = -np.expm1(count * self._log_absent)
        touched = rng.random(len(self._codes)) < present
        return self._codes[touched], (count * -np.expm1(self._log_absent) / present)[touched]


@dataclass(frozen=True)
class UniformKeys(Chooser):
    """Uniform distribution over the first `share` of the key numbers (all by default).

    With `seed`, an exact run regenerates db_bench's own sequence: one 64-bit Mersenne Twister per thread, seeded with
    `seed` + thread number, threads in turn (behaviour/db-bench.md, Keys).
    """

    share: float = 1.0
    seed: int | None = None
    threads: int = 1
    first_thread: int = 1
    """Number of the first thread: db_bench counts threads over all benchmarks of an invocation, from 1 (up to 7.1:
    from 0)."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or self.threads < 1:
            raise InputError(f"uniform keys: share {self.share} must be in (0, 1], and threads {self.threads} at least 1")

    def start(self, sample: KeySample, cursor: InsertCursor) -> ChooserState:
        """Return the state for one shard."""
        items = share_of(sample.population, self.share)
        if sample.exact and self.seed is not None:
            first = self.first_thread + cursor.shard * self.threads
            threads = [FillRandomKeys(self.seed, first + i, items) for i in range(self.threads)]
            return _DbBenchState(sample, threads, items)
        return _UniformState(sample, items)

    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:  # noqa: ARG002
        """Return one class: all blocks have the same probability."""
        blocks = max(1.0, share_of(population, self.share) / keys_per_block)
        return Popularity(np.array([1.0 / blocks]), np.array([blocks]))


def quantile_groups(drawn: int, writes: float, groups: int, rng: np.random.Generator) -> KeyArray:
    """Draw `drawn` groups for `writes` uniform writes, with the noise of `writes` and not of `drawn` independent draws.

    Independent draws would give file boundaries the sampling noise of a few hundred keys, where the real store has that
    of tens of thousands. So the groups are quantiles of the store's keys: one at random in each of `drawn` equal strata,
    displaced by a Brownian bridge over the square root of `writes` (the limit of the empirical quantile process,
    Donsker's theorem). Ascending except for a few neighbours; a group may occur twice at a border of two strata.
    """
    if drawn == 0:
        return NO_KEYS
    place = (np.arange(drawn) + rng.random(drawn)) / drawn
    walk = np.cumsum(rng.standard_normal(drawn)) / math.sqrt(drawn)
    place += (walk - place * walk[-1]) / math.sqrt(max(1.0, writes))
    groups_ = (place * groups).astype(np.int64)
    np.maximum(groups_, 0, out=groups_)
    return np.minimum(groups_, groups - 1, out=groups_)


_DENSE: Final = 0.125
"""Writes per group from which keys are drawn independently: strata would be too narrow for distinct groups."""


class _UniformState:
    def __init__(self, sample: KeySample, items: int) -> None:
        self._sample = sample
        self._items = items
        self._groups = max(1, -(-items // sample.stride))
        in_range = sample.hot < items
        self._hot = HotPresence(sample.hot_codes[in_range], 1.0 / items)
        self._any_hot = bool(in_range.any())
        # With h hot keys, a share (items - h) / items of the writes is cold, and a group has (items - h) / groups keys.
        self._draws_per_write = self._groups / items
        self._carry_over = Carry()

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:
        draws = count * self._draws_per_write
        if self._sample.exact or draws > _DENSE * self._groups:
            groups = rng.integers(0, self._groups, self._carry_over.take(draws))
        else:
            touched = -self._groups * math.expm1(count * math.log1p(-1.0 / self._items))
            taken = self._carry_over.take(touched)
            groups = unique_sorted(quantile_groups(taken, count, self._groups, rng), of_runs=True)
            self._carry_over.put_back(taken - len(groups))  # `touched` counts distinct groups already
        codes = self._sample.group_codes(groups)
        if self._any_hot:
            codes = np.concatenate((codes, self._hot.touched(count, rng)))
        return unique_sorted(codes)

    def sample_reads(self, k: int, rng: np.random.Generator) -> KeyArray:
        return self._sample.number_codes(rng.integers(0, self._items, k))


class _DbBenchState(_UniformState):
    """State of db_bench's writer threads, which write round robin."""

    def __init__(self, sample: KeySample, threads: Sequence[FillRandomKeys], items: int) -> None:
        super().__init__(sample, items)
        self._threads = threads
        self._done = 0

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:  # noqa: ARG002 - the keys are db_bench's
        n = len(self._threads)
        before = self._done
        self._done += self._carry_over.take(count)
        parts = [
            thread.take((self._done + n - 1 - i) // n - (before + n - 1 - i) // n)
            for i, thread in enumerate(self._threads)
        ]
        return unique_sorted(self._sample.group_codes(np.concatenate(parts)))


@dataclass(frozen=True)
class SequentialKeys(Chooser):
    """Keys in the order of their numbers, from the insert cursor on: fillseq, and every insert.

    The key order sets their places: at the end (`Ordered`), spread over the key space (`Hashed`: filluniquerandom,
    YCSB's inserts), or at the end of each key range (`InsertRanges`).
    """

    threads: int = 1
    """Threads that each write the whole sequence (db_bench's fillseq)."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise InputError(f"sequential keys: {self.threads} threads must be at least 1")

    def start(self, sample: KeySample, cursor: InsertCursor) -> ChooserState:
        """Return the state for one shard, which advances `cursor`."""
        return _SequentialState(sample, cursor) if self.threads == 1 else _SequentialThreads(sample, cursor, self.threads)

    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:  # noqa: ARG002
        """Return the uniform popularity: over a whole pass all blocks are read equally often."""
        return UniformKeys().popularity(population, keys_per_block)


class _SequentialState:
    def __init__(self, sample: KeySample, cursor: InsertCursor) -> None:
        self._sample = sample
        self._cursor = cursor

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:  # noqa: ARG002 - nothing is random
        first = self._cursor.number
        self._cursor.number = stop = first + count
        stride = self._sample.stride
        return self._codes(math.ceil(first / stride - 1e-9), first, stop)

    def _codes(self, first_group: int, first: float, stop: float) -> KeyArray:
        """Codes of the keys with numbers in [first, stop), from group `first_group` on."""
        groups = np.arange(first_group, math.ceil(stop / self._sample.stride - 1e-9), dtype=np.int64)
        codes = self._sample.group_codes(groups)
        if len(self._sample.hot):
            i, j = self._sample.hot.searchsorted((first, stop))
            codes = np.concatenate((codes, self._sample.hot_codes[i:j]))
        return unique_sorted(codes)

    def sample_reads(self, k: int, rng: np.random.Generator) -> KeyArray:
        written = max(1, int(self._cursor.number))
        return self._sample.number_codes(rng.integers(0, written, k))


class _SequentialThreads(_SequentialState):
    """Threads that each write the whole sequence; they take turns of `TURN_WRITES` in random order until they finish.

    So threads drift apart: soon a memtable has the keys of each thread in a range of its own, and the ranges of two files
    overlap. A group of keys that some thread has not finished belongs to both.
    """

    def __init__(self, sample: KeySample, cursor: InsertCursor, threads: int) -> None:
        super().__init__(sample, cursor)
        self._next = np.full(threads, cursor.number)
        """Number of the next key of each thread."""

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:
        first, self._next = self._next, self._advanced(count, rng)
        self._cursor.number = float(self._next.max())
        parts = [
            self._codes(int(lo // self._sample.stride), lo, hi) for lo, hi in _joined(first, self._next) if hi > lo
        ]
        return unique_sorted(np.concatenate(parts)) if parts else NO_KEYS

    def _advanced(self, count: float, rng: np.random.Generator) -> FloatArray:
        """Numbers of the next keys after `count` writes."""
        ends, left = self._next, count
        while left > 1e-9:
            room = self._sample.population - ends
            active = room > 1e-9
            if not active.any():
                return ends
            turns = max(left / TURN_WRITES, _FEWEST_TURNS)
            shares = np.zeros(len(ends))
            shares[active] = rng.dirichlet(np.full(active.sum(), turns / active.sum()))
            steps = np.minimum(shares * left, room)
            ends, left = ends + steps, left - float(steps.sum())
        return ends


def _joined(first: FloatArray, stop: FloatArray) -> list[tuple[float, float]]:
    """Return the union of the intervals [first, stop) as disjoint intervals, ascending."""
    joined: list[tuple[float, float]] = []
    for lo, hi in sorted(zip(first.tolist(), stop.tolist(), strict=True)):
        if joined and lo <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(hi, joined[-1][1])
        else:
            joined.append((lo, hi))
    return joined

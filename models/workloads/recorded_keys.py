"""Keys of recorded operations, in their order, and sizes of recorded values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.models.tree.files import NO_KEYS, KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.workloads.choosers import Carry, Chooser, ChooserState, InsertCursor, Popularity
from lsmlab.models.workloads.hashes import splitmix_64
from lsmlab.models.workloads.skewed import condense
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_QUANTILES: Final = 1000


@dataclass(frozen=True, eq=False)
class RecordedKeys(Chooser):
    """Keys in the order of a record, from its begin again at its end, at their places in the key space.

    In a sampled run the most popular keys have codes of their own. Of the other keys one in each group of `stride`, chosen by a
    hash, stands for the group.
    """

    keys: KeyArray
    """Number of the key of each operation."""
    places: FloatArray
    """Place in the key space, in [0, 1), of each key of the whole trace."""

    def numbers(self, keys: KeyArray, population: int) -> KeyArray:
        """Return the key numbers in a key space of keys of the trace."""
        return (self.places[keys] * population).astype(np.int64)

    def hot_numbers(self, population: int, stride: int) -> KeyArray:
        """Numbers of the keys with most operations, as many as two groups have."""
        if stride == 1:
            return NO_KEYS
        used, counts = np.unique(self.keys, return_counts=True)
        most = used[np.argsort(-counts, kind="stable")[: 2 * stride]]
        return np.unique(self.numbers(most, population))

    def start(self, sample: KeySample, cursor: InsertCursor) -> ChooserState:  # noqa: ARG002
        """Return the state for one shard."""
        return _RecordedState(self.numbers(self.keys, sample.population), sample)

    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:  # noqa: ARG002
        """Return how often the record has each block of adjacent keys.

        Blocks that occur once show how likely a read is to need one that does not occur: as likely as the share of the operations
        on them (Good and Turing, Biometrika 1953). The blocks that occur share the rest in proportion to their operations.
        """
        blocks = max(1, round(population / keys_per_block))
        counts = np.unique((self.places[self.keys] * blocks).astype(np.int64), return_counts=True)[1]
        unseen = blocks - len(counts)
        missing = float(np.count_nonzero(counts == 1)) / len(self.keys) if unseen else 0.0
        times, seen = np.unique(counts, return_counts=True)
        probability = times.astype(np.float64) * ((1.0 - missing) / len(self.keys))
        number = seen.astype(np.float64)
        if missing > 0.0:
            probability, number = np.append(probability, [missing / unseen]), np.append(number, [float(unseen)])
        if float(probability @ number) <= 0.0:  # each block occurs once
            return Popularity(np.array([1.0 / blocks]), np.array([float(blocks)]))
        return condense(probability, number)


class _RecordedState:
    def __init__(self, numbers: KeyArray, sample: KeySample) -> None:
        self._numbers = numbers
        self._sample = sample
        self._done = 0
        self._carry_over = Carry()

    def distinct(self, count: float, rng: np.random.Generator) -> KeyArray:
        return self.distinct_with_counts(count, rng)[0]

    def distinct_with_counts(self, count: float, rng: np.random.Generator) -> tuple[KeyArray, FloatArray]:  # noqa: ARG002
        taken = self._carry_over.take(count)
        places = np.arange(self._done, self._done + taken, dtype=np.int64) % len(self._numbers)
        self._done += taken
        numbers = self._numbers[places]
        if not self._sample.exact:
            numbers = numbers[self._carried(numbers)]
        codes, times = np.unique(self._sample.number_codes(numbers), return_counts=True)
        return codes, times.astype(np.float64)

    def _carried(self, numbers: KeyArray) -> NDArray[np.bool_]:
        """Whether each key has a code of its own, or stands for its group."""
        groups = numbers >> self._sample.shift
        chosen = splitmix_64(groups).astype(np.int64) & (self._sample.stride - 1)
        carried: NDArray[np.bool_] = (numbers & (self._sample.stride - 1)) == chosen
        return carried | np.isin(numbers, self._sample.hot)

    def sample_reads(self, k: int, rng: np.random.Generator) -> KeyArray:
        places = ((np.arange(k) + rng.random(k)) / max(1, k) * len(self._numbers)).astype(np.int64)
        return self._sample.number_codes(self._numbers[places])


@dataclass(frozen=True, slots=True)
class RecordedSizes:
    """Sizes of recorded values, by their quantiles."""

    quantiles: tuple[float, ...]
    """Sizes at even steps from the smallest to the largest, ascending."""
    mean_bytes: float

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> RecordedSizes:
        """Return the distribution of sizes in bytes, at least one."""
        steps = np.quantile(sizes, np.linspace(0.0, 1.0, min(_QUANTILES, len(sizes)) + 1), method="inverted_cdf")
        return cls(tuple(steps.tolist()), float(np.mean(sizes)))

    def quantile(self, u: FloatArray) -> FloatArray:
        """Sizes at the fractions `u`."""
        steps: Sequence[float] = self.quantiles
        place = np.minimum((u * len(steps)).astype(np.int64), len(steps) - 1)
        return np.asarray(steps, dtype=np.float64)[place]

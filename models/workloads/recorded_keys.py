"""Keys of recorded operations, in their order, and sizes of recorded values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from lsmlab.models.tree.files import NO_KEYS, KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.workloads.choosers import Carry, Chooser, ChooserState, InsertCursor, Popularity
from lsmlab.models.workloads.fitted_keys import KeyFit, fit_keys
from lsmlab.models.workloads.hashes import splitmix_64
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_QUANTILES: Final = 1000


@dataclass(frozen=True, eq=False)
class RecordedKeys(Chooser):
    """Keys in the order of a record, from its begin again at its end; they are spread evenly over the key space.

    In a sampled run the most popular keys have codes of their own. Of the other keys one in each group of `stride`, chosen by a
    hash, stands for the group. How popular blocks are, for caches, follows from the distribution that is fitted to the record:
    the counts of a short record would make each block that it touched once more popular than those it did not touch.
    """

    keys: KeyArray
    """Number of the key of each operation, below `distinct`."""
    distinct: int
    """Keys of the whole trace."""

    @cached_property
    def fit(self) -> KeyFit:
        """The fitted distribution."""
        return fit_keys(self.keys)

    def numbers(self, keys: KeyArray, population: int) -> KeyArray:
        """Return the key numbers in a key space of keys of the trace."""
        places: KeyArray = (2 * keys + 1) * population // (2 * self.distinct)
        return places

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

    def popularity(self, population: int, keys_per_block: float, ordered: bool = True) -> Popularity:
        """Return that of the fitted distribution."""
        return self.fit.chooser.popularity(population, keys_per_block, ordered)


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

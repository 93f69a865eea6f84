"""Key codes, and the keys that a run carries: all of them, or a sample with weights.

A code is an int64: a key's place in the key order, shifted left by one. Bit 0 is set for a *hot* key, which has a code
of its own and weight 1. All other keys are *cold*: `stride` adjacent key numbers form a group with one code, which is
written and deleted as a whole and weighs as much as all its keys. Codes compare as keys do, and distances between
codes are distances in the real key space at every sampling rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import NO_KEYS, KeyArray
from lsmlab.models.tree.key_order import KeyOrder, Ordered
from lsmlab.models.tree.merge import unique_sorted
from numpy.typing import NDArray


def choose_rate(entries_per_file: float, samples_per_file: float, population: int) -> float:
    """Choose the sampling rate 2^-s at which a file of `entries_per_file` has about `samples_per_file` keys.

    A population smaller than `entries_per_file` replaces it, so that the smallest store has that many keys too.
    Between 250 and 1,000 keys per file cost less than 1 % of accuracy (measured on a prototype)
    (behaviour/measurements.md, Samples per file).
    """
    if samples_per_file < 1:
        raise InputError(f"keys.samples_per_file: {samples_per_file} must be at least 1")
    stride = min(entries_per_file, population) / samples_per_file
    return 2.0 ** -max(0, round(math.log2(max(1.0, stride))))


@dataclass(frozen=True, eq=False)
class KeySample:
    """Sample of the keys of a run.

    `rate` is 1 (exact: every key, weight 1) or a negative power of two. `hot` holds the numbers of the hot keys.
    The weights of all keys sum to `population` exactly.
    """

    population: int
    """Number of keys that the workload can write; key numbers beyond it are valid and reuse the places of earlier
    ones."""
    rate: float = 1.0
    order: KeyOrder = field(default_factory=Ordered)
    hot: KeyArray = field(default_factory=lambda: NO_KEYS)
    """Key numbers with a code of their own, ascending, distinct and below `population`."""
    shift: int = field(init=False)
    """log2 of `stride`."""
    cells: int = field(init=False)
    """Groups of cold keys: the number of sampled keys."""
    weight: float = field(init=False)
    """Real keys per cold code."""
    hot_codes: KeyArray = field(init=False, repr=False)
    """Codes of `hot`, in the same order."""

    def __post_init__(self) -> None:
        if self.population < 1:
            raise InputError(f"a key space of {self.population} keys is empty; give the workload at least 1 key")
        shift = -math.log2(self.rate) if self.rate > 0 else -1.0
        if shift < 0 or shift != int(shift):
            raise InputError(f"keys.rate: {self.rate} must be 1 or a negative power of two, such as 0.0078125 (1/128)")
        stride = 1 << int(shift)
        cells = max(1, -(-self.population // stride))
        places = self.order.place(self.hot, self.population)
        set_ = object.__setattr__
        set_(self, "shift", int(shift))
        set_(self, "cells", cells)
        set_(self, "weight", 1.0 if stride == 1 else max(0, self.population - len(self.hot)) / cells)
        set_(self, "hot_codes", (places << 1) | 1 if len(self.hot) else NO_KEYS)

    @property
    def exact(self) -> bool:
        """Return whether the run carries every key."""
        return self.shift == 0

    @property
    def stride(self) -> int:
        """Adjacent key numbers per group."""
        return 1 << self.shift

    def weights(self, codes: KeyArray) -> NDArray[np.float64] | float:
        """Real keys per code: one number for all codes without hot keys, else an array of shape (len(codes),)."""
        if not len(self.hot):
            return self.weight
        return np.where(codes & 1, 1.0, self.weight)

    def entries(self, codes: KeyArray) -> float:
        """Sum of the real keys of `codes`."""
        if not len(self.hot):
            return len(codes) * self.weight
        hot = int(np.count_nonzero(codes & 1))
        return hot + (len(codes) - hot) * self.weight

    def group_codes(self, groups: KeyArray) -> KeyArray:
        """Codes of groups of cold keys, in the order given.

        Groups at or beyond `cells` (inserts past `population`) go to the end of an `Ordered` key order, and otherwise
        between existing keys while the stride leaves room (an exact run overwrites).
        """
        if isinstance(self.order, Ordered):
            return groups << (self.shift + 1)
        if len(groups) and int(groups.max()) >= self.cells:
            epoch = np.minimum(groups // self.cells, self.stride - 1)
            return ((self.order.place(groups % self.cells, self.cells) << self.shift) + epoch) << 1
        return self.order.place(groups, self.cells) << (self.shift + 1)

    def number_codes(self, numbers: KeyArray) -> KeyArray:
        """Codes of single keys by number, in the order given: the key's own code if it is hot, else its group's."""
        codes = self.group_codes(numbers >> self.shift)
        if len(self.hot):
            at = np.minimum(self.hot.searchsorted(numbers), len(self.hot) - 1)
            is_hot = self.hot[at] == numbers
            codes = np.where(is_hot, self.hot_codes[at], codes)
        return codes

    def count(self, stop: int) -> int:
        """Number of distinct codes of the first `stop` keys, without making them; `stop` is at most `population`."""
        return -(-stop // self.stride) + int(self.hot.searchsorted(stop)) if stop > 0 else 0

    def codes(self, first: int = 0, stop: int | None = None) -> KeyArray:
        """Distinct codes of the keys numbered first … stop - 1 (all by default), in key order.

        A group belongs to the range that contains its first key; a range from 0 always includes the first group, so a
        non-empty range has at least one code.
        """
        stop = self.population if stop is None else stop
        if stop <= first:
            return NO_KEYS
        groups = np.arange(-(-first // self.stride), -(-stop // self.stride), dtype=np.int64)
        codes = self.group_codes(groups)
        ordered = isinstance(self.order, Ordered)
        if len(self.hot):
            i, j = self.hot.searchsorted((first, stop))
            codes = np.concatenate((codes, self.hot_codes[i:j]))
        elif ordered:
            return codes
        return unique_sorted(codes, of_runs=ordered)

"""Key orders: maps from key numbers to places in the key order (in order, hashed or range-partitioned)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

Int64Array = NDArray[np.int64]

_ODD_1: Final = np.uint64(0xFF51AFD7ED558CCD)  # the multipliers of MurmurHash3's 64-bit finaliser
_ODD_2: Final = np.uint64(0xC4CEB9FE1A85EC53)
_ODD_3: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio


class KeyOrder(Protocol):
    """Map from key numbers (the order in which keys are first written) to places in the key order."""

    def place(self, numbers: Int64Array, size: int) -> Int64Array:
        """Return the places of `numbers`, each in [0, size): a bijection of [0, size). Same shape as `numbers`."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """Keys are numbered in key order (db_bench's keys, YCSB `insertorder=ordered`)."""

    def place(self, numbers: Int64Array, size: int) -> Int64Array:  # noqa: ARG002 - the protocol's signature
        """Return `numbers`."""
        return numbers


@dataclass(frozen=True, slots=True)
class Hashed:
    """Keys are hashes of their numbers: insertions spread over the whole key space (YCSB `insertorder=hashed`).

    The map is a pseudo-random permutation: multiply-xorshift rounds are bijections of b-bit words, and a word at or
    above `size` goes through the rounds again until it is below.
    """

    def place(self, numbers: Int64Array, size: int) -> Int64Array:
        """Return places by a fixed pseudo-random permutation of [0, size)."""
        if size <= 2:
            return numbers
        words = numbers.astype(np.uint64)
        bits = (size - 1).bit_length()
        words = _permute(words, bits)
        outside = np.flatnonzero(words >= size)
        while len(outside):
            words[outside] = again = _permute(words[outside], bits)
            outside = outside[again >= size]
        return words.astype(np.int64)


@dataclass(frozen=True, slots=True)
class InsertRanges:
    """Keys in `ranges` key ranges, each written in order, round robin: range-partitioned (hash(k) mod ranges, k).

    A hash spreads consecutive keys over the ranges evenly up to noise; the round robin leaves the noise out.
    """

    ranges: int

    def place(self, numbers: Int64Array, size: int) -> Int64Array:
        """Return (number mod ranges) · size / ranges + number / ranges, with at most `size` ranges."""
        ranges = min(self.ranges, size)
        full, rest = divmod(size, ranges)
        range_ = numbers % ranges
        return range_ * full + np.minimum(range_, rest) + numbers // ranges


def _permute(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    mask = np.uint64((1 << bits) - 1)
    shift = np.uint64((bits + 1) // 2)
    x = (words + _ODD_3) & mask
    for odd in (_ODD_1, _ODD_2, _ODD_3):
        x = (x * odd) & mask
        x ^= x >> shift
    return x

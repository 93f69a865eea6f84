"""Hashes of key numbers: FNV-1a and SplitMix64."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_OFFSET: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(1099511628211)
_BYTE: Final = np.uint64(0xFF)


def fnv1a_64(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Compute 64-bit FNV-1a over the eight bytes of each number, lowest first, as YCSB's `Utils.fnvhash64`.

    Like YCSB, the function takes the absolute value of the signed result.
    """
    left = numbers.astype(np.uint64)
    value = np.full(left.shape, _OFFSET)
    for _ in range(8):
        value ^= left & _BYTE
        value *= _PRIME
        left >>= np.uint64(8)
    return np.abs(value.view(np.int64)).view(np.uint64)


def splitmix_64(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Compute the finaliser of SplitMix64 (Steele, Lea, Flood 2014): every output bit depends on every input bit.

    For uses where no benchmark prescribes a hash. FNV-1a of small numbers is uneven: modulo 62,500, for example, it
    reaches half of the values where a random function reaches 63 %.
    """
    x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))

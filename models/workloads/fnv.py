"""The hash that YCSB scatters keys with."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_OFFSET: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(1099511628211)
_BYTE: Final = np.uint64(0xFF)


def fnv1a_64(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """64-bit FNV-1a over the eight bytes of each number, lowest first, made positive.

    YCSB's `Utils.fnvhash64`: it takes the absolute value of the signed result, and so does this.
    """
    left = numbers.astype(np.uint64)
    value = np.full(left.shape, _OFFSET)
    for _ in range(8):
        value ^= left & _BYTE
        value *= _PRIME
        left >>= np.uint64(8)
    return np.abs(value.view(np.int64)).view(np.uint64)

"""std::mt19937_64 in blocks, and the key sequences that db_bench draws from it.

NumPy's MT19937 is the 32-bit generator. db_bench uses the 64-bit one (Matsumoto and Nishimura, 2000), which this module
implements to regenerate db_bench's keys.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

UInt64Array = NDArray[np.uint64]

_N: Final = 312  # words of state; this and the constants below define mt19937_64 (C++ standard, [rand.predef])
_M: Final = 156
_MATRIX: Final = np.uint64(0xB5026F5AA96619E9)
_UPPER: Final = np.uint64(0xFFFFFFFF80000000)
_LOWER: Final = np.uint64(0x7FFFFFFF)
_SEED_MULTIPLIER: Final = 6364136223846793005
_ONE: Final = np.uint64(1)
_BLOCKS_PER_BATCH: Final = 64  # tempering works on 20,000 words at a time: fits the L2 cache
DEFAULT_SEED: Final = 5489
"""Seed of a default-constructed std::mt19937_64."""


class Mt19937x64:
    """Generator std::mt19937_64: `take` continues the sequence after the last call."""

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        state = [seed & (2**64 - 1)]
        for i in range(1, _N):
            previous = state[-1]
            state.append((_SEED_MULTIPLIER * (previous ^ (previous >> 62)) + i) & (2**64 - 1))
        self._state: UInt64Array = np.array(state, dtype=np.uint64)
        self._spare: UInt64Array = np.empty(0, dtype=np.uint64)

    def take(self, count: int) -> UInt64Array:
        """Draw the next `count` outputs. Shape (count,)."""
        parts = [self._spare[:count]]
        self._spare = self._spare[count:]
        missing = count - len(parts[0])
        while missing > 0:
            batch = self._batch(min(_BLOCKS_PER_BATCH, -(-missing // _N)))
            parts.append(batch[:missing])
            self._spare = batch[missing:]
            missing -= len(parts[-1])
        return np.concatenate(parts)

    def _batch(self, blocks: int) -> UInt64Array:
        raw = np.empty((blocks, _N), dtype=np.uint64)
        state = self._state
        for row in raw:
            _twist(state, row)
            state = row
        self._state = state.copy()
        return _temper(raw.reshape(-1))


def _twist(old: UInt64Array, new: UInt64Array) -> None:
    """Write the successor of state `old` to `new`.

    Word i depends on the old words i and i + 1 and on word i + M, which is old in the first half and new in the second.
    So each half is one vector operation; only the last word, which depends on new word 0, is computed separately.
    """
    half = _N - _M
    mixed = _mix((old[:-1] & _UPPER) | (old[1:] & _LOWER))
    np.bitwise_xor(mixed[:half], old[_M:], out=new[:half])
    np.bitwise_xor(mixed[half:], new[: _M - 1], out=new[half:-1])
    last = (old[-1] & _UPPER) | (new[0] & _LOWER)
    new[-1] = new[_M - 1] ^ (last >> _ONE) ^ (_MATRIX if last & _ONE else np.uint64(0))


def _mix(x: UInt64Array) -> UInt64Array:
    return (x >> _ONE) ^ ((x & _ONE) * _MATRIX)


def _temper(x: UInt64Array) -> UInt64Array:
    x ^= (x >> np.uint64(29)) & np.uint64(0x5555555555555555)
    x ^= (x << np.uint64(17)) & np.uint64(0x71D67FFFEDA60000)
    x ^= (x << np.uint64(37)) & np.uint64(0xFFF7EEE000000000)
    x ^= x >> np.uint64(43)
    return x


class FillRandomKeys:
    """Key ids that one db_bench writer thread puts in fillrandom and overwrite (single database).

    Each operation draws two numbers: the first selects the database, the second modulo `num` is the key. So the keys
    are every second output. The seed of the generator is `seed` + `thread`; threads count 1, 2, 3 … over all benchmarks
    of one invocation (behaviour/db-bench.md, Keys).
    """

    def __init__(self, seed: int, thread: int, num: int) -> None:
        self._generator = Mt19937x64(seed + thread)
        self._num = np.uint64(num)

    def take(self, count: int) -> NDArray[np.int64]:
        """Draw the next `count` key ids. Shape (count,)."""
        return (self._generator.take(2 * count)[1::2] % self._num).astype(np.int64)

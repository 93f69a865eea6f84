"""Exact packing of sorted entries into data blocks: where each block ends, and how many bytes it takes.

Rules: (behaviour/tables.md, Data blocks) (`BlockBuilder`, `FlushBlockBySizePolicy`), for tables without compression.
Keys are db_bench's: the key id in 8 bytes, big-endian, padded with '0' to the key size, so that ids order like keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.models.tree.memtable import SEQNO_BYTES, varint_length
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

ID_BYTES: Final = 8
"""Bytes of the key id at the start of a db_bench key; a shorter key has only as many."""
BLOCK_TRAILER_BYTES: Final = 5
"""Compression type and checksum behind every block."""
RESTART_BYTES: Final = 4
"""One restart offset; a block ends with these and their count."""


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """Table options that set the end of a data block (defaults: BlockBasedTableOptions)."""

    block_size: int = 4096
    """Target bytes of a data block before compression."""
    deviation_percent: int = 10
    """block_size_deviation: a block may close early once it is within this percentage of its target."""
    restart_interval: int = 16
    """Entries from one full key to the next."""

    @property
    def early_bytes(self) -> int:
        """Size in bytes above which a block closes if the next entry would take it beyond `block_size`."""
        return -(-self.block_size * (100 - self.deviation_percent) // 100)


DEFAULT_FORMAT: Final = BlockFormat()


def shared_prefix_bytes(ids: IntArray, key_size: int) -> IntArray:
    """Count the leading bytes that each key shares with the one before it. Shape (n,); `ids` ascend strictly."""
    held = min(ID_BYTES, key_size)
    shared = np.zeros(len(ids), dtype=np.int64)
    if len(ids) > 1:
        differing = ids[1:] ^ ids[:-1]
        shared[1:] = held - 1
        widest = int(differing.max())
        for byte in range(1, held):
            if widest < 1 << (8 * byte):
                break
            shared[1:] -= differing >= 1 << (8 * byte)
    return shared


class BlockLayout:
    """Block ends for every possible block start of one sorted run, so that a cutter may cut the run into files anywhere.

    The end of a block depends on its first entry alone: the k-th entry of a block is a restart point if k is a multiple
    of the restart interval. `next_start[i]` is the first entry after a block that begins with entry i.
    """

    __slots__ = ("_count", "_format", "_plain", "_restart", "_steps", "next_start")

    def __init__(
        self, ids: IntArray, key_size: int, value_size: int | IntArray, block_format: BlockFormat = DEFAULT_FORMAT
    ) -> None:
        """Lay out `ids` (ascending, distinct); `value_size` is one number of bytes, or one per entry."""
        n = len(ids)
        internal = key_size + SEQNO_BYTES
        values = np.asarray(value_size, dtype=np.int64)
        value_bytes = values + _varint_lengths(values)
        shared = shared_prefix_bytes(ids, key_size)
        unshared = internal - shared
        plain = 1 + _varint_lengths(unshared) + unshared + value_bytes
        extra = internal + varint_length(internal) - unshared - _varint_lengths(unshared)
        interval = block_format.restart_interval
        self._count = n
        self._format = block_format
        self._plain = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(plain)))
        self._restart = _strided_sums(extra, interval)
        # RocksDB's estimate of the next entry: the whole key, and four bytes for the shared length.
        self._steps = np.broadcast_to(internal + 4 + varint_length(internal) + value_bytes, (n,))
        self.next_start: IntArray = np.empty(0, dtype=np.int64)
        if n:
            self.next_start = self._find_ends(plain, extra, constant=values.ndim == 0)

    def __len__(self) -> int:
        return self._count

    def block_bytes(self, start: IntArray, end: IntArray) -> IntArray:
        """Bytes on disk of the blocks of entries [start, end), trailer included."""
        return self._estimate(start, end - start) + BLOCK_TRAILER_BYTES

    def starts(self, start: int, end: int, most: int | None = None) -> IntArray:
        """First entries of the blocks of a file with entries [start, end); of the first `most` blocks if given."""
        next_start = memoryview(self.next_start.data)
        begins: list[int] = []
        entry = start
        limit = end - start if most is None else most
        while entry < end and len(begins) < limit:
            begins.append(entry)
            entry = next_start[entry]
        return np.array(begins, dtype=np.int64)

    def data_bytes(self, start: int, end: int) -> int:
        """Compute `data_size` of a file with entries [start, end): the sum of its blocks, in bytes."""
        begins = self.starts(start, end)
        if not len(begins):
            return 0
        return int(self.block_bytes(begins, np.append(begins[1:], end)).sum())

    def finished(self, start: int, limit_bytes: int | None = None) -> tuple[IntArray, IntArray]:
        """Compute the size of a growing file that begins at `start`: (first, size_bytes), both of shape (blocks,).

        Before the builder adds entry i, the file has `size_bytes[k]` for the last k with first[k] <= i, or 0 bytes
        without one. The builder writes a block when the next entry arrives, so the block counts one entry later. The
        last block of the run is left out. With `limit_bytes` the arrays may end once the file has that size.
        """
        most = self._count if limit_bytes is None else limit_bytes // self._format.early_bytes + 2
        begins = self.starts(start, self._count, most)
        begins = begins[self.next_start[begins] < self._count]
        ends = self.next_start[begins]
        first = ends + 1
        return first, np.cumsum(self.block_bytes(begins, ends))

    def _estimate(self, start: IntArray, count: IntArray) -> IntArray:
        """Compute BlockBuilder::CurrentSizeEstimate of the block with `count` entries from `start`, in bytes."""
        interval = self._format.restart_interval
        restarts = (count + (interval - 1)) // interval
        entries = self._plain[start + count] - self._plain[start]
        full_keys = self._restart[start + restarts * interval] - self._restart[start]
        result: IntArray = entries + full_keys + RESTART_BYTES * (restarts + 1)
        return result

    def _closes(self, start: IntArray, count: IntArray) -> NDArray[np.bool_]:
        """Return whether the block [start, start + count) closes before the next entry; the end of the run closes it too."""
        block_format = self._format
        ahead = start + count
        at_end = ahead >= self._count
        size = self._estimate(start, count)
        grown = size + self._steps[np.minimum(ahead, self._count - 1)]
        grown += RESTART_BYTES * (count % block_format.restart_interval == 0)
        result: NDArray[np.bool_] = (
            at_end | (size >= block_format.block_size) | ((grown > block_format.block_size) & (size > block_format.early_bytes))
        )
        return result

    def _near(self, start: IntArray, count: IntArray) -> NDArray[np.bool_]:
        """Return whether the block is large enough to close before some next entry."""
        return (start + count >= self._count) | (self._estimate(start, count) > self._format.early_bytes)

    def _find_ends(self, plain: IntArray, extra: IntArray, *, constant: bool) -> IntArray:
        """Find the first entry after each block, between the smallest and the largest possible number of its entries."""
        block_format = self._format
        early = self._threshold(1) if constant else block_format.early_bytes
        per_restart = int(extra.max()) + RESTART_BYTES
        low = int((early - per_restart - RESTART_BYTES) / (int(plain.max()) + per_restart / block_format.restart_interval))
        least = int(plain.min()) + (int(extra.min()) + RESTART_BYTES) / block_format.restart_interval
        high = int(block_format.block_size / least) + 2
        return self._ends_of_equal(max(1, low), high) if constant else self._ends_of_mixed(max(1, low), high)

    def _threshold(self, count: int) -> int:
        """Size in bytes from which a block of `count` entries closes, where all values have one size."""
        block_format = self._format
        room = block_format.block_size - int(self._steps[0]) - RESTART_BYTES * (count % block_format.restart_interval == 0)
        return min(block_format.block_size, max(block_format.early_bytes, room) + 1)

    def _ends_of_equal(self, low: int, high: int) -> IntArray:
        """Count, per start, the block sizes that stay open: with one value size, a closed block stays closed as it grows."""
        n, interval = self._count, self._format.restart_interval
        plain, restart = self._plain, self._restart
        end = np.arange(low, n + low, dtype=np.int64)
        for count in range(low, min(high, n)):
            restarts = -(-count // interval)
            left = n - count
            size = plain[count:-1] - plain[:left]
            size += restart[restarts * interval : restarts * interval + left]
            size -= restart[:left]
            open_ = size < self._threshold(count) - RESTART_BYTES * (restarts + 1)
            if not open_.any():
                break
            end[:left] += open_
        return np.minimum(end, n)

    def _ends_of_mixed(self, low: int, high: int) -> IntArray:
        """Search each block's end entry by entry: with mixed value sizes a small entry may fit after a large one did not."""
        n = self._count
        start = np.arange(n, dtype=np.int64)
        count = _first_true(self._near, start, np.minimum(low, n - start), np.minimum(high, n - start))
        open_ = np.flatnonzero(~self._closes(start, count))
        while len(open_):
            count[open_] += 1
            open_ = open_[~self._closes(open_, count[open_])]
        return start + count


def _first_true(
    test: Callable[[IntArray, IntArray], NDArray[np.bool_]], start: IntArray, low: IntArray, high: IntArray
) -> IntArray:
    """Find the smallest count in [low, high] for which `test(start, count)` is true; `test(start, high)` must be."""
    while bool((low < high).any()):
        middle = (low + high) >> 1
        holds = test(start, middle)
        high = np.where(holds, middle, high)
        low = np.where(holds, low, np.minimum(middle + 1, high))
    return high


def _strided_sums(values: IntArray, stride: int) -> IntArray:
    """Compute s of length n + 2·stride with s[i + stride] = values[i] + s[i]; values are 0 beyond their end."""
    n = len(values)
    rows = -(-n // stride) + 2
    padded = np.zeros((rows, stride), dtype=np.int64)
    padded.reshape(-1)[stride : stride + n] = values
    return np.cumsum(padded, axis=0).reshape(-1)


def _varint_lengths(values: IntArray) -> IntArray:
    """Compute `varint_length` of each value (below 2^28)."""
    result: IntArray = 1 + (values >= 1 << 7).astype(np.int64) + (values >= 1 << 14) + (values >= 1 << 21)
    return result

"""Bytes of a put in the write batch, the WAL and the memtable, and the capacity of a memtable in entries.

Rules: `MemTable::ShouldFlushNow`, `Arena` (behaviour/write-path.md, Bytes of a put; When a memtable is full). Checked
against flush_started events of RocksDB 6.4, 6.10, 6.11 and 7.8: the predicted entry count is within 0.01 %.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from lsmlab.models import since
from lsmlab.models.version import Version
from numpy.typing import ArrayLike, NDArray

INLINE_BYTES: Final = 2048
"""Bytes of an arena object itself, used before its first block (`Arena::kInlineSize`)."""
SEQNO_BYTES: Final = 8
"""Sequence number and type, which follow the user key in every internal key (`dbformat.h`)."""

_POINTER_BYTES: Final = 8
_MAX_HEIGHT: Final = 12  # InlineSkipList: kMaxHeight; a node has h levels with probability (3/4)·4^-(h-1)
_BRANCHING: Final = 4
_HEADS_BYTES: Final = 2 * _MAX_HEIGHT * _POINTER_BYTES  # head nodes of the skip lists of points and range tombstones
_BATCH_HEADER_BYTES: Final = 12  # WriteBatch: 8 B sequence number, 4 B count
_MIN_ARENA_BLOCK: Final = 4096  # Arena::kMinBlockSize; derived sizes are rounded up to it
_ARENA_BLOCK_CAP: Final = 1 << 20  # limit of the derived arena_block_size (RocksDB pull request 7907)
_LEVELDB_BLOCK: Final = 4096  # kBlockSize, util/arena.cc
_LEVELDB_ENTRIES: Final = 8192
_GOLDEN: Final = 0.6180339887498949  # its multiples fill (0, 1) evenly


def varint_length(value: int) -> int:
    """Bytes of `value` as a varint: 1 below 128, 2 below 16,384 and so on."""
    return max(1, -(-value.bit_length() // 7))


def batch_bytes(key_size: int, value_size: int, *, puts: int = 1) -> int:
    """Bytes of a write batch of `puts` puts: the unit of WriteController's delay credit, the WAL tickers and LOG "ingest"."""
    one = 1 + varint_length(key_size) + key_size + varint_length(value_size) + value_size
    return _BATCH_HEADER_BYTES + puts * one


def encoded_entry_bytes(key_size: int, value_size: int) -> int:
    """Bytes of one entry in the memtable without its skip-list node: the summand of `total_data_size` in the LOG."""
    internal = key_size + SEQNO_BYTES
    return varint_length(internal) + internal + varint_length(value_size) + value_size


def default_arena_block_size(write_buffer_size: int, version: Version) -> int:
    """Compute the bytes of arena_block_size that RocksDB derives from 0: an eighth of the buffer, later at most 1 MiB."""
    block = write_buffer_size // 8
    if version >= since.ARENA_BLOCK_LIMIT:
        block = min(block, _ARENA_BLOCK_CAP)
    return max(_round_up(block, _MIN_ARENA_BLOCK), _MIN_ARENA_BLOCK)


def node_bytes(height: int, key_size: int, value_size: int, *, version: Version) -> int:
    """Arena bytes of one entry whose skip-list node has `height` levels (1 to 12)."""
    encoded = encoded_entry_bytes(key_size, value_size)
    alignment = 16 if version >= since.ARENA_ALIGNS_TO_16 else _POINTER_BYTES  # max_align_t; before, a pointer
    return _round_up(_round_up(_POINTER_BYTES * height + encoded, _POINTER_BYTES), alignment)


def mean_node_bytes(key_size: int, value_size: int, *, version: Version) -> float:
    """Mean arena bytes of one entry over the random node heights: 145.07 for 16 B keys and 100 B values."""
    mean = 0.0
    for height in range(1, _MAX_HEIGHT + 1):
        probability = _BRANCHING ** (1 - height)
        if height < _MAX_HEIGHT:
            probability *= 1 - 1 / _BRANCHING
        mean += probability * node_bytes(height, key_size, value_size, version=version)
    return mean


def memtable_capacity(write_buffer_size: int, arena_block_size: int) -> int:
    """Arena bytes that entries fill before the memtable counts as full (`ShouldFlushNow`).

    The entry that overshoots is not counted, nor is the excess of malloc_usable_size over the request for a block.
    """
    block = arena_block_size
    # In integer tenths: RocksDB allocates one more block while allocated + block < write buffer + 0.6 block.
    blocks = 1
    allocated = INLINE_BYTES + block
    while 10 * (allocated + block) < 10 * write_buffer_size + 6 * block:
        blocks += 1
        allocated += block
    if 10 * allocated > 10 * write_buffer_size + 6 * block:  # the last block alone makes the memtable full
        return (blocks - 1) * block + INLINE_BYTES
    return blocks * block - block // 4


_INLINE_ROOM: Final = INLINE_BYTES - _HEADS_BYTES
"""Bytes of entries that an arena holds before its first block."""
_BLOCK_ROUNDING: Final = 1e-9
"""Share of a block below which a difference is rounding."""


def arena_blocks(used_bytes: ArrayLike, block_bytes: ArrayLike) -> NDArray[np.float64]:
    """Blocks that the arenas of memtables have allocated for entries of `used_bytes`; the first begins after `_INLINE_ROOM`.

    Entries are smaller than a quarter of a block; a larger one gets a block of its own size (`Arena::AllocateFallback`).
    """
    beyond = np.asarray(used_bytes, dtype=np.float64) - _INLINE_ROOM
    return np.maximum(0.0, np.floor(beyond / np.asarray(block_bytes, dtype=np.float64) + _BLOCK_ROUNDING) + 1.0)


def arena_bytes(used_bytes: ArrayLike, block_bytes: ArrayLike) -> NDArray[np.float64]:
    """Memory of memtables whose entries take `used_bytes`: what `Arena` tells the write buffer manager (`AllocTracker`)."""
    return INLINE_BYTES + arena_blocks(used_bytes, block_bytes) * np.asarray(block_bytes, dtype=np.float64)


def next_block_at(used_bytes: ArrayLike, block_bytes: ArrayLike) -> NDArray[np.float64]:
    """Bytes of entries with which the arenas of memtables allocate their next blocks."""
    return _INLINE_ROOM + arena_blocks(used_bytes, block_bytes) * np.asarray(block_bytes, dtype=np.float64)


def leveldb_memtable_entries(write_buffer_size: int, key_size: int, value_size: int) -> float:
    """Puts of one size after which LevelDB's memtable is larger than `write_buffer_size` (db/skiplist.h, util/arena.cc).

    Simulates the arena for the first `_LEVELDB_ENTRIES` entries, with skip-list heights in their expected proportions,
    and extrapolates the mean cost per entry beyond. Rules: (behaviour/leveldb.md, LevelDB memtable).
    """
    encoded = encoded_entry_bytes(key_size, value_size)
    used = left = count = 0
    for count in range(1, _LEVELDB_ENTRIES + 1):
        height = 1
        while height < _MAX_HEIGHT and (count * _GOLDEN) % 1.0 < _BRANCHING**-height:
            height += 1
        node = _POINTER_BYTES * (1 + height)
        # LevelDB aligns the node but not the entry: the alignment may waste a few bytes of the block
        for size, aligned in ((encoded, False), (node, True)):
            need = size + (left % _POINTER_BYTES if aligned else 0)
            if need <= left:
                left -= need
            elif size > _LEVELDB_BLOCK // 4:
                used += size + _POINTER_BYTES  # a block of its own
            else:
                used += _LEVELDB_BLOCK + _POINTER_BYTES
                left = _LEVELDB_BLOCK - size
        if used > write_buffer_size:
            return float(count)
    return count * write_buffer_size / (used - left)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit

"""Size of an SST file: exact from its keys, expected from the density of its keys in the key space.

Rules: (behaviour/tables.md, Data blocks) and, for index and filter, `ShortenedIndexBuilder` and `FilterBitsBuilder`; no
compression.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.tree.blocks import (
    BLOCK_TRAILER_BYTES,
    DEFAULT_FORMAT,
    ID_BYTES,
    RESTART_BYTES,
    BlockFormat,
    BlockLayout,
    IntArray,
    shared_prefix_bytes,
)
from lsmlab.models.tree.memtable import SEQNO_BYTES, varint_length

DEFAULT_FORMAT_VERSION: Final = 5
"""format_version of BlockBasedTableOptions from 6.x to 10.x."""
TAIL_BYTES: Final = 970
"""Properties, metaindex and footer: 965 to 975 B in all recorded files (behaviour/tables.md, Index, filter and tail)."""
_USER_KEY_INDEX_SINCE: Final = 3  # format_version from which index keys carry no sequence number
_DELTA_INDEX_SINCE: Final = 4  # format_version from which index values carry no length of their own
_FAST_BLOOM_SINCE: Final = 5  # format_version from which FastLocalBloom replaces the legacy full filter
_BLOOM_LINE_BYTES: Final = 64
_BLOOM_METADATA_BYTES: Final = 5


def bloom_filter_bytes(entries: float, bits_per_key: float, *, format_version: int = DEFAULT_FORMAT_VERSION) -> int:
    """Bytes of a full Bloom filter: whole cache lines and five bytes of metadata; 0 without a filter.

    The legacy filter (format_version below 5) has an odd number of cache lines.
    """
    if bits_per_key <= 0 or entries <= 0:
        return 0
    lines = -(-int(np.ceil(entries * bits_per_key)) // (8 * _BLOOM_LINE_BYTES))
    if format_version < _FAST_BLOOM_SINCE and lines % 2 == 0:
        lines += 1
    return lines * _BLOOM_LINE_BYTES + _BLOOM_METADATA_BYTES


def index_bytes(
    ids: IntArray,
    layout: BlockLayout,
    start: int,
    end: int,
    key_size: int,
    *,
    format_version: int = DEFAULT_FORMAT_VERSION,
    shorten_last: bool = False,
) -> int:
    """Bytes of the index block of a file with entries [start, end) of a layout of `ids`.

    The index has one entry per data block: the shortest key between the last key of the block and the first key of the
    next block, and the block's handle (offset and size as varints). The last index key is a whole key, or one byte
    with kShortenSeparatorsAndSuccessor (`shorten_last`), which db_bench sets.
    """
    begins = layout.starts(start, end)
    if not len(begins):
        return 0
    sizes = layout.block_bytes(begins, np.append(begins[1:], end))
    offsets = np.cumsum(sizes) - sizes
    handles = sum(int(_varint_total(x)) for x in (offsets, sizes - BLOCK_TRAILER_BYTES))
    # FindShortestSeparator increments the first byte that differs from the block before, and drops the bytes after it
    keys = int((shared_prefix_bytes(ids, key_size)[begins[1:]] + 1).sum())
    keys += 1 if shorten_last else key_size
    per_block = 2 + RESTART_BYTES + _index_key_suffix(format_version) + _index_value_prefix(format_version)
    return handles + keys + per_block * len(begins) + RESTART_BYTES + BLOCK_TRAILER_BYTES


class ExpectedBlock(NamedTuple):
    """Expected values of a data block."""

    entries: float
    size_bytes: float
    """Bytes of the block on disk."""
    entry_bytes: float
    """Bytes per entry."""


def expected_block(
    key_size: int, value_size: float, *, population: float, entries: float, block_format: BlockFormat = DEFAULT_FORMAT
) -> ExpectedBlock:
    """Compute the expected data block of a file whose keys are `entries` random ones of `population` ids.

    Only the density entries/population matters: for a file of a level >= 1 pass the level's entries and the whole key
    space. Example: 121.3 B per entry for 16 B keys and 100 B values, half a million of a million keys. The result is exact
    in expectation: blocks are independent, so an entry has mean block bytes over mean entries per block (renewal theorem),
    with the entries of a block from the distribution of their shared bytes.
    """
    return _expected_block(key_size, value_size, _density(population, entries), block_format)


def expected_file_bytes(
    file_entries: float,
    key_size: int,
    value_size: float,
    *,
    population: float,
    entries: float,
    bits_per_key: float = 0.0,
    block_format: BlockFormat = DEFAULT_FORMAT,
    format_version: int = DEFAULT_FORMAT_VERSION,
) -> float:
    """Expected size in bytes of a file of `file_entries` at density entries/population: data, index, filter, tail."""
    density = _density(population, entries)
    block = _expected_block(key_size, value_size, density, block_format)
    blocks = max(1.0, file_entries / block.entries)
    index = blocks * _expected_index_entry(key_size, density, block.size_bytes, blocks, format_version)
    filter_size = bloom_filter_bytes(file_entries, bits_per_key, format_version=format_version)
    return file_entries * block.entry_bytes + index + filter_size + TAIL_BYTES


def _density(population: float, entries: float) -> float:
    return min(1.0, entries / population) if population > 0 and entries > 0 else 1.0


@lru_cache(maxsize=4096)
def _expected_block(key_size: int, value_size: float, density: float, block_format: BlockFormat) -> ExpectedBlock:
    internal = key_size + SEQNO_BYTES
    value = value_size + varint_length(int(value_size))
    full = 1 + varint_length(internal) + internal + value
    ahead = internal + 4 + varint_length(internal) + value  # RocksDB's estimate of the next entry
    saved = _saving_distribution(key_size, density)
    open_ = np.ones(1)  # probability that the block is still open, by the bytes saved so far
    mean_entries = mean_bytes = 0.0
    count = 0
    while open_.sum() > 1e-12:
        restart = count % block_format.restart_interval == 0
        open_ = open_ if restart else np.convolve(open_, saved)
        count += 1
        restarts = -(-count // block_format.restart_interval)
        size = count * full + RESTART_BYTES * (restarts + 1) - np.arange(len(open_))
        room = block_format.block_size - ahead - RESTART_BYTES * (count % block_format.restart_interval == 0)
        closed = (size >= block_format.block_size) | ((size > room) & (size > block_format.early_bytes))
        mass = open_[closed]
        mean_entries += count * float(mass.sum())
        mean_bytes += float((mass * (size[closed] + BLOCK_TRAILER_BYTES)).sum())
        open_ = np.where(closed, 0.0, open_)
    return ExpectedBlock(mean_entries, mean_bytes, mean_bytes / mean_entries)


def _saving_distribution(key_size: int, density: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Compute P(an entry is s bytes shorter than with a full key), s = 0, 1, …: shared prefix and a shorter varint."""
    held = min(ID_BYTES, key_size)
    internal = key_size + SEQNO_BYTES
    mean_gap = _mean_gap(density)
    # P(at least held - b bytes shared) = E[(1 - gap/256^b)+]: no multiple of 256^b is between the two ids.
    at_least = [1.0] + [1 - mean_gap(256.0**b) / 256.0**b for b in range(held - 1, 0, -1)] + [0.0]
    saved = np.zeros(held + 2)
    for shared in range(held):
        shorter = varint_length(internal) - varint_length(internal - shared)
        saved[shared + shorter] += at_least[shared] - at_least[shared + 1]
    return saved


def _mean_gap(density: float) -> Callable[[float], float]:
    """Return E[min(gap, c)] as a function of c, for the gap between neighbours of a random subset of that density."""
    if density >= 1.0:
        return lambda c: min(1.0, c)
    log_absent = float(np.log1p(-density))
    return lambda c: float(-np.expm1(c * log_absent)) / density


def _expected_index_entry(
    key_size: int, density: float, block_size: float, blocks: float, format_version: int
) -> float:
    """Mean bytes of an index entry, its restart point included."""
    held = min(ID_BYTES, key_size)
    mean_gap = _mean_gap(density)
    shared = sum(1 - mean_gap(256.0**b) / 256.0**b for b in range(1, held))
    key = shared + 1  # up to the first byte that differs
    total = blocks * block_size
    offset = 1 + sum(max(0.0, 1 - 2.0 ** (7 * i) / total) for i in range(1, 6))
    handle = offset + varint_length(int(block_size))
    return 2 + RESTART_BYTES + key + handle + _index_key_suffix(format_version) + _index_value_prefix(format_version)


def _index_key_suffix(format_version: int) -> int:
    return 0 if format_version >= _USER_KEY_INDEX_SINCE else SEQNO_BYTES


def _index_value_prefix(format_version: int) -> int:
    return 0 if format_version >= _DELTA_INDEX_SINCE else 1


def _varint_total(values: IntArray) -> int:
    return int(len(values) + sum(np.count_nonzero(values >= 1 << (7 * i)) for i in range(1, 6)))

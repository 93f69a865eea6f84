"""Data blocks and file sizes (behaviour/tables.md, Data blocks)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsmlab.models.tree.blocks import BlockFormat, BlockLayout, shared_prefix_bytes
from lsmlab.models.tree.memtable import varint_length
from lsmlab.models.tree.sst import (
    TAIL_BYTES,
    bloom_filter_bytes,
    expected_block,
    expected_file_bytes,
    index_bytes,
)


def random_ids(population: int, count: int, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return distinct ids in ascending order."""
    return np.unique(np.random.default_rng(seed).integers(0, population, count))


def pack_one_by_one(
    ids: Sequence[int], key_size: int, values: Sequence[int], form: BlockFormat
) -> list[tuple[int, int]]:
    """Return (entries, bytes on disk) of each block, packed as by BlockBuilder and FlushBlockBySizePolicy."""
    early = -(-form.block_size * (100 - form.deviation_percent) // 100)
    blocks: list[tuple[int, int]] = []
    size, since_restart, count, last = 8, 0, 0, b""
    for number, value in zip(ids, values, strict=True):
        held = min(8, key_size)
        key = number.to_bytes(8, "big")[8 - held :] + b"0" * (key_size - held) + bytes(8)
        if count:
            grown = size + len(key) + value + (4 if since_restart >= form.restart_interval else 0)
            grown += 4 + varint_length(len(key)) + varint_length(value)
            if size >= form.block_size or (grown > form.block_size and size > early):
                blocks.append((count, size + 5))
                size, since_restart, count = 8, 0, 0
        shared = 0
        if since_restart >= form.restart_interval:
            size, since_restart = size + 4, 0
        elif count:
            while shared < len(key) and key[shared] == last[shared]:
                shared += 1
        unshared = len(key) - shared
        size += varint_length(shared) + varint_length(unshared) + varint_length(value) + unshared + value
        since_restart, count, last = since_restart + 1, count + 1, key
    return [*blocks, (count, size + 5)]


def blocks_of(layout: BlockLayout, start: int, end: int) -> list[tuple[int, int]]:
    """Return (entries, bytes on disk) of each block of a layout."""
    begins = layout.starts(start, end)
    ends = np.append(begins[1:], end)
    return list(zip((ends - begins).tolist(), layout.block_bytes(begins, ends).tolist(), strict=True))


@given(
    ids=st.sets(st.integers(0, 2**40 - 1), min_size=1, max_size=300),
    key_size=st.sampled_from([5, 8, 16, 120, 130]),
    value=st.integers(0, 3000),
    form=st.sampled_from([BlockFormat(), BlockFormat(512, 0, 1), BlockFormat(1024, 50, 4)]),
    start=st.integers(0, 50),
)
def test_blocks_of_equal_values(ids: set[int], key_size: int, value: int, form: BlockFormat, start: int) -> None:
    """Any file cut from a sorted run has the blocks of the key-by-key block builder."""
    run = sorted(ids)
    start = min(start, len(run) - 1)
    layout = BlockLayout(np.array(run), key_size, value, form)
    expected = pack_one_by_one(run[start:], key_size, [value] * (len(run) - start), form)
    assert blocks_of(layout, start, len(run)) == expected
    assert layout.data_bytes(start, len(run)) == sum(size for _, size in expected)


@given(values=st.lists(st.one_of(st.integers(0, 40), st.integers(0, 5000)), min_size=1, max_size=300))
def test_blocks_of_mixed_values(values: list[int]) -> None:
    """With a different value size per entry the blocks are those of the key-by-key block builder."""
    run = [7 * i for i in range(len(values))]
    layout = BlockLayout(np.array(run), 16, np.array(values))
    assert blocks_of(layout, 0, len(run)) == pack_one_by_one(run, 16, values, BlockFormat())


def test_finished_blocks_count_one_entry_later() -> None:
    """A growing file has written a block when the second entry of the next block arrives, and never its last block."""
    layout = BlockLayout(np.arange(100), 16, 1000)
    first, size = layout.finished(10)
    blocks = blocks_of(layout, 10, 100)
    ends = 10 + np.cumsum([count for count, _ in blocks])
    assert first.tolist() == (ends[:-1] + 1).tolist()
    assert size.tolist() == np.cumsum([size for _, size in blocks])[:-1].tolist()


def test_finished_blocks_up_to_a_limit() -> None:
    """With a limit the result covers the limit and is a prefix of the result without limit."""
    layout = BlockLayout(random_ids(10**6, 50_000), 16, 100)
    whole_first, whole_size = layout.finished(5)
    first, size = layout.finished(5, 1 << 20)
    assert size[-1] >= 1 << 20
    assert len(first) < len(whole_first)
    assert first.tolist() == whole_first[: len(first)].tolist()
    assert size.tolist() == whole_size[: len(size)].tolist()


def test_empty_run() -> None:
    """A sorted run without entries has no blocks."""
    layout = BlockLayout(np.empty(0, dtype=np.int64), 16, 100)
    assert (len(layout), layout.data_bytes(0, 0)) == (0, 0)


def test_shared_prefix() -> None:
    """Ids that differ in the low byte share seven of eight bytes; ids that differ above it share fewer."""
    assert shared_prefix_bytes(np.array([1, 2, 0x1_00, 0x1_00_00, 2**40]), 16).tolist() == [0, 7, 6, 5, 2]
    assert shared_prefix_bytes(np.array([1, 2, 0x1_00]), 4).tolist() == [0, 3, 2]


def test_specified_entry_size() -> None:
    """16 B keys and 100 B values give 33 entries per 4 KiB block, 121.3 B per entry; 1000 B values give 1026 B."""
    small, large = (expected_block(16, value, population=10**6, entries=5 * 10**5) for value in (100, 1000))

    assert [small.entries, small.entry_bytes, large.entry_bytes] == pytest.approx([33.0, 121.3, 1026.0], abs=0.1)


@pytest.mark.parametrize(
    ("key_size", "value_size", "population", "count"),
    [(16, 100, 10**6, 600_000), (16, 100, 10**8, 60_000), (8, 200, 10**6, 50_000), (16, 10, 10**6, 200_000),
     (130, 1000, 10**5, 90_000)],
)  # fmt: skip
def test_expected_sizes_agree_with_exact_ones(key_size: int, value_size: int, population: int, count: int) -> None:
    """For random keys, expected entry and file sizes equal the exact ones within 0.02 %."""
    ids = random_ids(population, count)
    n = len(ids)
    layout = BlockLayout(ids, key_size, value_size)
    entry = expected_block(key_size, value_size, population=population, entries=n).entry_bytes
    assert entry == pytest.approx(layout.data_bytes(0, n) / n, rel=2e-4)
    exact = layout.data_bytes(0, n) + index_bytes(ids, layout, 0, n, key_size) + bloom_filter_bytes(n, 10) + TAIL_BYTES
    expected = expected_file_bytes(n, key_size, value_size, population=population, entries=n, bits_per_key=10)
    assert expected == pytest.approx(exact, rel=2e-4)


def test_file_of_a_recorded_flush() -> None:
    """As in a 7.8.3 LOG, 55,655 of four million keys with 100 B values make 1687 blocks and 6,797,004 B."""
    size = expected_file_bytes(55_655, 16, 100, population=4 * 10**6, entries=55_655)
    per_block = expected_block(16, 100, population=4 * 10**6, entries=55_655).entries
    assert size == pytest.approx(6_797_004, rel=1e-5)
    assert -(-55_655 // per_block) == 1687


def test_recorded_filter_sizes() -> None:
    """As in real LOGs, filter_size is 77,893 B for 62,234 keys (6.4, legacy) and 611,397 B for 489,059 (6.10)."""
    assert bloom_filter_bytes(62_234, 10, format_version=2) == 77_893
    assert bloom_filter_bytes(489_059, 10, format_version=2) == 611_397
    assert bloom_filter_bytes(1000, 10) == 20 * 64 + 5
    assert (bloom_filter_bytes(1000, 0), bloom_filter_bytes(0, 10)) == (0, 0)


def test_index_of_older_formats_is_larger() -> None:
    """Index keys have 8 more bytes before format 3, index values a length before 4; the last key may have 1 byte."""
    ids = random_ids(10**6, 5000)
    layout = BlockLayout(ids, 16, 100)
    blocks = len(layout.starts(0, len(ids)))
    size = {v: index_bytes(ids, layout, 0, len(ids), 16, format_version=v) for v in (2, 3, 4, 5)}
    assert size[2] - size[3] == 8 * blocks
    assert size[3] - size[4] == blocks
    assert size[4] == size[5]
    assert size[5] - index_bytes(ids, layout, 0, len(ids), 16, shorten_last=True) == 15

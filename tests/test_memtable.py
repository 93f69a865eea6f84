"""Sizes of puts and the capacity of a memtable (behaviour/write-path.md, Bytes of a put; When a memtable is full)."""

from __future__ import annotations

import pytest
from lsmlab.models.tree.memtable import (
    batch_bytes,
    default_arena_block_size,
    encoded_entry_bytes,
    mean_node_bytes,
    memtable_capacity,
    node_bytes,
    varint_length,
)
from lsmlab.models.version import Version

KIB, MIB = 1 << 10, 1 << 20
V5_7, V6_4, V6_10, V6_11, V7_8 = (Version.parse(v) for v in ("5.7", "6.4", "6.10", "6.11", "7.8"))


@pytest.mark.parametrize(("value", "length"), [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (2**21, 4)])
def test_varint_length(value: int, length: int) -> None:
    """A varint takes one byte per seven bits."""
    assert varint_length(value) == length


def test_put_in_a_write_batch() -> None:
    """db_bench's default put takes 131 bytes of a write batch; the header counts once per batch."""
    assert batch_bytes(16, 100) == 131
    assert batch_bytes(16, 100, puts=10) == 12 + 10 * 119


def test_entry_in_the_memtable() -> None:
    """`total_data_size` in the LOG counts 126 B per default put: 56,030 entries make 7,059,780 B in a 7.8.3 LOG."""
    assert encoded_entry_bytes(16, 100) == 126
    assert 56_030 * encoded_entry_bytes(16, 100) == 7_059_780


def test_node_sizes_and_their_mean() -> None:
    """Nodes of height 1 and 2 take 144 B, of 3 and 4 take 160 B; the mean is 145.07 B, and 138.67 B in 5.7."""
    assert [node_bytes(h, 16, 100, version=V7_8) for h in (1, 2, 3, 4)] == [144, 144, 160, 160]
    assert mean_node_bytes(16, 100, version=V7_8) == pytest.approx(145.07, abs=0.005)
    assert mean_node_bytes(16, 100, version=V5_7) == pytest.approx(138.67, abs=0.005)


@pytest.mark.parametrize(
    ("version", "buffer", "block"),
    [
        (V7_8, 64 * MIB, MIB), (V7_8, MIB, 128 * KIB), (V6_11, 64 * MIB, 8 * MIB), (V7_8, 100_000, 16 * KIB),
        (Version(6, 20), 64 * MIB, 8 * MIB), (Version(6, 21), 64 * MIB, MIB),
    ],
)  # fmt: skip
def test_derived_arena_block(version: Version, buffer: int, block: int) -> None:
    """arena_block_size is an eighth of the buffer in whole pages, and at most 1 MiB since 6.21."""
    assert default_arena_block_size(buffer, version) == block


@pytest.mark.parametrize(
    ("version", "buffer", "capacity"),
    [
        (V7_8, 64 * MIB, 63 * MIB + 768 * KIB),
        (V7_8, 8 * MIB, 7 * MIB + 768 * KIB),
        (V7_8, 4 * MIB, 4_063_232),
        (V5_7, 64 * MIB, 62 * MIB),
    ],
)
def test_capacity(version: Version, buffer: int, capacity: int) -> None:
    """Capacities are those of the examples in (behaviour/write-path.md, When a memtable is full)."""
    assert memtable_capacity(buffer, default_arena_block_size(buffer, version)) == capacity


@pytest.mark.parametrize(
    ("version", "buffer", "key", "value", "recorded"),
    [
        (V6_4, 64 * MIB, 16, 1000, 62_254),
        (V6_10, 64 * MIB, 8, 100, 491_529),
        (V6_11, 64 * MIB, 8, 1000, 62_445),
        (V6_11, 512 * MIB, 8, 1000, 499_576),
        (V7_8, 8 * MIB, 16, 100, 56_030),
        (V7_8, MIB, 16, 100, 7_009),
    ],
)
def test_entries_of_real_memtables(version: Version, buffer: int, key: int, value: int, recorded: int) -> None:
    """Capacity over mean node agrees with the median of real flush_started events within 0.1 %, from 8 MiB on within 0.02 %."""
    capacity = memtable_capacity(buffer, default_arena_block_size(buffer, version))
    entries = capacity / mean_node_bytes(key, value, version=version)
    assert entries == pytest.approx(recorded, rel=2e-4 if buffer > MIB else 1e-3)

"""Table format of an SST file: what a file keeps of the table options with which it was written.

A block-based table stores its blocks and its filter, so a store that is opened with other table options reads each file
as it was written (behaviour/tables.md, Table format of old files).
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from lsmlab.models.tree.blocks import DEFAULT_FORMAT, BlockFormat
from lsmlab.models.tree.sst import DEFAULT_FORMAT_VERSION


class Filter(Enum):
    """Kinds of Bloom filter."""

    FAST_LOCAL = "fast_local"
    """RocksDB's full filter with format_version >= 5 (from 6.6)."""
    LEGACY = "legacy"
    """RocksDB's full filter before: also one cache line per key, with ln 2 · bits probes."""
    STANDARD = "standard"
    """LevelDB's filter, with probes anywhere in the filter."""


class TableFormat(NamedTuple):
    """Table options with which an SST file was written."""

    bloom_bits: float = 0.0
    """Filter bits per key; 0 = no filter."""
    filter: Filter = Filter.FAST_LOCAL
    format_version: int = DEFAULT_FORMAT_VERSION
    block_format: BlockFormat = DEFAULT_FORMAT
    compression_ratio: float = 1.0
    """Compressed bytes over uncompressed bytes of a data block; 1 if no level has compression."""
    decompress: float = 0.0
    """CPU time to decompress a byte of the last level, which has most blocks, divided by that of LZ4."""

    def opened(self, reads_filters: bool) -> TableFormat:
        """Return the format as a store reads it: one without filters of its own reads none."""
        return self if reads_filters else self._replace(bloom_bits=0.0)

    def same_blocks(self, other: TableFormat) -> bool:
        """Return whether the formats differ at most in the bits of their filters."""
        return self._replace(bloom_bits=other.bloom_bits) == other

    @property
    def block_size(self) -> int:
        """Bytes of a data block before compression."""
        return self.block_format.block_size

    @property
    def block_bytes(self) -> float:
        """Bytes of a data block on the device."""
        return self.block_format.block_size * self.compression_ratio


DEFAULT_TABLE_FORMAT: Final = TableFormat()

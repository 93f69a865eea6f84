"""Compression: types of the levels' files, and their CPU costs (behaviour/compaction-jobs.md, Compression of outputs)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lsmlab.models.options.fields import Compression, RocksDbOptions


def compresses(options: RocksDbOptions) -> bool:
    """Return whether the files of any level may be compressed."""
    kinds = options.compression_per_level or (options.compression,)
    return any(kind.compresses for kind in (*kinds, options.bottommost_compression))


def flush_compression(options: RocksDbOptions) -> Compression:
    """Return the compression of flushes, GetCompressionFlush."""
    return options.compression_per_level[0] if options.compression_per_level else options.compression


def level_compression(options: RocksDbOptions, level: int, base_level: int, last_level: int) -> Compression:
    """Return the compression of compactions to `level`, GetCompressionType.

    `compression_per_level` lists the types of L0, the base level and the levels below it. `last_level` is the deepest
    level with files.
    """
    if options.bottommost_compression is not Compression.DISABLED and level >= last_level:
        return options.bottommost_compression
    kinds = options.compression_per_level
    if not kinds:
        return options.compression
    index = 0 if level == 0 else level - base_level + 1
    return kinds[max(0, min(index, len(kinds) - 1))]


@dataclass(frozen=True, slots=True)
class Codec:
    """CPU time per uncompressed byte, divided by that of LZ4 (`Host.compress_byte`, `Host.decompress_byte`)."""

    compress: float
    decompress: float


_STORED: Final = Codec(0.0, 0.0)
CODECS: Final = {
    Compression.NONE: _STORED,
    Compression.DISABLED: _STORED,
    Compression.LZ4: Codec(1.0, 1.0),
    Compression.SNAPPY: Codec(1.0, 1.3),
    Compression.ZSTD: Codec(3.8, 6.7),
    Compression.ZSTD_NOT_FINAL: Codec(3.8, 6.7),
    Compression.ZLIB: Codec(14.0, 19.0),
    Compression.LZ4HC: Codec(4.2, 1.0),
    Compression.BZIP2: Codec(180.0, 190.0),
    Compression.XPRESS: Codec(1.0, 1.3),
}
"""Costs of RocksDB's compression types at their default levels.

Source: benchmarks/codecs.py on an EPYC of family 26, blocks of 4 KiB of which 30 to 70 % is random (docs/decisions/0031).
Xpress, which exists on Windows only, is assumed to cost as much as Snappy.
"""

"""CPU costs of RocksDB's compression types, relative to those of LZ4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lsmlab.models.options.fields import Compression


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

"""Measure the CPU costs of codecs (models/policies/rocksdb/compression.py, docs/decisions/0031) on blocks like those of db_bench.

usage: python -m pip install lz4 zstandard cramjam; python benchmarks/codecs.py        (a minute; an idle machine)

Each block of 4 KiB differs, because a repeated block stays in the branch predictor, as in `db_bench --benchmarks=compress`.
A value consists of pieces of 100 bytes, of which the first part is random and repeated (db_bench's CompressibleString).
"""

from __future__ import annotations

import bz2
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Final

import cramjam
import lz4.block
import numpy as np
import zstandard

BLOCK_BYTES: Final = 4096
RATIOS: Final = (0.3, 0.5, 0.7)
"""Random part of each piece."""
ROUNDS: Final = 3
_ZSTD: Final = zstandard.ZstdCompressor(level=3)
_UNZSTD: Final = zstandard.ZstdDecompressor()

Function = Callable[[bytes], bytes]
CODECS: Final[dict[str, tuple[Function, Function]]] = {
    "LZ4": (lz4.block.compress, lz4.block.decompress),
    "Snappy": (lambda b: bytes(cramjam.snappy.compress_raw(b)), lambda b: bytes(cramjam.snappy.decompress_raw(b))),
    "ZSTD": (_ZSTD.compress, _UNZSTD.decompress),
    "LZ4HC": (lambda b: lz4.block.compress(b, mode="high_compression", compression=9), lz4.block.decompress),
    "ZLIB": (lambda b: zlib.compress(b, 6), zlib.decompress),
    "BZip2": (lambda b: bz2.compress(b, 9), bz2.decompress),
}
"""Compression and decompression with RocksDB's default level of each type."""


def blocks(ratio: float, number: int) -> list[bytes]:
    """Return blocks of keys of 16 and values of 400 bytes with the given random part."""
    random, part = np.random.default_rng(1), int(100 * ratio)
    made = []
    for _ in range(number):
        block = bytearray()
        while len(block) < BLOCK_BYTES:
            block += random.bytes(16)
            for _piece in range(4):
                piece = random.integers(32, 127, part, dtype=np.uint8).tobytes()
                block += (piece * (100 // part + 1))[:100]
        made.append(bytes(block[:BLOCK_BYTES]))
    return made


def seconds_per_byte(function: Function, inputs: Sequence[bytes]) -> float:
    """Return the least time of a call over some rounds, per uncompressed byte."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for data in inputs:
            function(data)
        times.append(time.perf_counter() - start)
    return min(times) / len(inputs) / BLOCK_BYTES


def main() -> None:
    """Print nanoseconds per uncompressed byte, also divided by those of LZ4, as means over the ratios."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in CODECS}
    for ratio in RATIOS:
        for name, (compress, decompress) in CODECS.items():
            plain = blocks(ratio, 200 if name == "BZip2" else 3000)
            packed = [compress(b) for b in plain]
            size = sum(map(len, packed)) / sum(map(len, plain))
            found[name].append((seconds_per_byte(compress, plain), seconds_per_byte(decompress, packed), size))
    means = {name: np.mean(rows, axis=0) for name, rows in found.items()}
    unit = means["LZ4"]
    for name, (compress_s, decompress_s, size) in means.items():
        print(
            f"{name:7s} compress {1e9 * compress_s:7.2f} ns/byte, {compress_s / unit[0]:6.1f} x LZ4"
            f"   decompress {1e9 * decompress_s:6.2f} ns/byte, {decompress_s / unit[1]:6.1f} x LZ4   size {size:.2f}"
        )


if __name__ == "__main__":
    main()

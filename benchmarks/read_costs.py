"""Measure the CPU costs of reads of `configs/host/default.yaml` in a release build of RocksDB (docs/decisions/0050).

usage: python benchmarks/read_costs.py LIBRARY [ROUNDS]     (2 min per round; gcc; an idle machine)

LIBRARY is librocksdbjni-linux64.so in org.rocksdb:rocksdbjni:9.8.4:jar:linux64 of Maven Central, or another one with the C API of
RocksDB. read_costs.c calls it. Each shape isolates a cost: a memtable alone, L0 files with and without filters, one sorted
run, blocks in the block cache or in the page cache. The shapes alternate, because the speed of a virtual machine changes by the
minute; medians are fitted. Printed are the shapes, the costs, the CPU time of a merged entry of 1016 bytes, and the time of
MultiGets relative to Gets.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.costs.operations import block_depth, read_depth
from scipy.optimize import least_squares

COLUMNS: Final = ("read_op", "read_memtable", "read_memtable_depth", "read_run", "read_block", "block_depth", "read_call")
CACHED: Final = 2**33
"""Block cache that holds each store, in bytes."""
FALSE_POSITIVE: Final = 0.01
"""Share of the files without the key in which a read searches a block, with filters of 10 bits per key."""
KEY_BYTES: Final = 16


class Shape(NamedTuple):
    """Store to read from; see read_costs.c."""

    value_bytes: int
    entries: int
    files: int = 0
    """L0 files; 0: all entries are in one memtable; -n: one sorted run, merged from n files."""
    bloom_bits: int = 0
    cache_bytes: int = CACHED
    keys_per_call: int = 0
    """Keys per MultiGet; 0: Get."""

    def counts(self, *, found: bool) -> tuple[float, ...]:
        """Mean number of each cost per read of a key that exists (`found`) or not, in the order of COLUMNS."""
        if not self.files:
            return (1.0, float(self.entries > 1000), read_depth(self.entries), 0.0, 0.0, 0.0, 0.0)
        files = max(1, self.files)
        runs = (files + 1) / 2 if found else float(files)
        blocks = found + (FALSE_POSITIVE if self.bloom_bits else 1.0) * (runs - found)
        deep = block_depth(self.entries * (KEY_BYTES + self.value_bytes))  # files share the processor's caches
        return (1.0, 0.0, 0.0, runs, blocks, blocks * deep, 0.0 if self.cache_bytes == CACHED else blocks)


GETS: Final = (
    *(Shape(400, entries) for entries in (26, 5_000, 20_000, 80_000, 320_000)),
    *(Shape(1000, entries) for entries in (20_000, 60_000)),
    *(Shape(400, 400_000, files, bloom) for files, bloom in ((4, 10), (8, 10), (24, 10), (1, 0), (4, 0), (8, 0))),
    *(Shape(400, 400_000, files, bloom, 2**20) for files, bloom in ((1, 0), (8, 0), (8, 10), (24, 10))),
    *(Shape(400, entries, -4) for entries in (4_000, 15_000, 60_000, 240_000, 960_000)),
    Shape(1000, 200_000, -4),
)
MULTIGETS: Final = (
    Shape(400, 240_000, -4, keys_per_call=8), Shape(400, 400_000, 8, 10, keys_per_call=8),
    Shape(400, 400_000, 8, 10, 2**20, keys_per_call=8), Shape(400, 400_000, 8, 10, keys_per_call=64),
)  # fmt: skip
MERGED: Final = Shape(1000, 200_000, -4)
"""Shape whose merge gives the CPU time of a compacted entry."""


def measure(library: str, rounds: int) -> dict[Shape, list[float]]:
    """Return the median microseconds per key that exists, per key that does not, and per merged entry, by shape."""
    times: defaultdict[Shape, list[list[float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "read_costs"
        subprocess.run(["gcc", "-O2", "-o", program, Path(__file__).with_suffix(".c"), "-ldl"], check=True)
        for _ in range(rounds):
            for shape in (*GETS, *MULTIGETS):
                with tempfile.TemporaryDirectory(dir=folder) as store:
                    command = [program, library, f"{store}/db", *map(str, shape)]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                times[shape].append([float(text) for text in done.stdout.split()])
    return {shape: np.median(rows, axis=0).tolist() for shape, rows in times.items()}


def main(library: str, rounds: int) -> int:
    """Print each shape's times and the fitted costs; return 0."""
    us = measure(library, rounds)
    counts = np.array([shape.counts(found=not lacking) for shape in GETS for lacking in range(2)])
    times = np.array([us[shape][lacking] for shape in GETS for lacking in range(2)])
    fit = least_squares(lambda x: np.log(counts @ np.exp(x) / times), np.zeros(len(COLUMNS)), loss="soft_l1", f_scale=0.1)
    errors = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)) * 2.0 * fit.cost / (len(times) - len(COLUMNS)))
    expected = (counts @ np.exp(fit.x)).reshape(-1, 2).tolist()
    for shape, both in zip(GETS, expected, strict=True):
        found_us, lacking_us, _ = us[shape]
        print(f"{shape}: found {found_us:.2f} us, fitted {both[0]:.2f}; lacking {lacking_us:.2f} us, fitted {both[1]:.2f}")
    for name, log_us, error in zip(COLUMNS, fit.x, errors, strict=True):
        print(f"{name:20s} {math.exp(log_us):.3f} us +- {100 * error:.0f} %")
    print(f"merged entry of {KEY_BYTES + MERGED.value_bytes} bytes: {us[MERGED][2]:.3f} us")
    for shape in MULTIGETS:
        ratios = [a / b for a, b in zip(us[shape][:2], measured_alone(us, shape), strict=True)]
        print(f"{shape}: {ratios[0]:.2f} (found) and {ratios[1]:.2f} (lacking) of the time of a Get")
    return 0


def measured_alone(us: dict[Shape, list[float]], shape: Shape) -> list[float]:
    """Return the microseconds of Gets from the same store as these MultiGets."""
    return us[shape._replace(keys_per_call=0)][:2]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3))

"""Compare Debian's RocksDB 7.8.3, which is built with assertions, with a release build of the same version (docs/decisions/0048).

usage: python benchmarks/assertions.py RELEASE_LIBRARY [ROUNDS]     (75 s per round; gcc and librocksdb7.8)

RELEASE_LIBRARY is librocksdbjni-linux64.so in org.rocksdb:rocksdbjni:7.8.3:jar:linux64 of Maven Central. assertions.c calls both
libraries in turns, because the speed of a virtual machine changes by the minute. Printed are medians of the rounds.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Final

DEBIAN: Final = "librocksdb.so.7.8"
SHAPES: Final = ((100, 5_000, 40), (100, 20_000, 20), (100, 80_000, 6), (100, 320_000, 4), (400, 80_000, 6), (1000, 40_000, 6))
"""(bytes of a value, entries of a memtable, memtables)."""
COLUMNS: Final = ("put", "put with WAL", "get, not in memtable", "flush", "compaction", "get, cached", "next")


def main(release: str, rounds: int) -> int:
    """Print CPU microseconds per entry of both builds and their ratios; return 0."""
    found: defaultdict[tuple[tuple[int, int, int], str], list[list[float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "assertions"
        subprocess.run(["gcc", "-O2", "-o", program, Path(__file__).with_suffix(".c"), "-ldl"], check=True)
        for number in range(rounds):
            for shape in SHAPES:
                for library in (DEBIAN, release)[:: -1 if number % 2 else 1]:
                    with tempfile.TemporaryDirectory() as store:
                        command = [program, library, store, *map(str, shape)]
                        done = subprocess.run(command, check=True, capture_output=True, text=True)
                    found[shape, library].append([float(text) for text in done.stdout.split()])
    for i, column in enumerate(COLUMNS):
        for shape in SHAPES:
            asserted, released = (statistics.median(row[i] for row in found[shape, lib]) for lib in (DEBIAN, release))
            text = f"{column:21s} {shape[0]:5d} B {shape[1]:8,d} entries: {asserted:6.3f} us with assertions"
            print(f"{text}, {released:6.3f} us without: {asserted / released:5.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5))

"""Measure what a probe of a table without the key costs LevelDB (docs/decisions/0040): lookups of missing keys.

usage: python benchmarks/leveldb_reads.py [KEYS ...]        (two minutes for the default; needs plyvel; an idle machine)

Each store has every second key of its range in one level, with filters of 10 bits, all tables open and blocks in the page cache.
A lookup of a missing key probes one table; the same lookup in an empty store gives the costs that are not the table's.
`found` looks up keys that the store has. CPU time of the process, microseconds per lookup.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import plyvel

LOOKUPS: Final = 200_000
ROUNDS: Final = 4
VALUE_BYTES: Final = 1000
POOL_BYTES: Final = 1 << 20


def key(number: int) -> bytes:
    """Return a key of 16 bytes."""
    return b"user%012d" % number


def build(folder: Path, keys: int) -> Any:
    """Fill a store with even keys in order and compact it."""
    store = plyvel.DB(
        str(folder), create_if_missing=True, write_buffer_size=4 << 20, max_open_files=50_000, compression=None,
        bloom_filter_bits=10, lru_cache_size=8 << 20,
    )  # fmt: skip
    pool = np.random.default_rng(1).bytes(POOL_BYTES)
    for number in range(keys):
        start = number * 997 % (POOL_BYTES - VALUE_BYTES)
        store.put(key(2 * number), pool[start : start + VALUE_BYTES])
    store.compact_range()
    return store


def lookup_us(store: Any, keys: int, odd: int, seed: int) -> float:
    """Return the mean CPU time of a lookup of random even or odd keys."""
    draws = random.Random(seed)
    wanted = [key(2 * draws.randrange(keys) + odd) for _ in range(LOOKUPS)]
    get = store.get
    start_s = time.process_time()
    for one in wanted:
        get(one)
    return (time.process_time() - start_s) / LOOKUPS * 1e6


def main() -> None:
    """Print the costs for stores of the given numbers of keys."""
    sizes = [int(argument) for argument in sys.argv[1:]] or [20_000, 200_000, 400_000, 1_000_000, 3_000_000]
    with tempfile.TemporaryDirectory() as folder:
        empty = plyvel.DB(str(Path(folder) / "empty"), create_if_missing=True)
        for keys in sizes:
            store = build(Path(folder) / str(keys), keys)
            for seed in range(ROUNDS):
                none, missing, found = (
                    lookup_us(empty, keys, 1, seed), lookup_us(store, keys, 1, seed), lookup_us(store, keys, 0, seed)
                )  # fmt: skip
                print(f"{keys:9,} keys: empty store {none:.2f}, missing {missing:.2f}, found {found:.2f}", flush=True)
            store.close()


if __name__ == "__main__":
    main()

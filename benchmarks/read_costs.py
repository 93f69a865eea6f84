"""Measure the CPU costs of reads of `configs/host/default.yaml` (docs/decisions/0026) in RocksDB 9.8, a release build.

usage: python benchmarks/read_costs.py [ROUNDS | --sizes]        (a minute per round; extra `real`; an idle machine)

--sizes prints the time of a read by size of the store and of the memtable (docs/decisions/0047). Otherwise, each shape isolates
a cost: a memtable alone, or 1 to 24 L0 files with and without filters, whose blocks are in the block cache
or in the page cache. The shapes alternate, because the speed of a virtual machine changes by the minute; medians are fitted.
read_op contains the call from Python, about 0.2 us.
"""

from __future__ import annotations

import math
import random
import shutil
import sys
import tempfile
import time
from typing import Any, Final, NamedTuple

import numpy as np
import rocksdict
from scipy.optimize import least_squares

KEYS: Final = 400_000
VALUE: Final = bytes(400)
READS: Final = 100_000
COLUMNS: Final = ("read_op", "read_memtable", "read_memtable_depth", "read_run", "read_block", "read_call")
PER_MEMTABLE_MIB: Final = 2**20 / 416.0
"""Entries of 416 bytes of keys and values in a MiB."""


class Shape(NamedTuple):
    """A store to read from: MiB of keys and values in a memtable, or number of L0 files."""

    memtable_mib: float = 0.0
    files: int = 0
    bloom: int = 0
    cache_bytes: int = 2**30

    @property
    def counts(self) -> tuple[float, ...]:
        """Mean number of each cost per read, in the order of COLUMNS. Each file has a random 1/n of the puts of all keys."""
        if self.memtable_mib:
            large = self.memtable_mib >= 1.0
            entries = self.memtable_mib * PER_MEMTABLE_MIB
            return (1.0, float(large), max(0.0, math.log2(entries / 2**14)), 0.0, 0.0, 0.0)
        runs = sum(math.exp(-k / self.files) for k in range(self.files))
        found = 1.0 - math.exp(-1.0)
        blocks = found + 0.01 * (runs - found) if self.bloom else runs
        return (1.0, 0.0, 0.0, runs, blocks, 0.0 if self.cache_bytes > 2**28 else blocks)


def shapes() -> list[Shape]:
    """All stores of one round."""
    files = [(n, 10) for n in (1, 4, 8, 16, 24)] + [(n, 0) for n in (1, 4, 8)]
    return [Shape(memtable_mib=size) for size in (0.01, 2.0, 8.0, 32.0, 128.0)] + [
        Shape(files=n, bloom=bloom, cache_bytes=cache) for n, bloom in files for cache in (2**30, 2**20)
    ]


def measure(shape: Shape, folder: str) -> float:
    """Fill the store, read it once to warm the caches, and return the microseconds per read of the second time."""
    shutil.rmtree(folder, ignore_errors=True)
    writes = round(shape.memtable_mib * PER_MEMTABLE_MIB) + 1 if shape.memtable_mib else KEYS
    chooser = random.Random(1)
    keys = [_key(number) for number in range(max(writes, 1000))]
    store = _store(folder, shape)
    for _ in range(max(1, shape.files)):
        for _ in range(writes // max(1, shape.files)):
            store[chooser.choice(keys)] = VALUE
        if shape.files:
            store.flush()
    wanted = [chooser.choice(keys) for _ in range(READS)]
    for _ in range(2):
        start_s = time.perf_counter()
        for key in wanted:
            store.get(key)
        took_s = time.perf_counter() - start_s
    store.close()
    return took_s / READS * 1e6


def _store(folder: str, shape: Shape) -> Any:
    """Open a store without a WAL."""
    store = rocksdict.Rdict(folder, _options(shape))
    unlogged = rocksdict.WriteOptions()
    unlogged.disable_wal = True
    store.set_write_options(unlogged)
    return store


def _options(shape: Shape) -> Any:
    tables = rocksdict.BlockBasedOptions()
    tables.set_block_cache(rocksdict.Cache(shape.cache_bytes))
    if shape.bloom:
        tables.set_bloom_filter(shape.bloom, False)
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(tables)
    options.set_compression_type(rocksdict.DBCompressionType.none())
    options.set_write_buffer_size(2**30)
    options.set_disable_auto_compactions(True)
    return options


def by_store_size(folder: str) -> None:
    """Print the microseconds of a read that finds its key, and of one that does not, in sorted stores of 12 MB to 3.2 GB."""
    for size_mb in (12, 25, 50, 100, 200, 400, 800, 1600, 3200):
        keys = size_mb * 10**6 // (16 + len(VALUE))
        shutil.rmtree(folder, ignore_errors=True)
        store = _store(folder, Shape(files=1, bloom=10, cache_bytes=2**34))
        for number in range(keys):
            store[_key(2 * number)] = VALUE
        store.flush()
        store.compact_range(None, None)
        for number in range(0, keys, 3):
            store.get(_key(2 * number))  # a block has nine entries
        found, absent = (_read_us(store, keys, odd) for odd in (0, 1))
        store.close()
        print(f"store {size_mb:5d} MB  found {found:.2f} us  absent {absent:.2f} us")


def by_memtable_entries(folder: str) -> None:
    """Print the microseconds of a read that does not find its key in memtables of 5,000 to 320,000 entries of three sizes."""
    for entries in (5_000, 20_000, 63_000, 160_000, 320_000):
        for value in (bytes(n) for n in (100, 400, 1000)):
            shutil.rmtree(folder, ignore_errors=True)
            store = _store(folder, Shape())
            for number in random.Random(1).sample(range(entries), entries):
                store[_key(2 * number)] = value
            us = _read_us(store, entries, odd=1)
            store.close()
            print(f"memtable {entries:7,d} entries of {16 + len(value):4d} bytes  {us:.2f} us")


def _read_us(store: Any, keys: int, odd: int) -> float:
    """Return the median of the time of a read of a random even (odd) number below twice `keys`, in three rounds."""
    chooser, times = random.Random(3), []
    for _ in range(3):
        wanted = [_key(2 * chooser.randrange(keys) + odd) for _ in range(READS)]
        start_s = time.perf_counter()
        for key in wanted:
            store.get(key)
        times.append((time.perf_counter() - start_s) / READS * 1e6)
    return float(np.median(times))


def _key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def sizes() -> int:
    """Print the tables of docs/decisions/0047; return 0."""
    with tempfile.TemporaryDirectory() as folder:
        by_store_size(f"{folder}/db")
        by_memtable_entries(f"{folder}/db")
    return 0


def main(rounds: int) -> int:
    """Print each shape's times and the fitted costs; return 0."""
    measured: dict[Shape, list[float]] = {shape: [] for shape in shapes()}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for shape, times in measured.items():
                times.append(measure(shape, f"{folder}/db"))
    counts = np.array([shape.counts for shape in measured])
    us = np.array([np.median(times) for times in measured.values()])
    fit = least_squares(lambda x: np.log(counts @ np.exp(x) / us), np.zeros(len(COLUMNS)), loss="soft_l1", f_scale=0.1)
    for shape, times, expected in zip(measured, measured.values(), counts @ np.exp(fit.x), strict=True):
        found = ", ".join(f"{took:.2f}" for took in times)
        print(f"memtable {shape.memtable_mib:6.2f} MiB  L0 files {shape.files:2d}  filter {shape.bloom:2d} bits  "
              f"block cache {shape.cache_bytes >> 20:4d} MiB  {found} us  fitted {expected:.2f}")  # fmt: skip
    for name, log_us in zip(COLUMNS, fit.x, strict=True):
        print(f"{name:14s} {math.exp(log_us):.2f} us")
    return 0


if __name__ == "__main__":
    sys.exit(sizes() if sys.argv[1:] == ["--sizes"] else main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))

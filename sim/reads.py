"""What a read costs on the trees as they are: files probed, blocks touched, blocks that come from the device.

A sample of the clients' own read keys is looked up in the carried keys, level by level, as `Version::Get` does
(rocksdb.md §8); nothing about hit levels is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import simpy
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.key_order import Ordered
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.sst import expected_entries_per_block
from lsmlab.models.tree.tree import Tree
from lsmlab.models.workloads.base import Clients
from lsmlab.models.workloads.choosers import ChooserState, InsertCursor, Popularity
from lsmlab.models.workloads.reads import (
    cached_blocks,
    false_positive_rate,
    lru_hit_rate,
    scan_block_reads,
    scan_device_reads,
)
from lsmlab.sim.store import Store
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lsmlab.sim.setup import Setup

Marks = NDArray[np.bool_]

SAMPLE: Final = 96
"""Read keys looked up per refresh: their mean is right to about 1/sqrt(96) of its spread, averaged over refreshes."""
SECTOR_BYTES: Final = 512.0
PAGE_BYTES: Final = 4096.0
"""What a read is rounded to at either end: sectors with direct I/O, pages through the page cache (lessons.md 3.9)."""
REFRESH_S: Final = 1.0
"""Shortest simulated time between two looks at the trees: level populations move slowly against it."""


@dataclass(frozen=True, slots=True)
class ReadCost:
    """What one read costs on the trees as they are now."""

    cpu_s: float = 0.0
    device_reads: float = 0.0
    """Requests to the device, on average: blocks, or several blocks that a scan reads ahead."""
    device_bytes: float = 0.0
    """Their bytes."""
    memory_share: float = 1.0
    """Share of reads that need no block from the device."""
    blocks: float = 0.0
    """Data blocks touched, wherever they come from."""


@dataclass(frozen=True, slots=True)
class Lookups:
    """Averages over sampled lookups."""

    runs: float
    """Sorted runs whose range holds the key, until it was found."""
    found: float
    """Share of lookups that found their key in a file."""
    in_memory: float
    """Share found in a memtable."""
    in_log: float = 0.0
    """Share found in a file of L0 that holds an offset: the value is one more read away, in the log."""


class TreeReads:
    """Costs of point reads and scans, refreshed as the trees change."""

    def __init__(
        self, env: simpy.Environment, stores: Sequence[Store], setup: Setup, cursors: Sequence[InsertCursor],
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        """`cursors`: the insert cursors that the writers of each store move, so that reads can follow them."""
        self._env = env
        self._stores = stores
        self._setup = setup
        self._rng = rng
        options = setup.engine.options
        self._false_positive = false_positive_rate(options.bloom_bits) if options.bloom_bits > 0 else 1.0
        self._readers = [c for c in setup.workload.clients if c.mix.gets + c.mix.scan > 0]
        self._choosers: list[list[ChooserState]] = [
            [c.read_keys.start(setup.sample, cursor) for c in self._readers] for cursor in cursors
        ]
        population = float(setup.workload.region().population)
        self.entries_per_block = expected_entries_per_block(
            round(setup.workload.key_size), setup.workload.value_bytes, population=population, entries=population,
            block_format=setup.engine.block_format,
        )  # fmt: skip
        unit = PAGE_BYTES if setup.machine.style.overlap_reads else SECTOR_BYTES
        self.block_bytes = options.block_size + unit
        """Bytes that a block costs the device: it begins anywhere in its file."""
        self._popularity: list[Popularity] = [
            c.read_keys.popularity(
                round(population), self.entries_per_block, ordered=isinstance(setup.workload.key_order, Ordered)
            )
            for c in self._readers
        ]
        self.hit_rate = self._hit_rate()
        self._next_s = -1.0
        self._costs = (ReadCost(), ReadCost())
        self._block_sum = self._block_weight = 0.0
        self.lookups = Lookups(0.0, 0.0, 0.0)

    def costs(self) -> tuple[ReadCost, ReadCost]:
        """(point read, scan) now."""
        if self._env.now >= self._next_s:
            self._next_s = self._env.now + REFRESH_S
            self._costs = self._measure()
        return self._costs

    def mean_blocks_per_read(self) -> float:
        """Data blocks per point read over the run: the read amplification in blocks."""
        return self._block_sum / self._block_weight if self._block_weight else 0.0

    def facts(self) -> dict[str, Any]:
        """Block cache and filter as they act on this workload."""
        return {
            "hit_rate": self.hit_rate,
            "size_bytes": self._setup.engine.options.cache_size,
            "bloom_false_positive_rate": self._false_positive if self._setup.engine.options.bloom_bits > 0 else None,
            "found_share": self.lookups.found + self.lookups.in_memory,
            "runs_per_read": self.lookups.runs,
        }

    def _hit_rate(self) -> float:
        options = self._setup.engine.options
        share = options.cache_size / self._setup.workload.regions
        capacity = cached_blocks(share, options.block_size)
        rates = [lru_hit_rate(p, capacity) for p in self._popularity]
        weights = [c.threads for c in self._readers]
        return float(np.average(rates, weights=weights))

    def _measure(self) -> tuple[ReadCost, ReadCost]:
        host = self._setup.host
        block_cpu_s = host.read_block + host.checksum_byte * self._setup.engine.options.block_size
        store = self._stores[int(self._rng.integers(len(self._stores)))]
        self.lookups = found = self._look_up(store)
        extra = found.runs - found.found  # runs probed in vain
        blocks = found.found + found.in_log + self._false_positive * extra
        self._block_sum += blocks
        self._block_weight += 1.0
        miss = (1.0 - self.hit_rate) * (1.0 - self._cached_share(store))
        get = ReadCost(
            cpu_s=host.read_op + found.runs * host.read_run + blocks * block_cpu_s,
            device_reads=blocks * miss,
            device_bytes=blocks * miss * self.block_bytes,
            memory_share=(1.0 - miss) ** blocks,
            blocks=blocks,
        )
        runs = _sorted_runs(store.tree)
        number = sum(count for _, count in runs)
        length = self._scan_length()
        touched = scan_block_reads(number, length, self.entries_per_block)
        requests, size = scan_device_reads(runs, length, self.entries_per_block, self.block_bytes) if length else (0.0, 0.0)
        scan = ReadCost(
            cpu_s=host.read_op + number * (host.read_run + block_cpu_s) + length * host.scan_entry,
            device_reads=requests * miss,
            device_bytes=size * miss,
            memory_share=(1.0 - miss) ** touched,
            blocks=touched,
        )
        return get, scan

    def _scan_length(self) -> float:
        lengths = [c.scan_length.mean for c in self._readers if c.mix.scan > 0]
        return float(np.mean(lengths)) if lengths else 0.0

    def _cached_share(self, store: Store) -> float:
        """Share of the store's bytes that the page cache holds."""
        live = sum(s.tree.total_bytes() for s in self._stores)
        return min(1.0, store.machine.cache.used_bytes / live) if live else 1.0

    def _look_up(self, store: Store) -> Lookups:
        codes = np.sort(self.sample_codes(store.number))
        missing = np.ones(len(codes), dtype=np.bool_)
        runs = in_log = 0
        missing &= ~_contains(store.memtables.kept.keys, codes)
        for memtable in reversed(store.immutables):
            missing &= ~_contains(memtable.keys, codes)
        in_memory = len(codes) - int(missing.sum())
        for file in store.tree.l0:
            covered = missing & (codes >= file.lo) & (codes <= file.hi)
            runs += int(covered.sum())
            here = covered & _contains(file.keys, codes)
            missing &= ~here
            in_log += int(here.sum()) if file.log_bytes else 0
        for level in range(1, store.tree.num_levels):
            for run in store.tree.runs(level):
                if store.tree.frozen:
                    runs += _look_in_slices(run, codes, missing)
                runs += _look_in(run, codes, missing)
        n = len(codes)
        return Lookups(runs / n, (n - in_memory - int(missing.sum())) / n, in_memory / n, in_log / n)

    def sample_codes(self, store: int) -> KeyArray:
        """Keys that the clients' next reads of a store may ask for."""
        weights = np.array([_reads(c) for c in self._readers])
        counts = self._rng.multinomial(SAMPLE, weights / weights.sum())
        parts = [
            chooser.sample_reads(int(count), self._rng)
            for chooser, count in zip(self._choosers[store], counts, strict=True)
            if count
        ]
        return np.concatenate(parts)


def _reads(clients: Clients) -> float:
    return (clients.mix.gets + clients.mix.scan) * clients.threads


def _sorted_runs(tree: Tree) -> list[tuple[float, float]]:
    """What a scan has to merge, as (bytes of one, how many): files of L0, runs, the slices that a run's average file has."""
    runs = [run for level in range(1, tree.num_levels) for run in tree.runs(level)]
    found = [(float(f.size_bytes), 1.0) for f in tree.l0] + [(float(np.sum(run.size)), 1.0) for run in runs]
    for run in runs if tree.frozen else ():
        slices = [s.size_bytes for f in run for s in f.slices]
        if slices:  # as many side by side as a file has: together they span the run
            beside = len(slices) / len(run)
            found.append((sum(slices) / beside, beside))
    return found


def _look_in_slices(run: Level, codes: KeyArray, missing: Marks) -> int:
    """Look for the `codes` still `missing` in the slices of the responsible files, newest first; how many were probed."""
    wanted = np.flatnonzero(missing)
    place = np.minimum(run.hi.searchsorted(codes[wanted], side="left"), len(run) - 1)
    probed = 0
    for index, at in zip(wanted.tolist(), place.tolist(), strict=True):
        code = codes[index]
        for part in reversed(run.files[at].slices):
            if part.lo <= code <= part.hi:
                probed += 1
                position = int(part.keys.searchsorted(code))
                if part.keys[position] == code:
                    missing[index] = False
                    break
    return probed


def _look_in(run: Level, codes: KeyArray, missing: Marks) -> int:
    """Look for the sorted `codes` still `missing` in the files of a run; how many were probed."""
    wanted = np.flatnonzero(missing)
    place = run.hi.searchsorted(codes[wanted], side="left")
    inside = place < len(run)
    inside[inside] = run.lo[place[inside]] <= codes[wanted][inside]
    probed = int(inside.sum())
    for index, at in zip(wanted[inside].tolist(), place[inside].tolist(), strict=True):
        keys, code = run.files[at].keys, codes[index]
        position = int(keys.searchsorted(code))
        if position < len(keys) and keys[position] == code:
            missing[index] = False
    return probed


def _contains(keys: KeyArray, codes: KeyArray) -> Marks:
    if not len(keys):
        return np.zeros(len(codes), dtype=np.bool_)
    at = np.minimum(keys.searchsorted(codes), len(keys) - 1)
    result: Marks = keys[at] == codes
    return result

"""Cost of a read on the present trees: files probed, blocks searched, blocks read from the device.

A sample of the clients' read keys is looked up in the simulated keys, level by level, as `Version::Get` does
(behaviour/reads.md, Lookups); the level of a hit is a result, not an assumption.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import simpy
from lsmlab.models.costs.operations import (
    Searched,
    blob_read_cpu,
    blob_requests,
    block_requests,
    point_read_cpu,
    read_depth,
    scan_cpu,
)
from lsmlab.models.devices.conditions import BlockCache
from lsmlab.models.policies.rocksdb.compression import CODECS
from lsmlab.models.tree.files import NO_KEYS, KeyArray
from lsmlab.models.tree.key_order import Ordered
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.workloads.base import Clients
from lsmlab.models.workloads.choosers import Chooser, ChooserState, InsertCursor, Popularity
from lsmlab.models.workloads.reads import (
    BLOB_FILES,
    PAGE_BYTES,
    BlockGroup,
    BlockKind,
    BlockPlace,
    ScannedRun,
    TableClass,
    false_positive_rate,
    gets_in_memory,
    scan_device_reads,
    scanned_blocks,
    table_opens,
)
from lsmlab.sim.clients.lookups import Lookups, ScannedRuns, look_up, scan_runs
from lsmlab.sim.clients.op_costs import ReadClasses, ReadCost, mean_cost
from lsmlab.sim.clients.table_tails import (
    Accesses,
    TailBytes,
    TailReads,
    looked_up,
    sought,
    table_tails,
    tail_reads,
)
from lsmlab.sim.clients.tables import all_bytes, bytes_in, table_count, tables_of, weighted_mean
from lsmlab.sim.clients.warming_cache import WarmingCache
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.store.column_family import ColumnFamily

if TYPE_CHECKING:
    from lsmlab.sim.setup import FamilySetup, Setup

SAMPLE: Final = 96
"""Read keys looked up per refresh: the standard error of their mean is 1/sqrt(96) of their spread."""
_STILL_SAMPLE: Final = 4096
"""As `SAMPLE`, if no client writes: then a run needs few samples."""
SECTOR_BYTES: Final = 512.0
"""Unit to which a direct read is rounded at either end; a buffered read is rounded to pages.

See (behaviour/device-and-kernel.md, Small requests).
"""
REFRESH_S: Final = 1.0
"""Simulated time between two samples: level sizes change slowly in comparison."""
_SHORTEST: Final = 0.5
"""Shortest time between two looks at a block cache that fills, as a share of the time between two samples, where many databases
share the machine."""


class _Opened(NamedTuple):
    """Table opens of a read."""

    opens: float = 0.0
    device_reads: float = 0.0
    """Requests to the device."""
    device_bytes: float = 0.0
    """Bytes of these requests."""
    memory_share: float = 1.0
    """Share of reads whose table opens need no request to the device."""


class _BlobReads(NamedTuple):
    """Blobs that reads find."""

    per_entry: float = 0.0
    """Blobs per entry that a read finds in the tables."""
    record_bytes: float = 0.0
    """Mean bytes of their records."""


class TreeReads:
    """Costs of point reads and scans of one column family, measured again as its trees change."""

    def __init__(
        self, env: simpy.Environment, machine: Machine, families: Sequence[ColumnFamily], setup: Setup, own: FamilySetup,
        cursors: Sequence[InsertCursor], rng: np.random.Generator, patience: float = 1.0,
    ) -> None:  # fmt: skip
        """`families` of all databases; `cursors`: insert cursors that their writers move, so that reads can follow.

        `patience`: factor of the time between two samples; above 1 for the reads of many databases.
        """
        self._refresh_s = REFRESH_S * patience
        self._shortest_s = _SHORTEST * self._refresh_s if patience > 1.0 else 0.0
        self._env = env
        self._machine = machine
        self._all_families = families
        self._families = [f for f in families if f.name == own.name]
        self._setup = setup
        self._own = own
        self._rng = rng
        options = own.engine.options
        self._format = own.engine.table_format
        """Table format of the files that this run writes to the last level."""
        self._readers = [c for c in setup.workload.clients if c.mix.gets + c.mix.scan > 0]
        self._scans = _scan_classes(self._readers)
        self._writes = any(c.mix.writes > 0.0 for c in setup.workload.clients)
        self._choosers: dict[int, list[ChooserState]] = {
            f.number: [c.read_keys.start(own.sample, cursors[f.number]) for c in self._readers]
            for f in self._families
        }
        population = float(own.workload.shard().population)
        formats = dict.fromkeys(table_format for f in self._families for table_format in f.table_formats)
        self._formats = {table_format: tables_of(own, table_format, population) for table_format in formats}
        """Formats of all files, those of this run first."""
        self._unit_bytes = PAGE_BYTES if machine.style.overlap_reads else SECTOR_BYTES
        self._tables = 0
        """Tables of the family sampled last."""
        self.block_bytes = self._requests(self._format, 1.0)[1]
        """Bytes read from the device per block: a block begins anywhere in its file."""
        ordered = isinstance(setup.workload.key_order, Ordered)
        per_block = self._formats[self._format].entries_per_block

        def popularity(keys: Chooser, doublings: int) -> Popularity:
            return keys.popularity(round(population), per_block * 2.0**doublings, ordered)

        self._cache = WarmingCache(
            [(_reads(c), partial(popularity, c.read_keys)) for c in self._readers],
            options.cache_size / len(self._families) * own.share.reads / options.block_size,
            warm=setup.setting.conditions.block_cache is BlockCache.WARM,
        )
        self._blob_cache = self._cache
        if options.use_blob_cache and options.blob_cache_size:
            self._blob_cache = WarmingCache(
                [(_reads(c), partial(popularity, c.read_keys)) for c in self._readers],
                options.blob_cache_size / len(self._families) / options.block_size,
                warm=setup.setting.conditions.block_cache is BlockCache.WARM,
            )
        self._next_s = 0.0
        self._step_s = math.inf
        """Seconds from the last look at the block cache until it has filled further; infinity: its hit rate is settled."""
        self._written_bytes: dict[int, int] = {}
        """`ColumnFamily.written_bytes` of all families at the last look at the blocks of each level."""
        self._served = (0.0, 0.0)
        """(Point reads, scans) of all clients at the last look at the block cache."""
        self._tails: TailBytes = {}
        """Mean bytes of the index and filter blocks that the block cache may hold."""
        self._grown = 1.0
        """Mean number of data blocks of a shard, divided by those of the sampled tree."""
        self._costs: tuple[ReadClasses, ReadClasses] = ((), ())
        self._relative_sizes = (1.0, 1.0)
        """Mean size of the blocks of (a point read, a scan), divided by that of this run's own blocks."""
        self._sample_s = 0.0
        """Time of the next sample of the trees."""
        self._sampled = self._families[0]
        self.lookups = Lookups(0.0, 0.0, 0.0)
        """Lookups of the last sample, in `_sampled`."""
        self._blocks = 0.0
        """Data blocks that they searched."""
        self._codes = NO_KEYS
        """Keys of the last sample, ascending."""
        self._runs: Sequence[ScannedRuns] = ()
        """Sorted runs of `_sampled` in version `_runs_version` of its tree."""
        self._runs_version = -1
        self._cold: dict[int, float] = {}
        """Share of each level on `cold_device`, of levels with some."""
        self._blobs = _BlobReads()
        """Blobs of the last sample, in `_sampled`."""
        self._gets = _gets_share(self._readers)
        """Share of gets in all reads of the clients."""
        self._memtables: list[float] = []
        """Entries of each memtable of `_sampled` that has any."""
        self._block_sum = self._block_weight = 0.0

    def begin(self, *, writes: bool) -> None:
        """Sample the trees again at the next look: reads begin after a time without any, beside `writes` or alone."""
        self._writes = writes
        self._cache.begin(self._env.now)
        self._next_s = self._sample_s = self._env.now

    def costs(self, gets: float, scans: float, active: Callable[[int], float]) -> tuple[ReadClasses, ReadClasses]:
        """Costs of (point reads, scans) now, after `gets` point reads and `scans` scans of all clients.

        `active`: mean entries in the active memtable of a column family, by its number.
        """
        now_s = self._env.now
        due = now_s >= self._next_s
        if due:
            if now_s >= self._sample_s:
                self._sample()
            self._step_s = self._advanced(gets, scans, now_s)
            self._next_s = now_s + min(max(self._step_s, self._shortest_s), self._refresh_s)
        family = self._sampled
        memtables = [n for n in (active(family.number), *(m.entries for m in family.immutables)) if n >= 1.0]
        if due or memtables != self._memtables:
            self._memtables = memtables
            self._costs = self._measure()
        return self._costs

    def _advanced(self, gets: float, scans: float, now_s: float) -> float:
        """Set the hit rates of block cache and blob cache; return the seconds until one has filled further, or infinity."""
        groups, blobs = self._block_groups(), self._blob_groups()
        tails = self._tail_groups()
        reads = (gets + scans - sum(self._served)) * self._own.share.reads / len(self._families)
        accesses = self._cache_accesses(gets, scans)
        if self._blob_cache is self._cache:
            return self._cache.advance(accesses, groups | blobs, now_s, tails)
        of_blobs = sum(group.accesses for group in blobs.values())
        step_s = self._blob_cache.advance(reads * of_blobs, blobs, now_s) if blobs else math.inf
        return min(step_s, self._cache.advance(accesses, groups, now_s, tails))

    @property
    def next_s(self) -> float:
        """Time at which the block cache has filled further; infinity: its hit rate changes only with the trees."""
        return math.inf if self._step_s == math.inf else self._next_s

    def _cache_accesses(self, gets: float, scans: float) -> float:
        """Return the accesses to the block cache of a shard since the last call; arguments as those of `costs`.

        An access to a block of another size counts as one to as many bytes in blocks of this run.
        """
        blocks = [mean_cost(classes).blocks * size for classes, size in zip(self._costs, self._relative_sizes, strict=True)]
        accesses = (gets - self._served[0]) * blocks[0] + (scans - self._served[1]) * blocks[1]
        self._served = gets, scans
        return accesses * self._own.share.reads / len(self._families)

    def _block_groups(self) -> dict[BlockPlace, BlockGroup]:
        """Return the data blocks of a shard and how often reads access them, by the last sample of keys in the present trees.

        Blocks are counted as bytes, in blocks of this run's size.
        """
        runs = self._sorted_runs()
        accesses, blocks = defaultdict[BlockPlace, float](float), defaultdict[BlockPlace, float](float)
        for run in runs:
            entry, per_block = self._formats[run.table_format]
            size = self._size(run.table_format)
            blocks[BlockPlace(run.level)] += run.table_bytes / (entry.put + entry.tail) / per_block * size
            blocks[BlockPlace(run.level, BlockKind.AFTER_GAP)] += run.tables * size
        for part in self.lookups.searched:
            accesses[BlockPlace(part.level)] += self._gets * part.blocks * part.block_size
        scanned = [self._scanned(run) for run in runs]
        for length, share in self._scans:
            for run, (inside, firsts) in zip(runs, scanned_blocks(scanned, length), strict=True):
                weight = (1.0 - self._gets) * share * self._size(run.table_format)
                accesses[BlockPlace(run.level)] += weight * inside
                accesses[BlockPlace(run.level, BlockKind.AFTER_GAP)] += weight * firsts
        sampled = sum(count for place, count in blocks.items() if place.kind is BlockKind.DATA)
        grown = self._grown = self._data_blocks() / sampled if sampled else 0.0
        found = {
            place: BlockGroup(accesses[place], grown * count, self._written(place.level))
            for place, count in blocks.items()
            if grown * count > 0.0 and (accesses[place] > 0.0 or place.kind is BlockKind.DATA)
        }
        for level in {place.level for place in found}:
            self._written_bytes[level] = self._all_written(level)
        return found or {BlockPlace(0): BlockGroup(0.0, 1.0)}

    def _blob_groups(self) -> dict[BlockPlace, BlockGroup]:
        """Return the live blobs of a shard that a cache may hold, and how often reads access them.

        They count as the blocks of this run that their bytes fill.
        """
        if self._blobs.per_entry == 0.0 or not self._own.engine.options.use_blob_cache:
            return {}
        per_read = self._gets * self.lookups.found
        per_read += (1.0 - self._gets) * sum(share * length for length, share in self._scans)
        live_bytes = sum(f.tree.blobs.total_bytes - f.tree.blobs.garbage_bytes for f in self._families) / len(self._families)
        group = BlockGroup(per_read * self._blob_blocks, max(1.0, live_bytes / self._format.block_size))
        return {BlockPlace(BLOB_FILES): group}

    @property
    def _blob_blocks(self) -> float:
        """Blocks of the block cache that the blobs of one entry fill."""
        return self._blobs.per_entry * self._blobs.record_bytes / self._format.block_size

    def _sorted_runs(self) -> Sequence[ScannedRuns]:
        """Return the sorted runs of the sampled tree, computed once for each sample of keys and version of the tree."""
        tree = self._sampled.tree
        if tree.version != self._runs_version:
            self._runs, self._runs_version = scan_runs(tree, list(self._formats), self._codes), tree.version
        return self._runs

    def _written(self, level: int) -> float:
        """Return the bytes that jobs have written to a level since the last look at it, divided by its bytes; shards together."""
        written = self._all_written(level)
        level_bytes = sum(family.tree.size_bytes(level) for family in self._families) if level >= 0 else 0
        return (written - self._written_bytes.get(level, written)) / level_bytes if level_bytes else 0.0

    def _all_written(self, level: int) -> int:
        return sum(family.written_bytes[level] for family in self._families)

    def _data_blocks(self) -> float:
        """Return the mean number of data blocks of a shard, as bytes in blocks of this run's size."""
        blocks = 0.0
        for table_format, (entry, per_block) in self._formats.items():
            data_bytes = sum(bytes_in(table_format, family) for family in self._families) / len(self._families)
            blocks += data_bytes / (entry.put + entry.tail) / per_block * self._size(table_format)
        return blocks

    def _size(self, table_format: TableFormat) -> float:
        """Return the size of a block in blocks of this run's size."""
        return table_format.block_size / self._format.block_size

    def _tail_groups(self) -> dict[BlockPlace, BlockGroup]:
        """Return the index and filter blocks of a shard, if the block cache holds them, and how often reads access them.

        They count as the blocks of this run that their bytes fill.
        """
        if not self._own.engine.options.caches_tails or self._grown == 0.0:
            return {}
        runs, block_size = self._sorted_runs(), self._format.block_size
        self._tails, tables = table_tails(runs, self._formats)
        accesses = defaultdict[BlockPlace, float](float)
        gets, scans = looked_up(self.lookups.searched, self._tails), sought(runs, self._tails)
        for weight, own in ((self._gets, gets), (1.0 - self._gets, scans)):
            for place, number in own.items():
                accesses[place] += weight * number * self._tails[place] / block_size
        return {
            place: BlockGroup(accesses[place], self._grown * tables[place] * size / block_size)
            for place, size in self._tails.items()
        }

    def _tail_reads(self, accesses: Accesses, on_device: Callable[[int], float]) -> TailReads:
        """Return the index and filter blocks that a read gets from a device, which has the share `on_device` of a level."""
        rates = self._cache.beside_rates
        return tail_reads(accesses, self._tails, lambda place: 1.0 - rates.get(place, 1.0), on_device, self._unit_bytes)

    def _uncached(self, level: int, kind: BlockKind = BlockKind.DATA) -> float:
        """Return the share of the accesses to the blocks of a level that the block cache does not serve."""
        cache = self._blob_cache if level == BLOB_FILES else self._cache
        return 1.0 - cache.hit_rates.get(BlockPlace(level, kind), cache.hit_rate)

    def mean_blocks_per_read(self) -> float:
        """Mean data blocks per point read over the run: the read amplification in blocks."""
        return self._block_sum / self._block_weight if self._block_weight else 0.0

    def facts(self) -> dict[str, Any]:
        """Facts about block cache and filters under this workload."""
        return {
            "hit_rate": self._cache.final_hit_rate,
            "size_bytes": self._setup.engine.options.cache_size,
            **self._blob_facts(),
            "bloom_false_positive_rate": (
                false_positive_rate(self._format.bloom_bits, self._format.filter) if self._format.bloom_bits > 0 else None
            ),
            "found_share": self.lookups.found + self.lookups.in_memory,
            "runs_per_read": self.lookups.runs,
            "opens_per_read": table_opens(self.lookups.searched, self._own.engine.table_reads.open_tables),
        }

    def _blob_facts(self) -> dict[str, Any]:
        """Return how many of the blobs that reads find are cached; nothing in a store that caches none."""
        if not self._blob_groups():
            return {}
        own = self._blob_cache is not self._cache
        return {
            "blob_hit_rate": 1.0 - self._uncached(BLOB_FILES),
            **({"blob_cache_bytes": self._own.engine.options.blob_cache_size} if own else {}),
        }

    def _measure(self) -> tuple[ReadClasses, ReadClasses]:
        self._tables = table_count(self._sampled.tree)
        beyond_pages = 1.0 - self._machine.cache.share(s.tree for s in self._all_families)
        doublings = sum(read_depth(entries) for entries in self._memtables)
        in_memory = Searched(memtables=len(self._memtables), doublings=doublings)
        self._cold = self._cold_shares() if self._machine.cold is not self._machine.main else {}
        gets, get_size = self._get_costs(in_memory, beyond_pages)
        scans, scan_size = self._scan_costs(in_memory, beyond_pages) if self._scans else ([], 1.0)
        self._relative_sizes = get_size, scan_size
        return gets, scans

    def _cold_shares(self) -> dict[int, float]:
        """Return the share of the bytes of each level that is on `cold_device`, of levels with some."""
        tree = self._sampled.tree
        cold = {level: sum(f.size_bytes for f in tree.files_of(level) if f.cold) for level in range(tree.num_levels)}
        return {level: size / tree.size_bytes(level) for level, size in cold.items() if size}

    def _get_costs(self, in_memory: Searched, beyond_pages: float) -> tuple[ReadClasses, float]:
        """Return the costs of point reads by device, and the mean size of their blocks relative to that of this run's own.

        `in_memory`: searches in memtables; `beyond_pages`: share of the tables that is not in the page cache.
        """
        host, found, blocks = self._setup.host, self.lookups, self._blocks
        searched_blocks = [(part.found + part.false_positive_blocks, part.table_format) for part in found.formats]
        self.block_bytes = weighted_mean((n, self._requests(table_format, 1.0)[1]) for n, table_format in searched_blocks)
        missed = found.in_wal * (1.0 - self._cache.hit_rate)
        missed += sum(part.blocks * self._uncached(part.level) for part in found.searched)
        miss = missed * beyond_pages
        opened = self._opened(self._sampled, found.searched, beyond_pages)
        tails_of = looked_up(found.searched, self._tails)
        tails = self._tail_reads(tails_of, lambda _: beyond_pages)
        searched = replace(
            self._with_tables(in_memory, found.searched, searched_blocks), runs=found.runs, blocks=blocks,
            calls=missed + tails.calls, requests=miss + tails.requests, opens=opened.opens,
        )  # fmt: skip
        get = ReadCost(
            cpu_s=point_read_cpu(searched, host).seconds(host),
            request_cpu_s=block_requests(searched).seconds(host),
            device_reads=miss + tails.requests + opened.device_reads,
            device_bytes=miss * self.block_bytes + tails.request_bytes + opened.device_bytes,
            memory_share=gets_in_memory(
                [(part, self._uncached(part.level) * beyond_pages) for part in found.searched],
                found.in_wal * (1.0 - self._cache.hit_rate) * beyond_pages,
            ) * tails.memory_share * opened.memory_share,
            blocks=blocks,
        )
        get, size = self._with_blobs(get, found.found, beyond_pages), self._relative_size(searched_blocks)
        if not self._cold:
            return [(1.0, get)], size
        cold = [(p, self._uncached(p.level) * beyond_pages * self._cold.get(p.level, 0.0)) for p in found.searched]
        reads = sum(part.blocks * share for part, share in cold)
        opens = opened.device_reads * self._cold_opens
        tails = self._tail_reads(tails_of, lambda level: beyond_pages * self._cold.get(level, 0.0))
        get = replace(
            get, cold_reads=reads + tails.requests + opens,
            cold_bytes=reads * self.block_bytes + tails.request_bytes + opened.device_bytes * self._cold_opens,
        )  # fmt: skip
        warm = gets_in_memory(cold) * tails.memory_share * (1.0 - beyond_pages * self._cold_opens) ** opened.opens
        return get.by_device(warm), size

    @property
    def _cold_opens(self) -> float:
        """Share of the table opens that read from `cold_device`: that of its bytes."""
        tree = self._sampled.tree
        return sum(share * tree.size_bytes(level) for level, share in self._cold.items()) / max(1, all_bytes(tree))

    def _with_blobs(self, cost: ReadCost, entries: float, beyond_pages: float) -> ReadCost:
        """Return the cost of a read that also reads the blobs of `entries` that it finds in the tables."""
        number = entries * self._blobs.per_entry
        if number == 0.0:
            return cost
        host, engine, record_bytes = self._setup.host, self._own.engine, self._blobs.record_bytes
        cached = engine.options.use_blob_cache
        uncached = self._uncached(BLOB_FILES) if cached else 1.0
        calls, requests = number * uncached, number * uncached * beyond_pages
        codec = CODECS[engine.options.blob_compression_type].decompress
        decompress_bytes = codec * record_bytes / engine.blob_compression_ratio
        whole, part = divmod(number, 1.0)
        return replace(
            cost,
            cpu_s=cost.cpu_s + blob_read_cpu(calls, requests, record_bytes, decompress_bytes, host).seconds(host),
            request_cpu_s=cost.request_cpu_s + blob_requests(requests).seconds(host),
            device_reads=cost.device_reads + requests,
            device_bytes=cost.device_bytes + requests * (record_bytes + self._unit_bytes),  # it begins anywhere in a page
            memory_share=cost.memory_share
            * (1.0 - uncached * beyond_pages) ** whole * (1.0 - part * uncached * beyond_pages),
            blocks=cost.blocks + (entries * self._blob_blocks if cached and self._blob_cache is self._cache else 0.0),
        )

    def _scan_costs(self, in_memory: Searched, beyond_pages: float) -> tuple[list[tuple[float, ReadCost]], float]:
        """Return the costs of scans by length, and the mean size of their blocks; arguments as for `_get_cost`."""
        host, family = self._setup.host, self._sampled
        runs = self._sorted_runs()
        number = sum(run.number for run in runs)
        seeks = [
            (sum(run.number for run in runs if run.table_format == table_format), table_format)
            for table_format in self._formats
        ]
        scanned = [self._scanned(run, beyond_pages) for run in runs]
        tables = [TableClass(run.tables, run.number, size_bytes=run.table_bytes) for run in runs]
        opened = self._opened(family, tables, beyond_pages)
        tails = self._tail_reads(sought(runs, self._tails), lambda _: beyond_pages)
        common = replace(self._with_tables(in_memory, tables, seeks), runs=number, blocks=number, opens=opened.opens)
        scans: list[tuple[float, ReadCost]] = []
        for length, share in self._scans:
            blocks = scanned_blocks(scanned, length)
            requests, size = scan_device_reads(scanned, length)
            calls = sum(
                inside * self._uncached(run.level) + firsts * self._uncached(run.level, BlockKind.AFTER_GAP)
                for run, (inside, firsts) in zip(runs, blocks, strict=True)
            )
            searched = replace(common, calls=calls + tails.calls, requests=requests + tails.requests)
            in_memory_share = math.prod(
                (1.0 - run.uncached) ** inside * (1.0 - run.uncached_after_gap) ** firsts
                for run, (inside, firsts) in zip(scanned, blocks, strict=True)
            )
            scan = ReadCost(
                cpu_s=scan_cpu(searched, host, entries=length).seconds(host),
                request_cpu_s=block_requests(searched).seconds(host),
                device_reads=requests + tails.requests + opened.device_reads,
                device_bytes=size + tails.request_bytes + opened.device_bytes,
                memory_share=opened.memory_share * tails.memory_share * in_memory_share,
                blocks=sum(inside + firsts for inside, firsts in blocks),
            )
            scan = self._with_blobs(scan, length, beyond_pages)
            scans += [(share * part, cost) for part, cost in self._scan_by_device(scan, runs, scanned, blocks, length)]
        return scans, self._relative_size(seeks)

    def _scan_by_device(
        self, scan: ReadCost, runs: Sequence[ScannedRuns], scanned: Sequence[ScannedRun],
        blocks: Sequence[tuple[float, float]], length: float,
    ) -> ReadClasses:  # fmt: skip
        """Return the costs of scans of a length by device; `blocks`: (inside files, first ones) that they read of each run."""
        if not self._cold:
            return [(1.0, scan)]
        shares = [self._cold.get(run.level, 0.0) for run in runs]
        cold = [
            own._replace(uncached=share * own.uncached, uncached_after_gap=share * own.uncached_after_gap)
            for own, share in zip(scanned, shares, strict=True)
        ]
        reads, size = scan_device_reads(cold, length)
        warm = math.prod(
            (1.0 - own.uncached) ** inside * (1.0 - own.uncached_after_gap) ** firsts
            for own, (inside, firsts) in zip(cold, blocks, strict=True)
        )
        return replace(scan, cold_reads=reads, cold_bytes=size).by_device(warm)

    def _scanned(self, run: ScannedRuns, beyond_pages: float = 1.0) -> ScannedRun:
        """Return sorted runs as a scan merges them; `beyond_pages`: share of the tables that is not in the page cache."""
        per_block = self._formats[run.table_format].entries_per_block
        return ScannedRun(
            run.size_bytes, run.number, per_block, partial(self._requests, run.table_format), run.covered, run.gaps,
            self._uncached(run.level) * beyond_pages, self._uncached(run.level, BlockKind.AFTER_GAP) * beyond_pages,
        )  # fmt: skip

    def _sample(self) -> None:
        """Look up a sample of the clients' keys in the trees of one database."""
        self._sample_s = self._env.now + self._refresh_s
        self._sampled = family = self._families[int(self._rng.integers(len(self._families)))]
        self._codes = np.sort(self.sample_codes(family.number))
        self._runs_version = -1
        self.lookups = found = look_up(family, self._codes)
        self._blocks = found.found + found.in_wal + sum(part.false_positive_blocks for part in found.formats)
        self._blobs = self._found_blobs()
        self._block_sum += self._blocks
        self._block_weight += 1.0

    def _found_blobs(self) -> _BlobReads:
        """Return the blobs of the entries that reads of the sampled keys find; not all large values may be apart yet."""
        apart, tree = self._own.content.apart, self._sampled.tree
        if apart is None or not tree.blobs:
            return _BlobReads()
        blobs = sum(file.total.blobs - file.garbage.blobs for file in tree.blobs.files)
        large = tree.live_entries() * apart.values.mean.share
        per_entry, record_bytes = apart.values.per_read(self._codes)
        return _BlobReads(per_entry * min(1.0, blobs / large) if large else 0.0, record_bytes)

    def _requests(self, table_format: TableFormat, blocks: float) -> tuple[float, float]:
        """(Requests, bytes) to read consecutive blocks of a table from the device."""
        reads = self._own.engine.table_reads
        return reads.requests(blocks, table_format.block_bytes, self._unit_bytes, self._tables)

    def _with_tables(
        self, places: Searched, searched: Sequence[TableClass], blocks: Sequence[tuple[float, TableFormat]]
    ) -> Searched:
        """Return `places` with the index searches of a read (`TableReads.index_searches`) and the mean size of its blocks.

        `blocks`: number of data blocks by table format.
        """
        indexes, doublings, block_doublings = self._own.engine.table_reads.index_searches(searched)
        return replace(
            places, indexes=indexes, index_doublings=doublings, block_doublings=block_doublings,
            block_bytes=weighted_mean((n, table_format.block_size) for n, table_format in blocks),
            decompress_bytes=weighted_mean((n, self._decompress_bytes(table_format)) for n, table_format in blocks),
        )  # fmt: skip

    def _decompress_bytes(self, table_format: TableFormat) -> float:
        """Uncompressed bytes of a block, times the codec's cost relative to LZ4; most blocks are at the last level."""
        engine, tree = self._own.engine, self._sampled.tree
        if table_format.compression_ratio == 1.0:
            return 0.0
        if table_format != self._format:
            return table_format.block_size * table_format.decompress
        return table_format.block_size * CODECS[engine.level_compression(tree, tree.last_nonempty_level())].decompress

    def _relative_size(self, blocks: Sequence[tuple[float, TableFormat]]) -> float:
        return weighted_mean((n, self._size(table_format)) for n, table_format in blocks)

    def _opened(self, family: ColumnFamily, searched: Sequence[TableClass], beyond_pages: float) -> _Opened:
        """Cost of opening tables; their tails (index, filter) are in the page cache as often as data blocks."""
        reads = self._own.engine.table_reads
        opens = table_opens(searched, reads.open_tables)
        if opens == 0.0:
            return _Opened()
        table_bytes = all_bytes(family.tree) / self._tables
        tail_bytes = weighted_mean(
            (bytes_in(table_format, family), table_bytes * entry.tail / (entry.put + entry.tail) + entry.fixed)
            for table_format, (entry, _) in self._formats.items()
        )
        return _Opened(
            opens=opens,
            device_reads=opens * beyond_pages,
            device_bytes=opens * beyond_pages * reads.opening_bytes(tail_bytes, self._tables),
            memory_share=(1.0 - beyond_pages) ** opens,
        )

    def reads_from(self, family: int) -> bool:
        """Whether these are reads of family number `family`."""
        return family in self._choosers

    def sample_codes(self, store: int) -> KeyArray:
        """Sample of the keys that the clients' next reads of family number `store` ask for."""
        weights = np.array([_reads(c) for c in self._readers])
        counts = self._rng.multinomial(SAMPLE if self._writes else _STILL_SAMPLE, weights / weights.sum())
        parts = [
            chooser.sample_reads(int(count), self._rng)
            for chooser, count in zip(self._choosers[store], counts, strict=True)
            if count
        ]
        return np.concatenate(parts)


def _scan_classes(readers: Sequence[Clients]) -> list[tuple[float, float]]:
    """Return (entries, share) of the classes of scans by length; empty without scans."""
    total = sum(c.mix.scan * c.threads for c in readers)
    return [
        (entries, share * c.mix.scan * c.threads / total) for c in readers if c.mix.scan > 0.0
        for entries, share in c.scan_length.classes
    ]  # fmt: skip


def _reads(clients: Clients) -> float:
    """Return the weight of a group of clients among all readers: its threads, times the share of reads in its operations."""
    return (clients.mix.gets + clients.mix.scan) * clients.threads


def _gets_share(readers: Sequence[Clients]) -> float:
    """Return the share of gets in the reads of all clients."""
    reads = sum(_reads(c) for c in readers)
    return sum(c.mix.gets * c.threads for c in readers) / reads if reads else 1.0

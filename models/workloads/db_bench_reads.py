"""db_bench's benchmarks that read: tools/db_bench_tool.cc (behaviour/db-bench.md, db_bench).

The benchmarks run on a store with all `num` keys, or on an empty one with `use_existing_db: false`. As in db_bench, rate
limits apply to the writer of readwhilewriting and to the readers of readrandom and readwhilewriting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lsmlab.models.units import quantity
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Clients, Mix, ScanLength, Workload
from lsmlab.models.workloads.choosers import Chooser, UniformKeys
from lsmlab.models.workloads.db_bench import DbBench
from lsmlab.models.workloads.ranks import LogUniform
from lsmlab.models.workloads.skewed import RankedKeys

_MERGES: Final = (
    "workload: merge operands are simulated as puts of their size, which is right for an operator that joins operands to one of "
    "this size, such as uint64add; a get of such a key reads on to its base value, which is not simulated"
)


@dataclass(frozen=True, kw_only=True)
class ReadingBench(DbBench):
    """Flags of the benchmarks with reads."""

    reads: int | None = quantity("count", None, low=1)
    """Operations per thread instead of `num`."""
    use_existing_db: bool = True
    read_random_exp_range: float = quantity("ratio", 0.0, high=40.0)
    """Skew of the keys: num · e^(-u · range), hashed; 0 for uniform."""

    def read_keys(self) -> Chooser:
        """Return the keys of db_bench's `GetRandomKey`."""
        return RankedKeys(LogUniform(self.read_random_exp_range)) if self.read_random_exp_range else UniformKeys()


@dataclass(frozen=True, kw_only=True)
class ReadRandom(ReadingBench):
    """readrandom: gets of random keys."""

    benchmark_read_rate_limit: float = quantity("per_s", 0.0)
    """Operations per second of all threads together; 0 for no limit."""

    def readers(self, name: str, keys_per_call: int = 1) -> Clients:
        """Return the reading threads; `keys_per_call`: of a MultiGet, 1 for Get."""
        return Clients(
            name,
            self.threads,
            Mix(read=1.0),
            ClosedLoop(limit_ops_per_s=self.benchmark_read_rate_limit or None),
            read_keys=self.read_keys(),
            operations=self.operations(self.reads),
            read_batch=keys_per_call,
        )

    def workload(self) -> Workload:
        """Return the workload."""
        return self.make("readrandom", self.readers("readrandom"), preload=self.use_existing_db)


@dataclass(frozen=True, kw_only=True)
class MultiReadRandom(ReadRandom):
    """multireadrandom: MultiGets of random keys; each key is an operation, and a latency is that of a MultiGet."""

    batch_size: int = quantity("count", 1, low=1)
    """Keys per MultiGet."""

    def workload(self) -> Workload:
        """Return the workload."""
        readers = self.readers("multireadrandom", self.batch_size)
        return self.make("multireadrandom", readers, preload=self.use_existing_db)


@dataclass(frozen=True, kw_only=True)
class SeekRandom(ReadingBench):
    """seekrandom: a seek to a random key, and `seek_nexts` calls of Next."""

    seek_nexts: int = quantity("count", 0)

    def workload(self) -> Workload:
        """Return the workload."""
        readers = Clients(
            "seekrandom",
            self.threads,
            Mix(scan=1.0),
            read_keys=self.read_keys(),
            scan_length=ScanLength.fixed(float(max(1, self.seek_nexts))),
            operations=self.operations(self.reads),
        )
        return self.make("seekrandom", readers, preload=self.use_existing_db)


@dataclass(frozen=True, kw_only=True)
class ReadWhileWriting(ReadRandom):
    """readwhilewriting: `threads` readers, and one writer of random keys until the readers have finished."""

    writes: int | None = quantity("count", None, low=1)
    """Puts of the writer; the run then ends when both have finished, and the throughput counts both. None: as db_bench."""
    benchmark_write_rate_limit: float = quantity("bytes_per_s", 0.0)
    """Keys and values that the writer puts per second; 0 for no limit."""
    sync: bool = False

    def workload(self) -> Workload:
        """Return the workload, in whose throughput the writer does not count, unless it has a number of writes."""
        writer = Clients(
            "writer",
            1,
            Mix(update=1.0),
            ClosedLoop(limit_bytes_per_s=self.benchmark_write_rate_limit or None),
            write_keys=UniformKeys(),
            operations=None if self.duration else self.writes,
            sync=self.sync,
            background=self.writes is None,
        )
        return self.make("readwhilewriting", self.readers("readers"), writer, preload=self.use_existing_db)


@dataclass(frozen=True, kw_only=True)
class MixedBench(ReadingBench):
    """Flags of the benchmarks in which each thread reads and writes."""

    writes: int | None = quantity("count", None, low=1)
    """Operations per thread instead of `num`; the larger of `reads` and `writes` applies."""
    sync: bool = False

    def mixed(self, name: str, mix: Mix) -> Workload:
        """Build the workload of one group that reads and writes the same keys (db_bench's `readwrites_`)."""
        given = [n for n in (self.reads, self.writes) if n is not None]
        clients = Clients(
            name,
            self.threads,
            mix,
            write_keys=self.read_keys(),
            read_keys=self.read_keys(),
            operations=self.operations(max(given) if given else None),
            sync=self.sync,
        )
        return self.make(name, clients, preload=self.use_existing_db)


@dataclass(frozen=True, kw_only=True)
class ReadRandomWriteRandom(MixedBench):
    """readrandomwriterandom: per 100 operations `readwritepercent` gets, then puts."""

    readwritepercent: float = quantity("ratio", 90.0, high=100.0)
    """Gets per 100 operations, not a fraction."""

    def workload(self) -> Workload:
        """Return the workload."""
        reads = self.readwritepercent / 100.0
        return self.mixed("readrandomwriterandom", Mix(read=reads, update=1.0 - reads))


@dataclass(frozen=True, kw_only=True)
class UpdateRandom(MixedBench):
    """updaterandom: get a random key, then put it."""

    def workload(self) -> Workload:
        """Return the workload."""
        return self.mixed("updaterandom", Mix(read_modify_write=1.0))


@dataclass(frozen=True, kw_only=True)
class MergeRandom(MixedBench):
    """mergerandom: merge operands of random keys, simulated as puts of the same size."""

    def workload(self) -> Workload:
        """Return the workload."""
        return replace(self.mixed("mergerandom", Mix(update=1.0)), notes=(_MERGES,))


@dataclass(frozen=True, kw_only=True)
class ReadRandomMergeRandom(MixedBench):
    """readrandommergerandom: per 100 operations `mergereadpercent` merges, then gets."""

    mergereadpercent: float = quantity("ratio", 70.0, high=100.0)
    """Merges per 100 operations, not a fraction."""

    def workload(self) -> Workload:
        """Return the workload."""
        merges = self.mergereadpercent / 100.0
        return replace(self.mixed("readrandommergerandom", Mix(read=1.0 - merges, update=merges)), notes=(_MERGES,))

"""db_bench's benchmarks, with its flags as names: tools/db_bench_tool.cc (behaviour/db-bench.md, db_bench).

Operation counts (`num`, `reads`, `writes`) are per thread, as in db_bench. `duration`, if given, replaces them except in
fillseq and filluniquerandom, which always end at `num` keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from lsmlab.models.errors import InputError
from lsmlab.models.tree.key_order import Hashed, KeyOrder, Ordered
from lsmlab.models.units import quantity
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Clients, Mix, Workload, WorkloadSettings
from lsmlab.models.workloads.choosers import Chooser, SequentialKeys, UniformKeys
from lsmlab.models.workloads.values import FixedSize, NormalSize, UniformSize, ValueSizes


class SizeDistribution(Enum):
    """Values of --value_size_distribution_type."""

    FIXED = "fixed"
    UNIFORM = "uniform"
    NORMAL = "normal"


@dataclass(frozen=True, kw_only=True)
class DbBench(WorkloadSettings):
    """Flags common to all benchmarks."""

    num: int = quantity("count", 1_000_000, low=1)
    """Keys in the key space, and default operations per thread."""
    duration: float | None = quantity("seconds", None)
    """Simulated seconds; None or 0 runs until the operations are done."""
    threads: int = quantity("count", 1, low=1, high=10_000)
    key_size: float = quantity("bytes", 16.0, low=1)
    value_size: float = quantity("bytes", 100.0)
    value_size_distribution_type: SizeDistribution = SizeDistribution.FIXED
    value_size_min: float = quantity("bytes", 100.0)
    value_size_max: float = quantity("bytes", 102_400.0)
    seed: int = quantity("count", 0)
    """Seed of the keys in an exact run. db_bench replaces 0 by the clock; here 0 is a seed like any other."""
    shards: int = quantity("count", 1, low=1, high=1000)
    """Independent trees on one device. Not a db_bench flag: all counts are totals, divided among the shards."""
    shard_spread: float = quantity("ratio", 0.0)

    def values(self) -> ValueSizes:
        """Return the value sizes of the flags."""
        kind = self.value_size_distribution_type
        if kind is SizeDistribution.UNIFORM:
            return UniformSize(self.value_size_min, self.value_size_max)
        if kind is SizeDistribution.NORMAL:
            return NormalSize(self.value_size_min, self.value_size_max)
        return FixedSize(self.value_size)

    def operations(self, per_thread: int | None = None) -> int | None:
        """Operations of all threads; None if the duration ends the run."""
        return None if self.duration else self.threads * (self.num if per_thread is None else per_thread)

    def uniform(self) -> UniformKeys:
        """Return db_bench's random keys."""
        return UniformKeys(seed=self.seed, threads=self.threads)

    def make(self, name: str, *clients: Clients, preload: bool) -> Workload:
        """Build a workload over `num` keys; with `preload` the store contains all of them at the start."""
        return Workload(
            name,
            clients,
            self.key_size,
            self.values(),
            population=self.num,
            preload_keys=self.num if preload else 0,
            duration_s=self.duration or None,
            shards=self.shards, shard_spread=self.shard_spread,
        )


@dataclass(frozen=True, kw_only=True)
class WritingBench(DbBench):
    """Flags of the write-only benchmarks."""

    writes: int | None = quantity("count", None, low=1)
    """Writes per thread instead of `num`."""
    batch_size: int = quantity("count", 1, low=1)
    """Entries per write batch."""
    sync: bool = False
    benchmark_write_rate_limit: float = quantity("bytes_per_s", 0.0)
    """Keys and values written per second by all threads together; 0 for no limit."""

    def writers(self, name: str, mix: Mix, keys: Chooser) -> Clients:
        """Return the writer threads."""
        return Clients(
            name,
            self.threads,
            mix,
            ClosedLoop(limit_bytes_per_s=self.benchmark_write_rate_limit or None),
            write_keys=keys,
            operations=self.operations(self.writes),
            batch_size=self.batch_size,
            sync=self.sync,
        )


@dataclass(frozen=True, kw_only=True)
class FillRandom(WritingBench):
    """fillrandom: puts of uniformly random keys into an empty store."""

    use_existing_db: bool = False

    def workload(self) -> Workload:
        """Return the workload."""
        writers = self.writers("fillrandom", Mix(update=1.0), self.uniform())
        return self.make("fillrandom", writers, preload=self.use_existing_db)


@dataclass(frozen=True, kw_only=True)
class Overwrite(WritingBench):
    """overwrite: fillrandom on a store with all `num` keys."""

    def workload(self) -> Workload:
        """Return the workload."""
        return self.make("overwrite", self.writers("overwrite", Mix(update=1.0), self.uniform()), preload=True)


@dataclass(frozen=True, kw_only=True)
class DeleteRandom(WritingBench):
    """deleterandom: deletes of uniformly random keys from a store with all `num` keys."""

    def workload(self) -> Workload:
        """Return the workload."""
        return self.make("deleterandom", self.writers("deleterandom", Mix(delete=1.0), self.uniform()), preload=True)


@dataclass(frozen=True, kw_only=True)
class FillSeq(WritingBench):
    """fillseq: puts of ascending keys into an empty store; every thread writes the same sequence."""

    def workload(self) -> Workload:
        """Return the workload, which ends at `num` keys even if a duration is given."""
        return self.sequence("fillseq", Ordered())

    def sequence(self, name: str, order: KeyOrder) -> Workload:
        """Return the workload of all keys once per thread, in the given order."""
        per_thread = self.num if self.writes is None else self.writes
        writers = replace(
            self.writers(name, Mix(insert=1.0), self.uniform()),
            insert_keys=SequentialKeys(self.threads),
            operations=self.threads * per_thread,
        )
        return replace(
            self.make(name, writers, preload=False), population=max(self.num, per_thread), key_order=order
        )


@dataclass(frozen=True, kw_only=True)
class FillUniqueRandom(FillSeq):
    """filluniquerandom: every key once, shuffled, by one thread."""

    def workload(self) -> Workload:
        """Return the workload, which ends at `num` keys even if a duration is given."""
        if self.threads != 1:
            raise InputError("threads: filluniquerandom runs with one thread, as in db_bench")
        return self.sequence("filluniquerandom", Hashed())

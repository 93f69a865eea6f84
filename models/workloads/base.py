"""Workloads: groups of clients with their keys, values and pace, over one key space."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import reduce
from statistics import NormalDist
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.options.compact_range import CompactRangeOptions
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.key_order import KeyOrder, Ordered
from lsmlab.models.tree.keys import KeySample, choose_rate
from lsmlab.models.tree.merge import Tombstones, merge_runs
from lsmlab.models.units import field_values
from lsmlab.models.workloads.arrivals import Arrivals, ClosedLoop
from lsmlab.models.workloads.choosers import (
    Chooser,
    FloatArray,
    InsertCursor,
    SequentialKeys,
    UniformKeys,
    distinct_with_counts,
)
from lsmlab.models.workloads.values import ValueSizes

MOST_KEYS: Final = 1 << 60
"""Largest key space: key codes are 64-bit integers with a spare bit for inserts beyond the key space."""

MOST_SHARD_SPREAD: Final = 0.3
"""Bound on `shard_spread`: below it, the smallest of 1000 shards has a part above 0."""
_CLASSES_PER_DOUBLING: Final = 2
"""Classes of scans per doubling of their length."""
MOST_ENTRY_BYTES: Final = (1 << 32) - 1
"""Largest key and value: their lengths are 32-bit numbers, and Put refuses longer ones (WriteBatchInternal::Put)."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Fractions of a client group's operations by kind; they sum to 1."""

    read: float = 0.0
    update: float = 0.0
    insert: float = 0.0
    delete: float = 0.0
    scan: float = 0.0
    read_modify_write: float = 0.0

    def __post_init__(self) -> None:
        shares = list(field_values(self).values())
        if min(shares) < 0 or abs(sum(shares) - 1.0) > 1e-6:
            raise InputError(f"fractions of operations sum to {sum(shares):g}; they must sum to 1, none negative")

    @property
    def gets(self) -> float:
        """Point lookups per operation; a read-modify-write has one."""
        return self.read + self.read_modify_write

    @property
    def writes(self) -> float:
        """Entries written per operation; a read-modify-write writes one."""
        return self.update + self.insert + self.delete + self.read_modify_write


def share_notes(proportions: Mapping[str, float]) -> tuple[str, ...]:
    """Return a note if proportions of operations, by setting, do not add up to 1; it has the shares that are simulated.

    >>> share_notes({"read": 0.75, "update": 0.75, "scan": 0.0})
    ('workload: the proportions of operations add up to 1.5, not 1; simulated as read 0.5, update 0.5',)
    """
    total = sum(proportions.values())
    if abs(total - 1.0) < 1e-6:
        return ()
    shares = ", ".join(f"{name} {value / total:.3g}" for name, value in proportions.items() if value)
    return (f"workload: the proportions of operations add up to {total:g}, not 1; simulated as {shares}",)


@dataclass(frozen=True, slots=True)
class ScanLength:
    """Entries that a scan returns."""

    classes: tuple[tuple[float, float], ...] = ()
    """(Entries, share of the scans) of classes of similar length; empty: no scans.

    An iterator reads ahead twice as much at each request, so a few long scans need fewer requests than scans of the
    mean length.
    """

    @property
    def mean(self) -> float:
        """Mean number of entries."""
        return sum(entries * share for entries, share in self.classes)

    @classmethod
    def fixed(cls, entries: float) -> ScanLength:
        """Return scans of the same number of entries each."""
        return cls(((entries, 1.0),))

    @classmethod
    def of(cls, entries: FloatArray, shares: FloatArray | None = None) -> ScanLength:
        """Return the distribution of scans of `entries`, with a `shares` of the scans each (None: equal). Shapes (n,)."""
        weights = np.full(len(entries), 1.0 / len(entries)) if shares is None else shares / shares.sum()
        place = np.round(np.log2(np.maximum(entries, 1.0)) * _CLASSES_PER_DOUBLING).astype(np.int64)
        mass, number = np.bincount(place, weights), np.bincount(place, weights * entries)
        used = np.flatnonzero(mass > 0.0)
        return cls(tuple((float(number[i] / mass[i]), float(mass[i])) for i in used.tolist()))


@dataclass(frozen=True)
class Clients:
    """Group of client threads with the same operations."""

    name: str
    threads: int = 1
    mix: Mix = field(default_factory=lambda: Mix(update=1.0))
    arrivals: Arrivals = field(default_factory=ClosedLoop)
    write_keys: Chooser = field(default_factory=UniformKeys)
    """Keys of updates and read-modify-writes."""
    delete_keys: Chooser | None = None
    """Keys of deletes; None: as `write_keys`."""
    insert_keys: Chooser = field(default_factory=SequentialKeys)
    """Keys of inserts."""
    read_keys: Chooser = field(default_factory=UniformKeys)
    """Keys of reads, and start keys of scans."""
    scan_length: ScanLength = field(default_factory=ScanLength)
    operations: int | None = None
    """Operations of all threads of the group together, after which the group stops; None for no limit."""
    batch_size: int = 1
    """Entries per write batch. In db_bench an entry is an operation, so a batch is `batch_size` operations."""
    read_batch: int = 1
    """Keys per MultiGet; 1: Get. Each key is an operation, as in db_bench; a latency is that of a whole call."""
    sync: bool = False
    """Whether every write waits for an fsync of the WAL."""
    client_work: float = 0.0
    """CPU time of a client per operation outside the store, such as drawing a key, in units of `Host.write_op`. db_bench's
    latencies include this time."""
    queue_per_thread: bool = False
    """Open loop: whether each thread has its own queue of arrivals, which wait for this thread even if another is
    free."""
    background: bool = False
    """Whether the group is left out of the reported throughput and stops when all others have finished
    (readwhilewriting's writer)."""

    def __post_init__(self) -> None:
        if min(self.threads, self.batch_size, self.read_batch) < 1:
            raise InputError(f"{self.name}: threads, batch_size and read_batch must be at least 1")
        if self.client_work < 0.0:
            raise InputError(f"{self.name}: client_work {self.client_work:g} must be at least 0")
        if self.mix.scan > 0.0 and not self.scan_length.classes:
            raise InputError(f"{self.name}: scans need a scan_length")

    def start(self, sample: KeySample, cursor: InsertCursor) -> WriteStream:
        """Return the stream of the group's writes into one shard."""
        return WriteStream(self, sample, cursor)


class WriteStream:
    """Keys that one client group writes into one shard, memtable by memtable."""

    def __init__(self, clients: Clients, sample: KeySample, cursor: InsertCursor) -> None:
        mix = clients.mix
        total = mix.writes or 1.0
        self._overwrites = (mix.update + mix.read_modify_write) / total
        self._inserts = mix.insert / total
        self._deletes = mix.delete / total
        self._overwritten = clients.write_keys.start(sample, cursor)
        self._inserted = clients.insert_keys.start(sample, cursor)
        self._deleted = (clients.delete_keys or clients.write_keys).start(sample, cursor)

    def fill(self, count: float, rng: np.random.Generator) -> tuple[KeyArray, Tombstones]:
        """Distinct keys of the next `count` written entries, ascending, and the mask of the deletes among them.

        If a key was both put and deleted, a random draw weighted by the shares selects the last operation.
        """
        runs: list[tuple[KeyArray, Tombstones]] = []
        if self._overwrites:
            runs.append((self._overwritten.distinct(count * self._overwrites, rng), None))
        if self._inserts:
            runs.append((self._inserted.distinct(count * self._inserts, rng), None))
        if not self._deletes:
            return merge_runs(runs)
        deleted = self._deleted.distinct(count * self._deletes, rng)
        put = merge_runs(runs)[0]
        if len(put):
            both = np.isin(deleted, put, assume_unique=True)
            deleted = deleted[~both | (rng.random(len(deleted)) < self._deletes)]
        return merge_runs([(deleted, np.ones(len(deleted), dtype=np.bool_)), (put, None)])

    def distinct_with_counts(self, count: float, rng: np.random.Generator) -> tuple[KeyArray, Tombstones, FloatArray]:
        """Return the same with the number of writes per key; 1 for all keys if the group also inserts or deletes."""
        if self._overwrites < 1.0:
            keys, tombstones = self.fill(count, rng)
            return keys, tombstones, np.ones(len(keys))
        keys, updates = distinct_with_counts(self._overwritten, count, rng)
        return keys, None, updates


class StoreAction(Enum):
    """What a phase without clients does, or something beside clients. Values are db_bench's names where it has one."""

    FLUSH = "flush"
    """Flush all memtables and wait for it."""
    COMPACT = "compact"
    """Flush, and compact all keys (CompactRange)."""
    WAIT_FOR_COMPACTION = "waitforcompaction"
    """Wait until no flush and no compaction is due or runs."""
    WAIT = "wait"
    """Wait for a time."""
    DELETE_RANGE = "deleterange"
    """Delete a range of keys by one range tombstone (DeleteRange)."""
    DELETE_FILES_IN_RANGE = "deletefilesinrange"
    """Delete the files below L0 whose keys are all in a range (DeleteFilesInRange)."""
    INGEST = "ingest"
    """Ingest files with all keys of a range (IngestExternalFile)."""
    LEVELSTATS = "levelstats"
    """Nothing: every phase reports the levels at its end."""


@dataclass(frozen=True)
class WorkloadPhase:
    """Phase of a workload: client groups that run together, or an action on the store."""

    name: str
    clients: tuple[Clients, ...] = ()
    duration_s: float | None = None
    """Simulated length in s; None: until all operations are done, or the action is."""
    action: StoreAction | None = None
    """None: the phase has clients."""
    compact_range: CompactRangeOptions = field(default_factory=CompactRangeOptions)
    """Options of `StoreAction.COMPACT`."""
    span: tuple[float, float] = (0.0, 1.0)
    """Range of keys of an action: first and last place in key order, as shares of the key space."""
    files: int = 1
    """Files of `StoreAction.INGEST`."""
    move_files: bool = False
    """Whether these are linked, not copied."""
    actions: tuple[TimedAction, ...] = ()
    """Actions on the store while the clients run; times count from the start of the phase."""


@dataclass(frozen=True)
class TimedAction:
    """Action on the store beside clients."""

    step: WorkloadPhase
    """The action, as a phase of its own would do it."""
    at_s: float
    """Time of the first one in s."""
    every_s: float | None = None
    """Time from one to the next in s; None: it happens once."""
    step_share: float = 0.0
    """Share of the key space by which the range of each one lies behind that of the one before."""

    def number(self, count: int) -> WorkloadPhase:
        """Return the action after `count` others; beyond the last key, ranges begin again at the first."""
        if not self.step_share:
            return self.step
        first, last = self.step.span
        begin = (first + count * self.step_share) % 1.0
        return replace(self.step, span=(begin, min(1.0, begin + last - first)))


@dataclass(frozen=True)
class Workload:
    """Clients of a store, and the key space that they use.

    Populations, operations and rates are totals over all shards. Each shard is an independent tree with its part of the
    keys and of the operations (`shard_parts`).
    """

    name: str
    clients: tuple[Clients, ...]
    key_size: float
    values: ValueSizes
    population: int
    """Size of the key space: number of keys that can exist."""
    preload_keys: int = 0
    """Keys 0 … preload_keys - 1 are in the store at the start of the run."""
    duration_s: float | None = None
    """Simulated length of the run in s, or None to run until all operations are done."""
    shards: int = 1
    shard_spread: float = 0.0
    """Standard deviation of the shards' parts of keys and operations, as a share of the mean part."""
    key_order: KeyOrder = field(default_factory=Ordered)
    notes: tuple[str, ...] = ()
    """What the workload reads differently from how it is written, one line each."""
    phases: tuple[WorkloadPhase, ...] = ()
    """Phases in their order; `clients` are those of all phases. Empty: all clients start together."""
    actions: tuple[TimedAction, ...] = ()
    """Actions on the store while the clients run; times count from the start of the clients."""

    def __post_init__(self) -> None:
        largest = max(self.key_size, self.values.mean_bytes)
        if largest > MOST_ENTRY_BYTES:
            raise InputError(
                f"{'key_size' if largest == self.key_size else 'value_size'}: {largest:g} bytes are out of range; a store"
                " refuses keys and values of 4 GiB or more"
            )
        if not 1 <= self.shards <= 1000:
            raise InputError(f"shards: {self.shards} is out of range; it must be between 1 and 1000")
        if not 1 <= self.population <= MOST_KEYS:
            raise InputError(f"a key space of {self.population} keys is out of range; it must have 1 to 2^60")
        if not 0.0 <= self.shard_spread < MOST_SHARD_SPREAD:
            raise InputError(
                f"shard_spread: {self.shard_spread:g} is out of range; it must be at least 0 and below {MOST_SHARD_SPREAD:g}"
            )
        if self.shards > self.population:
            raise InputError(f"shards: {self.shards} shards need at least as many keys; the key space has {self.population}")
        if not self.phases and self.duration_s is None and all(c.operations is None for c in self.clients if not c.background):
            raise InputError("duration: a value is required if no number of operations ends the run")

    @property
    def value_bytes(self) -> float:
        """Mean value size in bytes."""
        return self.values.mean_bytes

    @property
    def entry_bytes(self) -> float:
        """Mean size of key and value in bytes: user bytes of a put."""
        return self.key_size + self.values.mean_bytes

    @property
    def rounds(self) -> tuple[WorkloadPhase, ...]:
        """Phases with clients; without phases, one of all clients."""
        with_clients = tuple(phase for phase in self.phases if phase.clients)
        return with_clients or (WorkloadPhase(self.name, self.clients, self.duration_s),)

    @property
    def beside(self) -> tuple[TimedAction, ...]:
        """Actions beside clients, in all phases."""
        return (*self.actions, *(timed for phase in self.phases for timed in phase.actions))

    @property
    def threads(self) -> int:
        """Most client threads at the same time."""
        return max(sum(c.threads for c in phase.clients) for phase in self.rounds)

    @property
    def writes(self) -> bool:
        """Return whether any client writes."""
        return any(c.mix.writes > 0 for c in self.clients)

    @property
    def read_share(self) -> float:
        """Return the reads and scans per operation, over all threads."""
        threads = sum(c.threads for c in self.clients)
        return sum((c.mix.gets + c.mix.scan) * c.threads for c in self.clients) / threads

    @property
    def shard_parts(self) -> tuple[float, ...]:
        """Part of each shard in keys and operations, relative to the mean: quantiles of a normal distribution at equal steps.

        They do not depend on the seed, because a key space is divided once. Shards of a prefilled store are equal.
        """
        n = self.shards
        if n == 1 or self.shard_spread == 0.0:
            return (1.0,) * n
        steps = [NormalDist().inv_cdf((i + 0.5) / n) for i in range(n)]
        scale = self.shard_spread / math.sqrt(sum(z * z for z in steps) / n)
        return tuple(1.0 + scale * z for z in steps)

    def shard(self) -> Workload:
        """Return the workload with the key space of one shard, the largest. Operations and rates of clients stay totals."""
        n = self.shards
        if n == 1:
            return self
        population = -(-self.population // n)
        if self.shard_spread:
            population = math.ceil(self.population / n * max(self.shard_parts))
        return replace(self, shards=1, shard_spread=0.0, population=population, preload_keys=-(-self.preload_keys // n))

    def sample(self, entries_per_file: float, samples_per_file: float, exact: bool = False) -> KeySample:
        """Return the sample of keys that each shard carries, with about `samples_per_file` keys per file."""
        rate = 1.0 if exact else choose_rate(entries_per_file, samples_per_file, self.shard().population)
        return self.sample_at(rate)

    def sample_at(self, rate: float) -> KeySample:
        """Return the sample of each shard's keys at a sampling rate."""
        one, stride = self.shard(), round(1 / rate)
        choosers = [k for c in self.clients if c.mix.writes for k in (c.write_keys, c.insert_keys, c.delete_keys) if k]
        numbers = [k.hot_numbers(one.population, stride) for k in choosers]
        hot = reduce(np.union1d, [n for n in numbers if len(n)], np.empty(0, dtype=np.int64))
        return KeySample(one.population, rate, self.key_order, hot)

    def cursor(self, shard: int = 0) -> InsertCursor:
        """Return an insert cursor of shard number `shard` at the first key after the preloaded ones."""
        return InsertCursor(float(self.shard().preload_keys), shard)

    def preloaded(self, sample: KeySample) -> KeyArray:
        """Codes of the keys in each shard at the start of the run."""
        return sample.codes(0, self.shard().preload_keys)


def fill_together(
    streams: Sequence[WriteStream], counts: Sequence[float], rng: np.random.Generator
) -> tuple[KeyArray, Tombstones]:
    """Distinct keys of a memtable after each stream has written its count of entries."""
    return merge_runs([stream.fill(count, rng) for stream, count in zip(streams, counts, strict=True) if count > 0])


class WorkloadSettings(ABC):
    """Settings of a workload; a subclass is a frozen dataclass whose fields are the keys of an entry."""

    @abstractmethod
    def workload(self) -> Workload:
        """Build the workload. Raises InputError for values that do not fit together."""

"""Generic workloads: any mix of operations and any key distribution, on a schedule or at full speed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.traces.operations import Operations
from lsmlab.models.tree.key_order import Hashed, InsertRanges, KeyOrder, Ordered
from lsmlab.models.units import field_values, quantity
from lsmlab.models.workloads.arrivals import (
    DAY_S,
    Arrivals,
    ClosedLoop,
    ConstantRate,
    OnOff,
    PeaksValleys,
    Sine,
)
from lsmlab.models.workloads.base import Clients, Mix, ScanLength, Workload, WorkloadSettings, share_notes
from lsmlab.models.workloads.choosers import Chooser, UniformKeys
from lsmlab.models.workloads.ranks import YCSB_CONSTANT, Hotspot, Zipf
from lsmlab.models.workloads.replay import ReplaySettings, replay
from lsmlab.models.workloads.skewed import RankedKeys, RecentKeys
from lsmlab.models.workloads.trace import TraceColumn, operations_in, read_trace, trace_of
from lsmlab.models.workloads.values import FixedSize, MedianSize, ParetoSize, ValueSizes

FULL_SPEED_S: Final = 600.0
"""Length of a run without a given duration or number of operations."""


_PROPORTIONS: Final = ("read", "update", "insert", "delete", "scan", "read_modify_write")
"""Settings of a workload that are proportions of operations, in the order of `Mix`."""


class KeyDistribution(Enum):
    """Distributions of the keys of reads, updates and scans."""

    UNIFORM = "uniform"
    ZIPFIAN = "zipfian"
    """Zipfian, with popular keys next to each other."""
    SCRAMBLED_ZIPFIAN = "scrambled_zipfian"
    """Zipfian, with popular keys spread over the key space."""
    LATEST = "latest"
    HOTSPOT = "hotspot"


class InsertKeys(Enum):
    """Places of inserted keys."""

    ORDERED = "ordered"
    """At the end of the key space."""
    HASHED = "hashed"
    """Spread over the key space."""
    RANGES = "ranges"
    """At the end of each key range, round robin."""


@dataclass(frozen=True, kw_only=True)
class MixedWorkload(WorkloadSettings):
    """Settings common to generic workloads. The proportions are relative: the model divides them by their sum."""

    num: int = quantity("count", 10_000_000, low=1)
    """Keys in the key space, inserts included."""
    preload: float = quantity("ratio", 1.0, high=1.0)
    """Share of the key space in the store at the start of the run."""
    key_size: float = quantity("bytes", 16.0, low=1)
    value_size: float = quantity("bytes", 1000.0)
    value_sigma: float = 0.0
    """Scale of generalized Pareto sizes (mixgraph) in bytes; above 0 these sizes replace `value_size`."""
    value_k: float = 0.2615
    value_min: float | None = quantity("bytes", None)
    """With `value_max`, the bounds of sizes whose median is `value_size`; None: all values have that size."""
    value_max: float | None = quantity("bytes", None)
    read: float = quantity("ratio", 0.5)
    update: float = quantity("ratio", 0.5)
    insert: float = quantity("ratio", 0.0)
    delete: float = quantity("ratio", 0.0)
    scan: float = quantity("ratio", 0.0)
    read_modify_write: float = quantity("ratio", 0.0)
    scan_length: float = quantity("count", 100.0, low=1)
    distribution: KeyDistribution = KeyDistribution.UNIFORM
    zipfian_constant: float = YCSB_CONSTANT
    read_distribution: KeyDistribution | None = None
    """Distribution of the keys of reads and scans; None: as `distribution`."""
    read_zipfian_constant: float | None = None
    """None: as `zipfian_constant`."""
    hot_keys: float = quantity("ratio", 0.2, high=1.0)
    """Share of the keys in the hotspot."""
    hot_operations: float = quantity("ratio", 0.8, high=1.0)
    """Share of the operations on the hotspot."""
    insert_keys: InsertKeys = InsertKeys.HASHED
    insert_ranges: int = quantity("count", 16, low=1)
    threads: int = quantity("count", 16, low=1, high=10_000)
    """Client threads."""
    sync: bool = False
    shards: int = quantity("count", 1, low=1, high=1000)
    shard_spread: float = quantity("ratio", 0.0)

    def keys(self, *, reads: bool = False) -> Chooser:
        """Return the key chooser over the preloaded keys, that of `reads` or of writes."""
        share = self.preload or 1.0
        kind, constant = self.distribution, self.zipfian_constant
        if reads:
            kind = self.read_distribution or kind
            constant = constant if self.read_zipfian_constant is None else self.read_zipfian_constant
        if kind is KeyDistribution.ZIPFIAN:
            return RankedKeys(Zipf(constant), scattered=False, share=share)
        if kind is KeyDistribution.SCRAMBLED_ZIPFIAN:
            return RankedKeys(Zipf(constant), share=share)
        if kind is KeyDistribution.LATEST:
            return RecentKeys(Zipf(constant))
        if kind is KeyDistribution.HOTSPOT:
            return RankedKeys(Hotspot(self.hot_keys, self.hot_operations), scattered=False, share=share)
        return UniformKeys(share=share)

    def order(self) -> KeyOrder:
        """Return the key order."""
        orders: dict[InsertKeys, KeyOrder] = {
            InsertKeys.ORDERED: Ordered(), InsertKeys.HASHED: Hashed(), InsertKeys.RANGES: InsertRanges(self.insert_ranges),
        }  # fmt: skip
        # without inserts the order would only spread popular keys, which the distribution does if its name says so
        return orders[self.insert_keys] if self.insert else Ordered()

    def proportions(self) -> dict[str, float]:
        """Return the proportions of operations by name."""
        values = field_values(self)
        return {name: values[name] for name in _PROPORTIONS}

    def mix(self) -> Mix:
        """Return the proportions, divided by their sum. Raises InputError if all are 0."""
        shares = self.proportions().values()
        total = sum(shares)
        if total <= 0:
            raise InputError(f"{', '.join(_PROPORTIONS)}: one of them must be above 0")
        return Mix(*(share / total for share in shares))

    def values(self) -> ValueSizes:
        """Return the sizes of values. Raises InputError for two distributions, or one bound without the other."""
        if (self.value_min is None) != (self.value_max is None):
            raise InputError("value_min and value_max: set both, as the bounds of the sizes, or none")
        if self.value_min is not None and self.value_max is not None:
            if self.value_sigma:
                raise InputError("value_sigma: it has no effect beside value_min and value_max; set it to 0")
            return MedianSize(self.value_min, self.value_size, self.value_max)
        return ParetoSize(k=self.value_k, sigma=self.value_sigma) if self.value_sigma else FixedSize(self.value_size)

    def clients(self, name: str, arrivals: Arrivals) -> Clients:
        """Return the client threads."""
        return Clients(
            name, self.threads, self.mix(), arrivals, write_keys=self.keys(), read_keys=self.keys(reads=True),
            scan_length=ScanLength.fixed(self.scan_length), sync=self.sync,
        )  # fmt: skip

    def make(self, clients: Clients, duration_s: float | None) -> Workload:
        """Build the workload of these clients over `duration_s`."""
        return Workload(
            clients.name, (clients,), self.key_size, self.values(), population=self.num,
            preload_keys=round(self.num * self.preload), duration_s=duration_s, shards=self.shards,
            shard_spread=self.shard_spread, key_order=self.order(),
            notes=share_notes(self.proportions()),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FullSpeed(MixedWorkload):
    """Closed loop: each thread sends its next operation when the last one returns.

    The run ends with `operations` or `duration`, whichever comes first; after 600 s if neither is given.
    """

    operations: int | None = quantity("count", None, low=1)
    """Operations of all threads together."""
    duration: float | None = quantity("seconds", None, low=1e-3)

    def workload(self) -> Workload:
        """Return the workload."""
        clients = replace(self.clients("full_speed", ClosedLoop()), operations=self.operations)
        return self.make(clients, FULL_SPEED_S if self.duration is self.operations is None else self.duration)


@dataclass(frozen=True, kw_only=True)
class OpenLoopWorkload(MixedWorkload):
    """Settings common to schedules: arrivals wait in a queue while all threads are busy."""

    scale: float = quantity("ratio", 1.0)
    """Factor on all rates."""
    duration: float = quantity("seconds", FULL_SPEED_S, low=1e-3)
    queue_per_thread: bool = False
    """Whether each thread has a queue of its own with its share of the arrivals; if not, all threads share one."""

    def scheduled(self, name: str, arrivals: Arrivals) -> Workload:
        """Build the workload with its schedule."""
        return self.make(replace(self.clients(name, arrivals), queue_per_thread=self.queue_per_thread), self.duration)


@dataclass(frozen=True, kw_only=True)
class Constant(OpenLoopWorkload):
    """Constant rate."""

    rate: float = quantity("per_s", 20_000.0)

    def workload(self) -> Workload:
        """Return the workload."""
        return self.scheduled("constant", ConstantRate(self.scale * self.rate))


@dataclass(frozen=True, kw_only=True)
class PeaksAndValleys(OpenLoopWorkload):
    """Alternating valleys and peaks of fixed length."""

    valley_rate: float = quantity("per_s", 10_000.0)
    valley: float = quantity("seconds", 10.0)
    peak_rate: float = quantity("per_s", 40_000.0)
    peak: float = quantity("seconds", 10.0)
    quiet: float | None = quantity("seconds", None)
    """Length of the first valley; None: the same as the others."""

    def workload(self) -> Workload:
        """Return the workload."""
        valley_rate, peak_rate = self.scale * self.valley_rate, self.scale * self.peak_rate
        schedule = PeaksValleys(valley_rate, self.valley, peak_rate, self.peak, self.quiet)
        return self.scheduled("peaks_valleys", schedule)


@dataclass(frozen=True, kw_only=True)
class Bursts(OpenLoopWorkload):
    """ON and OFF periods with lognormal lengths."""

    on_rate: float = quantity("per_s", 20_000.0)
    on_mean: float = quantity("seconds", 30.0, low=1e-3)
    on_sigma: float = quantity("ratio", 1.0, high=4.0)
    off_rate: float = quantity("per_s", 200.0)
    off_mean: float = quantity("seconds", 15.0, low=1e-3)
    off_sigma: float = quantity("ratio", 0.4, high=4.0)
    long_share: float = quantity("ratio", 0.0, high=1.0)
    """Share of long ON periods, which use long_mean and long_sigma instead of on_mean and on_sigma."""
    long_mean: float = quantity("seconds", 200.0, low=1e-3)
    long_sigma: float = quantity("ratio", 0.35, high=4.0)

    def workload(self) -> Workload:
        """Return the workload."""
        schedule = OnOff(
            self.scale * self.on_rate, self.on_mean, self.on_sigma, self.scale * self.off_rate, self.off_mean,
            self.off_sigma, self.long_share, self.long_mean, self.long_sigma,
        )  # fmt: skip
        return self.scheduled("on_off", schedule)


@dataclass(frozen=True, kw_only=True)
class Diurnal(OpenLoopWorkload):
    """Sine between a low and a high rate, starting upwards from the middle."""

    low_rate: float = quantity("per_s", 5_000.0)
    high_rate: float = quantity("per_s", 30_000.0)
    period: float = quantity("seconds", DAY_S, low=1e-3)
    interval: float = quantity("seconds", 5.0, low=1e-3)
    noise: float = quantity("ratio", 0.0, high=1.0)

    def workload(self) -> Workload:
        """Return the workload."""
        if self.low_rate > self.high_rate:
            raise InputError(f"low_rate {self.low_rate:g} must not exceed high_rate {self.high_rate:g}")
        low_rate, high_rate = self.scale * self.low_rate, self.scale * self.high_rate
        middle, swing = (high_rate + low_rate) / 2, (high_rate - low_rate) / 2
        return self.scheduled("diurnal", Sine(swing, 2 * math.pi / self.period, 0.0, middle, self.interval, self.noise))


@dataclass(frozen=True, kw_only=True)
class Trace(OpenLoopWorkload):
    """Arrivals recorded in a CSV file of two columns: seconds (ascending), and operations or a rate.

    A first line that does not begin with a number is a heading. The time of the first row becomes 0. The last row lasts
    as long as the row before. `file` may also be a trace of operations (`lsmlab.models.traces`): then kinds, keys and sizes are
    those of the operations.
    """

    file: str = ""
    rows: str = ""
    """Text of such a file, in its place."""
    column: TraceColumn = TraceColumn.OPERATIONS
    loop: bool = True
    """Whether to repeat the trace at its end; if not, no operations arrive afterwards."""

    def workload(self) -> Workload:
        """Return the workload; reads the file."""
        if self.rows:
            lines = self.rows.splitlines()
            return self.scheduled("trace", trace_of(lines, "rows", self.column, self.loop, self.scale))
        if not self.file:
            raise InputError("file: a value is required: the path of a CSV file with the columns seconds, operations")
        if (operations := operations_in(self.file)) is not None:
            return self._replay(operations)
        return self.scheduled("trace", read_trace(self.file, self.column, self.loop, self.scale))

    def _replay(self, operations: Operations) -> Workload:
        """Return the workload that repeats recorded operations. Raises InputError for several shards."""
        if self.shards > 1:
            raise InputError("shards: a trace of operations is that of one store; set it to 1")
        return replay(operations, ReplaySettings(
            self.num, self.preload, self.values(), self.scan_length, self.threads, self.duration, self.scale, self.loop,
            self.sync, self.queue_per_thread,
        ))  # fmt: skip

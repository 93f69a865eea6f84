"""Workloads of one's own: any mix of operations and any key distribution, on a schedule or at full speed."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.sums import float_sum
from lsmlab.models.tree.key_order import Hashed, InsertRanges, KeyOrder, Ordered
from lsmlab.models.units import quantity
from lsmlab.models.workloads.arrivals import (
    DAY_S,
    Arrivals,
    ClosedLoop,
    ConstantRate,
    OnOff,
    PeaksValleys,
    Recorded,
    Sine,
)
from lsmlab.models.workloads.base import Clients, Mix, ScanLength, Workload
from lsmlab.models.workloads.choosers import Chooser, UniformKeys
from lsmlab.models.workloads.ranks import YCSB_CONSTANT, Hotspot, Zipf
from lsmlab.models.workloads.skewed import RankedKeys, RecentKeys
from lsmlab.models.workloads.values import FixedSize, ParetoSize

_DURATION_S: Final = 600.0
"""How long a run lasts that is told neither time nor operations."""


class KeyDistribution(Enum):
    """What reads, updates and scans prefer."""

    UNIFORM = "uniform"
    ZIPFIAN = "zipfian"
    """Popular keys side by side."""
    SCRAMBLED_ZIPFIAN = "scrambled_zipfian"
    """Popular keys anywhere."""
    LATEST = "latest"
    HOTSPOT = "hotspot"


class InsertKeys(Enum):
    """Where inserts go."""

    ORDERED = "ordered"
    """To the end of the key space."""
    HASHED = "hashed"
    """Anywhere."""
    RANGES = "ranges"
    """To the end of one key range after the other."""


@dataclass(frozen=True, kw_only=True)
class MixedWorkload:
    """What all of them share. The proportions are relative: they are divided by their sum."""

    num: int = quantity("count", 10_000_000, low=1)
    """Keys in the key space, inserts included."""
    preload: float = quantity("ratio", 1.0, high=1.0)
    """Share of the key space that the store holds when the run starts."""
    key_size: float = quantity("bytes", 16.0, low=1)
    value_size: float = quantity("bytes", 1000.0)
    value_sigma: float = 0.0
    """Scale of generalized Pareto sizes (mixgraph) in bytes; above 0 they take the place of `value_size`."""
    value_k: float = 0.2615
    read: float = quantity("ratio", 0.5)
    update: float = quantity("ratio", 0.5)
    insert: float = quantity("ratio", 0.0)
    delete: float = quantity("ratio", 0.0)
    scan: float = quantity("ratio", 0.0)
    read_modify_write: float = quantity("ratio", 0.0)
    scan_length: float = quantity("count", 100.0, low=1)
    distribution: KeyDistribution = KeyDistribution.UNIFORM
    zipfian_constant: float = YCSB_CONSTANT
    hot_keys: float = quantity("ratio", 0.2, high=1.0)
    """Share of the keys in the hotspot."""
    hot_operations: float = quantity("ratio", 0.8, high=1.0)
    """Share of the operations that go there."""
    insert_keys: InsertKeys = InsertKeys.HASHED
    insert_ranges: int = quantity("count", 16, low=1)
    threads: int = quantity("count", 16, low=1, high=10_000)
    """Client threads."""
    sync: bool = False
    shards: int = quantity("count", 1, low=1, high=1000)

    def keys(self) -> Chooser:
        """The key chooser, over the preloaded keys."""
        share = self.preload or 1.0
        if self.distribution is KeyDistribution.ZIPFIAN:
            return RankedKeys(Zipf(self.zipfian_constant), scattered=False, share=share)
        if self.distribution is KeyDistribution.SCRAMBLED_ZIPFIAN:
            return RankedKeys(Zipf(self.zipfian_constant), share=share)
        if self.distribution is KeyDistribution.LATEST:
            return RecentKeys(Zipf(self.zipfian_constant))
        if self.distribution is KeyDistribution.HOTSPOT:
            return RankedKeys(Hotspot(self.hot_keys, self.hot_operations), scattered=False, share=share)
        return UniformKeys(share=share)

    def order(self) -> KeyOrder:
        """The key order."""
        orders: dict[InsertKeys, KeyOrder] = {
            InsertKeys.ORDERED: Ordered(), InsertKeys.HASHED: Hashed(), InsertKeys.RANGES: InsertRanges(self.insert_ranges),
        }  # fmt: skip
        # without inserts the order only says whether popular keys lie side by side: as the distribution's name says
        return orders[self.insert_keys] if self.insert else Ordered()

    def mix(self) -> Mix:
        """The proportions. Raises InputError if all are 0."""
        shares = (self.read, self.update, self.insert, self.delete, self.scan, self.read_modify_write)
        total = float_sum(shares)
        if total <= 0:
            raise InputError("read, update, insert, delete, scan, read_modify_write: one of them must be above 0")
        return Mix(*(share / total for share in shares))

    def clients(self, name: str, arrivals: Arrivals) -> Clients:
        """The client threads."""
        keys = self.keys()
        return Clients(
            name, self.threads, self.mix(), arrivals, write_keys=keys, read_keys=keys,
            scan_length=ScanLength(mean=self.scan_length), sync=self.sync,
        )  # fmt: skip

    def make(self, clients: Clients, duration_s: float | None) -> Workload:
        """The workload of these clients, for so long."""
        values = ParetoSize(k=self.value_k, sigma=self.value_sigma) if self.value_sigma else FixedSize(self.value_size)
        return Workload(
            clients.name, (clients,), self.key_size, values, population=self.num,
            preload_keys=round(self.num * self.preload), duration_s=duration_s, shards=self.shards,
            key_order=self.order(),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FullSpeed(MixedWorkload):
    """A closed loop: each thread sends its next operation when the last one returns.

    It ends with `operations` or `duration`, whichever comes first; 600 s where neither is given.
    """

    operations: int | None = quantity("count", None, low=1)
    """Of all threads together."""
    duration: float | None = quantity("seconds", None, low=1e-3)

    def workload(self) -> Workload:
        """The workload."""
        clients = replace(self.clients("full_speed", ClosedLoop()), operations=self.operations)
        return self.make(clients, _DURATION_S if self.duration is self.operations is None else self.duration)


@dataclass(frozen=True, kw_only=True)
class OpenLoopWorkload(MixedWorkload):
    """What all schedules share: arrivals wait in a queue while all threads are busy."""

    duration: float = quantity("seconds", _DURATION_S, low=1e-3)
    queue_per_thread: bool = False
    """Whether each thread has a queue of its own, to which arrivals are dealt out; if not, all take from one."""

    def scheduled(self, name: str, arrivals: Arrivals) -> Workload:
        """The workload with its schedule."""
        return self.make(replace(self.clients(name, arrivals), queue_per_thread=self.queue_per_thread), self.duration)


@dataclass(frozen=True, kw_only=True)
class Constant(OpenLoopWorkload):
    """A steady rate."""

    rate: float = quantity("per_s", 20_000.0)

    def workload(self) -> Workload:
        """The workload."""
        return self.scheduled("constant", ConstantRate(self.rate))


@dataclass(frozen=True, kw_only=True)
class PeaksAndValleys(OpenLoopWorkload):
    """Valleys and peaks of fixed length in turn."""

    valley_rate: float = quantity("per_s", 10_000.0)
    valley: float = quantity("seconds", 10.0)
    peak_rate: float = quantity("per_s", 40_000.0)
    peak: float = quantity("seconds", 10.0)
    quiet: float | None = quantity("seconds", None)
    """Length of the first valley; None: as that of the others."""

    def workload(self) -> Workload:
        """The workload."""
        schedule = PeaksValleys(self.valley_rate, self.valley, self.peak_rate, self.peak, self.quiet)
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
    """Share of the ON periods that are long ones, with the next two instead of on_mean and on_sigma."""
    long_mean: float = quantity("seconds", 200.0, low=1e-3)
    long_sigma: float = quantity("ratio", 0.35, high=4.0)

    def workload(self) -> Workload:
        """The workload."""
        schedule = OnOff(
            self.on_rate, self.on_mean, self.on_sigma, self.off_rate, self.off_mean, self.off_sigma, self.long_share,
            self.long_mean, self.long_sigma,
        )  # fmt: skip
        return self.scheduled("on_off", schedule)


@dataclass(frozen=True, kw_only=True)
class Diurnal(OpenLoopWorkload):
    """A sine between a low and a high rate, from the middle upwards."""

    low_rate: float = quantity("per_s", 5_000.0)
    high_rate: float = quantity("per_s", 30_000.0)
    period: float = quantity("seconds", DAY_S, low=1e-3)
    interval: float = quantity("seconds", 5.0, low=1e-3)
    noise: float = quantity("ratio", 0.0, high=1.0)

    def workload(self) -> Workload:
        """The workload."""
        if self.low_rate > self.high_rate:
            raise InputError(f"low_rate {self.low_rate:g} must not exceed high_rate {self.high_rate:g}")
        middle, swing = (self.high_rate + self.low_rate) / 2, (self.high_rate - self.low_rate) / 2
        return self.scheduled("diurnal", Sine(swing, 2 * math.pi / self.period, 0.0, middle, self.interval, self.noise))


class TraceColumn(Enum):
    """What the second column of a trace means."""

    OPERATIONS = "operations"
    """Operations from this row's time until the next one's."""
    RATE = "rate"
    """Operations per second from this row's time on."""


@dataclass(frozen=True, kw_only=True)
class Trace(OpenLoopWorkload):
    """Arrivals recorded in a CSV file of two columns: seconds (ascending), and operations or a rate.

    A first line that does not begin with a number is a heading. The first row's time is taken as 0. The last row lasts
    as long as the one before it.
    """

    file: str = ""
    column: TraceColumn = TraceColumn.OPERATIONS
    loop: bool = True
    """Start over at the end; otherwise nothing arrives afterwards."""
    scale: float = quantity("ratio", 1.0)
    """Factor on all rates."""

    def workload(self) -> Workload:
        """The workload; reads the file."""
        if not self.file:
            raise InputError("file: the path of a CSV file with the columns seconds, operations is required")
        return self.scheduled("trace", read_trace(Path(self.file), self.column, self.loop, self.scale))


def read_trace(path: Path, column: TraceColumn, loop: bool = False, scale: float = 1.0) -> Recorded:
    """The schedule in a CSV file; see `Trace`. Raises InputError with the file and line of the first bad row."""
    rows: list[tuple[float, float]] = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            for line, row in enumerate(csv.reader(lines), 1):
                if not row or row[0].lstrip().startswith("#") or (not rows and not _is_number(row[0])):
                    continue
                rows.append(_row(row, f"{path}:{line}"))
                if len(rows) > 1 and rows[-1][0] <= rows[-2][0]:
                    raise InputError(f"{path}:{line}: time {rows[-1][0]:g} s does not come after {rows[-2][0]:g} s")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot read the trace ({error})") from None
    if len(rows) < 2:
        raise InputError(f"{path}: a trace needs at least two rows of seconds and {column.value}")
    first = rows[0][0]
    starts = [t - first for t, _ in rows]
    end = 2 * starts[-1] - starts[-2]
    lengths = [b - a for a, b in zip(starts, [*starts[1:], end], strict=True)]
    per = lengths if column is TraceColumn.OPERATIONS else [1.0] * len(rows)
    return Recorded(tuple(starts), tuple(scale * v / s for (_, v), s in zip(rows, per, strict=True)), end, loop)


def _row(row: list[str], where: str) -> tuple[float, float]:
    if len(row) < 2 or not _is_number(row[0]) or not _is_number(row[1]):
        raise InputError(f"{where}: {','.join(row)!r} is not a row of two numbers: seconds, operations")
    if float(row[1]) < 0:
        raise InputError(f"{where}: {row[1]} is negative")
    return float(row[0]), float(row[1])


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False

"""Scheduler of SILK's released code, which differs from the paper in ten points.

See (background/silk_code.md, What it changes against RocksDB).

Source: github.com/theoanab/SILK-USENIXATC2019, a RocksDB 5.7 with bits of TRIAD: DBImpl::MaybeScheduleFlushOrCompaction,
and the monitor in its db_bench that sets the rate limiter. The paper's rules are `lsmlab.models.policies.silk.scheduler`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.rate_limiter import RateLimiter, with_rate
from lsmlab.models.policies.rocksdb.scheduler import slots
from lsmlab.models.policies.scheduling import (
    Action,
    ClientWindow,
    JobKind,
    Pool,
    Scheduler,
    StartCompaction,
    StartFlush,
    StoreView,
)
from lsmlab.models.units import quantity
from lsmlab.models.version import Version

MB = 1e6
"""The monitor counts in whole megabytes per second."""


@dataclass(frozen=True)
class SilkCode(PolicySettings[Scheduler]):
    """`engine/scheduler=silk_code`. Defaults are the constants in the code."""

    total_bandwidth: float = quantity("bytes_per_s", 200e6, low=1.0)
    """Bandwidth of the device; the limit of background writes is this bandwidth less the client traffic."""
    pause_bandwidth: float = quantity("bytes_per_s", 150e6)
    """Client traffic above which the scheduler closes the low pool."""
    least_bandwidth: float = quantity("bytes_per_s", 10e6, low=1.0)
    """Minimum of the limit."""
    hysteresis: float = quantity("bytes_per_s", 10e6)
    """Minimum change of the limit."""
    workers: int = quantity("count", 8, low=1)
    """Number of client threads; the monitor measures one and multiplies by this number."""
    report: float = quantity("seconds", 1.0, low=1e-3)
    """Minimum time between two reports of the measured client thread."""
    report_ops: int = quantity("count", 100, low=1)
    """Operations of that thread between two reads of its clock: a thread in a write stall reports nothing."""
    window: float = quantity("seconds", 0.1, low=1e-3)
    """Interval at which this model applies the rule; the code's loop takes 10 ms, but its input changes only at
    reports."""
    l0_files: int = quantity("count", 4, low=1)
    """Number of L0 files from which compactions run in the flush threads."""
    limiter: bool = True
    """Whether background writes have a limit; without one there is no monitor and no pause."""

    def __post_init__(self) -> None:
        if self.least_bandwidth > self.total_bandwidth:
            raise InputError("scheduler.least_bandwidth: it may not be above scheduler.total_bandwidth")

    def make(self, base: Base) -> SilkCodeScheduler:
        """Build a scheduler in its state at the open of a store."""
        return SilkCodeScheduler(self, base.options, base.version)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Refuse a rate limit in the options: the scheduler sets the rate."""
        if self.limiter and base.options.rate_limiter_bytes_per_sec:
            return (
                "silk_code sets the rate of background writes itself, from engine.scheduler.total_bandwidth; set "
                "engine.options.rate_limiter_bytes_per_sec to 0, or engine.scheduler.limiter to false"
            )
        return None


@dataclass
class SilkCodeScheduler(Scheduler):
    """Implements `scheduling.Scheduler`."""

    settings: SilkCode
    options: RocksDbOptions
    version: Version
    rate_bytes_per_s: float = field(init=False)
    """Limit of background writes."""
    closed: bool = field(default=False, init=False)
    """Whether the low pool starts no more jobs. The pause adds 2 to a counter and the resume subtracts 1, so the pool never
    opens again."""
    draining: bool = field(default=False, init=False)
    """Whether the monitor waits for all compactions to end; it ignores reports meanwhile."""
    queue: list[JobKind] = field(default_factory=list, init=False)
    """Jobs that wait for a thread of the high pool, first in, first out; all compactions count as DEEP before their
    pick."""
    every_window: bool = field(default=True, init=False)
    _ops: float = field(default=0.0, init=False)
    """Operations of all clients since the last report."""
    _since_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.window_s = self.settings.window if self.settings.limiter else 0.0
        self.rate_bytes_per_s = self.settings.total_bandwidth

    def retuned(self, options: RocksDbOptions) -> None:
        """Apply the options to the slots at once."""
        self.options = options

    def most_jobs(self) -> tuple[int, int]:
        """Return the slots of both pools as compactions: they may fill both."""
        flushes, compactions = slots(self.options, speedup=True)
        return flushes, flushes + compactions

    def limiter(self) -> RateLimiter | None:
        """Return RocksDB's limiter, whose rate `observe` sets."""
        return RateLimiter(with_rate(self.options, self.rate_bytes_per_s), self.version) if self.settings.limiter else None

    def observe(self, view: StoreView, clients: ClientWindow) -> float | None:
        """Run the monitor: client traffic is the report of one thread times the number of threads and the value size."""
        if self.draining:
            self.draining = view.compactions > 0 or JobKind.DEEP in self.queue
        used = self._reported(clients)
        if used is None or self.draining:
            return None
        if used > self.settings.pause_bandwidth:
            self.closed = self.draining = True
            return None
        rate = max(self.settings.least_bandwidth, self.settings.total_bandwidth - used)
        if abs(rate - self.rate_bytes_per_s) < self.settings.hysteresis:
            return None
        self.rate_bytes_per_s = rate
        return rate

    def _reported(self, clients: ClientWindow) -> float | None:
        """Client traffic in bytes/s at a report of the measured thread, else None. Reads count as writes; keys do not count."""
        operations = (clients.write_ops_per_s + clients.read_ops_per_s) * (clients.end_s - clients.start_s)
        step = self.settings.report_ops * self.settings.workers
        reads_clock = int((self._ops + operations) / step) > int(self._ops / step)
        self._ops += operations
        if not reads_clock or clients.end_s - self._since_s < self.settings.report * (1.0 - 1e-9):
            return None
        rate = self._ops / (clients.end_s - self._since_s)
        self._ops, self._since_s = 0.0, clients.end_s
        return rate * clients.value_bytes // MB * MB

    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:  # noqa: ARG002
        """Start flushes, then a compaction in the high pool, then one in the low pool (MaybeScheduleFlushOrCompaction).

        A column family is in the queue once, so a compaction that waits for a high thread keeps the low pool empty too.
        Then the code's other conditions for the high pool (fewer than two waiting, or running flushes) are always true.
        """
        flushes, compactions = slots(self.options, speedup=view.speedup)
        actions: list[Action] = []
        low: list[Action] = []
        if view.flush_waiting and JobKind.FLUSH not in self.queue and view.flushes < flushes:
            self.queue.append(JobKind.FLUSH)
        if view.compaction_waiting and JobKind.DEEP not in self.queue:
            if view.l0_files >= self.settings.l0_files:
                self.queue.append(JobKind.DEEP)
            elif not self.closed and view.compactions < compactions:
                low.append(StartCompaction(Pool.LOW))
        threads, _ = slots(self.options, speedup=True)
        free = threads - sum(job.pool is Pool.HIGH for job in view.jobs)
        while free > 0 and self.queue:
            kind = self.queue.pop(0)
            actions.append(StartFlush(Pool.HIGH) if kind is JobKind.FLUSH else StartCompaction(Pool.HIGH))
            free -= 1
        return [*actions, *low]

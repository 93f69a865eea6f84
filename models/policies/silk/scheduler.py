"""SILK's I/O scheduler: background jobs use the bandwidth that clients leave; flushes first, L0 second, deep jobs last.

Balmau et al., SILK: Preventing Latency Spikes in Log-Structured Merge Key-Value Stores, USENIX ATC 2019; the rules S1 to
S8 (behaviour/silk.md, SILK rules). The released code differs in many points and is a policy of its own, `silk_code`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import Scope
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.rate_limiter import Limiter, Priority, RateLimiter, SplitLimiter, with_rate
from lsmlab.models.policies.scheduling import (
    Action,
    ClientWindow,
    Hold,
    JobKind,
    JobState,
    JobView,
    Pause,
    Pool,
    Resume,
    Scheduler,
    StartCompaction,
    StartFlush,
    StoreView,
)
from lsmlab.models.units import quantity
from lsmlab.models.version import Version


@dataclass(frozen=True)
class Silk(PolicySettings[Scheduler]):
    """`engine/scheduler=silk`. Defaults are the paper's, for a device of 200 MB/s."""

    total_bandwidth: float = quantity("bytes_per_s", 200e6, low=1.0)
    """T: bandwidth of clients and background jobs together."""
    least_bandwidth: float = quantity("bytes_per_s", 50e6, low=1.0)
    """I_min: minimum bandwidth of flushes and L0 compactions."""
    slack: float = quantity("bytes_per_s", 5e6)
    """ε: unused bandwidth; the paper gives no value (background/silk.md, Assumptions)."""
    hysteresis: float = quantity("bytes_per_s", 10e6)
    """Minimum change of the limit."""
    window: float = quantity("seconds", 0.01, low=1e-3)
    """Interval between two measurements of the clients."""
    measures: str = "device"
    """C, client bandwidth: "device" counts the clients' traffic on the device, "user" keys and values of all
    operations."""
    high_threads: int = 1
    """Number of flush threads; the rest of max_background_jobs run compactions."""
    bandwidth: bool = True
    """S1, S2: whether background I/O is limited to the bandwidth left by clients, and deep compactions pause at
    I_min."""
    priorities: bool = True
    """S3 to S5: whether flushes and L0 compactions come first, in threads and in the limiter."""
    preemption: bool = True
    """S4, S6: whether an L0 compaction may take the thread and the locks of a deep one."""
    flush_share: float | None = quantity("ratio", None, low=0.01, high=0.99)
    """Fixed share of T for flushes, the rest for compactions; None: SILK's own rule, T less C (S1)."""
    limit_reads: bool = True
    """Whether compaction reads count against I, which is a part of all I/O; RocksDB's limiter counts writes alone by
    default."""
    chunk: int = quantity("bytes", 4 << 20, low=1 << 16)
    """Maximum of bytes that a compaction moves between two points at which it can halt: a grain of the simulation, no
    rule."""

    def __post_init__(self) -> None:
        if self.flush_share is None and self.least_bandwidth > self.total_bandwidth:
            raise InputError("scheduler.least_bandwidth: it may not be above scheduler.total_bandwidth")
        if self.measures not in ("user", "device"):
            raise InputError(f"scheduler.measures: {self.measures!r} is not one of user, device")
        if self.preemption and not self.priorities:
            raise InputError("scheduler.preemption: it needs scheduler.priorities; set both to true or both to false")
        if self.flush_share is not None and not self.bandwidth:
            raise InputError("scheduler.flush_share: it needs scheduler.bandwidth; set that to true or flush_share to null")
        if self.high_threads < 1:
            raise InputError(f"scheduler.high_threads: {self.high_threads} must be at least 1, for flushes")

    def make(self, base: Base) -> SilkScheduler:
        """Build a scheduler in its state at the open of a store."""
        return SilkScheduler(self, base.options, base.version)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Refuse a rate limit in the options: SILK sets the rate."""
        if self.bandwidth and base.options.rate_limiter_bytes_per_sec:
            return (
                "silk sets the rate of background I/O itself, from engine.scheduler.total_bandwidth; set "
                "engine.options.rate_limiter_bytes_per_sec to 0, or engine.scheduler.bandwidth to false"
            )
        return None


@dataclass
class SilkScheduler(Scheduler):
    """Implements `scheduling.Scheduler`."""

    settings: Silk
    options: RocksDbOptions
    version: Version
    paused: bool = field(default=False, init=False)
    """Whether deep compactions pause because clients leave no more than I_min (S2)."""
    rate_bytes_per_s: float = field(init=False)
    """I: current limit of background I/O."""
    low_threads: int = field(init=False)

    def __post_init__(self) -> None:
        settings = self.settings
        self.splits_l0 = settings.priorities
        self.preemptive = settings.preemption or (settings.priorities and settings.bandwidth)
        self.chunk_bytes = settings.chunk
        self.window_s = settings.window if settings.bandwidth and settings.flush_share is None else 0.0
        self.limits_reads = settings.bandwidth and settings.limit_reads
        self.rate_bytes_per_s = max(settings.least_bandwidth, settings.total_bandwidth - settings.slack)
        if settings.flush_share is not None:
            self.rate_bytes_per_s = settings.total_bandwidth
        self.retuned(self.options)

    def retuned(self, options: RocksDbOptions) -> None:
        """Apply max_background_jobs, the number of threads of both pools (S7)."""
        self.options = options
        self.low_threads = max(1, options.max_background_jobs - self.settings.high_threads)

    def most_jobs(self) -> tuple[int, int]:
        """Return the threads of both pools, plus one L0 compaction in the high pool while the low pool is paused."""
        return self.settings.high_threads, self.low_threads + 1

    def limiter(self) -> Limiter | None:
        """Return RocksDB's limiter, whose rate `observe` sets, or two with fixed shares; None without bandwidth limit."""
        if not self.settings.bandwidth:
            return None
        options = with_rate(self.options, self.rate_bytes_per_s)
        if self.settings.flush_share is not None:
            return SplitLimiter(options, self.version, self.settings.flush_share)
        return RateLimiter(options, self.version)

    def priority(self, kind: JobKind, urgent: bool) -> Priority:  # noqa: ARG002 - 5.7 has no priority for stalls
        """Return HIGH for flushes, MID for L0 compactions, LOW for deep ones (S3).

        At I_min an L0 compaction and the flush have equal shares, as two writers of one priority.
        See (behaviour/evaluations.md, Choices where papers are silent).
        """
        if not self.settings.priorities or kind is JobKind.DEEP:
            return Priority.LOW
        return Priority.HIGH if kind is JobKind.FLUSH or self.paused else Priority.MID

    def observe(self, view: StoreView, clients: ClientWindow) -> float | None:  # noqa: ARG002
        """Compute I = T - C - ε with hysteresis (S1), at least I_min; at I_min pause deep compactions (S2)."""
        settings = self.settings
        used = clients.user_bytes_per_s if settings.measures == "user" else clients.device_bytes_per_s
        left = settings.total_bandwidth - used - settings.slack
        self.paused = settings.priorities and left <= settings.least_bandwidth
        rate = max(left, settings.least_bandwidth)
        if abs(rate - self.rate_bytes_per_s) < settings.hysteresis:
            return None
        self.rate_bytes_per_s = rate
        return rate

    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:
        """Start, pause and resume jobs by the rules S2 to S6."""
        actions: list[Action] = []
        if view.flush_waiting and view.flushes < self.settings.high_threads:
            actions.append(StartFlush())
        if not self.settings.priorities:
            if view.compaction_waiting and view.compactions < self.low_threads:
                actions.append(StartCompaction())
            return actions
        deep = [j for j in view.jobs if j.kind is JobKind.DEEP]
        free = self.low_threads - sum(j.pool is Pool.LOW and j.hold is not Hold.PREEMPTED for j in view.jobs)
        l0_runs = any(j.kind is JobKind.L0 for j in view.jobs)
        if view.l0_waiting and not l0_runs:
            start = self._start_l0(deep, free, coin)
            if start is not None:
                actions.append(start)
                free -= start.pool is Pool.LOW and not start.victims
                l0_runs = True
        if self.paused:
            return [*actions, *(Pause(j.job) for j in deep if j.state is JobState.RUNNING)]
        for job in deep:
            if job.hold is Hold.LOAD:
                actions.append(Resume(job.job))
            elif job.hold is Hold.PREEMPTED and not l0_runs and free > 0:
                actions.append(Resume(job.job))
                free -= 1
        if view.compaction_waiting and free > 0:
            actions.append(StartCompaction(scope=Scope.DEEP))
        return actions

    def _start_l0(self, deep: Sequence[JobView], free: int, coin: float) -> StartCompaction | None:
        """Start an L0 compaction in the low pool, instead of a deep one, or in the high pool if the low one is paused (S4)."""
        running = [j.job for j in deep if j.state is JobState.RUNNING]
        first = int(coin * len(running))
        order = (*running[first:], *running[:first])
        stopped = tuple(j.job for j in deep if j.state is not JobState.RUNNING)
        holders = (*order, *stopped) if self.settings.preemption else ()
        if self.paused:
            return StartCompaction(Pool.HIGH, Scope.L0, holders=holders)
        if free > 0:
            return StartCompaction(Pool.LOW, Scope.L0, holders=holders)
        if not self.settings.preemption or not order:
            return None
        return StartCompaction(Pool.LOW, Scope.L0, victims=order[:1], holders=holders[1:])

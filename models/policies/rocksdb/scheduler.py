"""RocksDB's scheduler: slots, pressure rule, rate limiter (behaviour/jobs-and-threads.md, Slots; Rate limiter)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lsmlab.models import since
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RateLimiterMode, RocksDbOptions
from lsmlab.models.policies.rate_limiter import Priority, RateLimiter
from lsmlab.models.policies.scheduling import Action, JobKind, Scheduler, StartCompaction, StartFlush, StoreView
from lsmlab.models.version import Version

_NOTHING: Final[tuple[Action, ...]] = ()
_FLUSH: Final = (StartFlush(),)
_COMPACTION: Final = (StartCompaction(),)
_BOTH: Final = (StartFlush(), StartCompaction())


@dataclass
class RocksDbScheduler(Scheduler):
    """Implements `scheduling.Scheduler` (MaybeScheduleFlushOrCompaction, GetBGJobLimits)."""

    options: RocksDbOptions
    version: Version
    pressure: bool = True
    """Whether compactions run one at a time while there is no compaction pressure."""
    _slots: tuple[tuple[int, int], tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        mode = self.options.rate_limiter_mode
        if mode is RateLimiterMode.READS and self.options.rate_limiter_bytes_per_sec:
            raise InputError(f"engine.options.rate_limiter_mode: {mode.value} is not modelled; choose kWritesOnly or kAllIo")
        self.limits_reads = mode is RateLimiterMode.ALL
        self.retuned(self.options)

    def limiter(self) -> RateLimiter | None:
        """Return the rate limiter of the options; None without one."""
        return RateLimiter(self.options, self.version) if self.options.rate_limiter_bytes_per_sec else None

    def most_jobs(self) -> tuple[int, int]:
        """Return the slots under pressure."""
        return self._slots[True]

    def free_slots(self, view: StoreView) -> int:
        """Return the free compaction slots (AcquireSubcompactionResources)."""
        return max(0, self._slots[view.speedup][1] - view.compactions)

    def priority(self, kind: JobKind, urgent: bool) -> Priority:
        """Return HIGH for flushes and LOW for compactions; in time USER for both during a write stall."""
        return Priority.USER if urgent and self.version >= since.USER_PRIORITY_IN_STALLS else super().priority(kind, urgent)

    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:  # noqa: ARG002
        """Start one flush and one compaction if they wait and a slot is free."""
        flushes, compactions = self._slots[view.speedup]
        flush = view.flush_waiting and view.flushes < flushes
        if view.compaction_waiting and view.compactions < compactions:
            return _BOTH if flush else _COMPACTION
        return _FLUSH if flush else _NOTHING

    def retuned(self, options: RocksDbOptions) -> None:
        """Apply max_background_jobs to the slots at once; running jobs continue."""
        self.options = options
        self._slots = (slots(options, speedup=not self.pressure), slots(options, speedup=True))


def slots(options: RocksDbOptions, *, speedup: bool) -> tuple[int, int]:
    """Return the maximum of (flushes, compactions) at once, DBImpl::GetBGJobLimits.

    `speedup` is `ThrottleState.speedup`: without it one compaction runs at a time, at any setting of the options. With
    `speedup=True` the numbers are also the sizes of the thread pools at open. The two old options at -1 derive both
    numbers from `max_background_jobs`.
    """
    flushes, compactions = options.max_background_flushes, options.max_background_compactions
    if flushes == compactions == -1:
        flushes = max(1, options.max_background_jobs // 4)
        compactions = options.max_background_jobs - flushes
    return max(1, flushes), max(1, compactions) if speedup else 1

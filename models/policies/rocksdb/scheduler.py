"""RocksDB's scheduler: slots, the pressure rule, and the rate limiter of the options.

See (behaviour/jobs-and-threads.md, Slots; Rate limiter).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RateLimiterMode
from lsmlab.models.policies.rate_limiter import Priority, RateLimiter
from lsmlab.models.policies.rocksdb.slots import slots
from lsmlab.models.policies.scheduling import Action, ClientWindow, JobKind, StartCompaction, StartFlush, StoreView
from lsmlab.models.version import Version

if TYPE_CHECKING:
    from lsmlab.models.options.options import RocksDbOptions

_NOTHING: Final[tuple[Action, ...]] = ()
_FLUSH: Final = (StartFlush(),)
_COMPACTION: Final = (StartCompaction(),)
_BOTH: Final = (StartFlush(), StartCompaction())


@dataclass(slots=True)
class RocksDbScheduler:
    """Implements `scheduling.Scheduler` (MaybeScheduleFlushOrCompaction, GetBGJobLimits)."""

    options: RocksDbOptions
    version: Version
    pressure: bool = True
    """Whether compactions run one at a time while there is no compaction pressure."""
    splits_l0: bool = field(default=False, init=False)
    preemptive: bool = field(default=False, init=False)
    chunk_bytes: int = field(default=0, init=False)
    window_s: float = field(default=0.0, init=False)
    every_window: bool = field(default=False, init=False)
    limits_reads: bool = field(init=False)
    _slots: tuple[tuple[int, int], tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        mode = self.options.rate_limiter_mode
        if mode is RateLimiterMode.READS and self.options.rate_limiter_bytes_per_sec:
            raise InputError(f"engine.options.rate_limiter_mode: {mode.value} is not modelled; choose kWritesOnly or kAllIo")
        self.limits_reads = mode is RateLimiterMode.ALL
        self.retuned(self.options)

    def limiter(self) -> RateLimiter | None:
        """Return the rate limiter of the options; None without one."""
        options = self.options
        if options.rate_limiter_bytes_per_sec == 0:
            return None
        return RateLimiter(
            version=self.version,
            rate_bytes_per_s=options.rate_limiter_bytes_per_sec,
            auto_tuned=options.rate_limiter_auto_tuned,
            refill_period_s=options.rate_limiter_refill_period_us / 1e6,
            fairness=options.rate_limiter_fairness,
            buffer_bytes=options.writable_file_max_buffer_size,
        )

    def most_jobs(self) -> tuple[int, int]:
        """Return the slots under pressure."""
        return self._slots[True]

    def priority(self, kind: JobKind, urgent: bool) -> Priority:
        """Return HIGH for flushes and LOW for compactions; USER for both during a write stall."""
        if urgent:
            return Priority.USER
        return Priority.HIGH if kind is JobKind.FLUSH else Priority.LOW

    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:  # noqa: ARG002
        """Start one flush and one compaction if they wait and a slot is free."""
        flushes, compactions = self._slots[view.speedup]
        flush = view.flush_waiting and view.flushes < flushes
        if view.compaction_waiting and view.compactions < compactions:
            return _BOTH if flush else _COMPACTION
        return _FLUSH if flush else _NOTHING

    def observe(self, view: StoreView, clients: ClientWindow) -> float | None:  # noqa: ARG002
        """Return None; never called, because an auto-tuned limiter uses only its own queue."""
        return None

    def retuned(self, options: RocksDbOptions) -> None:
        """Apply max_background_jobs to the slots at once; running jobs continue."""
        self.options = options
        jobs = (options.max_background_jobs, options.max_background_flushes, options.max_background_compactions)
        full = slots(*jobs, speedup=True)
        self._slots = (slots(*jobs, speedup=False) if self.pressure else full, full)

"""ADOC's tuner as the authors released it: driven by the speed of flushes.

See (background/adoc.md, What the released code does).

It differs from the paper in what it looks at: L0's overflow is never detected (the code counts the files of L1), memory's
is "flushes run at less than half of the best speed ever", and a memtable that waits for its flush adds threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.models.options.options import RocksDbOptions
from lsmlab.models.policies.adoc.tuner import Knobs
from lsmlab.models.policies.parts import Base
from lsmlab.models.policies.tuning import Changes, FlushDone, Interval
from lsmlab.models.units import quantity

_MICROS: Final = 1e6
"""Microseconds per second: the code measures flushes in whole bytes per microsecond."""


@dataclass(frozen=True)
class AdocCode(Knobs):
    """`engine/tuner=adoc_code`. Defaults are the code's; the batch grows by what it was when the store was opened."""

    slow_flush: float = quantity("ratio", 0.5, high=1.0)
    """Share of the best flush speed so far below which a flush is slow."""

    def make(self, base: Base) -> AdocCodeTuner:
        """The tuner of a store just opened."""
        return AdocCodeTuner(self, base.options)


@dataclass(slots=True)
class AdocCodeTuner:
    """Implements `tuning.Tuner`. A window without a finished flush does nothing, nor does the first with one."""

    settings: AdocCode
    options: RocksDbOptions
    """As the store was opened."""
    jobs: int = field(init=False)
    """J: threads now."""
    batch_bytes: int = field(init=False)
    """B: batch size now."""
    windows: int = field(default=0, init=False)
    """Windows so far in which a flush finished."""
    best_speed: float = field(default=0.0, init=False)
    """F_max: highest mean flush speed of a window, MB/s; it is never forgotten."""
    unseen: list[FlushDone] = field(default_factory=list, init=False)
    """Flushes of windows that were skipped: the next one that is not counts them."""
    interval_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.jobs, self.batch_bytes = self.options.max_background_jobs, self.options.write_buffer_size
        self.interval_s = self.settings.interval

    def observe(self, interval: Interval) -> Changes:
        """Each knob follows the last of its rules that applies; a change to the same value is made all the same."""
        self.unseen += interval.flushes
        if interval.applying:
            return {}
        speed = mean_speed(self.unseen)
        self.unseen.clear()
        if speed == 0.0:
            return {}
        self.windows += 1
        if self.windows == 1:
            return {}
        self.best_speed = max(self.best_speed, speed)
        slow = speed < self.settings.slow_flush * self.best_speed
        redundancy = self._pending_share(interval) >= 1.0
        changes: dict[str, Any] = {}
        if self.settings.threads:
            changes |= self._tune_threads(interval, slow, redundancy)
        if self.settings.batch:
            changes |= self._tune_batch(interval, slow, redundancy)
        return changes

    def _pending_share(self, interval: Interval) -> float:
        """p: pending bytes by the soft limit."""
        soft = self.options.soft_pending_compaction_bytes_limit
        return interval.pending_bytes / soft if soft > 0 else 0.0

    def _tune_threads(self, interval: Interval, slow: bool, redundancy: bool) -> dict[str, Any]:
        l1_files = interval.files_per_level[1] if len(interval.files_per_level) > 1 else 0
        slowdown = self.options.level0_slowdown_writes_trigger
        jobs = None
        if interval.immutables >= 1:
            jobs = self.jobs + self.settings.step_threads
        if slow:
            jobs = self.jobs // 2
        if redundancy or l1_files >= slowdown > 0:
            jobs = self.jobs + self.settings.step_threads
        if jobs is None:
            return {}
        self.jobs = self.settings.clamped_threads(jobs)
        return {"max_background_jobs": self.jobs}

    def _tune_batch(self, interval: Interval, slow: bool, redundancy: bool) -> dict[str, Any]:
        batch = None
        if slow or interval.immutables > 1:
            batch = self.batch_bytes + self.options.write_buffer_size
        if redundancy:
            batch = self.batch_bytes // 2
        if batch is None:
            return {}
        self.batch_bytes = self.settings.clamped_batch(batch)
        return self.settings.batch_options(self.batch_bytes, self.options)


def mean_speed(flushes: list[FlushDone]) -> float:
    """Mean over flushes of whole bytes per microsecond (MB/s); 0 without flushes, or if all are below 1 MB/s."""
    if not flushes:
        return 0.0
    speeds = [math.floor(f.size_bytes / max(1.0, math.floor(f.duration_s * _MICROS))) for f in flushes]
    return sum(speeds) / len(speeds)

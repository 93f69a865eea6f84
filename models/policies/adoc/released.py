"""ADOC's tuner in the released code, which follows the speed of flushes (background/adoc.md, What the released code does).

The code differs from the paper in its inputs. It never detects an overflow of L0, because it counts the files of L1. Its
memory overflow is a flush speed of less than half of the best so far. A memtable that waits for its flush adds threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.models.policies.adoc.tuner import Knobs, KnobTuner
from lsmlab.models.policies.parts import Base
from lsmlab.models.policies.tuning import Changes, FlushDone, Interval
from lsmlab.models.units import quantity

_MICROS: Final = 1e6
"""Microseconds per second: the code measures flushes in whole bytes per microsecond."""


@dataclass(frozen=True)
class AdocCode(Knobs):
    """`engine/tuner=adoc_code`. Defaults are the code's; the batch size grows in steps of its value at open."""

    slow_flush: float = quantity("ratio", 0.5, high=1.0)
    """Share of the best flush speed so far below which a flush is slow."""

    def make(self, base: Base) -> AdocCodeTuner:
        """Build a tuner in its state at the open of a store."""
        return AdocCodeTuner(self, base.options)


@dataclass(slots=True)
class AdocCodeTuner(KnobTuner):
    """Implements `tuning.Tuner`. Windows without a finished flush, and the first window with one, change no option."""

    settings: AdocCode
    windows: int = field(default=0, init=False)
    """Number of windows with a finished flush."""
    best_speed: float = field(default=0.0, init=False)
    """F_max: highest mean flush speed of a window in MB/s since the open."""
    skipped_flushes: list[FlushDone] = field(default_factory=list, init=False)
    """Flushes of skipped windows; the next evaluated window counts them."""

    def observe(self, interval: Interval) -> Changes:
        """Apply to each knob the last of its rules that matches; changes to the same value count as changes too."""
        self.skipped_flushes += interval.flushes
        if interval.applying:
            return {}
        speed = mean_speed(self.skipped_flushes)
        self.skipped_flushes.clear()
        if speed == 0.0:
            return {}
        self.windows += 1
        if self.windows == 1:
            return {}
        self.best_speed = max(self.best_speed, speed)
        slow = speed < self.settings.slow_flush * self.best_speed
        redundancy = 0 < self.options.soft_pending_compaction_bytes_limit <= interval.pending_bytes
        changes: dict[str, Any] = {}
        if self.settings.threads:
            changes |= self._tune_threads(interval, slow, redundancy)
        if self.settings.batch:
            changes |= self._tune_batch(interval, slow, redundancy)
        return changes

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
    """Mean speed of flushes in whole bytes per microsecond (MB/s); 0 without flushes, or if all are below 1 MB/s."""
    if not flushes:
        return 0.0
    speeds = [math.floor(f.size_bytes / max(1.0, math.floor(f.duration_s * _MICROS))) for f in flushes]
    return sum(speeds) / len(speeds)

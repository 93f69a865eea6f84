"""ADOC's tuner by the rules of the paper: threads and batch size follow the overflows.

Yu et al., ADOC: Automatically Harmonizing Dataflow Between Components in Log-Structured Key-Value Stores for Improved
Performance, USENIX FAST 2023; rules (background/adoc.md, What the paper's tuner does). The released code has other
rules: see `released`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.parts import Base, PolicySettings
from lsmlab.models.policies.tuning import Changes, Interval, Tuner
from lsmlab.models.units import quantity


class OverflowKind(Enum):
    """Kinds of overflow."""

    L0 = "L0O"
    """L0 files from the slowdown trigger on: L0 → L1 cannot keep up with flushes."""
    REDUNDANCY = "RDO"
    """Pending compaction bytes from the soft limit on: deep compactions cannot keep up."""
    MEMORY = "MMO"
    """A memtable became full before the older one was flushed: flushes cannot keep up with writes."""


@dataclass(frozen=True)
class Knobs(PolicySettings[Tuner | None]):
    """Settings common to `adoc` and `adoc_code`: the two knobs, threads and batch size, and their bounds."""

    threads: bool = True
    """Whether ADOC tunes the number of threads (`max_background_jobs`)."""
    batch: bool = True
    """Whether ADOC tunes the batch size (memtable and table files)."""
    scale_l1: bool = True
    """Whether the target of L1, and so that of every level, follows the batch size."""
    interval: float = quantity("seconds", 1.0, low=1e-3)
    """Tuning window."""
    least_threads: int = quantity("count", 2, low=1)
    most_threads: int = quantity("count", 20, low=1)
    step_threads: int = quantity("count", 2, low=1)
    """Threads that an increase adds; a decrease halves."""
    least_batch: int = quantity("bytes", 64 << 20, low=1 << 16)
    most_batch: int = quantity("bytes", 512 << 20, low=1 << 16)

    def __post_init__(self) -> None:
        if not (self.threads or self.batch):
            raise InputError("threads and batch are both false; set one to true, or choose engine/tuner=none")
        if self.least_threads > self.most_threads:
            raise InputError("least_threads may not be above most_threads")
        if self.least_batch > self.most_batch:
            raise InputError("least_batch may not be above most_batch")

    def clamped_threads(self, jobs: int) -> int:
        """Clamp a number of threads to the bounds."""
        return min(max(jobs, self.least_threads), self.most_threads)

    def clamped_batch(self, size_bytes: int) -> int:
        """Clamp a batch size in bytes to the bounds."""
        return min(max(size_bytes, self.least_batch), self.most_batch)

    def batch_options(self, size_bytes: int, options: RocksDbOptions) -> dict[str, Any]:
        """Return the options of a batch size: memtable, table file, and L1 with the memtables that trigger a compaction."""
        changes = {"write_buffer_size": size_bytes, "target_file_size_base": size_bytes}
        if self.scale_l1:
            memtables = options.level0_file_num_compaction_trigger * options.min_write_buffer_number_to_merge
            changes["max_bytes_for_level_base"] = memtables * size_bytes
        return changes


@dataclass(frozen=True)
class Adoc(Knobs):
    """`engine/tuner=adoc`. Defaults are the paper's."""

    step_batch: int = quantity("bytes", 64 << 20, low=1 << 16)
    """Bytes that an increase of the batch size adds; a decrease halves."""

    def make(self, base: Base) -> AdocTuner:
        """Build a tuner in its state at the open of a store."""
        return AdocTuner(self, base.options)


@dataclass(slots=True)
class KnobTuner:
    """State common to both tuners."""

    settings: Knobs
    options: RocksDbOptions
    """Options at the open of the store, for triggers and limits."""
    jobs: int = field(init=False)
    """J: current number of threads."""
    batch_bytes: int = field(init=False)
    """B: current batch size."""
    interval_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.jobs, self.batch_bytes = self.options.max_background_jobs, self.options.write_buffer_size
        self.interval_s = self.settings.interval


@dataclass(slots=True)
class AdocTuner(KnobTuner):
    """Implements `tuning.Tuner`: additive increase or halving, once per window, for the first overflow present."""

    settings: Adoc

    def overflow(self, interval: Interval) -> OverflowKind | None:
        """Return the first overflow present: L0, redundancy, memory, "handled in this order".

        Both limits count as exceeded when they are reached, as in RocksDB, which then delays the writers ("same logic as
        RocksDB"). See (behaviour/evaluations.md, Choices where papers are silent).
        """
        soft = self.options.soft_pending_compaction_bytes_limit
        if 0 <= self.options.level0_slowdown_writes_trigger <= interval.l0_files:
            return OverflowKind.L0
        if 0 < soft <= interval.pending_bytes:
            return OverflowKind.REDUNDANCY
        return OverflowKind.MEMORY if interval.memtables_full else None

    def observe(self, interval: Interval) -> Changes:
        """Add threads for an overflow of L0 or redundancy, remove threads for memory; shrink or grow the batch size."""
        overflow, settings = self.overflow(interval), self.settings
        if overflow is None:
            return {}
        jobs, batch = self.jobs, self.batch_bytes
        if settings.threads:
            jobs = settings.clamped_threads(jobs // 2 if overflow is OverflowKind.MEMORY else jobs + settings.step_threads)
        if settings.batch and overflow is OverflowKind.REDUNDANCY:
            batch = settings.clamped_batch(batch // 2)
        elif settings.batch and overflow is OverflowKind.MEMORY:
            batch = settings.clamped_batch(batch + settings.step_batch)
        changes: dict[str, Any] = {}
        if jobs != self.jobs:
            changes["max_background_jobs"] = self.jobs = jobs
        if batch != self.batch_bytes:
            self.batch_bytes = batch
            changes |= settings.batch_options(batch, self.options)
        return changes

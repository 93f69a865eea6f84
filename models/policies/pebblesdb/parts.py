"""PebblesDB's cutter, write throttle, and compactions driven by seeks: DBImpl (background/pebblesdb.md, What it changes)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import CutContext, Cutter, StallCause, StallInputs, Throttle, ThrottleState
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.pebblesdb.picker import PebblesDb
from lsmlab.models.policies.tuning import Changes, Interval, Tuner
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.units import quantity

_MICROSECOND: Final = 1e-6


@dataclass(frozen=True)
class FixedSize(PolicySettings[Cutter]):
    """`engine/cutter=fixed_size`."""

    def make(self, base: Base) -> FixedSizeCutter:  # noqa: ARG002
        """Build the cutter; the target size comes with each job."""
        return FixedSizeCutter()


@dataclass(frozen=True)
class FixedSizeCutter(Cutter):
    """Implements `decisions.Cutter`: no file of the level below ends an output."""

    def cuts(self, merged: MergedStream, context: CutContext) -> Sequence[int]:
        """Close a file with the entry that brings it to the target size."""
        data, n = merged.cumulative_bytes, len(merged.keys)
        cuts: list[int] = []
        start = 0
        while context.output_level > 0:
            start = max(start + 1, int(data.searchsorted(data[start] + context.target_bytes, side="left")))
            if start >= n:
                break
            cuts.append(start)
        return cuts


@dataclass(frozen=True)
class PebblesThrottling(PolicySettings[Throttle]):
    """`engine/throttle=pebblesdb`: a write waits for a memtable, and sleeps 1 us per L0 file above the slowdown trigger."""

    def make(self, base: Base) -> PebblesThrottle:
        """Build the throttle of the options."""
        return PebblesThrottle(base.options)


@dataclass(frozen=True)
class PebblesThrottle(Throttle):
    """Implements `decisions.Throttle` (SequenceWriteBegin, SequenceWriteEnd).

    The delayed write rate in the state is for other policies and has no effect in this one.
    """

    options: RocksDbOptions

    def initial(self) -> ThrottleState:
        """State at the open of a store."""
        return ThrottleState(None, self.options.delayed_write_rate, 0, pressure=False)

    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:  # noqa: ARG002
        """Compute the state after an install."""
        cause, sleep_s, above = None, 0.0, inputs.l0_files - self.options.level0_slowdown_writes_trigger
        if inputs.immutables >= self.options.max_write_buffer_number:
            cause = StallCause.MEMTABLE_STOP
        elif above > 0:
            cause, sleep_s = StallCause.L0_SLOWDOWN, above * _MICROSECOND
        return ThrottleState(cause, self.options.delayed_write_rate, inputs.pending_bytes, pressure=False, sleep_s=sleep_s)


@dataclass(frozen=True)
class PebblesSeeks(PolicySettings[Tuner | None]):
    """`engine/tuner=pebblesdb_seeks`: empties levels early while clients mostly seek."""

    seeks: int = 10
    """More seeks than this in sequence, without a write between them, start seek-driven compactions
    (kStraightReads)."""
    interval: float = quantity("seconds", 1.0, low=1e-3)
    """Time between two evaluations of the client load."""

    def make(self, base: Base) -> PebblesSeekWatch:  # noqa: ARG002
        """Build a tuner in its state at the open of a store."""
        return PebblesSeekWatch(self, self.interval)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Refuse pickers other than PebblesDB's: only this picker has the setting that the tuner changes."""
        if isinstance(parts.picker, PebblesDb):
            return None
        return "pebblesdb_seeks changes a setting of engine/picker=pebblesdb; choose that picker, or another tuner"


@dataclass
class PebblesSeekWatch:
    """Implements `tuning.Tuner`."""

    settings: PebblesSeeks
    interval_s: float
    driven: bool = field(default=False, init=False)
    """Last value of the picker's setting `seek_driven`."""

    def observe(self, interval: Interval) -> Changes:
        """Set `seek_driven` if seeks and writes in random order have a sequence of more than `seeks` seeks; gets do not count."""
        writes, seeks, longest = interval.write_ops, interval.scan_ops, self.settings.seeks + 1
        rows = writes * (seeks / (writes + seeks)) ** longest if writes else seeks / longest
        before, self.driven = self.driven, rows >= 1
        return {"picker.seek_driven": self.driven} if self.driven != before else {}

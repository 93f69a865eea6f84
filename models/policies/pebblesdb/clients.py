"""PebblesDB's write throttle, and its compactions driven by seeks (DBImpl of the released code).

See (background/pebblesdb.md, What it changes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from lsmlab.models.policies.decisions import StallCause, StallInputs, ThrottleState
from lsmlab.models.policies.parts import Base, Parts
from lsmlab.models.policies.pebblesdb.picker import PebblesDb
from lsmlab.models.policies.tuning import Changes, Interval
from lsmlab.models.units import quantity

_MICROSECOND: Final = 1e-6


@dataclass(frozen=True)
class PebblesThrottling:
    """`engine/throttle=pebblesdb`: a write waits for a memtable, and sleeps 1 us per L0 file above the slowdown trigger."""

    def make(self, base: Base) -> PebblesThrottle:
        """Build the throttle of the options."""
        options = base.options
        return PebblesThrottle(
            options.max_write_buffer_number, options.level0_slowdown_writes_trigger, options.delayed_write_rate
        )


@dataclass(frozen=True)
class PebblesThrottle:
    """Implements `decisions.Throttle` (SequenceWriteBegin, SequenceWriteEnd)."""

    most_memtables: int
    slowdown_files: int
    rate_bytes_per_s: int
    """Delayed write rate in the state, for other policies; no effect in this throttle."""

    def initial(self) -> ThrottleState:
        """State at the open of a store."""
        return ThrottleState(None, self.rate_bytes_per_s, 0, pressure=False)

    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:  # noqa: ARG002
        """Compute the state after an install."""
        cause, sleep_s = None, 0.0
        if inputs.immutables >= self.most_memtables:
            cause = StallCause.MEMTABLE_STOP
        elif inputs.l0_files > self.slowdown_files:
            cause, sleep_s = StallCause.L0_SLOWDOWN, (inputs.l0_files - self.slowdown_files) * _MICROSECOND
        return ThrottleState(cause, self.rate_bytes_per_s, inputs.pending_bytes, pressure=False, sleep_s=sleep_s)


@dataclass(frozen=True)
class PebblesSeeks:
    """`engine/tuner=pebblesdb_seeks`: empties levels early while clients mostly seek."""

    seeks: int = 10
    """More seeks than this in sequence, without a write between them, start seek-driven compactions
    (kStraightReads)."""
    interval: float = quantity("seconds", 1.0, low=1e-3)
    """Time between two evaluations of the client load."""

    def make(self, base: Base) -> PebblesSeekWatch:  # noqa: ARG002
        """Build a tuner in its state at the open of a store."""
        return PebblesSeekWatch(self)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Refuse pickers other than PebblesDB's: only this picker has the setting that the tuner changes."""
        if isinstance(parts.picker, PebblesDb):
            return None
        return "pebblesdb_seeks changes a setting of engine/picker=pebblesdb; choose that picker, or another tuner"


@dataclass
class PebblesSeekWatch:
    """Implements `tuning.Tuner`."""

    settings: PebblesSeeks
    driven: bool = field(default=False, init=False)
    """Last value of the picker's setting `seek_driven`."""

    @property
    def interval_s(self) -> float:
        """Time between two evaluations in s."""
        return self.settings.interval

    def observe(self, interval: Interval) -> Changes:
        """Set `seek_driven` if seeks and writes in random order have a sequence of more than `seeks` seeks; gets do not count."""
        writes, seeks, longest = interval.write_ops, interval.scan_ops, self.settings.seeks + 1
        rows = writes * (seeks / (writes + seeks)) ** longest if writes else seeks / longest
        before, self.driven = self.driven, rows >= 1
        return {"picker.seek_driven": self.driven} if self.driven != before else {}

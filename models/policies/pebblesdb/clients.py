"""What PebblesDB does to its clients, and what they do to it (DBImpl of the released code).

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
        """The throttle of the options."""
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
    """What other policies see as the delayed rate; it has no effect here."""

    def initial(self) -> ThrottleState:
        """State of a store just opened."""
        return ThrottleState(None, self.rate_bytes_per_s, 0, pressure=False)

    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:  # noqa: ARG002
        """State after an install."""
        cause, sleep_s = None, 0.0
        if inputs.immutables >= self.most_memtables:
            cause = StallCause.MEMTABLE_STOP
        elif inputs.l0_files > self.slowdown_files:
            cause, sleep_s = StallCause.L0_SLOWDOWN, (inputs.l0_files - self.slowdown_files) * _MICROSECOND
        return ThrottleState(cause, self.rate_bytes_per_s, inputs.pending_bytes, pressure=False, sleep_s=sleep_s)


@dataclass(frozen=True)
class PebblesSeeks:
    """`engine/tuner=pebblesdb_seeks`: levels are emptied ahead of time while clients mostly seek."""

    seeks: int = 10
    """More seeks than this in a row, without a write between them, make compactions seek-driven (kStraightReads)."""
    interval: float = quantity("seconds", 1.0, low=1e-3)
    """How often the clients are looked at."""

    def make(self, base: Base) -> PebblesSeekWatch:  # noqa: ARG002
        """A tuner that has not seen a seek yet."""
        return PebblesSeekWatch(self)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """It changes a setting that only guards have."""
        if isinstance(parts.picker, PebblesDb):
            return None
        return "seeks make PebblesDB empty its levels ahead of time; choose engine/picker=pebblesdb, or another tuner"


@dataclass
class PebblesSeekWatch:
    """Implements `tuning.Tuner`."""

    settings: PebblesSeeks
    driven: bool = field(default=False, init=False)
    """What the picker was told last."""

    @property
    def interval_s(self) -> float:
        """Time between two looks."""
        return self.settings.interval

    def observe(self, interval: Interval) -> Changes:
        """Whether seeks and writes in random order have a row of more than `seeks` seeks once at least; gets do not count."""
        writes, seeks, longest = interval.write_ops, interval.scan_ops, self.settings.seeks + 1
        rows = writes * (seeks / (writes + seeks)) ** longest if writes else seeks / longest
        before, self.driven = self.driven, rows >= 1
        return {"picker.seek_driven": self.driven} if self.driven != before else {}

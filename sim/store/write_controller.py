"""Stall conditions of a database: one stopped column family stops all writes, one delayed family delays all writes.

Source: `WriteController` in db/write_controller.h, `ColumnFamilyData::RecalculateWriteStallConditions`.
"""

from __future__ import annotations

from lsmlab.models.policies.decisions import StallCause, StallInputs, Throttle
from lsmlab.sim.store.jobs.context import FamilyContext


class WriteController:
    """Tokens of all column families of one database, and the delayed write rate that they share."""

    def __init__(self, rate_bytes_per_s: int) -> None:
        """Start without tokens at the highest delayed write rate."""
        self.rate_bytes_per_s = rate_bytes_per_s
        """Delayed write rate of the database in bytes/s; it keeps its value while no column family delays writes."""
        self.families: list[FamilyContext] = []
        self.stopped_by: StallCause | None = None
        """What stops all writes besides the throttle: a background error, the write buffer manager, or an ingestion. The throttle
        of the default column family then has this cause."""

    def recompute(self, family: FamilyContext, throttle: Throttle, inputs: StallInputs) -> None:
        """Recompute the token of `family` from `inputs` and from the tokens of the other column families."""
        state = family.throttle
        if len(self.families) > 1:
            others = [f.throttle for f in self.families if f is not family]
            state = state._replace(rate_bytes_per_s=self.rate_bytes_per_s)
            inputs = inputs._replace(
                others_delayed=any(t.delayed for t in others), others_stopped=any(t.stopped and t.holds_token for t in others)
            )
        family.throttle = throttle.recompute(state, inputs)
        self.rate_bytes_per_s = family.throttle.rate_bytes_per_s
        if self.stopped_by is not None and family is self.families[0]:
            family.throttle = family.throttle._replace(cause=self.stopped_by, line=None)

    def reset_rate(self, rate_bytes_per_s: int) -> None:
        """Set the delayed write rate of all column families after SetDBOptions (`set_max_delayed_write_rate`)."""
        self.rate_bytes_per_s = rate_bytes_per_s
        for family in self.families:
            family.throttle = family.throttle._replace(rate_bytes_per_s=rate_bytes_per_s)

    @property
    def stopped(self) -> bool:
        """Return whether a column family holds a stop token (`IsStopped`)."""
        return any(f.throttle.stopped for f in self.families)

    @property
    def speedup(self) -> bool:
        """Return whether compactions may run in parallel: a column family holds any token (`NeedSpeedupCompaction`)."""
        return any(f.throttle.speedup for f in self.families)

    @property
    def restricts_writes(self) -> bool:
        """Return whether writers are stopped or delayed."""
        return any(f.throttle.holds_token for f in self.families)

    @property
    def holds_flushes(self) -> bool:
        """Return whether the throttle of a column family lets no flush start (`ThrottleState.hold_flushes`)."""
        return any(f.throttle.hold_flushes for f in self.families)

    @property
    def delay_cause(self) -> StallCause | None:
        """Cause of the delay in the first column family that delays writers; None: no delay."""
        return next((f.throttle.cause for f in self.families if f.throttle.delayed), None)

    @property
    def sleep_s(self) -> float:
        """Fixed sleep of a delayed write in seconds (LevelDB's 1 ms); 0: the sleep follows from the delayed write rate."""
        return max(f.throttle.sleep_s for f in self.families)

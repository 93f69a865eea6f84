"""Stall conditions of a database: stopped if one column family stops, delayed at one rate if one family delays.

Source: `WriteController` in db/write_controller.h, `ColumnFamilyData::RecalculateWriteStallConditions`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from lsmlab.models.policies.decisions import StallCause, StallInputs, Throttle, ThrottleState


class TokenHolder(Protocol):
    """A column family: holds at most one token (stop, delay or compaction pressure)."""

    throttle: ThrottleState


class WriteController:
    """Tokens of all column families of one database, and the delayed write rate that they share."""

    def __init__(self, rate_bytes_per_s: int) -> None:
        """Start without tokens at the highest delayed write rate."""
        self.rate_bytes_per_s = rate_bytes_per_s
        """Delayed write rate of the database; kept while no family delays."""
        self.families: list[TokenHolder] = []

    def recompute(self, family: TokenHolder, throttle: Throttle, inputs: StallInputs) -> None:
        """Give `family` the token that its throttle computes from `inputs` and from the tokens of the other families."""
        state = family.throttle
        if len(self.families) > 1:
            others = [f.throttle for f in self.families if f is not family]
            state = replace(state, rate_bytes_per_s=self.rate_bytes_per_s)
            inputs = replace(
                inputs, others_delayed=any(t.delayed for t in others), others_stopped=any(t.stopped for t in others)
            )
        family.throttle = throttle.recompute(state, inputs)
        self.rate_bytes_per_s = family.throttle.rate_bytes_per_s

    def reset_rate(self, rate_bytes_per_s: int) -> None:
        """Set the delayed write rate (`set_max_delayed_write_rate`: after SetDBOptions)."""
        self.rate_bytes_per_s = rate_bytes_per_s
        for family in self.families:
            family.throttle = replace(family.throttle, rate_bytes_per_s=rate_bytes_per_s)

    @property
    def stopped(self) -> bool:
        """Whether a family holds a stop token (`IsStopped`)."""
        return any(f.throttle.stopped for f in self.families)

    @property
    def delayed(self) -> bool:
        """Whether a family holds a delay token (`NeedsDelay`)."""
        return any(f.throttle.delayed for f in self.families)

    @property
    def speedup(self) -> bool:
        """Whether compactions run in parallel: a family holds any token (`NeedSpeedupCompaction`)."""
        return any(f.throttle.speedup for f in self.families)

    @property
    def restricts_writes(self) -> bool:
        """Whether writers are stopped or delayed."""
        return any(f.throttle.cause is not None for f in self.families)

    @property
    def holds_flushes(self) -> bool:
        """Whether a family's throttle lets no flush start (`ThrottleState.hold_flushes`)."""
        return any(f.throttle.hold_flushes for f in self.families)

    @property
    def delay_cause(self) -> StallCause | None:
        """Cause of the first family that delays writers."""
        return next((f.throttle.cause for f in self.families if f.throttle.delayed), None)

    @property
    def sleep_s(self) -> float:
        """Fixed sleep of delayed writers (LevelDB's 1 ms); 0 where the rate decides. Unit: seconds."""
        return max(f.throttle.sleep_s for f in self.families)

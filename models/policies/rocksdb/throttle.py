"""RocksDB's write throttle: stall conditions and the delayed write rate (behaviour/write-stalls.md, Write stalls).

Source: ColumnFamilyData::RecalculateWriteStallConditions and SetupDelay in db/column_family.cc.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lsmlab.models import since
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import StallCause, StallInputs, Throttle, ThrottleState
from lsmlab.models.version import Version

MIN_RATE: Final = 16 << 10
"""Lowest delayed write rate, bytes/s (kMinWriteRate)."""
SLOWDOWN: Final = 0.8
"""Factor on the rate if the debt rose or stayed (kIncSlowdownRatio)."""
SPEEDUP: Final = 1 / SLOWDOWN
"""Factor on the rate if the debt fell (kDecSlowdownRatio)."""
NEAR_STOP: Final = 0.6
"""Factor on the rate close to a stop (kNearStopSlowdownRatio)."""
RECOVERY: Final = 1.4
"""Factor on the rate at the end of the delay (kDelayRecoverSlowdownRatio)."""
_BOTTOMMOST_DIVISOR: Final = 8
"""Divisor of the bottommost bytes for the pressure threshold (kBottommostSizeDivisor)."""
_SLOWDOWN_DIVISOR: Final = 4
"""Divisor of the soft limit for the pressure threshold (kSlowdownTriggerDivisor)."""


@dataclass(frozen=True, slots=True)
class RocksDbThrottle(Throttle):
    """Implements `decisions.Throttle` for one column family."""

    options: RocksDbOptions
    version: Version

    def initial(self) -> ThrottleState:
        """State at the open of a store: no stall, the highest rate, no previous debt."""
        return ThrottleState(None, self.options.delayed_write_rate, 0, pressure=False)

    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:
        """Compute the state after an install: after every memtable switch, flush, compaction or move, never by a timer."""
        cause = self.cause(inputs)
        rate = state.rate_bytes_per_s
        pressure, line = False, None
        if cause is None:
            pressure, line = self._pressure(inputs)
            if state.delayed or inputs.others_delayed:
                rate = min(self.options.delayed_write_rate, int(rate * RECOVERY))
        elif cause.stops:
            line = self._stop_line(cause, inputs)
        else:
            rate = self._delayed_rate(state, inputs, cause)
            line = self._delay_line(cause, inputs, rate)
        return ThrottleState(cause, rate, inputs.pending_bytes, pressure, line)

    def cause(self, inputs: StallInputs) -> StallCause | None:
        """Return the first stall condition that is true, stops before slowdowns (behaviour/write-stalls.md, Stall conditions)."""
        immutables, compacts = inputs.immutables, not self.options.disable_auto_compactions
        soft, hard = self.options.soft_pending_compaction_bytes_limit, self.options.hard_pending_compaction_bytes_limit
        if immutables >= self.options.max_write_buffer_number:
            return StallCause.MEMTABLE_STOP
        if compacts and inputs.l0_files >= self.options.level0_stop_writes_trigger:
            return StallCause.L0_STOP
        if compacts and 0 < hard <= inputs.pending_bytes:
            return StallCause.PENDING_STOP
        needs_merge = self.version >= since.MEMTABLE_SLOWDOWN_NEEDS_MERGE
        mergeable = not needs_merge or immutables - 1 >= self.options.min_write_buffer_number_to_merge
        if self.options.max_write_buffer_number > 3 and immutables >= self.options.max_write_buffer_number - 1 and mergeable:
            return StallCause.MEMTABLE_SLOWDOWN
        if compacts and 0 <= self.options.level0_slowdown_writes_trigger <= inputs.l0_files:
            return StallCause.L0_SLOWDOWN
        if compacts and 0 < soft <= inputs.pending_bytes:
            return StallCause.PENDING_SLOWDOWN
        return None

    def _delayed_rate(self, state: ThrottleState, inputs: StallInputs, cause: StallCause) -> int:
        """Compute the delayed write rate (SetupDelay). The first delay after no stall or a stop keeps the last rate.

        See (behaviour/write-stalls.md, Delayed write rate).

        SetupDelay applies its penalty after a stop only while writes are delayed. A single column family releases its
        delay at a stop, so this penalty never applies here.
        """
        rate, highest, previous = state.rate_bytes_per_s, self.options.delayed_write_rate, state.previous_pending_bytes
        if self.options.disable_auto_compactions:
            rate = highest
        elif (state.delayed or inputs.others_delayed) and highest > MIN_RATE:
            if state.stopped or inputs.others_stopped or self._near_stop(inputs, cause):
                rate = max(MIN_RATE, int(rate * NEAR_STOP))
            elif 0 < previous <= inputs.pending_bytes:
                rate = max(MIN_RATE, int(rate * SLOWDOWN))
            elif previous > inputs.pending_bytes:
                rate = min(highest, int(rate * SPEEDUP))
        return min(rate, highest)

    def _near_stop(self, inputs: StallInputs, cause: StallCause) -> bool:
        if cause is StallCause.L0_SLOWDOWN:
            return inputs.l0_files >= self.options.level0_stop_writes_trigger - 2
        if cause is StallCause.PENDING_SLOWDOWN:
            soft, hard = self.options.soft_pending_compaction_bytes_limit, self.options.hard_pending_compaction_bytes_limit
            return hard > 0 and inputs.pending_bytes - soft > 3 * (hard - soft) // 4
        return False

    # ---- pressure: parallel compactions before any delay (behaviour/write-stalls.md, Pressure) ----

    def _pressure(self, inputs: StallInputs) -> tuple[bool, str | None]:
        prefix = "Increasing compaction threads because "
        if inputs.l0_files >= self.pressure_l0_files:
            return True, f"{prefix}we have {inputs.l0_files} level-0 files "
        if inputs.pending_bytes >= self.pressure_pending_bytes(inputs.bottommost_bytes):
            if self.options.soft_pending_compaction_bytes_limit == 0:
                return True, None
            return True, f"{prefix}of estimated pending compaction bytes {inputs.pending_bytes}"
        return False, None

    @property
    def pressure_l0_files(self) -> int:
        """Number of L0 files from which compactions run in parallel (GetL0FileCountForCompactionSpeedup)."""
        trigger, slowdown = self.options.level0_file_num_compaction_trigger, self.options.level0_slowdown_writes_trigger
        return min(2 * trigger, trigger + (slowdown - trigger) // 4)

    def pressure_pending_bytes(self, bottommost_bytes: int) -> int:
        """Debt in bytes from which compactions run in parallel (GetPendingCompactionBytesForCompactionSpeedup)."""
        quarter = self.options.soft_pending_compaction_bytes_limit // _SLOWDOWN_DIVISOR
        if self.version < since.PRESSURE_BY_BOTTOMMOST or bottommost_bytes == 0:
            return quarter
        if self.version < since.PRESSURE_AT_AN_EIGHTH:
            return min(bottommost_bytes * _BOTTOMMOST_DIVISOR, quarter)  # by mistake (kBottommostSizeMultiplier)
        least = 2 * self.options.max_bytes_for_level_base if self.version >= since.PRESSURE_FLOOR else 0
        return min(max(bottommost_bytes // _BOTTOMMOST_DIVISOR, least), quarter)

    # ---- LOG lines (behaviour/log-and-statistics.md, Stall lines) ----

    def _memtables(self, inputs: StallInputs) -> str:
        return (
            f"we have {inputs.immutables} immutable memtables (waiting for flush), "
            f"max_write_buffer_number is set to {self.options.max_write_buffer_number}"
        )

    def _stop_line(self, cause: StallCause, inputs: StallInputs) -> str:
        if cause is StallCause.MEMTABLE_STOP:
            return f"Stopping writes because {self._memtables(inputs)}"
        if cause is StallCause.L0_STOP:
            return f"Stopping writes because we have {inputs.l0_files} level-0 files"
        return f"Stopping writes because of estimated pending compaction bytes {inputs.pending_bytes}"

    def _delay_line(self, cause: StallCause, inputs: StallInputs, rate: int) -> str:
        if cause is StallCause.MEMTABLE_SLOWDOWN:
            return f"Stalling writes because {self._memtables(inputs)} rate {rate}"
        if cause is StallCause.L0_SLOWDOWN:
            return f"Stalling writes because we have {inputs.l0_files} level-0 files rate {rate}"
        return f"Stalling writes because of estimated pending compaction bytes {inputs.pending_bytes} rate {rate}"

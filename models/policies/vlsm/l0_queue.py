"""An L0 of limited length: a full queue holds flushes, and only memtables stop writers, vLSM.

See (behaviour/vlsm.md, vLSM flush and L0).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lsmlab.models.options.options import CompactionStyle
from lsmlab.models.policies.decisions import StallInputs, ThrottleState
from lsmlab.models.policies.parts import Base, Parts
from lsmlab.models.policies.rocksdb.parts import RocksDbThrottling
from lsmlab.models.policies.rocksdb.throttle import RocksDbThrottle

_NEVER: Final = 1 << 30
"""More files than L0 ever has: RocksDB's own L0 limits are off."""


@dataclass(frozen=True)
class L0Queue:
    """`engine/throttle=l0_queue`. The queue's length Q0 is `level0_stop_writes_trigger`."""

    def make(self, base: Base) -> L0QueueThrottle:
        """RocksDB's throttle with held flushes in the place of its L0 limits."""
        rocksdb = RocksDbThrottling().make(base)
        unlimited = replace(rocksdb, level0_slowdown_writes_trigger=_NEVER, level0_stop_writes_trigger=_NEVER)
        return L0QueueThrottle(base.options.level0_stop_writes_trigger, rocksdb.pressure_l0_files, unlimited)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Something has to empty the queue."""
        if base.options.compaction_style is not CompactionStyle.LEVEL:
            return (
                f"flushes that wait for L0 would wait for ever: {base.options.compaction_style.value} does not empty it"
            )
        return None


@dataclass(frozen=True, slots=True)
class L0QueueThrottle:
    """Implements `decisions.Throttle`."""

    length: int
    """Q0: files in L0 from which no flush may start."""
    pressure_l0_files: int
    """Files in L0 from which compactions run in parallel, by RocksDB's formula over the limits as they are set."""
    rocksdb: RocksDbThrottle
    """Memtables and pending bytes as in RocksDB."""
    flushes_one_memtable: bool = True
    """Files of the queue have one size, S_M, also where two memtables have waited for room (R2)."""

    def initial(self) -> ThrottleState:
        """State of a store just opened."""
        return self.rocksdb.initial()

    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:
        """New state after an install."""
        after = self.rocksdb.recompute(state, inputs)
        pressure = after.pressure or (after.cause is None and inputs.l0_files >= self.pressure_l0_files)
        return replace(after, pressure=pressure, hold_flushes=inputs.l0_files >= self.length)

"""vLSM's throttle: a full L0 queue holds flushes, only full memtables stop writes (behaviour/vlsm.md, vLSM flush and L0)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import StallInputs, Throttle, ThrottleState
from lsmlab.models.policies.parts import Base, PolicySettings
from lsmlab.models.policies.rocksdb.throttle import RocksDbThrottle

_NEVER: Final = 1 << 30
"""More files than L0 ever has: switches RocksDB's L0 triggers off."""


@dataclass(frozen=True)
class L0Queue(PolicySettings[Throttle]):
    """`engine/throttle=l0_queue`. The queue's length Q0 is `level0_stop_writes_trigger`."""

    levels_only: ClassVar[str] = (
        "l0_queue holds flushes until compactions empty L0, which {style} does not do; choose engine/throttle=rocksdb"
    )

    def make(self, base: Base) -> L0QueueThrottle:
        """Build RocksDB's throttle with held flushes in place of its L0 triggers."""
        unlimited = replace(base.options, level0_slowdown_writes_trigger=_NEVER, level0_stop_writes_trigger=_NEVER)
        l0_files = RocksDbThrottle(base.options, base.version).pressure_l0_files
        return L0QueueThrottle(base.options, l0_files, RocksDbThrottle(unlimited, base.version))


@dataclass(frozen=True, slots=True)
class L0QueueThrottle(Throttle):
    """Implements `decisions.Throttle`."""

    flushes_one_memtable: ClassVar[bool] = True
    """All files of the queue have the size S_M, even if several memtables have waited for room (R2)."""
    options: RocksDbOptions
    pressure_l0_files: int
    """Number of L0 files from which compactions run in parallel, by RocksDB's formula over the triggers of the
    options."""
    rocksdb: RocksDbThrottle
    """RocksDB's rules for memtables and pending bytes."""

    def initial(self) -> ThrottleState:
        """State at the open of a store."""
        return self.rocksdb.initial()

    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:
        """Compute the state after an install."""
        after = self.rocksdb.recompute(state, inputs)
        pressure = after.pressure or (after.cause is None and inputs.l0_files >= self.pressure_l0_files)
        return after._replace(pressure=pressure, hold_flushes=inputs.l0_files >= self.options.level0_stop_writes_trigger)

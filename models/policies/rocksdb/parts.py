"""Settings of RocksDB's policies, which build the policies from the options."""

from __future__ import annotations

from dataclasses import dataclass

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import CompactionStyle, RocksDbOptions
from lsmlab.models.policies.decisions import Cutter, FilterPolicy, Picker, Throttle
from lsmlab.models.policies.parts import Base, PolicySettings
from lsmlab.models.policies.rocksdb.cutter import RocksDbCutter
from lsmlab.models.policies.rocksdb.fifo import FifoPicker
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.scheduler import RocksDbScheduler
from lsmlab.models.policies.rocksdb.throttle import RocksDbThrottle
from lsmlab.models.policies.rocksdb.universal import UniversalPicker
from lsmlab.models.policies.scheduling import Scheduler
from lsmlab.models.policies.tuning import Tuner


@dataclass(frozen=True)
class RocksDbPicker(PolicySettings[Picker]):
    """`engine/picker=rocksdb`: the picker of `compaction_style`."""

    def make(self, base: Base) -> Picker:
        """Build the levelled, universal or FIFO picker."""
        match base.options.compaction_style:
            case CompactionStyle.LEVEL:
                return LeveledPicker(base.options, base.version)
            case CompactionStyle.UNIVERSAL:
                return UniversalPicker(base.options, base.version)
            case CompactionStyle.FIFO:
                return FifoPicker(base.options, base.version)
            case style:
                raise InputError(f"engine.options.compaction_style: {style.value} has no picker")


@dataclass(frozen=True)
class RocksDbCutting(PolicySettings[Cutter]):
    """`engine/cutter=rocksdb`: fixed size, with the alignment of the release."""

    def make(self, base: Base) -> RocksDbCutter:
        """Build the cutter of the version."""
        return RocksDbCutter(base.options, base.version)


@dataclass(frozen=True)
class RocksDbThrottling(PolicySettings[Throttle]):
    """`engine/throttle=rocksdb`: the stall conditions of the release."""

    def make(self, base: Base) -> RocksDbThrottle:
        """Build the throttle of the options."""
        return RocksDbThrottle(base.options, base.version)


@dataclass(frozen=True)
class RocksDbScheduling(PolicySettings[Scheduler]):
    """`engine/scheduler=rocksdb`: slots from max_background_jobs, and the rate limiter of the options."""

    pressure: bool = True
    """Whether compactions run in parallel only under pressure; false: always (behaviour/jobs-and-threads.md, Pressure rule)."""

    def make(self, base: Base) -> RocksDbScheduler:
        """Build the scheduler of the options."""
        return RocksDbScheduler(base.options, base.version, self.pressure)


@dataclass(frozen=True)
class RocksDbFilter(PolicySettings[FilterPolicy]):
    """`engine/filter=rocksdb`: the option bloom_bits on all levels."""

    def make(self, base: Base) -> FilterPolicy:
        """Build the filter policy of the options."""
        return EqualBits(base.options)


@dataclass(frozen=True)
class EqualBits(FilterPolicy):
    """Implements `decisions.FilterPolicy`."""

    options: RocksDbOptions

    def bits_per_key(self, level: int, num_levels: int) -> float:  # noqa: ARG002
        """Return bloom_bits."""
        return self.options.bloom_bits


@dataclass(frozen=True)
class NoTuner(PolicySettings[Tuner | None]):
    """`engine/tuner=none`: options keep their values from the open."""

    def make(self, base: Base) -> None:  # noqa: ARG002
        """Return None: no tuner."""
        return

"""Settings of RocksDB's five policies, which build the policies from the options."""

from __future__ import annotations

from dataclasses import dataclass

from lsmlab.models.options.options import CompactionStyle, RocksDbOptions
from lsmlab.models.policies.decisions import Picker
from lsmlab.models.policies.parts import Base
from lsmlab.models.policies.rocksdb.compression import CompressionByLevel
from lsmlab.models.policies.rocksdb.cutter import RocksDbCutter
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.levels import LevelRules
from lsmlab.models.policies.rocksdb.scheduler import RocksDbScheduler
from lsmlab.models.policies.rocksdb.throttle import RocksDbThrottle
from lsmlab.models.policies.rocksdb.tiered import tiered_picker
from lsmlab.models.version import Version


@dataclass(frozen=True)
class RocksDbPicker:
    """`engine/picker=rocksdb`: the picker of `compaction_style`."""

    def make(self, base: Base) -> Picker:
        """Build the levelled, universal or FIFO picker."""
        if base.options.compaction_style is CompactionStyle.LEVEL:
            return leveled_picker(base)
        return tiered_picker(base.options, base.version)


@dataclass(frozen=True)
class RocksDbCutting:
    """`engine/cutter=rocksdb`: fixed size, with the alignment of the release."""

    def make(self, base: Base) -> RocksDbCutter:
        """Build the cutter of the version."""
        levelled = base.options.compaction_style is CompactionStyle.LEVEL
        return RocksDbCutter(base.version, base.options.level_compaction_dynamic_file_size, levelled)


@dataclass(frozen=True)
class RocksDbThrottling:
    """`engine/throttle=rocksdb`: the stall conditions of the release."""

    def make(self, base: Base) -> RocksDbThrottle:
        """Build the throttle of the options."""
        options = base.options
        return RocksDbThrottle(
            version=base.version,
            max_write_buffer_number=options.max_write_buffer_number,
            min_write_buffer_number_to_merge=options.min_write_buffer_number_to_merge,
            level0_file_num_compaction_trigger=options.level0_file_num_compaction_trigger,
            level0_slowdown_writes_trigger=options.level0_slowdown_writes_trigger,
            level0_stop_writes_trigger=options.level0_stop_writes_trigger,
            soft_pending_compaction_bytes_limit=options.soft_pending_compaction_bytes_limit,
            hard_pending_compaction_bytes_limit=options.hard_pending_compaction_bytes_limit,
            delayed_write_rate=options.delayed_write_rate,
            max_bytes_for_level_base=options.max_bytes_for_level_base,
            disable_auto_compactions=options.disable_auto_compactions,
        )


@dataclass(frozen=True)
class RocksDbScheduling:
    """`engine/scheduler=rocksdb`: slots from max_background_jobs, and the rate limiter of the options."""

    pressure: bool = True
    """Whether compactions run in parallel only under pressure; false: always all slots.

    See (behaviour/jobs-and-threads.md, Pressure rule).
    """

    def make(self, base: Base) -> RocksDbScheduler:
        """Build the scheduler of the options."""
        return RocksDbScheduler(base.options, base.version, self.pressure)


@dataclass(frozen=True)
class NoTuner:
    """`engine/tuner=none`: options keep their values from the open."""

    def make(self, base: Base) -> None:  # noqa: ARG002
        """Return None: no tuner."""
        return


def compression_by_level(options: RocksDbOptions) -> CompressionByLevel:
    """Build the rules of compression types by level."""
    return CompressionByLevel(options.compression, options.compression_per_level, options.bottommost_compression)


def level_rules(options: RocksDbOptions, version: Version) -> LevelRules:
    """Build the rules of levelled compaction for targets, scores and debt."""
    return LevelRules(
        version=version,
        max_bytes_for_level_base=options.max_bytes_for_level_base,
        max_bytes_for_level_multiplier=options.max_bytes_for_level_multiplier,
        max_bytes_for_level_multiplier_additional=options.max_bytes_for_level_multiplier_additional,
        level_compaction_dynamic_level_bytes=options.level_compaction_dynamic_level_bytes,
        num_levels=options.num_levels,
        level0_file_num_compaction_trigger=options.level0_file_num_compaction_trigger,
        target_file_size_base=options.target_file_size_base,
        target_file_size_multiplier=options.target_file_size_multiplier,
    )


def leveled_picker(base: Base) -> LeveledPicker:
    """Build RocksDB's levelled picker, which other engines use for their deeper levels."""
    options = base.options
    return LeveledPicker(
        level_rules(options, base.version),
        max_compaction_bytes=options.max_compaction_bytes,
        compaction_pri=options.compaction_pri,
        ignore_max_compaction_bytes_for_input=options.ignore_max_compaction_bytes_for_input,
        compression=compression_by_level(options),
        universal_allow_trivial_move=options.compaction_options_universal.allow_trivial_move,
        disable_auto_compactions=options.disable_auto_compactions,
    )

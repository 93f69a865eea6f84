"""RocksDB: levelled, universal or FIFO compaction under its own stall ladder and job slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.models.engines.options import CompactionStyle, Compression, RocksDbOptions, resolve_options
from lsmlab.models.engines.parts import tiered_picker
from lsmlab.models.errors import InputError
from lsmlab.models.host import Host
from lsmlab.models.policies.decisions import Cutter, Merge, Picker, Throttle
from lsmlab.models.policies.rocksdb_cutter import RocksDbCutter, subcompaction_cuts
from lsmlab.models.policies.rocksdb_leveled import LeveledPicker
from lsmlab.models.policies.rocksdb_levels import LevelRules
from lsmlab.models.policies.rocksdb_priority import CompactionPri
from lsmlab.models.policies.rocksdb_slots import slots
from lsmlab.models.policies.rocksdb_throttle import RocksDbThrottle
from lsmlab.models.tree.blocks import BlockFormat
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity
from lsmlab.models.version import Version

NO_COMPRESSION_NOTE: Final = (
    "compression: none, because none was asked for; RocksDB's own default depends on what it was built with and its "
    "gain on the data. Set engine.options.compression and engine.compression_ratio"
)


@dataclass(frozen=True)
class RocksDbSettings:
    """The `engine` group of a configuration."""

    version: str = "8.11"
    """Release whose rules and defaults apply."""
    preset: str = "library"
    """Whose defaults options have: "library", or "db_bench" for those of its flags."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """RocksDB options by their own names; None keeps the default."""
    compression_ratio: float = quantity("ratio", 0.5, low=0.01, high=1.0)
    """Compressed by uncompressed bytes of a data block, where a compression is set (db_bench --compression_ratio)."""
    name: str = "rocksdb"


class RocksDb:
    """RocksDB as a combination of policies; implements `lsmlab.models.engines.engine.Engine`."""

    Settings = RocksDbSettings

    def __init__(self, settings: RocksDbSettings) -> None:
        self.name = settings.name
        self.version = Version.parse(settings.version)
        asked = {name: value for name, value in settings.options.items() if value is not None}
        notes: list[str] = []
        if not {"compression", "compression_per_level", "bottommost_compression"} & asked.keys():
            asked["compression"] = "none"
            notes.append(NO_COMPRESSION_NOTE)
        resolved = resolve_options(self.version, _preset(settings.preset), asked)
        self.options: RocksDbOptions = resolved.options
        self.notes: Sequence[str] = [*resolved.notes, *notes]
        self.rules = _level_rules(self.options, self.version)
        self.picker: Picker = _picker(self.options, self.version, self.rules)
        self.throttle: Throttle = _throttle(self.options, self.version)
        self.cutter: Cutter = RocksDbCutter(self.version, self.options.level_compaction_dynamic_file_size)
        self.compressed = self.options.compression not in (Compression.NONE, Compression.DISABLED)
        self.compression_ratio = settings.compression_ratio if self.compressed else 1.0
        self.block_format = BlockFormat(
            self.options.block_size, self.options.block_size_deviation, self.options.block_restart_interval
        )
        self._levelled = self.options.compaction_style is CompactionStyle.LEVEL
        self._slots = {
            speedup: slots(
                self.options.max_background_jobs, self.options.max_background_flushes,
                self.options.max_background_compactions, speedup=speedup,
            )
            for speedup in (False, True)
        }  # fmt: skip

    @property
    def smallest_file_bytes(self) -> int:
        """Size of the smallest full file of any level."""
        return self.options.target_file_size_base

    def slots(self, speedup: bool) -> tuple[int, int]:
        """(flush slots, compaction slots) now (GetBGJobLimits)."""
        return self._slots[speedup]

    def target_file_bytes(self, tree: Tree, output_level: int) -> int:
        """Target file size of a level."""
        if isinstance(self.picker, LeveledPicker):
            return self.picker.target_file_size(tree, output_level)
        return self.rules.target_file_size(output_level, 0)

    def grandparent_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:
        """First level below the output that overlaps the job; up to 5.7 exactly the next one (§6.3)."""
        if not self._levelled:
            return None
        levels = range(output_level + 1, tree.num_levels)
        for level in levels[:1] if self.version <= (5, 7) else levels:
            first, last = tree.levels[level].overlapping(lo, hi)
            if last > first:
                return level
        return None

    def subcompaction_bounds(self, tree: Tree, pick: Merge, keys: KeyArray) -> Sequence[int]:
        """Positions at which a job is split into parallel parts (§6.1)."""
        most = self.options.max_subcompactions
        if most <= 1 or pick.output_level == 0 or (self._levelled and pick.start_level != 0) or len(keys) < 2:
            return ()
        return subcompaction_cuts(
            pick.inputs, keys, most, self.target_file_bytes(tree, pick.output_level), self.version
        )

    def bottommost_bytes(self, tree: Tree, pending_bytes: int) -> int:
        """Bytes with nothing below them: the pressure threshold compares an eighth of them with the debt (8.10+, §3.4).

        All of the deepest level is such; where that alone decides the comparison, or the debt is over a quarter of the
        soft limit, which decides it too, nothing else is looked at.
        """
        if self.version < (8, 10) or not isinstance(self.picker, LeveledPicker):
            return 0
        deepest = tree.size_bytes(tree.last_nonempty_level())
        if 8 * pending_bytes < deepest or 4 * pending_bytes >= self.options.soft_pending_compaction_bytes_limit > 0:
            return deepest
        return self.picker.bottommost_bytes(tree)

    def compression_cpu_s(self, host: Host, written_raw_bytes: float, read_raw_bytes: float) -> float:
        """Core time to compress what is written and decompress what is read."""
        if not self.compressed:
            return 0.0
        return written_raw_bytes * host.compress_byte + read_raw_bytes * host.decompress_byte


def _preset(name: str) -> Any:
    if name not in ("library", "db_bench"):
        raise InputError(f"engine.preset: {name!r} is not one of library, db_bench")
    return name


def _level_rules(options: RocksDbOptions, version: Version) -> LevelRules:
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


def _picker(options: RocksDbOptions, version: Version, rules: LevelRules) -> Picker:
    if options.compaction_style is CompactionStyle.LEVEL:
        return LeveledPicker(
            rules,
            max_compaction_bytes=options.max_compaction_bytes,
            compaction_pri=CompactionPri(options.compaction_pri.value),
            ignore_max_compaction_bytes_for_input=options.ignore_max_compaction_bytes_for_input,
            compression=options.compression.value,
            compression_per_level=tuple(c.value for c in options.compression_per_level),
            disable_auto_compactions=options.disable_auto_compactions,
        )
    return tiered_picker(options, version)


def _throttle(options: RocksDbOptions, version: Version) -> Throttle:
    return RocksDbThrottle(
        version=version,
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

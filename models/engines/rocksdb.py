"""RocksDB, and any engine that differs from it in one or more of the five policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lsmlab.models.engines.codecs import CODECS
from lsmlab.models.engines.table_reads import TableReads, table_cache_size
from lsmlab.models.errors import InputError
from lsmlab.models.options.options import CompactionStyle, Compression, RocksDbOptions, resolve_options
from lsmlab.models.policies.decisions import Compaction, Cutter, InspectsKeys, Picker, SizesFiles, Throttle
from lsmlab.models.policies.flush_rules import hot_keys, values_in_wal
from lsmlab.models.policies.optional import FlushesSingly, PlacesFlushes
from lsmlab.models.policies.parts import Base, Parts
from lsmlab.models.policies.rocksdb.compression import CompressionByLevel
from lsmlab.models.policies.rocksdb.cutter import subcompaction_cuts
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.parts import (
    NoTuner,
    RocksDbCutting,
    RocksDbPicker,
    RocksDbScheduling,
    RocksDbThrottling,
    compression_by_level,
    level_rules,
)
from lsmlab.models.policies.rocksdb.universal import UniversalPicker
from lsmlab.models.policies.scheduling import Scheduler
from lsmlab.models.policies.tuning import Changes, Tuner
from lsmlab.models.tree.blocks import BlockFormat
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.memtable import mean_node_bytes, memtable_capacity
from lsmlab.models.tree.table_format import Filter, TableFormat
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity
from lsmlab.models.version import Version

KEEPS_OPTIONS_SINCE: Final = Version(9, 11)
"""Before, a flush or compaction installed its version with the options at its start, which undid a SetOptions during the
job until the next install (RocksDB pull request 13294, January 2025)."""
NO_COMPRESSION_NOTE: Final = (
    "compression: none, because the configuration does not set it. RocksDB's default depends on the libraries that "
    "it was built with, and the ratio on the data; set engine.options.compression and engine.compression_ratio"
)


@dataclass(frozen=True)
class RocksDbSettings:
    """The `engine` group of a configuration."""

    version: str = "8.11"
    """Release whose rules and defaults apply."""
    preset: str = "library"
    """Source of the defaults of options: "library", or "db_bench" for the defaults of its flags."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """RocksDB options by RocksDB's names; None keeps the default."""
    compression_ratio: float = quantity("ratio", 0.5, low=0.01, high=1.0)
    """Compressed bytes over uncompressed bytes of a data block, if a compression is set (db_bench
    --compression_ratio)."""
    name: str = "rocksdb"
    picker: Any = field(default_factory=RocksDbPicker)
    cutter: Any = field(default_factory=RocksDbCutting)
    throttle: Any = field(default_factory=RocksDbThrottling)
    scheduler: Any = field(default_factory=RocksDbScheduling)
    tuner: Any = field(default_factory=NoTuner)
    """Settings objects of the five policies (`lsmlab.models.policies.parts.make_part`)."""


class RocksDb:
    """RocksDB as a combination of policies; implements `lsmlab.models.engines.engine.Engine`."""

    Settings = RocksDbSettings
    flushes_one_memtable = False
    flush_keeps_versions = False
    table_filter = Filter.FAST_LOCAL
    mapped_tables: float | None = None
    """None: the engine's iterators read ahead (`TableReads`)."""

    def __init__(self, settings: RocksDbSettings) -> None:
        self.name = settings.name
        self.version = Version.parse(settings.version)
        overrides = {name: value for name, value in settings.options.items() if value is not None}
        notes: list[str] = []
        if not {"compression", "compression_per_level", "bottommost_compression"} & overrides.keys():
            overrides["compression"] = "none"
            notes.append(NO_COMPRESSION_NOTE)
        resolved = resolve_options(self.version, _preset(settings.preset), overrides)
        self.options: RocksDbOptions = resolved.options
        self.notes: Sequence[str] = [*resolved.notes, *notes]
        self.parts = Parts(
            settings.picker, settings.cutter, settings.throttle, settings.scheduler, settings.tuner
        )
        compression = compression_by_level(self.options)
        self.compression_ratio = settings.compression_ratio if compression.compresses else 1.0
        self.table_format = _table_format(self.options, self.table_filter, self.compression_ratio, compression)
        self.table_reads = TableReads(
            table_cache_size(self.options.max_open_files), self.table_filter, self.mapped_tables
        )
        self.reverts_options = self.version < KEEPS_OPTIONS_SINCE
        self._levelled = self.options.compaction_style is CompactionStyle.LEVEL
        self.parts.check(self._base)
        self._assemble()

    def _assemble(self) -> None:
        """Make the policies and everything else that depends on options that may change."""
        base = self._base
        self.rules = level_rules(self.options, self.version)
        self._compression = compression_by_level(self.options)
        self.picker: Picker = self.parts.picker.make(base)
        self.cutter: Cutter = self.parts.cutter.make(base)
        self.throttle: Throttle = self.parts.throttle.make(base)
        # test the policies' optional protocols once: isinstance on a protocol takes as long as a pick
        picker, cutter = self.picker, self.cutter
        self._places_flushes = picker if isinstance(picker, PlacesFlushes) else None
        self._sizes_files = picker if isinstance(picker, SizesFiles) else None
        self._inspects_keys = cutter if isinstance(cutter, InspectsKeys) else None
        self.hot_keys = hot_keys(picker)
        self.values_in_wal = values_in_wal(picker)
        if isinstance(self.throttle, FlushesSingly):
            self.flushes_one_memtable = self.throttle.flushes_one_memtable

    @property
    def _base(self) -> Base:
        return Base(self.options, self.version)

    def scheduler(self) -> Scheduler:
        """Return a scheduler in its state at the open of a store."""
        return self.parts.scheduler.make(self._base)

    def tuner(self) -> Tuner | None:
        """Return a tuner in its state at the open of a store; None if options never change."""
        return self.parts.tuner.make(self._base)

    def retuned(self, changes: Changes) -> RocksDb:
        """Return the same engine with changed options; values derived at open stay, as with SetOptions."""
        engine = copy(self)
        options = {name: value for name, value in changes.items() if "." not in name}
        engine.options = replace(self.options, **options)
        engine.parts = self.parts.changed(changes)
        engine.reverts_options = self.reverts_options and len(options) == len(changes)  # policies are not RocksDB's
        engine._assemble()
        return engine

    def setting(self, name: str) -> Any:
        """Return the value of an option or of a policy's setting (`picker.threshold`)."""
        group, dot, key = name.partition(".")
        return getattr(getattr(self.parts, group), key) if dot else getattr(self.options, name)

    def new_tree(self) -> Tree:
        """Return an empty tree."""
        return Tree(num_levels=self.options.num_levels)

    def memtable_entries(self, key_bytes: int, value_bytes: int, delete_share: float) -> float:
        """Writes that fill a memtable (behaviour/write-path.md, Bytes of a put; When a memtable is full)."""
        options = self.options
        capacity = memtable_capacity(
            options.write_buffer_size, version=self.version, arena_block_size=options.arena_block_size
        )
        node = (1.0 - delete_share) * mean_node_bytes(key_bytes, value_bytes, version=self.version)
        node += delete_share * mean_node_bytes(key_bytes, 0, version=self.version)
        return max(1.0, capacity / node)

    def flush_level(self, tree: Tree, lo: int, hi: int) -> int:
        """Level to which a flush writes: L0, unless the picker places flushes."""
        return self._places_flushes.flush_level(tree, lo, hi) if self._places_flushes is not None else 0

    @property
    def smallest_file_bytes(self) -> int:
        """Size in bytes of the smallest full file of any level."""
        return self.options.target_file_size_base

    def flush_compression(self) -> Compression:
        """Compression of flushed files: GetCompressionFlush (behaviour/compaction-jobs.md, Compression of outputs)."""
        picker = self.picker
        if isinstance(picker, UniversalPicker) and picker.compression_size_percent >= 0:
            return Compression.NONE
        return self._compression.flushed()

    def level_compression(self, tree: Tree, level: int) -> Compression:
        """Compression of files that compactions write to a level (behaviour/compaction-jobs.md, Compression of outputs)."""
        base_level = self.rules.targets(tree).base_level if self._compression.per_level else 1
        return self._compression.compacted(level, base_level, tree.last_nonempty_level())

    def output_compression(self, tree: Tree, pick: Compaction) -> Compression:
        """Compression of the outputs of a compaction that was just picked."""
        if isinstance(self.picker, UniversalPicker) and not self.picker.compresses(tree, pick):
            return Compression.NONE
        return self.level_compression(tree, pick.output_level)

    def target_file_bytes(self, tree: Tree, output_level: int) -> int:
        """Target file size of a level in bytes."""
        if self._sizes_files is not None:
            return self._sizes_files.target_file_size(tree, output_level)
        return self.rules.target_file_size(output_level, 0)

    def grandparent_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:
        """Level whose files guide the cutting (behaviour/compaction-jobs.md, Output cutting); None without one."""
        return self.cutter.guide_level(tree, output_level, lo, hi)

    def subcompaction_bounds(self, tree: Tree, pick: Compaction, keys: KeyArray) -> Sequence[int]:
        """Positions in `keys` at which a job splits (behaviour/compaction-jobs.md, Subcompactions)."""
        most = self.options.max_subcompactions
        if most <= 1 or pick.output_level == 0 or (self._levelled and pick.start_level != 0) or len(keys) < 2:
            return ()
        return subcompaction_cuts(
            pick.inputs, keys, most, self.target_file_bytes(tree, pick.output_level), self.version
        )

    def bottommost_bytes(self, tree: Tree, pending_bytes: int) -> int:
        """Bytes of files that overlap no deeper file: RocksDB 8.10+ compares an eighth of them with the debt.

        See (behaviour/write-stalls.md, Pressure).
        The deepest level counts whole, the levels above it in part. The method returns the bytes of the deepest level if
        they alone decide the comparison, or if the debt is over a quarter of the soft limit, which decides it too; and the
        bytes of all levels below L0 if an eighth of them is not above the debt. Few debts are between these bounds.
        """
        if self.version < (8, 10) or not isinstance(self.picker, LeveledPicker):
            return 0
        last = tree.last_nonempty_level()
        deepest = tree.size_bytes(last)
        if 8 * pending_bytes < deepest or 4 * pending_bytes >= self.options.soft_pending_compaction_bytes_limit > 0:
            return deepest
        levels = sum(level.size_bytes for level in tree.levels[1 : last + 1])
        return levels if 0 < levels <= 8 * pending_bytes else self.picker.bottommost_bytes(tree)

    def inspects_keys(self, output_level: int) -> bool:
        """Return whether the cutter inspects every key of a job that writes to `output_level`."""
        return self._inspects_keys is not None and self._inspects_keys.inspects_keys(output_level)


def _table_format(
    options: RocksDbOptions, kind: Filter, compression_ratio: float, compression: CompressionByLevel
) -> TableFormat:
    last = options.num_levels - 1
    return TableFormat(
        bloom_bits=options.bloom_bits, filter=kind, format_version=options.format_version,
        block_format=BlockFormat(options.block_size, options.block_size_deviation, options.block_restart_interval),
        compression_ratio=compression_ratio, decompress=CODECS[compression.compacted(last, 1, last)].decompress,
    )  # fmt: skip


def _preset(name: str) -> Any:
    if name not in ("library", "db_bench"):
        raise InputError(f"engine.preset: {name!r} is not one of library, db_bench")
    return name

"""Engine: policies over one set of options. RocksDB is the engine with RocksDB's policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from lsmlab.models import since
from lsmlab.models.engines.table_reads import TableReads, table_cache_size
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import CompactionStyle, Compression, RocksDbOptions
from lsmlab.models.options.ignored import ignored_options, texts_given, texts_in_force
from lsmlab.models.options.options import resolve_options, value_of
from lsmlab.models.options.sanitise import ages_with_filter
from lsmlab.models.policies.decisions import Compaction
from lsmlab.models.policies.parts import Base, Parts
from lsmlab.models.policies.rocksdb.compression import CODECS, compresses, flush_compression, level_compression
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.levels import LevelRules
from lsmlab.models.policies.rocksdb.parts import (
    NoTuner,
    RocksDbCutting,
    RocksDbFilter,
    RocksDbPicker,
    RocksDbScheduling,
    RocksDbThrottling,
)
from lsmlab.models.policies.rocksdb.places import CHANGE_TEMPERATURE, is_cold, proximal_level
from lsmlab.models.policies.rocksdb.subcompactions import MANUAL, planned_parts, subcompaction_cuts
from lsmlab.models.policies.rocksdb.universal import UniversalPicker
from lsmlab.models.policies.scheduling import Scheduler
from lsmlab.models.policies.tuning import Changes, Tuner
from lsmlab.models.tree.blobs import BlobFiles
from lsmlab.models.tree.blocks import BlockFormat
from lsmlab.models.tree.deletion_density import DeletionCollector
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.memtable import mean_node_bytes, memtable_capacity
from lsmlab.models.tree.ranges import bottommost
from lsmlab.models.tree.table_format import Filter, TableFormat
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import build, quantity
from lsmlab.models.version import Version

NO_COMPRESSION_NOTE: Final = (
    "compression: none, because the configuration does not set it. RocksDB's default depends on the libraries that "
    "it was built with, and the ratio on the data; set engine.options.compression and engine.compression_ratio"
)

DROPS_NOTE: Final = (
    "entries that a compaction filter drops, and files that a collector marks: their rules are those of RocksDB's source, but no "
    "recorded store with them has been compared, so the error of these numbers is not known"
)

PLACES_NOTE: Final = (
    "young data above the last level, files that are rewritten at an age, several paths: their rules are those of RocksDB's "
    "source, but no recorded store with them has been compared, so the error of these numbers is not known"
)


SINGLE_DELETES_NOTE: Final = (
    "single deletes: the load must put a key at most once between two deletes of it, or old values come back, as in RocksDB; no "
    "recorded store with them has been compared, so the error of these numbers is not known"
)


@dataclass(frozen=True)
class EngineSettings:
    """The `engine` group of a configuration."""

    version: str = "8.11"
    """Release whose rules and defaults apply."""
    preset: str = "library"
    """Source of the defaults of options: "library", or "db_bench" for the defaults of its flags."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """RocksDB options by RocksDB's names; None keeps the default."""
    not_simulated: Sequence[str] = ()
    """Options of the real store that the model does not simulate, as name=value, for warnings."""
    l0_gap_files: int | None = quantity("count", None, low=0)
    """Files of L0 between the start of its compaction and the stop of writers, in place of the options
    level0_slowdown_writes_trigger and level0_stop_writes_trigger. None: the options decide."""
    compaction_filter_ttl: float | None = quantity("seconds", None, low=1)
    """Age from which a compaction filter drops an entry when a compaction rewrites it (a TTL of the application); None: the store
    has no compaction filter."""
    compact_on_deletion: Mapping[str, Any] | None = None
    """Settings of a CompactOnDeletionCollector (`DeletionCollector`); None: the store has none."""
    single_deletes: bool = False
    """Whether all deletes are SingleDeletes, which go together with the put that they meet."""
    compression_ratio: float = quantity("ratio", 0.5, low=0.01, high=1.0)
    """Compressed bytes over uncompressed bytes of a data block, if a compression is set (db_bench
    --compression_ratio)."""
    name: str = "rocksdb"
    picker: Any = field(default_factory=RocksDbPicker)
    cutter: Any = field(default_factory=RocksDbCutting)
    throttle: Any = field(default_factory=RocksDbThrottling)
    scheduler: Any = field(default_factory=RocksDbScheduling)
    tuner: Any = field(default_factory=NoTuner)
    filter: Any = field(default_factory=RocksDbFilter)
    """Settings objects of the policies (`lsmlab.models.policies.parts.make_part`)."""


class Engine:
    """Combination of policies; a subclass differs from RocksDB in its memtable, flush or tables too."""

    Settings: ClassVar = EngineSettings
    """Class of the settings, built from the `engine` group."""
    flushes_one_memtable: bool = False
    """Whether a flush takes only the oldest immutable memtable (LevelDB, vLSM) or all of them."""
    flush_keeps_versions: ClassVar[bool] = False
    """Whether a flush writes every entry of the memtable, overwritten ones too (LevelDB), or the newest of each key."""
    table_filter: ClassVar[Filter] = Filter.FAST_LOCAL
    mapped_tables: ClassVar[float | None] = None
    """None: the engine's iterators read ahead (`TableReads`)."""

    def __init__(self, settings: EngineSettings) -> None:
        """Build the engine. Raises InputError for bad options and incompatible policies."""
        self.name = settings.name
        self.version = Version.parse(settings.version)
        overrides = {name: value for name, value in settings.options.items() if value is not None}
        notes: list[str] = []
        if not {"compression", "compression_per_level", "bottommost_compression"} & overrides.keys():
            overrides["compression"] = "none"
            notes.append(NO_COMPRESSION_NOTE)
        self.single_deletes = settings.single_deletes
        """Whether all deletes are SingleDeletes."""
        self.filter_ttl_s = settings.compaction_filter_ttl
        """Age in s from which the compaction filter drops an entry; None: there is no filter."""
        self.deletion_collector = (
            build(DeletionCollector, settings.compact_on_deletion, "engine.compact_on_deletion")
            if settings.compact_on_deletion is not None else None
        )  # fmt: skip
        """Collector that marks files with many tombstones for compaction; None: there is none."""
        resolved = resolve_options(self.version, settings.preset, overrides)
        if self.filter_ttl_s is not None:
            overrides |= ages_with_filter(resolved.options, self.version, overrides)
            resolved = resolve_options(self.version, settings.preset, overrides)
        if settings.l0_gap_files is not None:
            stop = resolved.options.level0_file_num_compaction_trigger + settings.l0_gap_files
            overrides |= dict.fromkeys(("level0_slowdown_writes_trigger", "level0_stop_writes_trigger"), stop)
            resolved = resolve_options(self.version, settings.preset, overrides)
        self.options: RocksDbOptions = resolved.options
        if self.filter_ttl_s is not None or self.deletion_collector is not None:
            notes.append(DROPS_NOTE)
        if self.single_deletes:
            notes.append(SINGLE_DELETES_NOTE)
        by_age = self.options.preclude_last_level_data_seconds or self.options.compaction_options_fifo.cold_from_s is not None
        if by_age or len(self.options.paths) > 1:
            notes.append(PLACES_NOTE)
        self.notes: Sequence[str] = [*resolved.notes, *notes]
        """Changes that sanitising made to options, in words, for the summary of a run."""
        self.not_simulated = ignored_options(
            self.version, texts_given(settings.not_simulated) | texts_in_force(self.options)
        )
        """Options whose values matter and are not simulated, those of large effect first."""
        self.parts = Parts(
            settings.picker, settings.cutter, settings.throttle, settings.scheduler, settings.tuner, settings.filter
        )
        self.compression_ratio = settings.compression_ratio if compresses(self.options) else 1.0
        """Compressed bytes over uncompressed bytes of blocks that are compressed; 1 if no level has compression."""
        self.blob_compression_ratio = settings.compression_ratio if self.options.blob_compression_type.compresses else 1.0
        """Compressed bytes over uncompressed bytes of a blob; 1 without compression of blobs."""
        bits = self.parts.filter.make(self._base).bits_per_key
        last = _table_format(self.options, self.table_filter, self.compression_ratio)
        levels = range(self.options.num_levels)
        self.table_formats = tuple(last._replace(bloom_bits=bits(level, len(levels))) for level in levels)
        """Table options that each new SST file keeps, by level."""
        self.table_format = self.table_formats[-1]
        """Table options of the last level, which has most files."""
        self.reads_filters = any(one.bloom_bits > 0.0 for one in self.table_formats)
        """Whether the store reads filters: without any of its own, it reads none of files written before."""
        self.table_reads = TableReads(
            table_cache_size(self.options.max_open_files), self.table_filter, self.mapped_tables
        )
        self.reverts_options = self.version < since.JOBS_KEEP_CHANGED_OPTIONS
        """Whether a job that ends installs its version with the options at its start, which undoes a SetOptions during the job
        until the next install (RocksDB pull request 13294)."""
        self.parts.check(self._base)
        self._assemble()
        holds_blobs = self.picker.holds_blobs and not self.picker.values_in_wal and not self.flush_keeps_versions
        if self.options.enable_blob_files and not holds_blobs:
            raise InputError(
                f"engine.options.enable_blob_files: {self.name} keeps its values in another way; set it to false, or choose an "
                "engine with RocksDB's flushes and compactions, such as engine=rocksdb"
            )
        if self.options.leaves_device and not self.picker.holds_blobs:
            raise InputError(
                f"engine.options: {self.name} compacts slices of files one by one, for which a second device is not modelled; "
                "leave out db_paths, cf_paths and last_level_temperature"
            )
        if self.options.preclude_last_level_data_seconds:
            rocksdb = type(self.picker) in (LeveledPicker, UniversalPicker)
            if not rocksdb or self.options.enable_blob_files:
                raise InputError(
                    "engine.options.preclude_last_level_data_seconds: modelled for RocksDB's levelled and universal "
                    "compaction without blob files only; set it to 0"
                )
        if self.deletion_collector is not None and not isinstance(self.picker, LeveledPicker | UniversalPicker):
            raise InputError(
                "engine.compact_on_deletion: marked files are modelled for RocksDB's levelled and universal compaction only; "
                "set it to null"
            )
        if self.single_deletes and (not self.picker.holds_blobs or self.flush_keeps_versions):
            raise InputError(f"engine.single_deletes: {self.name} has no SingleDelete; set it to false, or choose engine=rocksdb")
        if self.filter_ttl_s is not None and not self.picker.holds_blobs:
            raise InputError(
                f"engine.compaction_filter_ttl: {self.name} compacts slices of files one by one, for which the age of entries is "
                "not modelled; set it to null, or choose engine=rocksdb"
            )

    def _assemble(self) -> None:
        """Make the policies and everything else that depends on options that may change."""
        base = self._base
        self.rules = LevelRules(self.options, self.version)
        self.picker = self.parts.picker.make(base)
        self.cutter = self.parts.cutter.make(base)
        self.throttle = self.parts.throttle.make(base)
        self.flushes_one_memtable = type(self).flushes_one_memtable or self.throttle.flushes_one_memtable

    @property
    def _base(self) -> Base:
        return Base(self.options, self.version)

    def scheduler(self) -> Scheduler:
        """Return a scheduler in its state at the open of a store."""
        return self.parts.scheduler.make(self._base)

    def tuner(self) -> Tuner | None:
        """Return a tuner in its state at the open of a store; None if options never change."""
        return self.parts.tuner.make(self._base)

    def retuned(self, changes: Changes) -> Engine:
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
        return self.parts.setting(group, key) if dot else value_of(self.options, name)

    def new_tree(self) -> Tree:
        """Return an empty tree."""
        counts_garbage = self.version >= since.BLOB_GARBAGE_COUNTED
        return Tree(num_levels=self.options.num_levels, blobs=BlobFiles(counts_garbage=counts_garbage))

    def memtable_entries(self, key_bytes: int, value_bytes: int, delete_share: float) -> float:
        """Writes that fill a memtable (behaviour/write-path.md, Bytes of a put; When a memtable is full)."""
        options = self.options
        capacity = memtable_capacity(options.write_buffer_size, options.arena_block_size)
        node = (1.0 - delete_share) * mean_node_bytes(key_bytes, value_bytes, version=self.version)
        node += delete_share * mean_node_bytes(key_bytes, 0, version=self.version)
        return max(1.0, capacity / node)

    @property
    def smallest_file_bytes(self) -> int:
        """Size in bytes of the smallest full file of any level."""
        return self.options.target_file_size_base

    def flush_compression(self, tree: Tree) -> Compression:
        """Compression of flushed files: GetCompressionFlush (behaviour/compaction-jobs.md, Compression of outputs)."""
        return flush_compression(self.options) if self.picker.compresses(tree, None) else Compression.NONE

    def level_compression(self, tree: Tree, level: int) -> Compression:
        """Compression of files that compactions write to a level (behaviour/compaction-jobs.md, Compression of outputs)."""
        base_level = self.rules.targets(tree).base_level if self.options.compression_per_level else 1
        return level_compression(self.options, level, base_level, tree.last_nonempty_level())

    def output_compression(self, tree: Tree, pick: Compaction) -> Compression:
        """Compression of the outputs of a compaction that was just picked."""
        return self.level_compression(tree, pick.output_level) if self.picker.compresses(tree, pick) else Compression.NONE

    def writes_cold(self, tree: Tree, pick: Compaction) -> bool:
        """Return whether the outputs of a compaction are on `cold_device` (behaviour/tiered-placement.md, Tiered placement)."""
        if not self.options.leaves_device or (len(self.options.paths) > 1 and pick.reason == MANUAL):
            return False
        if self.options.compaction_style is CompactionStyle.FIFO:
            return pick.reason == CHANGE_TEMPERATURE
        files = [f for _, group in pick.inputs for f in group]
        lo, hi = min(f.lo for f in files), max(f.hi for f in files)
        return is_cold(
            self.options, self.version, pick.output_level, bottommost=bottommost(tree, pick.output_level, lo, hi),
            run_bytes=self.picker.estimated_run_bytes(tree, pick),
        )  # fmt: skip

    def proximal_level(self, tree: Tree, pick: Compaction) -> int:
        """Level above the last one to which a compaction writes its young data; -1: none."""
        empty = not tree.file_count(max(0, pick.output_level - 1))
        return proximal_level(self.options, self.version, pick.start_level, pick.output_level, empty=empty)

    @property
    def notes_write_times(self) -> bool:
        """Return whether files keep the time at which each of their keys was flushed."""
        return self.filter_ttl_s is not None or self.options.preclude_last_level_data_seconds > 0

    def level_is_cold(self, level: int, deepest: int, size_bytes: int) -> bool:
        """Return whether files of a level are on `cold_device` in a tree that was built before the run.

        `deepest`: last level with files; `size_bytes`: of the level.
        """
        if not self.options.leaves_device or self.options.compaction_style is CompactionStyle.FIFO:
            return False
        return is_cold(self.options, self.version, level, bottommost=level == deepest, run_bytes=size_bytes)

    def target_file_bytes(self, tree: Tree, output_level: int) -> int:
        """Target file size of a level in bytes."""
        own = self.picker.target_file_size(tree, output_level)
        return self.rules.target_file_size(output_level, 0) if own is None else own

    def subcompaction_bounds(self, tree: Tree, pick: Compaction, keys: KeyArray, free_slots: int = 0) -> Sequence[int]:
        """Positions in `keys` at which a job splits (behaviour/compaction-jobs.md, Subcompactions).

        `free_slots`: compactions that could start now.
        """
        most = planned_parts(self.options, pick, self.version, free_slots)
        if most <= 1 or len(keys) < 2:
            return ()
        return subcompaction_cuts(pick, keys, most, self.target_file_bytes(tree, pick.output_level), self.version)


def _table_format(options: RocksDbOptions, kind: Filter, compression_ratio: float) -> TableFormat:
    last = options.num_levels - 1
    return TableFormat(
        filter=kind, format_version=options.format_version,
        block_format=BlockFormat(options.block_size, options.block_size_deviation, options.block_restart_interval),
        compression_ratio=compression_ratio, decompress=CODECS[level_compression(options, last, 1, last)].decompress,
    )  # fmt: skip

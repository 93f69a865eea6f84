"""Pickers of the universal and FIFO styles, built from RocksDB's options."""

from __future__ import annotations

from lsmlab.models.errors import InputError
from lsmlab.models.options.options import CompactionStyle, RocksDbOptions, StopStyle
from lsmlab.models.policies.rocksdb.fifo import FifoPicker
from lsmlab.models.policies.rocksdb.universal import UniversalPicker
from lsmlab.models.version import Version


def universal_picker(options: RocksDbOptions, version: Version) -> UniversalPicker:
    """Build the universal picker. Raises InputError for incremental mode, which is not modelled."""
    style = options.compaction_options_universal
    return UniversalPicker(
        version=version,
        num_levels=options.num_levels,
        level0_file_num_compaction_trigger=options.level0_file_num_compaction_trigger,
        level0_stop_writes_trigger=options.level0_stop_writes_trigger,
        size_ratio=style.size_ratio,
        min_merge_width=style.min_merge_width,
        max_merge_width=style.max_merge_width,
        max_size_amplification_percent=style.max_size_amplification_percent,
        compression_size_percent=style.compression_size_percent,
        similar_size=style.stop_style is StopStyle.SIMILAR_SIZE,
        allow_trivial_move=style.allow_trivial_move,
        incremental=style.incremental,
        max_read_amp=style.max_read_amp,
        write_buffer_size=options.write_buffer_size,
        periodic_compaction_seconds=options.periodic_compaction_seconds,
        disable_auto_compactions=options.disable_auto_compactions,
    )


def fifo_picker(options: RocksDbOptions, version: Version) -> FifoPicker:
    """Build the FIFO picker. Raises InputError for temperatures and blobs, which are not modelled."""
    style = options.compaction_options_fifo
    return FifoPicker(
        version=version,
        max_table_files_size=style.max_table_files_size,
        allow_compaction=style.allow_compaction,
        ttl=options.ttl,
        level0_file_num_compaction_trigger=options.level0_file_num_compaction_trigger,
        write_buffer_size=options.write_buffer_size,
        max_compaction_bytes=options.max_compaction_bytes,
        age_for_warm=style.age_for_warm,
        max_data_files_size=style.max_data_files_size,
        use_kv_ratio_compaction=style.use_kv_ratio_compaction,
        disable_auto_compactions=options.disable_auto_compactions,
    )


def tiered_picker(options: RocksDbOptions, version: Version) -> UniversalPicker | FifoPicker:
    """Build the picker of a style other than levelled. Raises InputError for kCompactionStyleNone."""
    if options.compaction_style is CompactionStyle.UNIVERSAL:
        return universal_picker(options, version)
    if options.compaction_style is CompactionStyle.FIFO:
        return fifo_picker(options, version)
    raise InputError(f"engine.options.compaction_style: {options.compaction_style.value} is neither universal nor FIFO")

"""Options of RocksDB that the model does not simulate: default by release, effect on the answer, and the reason.

The classes of effect follow from what an option does in RocksDB's source; nobody measured them. `lsmlab.models.options.ignored`
finds the options of a store that matter. Same lines: docs/reference/options-not-simulated.md. Source of the defaults:
include/rocksdb/options.h, advanced_options.h, table.h and compression_type.h of the release branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lsmlab.models.version import Version


class Effect(StrEnum):
    """How far the answer is off because an option is not simulated."""

    NONE = "none"
    """The answer is the same."""
    SMALL = "small"
    """A part of the CPU, of the space or of the reads; the way the store works is the same."""
    LARGE = "large"
    """The store works in another way: the interval of the answer does not cover it."""
    UNKNOWN = "unknown"
    """An option without a line here: a fork's, or that of a later release."""


@dataclass(frozen=True, slots=True)
class NotSimulated:
    """One option that is not simulated."""

    default: str
    """Default as files write it: other spellings after "/", later values after " | first release: "; "none" is no object.
    Empty if the option has no effect, so that every value counts as the default."""
    effect: Effect
    reason: str
    """What the simulation leaves out, or why nothing is left out."""

    def defaults(self, version: Version | None) -> list[str]:
        """Return the spellings of the default in a release; those of all releases if it is unknown (None)."""
        first, *later = self.default.split(" | ")
        found = [first]
        for change in later:
            since, _, value = change.partition(": ")
            if version is None:
                found.append(value)
            elif version >= Version.parse(since):
                found = [value]
        return [text for value in found for text in value.split("/")]


def _none(reason: str) -> NotSimulated:
    return NotSimulated("", Effect.NONE, reason)


def _small(default: str, reason: str) -> NotSimulated:
    return NotSimulated(default, Effect.SMALL, reason)


def _large(default: str, reason: str) -> NotSimulated:
    return NotSimulated(default, Effect.LARGE, reason)


_LABEL: Final = "names, messages and logs only"
_OPEN: Final = "acts while a store opens, recovers or closes, which a run does not do"
_CHECK: Final = "a check that finds nothing in a sound store"
_PARTS: Final = "counts only with partition_filters or an index of two levels"
_FILTER: Final = "compactions drop or change entries by the code of the application; by age: engine.compaction_filter_ttl"
_FOLLOWER: Final = "for a follower that reads the files of another store"
_OBJECT: Final = "files show an address only"
_TIER: Final = "a file system may put these files on another device; here they are on that of the tables"
_OLD: Final = "without effect in the releases with rules here"
_OF_A_COMPRESSION: Final[Mapping[str, NotSimulated]] = {
    "enabled": _small("false", "the last level has settings of its own; engine.compression_ratio is that of all levels"),
    "level": _large("32767/-1", "CPU is that of the default level; the ratio is engine.compression_ratio"),
    "max_dict_bytes": _small("0", "CPU for the dictionary; the ratio is engine.compression_ratio"),
    "parallel_threads": _large("1", "a compaction compresses blocks in one thread"),
    "max_compressed_bytes_per_kb": _small("896", "blocks that compress badly are stored uncompressed"),
    "checksum": _small("false", "CPU for the checksum of ZSTD"),
    "max_dict_buffer_bytes": _none("counts only with max_dict_bytes"),
    "zstd_max_train_bytes": _none("counts only with max_dict_bytes"),
    "use_zstd_dict_trainer": _none("counts only with max_dict_bytes"),
    "strategy": _none("for zlib; the ratio is engine.compression_ratio"),
    "window_bits": _none("for zlib; the ratio is engine.compression_ratio"),
}
_COLONS: Final = "-14:-1:0:0/-14:32767:0:0/-14:32767:0:0:0:false/-14:32767:0:0:0:false:1"

_DATABASE: Final[Mapping[str, NotSimulated]] = {
    "WAL_size_limit_MB": _small("0", "old WAL files stay in an archive and take space"),
    "WAL_ttl_seconds": _small("0", "old WAL files stay in an archive and take space"),
    "access_hint_on_compaction_start": _small("NORMAL/1", "advice to the page cache for inputs of compactions"),
    "advise_random_on_open": _small("true", "advice to the page cache against its readahead"),
    "allow_2pc": _small("false", "WAL files stay until their prepared transactions end"),
    "allow_data_in_errors": _none(_LABEL),
    "allow_concurrent_memtable_write": _small("true", "writers of a group fill the memtable one after the other"),
    "allow_fallocate": _small("true", "files reserve space before they are written"),
    "allow_ingest_behind": _small("false", "the last level is kept free, and sequence numbers stay"),
    "allow_mmap_reads": _small("false", "reads are page faults instead of system calls"),
    "allow_mmap_writes": _small("false", "writes go through mapped pages"),
    "allow_os_buffer": _none(_OLD),
    "async_wal_precreate": _small("false", "the next WAL file is made ahead of the memtable switch"),
    "avoid_flush_during_recovery": _none(_OPEN),
    "avoid_flush_during_shutdown": _none(_OPEN),
    "avoid_unnecessary_blocking_io": _small("false", "files are deleted by a background thread"),
    "background_close_inactive_wals": _small("false", "WAL files are closed by a background thread"),
    "base_background_compactions": _none(_OLD),
    "best_efforts_recovery": _none(_OPEN),
    "bgerror_resume_retry_interval": _small("1000000", "the store retries after an I/O error by RocksDB's default"),
    "compaction_verify_record_count": _none(_CHECK),
    "concurrent_prepare": _small("false", "the former name of two_write_queues"),
    "create_if_missing": _none(_OPEN),
    "create_missing_column_families": _none(_OPEN),
    "daily_offpeak_time_utc": _small("none", "periodic compactions begin before their time in quiet hours"),
    "db_host_id": _none(_LABEL),
    "db_log_dir": _none(_LABEL),
    "delete_obsolete_files_period_micros": _none("a full scan for files that nothing refers to"),
    "dump_malloc_stats": _none(_LABEL),
    "enable_pipelined_write": _small(
        "false", "WAL and memtable writes of successive groups of writers overlap; one writer alone is as fast, as recorded"
    ),
    "enable_thread_tracking": _none(_LABEL),
    "enable_write_thread_adaptive_yield": _small("true", "CPU of writers that wait for their group"),
    "enforce_single_del_contracts": _none(_CHECK),
    "enforce_write_buffer_manager_during_recovery": _none(_OPEN),
    "env": _none(_OBJECT),
    "error_if_exists": _none(_OPEN),
    "fail_if_options_file_error": _none(_CHECK),
    "fast_sst_open": _none(_OPEN),
    "file_checksum_gen_factory": _small("none", "CPU for a checksum of each file"),
    "flush_verify_memtable_count": _none(_CHECK),
    "follower_catchup_retry_count": _none(_FOLLOWER),
    "follower_catchup_retry_wait_ms": _none(_FOLLOWER),
    "follower_refresh_catchup_period_ms": _none(_FOLLOWER),
    "fs": _none(_LABEL),
    "info_log": _none(_OBJECT),
    "info_log_level": _none(_LABEL),
    "is_fd_close_on_exec": _none(_LABEL),
    "keep_log_file_num": _none(_LABEL),
    "listeners": _none("code of the application, which the simulator cannot see"),
    "log_file_time_to_roll": _none(_LABEL),
    "log_readahead_size": _none(_OPEN),
    "lowest_used_cache_tier": _none("counts only with a secondary cache"),
    "manifest_preallocation_size": _none("space for the manifest, below that of one file"),
    "manual_wal_flush": _large("false", "the WAL stays in memory until the application flushes it; here each group writes it"),
    "max_bgerror_resume_count": _small("2147483647", "the store retries after an I/O error without end"),
    "max_compaction_trigger_wakeup_seconds": _small("43200", "how often an idle store looks for due compactions"),
    "max_file_opening_threads": _none(_OPEN),
    "max_log_file_size": _none(_LABEL),
    "max_manifest_file_size": _small("18446744073709551615 | 5.15: 1073741824", "how often the manifest is written anew"),
    "max_manifest_space_amp_pct": _small("500", "how often the manifest is written anew"),
    "max_write_batch_group_size_bytes": _small("1048576", "which writes share a group; the model does not form single groups"),
    "metadata_write_temperature": _small("kUnknown", _TIER),
    "new_table_reader_for_compaction_inputs": _none("compactions open files of their own; the bytes are the same"),
    "open_files_async": _none(_OPEN),
    "optimize_manifest_for_recovery": _none(_OPEN),
    "paranoid_checks": _none(_CHECK),
    "persist_stats_to_disk": _small("false", "statistics are written into a column family of their own"),
    "prefix_seek_opt_in_only": _none("how an application asks for seeks by prefix"),
    "preserve_deletes": _large("false", "compactions keep deletion marks"),
    "random_access_max_buffer_size": _none("for Windows"),
    "rate_limit_delay_max_milliseconds": _none(_OLD),
    "read_io_executor_threads": _small("1", "threads for asynchronous reads"),
    "recycle_log_file_num": _small("0", "WAL files are written again in place, which makes syncs cheaper"),
    "reuse_manifest_on_open": _none(_OPEN),
    "row_cache": _large("none", "reads of cached rows skip all files and blocks"),
    "skip_checking_sst_file_sizes_on_db_open": _none(_OPEN),
    "skip_log_error_on_recovery": _none(_OLD),
    "skip_stats_update_on_db_open": _none(_OPEN),
    "sst_file_manager.rate_bytes_per_sec": _small("0", "files are deleted at a limited rate and take space until then"),
    "stats_history_buffer_size": _none(_LABEL),
    "stats_persist_period_sec": _none(_LABEL),
    "strict_bytes_per_sync": _small("false", "a writer waits for the sync of bytes that it wrote before"),
    "table_cache_numshardbits": _none("locks of the cache of open files"),
    "track_and_verify_wals": _none(_CHECK),
    "track_and_verify_wals_in_manifest": _none(_CHECK),
    "two_write_queues": _small("false", "writes of transactions that skip the memtable have a queue of their own"),
    "unordered_write": _large("false", "writers do not wait for the memtable writes of others in their group"),
    "use_adaptive_mutex": _small("false", "CPU of threads that wait for the lock of the store"),
    "use_direct_io_for_compaction_reads": _small("false", "compactions bypass the page cache; reads of clients do not"),
    "use_fsync": _small("false", "a sync writes the metadata of the file too"),
    "verify_manifest_content_on_close": _none(_OPEN),
    "verify_sst_unique_id_in_manifest": _none(_CHECK),
    "wal_compression": _large("kNoCompression/NoCompression/0", "the WAL writes compressed bytes, for CPU of the writers"),
    "wal_dir": _none("files do not show whether it is on another device; wal_device names one"),
    "wal_filter": _none(_OPEN),
    "wal_recovery_mode": _none(_OPEN),
    "wal_write_temperature": _small("kUnknown", _TIER),
    "write_buffer_manager": _none(_OBJECT),
    "write_dbid_to_manifest": _none(_LABEL),
    "write_identity_file": _none(_LABEL),
    "write_thread_max_yield_usec": _small("100", "CPU of writers that wait for their group"),
    "write_thread_slow_yield_usec": _small("3", "CPU of writers that wait for their group"),
}

_FAMILY: Final[Mapping[str, NotSimulated]] = {
    "blob_cache": _none("files show an address only; use_blob_cache and blob_cache_size say what it is"),
    "blob_direct_write_partitions": _none("counts only with enable_blob_direct_write"),
    "block_protection_bytes_per_key": _small("0", "CPU for checksums of the keys in cached blocks"),
    "bloom_locality": _small("0", "cache lines of the memtable's filter"),
    "bottommost_compression_opts": _large(_COLONS, "as compression_opts, for the last level"),
    **{f"bottommost_compression_opts.{name}": one for name, one in _OF_A_COMPRESSION.items()},
    "bottommost_temperature": _none("before 7.6 the name of last_level_temperature, which is taken; later without effect"),
    "cf_allow_ingest_behind": _small("false", "the last level is kept free, and sequence numbers stay"),
    "check_flush_compaction_key_order": _small("true", "CPU to compare each key with the one before"),
    "compaction_filter": _large("none", _FILTER),
    "compaction_filter_factory": _large("none", _FILTER),
    "compaction_measure_io_stats": _none(_LABEL),
    "compaction_options_fifo.allow_trivial_copy_when_change_temperature": _none("counts only with temperatures"),
    "compaction_options_fifo.trivial_copy_buffer_size": _none("counts only with temperatures"),
    "compaction_options_fifo.ttl": _none("before 6.0 the name of FIFO's ttl, which is taken; later without effect"),
    "compaction_options_universal.incremental": _large("false", "full compactions are made in parts, which frees space earlier"),
    "compaction_options_universal.reduce_file_locking": _none("counts only with a thread pool of bottom priority"),
    "comparator": _small("leveldb.BytewiseComparator", "CPU of comparing keys, and the order of keys, are those of bytes"),
    "compression_manager": _large("none", "the application's own compression; the ratio is engine.compression_ratio"),
    "compression_opts": _large(_COLONS, "CPU is that of the default level and one thread"),
    **{f"compression_opts.{name}": one for name, one in _OF_A_COMPRESSION.items()},
    "default_temperature": _small("kUnknown", _TIER),
    "default_write_temperature": _small("kUnknown", _TIER),
    "disallow_memtable_writes": _none("an application that only ingests files into the family"),
    "enable_blob_direct_write": _large("false", "writers write large values into blob files, past the memtable"),
    "experimental_allow_mempurge": _large("false", "memtables are cleaned in memory instead of flushed"),
    "experimental_mempurge_threshold": _large("0", "memtables are cleaned in memory instead of flushed"),
    "force_consistency_checks": _none(_CHECK),
    "inplace_update_num_locks": _none("counts only with inplace_update_support"),
    "inplace_update_support": _large("false", "writes change values in the memtable, which fills more slowly"),
    "last_level_temperature": _small("kUnknown", "a file system may put these files on another device; cold_device names one"),
    "max_sequential_skip_in_iterations": _small("8", "when a scan over old versions of a key seeks instead"),
    "max_successive_merges": _large("0", "merges are done at the write, which reads the old value first"),
    "memtable": _large("skip_list/SkipListFactory", "the name of memtable_factory in option strings"),
    "memtable_avg_op_scan_flush_trigger": _small("0", "scans over deleted entries in the memtable start a flush"),
    "memtable_batch_lookup_optimization": _small("false", "CPU of several reads at once in the memtable"),
    "memtable_factory": _large("SkipListFactory/skip_list", "CPU and memory of the memtable are those of a skip list"),
    "memtable_huge_page_size": _small("0", "memory of the memtable in large pages"),
    "memtable_insert_with_hint_prefix_extractor": _small("none", "CPU of writes in the order of keys"),
    "memtable_max_range_deletions": _small("0", "many range deletions start a flush; a phase here makes one"),
    "memtable_op_scan_flush_trigger": _small("0", "scans over deleted entries in the memtable start a flush"),
    "memtable_prefix_bloom_size_ratio": _large("0", "a filter of the memtable saves reads, and takes memory of it"),
    "memtable_protection_bytes_per_key": _small("0", "CPU and memory for checksums of entries in the memtable"),
    "memtable_veirfy_per_key_checksum_on_seek": _small("false", "CPU for checksums of entries in the memtable"),
    "memtable_verify_per_key_checksum_on_seek": _small("false", "CPU for checksums of entries in the memtable"),
    "memtable_whole_key_filtering": _none("counts only with memtable_prefix_bloom_size_ratio"),
    "merge_operator": _large("none", "merge operands count as puts; an operator may let them stay apart or grow"),
    "min_tombstones_for_range_conversion": _small("0", "scans turn runs of deletion marks into range deletions"),
    "paranoid_file_checks": _large("false", "each new file is read again after it was written"),
    "paranoid_memory_checks": _small("false", "CPU to check the order of keys in the memtable"),
    "persist_user_defined_timestamps": _small("true", "flushes remove time stamps of the application from keys"),
    "prefix_extractor": _small("none", "filters hold prefixes too; scans within a prefix skip files"),
    "prepopulate_blob_cache": _small("kDisable/0", "flushes put their blobs into the blob cache"),
    "preserve_internal_time_seconds": _small("0", "sequence numbers stay in old entries, which compress less"),
    "purge_redundant_kvs_while_flush": _none(_OLD),
    "read_triggered_compaction_threshold": _large("0", "files that are read often are compacted"),
    "report_bg_io_stats": _none(_LABEL),
    "sample_for_compression": _small("0", "CPU to compress samples of blocks for statistics"),
    "snap_refresh_nanos": _none("which released snapshots a compaction that runs still counts"),
    "sst_partitioner_factory": _large("none", "output files end at borders that the application sets"),
    "strict_max_successive_merges": _none("counts only with max_successive_merges"),
    "table_factory": _large("BlockBasedTable/block_based", "files are those of the block-based table"),
    "table_properties_collectors": _large(
        "none", "collectors of the application may mark files for compaction; by deletions: engine.compact_on_deletion"
    ),
    "target_file_size_is_upper_bound": _small("false", "files end before their target size, not after it"),
    "uncache_aggressiveness": _small("0", "blocks of deleted files leave the block cache at once"),
    "verify_output_flags": _large("kVerifyNone/0", "each new file is read again after it was written"),
}

_TABLE: Final[Mapping[str, NotSimulated]] = {
    "block_align": _small("false", "blocks begin at pages, with space between them"),
    "block_cache": _none(_OBJECT),
    "block_cache_compressed": _large("none", "a second cache, of compressed blocks, saves reads of the device"),
    "block_cache_name": _small("LRUCache", "the block cache is an LRU cache"),
    "block_cache_options": _none(_LABEL),
    "cache_index_and_filter_blocks_with_high_priority": _small("false | 6.4: true", "which blocks leave the block cache first"),
    "checksum": _small("kCRC32c/1 | 7.8: kXXH3/4", "CPU for the checksum of a block"),
    "data_block_hash_table_util_ratio": _none("counts only with a hash index in data blocks"),
    "data_block_index_type": _small("kDataBlockBinarySearch/0", "CPU to find a key in a block, and space of its index"),
    "decouple_partitioned_filters": _none(_PARTS),
    "detect_filter_construct_corruption": _none(_CHECK),
    "enable_index_compression": _small("true", "the size of index blocks on the device"),
    "fail_if_no_udi_on_open": _none(_OPEN),
    "flush_block_policy_factory": _small("FlushBlockBySizePolicyFactory", "blocks end by their size"),
    "hash_index_allow_collision": _none("counts only with a hash index"),
    "high_pri_pool_ratio": _small("0/0.5", "which blocks leave the block cache first"),
    "index_block_restart_interval": _small("1", "the size of index blocks"),
    "index_shortening": _small("kShortenSeparators/1", "the size of index blocks"),
    "index_type": _large("kBinarySearch/0", "an index of two levels keeps less in memory and reads more blocks"),
    "initial_auto_readahead_size": _small("8192", "readahead of scans"),
    "low_pri_pool_ratio": _small("0", "which blocks leave the block cache first"),
    "max_auto_readahead_size": _small("262144", "readahead of scans"),
    "memory_allocator": _small("none", "memory of the block cache"),
    "metadata_block_size": _none(_PARTS),
    "metadata_cache_options.partition_pinning": _none(_PARTS),
    "metadata_cache_options.top_level_index_pinning": _none(_PARTS),
    "metadata_cache_options.unpartitioned_pinning": _small("kFallback", "metadata blocks that never leave the block cache"),
    "num_file_reads_for_auto_readahead": _small("2", "readahead of scans"),
    "num_shard_bits": _none("locks of the block cache"),
    "optimize_filters_for_hits": _small(
        "false", "the deepest level has no filters: less space, but a read of a key that does not exist searches a block there"
    ),
    "optimize_filters_for_memory": _small("false | 9.2: true", "filters fit the pages of the allocator: some bits more or less"),
    "partition_filters": _large("false", "filters in parts keep less in memory and read more blocks"),
    "persistent_cache": _large("none", "a second cache on a device saves reads"),
    "pin_l0_filter_and_index_blocks_in_cache": _small("false", "index and filter blocks of L0 never leave the block cache"),
    "pin_top_level_index_and_filter": _none(_PARTS),
    "prepopulate_block_cache": _large("kDisable/0", "flushes put their blocks into the block cache"),
    "read_amp_bytes_per_bit": _none(_LABEL),
    "separate_key_value_in_data_block": _small("false", "CPU to find a key in a block"),
    "strict_capacity_limit": _small("false", "reads fail where the block cache is full"),
    "super_block_alignment_size": _small("0", "blocks stay within larger units, with space between them"),
    "super_block_alignment_space_overhead_ratio": _none("counts only with super_block_alignment_size"),
    "uniform_cv_threshold": _small("-1", "CPU to find a key in an index block"),
    "use_delta_encoding": _small("true", "the size of data blocks with similar keys"),
    "use_udi_as_primary_index": _none("counts only with user_defined_index_factory"),
    "user_defined_index_factory": _large("none", "the application's own index"),
    "verify_compression": _small("false", "CPU to decompress each new block"),
    "whole_key_filtering": _small("true", "filters hold prefixes alone, so a get of a key searches more blocks"),
}

_HOST: Final[Mapping[str, NotSimulated]] = {
    "checkpoint.*": _none("files are copied after a checkpoint, past the database"),
    "localdir": _none("a path, which does not show the device"),
    "log.*": _none(_LABEL),
    "memory.fixed_per_tm": _large("none", "bounds memtables and block cache of all slots; memory.fixed-per-slot is read"),
    "memory.high_prio_pool_ratio": _none("index and filter blocks are simulated as any other blocks of the cache"),
    "memory.managed": _large("false", "Flink's memory of a slot bounds memtables and block cache; memory.fixed-per-slot is read"),
    "memory.partitioned_index_filters": _large("false", "as partition_filters"),
    "metrics.*": _none(_LABEL),
    "shared_block_cache": _large("true", "each column family has a block cache of its own, as its block-cache-size says"),
    "timer_service.*": _none("where Flink keeps its timers, a small part of the load"),
    "titan.enabled": _large("false", "Titan keeps values apart in blob files of its own, and collects their garbage"),
    "titan.*": _none("counts only with titan.enabled"),
}
"""Settings of host programs: Flink's after state.backend.rocksdb. and those in the sections of TiKV's file about Titan. The name
`group.*` stands for all others of a group."""

NOT_SIMULATED: Final[Mapping[str, NotSimulated]] = {**_DATABASE, **_FAMILY, **_TABLE, **_HOST}
"""Options by flat name, as files write them: those of the database, of a column family, of its tables, and of host programs."""


def not_simulated(name: str) -> NotSimulated | None:
    """Return the line of an option, or that of its group (`titan.*`); None if it has none.

    >>> not_simulated("titan.sample_ratio").effect, not_simulated("no_such_option")
    (<Effect.NONE: 'none'>, None)
    """
    return NOT_SIMULATED.get(name) or NOT_SIMULATED.get(f"{name.partition('.')[0]}.*")


def reason_text(name: str) -> str | None:
    """Return in words why RocksDB's option `name` cannot be set; None if it has no line here."""
    known = not_simulated(name)
    return f"RocksDB has this option, the simulator does not ({known.effect} effect): {known.reason}" if known else None

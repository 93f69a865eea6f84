"""RocksDB's options as dataclasses: RocksDB's names, sizes in bytes, rates in bytes per second, defaults of 7.8."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from lsmlab.models.units import quantity

_U64: Final = 2.0**64
_I32: Final = 2.0**31
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30
DAY_S: Final = 86_400


class CompactionStyle(Enum):
    """Values of `compaction_style`."""

    LEVEL = "kCompactionStyleLevel"
    UNIVERSAL = "kCompactionStyleUniversal"
    FIFO = "kCompactionStyleFIFO"
    NONE = "kCompactionStyleNone"


class CompactionPri(Enum):
    """Values of `compaction_pri`, the order of the files of a level (behaviour/leveled-compaction.md, File priority)."""

    BY_COMPENSATED_SIZE = "kByCompensatedSize"
    OLDEST_LARGEST_SEQ_FIRST = "kOldestLargestSeqFirst"
    OLDEST_SMALLEST_SEQ_FIRST = "kOldestSmallestSeqFirst"
    MIN_OVERLAPPING_RATIO = "kMinOverlappingRatio"
    ROUND_ROBIN = "kRoundRobin"


class Compression(Enum):
    """Compression types, by their names in an OPTIONS file."""

    NONE = "kNoCompression"
    SNAPPY = "kSnappyCompression"
    ZLIB = "kZlibCompression"
    BZIP2 = "kBZip2Compression"
    LZ4 = "kLZ4Compression"
    LZ4HC = "kLZ4HCCompression"
    XPRESS = "kXpressCompression"
    ZSTD = "kZSTD"
    ZSTD_NOT_FINAL = "kZSTDNotFinalCompression"
    DISABLED = "kDisableCompressionOption"
    """Only for `bottommost_compression`: use the compression of the level."""

    @property
    def compresses(self) -> bool:
        """Return whether blocks are compressed."""
        return self not in (Compression.NONE, Compression.DISABLED)


class StopStyle(Enum):
    """Values of `compaction_options_universal.stop_style`."""

    TOTAL_SIZE = "kCompactionStopStyleTotalSize"
    SIMILAR_SIZE = "kCompactionStopStyleSimilarSize"


class RateLimiterMode(Enum):
    """I/O that the rate limiter counts."""

    READS = "kReadsOnly"
    WRITES = "kWritesOnly"
    ALL = "kAllIo"


class Temperature(Enum):
    """Temperatures of files (include/rocksdb/types.h); kCool and kIce from 10.8 on."""

    UNKNOWN = "kUnknown"
    HOT = "kHot"
    WARM = "kWarm"
    COOL = "kCool"
    COLD = "kCold"
    ICE = "kIce"

    @property
    def leaves(self) -> bool:
        """Return whether files of this temperature are on `cold_device`.

        RocksDB leaves this to the application's FileSystem; its own one ignores temperatures.
        """
        return self not in (Temperature.UNKNOWN, Temperature.HOT)


@dataclass(frozen=True, slots=True)
class DbPath:
    """Item of `db_paths` or `cf_paths` (DbPath, include/rocksdb/options.h)."""

    path: str
    """Name of the directory; the first one is on `device`, the second one on `cold_device`."""
    target_size: int = quantity("bytes", 0, high=_U64)
    """Bytes that should be there; files of a path that is full go to the next one, whatever the last one holds."""


@dataclass(frozen=True, slots=True)
class UniversalOptions:
    """Members of `compaction_options_universal` (behaviour/universal-and-fifo.md, Universal options)."""

    size_ratio: int = quantity("count", 1, high=_I32)
    min_merge_width: int = quantity("count", 2, high=2.0**32)
    max_merge_width: int = quantity("count", 2**32 - 1, high=2.0**32)
    max_size_amplification_percent: int = quantity("count", 200, high=2.0**32)
    compression_size_percent: int = quantity("count", -1, low=-1, high=_I32)
    stop_style: StopStyle = StopStyle.TOTAL_SIZE
    allow_trivial_move: bool = False
    max_read_amp: int = quantity("count", -1, low=-1, high=_I32)
    """9.4 and later: -1 = the trigger, 0 = automatic."""


@dataclass(frozen=True, slots=True)
class TemperatureAge:
    """Item of `compaction_options_fifo.file_temperature_age_thresholds` (FileTemperatureAge)."""

    temperature: Temperature = Temperature.UNKNOWN
    age: int = quantity("seconds", 0, high=_U64)
    """Age from which files are rewritten with this temperature."""


@dataclass(frozen=True, slots=True)
class FifoOptions:
    """Members of `compaction_options_fifo` (behaviour/universal-and-fifo.md, FIFO options)."""

    max_table_files_size: int = quantity("bytes", _GIB, high=_U64)
    allow_compaction: bool = False
    age_for_warm: int = quantity("seconds", 0, high=_U64)
    max_data_files_size: int = quantity("bytes", 0, high=_U64)
    use_kv_ratio_compaction: bool = False
    file_temperature_age_thresholds: tuple[TemperatureAge, ...] = ()
    """8.3 and later."""

    @property
    def cold_from_s(self) -> int | None:
        """Return the age in s from which files are rewritten to `cold_device`; None: they are not."""
        return next((one.age for one in self.file_temperature_age_thresholds if one.temperature.leaves), None)


@dataclass(frozen=True, slots=True)
class RocksDbOptions:
    """Options of the RocksDB model after sanitising: no value is left to derive.

    The defaults are those of the library in 7.8; `lsmlab.models.options.options.resolve_options` gives those of other
    versions. The filter, the block cache, the rate limiter, statistics and the write options `disable_wal` and `sync`
    are objects or arguments in RocksDB; here they have the names of db_bench's flags.
    """

    # memtable and flush
    write_buffer_size: int = quantity("bytes", 64 * _MIB, high=_U64)
    max_write_buffer_number: int = quantity("count", 2, high=_I32)
    min_write_buffer_number_to_merge: int = quantity("count", 1, high=_I32)
    arena_block_size: int = quantity("bytes", _MIB, high=_U64)
    max_write_buffer_size_to_maintain: int = quantity("bytes", 0, low=-1, high=2.0**63)
    """6.5 and later: flushed memtables of at least this size stay in memory; -1: max_write_buffer_number x write_buffer_size."""
    max_write_buffer_number_to_maintain: int = quantity("count", 0, low=-1, high=_I32)
    """Up to 10.1, without a size: memtables that stay in memory, flushed ones included; -1: max_write_buffer_number."""
    db_write_buffer_size: int = quantity("bytes", 0, high=_U64)
    max_total_wal_size: int = quantity("bytes", 0, high=_U64)
    """0 = four times the memtables of all column families; no effect on a database with one column family."""
    atomic_flush: bool = False
    """Whether RocksDB flushes all column families together."""
    # jobs
    max_background_jobs: int = quantity("count", 2, low=-1, high=_I32)
    max_background_compactions: int = quantity("count", -1, low=-1, high=_I32)
    max_background_flushes: int = quantity("count", -1, low=-1, high=_I32)
    max_subcompactions: int = quantity("count", 1, high=_I32)
    # levels and compaction
    compaction_style: CompactionStyle = CompactionStyle.LEVEL
    compaction_pri: CompactionPri = CompactionPri.MIN_OVERLAPPING_RATIO
    disable_auto_compactions: bool = False
    num_levels: int = quantity("count", 7, low=-1, high=64)
    level0_file_num_compaction_trigger: int = quantity("count", 4, high=_I32)
    level0_slowdown_writes_trigger: int = quantity("count", 20, low=-1, high=_I32)
    level0_stop_writes_trigger: int = quantity("count", 36, low=-1, high=_I32)
    soft_pending_compaction_bytes_limit: int = quantity("bytes", 64 * _GIB, high=_U64)
    hard_pending_compaction_bytes_limit: int = quantity("bytes", 256 * _GIB, high=_U64)
    delayed_write_rate: int = quantity("bytes_per_s", 16 * _MIB, high=_U64)
    target_file_size_base: int = quantity("bytes", 64 * _MIB, low=1, high=_U64)
    target_file_size_multiplier: int = quantity("count", 1, low=1, high=_I32)
    max_bytes_for_level_base: int = quantity("bytes", 256 * _MIB, low=1, high=_U64)
    max_bytes_for_level_multiplier: float = quantity("ratio", 10.0, low=-_I32, high=_I32)
    max_bytes_for_level_multiplier_additional: tuple[int, ...] = ()
    level_compaction_dynamic_level_bytes: bool = False
    level_compaction_dynamic_file_size: bool = True
    """Align outputs with the files below (7.8+); always on from 9.0."""
    max_compaction_bytes: int = quantity("bytes", 1600 * _MIB, high=_U64)
    ignore_max_compaction_bytes_for_input: bool = True
    """7.8 to 8.11; without effect in other versions."""
    ttl: int = quantity("seconds", 30 * DAY_S, high=_U64)
    periodic_compaction_seconds: int = quantity("seconds", 0, high=_U64)
    bottommost_file_compaction_delay: int = quantity("seconds", 0, high=2.0**32)
    """8.6 and later: age from which a file that a snapshot kept large is compacted once the snapshot is released."""
    compaction_options_universal: UniversalOptions = field(default_factory=UniversalOptions)
    compaction_options_fifo: FifoOptions = field(default_factory=FifoOptions)
    # places of files
    db_paths: tuple[DbPath, ...] = ()
    """Directories with target sizes; empty: one."""
    cf_paths: tuple[DbPath, ...] = ()
    """5.14 and later: those of the column family; empty: `db_paths`."""
    last_level_temperature: Temperature = Temperature.UNKNOWN
    """6.21 and later, before 7.6 by the name bottommost_temperature."""
    preclude_last_level_data_seconds: int = quantity("seconds", 0, high=_U64)
    """7.5 and later: age up to which entries stay above the last level; 0: they do not."""
    # blob files
    enable_blob_files: bool = False
    """Whether large values live in blob files, apart from the SST files (6.18 and later)."""
    min_blob_size: int = quantity("bytes", 0, high=_U64)
    """Smallest value that lives in a blob file."""
    blob_file_size: int = quantity("bytes", 256 * _MIB, low=1, high=_U64)
    blob_compression_type: Compression = Compression.NONE
    blob_file_starting_level: int = quantity("count", 0, high=_I32)
    """7.4 and later: level from which on outputs have their large values in blob files."""
    enable_blob_garbage_collection: bool = False
    blob_garbage_collection_age_cutoff: float = quantity("ratio", 0.25, high=1.0)
    """Share of the blob files, the oldest ones, whose blobs move to new files when a compaction meets them."""
    blob_garbage_collection_force_threshold: float = quantity("ratio", 1.0, high=1.0)
    """6.26 and later: share of garbage in old blob files from which on the SST files with links to the oldest are compacted."""
    blob_compaction_readahead_size: int = quantity("bytes", 0, high=_U64)
    """6.27 and later."""
    use_blob_cache: bool = False
    """7.4 and later: whether blobs are kept in a cache (the object `blob_cache`; db_bench's flag)."""
    blob_cache_size: int = quantity("bytes", 0, high=_U64)
    """7.4 and later: capacity of the blob cache of the column family; 0: it is the block cache."""
    # input and output
    compaction_readahead_size: int = quantity("bytes", 0, high=_U64)
    writable_file_max_buffer_size: int = quantity("bytes", _MIB, low=1, high=_U64)
    bytes_per_sync: int = quantity("bytes", 0, high=_U64)
    wal_bytes_per_sync: int = quantity("bytes", 0, high=_U64)
    use_direct_reads: bool = False
    use_direct_io_for_flush_and_compaction: bool = False
    rate_limiter_bytes_per_sec: int = quantity("bytes_per_s", 0, high=_U64)
    """0 = no rate limiter. With rate_limiter_auto_tuned: the maximum rate."""
    rate_limiter_auto_tuned: bool = False
    rate_limiter_refill_period_us: int = quantity("count", 100_000, low=1, high=_U64)
    """Microseconds."""
    rate_limiter_fairness: int = quantity("count", 10, low=1, high=_I32)
    rate_limiter_mode: RateLimiterMode = RateLimiterMode.WRITES
    max_open_files: int = quantity("count", -1, low=-1, high=_I32)
    # writes
    disable_wal: bool = False
    sync: bool = False
    # compression
    compression: Compression = Compression.SNAPPY
    compression_per_level: tuple[Compression, ...] = ()
    """Empty: `compression` on all levels."""
    bottommost_compression: Compression = Compression.DISABLED
    # tables, filter, block cache
    block_size: int = quantity("bytes", 4096, low=1, high=2.0**32 - 1)
    block_size_deviation: int = quantity("count", 10, low=-_I32, high=_I32)
    block_restart_interval: int = quantity("count", 16, low=-_I32, high=_I32)
    format_version: int = quantity("count", 5, high=_I32)
    bloom_bits: float = quantity("count", 0.0, low=-1, high=1000)
    """Filter bits per key; 0 = no filter."""
    cache_size: int = quantity("bytes", 8 * _MIB, high=_U64)
    """Block cache; 0 = none."""
    cache_index_and_filter_blocks: bool = False
    statistics: bool = False
    """Whether a `Statistics` object counts tickers and histograms."""
    stats_dump_period_sec: int = quantity("seconds", 600, high=_U64)

    @property
    def paths(self) -> tuple[DbPath, ...]:
        """Return the directories of the column family's files, the first one first; empty: one."""
        return self.cf_paths or self.db_paths

    @property
    def caches_tails(self) -> bool:
        """Return whether index and filter blocks of tables are in the block cache."""
        return self.cache_index_and_filter_blocks and self.cache_size > 0

    @property
    def leaves_device(self) -> bool:
        """Return whether some files may go to `cold_device`."""
        fifo = self.compaction_style is CompactionStyle.FIFO
        by_age = fifo and self.compaction_options_fifo.cold_from_s is not None
        return by_age or len(self.paths) > 1 or self.last_level_temperature.leaves


DATABASE_OPTIONS: Final = frozenset(
    {
        "db_write_buffer_size", "max_total_wal_size", "atomic_flush", "max_background_jobs", "max_background_compactions",
        "max_background_flushes", "max_subcompactions", "delayed_write_rate", "compaction_readahead_size",
        "writable_file_max_buffer_size", "bytes_per_sync", "wal_bytes_per_sync",
        "use_direct_reads", "use_direct_io_for_flush_and_compaction", "rate_limiter_bytes_per_sec",
        "rate_limiter_auto_tuned", "rate_limiter_refill_period_us", "rate_limiter_fairness", "rate_limiter_mode",
        "max_open_files", "disable_wal", "sync", "statistics", "stats_dump_period_sec", "cache_size", "db_paths",
    }
)  # fmt: skip
"""Options that all column families of a database share. `disable_wal` and `sync` belong to RocksDB's WriteOptions, which
here are the same for all writes; `cache_size` is one block cache for all families."""

"""Table of the changes that an advice tries, one row each, and where the model reads their options.

A row is offered where each of its options is `in_effect` and exists in the release, its own condition holds, and at least one
value differs. A new candidate is one row: changes, why, what it relieves, what it spares. Options that the model does not
simulate have no row, because a run cannot judge them (`lsmlab.models.options.not_simulated`).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from lsmlab.models import since
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.studies.candidate_rows import (
    ChangeKind,
    Relief,
    Row,
    Symptom,
    Value,
    above_present_writes,
    as_large_as_l0,
    as_the_last_level,
    at_least,
    at_most,
    fewer_cores,
    flipped,
    from_none,
    halved,
    longer_wals,
    more_cores,
    plus,
    smaller_memtables,
    times,
    to,
    twice_cores,
    twice_threads,
)  # fmt: skip
from lsmlab.sim.studies.present import (
    FIFO,
    LEVEL,
    UNIVERSAL,
    Condition,
    Present,
    all_of,
    anywhere,
    buffered,
    capped,
    compressed_by,
    derived_jobs,
    drive,
    failing,
    faster_drive,
    has_key,
    l0_limits,
    large,
    limiter,
    merges,
    no_limiter,
    old_jobs,
    one_family,
    open_loop,
    option_is,
    picker,
    policy_is,
    policy_is_not,
    reads,
    several_families,
    shared_memtables,
    since_release,
    style,
    three_memtables,
    upper_levels_stored,
    values_vary,
)  # fmt: skip

_KIB, _MIB = 1 << 10, 1 << 20
_B = Bottleneck
_MEMTABLE, _L0, _PENDING = Symptom.MEMTABLE_STALL, Symptom.L0_STALL, Symptom.PENDING_STALL
_READS, _CLIENTS = Symptom.READS, Symptom.CLIENTS
_COMPRESSION, _MIGRATION = ChangeKind.COMPRESSION, ChangeKind.MIGRATION
_MACHINE, _POLICIES = ChangeKind.MACHINE, ChangeKind.POLICIES
_U, _F = "compaction_options_universal", "compaction_options_fifo"
_ROOM: Final[Set[Relief]] = {_B.MEMTABLES, _MEMTABLE}
_BUDGET: Final[Set[Relief]] = {*_ROOM, Symptom.SMALL_FLUSHES}
_WORK: Final[Set[Relief]] = {
    _B.DEVICE_BANDWIDTH, _B.WRITE_CAP, _B.READ_CAP, _B.LIMITER, _B.CORES, _B.SLOTS, _B.L0_COMPACTION, _B.COMPACTION_SPEED,
    _L0, _PENDING,
}  # fmt: skip
"""What fewer rewrites of the data spare."""
_REQUESTS: Final[Set[Relief]] = {_B.DEVICE_REQUESTS, _B.IOPS_CAP}
"""What larger requests spare."""
_FEWER_JOBS: Final[Set[Relief]] = {_B.CORES, _B.DEVICE_REQUESTS}
_DRIVE: Final[Set[Relief]] = {_B.DEVICE_BANDWIDTH, _B.DEVICE_REQUESTS, _B.SYNC}
_has_blobs: Final = option_is("enable_blob_files", True)
_could_have_blobs: Final = all_of(
    option_is("enable_blob_files", False), large, merges,
    policy_is("picker", "RocksDbPicker", "Overflow", "Vlsm", "LazyLeveling"),
)  # fmt: skip
"""Whether it makes sense that values leave the SST files; other engines keep them, or their versions, in another way."""
_COLLECT: Final[Mapping[str, Value]] = {
    "enable_blob_garbage_collection": to(True), "blob_compaction_readahead_size": at_least(2 * _MIB),
}  # fmt: skip
"""Collection; without readahead, it reads each value by a request of its own."""
_collects_blobs: Final = all_of(_has_blobs, option_is("enable_blob_garbage_collection", True))

TABLE: Final[Mapping[str, tuple[Row, ...]]] = {
    "memtables": (
        Row({"max_write_buffer_number": plus(2)}, "room for writes while flushes wait", _ROOM),
        Row({"max_write_buffer_number": at_least(4)}, "slowdown before the last memtable is full", _ROOM),
        Row({"write_buffer_size": times(4)}, "fewer and larger flushes, fewer L0 files", _ROOM, {*_WORK, _B.SYNC}),
        Row({"write_buffer_size": times(2)}, "fewer and larger flushes, fewer L0 files", _ROOM, {*_WORK, _B.SYNC}),
        Row({"write_buffer_size": smaller_memtables}, "shorter flushes and smaller L0 compactions"),
        Row({"min_write_buffer_number_to_merge": at_most(1)}, "a flush begins with the first full memtable", _ROOM),
        Row({"min_write_buffer_number_to_merge": at_least(2)}, "merges memtables before the flush", where=three_memtables),
        Row({"max_write_buffer_size_to_maintain": at_most(1)}, "flushed memtables leave the shared budget at once",
            {*_BUDGET, _B.MANAGER}, {*_WORK, _B.SYNC}, where=shared_memtables),
    ),
    "shared memory": (  # of the memtables of all families, and the WALs that they keep alive
        Row({"db_write_buffer_size": times(4)}, "memtables fill before the shared budget does", _BUDGET, {*_WORK, _B.SYNC}),
        Row({"db_write_buffer_size": to(0)}, "no shared budget of memtables", _BUDGET, {*_WORK, _B.SYNC}),
        Row({"arena_block_size": at_most(64 * _KIB)}, "small memtables take less of the budget", _BUDGET, where=shared_memtables),
        Row({"max_total_wal_size": longer_wals}, "old WALs force fewer flushes of small memtables", _BUDGET, {*_WORK, _B.SYNC}),
    ),
    "shared by databases": (
        Row({"shared.write_buffer_manager": times(4)}, "memtables of all databases fill before their buffer does",
            {*_BUDGET, _B.MANAGER}, {*_WORK, _B.SYNC}),
        Row({"shared.write_buffer_manager": times(2)}, "memtables of all databases fill before their buffer does",
            {*_BUDGET, _B.MANAGER}, {*_WORK, _B.SYNC}),
        Row({"shared.allow_stall": to(False)}, "a full buffer stops no writer; memory may exceed it", {_B.MANAGER},
            where=has_key("shared.write_buffer_manager"), restart=True),
        Row({"shared.flush_threads": times(2)}, "more flushes of all databases side by side",
            {_B.SLOTS, _MEMTABLE, _B.MANAGER}, where=has_key("databases")),
        Row({"shared.compaction_threads": times(2)}, "more compactions of all databases side by side",
            {_B.SLOTS, _L0, _PENDING}, where=has_key("databases")),
        Row({"shared.rate_limiter": to(False)}, "a rate limiter for each database", {_B.LIMITER},
            where=all_of(has_key("databases"), limiter), restart=True),
        Row({"shared.block_cache": times(4)}, "more blocks in memory", {_READS}, {_B.READ_CAP, *_REQUESTS}, where=reads),
    ),
    "reads": (
        Row({"bloom_bits": from_none(10)}, "filters spare reads of files without the key", {_READS}, {_B.READ_CAP, *_REQUESTS}),
        Row({"cache_size": times(4)}, "more blocks in memory", {_READS}, {_B.READ_CAP, *_REQUESTS}),
        Row({"cache_size": times(16)}, "more blocks in memory", {_READS}, {_B.READ_CAP, *_REQUESTS}),
        Row({"cache_size": from_none(256 * _MIB)}, "blocks in memory", {_READS}, {_B.READ_CAP, *_REQUESTS}, restart=True),
        Row({"max_open_files": to(-1)}, "tables stay open, with index and filter in memory", {_READS}, {_B.READ_CAP, *_REQUESTS}),
        Row({"block_size": at_most(4 * _KIB)}, "a point read fetches fewer bytes", {_READS}, {_B.READ_CAP}),
        Row({"block_size": at_least(16 * _KIB)}, "a smaller index, and fewer blocks per scan", {_READS}),
    ),
    "l0": (
        Row({"level0_slowdown_writes_trigger": times(2), "level0_stop_writes_trigger": times(2)}, "writers are slowed later",
            {_B.THROTTLE, _L0}),
        Row({"level0_file_num_compaction_trigger": times(2)}, "larger L0 compactions, fewer rewrites", set(), _WORK),
        Row({"level0_file_num_compaction_trigger": halved(2)}, "smaller L0 compactions", {_B.LOCKED_FILES, _READS}),
        Row({"level0_file_num_compaction_trigger": at_most(4)}, "L0 compactions begin earlier", {_B.LOCKED_FILES, _READS, _L0}),
        Row({"disable_auto_compactions": to(False)}, "compactions keep the number of files small", {_B.MEMTABLES, _READS}),
    ),
    "pending": (
        Row({"soft_pending_compaction_bytes_limit": times(4), "hard_pending_compaction_bytes_limit": times(4)},
            "writers are slowed later", {_B.THROTTLE, _PENDING}),
        Row({"soft_pending_compaction_bytes_limit": to(0), "hard_pending_compaction_bytes_limit": to(0)},
            "compaction debt never slows writers", {_B.THROTTLE, _PENDING}),
    ),
    "jobs": (
        Row({"max_background_jobs": times(2)}, "more compactions side by side", {_B.SLOTS, _L0, _PENDING}),
        Row({"max_background_jobs": more_cores}, "more compactions side by side", {_B.SLOTS, _L0, _PENDING}),
        Row({"max_background_jobs": halved(2)}, "flushes share the drive with fewer compactions", set(), _FEWER_JOBS),
        Row({"max_background_jobs": fewer_cores}, "no more jobs than cores", set(), {_B.CORES}),
        Row({"max_background_compactions": twice_threads}, "more compactions side by side", {_B.SLOTS, _L0, _PENDING}),
        Row({"max_background_flushes": twice_threads}, "more flushes side by side", {_B.SLOTS, _MEMTABLE}),
        Row({"max_subcompactions": at_least(4)}, "L0 compactions with several threads",
            {_B.SLOTS, _B.L0_COMPACTION, _B.COMPACTION_SPEED, _B.LOCKED_FILES, _L0, _PENDING}),
    ),
    "slowdowns": (Row({"delayed_write_rate": times(2)}, "milder slowdowns", {_B.THROTTLE, _L0, _PENDING}),),
    "levels": (
        Row({"max_bytes_for_level_base": times(4)}, "fewer rewrites between the upper levels", set(), _WORK),
        Row({"max_bytes_for_level_base": as_large_as_l0}, "base level as large as L0", set(), _WORK),
        Row({"max_bytes_for_level_multiplier": halved(2)}, "fewer bytes per level, more levels"),
        Row({"level_compaction_dynamic_level_bytes": to(True)}, "level targets follow the last level, less space", {_B.ERROR},
            kind=_MIGRATION),
        Row({"level_compaction_dynamic_level_bytes": to(False)}, "fixed level targets", kind=_MIGRATION),
        Row({"target_file_size_base": times(2)}, "larger SST files", set(), {_B.SYNC, *_REQUESTS}),
        Row({"target_file_size_base": halved(_MIB)}, "a compaction locks fewer bytes", {_B.LOCKED_FILES}),
        Row({"max_compaction_bytes": times(0.25)}, "a compaction locks fewer bytes", {_B.LOCKED_FILES}),
        Row({"compaction_pri": to("kMinOverlappingRatio")}, "files that overlap least first", set(), _WORK),
        Row({"compaction_pri": to("kOldestSmallestSeqFirst")}, "files that were not compacted for longest first", set(), _WORK),
        Row({"compaction_pri": to("kRoundRobin")}, "key ranges in turn, with threads that are free", {_B.LOCKED_FILES}, _WORK,
            since_release(since.ROUND_ROBIN)),
        Row({"bottommost_file_compaction_delay": at_least(3600)}, "released snapshots cause fewer rewrites", set(),
            _WORK, has_key("conditions.snapshots")),
        Row({"compaction_style": to(UNIVERSAL)}, "fewer rewrites, more space", set(), _WORK, style(LEVEL), _MIGRATION),
        Row({"compaction_style": to(LEVEL)}, "fewer runs and less space, more rewrites", {_B.ERROR, _READS}, kind=_MIGRATION),
    ),
    "universal": (
        Row({f"{_U}.size_ratio": at_least(10)}, "a compaction takes more runs of similar size", set(), _WORK),
        Row({f"{_U}.min_merge_width": at_least(4)}, "compactions of more runs, fewer rewrites", set(), _WORK),
        Row({f"{_U}.max_merge_width": at_most(8)}, "shorter compactions", {_B.LOCKED_FILES}),
        Row({f"{_U}.max_size_amplification_percent": times(2)}, "fewer full compactions, more space", set(), _WORK),
        Row({f"{_U}.max_size_amplification_percent": halved(25)}, "full compactions earlier, less space", {_B.ERROR, _READS}),
        Row({f"{_U}.stop_style": to("kCompactionStopStyleSimilarSize")}, "compactions of runs of like size only", set(), _WORK),
        Row({f"{_U}.max_read_amp": to(0)}, "number of runs follows the size of the store", {_READS}),
        Row({f"{_U}.allow_trivial_move": to(True)}, "files without overlap are moved, not rewritten", set(), _WORK),
        Row({"num_levels": at_least(7)}, "runs of several files, locked in parts", {_B.LOCKED_FILES}, kind=_MIGRATION),
    ),
    "fifo": (Row({f"{_F}.allow_compaction": to(True)}, "small files are merged", {_READS}),),
    "blobs": (  # values apart from the SST files
        Row({"enable_blob_files": to(True), **_COLLECT}, "compactions rewrite references and the oldest values only", set(),
            _WORK, _could_have_blobs),
        Row({"enable_blob_files": to(True)}, "each value is written once; overwritten ones take space", set(), _WORK,
            _could_have_blobs),
        Row({"enable_blob_files": to(False)}, "values in the SST files again: less space, and one read less", {_B.ERROR, _READS},
            _REQUESTS, _has_blobs, _MIGRATION),
        Row(_COLLECT, "compactions free the oldest blob files", {_B.ERROR},
            where=all_of(_has_blobs, option_is("enable_blob_garbage_collection", False))),
        Row({"enable_blob_garbage_collection": to(False)}, "compactions move no values, which takes space", set(), _WORK,
            _collects_blobs),
        Row({"blob_garbage_collection_age_cutoff": at_least(0.5)}, "compactions move more values, less space", {_B.ERROR},
            where=_collects_blobs),
        Row({"blob_garbage_collection_age_cutoff": halved(0.05)}, "compactions move fewer values, more space", set(), _WORK,
            _collects_blobs),
        Row({"blob_garbage_collection_force_threshold": at_most(0.5)}, "collects blob files that no compaction meets", {_B.ERROR},
            where=all_of(_collects_blobs, style(LEVEL))),
        Row({"blob_garbage_collection_force_threshold": to(1.0)}, "no compactions for the sake of garbage alone", set(), _WORK,
            all_of(_collects_blobs, style(LEVEL))),
        Row({"target_file_size_base": times(0.125), "max_bytes_for_level_base": times(0.125)},
            "levels in proportion to the small SST files, so compactions meet old values", {_B.ERROR},
            where=all_of(_collects_blobs, style(LEVEL))),
        Row({"min_blob_size": at_least(_KIB)}, "small values stay in SST files, and need one read less", {_READS}, _REQUESTS,
            all_of(_has_blobs, values_vary)),
        Row({"min_blob_size": halved(128)}, "smaller values leave the SST files too", set(), _WORK,
            all_of(_has_blobs, values_vary)),
        Row({"blob_compaction_readahead_size": at_least(2 * _MIB)}, "compactions read the values that they move in portions",
            {*_REQUESTS, _B.COMPACTION_SPEED}, {_B.SLOTS, _B.L0_COMPACTION, _L0}, _collects_blobs),
        Row({"use_blob_cache": to(True)}, "values that were read stay in memory", {_READS}, {_B.READ_CAP, *_REQUESTS},
            all_of(_has_blobs, reads), restart=True),
        Row({"blob_compression_type": to("kLZ4Compression")}, "fewer bytes of blobs for CPU time, if the values compress by half",
            {_B.ERROR}, {_B.DEVICE_BANDWIDTH, _B.WRITE_CAP, _B.READ_CAP},
            all_of(_has_blobs, option_is("blob_compression_type", "kNoCompression")), _COMPRESSION),
    ),
    "limiter": (
        Row({"rate_limiter_bytes_per_sec": times(4)}, "a higher limit of flushes and compactions", {_B.LIMITER}),
        Row({"rate_limiter_bytes_per_sec": times(10), "rate_limiter_auto_tuned": to(True)},
            "a limit that follows the work, up to ten times the present one", {_B.LIMITER}, where=limiter),
        Row({"rate_limiter_bytes_per_sec": to(0)}, "no limit of flushes and compactions", {_B.LIMITER}, restart=True),
        Row({"rate_limiter_bytes_per_sec": times(0.5)}, "flushes and compactions leave more of the drive to reads", {_READS},
            where=reads),
        Row({"rate_limiter_mode": to("kWritesOnly")}, "the limit counts writes only", {_B.LIMITER}),
        Row({"rate_limiter_bytes_per_sec": above_present_writes, "rate_limiter_auto_tuned": to(True)},
            "flushes and compactions in a steady stream leave the drive to reads", {_READS}, where=all_of(no_limiter, reads),
            restart=True),
    ),
    "compression": (
        Row({"compression": to("kLZ4Compression")}, "fewer bytes for CPU time, if the data compress by half", {_B.ERROR},
            {_B.DEVICE_BANDWIDTH, _B.WRITE_CAP, _B.READ_CAP}, compressed_by("kNoCompression"), _COMPRESSION),
        Row({"compression": to("kLZ4Compression")}, "a codec that takes less CPU time, if the ratio stays", set(), {_B.CORES},
            compressed_by("kZlibCompression", "kBZip2Compression", "kZSTD", "kLZ4HCCompression"), _COMPRESSION),
        Row({"compression_per_level": as_the_last_level}, "upper levels compressed as the last one: fewer bytes for CPU time",
            {_B.ERROR}, {_B.DEVICE_BANDWIDTH, _B.WRITE_CAP, _B.READ_CAP}, upper_levels_stored, _COMPRESSION),
        Row({"compression": to("kNoCompression")}, "no CPU time of the codec, more bytes", set(), {_B.CORES}, kind=_COMPRESSION),
    ),
    "io": (
        Row({"bytes_per_sync": from_none(_MIB)}, "files reach the drive while they are written", {_B.SYNC}),
        Row({"compaction_readahead_size": at_least(2 * _MIB)}, "larger reads of compactions", _REQUESTS, {_B.READ_CAP}),
        Row({"compaction_readahead_size": at_least(8 * _MIB)}, "larger reads of compactions", _REQUESTS),
        Row({"writable_file_max_buffer_size": at_least(4 * _MIB)}, "larger writes of flushes and compactions", _REQUESTS),
        Row({"use_direct_io_for_flush_and_compaction": flipped}, "writes past the page cache, or through it", set(),
            {_B.DEVICE_BANDWIDTH, _B.SYNC, _READS}),
        Row({"use_direct_reads": flipped}, "reads past the page cache, or through it", set(), {_B.READ_CAP, _READS}),
    ),
    "device": (
        Row({"device": to("sata")}, "a faster drive", _DRIVE, where=drive("hdd"), kind=_MACHINE),
        Row({"device": to("nvme")}, "a faster drive", _DRIVE, where=drive("hdd", "sata"), kind=_MACHINE),
        Row({"device": to("samsung_pm1743")}, "a faster drive", _DRIVE, where=faster_drive, kind=_MACHINE),
        Row({"conditions": to("none")}, "a drive with free space and without errors", {_B.ERROR}, where=failing, kind=_MACHINE),
    ),
    "limits": (
        Row({"device.write_cap": times(2)}, "twice the limit", {_B.WRITE_CAP}, kind=_MACHINE),
        Row({"limits.write_cap": times(2)}, "twice the limit", {_B.WRITE_CAP}, kind=_MACHINE),
        Row({"device.read_cap": times(2)}, "twice the limit", {_B.READ_CAP}, kind=_MACHINE),
        Row({"limits.read_cap": times(2)}, "twice the limit", {_B.READ_CAP}, kind=_MACHINE),
        Row({"device.iops_cap": times(2)}, "twice the limit", {_B.IOPS_CAP}, kind=_MACHINE),
        Row({"limits.iops_cap": times(2)}, "twice the limit", {_B.IOPS_CAP}, kind=_MACHINE),
        Row({"device.background_cap": times(2)}, "twice the limit", {_B.WRITE_CAP, _B.READ_CAP}, kind=_MACHINE),
        Row({"limits.background_cap": times(2)}, "twice the limit", {_B.WRITE_CAP, _B.READ_CAP}, kind=_MACHINE),
        Row({"limits": to("none")}, "no cap", {_B.WRITE_CAP, _B.READ_CAP, _B.IOPS_CAP}, where=capped, kind=_MACHINE),
    ),
    "cores": (Row({"host.cores": twice_cores}, "more cores", {_B.CORES}, kind=_MACHINE),),
    "policies": (
        Row({"engine/scheduler": to("rocksdb")}, "RocksDB's scheduler pauses no compaction", {_B.PAUSED},
            where=policy_is_not("scheduler", "RocksDbScheduling", "OneThread"), kind=_POLICIES),
        Row({"engine/scheduler": to("silk")}, "SILK: flushes and L0 compactions before other compactions",
            where=all_of(policy_is_not("scheduler", "Silk", "SilkCode"), one_family), kind=_POLICIES),
        Row({"engine/tuner": to("adoc")}, "ADOC: threads and memtables follow the load",
            where=all_of(policy_is_not("tuner", "Adoc", "AdocCode"), one_family), kind=_POLICIES),
        Row({"engine": to("vlsm")}, "vLSM: short compaction chains, with its own sizes",
            where=all_of(policy_is_not("picker", "Vlsm"), one_family), kind=_POLICIES),
    ),
    "clients": (
        Row({"workload.threads": times(2)}, "operations wait for fewer others before them", {_CLIENTS}, where=open_loop,
            kind=ChangeKind.APPLICATION),
    ),
}  # fmt: skip
"""Rows by what of the present state they concern, a key of `condition`; of equal use, the first rows are tried first."""

_levels = picker("LevelDbPicking", "LdcPicking", "Triad", "Overflow")
_throttled = policy_is("throttle", "RocksDbThrottling", "L0Queue")
_threads = policy_is("scheduler", "RocksDbScheduling", "Silk", "SilkCode")
_EFFECTIVE: Final[Mapping[str, Condition]] = {
    "max_total_wal_size": several_families,  # a database of one family has no limit
    "max_background_jobs": all_of(_threads, derived_jobs),
    "max_background_compactions": all_of(_threads, old_jobs),
    "max_background_flushes": all_of(_threads, old_jobs),
    "max_subcompactions": all_of(_threads, merges),
    "min_write_buffer_number_to_merge": policy_is("throttle", "RocksDbThrottling"),
    "level0_slowdown_writes_trigger": all_of(
        policy_is("throttle", "RocksDbThrottling", "LevelDbThrottling", "PebblesThrottling"), l0_limits
    ),
    "level0_stop_writes_trigger": l0_limits,
    "delayed_write_rate": _throttled,
    "soft_pending_compaction_bytes_limit": all_of(_throttled, _levels),  # other styles have no compaction debt
    "hard_pending_compaction_bytes_limit": all_of(_throttled, _levels),
    "max_bytes_for_level_base": _levels,
    "max_bytes_for_level_multiplier": picker("LevelDbPicking", "LdcPicking", "Triad", "Overflow", "Vlsm"),
    "level_compaction_dynamic_level_bytes": style(LEVEL),
    "max_compaction_bytes": style(LEVEL),
    "compaction_pri": style(LEVEL),
    "bottommost_file_compaction_delay": style(LEVEL),
    "compaction_style": style(LEVEL, UNIVERSAL, FIFO),
    "num_levels": style(UNIVERSAL),
    "target_file_size_base": merges,
    _U: style(UNIVERSAL),
    _F: style(FIFO),
    "compression": lambda p: not p.options.get("compression_per_level"),
    "rate_limiter_mode": limiter,
    "rate_limiter_auto_tuned": policy_is("scheduler", "RocksDbScheduling"),
    "rate_limiter_bytes_per_sec": policy_is("scheduler", "RocksDbScheduling"),
    "bytes_per_sync": buffered,
    "use_direct_io_for_flush_and_compaction": buffered,
    "use_direct_reads": buffered,
    "bloom_bits": reads, "cache_size": reads, "max_open_files": reads, "block_size": reads,
}  # fmt: skip


def in_effect(option: str, present: Present) -> bool:
    """Return whether the release has an option, and the engine reads it in the present state."""
    return present.has(option) and _EFFECTIVE.get(option.partition(".")[0], anywhere)(present)

"""Changes that RocksDB makes to options when it opens a store, and combinations that RocksDB refuses.

Source (behaviour/options.md, Changes at open): SanitizeOptions, SanitizeCfOptions, ValidateOptions and
ColumnFamilyData::ValidateOptions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

from lsmlab.models import since
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import DAY_S, CompactionPri, CompactionStyle, RocksDbOptions
from lsmlab.models.options.values import WHERE
from lsmlab.models.tree.memtable import default_arena_block_size
from lsmlab.models.version import Version

_KIB: Final = 1 << 10
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30
_INT_MAX: Final = 2**31 - 1
_AUTO_FROM_S: Final = 2**63
"""Values of ttl and periodic_compaction_seconds from here on mean "automatic" (near 2^64 in RocksDB)."""
_AGE_LIMIT_S: Final = 30 * DAY_S
_MOST_PATHS: Final = 2
"""Paths of the model: one per device. RocksDB allows four."""


class Draft:
    """Options during sanitising, with a note for each change of a value that the user set."""

    def __init__(self, options: RocksDbOptions, version: Version) -> None:
        self.options = options
        self.version = version
        self.notes: list[str] = []

    def derive(self, **changes: Any) -> None:
        """Set derived values, without a note."""
        self.options = dataclasses.replace(self.options, **changes)

    def change(self, name: str, value: Any, reason: str) -> None:
        """Set one option and note the change, if its value differs."""
        old = getattr(self.options, name)
        if old != value:
            self.notes.append(f"{name} changed from {_show(old)} to {_show(value)}: {reason}")
            self.derive(**{name: value})


def sanitise(options: RocksDbOptions, version: Version) -> tuple[RocksDbOptions, list[str]]:
    """Return the options of the open store, and a note for each option that RocksDB changed.

    Raises InputError for a combination that RocksDB refuses or that the simulator does not model.
    """
    draft = Draft(options, version)
    for rule in _RULES:
        rule(draft)
    _refuse(draft.options, version)
    return draft.options, draft.notes


def _show(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _memtables(draft: Draft) -> None:
    o = draft.options
    clipped = min(max(o.write_buffer_size, 64 * _KIB), 64 * _GIB)
    draft.change("write_buffer_size", clipped, "RocksDB limits it to the range from 64 KiB to 64 GiB")
    draft.change("max_write_buffer_number", max(o.max_write_buffer_number, 2), "RocksDB needs at least 2 memtables")
    most = draft.options.max_write_buffer_number - 1
    merged = max(1, min(o.min_write_buffer_number_to_merge, most))
    reason = "RocksDB limits it to the range from 1 to max_write_buffer_number - 1"
    draft.change("min_write_buffer_number_to_merge", merged, reason)
    if o.max_write_buffer_size_to_maintain < 0:
        history = draft.options.max_write_buffer_number * draft.options.write_buffer_size
        draft.derive(max_write_buffer_size_to_maintain=history)
    if o.max_write_buffer_number_to_maintain < 0:
        draft.derive(max_write_buffer_number_to_maintain=draft.options.max_write_buffer_number)
    if o.arena_block_size == 0:
        draft.derive(arena_block_size=default_arena_block_size(draft.options.write_buffer_size, draft.version))


def _levels(draft: Draft) -> None:
    o = draft.options
    draft.change("num_levels", max(o.num_levels, 1), "RocksDB needs at least 1 level")
    if o.compaction_style is CompactionStyle.LEVEL:
        draft.change("num_levels", max(draft.options.num_levels, 2), "levelled compaction needs at least 2 levels")
    if o.compaction_style is CompactionStyle.FIFO:
        if draft.version < since.FIFO_LEVELS:
            draft.change("num_levels", 1, f"before {since.FIFO_LEVELS}, FIFO compaction has only level 0")
        draft.derive(level0_slowdown_writes_trigger=_INT_MAX, level0_stop_writes_trigger=_INT_MAX)
    if o.max_bytes_for_level_multiplier <= 0:
        draft.change("max_bytes_for_level_multiplier", 1.0, "RocksDB replaces a value that is not positive by 1")
    if o.max_compaction_bytes == 0:
        draft.derive(max_compaction_bytes=25 * o.target_file_size_base)


def _paths(draft: Draft) -> None:
    o = draft.options
    if o.compaction_style is CompactionStyle.LEVEL and len(o.paths) > 1:
        draft.change("level_compaction_dynamic_level_bytes", False, "RocksDB does not use it with several paths")


def _triggers(draft: Draft) -> None:
    trigger = max(draft.options.level0_file_num_compaction_trigger, 1)
    draft.change("level0_file_num_compaction_trigger", trigger, "RocksDB replaces 0 by 1")
    slowdown = max(draft.options.level0_slowdown_writes_trigger, trigger)
    reason = "it must be at least level0_file_num_compaction_trigger"
    draft.change("level0_slowdown_writes_trigger", slowdown, reason)
    stop = max(draft.options.level0_stop_writes_trigger, slowdown)
    draft.change("level0_stop_writes_trigger", stop, "it must be at least level0_slowdown_writes_trigger")


def _pending(draft: Draft) -> None:
    soft, hard = draft.options.soft_pending_compaction_bytes_limit, draft.options.hard_pending_compaction_bytes_limit
    if soft == 0:
        reason = "RocksDB replaces 0 by hard_pending_compaction_bytes_limit"
        draft.change("soft_pending_compaction_bytes_limit", hard, reason)
    elif soft > hard > 0:
        reason = "it must be at most hard_pending_compaction_bytes_limit"
        draft.change("soft_pending_compaction_bytes_limit", hard, reason)


def _rates(draft: Draft) -> None:
    o = draft.options
    limit = o.rate_limiter_bytes_per_sec
    if limit and o.rate_limiter_auto_tuned:
        limit //= 2  # an auto-tuned limiter starts at half its maximum
    if o.delayed_write_rate == 0:
        if limit:
            draft.change("delayed_write_rate", limit, "RocksDB replaces 0 by the rate of the rate limiter")
        else:
            draft.derive(delayed_write_rate=16 * _MIB)
    if o.rate_limiter_bytes_per_sec and o.bytes_per_sync == 0:
        draft.change("bytes_per_sync", _MIB, "RocksDB sets it if the store has a rate limiter")
    if o.use_direct_reads and o.compaction_readahead_size == 0:
        draft.change("compaction_readahead_size", 2 * _MIB, "RocksDB sets it with use_direct_reads")
    draft.change("max_subcompactions", max(o.max_subcompactions, 1), "RocksDB replaces 0 by 1")


def _ages(draft: Draft) -> None:
    """Sanitise `ttl` and `periodic_compaction_seconds` (tables are block-based, without a compaction filter)."""
    o = draft.options
    ttl, periodic = o.ttl, o.periodic_compaction_seconds
    if draft.version >= since.AUTOMATIC_AGES:
        if o.compaction_style is CompactionStyle.FIFO:
            ttl, periodic = _fifo_ages(ttl, periodic, draft.version)
        elif ttl >= _AUTO_FROM_S:
            ttl = _AGE_LIMIT_S
        if o.compaction_style is CompactionStyle.UNIVERSAL and ttl:
            periodic = min(ttl, periodic) if periodic else ttl
    draft.derive(
        ttl=0 if ttl >= _AUTO_FROM_S else ttl,
        periodic_compaction_seconds=0 if periodic >= _AUTO_FROM_S else periodic,
    )


def ages_with_filter(options: RocksDbOptions, version: Version, given: Mapping[str, Any]) -> dict[str, int]:
    """Return the `periodic_compaction_seconds` of a levelled store with a compaction filter that does not set it: 30 days.

    Source: `SanitizeOptions`, db/column_family.cc, since `since.AUTOMATIC_AGES`.
    """
    own = given.get("periodic_compaction_seconds")
    automatic = own is None or (isinstance(own, int) and own >= _AUTO_FROM_S)
    if version < since.AUTOMATIC_AGES or options.compaction_style is not CompactionStyle.LEVEL or not automatic:
        return {}
    return {"periodic_compaction_seconds": _AGE_LIMIT_S}


def _fifo_ages(ttl: int, periodic: int, version: Version) -> tuple[int, int]:
    """Compute FIFO's ttl and periodic_compaction_seconds in s (behaviour/universal-and-fifo.md, FIFO options)."""
    if version >= since.FIFO_TTL_APART_FROM_PERIODIC:
        return (_AGE_LIMIT_S if ttl >= _AUTO_FROM_S else ttl), periodic
    if ttl >= _AUTO_FROM_S:
        ttl = 0
    if ttl == 0:
        periodic = _AGE_LIMIT_S if periodic >= _AUTO_FROM_S else periodic
        return periodic, periodic
    return (min(ttl, periodic) if periodic else ttl), periodic


def _tables(draft: Draft) -> None:
    o = draft.options
    if not 0 <= o.block_size_deviation <= 100:
        draft.change("block_size_deviation", 0, "RocksDB replaces a value outside 0 to 100 by 0")
    draft.change("block_restart_interval", max(o.block_restart_interval, 1), "RocksDB needs at least 1")
    if o.bloom_bits < 0.5:  # BloomFilterPolicy rounds less than half a bit per key to no filter
        draft.derive(bloom_bits=0.0)


def _fifo_size(draft: Draft) -> None:
    o = draft.options
    if o.compaction_style is CompactionStyle.FIFO and o.compaction_options_fifo.max_table_files_size == 0:
        draft.notes.append("compaction_options_fifo.max_table_files_size is 0: every file is deleted after its flush")


_RULES: Final[tuple[Callable[[Draft], None], ...]] = (
    _memtables, _levels, _paths, _triggers, _pending, _rates, _ages, _tables, _fifo_size,
)  # fmt: skip


def _refuse(o: RocksDbOptions, version: Version) -> None:
    """Raise InputError for values and combinations with which RocksDB fails to open the store or to write."""
    if o.compaction_pri is CompactionPri.ROUND_ROBIN and version < since.ROUND_ROBIN:
        raise InputError(
            f"{WHERE}.compaction_pri: RocksDB {version} does not have kRoundRobin ({since.ROUND_ROBIN} and later have it); "
            "choose another priority or another engine.version"
        )
    style = o.compaction_style
    _refuse_places(o)
    if style is CompactionStyle.NONE:
        raise InputError(
            f"{WHERE}.compaction_style: kCompactionStyleNone leaves compaction to the application and is not modelled; "
            "use disable_auto_compactions with another style"
        )
    if o.sync and o.disable_wal:
        raise InputError(f"{WHERE}.sync: RocksDB refuses it together with disable_wal; switch one of them off")
    if style is CompactionStyle.FIFO and o.ttl > 0 and o.max_open_files != -1:
        raise InputError(f"{WHERE}.ttl: RocksDB refuses a ttl with FIFO compaction unless max_open_files is -1")


def _refuse_places(o: RocksDbOptions) -> None:
    """Raise InputError for places of files that RocksDB refuses or that are not modelled."""
    name = "cf_paths" if o.cf_paths else "db_paths"
    if len(o.paths) > _MOST_PATHS:
        raise InputError(f"{WHERE}.{name}: {len(o.paths)} paths; the simulator has two devices: give at most {_MOST_PATHS}")
    if o.compaction_style is CompactionStyle.FIFO and len(o.paths) > 1:
        raise InputError(f"{WHERE}.{name}: RocksDB refuses several paths with FIFO compaction; give one, or another style")
    if o.compaction_style is CompactionStyle.FIFO and o.last_level_temperature.leaves:
        raise InputError(f"{WHERE}.last_level_temperature: not modelled with FIFO compaction; later releases ignore it there")
    if len(o.compaction_options_fifo.file_temperature_age_thresholds) > 1:
        raise InputError(
            f"{WHERE}.compaction_options_fifo.file_temperature_age_thresholds: the simulator has two devices: give one age"
        )
    if len(o.paths) > 1 and o.last_level_temperature.leaves:
        raise InputError(f"{WHERE}.last_level_temperature: {name} places files, too; leave out one of them")

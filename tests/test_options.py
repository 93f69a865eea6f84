"""Options of RocksDB: defaults by version, presets, sanitising, errors (behaviour/options.md, Options)."""

from __future__ import annotations

from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import CompactionPri, CompactionStyle, Compression, RocksDbOptions, StopStyle
from lsmlab.models.options.options import resolve_options
from lsmlab.models.version import Version

MIB = 1 << 20
GIB = 1 << 30
MONTH_S = 30 * 86_400
V57, V75, V78, V88, V118 = (Version(5, 7), Version(7, 5), Version(7, 8), Version(8, 8), Version(11, 8))


def value_of(version: Version, name: str, preset: Any = "library", **overrides: Any) -> Any:
    """Return one option of a store opened by `version` with `overrides`."""
    return getattr(resolve_options(version, preset, overrides).options, name)


def test_class_defaults_are_those_of_the_library_in_7_8() -> None:
    """`RocksDbOptions()` equals the options of a 7.8 store opened without overrides, with no notes."""
    resolved = resolve_options(V78, "library", {})
    assert RocksDbOptions() == resolved.options
    assert resolved.notes == []


@pytest.mark.parametrize(
    ("name", "by_version"),
    [
        ("arena_block_size", {"5.7": 8 * MIB, "6.11": 8 * MIB, "7.5": MIB, "11.8": MIB}),
        ("compaction_pri", {
            "5.7": CompactionPri.BY_COMPENSATED_SIZE, "5.18": CompactionPri.BY_COMPENSATED_SIZE,
            "6.0": CompactionPri.MIN_OVERLAPPING_RATIO, "11.8": CompactionPri.MIN_OVERLAPPING_RATIO}),
        ("ttl", {"5.7": 0, "6.4": 0, "7.5": MONTH_S, "11.8": MONTH_S}),
        ("periodic_compaction_seconds", {"5.7": 0, "7.8": 0, "11.8": 0}),
        ("level_compaction_dynamic_level_bytes", {"5.7": False, "8.3": False, "8.4": True, "11.8": True}),
        ("level_compaction_dynamic_file_size", {"7.5": False, "7.7": False, "7.8": True, "9.8": True}),
        ("compaction_readahead_size", {"5.7": 0, "8.5": 0, "8.6": 2 * MIB, "11.8": 2 * MIB}),
        ("format_version", {"6.8": 2, "6.9": 4, "6.18": 4, "6.19": 5, "9.0": 6, "10.10": 6, "10.11": 7}),
        ("cache_size", {"5.7": 8 * MIB, "8.1": 8 * MIB, "8.3": 32 * MIB, "11.8": 32 * MIB}),
        ("compression", {"5.7": Compression.SNAPPY, "11.4": Compression.SNAPPY, "11.5": Compression.LZ4}),
        ("delayed_write_rate", {"5.7": 16 * MIB, "11.8": 16 * MIB}),
        ("max_compaction_bytes", {"5.7": 1600 * MIB, "11.8": 1600 * MIB}),
    ],
)  # fmt: skip
def test_library_defaults_by_version(name: str, by_version: dict[str, Any]) -> None:
    """Defaults and the versions of their changes are those of the table (behaviour/options.md, Defaults)."""
    assert by_version == {v: value_of(Version.parse(v), name) for v in by_version}


def test_db_bench_preset() -> None:
    """db_bench's own defaults apply in every version, static levels even in 11.8.

    Source: (behaviour/options.md, Defaults of db_bench).
    """
    for version in (V57, V78, V118):
        options = resolve_options(version, "db_bench", {}).options
        assert options.delayed_write_rate == 8 * MIB
        assert options.hard_pending_compaction_bytes_limit == 128 * GIB
        assert options.soft_pending_compaction_bytes_limit == 64 * GIB
        assert not options.level_compaction_dynamic_level_bytes
        assert Compression.SNAPPY is options.compression


@pytest.mark.parametrize(
    ("overrides", "name", "sanitised"),
    [
        ({"write_buffer_size": 1}, "write_buffer_size", 64 << 10),
        ({"write_buffer_size": "1TiB"}, "write_buffer_size", 64 * GIB),
        ({"max_write_buffer_number": 1}, "max_write_buffer_number", 2),
        ({"min_write_buffer_number_to_merge": 5, "max_write_buffer_number": 4}, "min_write_buffer_number_to_merge", 3),
        ({"level0_file_num_compaction_trigger": 0}, "level0_file_num_compaction_trigger", 1),
        ({"level0_file_num_compaction_trigger": 30}, "level0_slowdown_writes_trigger", 30),
        ({"level0_stop_writes_trigger": 10}, "level0_stop_writes_trigger", 20),
        ({"soft_pending_compaction_bytes_limit": 0}, "soft_pending_compaction_bytes_limit", 256 * GIB),
        ({"soft_pending_compaction_bytes_limit": "1TiB"}, "soft_pending_compaction_bytes_limit", 256 * GIB),
        ({"rate_limiter_bytes_per_sec": "20MB/s"}, "bytes_per_sync", MIB),
        ({"rate_limiter_bytes_per_sec": "20MB/s"}, "delayed_write_rate", 20_000_000),
        ({"rate_limiter_bytes_per_sec": "20MB/s", "rate_limiter_auto_tuned": True}, "delayed_write_rate", 10_000_000),
        ({"use_direct_reads": True}, "compaction_readahead_size", 2 * MIB),
        ({"num_levels": 1}, "num_levels", 2),
        ({"max_bytes_for_level_multiplier": -1}, "max_bytes_for_level_multiplier", 1.0),
        ({"block_size_deviation": 101}, "block_size_deviation", 0),
    ],
)
def test_sanitising_is_done_and_noted(overrides: dict[str, Any], name: str, sanitised: Any) -> None:
    """Values that RocksDB changes at open are changed, and one note names the option and the new value.

    Source: (behaviour/options.md, Changes at open).
    """
    resolved = resolve_options(V78, "library", overrides)
    assert sanitised == getattr(resolved.options, name)
    assert sum(note.startswith(name) and f"to {sanitised}:" in note for note in resolved.notes) == 1


def test_both_pending_limits_off_stay_off() -> None:
    """A soft limit of 0 stays 0 only if the hard limit is 0 too."""
    off = {"soft_pending_compaction_bytes_limit": 0, "hard_pending_compaction_bytes_limit": 0}
    assert value_of(V78, "soft_pending_compaction_bytes_limit", **off) == 0


def test_derived_values_follow_overrides() -> None:
    """arena_block_size and max_compaction_bytes are derived from the overridden sizes, without a note."""
    resolved = resolve_options(V78, "library", {"write_buffer_size": "1MiB", "target_file_size_base": "2MiB"})
    assert (resolved.options.arena_block_size, resolved.options.max_compaction_bytes) == (128 << 10, 50 * MIB)
    assert resolved.notes == []


@pytest.mark.parametrize(
    ("version", "overrides", "expected"),
    [
        ("7.5", {}, MONTH_S),
        ("7.5", {"ttl": 60, "periodic_compaction_seconds": 30}, 30),
        ("8.8", {"ttl": 60, "periodic_compaction_seconds": 30}, 60),
        ("7.5", {"ttl": 18446744073709551614}, MONTH_S),
        ("11.8", {"ttl": 0}, 0),
    ],
)
def test_fifo_ttl(version: str, overrides: dict[str, Any], expected: int) -> None:
    """Up to 8.4 FIFO's ttl is the shorter of ttl and periodic_compaction_seconds; its automatic value is 30 days."""
    fifo = {"compaction_style": "fifo", **overrides}
    assert expected == value_of(Version.parse(version), "ttl", **fifo)


def test_fifo_has_no_l0_stall_and_one_level_before_7_8() -> None:
    """FIFO's slowdown and stop triggers are infinite, and versions before 7.8 have one level."""
    options = resolve_options(V75, "library", {"compaction_style": "fifo"}).options
    assert (options.level0_slowdown_writes_trigger, options.level0_stop_writes_trigger) == (2**31 - 1, 2**31 - 1)
    assert (options.num_levels, value_of(V78, "num_levels", compaction_style="fifo")) == (1, 7)


def test_universal_uses_ttl_as_its_period() -> None:
    """Universal compaction uses the shorter of ttl and periodic_compaction_seconds as its period."""
    assert value_of(V78, "periodic_compaction_seconds", compaction_style="universal") == MONTH_S


def test_spellings_of_values() -> None:
    """Nested structs and dotted names, and the spellings of RocksDB, of the LOG and of db_bench, are equivalent."""
    nested = {
        "compaction_style": 1,
        "compression": "zstd",
        "compression_per_level": ["none", "LZ4"],
        "compaction_options_universal": {"size_ratio": "20", "stop_style": "kcompactionstopstylesimilarsize"},
        "disable_wal": "true",
        "ttl": None,
    }
    dotted = {
        "compaction_style": "kCompactionStyleUniversal",
        "compression": "ZSTD",
        "compression_per_level": "kNoCompression:kLZ4Compression",
        "compaction_options_universal.size_ratio": 20,
        "compaction_options_universal.stop_style": StopStyle.SIMILAR_SIZE,
        "disable_wal": 1,
    }
    assert resolve_options(V78, "library", dotted) == resolve_options(V78, "library", nested)
    assert value_of(V78, "compression_per_level", **nested) == (Compression.NONE, Compression.LZ4)
    assert CompactionStyle.UNIVERSAL is value_of(V78, "compaction_style", **nested)


@pytest.mark.parametrize(
    ("version", "overrides", "words"),
    [
        (V78, {"write_bufer_size": 1}, ["engine.options.write_bufer_size", "did you mean write_buffer_size"]),
        (V78, {"compaction_options_universal": {"ratio": 1}}, ["engine.options.compaction_options_universal.ratio"]),
        (V78, {"write_buffer_size": "64 apples"}, ["engine.options.write_buffer_size", "apples"]),
        (V78, {"num_levels": 6.5}, ["engine.options.num_levels", "whole"]),
        (V78, {"level0_file_num_compaction_trigger": -1}, ["engine.options.level0_file_num_compaction_trigger"]),
        (V78, {"compaction_pri": "kBest"}, ["engine.options.compaction_pri", "kMinOverlappingRatio"]),
        (V78, {"compaction_style": "kCompactionStyleNone"}, ["engine.options.compaction_style"]),
        (V78, {"sync": True, "disable_wal": True}, ["engine.options.sync", "disable_wal"]),
        (V78, {"compaction_style": "fifo", "max_open_files": 100}, ["engine.options.ttl", "max_open_files"]),
        (
            V75,
            {"level_compaction_dynamic_file_size": True},
            ["engine.options.level_compaction_dynamic_file_size", "7.8"],
        ),
        (Version(9, 8), {"level_compaction_dynamic_file_size": False}, ["RocksDB 9.8", "7.8 to 8.11"]),
        (V88, {"compaction_options_universal.max_read_amp": 4}, ["max_read_amp", "9.4"]),
        (Version(4, 9), {}, ["engine.version", "5.7"]),
    ],
)
def test_bad_options_are_refused_by_name(version: Version, overrides: dict[str, Any], words: list[str]) -> None:
    """A wrong name, value or combination raises InputError with one line that names the option."""
    with pytest.raises(InputError) as caught:
        resolve_options(version, "library", overrides)
    message = str(caught.value)
    assert [w for w in words if w not in message] == []
    assert len(message.splitlines()) == 1


def test_db_bench_reads_ahead_since_8_7() -> None:
    """db_bench's own flag is 0 up to 8.6, one release after the library's default of 2 MiB."""
    ahead = {v: value_of(Version.parse(v), "compaction_readahead_size", "db_bench") for v in ("8.5", "8.6", "8.7")}
    assert ahead == {"8.5": 0, "8.6": 0, "8.7": 2 * MIB}


def test_round_robin_needs_7_5() -> None:
    """A release without kRoundRobin refuses it."""
    assert value_of(V75, "compaction_pri", compaction_pri="kRoundRobin") is CompactionPri.ROUND_ROBIN
    with pytest.raises(InputError, match=r"RocksDB 7\.4 does not have kRoundRobin \(7\.5 and later"):
        value_of(Version(7, 4), "compaction_pri", compaction_pri="kRoundRobin")


def test_removed_options_are_accepted_at_their_fixed_value() -> None:
    """Options that became fixed are accepted at their fixed value, so an OPTIONS file of 8.8 can be run as 9.8."""
    removed = {"level_compaction_dynamic_file_size": True, "ignore_max_compaction_bytes_for_input": True}
    assert resolve_options(Version(9, 8), "library", {}) == resolve_options(Version(9, 8), "library", removed)

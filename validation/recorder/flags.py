"""Flags of db_bench: options of a store and quantities of a load as the text of a command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.values import flatten, plain, read_value
from lsmlab.models.units import parse_quantity

Flag = int | float | str | bool
_RENAMED: Final = {
    "compression": "compression_type",
    "max_subcompactions": "subcompactions",
    "max_open_files": "open_files",
    "compaction_options_universal.size_ratio": "universal_size_ratio",
    "compaction_options_universal.min_merge_width": "universal_min_merge_width",
    "compaction_options_universal.max_merge_width": "universal_max_merge_width",
    "compaction_options_universal.max_size_amplification_percent": "universal_max_size_amplification_percent",
    "compaction_options_universal.compression_size_percent": "universal_compression_size_percent",
    "compaction_options_universal.allow_trivial_move": "universal_allow_trivial_move",
    "compaction_options_universal.incremental": "universal_incremental",
    "compaction_options_fifo.allow_compaction": "fifo_compaction_allow_compaction",
}
"""Flag of each option whose flag has another name (tools/db_bench_tool.cc)."""
_STYLES: Final = {"kCompactionStyleLevel": 0, "kCompactionStyleUniversal": 1, "kCompactionStyleFIFO": 2}
_PRIORITIES: Final = {
    "kByCompensatedSize": 0, "kOldestLargestSeqFirst": 1, "kOldestSmallestSeqFirst": 2, "kMinOverlappingRatio": 3,
    "kRoundRobin": 4,
}  # fmt: skip
_COMPRESSIONS: Final = {
    "kNoCompression": "none", "kSnappyCompression": "snappy", "kZlibCompression": "zlib", "kBZip2Compression": "bzip2",
    "kLZ4Compression": "lz4", "kLZ4HCCompression": "lz4hc", "kZSTD": "zstd",
}  # fmt: skip
_MIB: Final = 1 << 20


def store_flags(engine: Mapping[str, Any]) -> dict[str, Flag]:
    """Return flags for the options that the case sets, and the compressibility of values that are compressed.

    db_bench uses its defaults for other options. Raises InputError for an option without a flag.
    """
    flags: dict[str, Flag] = {"compression_type": "none"}
    for name, value in flatten(engine["options"]).items():
        if name == "compaction_style":
            flags[name] = _STYLES[_spelled(name, value)]
        elif name == "compaction_pri":
            flags[name] = _PRIORITIES[_spelled(name, value)]
        elif name == "compression":
            flags["compression_type"] = _COMPRESSIONS[_spelled(name, value)]
        elif name == "compaction_options_fifo.max_table_files_size":
            flags["fifo_compaction_max_table_files_size_mb"] = round(parse_quantity(value, "bytes") / _MIB)
        elif name.partition(".")[0] in ("compaction_options_universal", "compaction_options_fifo"):
            if name not in _RENAMED:
                raise InputError(f"store.options.{name}: db_bench has no flag for this option; remove it")
            flags[_RENAMED[name]] = number(value)
        elif isinstance(value, list):
            flags[name] = ",".join(str(v) for v in value)
        else:
            flags[_RENAMED.get(name, name)] = number(value)
    if flags["compression_type"] != "none":
        flags["compression_ratio"] = engine["compression_ratio"]
    return flags


def _spelled(name: str, value: Any) -> str:
    """Return the value of an enum as an OPTIONS file has it, from any of its spellings: lz4 is kLZ4Compression."""
    return str(plain(read_value(name, value)))


def number(value: Any) -> Flag:
    """Return a configured quantity as a plain number; keep words and booleans."""
    if isinstance(value, bool | int | float) or not value[:1].isdigit():
        return value  # type: ignore[no-any-return]
    for kind in ("bytes", "bytes_per_s", "seconds", "count"):
        try:
            number = parse_quantity(value, kind)
        except InputError:
            continue
        # 16.4MB/s is 16,399,999.999999998 in binary, and db_bench takes whole numbers only
        return round(number) if math.isclose(number, round(number), rel_tol=1e-12) else number
    raise InputError(f"{value!r}: not a quantity of bytes, bytes/s, seconds or a count")


def as_arguments(flags: Mapping[str, Flag]) -> tuple[str, ...]:
    """Return the flags as arguments, in the order of their names."""
    return tuple(f"--{name}={text(value)}" for name, value in sorted(flags.items()))


def text(value: Flag) -> str:
    """Return a value as the text of a flag."""
    return str(value).lower() if isinstance(value, bool) else str(value)

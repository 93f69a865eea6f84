"""Converts a case to command lines of a driver: the configuration of the simulator as flags of the real tool."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.engines.make import make_engines
from lsmlab.models.errors import InputError
from lsmlab.models.options.values import plain, read_value
from lsmlab.models.units import parse_quantity
from lsmlab.sim.prefill_options import filling_engine, filling_engines, prefill_options
from lsmlab.validation.recorder.rocksdbjni import option_flags

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
_NOT_FLAGS: Final = ("_target_", "name", "shards", "shard_spread", "description", "source", "families", "options")
_MIB: Final = 1 << 20
_WHOLE: Final = 100.0
"""Sum of db_bench's `column_family_distribution`."""
_RATE_LIMIT: Final = "rate_limiter_bytes_per_sec"
DRIVERS: Final = {"db_bench": "db_bench", "rocksdict": "library", "rocksdbjni": "library"}
"""Preset of each driver: options that a case does not set have the defaults of db_bench's flags, or of the library."""

Flag = int | float | str | bool


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """Invocations of the driver for a case; each is a list of flags without the path of the database."""

    prefill: tuple[tuple[str, ...], ...]
    """Invocations that fill the store first, without device caps; each flushes and waits for all compactions."""
    measured: tuple[str, ...]


def bench_plan(config: Mapping[str, Any], report: Path, *, driver: str = "db_bench") -> BenchPlan:
    """Return the command lines for a resolved configuration of `lsmlab run`.

    `report` is the file for operations per second; `driver` is one of DRIVERS. Raises InputError for a key without a flag.
    """
    engine = config["engine"]
    if engine.get("preset") != DRIVERS[driver]:
        raise InputError(f"store.preset: must be {DRIVERS[driver]} to record with {driver}, because it uses those defaults")
    prefill = config.get("prefill")
    store = _engine_flags(engine, config["workload"], driver)
    filling: tuple[tuple[str, ...], ...] = ()
    if prefill is not None:
        filled = _engine_flags(_filling_engine(config), config["workload"], driver)
        # the values of both invocations are as compressible, whichever of them compresses
        ratio = {name: value for flags in (filled, store) for name, value in flags.items() if name == "compression_ratio"}
        store, filled = store | ratio, filled | ratio
        flags = _with_workload(filled, prefill)
        flags |= {"use_existing_db": False, "benchmarks": f"{_benchmark(prefill)},flush,waitforcompaction"}
        flags.pop("benchmark_write_rate_limit", None)
        filling = (_as_arguments(flags),)
    flags = _with_workload(store, config["workload"])
    flags |= {"use_existing_db": prefill is not None}
    flags |= {
        "benchmarks": f"{_benchmark(config['workload'])},stats",
        "histogram": True,
        "report_interval_seconds": 1,
        "report_file": str(report),
        "report_bg_io_stats": True,
    }
    return BenchPlan(filling, _as_arguments(flags))


def _filling_engine(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `engine` group that fills the store, with the options of `prefill.options`.

    Without the run's rate limit the prefill is faster and ends with the same tree. Raises InputError for options that the
    simulator refuses.
    """
    own = prefill_options(config)
    if own:
        filling_engines(config, make_engines(config["engine"]))
    engine = filling_engine(config)
    return {**engine, "options": {**engine["options"], _RATE_LIMIT: own.get(_RATE_LIMIT)}}


def _engine_flags(engine: Mapping[str, Any], workload: Mapping[str, Any], driver: str) -> dict[str, Flag]:
    """Return the flags of the store: its options and its column families."""
    if driver == "rocksdbjni":
        store: dict[str, Flag] = {**option_flags(engine)}
    else:
        store = _store_flags(engine["options"])
        if store["compression_type"] != "none":
            store["compression_ratio"] = engine["compression_ratio"]
    return store | _family_flags(engine.get("families") or {}, workload.get("families") or {}, driver)


def _store_flags(options: Mapping[str, Any]) -> dict[str, Flag]:
    """Return flags for the options that the case sets; db_bench uses its defaults for the others."""
    flags: dict[str, Flag] = {"compression_type": "none"}
    for name, value in _flat(options).items():
        if value is None:
            continue
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
            flags[_RENAMED[name]] = _number(value)
        elif isinstance(value, list):
            flags[name] = ",".join(str(v) for v in value)
        else:
            flags[_RENAMED.get(name, name)] = _number(value)
    return flags


def _spelled(name: str, value: Any) -> str:
    """Return the value of an enum as an OPTIONS file has it, from any of its spellings: lz4 is kLZ4Compression."""
    return str(plain(read_value(name, value)))


def _family_flags(families: Mapping[str, Any], loads: Mapping[str, Any], driver: str) -> dict[str, Flag]:
    """Return flags for the column families. db_bench makes them with the same options and names them itself.

    A family gets the keys whose number modulo 100 is in its part, so it has that part of `num`. db_bench gives the first
    family one per cent more than its flag says, and the last one per cent less (`DBWithColumnFamilies::GetCfh`).
    """
    if not families:
        return {}
    names = ["default", *families]
    if driver != "db_bench":
        raise InputError(f"engine.families: {driver} has one column family; record with db_bench")
    if names[1:] != [f"column_family_name_{number:06d}" for number in range(1, len(names))]:
        raise InputError("engine.families: db_bench names them column_family_name_000001, column_family_name_000002, …")
    for name, spec in families.items():
        if spec:
            raise InputError(f"engine.families.{name}: db_bench gives all column families the same options; remove its own")
    parts = [float((loads.get(name) or {}).get("writes", 0.0)) for name in names]
    if any(set(load) - {"writes", "num"} for load in loads.values()) or sum(parts) != _WHOLE or any(p % 1.0 for p in parts):
        raise InputError(
            "workload.families: for db_bench, give each family `writes` in whole per cent that sum to 100, and its `num`"
        )
    parts[0] -= 1.0
    parts[-1] += 1.0
    return {"num_column_families": len(names), "column_family_distribution": ",".join(str(round(p)) for p in parts)}


def _with_workload(store: Mapping[str, Flag], workload: Mapping[str, Any]) -> dict[str, Flag]:
    """Return the flags of store and workload; `sync` of either makes every write wait, as in the simulator."""
    flags = {**store, **_workload_flags(workload)}
    return flags | {"sync": True} if store.get("sync") else flags


def _workload_flags(workload: Mapping[str, Any]) -> dict[str, Flag]:
    flags: dict[str, Flag] = {}
    for name, value in workload.items():
        if name not in _NOT_FLAGS and value is not None:
            flags[name] = _number(value)
    if flags.get("seed") == 0:
        raise InputError("workload.seed: give a seed other than 0; db_bench replaces 0 by the time of day")
    return flags


def _benchmark(workload: Mapping[str, Any]) -> str:
    """Return db_bench's name of a workload class: FillRandom is fillrandom."""
    module, _, name = str(workload["_target_"]).rpartition(".")
    if not module.startswith("lsmlab.models.workloads.") or module.rpartition(".")[2] not in _BENCH_MODULES:
        raise InputError(f"workload: {name} is not a benchmark of db_bench; choose another entry of configs/workload")
    return name.lower()


_BENCH_MODULES: Final = ("db_bench", "db_bench_reads", "mixgraph")


def _number(value: Any) -> Flag:
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


def _flat(options: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _as_arguments(flags: Mapping[str, Flag]) -> tuple[str, ...]:
    return tuple(f"--{name}={_text(value)}" for name, value in sorted(flags.items()))


def _text(value: Flag) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

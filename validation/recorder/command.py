"""Converts a case to command lines of a driver: the configuration of the simulator as flags of the real tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.engines.make import make_engines
from lsmlab.models.errors import InputError
from lsmlab.models.workloads.phases import NAMES_OF_DB_BENCH, Phases, phase_items
from lsmlab.sim.prefill_options import prefill_engine, prefill_engines, prefill_options
from lsmlab.validation.recorder.drivers import DB_BENCH, Driver
from lsmlab.validation.recorder.flags import Flag, as_arguments, number, text

_NOT_FLAGS: Final = (
    "_target_", "name", "phases", "actions", "shards", "shard_spread", "description", "source", "families", "options",
)  # fmt: skip
_WHOLE: Final = 100.0
"""Sum of db_bench's `column_family_distribution`."""
_RATE_LIMIT: Final = "rate_limiter_bytes_per_sec"
_FILTER: Final = "compaction_filter_ttl"


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """Invocations of the driver for a case; each is a list of flags without the path of the database."""

    prefill: tuple[tuple[str, ...], ...]
    """Invocations that fill the store first, without device caps; each flushes and waits for all compactions."""
    measured: tuple[str, ...]


def bench_plan(config: Mapping[str, Any], report: Path, driver: Driver = DB_BENCH) -> BenchPlan:
    """Return the command lines for a resolved configuration of `lsmlab run`.

    `report` is the file for operations per second. Raises InputError for a key without a flag.
    """
    engine = config["engine"]
    if engine.get("preset") != driver.preset:
        raise InputError(f"store.preset: must be {driver.preset} to record with {driver.name}, because it uses those defaults")
    prefill = config.get("prefill")
    store = _engine_flags(engine, config["workload"], driver)
    before: tuple[tuple[str, ...], ...] = ()
    if prefill is not None:
        filled = _engine_flags(_recorded_prefill_engine(config), config["workload"], driver)
        # the values of both invocations are as compressible, whichever of them compresses
        ratio = {name: value for flags in (filled, store) for name, value in flags.items() if name == "compression_ratio"}
        store, filled = store | ratio, filled | ratio
        flags = _with_workload(filled, prefill)
        flags |= {"use_existing_db": False, "benchmarks": f"{_benchmark(prefill)},flush,waitforcompaction"}
        flags.pop("benchmark_write_rate_limit", None)
        before = (as_arguments(flags),)
    flags = _with_workload(store, config["workload"])
    actions = _actions(config, driver)
    flags |= {"use_existing_db": prefill is not None, **actions}
    if any(action.startswith("ingest ") for action in str(actions.get("actions")).split(";")):
        before += (as_arguments({**flags, "benchmarks": "ingestfiles"}),)  # not within the limits of the run
    flags |= {
        "benchmarks": f"{_benchmark(config['workload'])},stats",
        "histogram": True,
        "report_interval_seconds": 1,
        "report_file": str(report),
        "report_bg_io_stats": True,
    }
    return BenchPlan(before, as_arguments(flags))


def _recorded_prefill_engine(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `engine` group that fills the store, with the options of `prefill.options`.

    Without the run's rate limit the prefill is faster and ends with the same tree. Raises InputError for options that the
    simulator refuses.
    """
    own = prefill_options(config)
    if own:
        prefill_engines(config, make_engines(config["engine"]))
    engine = prefill_engine(config)
    return {**engine, "options": {**engine["options"], _RATE_LIMIT: own.get(_RATE_LIMIT)}}


def _engine_flags(engine: Mapping[str, Any], workload: Mapping[str, Any], driver: Driver) -> dict[str, Flag]:
    """Return the flags of the store: its options and its column families."""
    families = _family_flags(engine.get("families") or {}, workload.get("families") or {}, driver)
    ttl = engine.get(_FILTER)
    if ttl is not None and not driver.has_actions:
        raise InputError(f"engine.{_FILTER}: {driver.name} has no compaction filter; record with rocksdbjni")
    return {**driver.store_flags(engine), **families, **({} if ttl is None else {_FILTER: number(ttl)})}


def _family_flags(families: Mapping[str, Any], loads: Mapping[str, Any], driver: Driver) -> dict[str, Flag]:
    """Return flags for the column families. db_bench makes them with the same options and names them itself.

    A family gets the keys whose number modulo 100 is in its part, so it has that part of `num`. db_bench gives the first
    family one per cent more than its flag says, and the last one per cent less (`DBWithColumnFamilies::GetCfh`).
    """
    if not families:
        return {}
    names = ["default", *families]
    if not driver.has_families:
        raise InputError(f"engine.families: {driver.name} has one column family; record with db_bench")
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
            flags[name] = number(value)
    if flags.get("seed") == 0:
        raise InputError("workload.seed: give a seed other than 0; db_bench replaces 0 by the time of day")
    return flags


def _actions(config: Mapping[str, Any], driver: Driver) -> dict[str, Flag]:
    """Return the flag of actions beside the clients, with snapshots among them: a name and NAME=VALUE, semicolons between."""
    conditions = config.get("conditions") or {}
    for name in ("changes", "compaction_errors"):
        if conditions.get(name):
            raise InputError(f"conditions.{name}: cannot be recorded; remove it")
    found = [_snapshot(held) for held in conditions.get("snapshots") or ()]
    found += [_action(action) for action in config["workload"].get("actions") or ()]
    if found and not driver.has_actions:
        raise InputError(f"workload.actions, conditions.snapshots: {driver.name} has neither; record with rocksdbjni")
    return {"actions": ";".join(found)} if found else {}


def _snapshot(held: Mapping[str, Any]) -> str:
    names = {"at": "at", "until": "until", "renew": "every"}
    return " ".join(["snapshot", *(f"{names[key]}={text(number(value))}" for key, value in held.items() if value is not None)])


def _action(action: Mapping[str, Any]) -> str:
    ((name, own),) = ((key, value) for key, value in action.items() if key not in ("at", "every", "step"))
    settings = {key: value for key, value in action.items() if key != name} | dict(own or {})
    return " ".join([name, *(f"{key}={text(number(value))}" for key, value in settings.items())])


def _benchmark(workload: Mapping[str, Any]) -> str:
    """Return db_bench's name of a workload class: FillRandom is fillrandom. Of phases: their names, with commas between them."""
    module, _, name = str(workload["_target_"]).rpartition(".")
    if name == Phases.__name__:
        steps = phase_items(workload["phases"])
        for step, own in steps:
            if step not in NAMES_OF_DB_BENCH or own:
                raise InputError(
                    f"workload.phases: {step} cannot be recorded: db_bench has no such benchmark, or gives it no flags of its own"
                )
        return ",".join(step for step, _ in steps)
    if not module.startswith("lsmlab.models.workloads.") or module.rpartition(".")[2] not in _BENCH_MODULES:
        raise InputError(f"workload: {name} is not a benchmark of db_bench; choose another entry of configs/workload")
    return name.lower()


_BENCH_MODULES: Final = ("db_bench", "db_bench_reads", "mixgraph")

"""Databases of a run, and what the databases of one process share: `databases` and `shared` of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lsmlab.models import since
from lsmlab.models.engines.engine import Engine
from lsmlab.models.errors import InputError
from lsmlab.models.options.values import flatten
from lsmlab.models.units import build, parse_quantity, quantity
from lsmlab.sim.store.write_buffer_manager import WriteBufferManager

EACH: Final = "each"
"""Value of `process` that gives every database of an entry a process of its own."""
_MOST: Final = 1000
"""Most databases of a run."""
_OF_THE_MACHINE: Final = (
    "use_direct_reads", "use_direct_io_for_flush_and_compaction", "bytes_per_sync", "compaction_readahead_size",
    "writable_file_max_buffer_size",
)  # fmt: skip
"""Options that the machine has once for all databases."""
_OF_THE_RUN: Final = ("duration", "shards", "shard_spread", "_target_")
"""Keys of a workload that all databases have together."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """What the databases of one process share, the group `shared`."""

    write_buffer_manager: int | None = quantity("bytes", None, low=1)
    """Buffer of one write buffer manager for all databases; None: each has its own, of `db_write_buffer_size`."""
    allow_stall: bool = False
    """Whether a full buffer stops the writers of all databases (since 6.21)."""
    cost_to_cache: bool = False
    """Whether the memory of memtables is charged to the block cache."""
    block_cache: int | None = quantity("bytes", None)
    """Size of one block cache for all databases; None: each has its own, of `cache_size`."""
    rate_limiter: bool = True
    """Whether all databases have one rate limiter; if not, each has its own with the same limit."""
    flush_threads: int | None = quantity("count", None, low=1, high=1000)
    """Threads of the process for flushes; None: as many as the database with most of them asks for."""
    compaction_threads: int | None = quantity("count", None, low=1, high=1000)
    """The same for compactions."""

    def __post_init__(self) -> None:
        if self.write_buffer_manager is None and (self.allow_stall or self.cost_to_cache):
            key = "allow_stall" if self.allow_stall else "cost_to_cache"
            raise InputError(f"{key}: needs a write buffer manager; set shared.write_buffer_manager, such as 256MiB")

    def manager(self, engine: Engine) -> WriteBufferManager | None:
        """Return the write buffer manager of a database; None without one. Raises InputError for an option of later releases."""
        if self.allow_stall and engine.version < since.MANAGER_MAY_STALL:
            first = since.MANAGER_MAY_STALL
            raise InputError(f"shared.allow_stall: RocksDB has it since {first}; set it to false, or engine.version={first}")
        size = self.write_buffer_manager or engine.options.db_write_buffer_size
        return WriteBufferManager(size, self.allow_stall) if size else None


@dataclass(frozen=True, slots=True)
class DatabaseEntry:
    """Alike databases, an entry of `databases`."""

    count: int = quantity("count", 1, low=1, high=_MOST)
    share: float = quantity("ratio", 1.0, low=1e-9, high=1e6)
    """Part of the workload that each of these databases gets: factor of its keys, operations and rates."""
    start_s: float = quantity("seconds", 0.0)
    """Time at which its clients start."""
    process: str = ""
    """Process that opens the databases; databases of different processes share only the machine. `each`: one for each."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """RocksDB's options in which these databases differ from `engine.options`."""
    workload: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the workload in which these databases differ."""
    prefill: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the prefill in which these databases differ."""
    initial_tree: Any = None
    """Files at the start of each of these databases, in place of a prefill; None: those of the run."""


def read_sharing(config: Mapping[str, Any]) -> Sharing:
    """Read `shared`. Raises InputError that names the key."""
    return build(Sharing, config.get("shared") or {}, "shared")


def read_databases(config: Mapping[str, Any]) -> dict[str, DatabaseEntry]:
    """Read `databases`: alike databases by the name of their entry; none for a run of one database.

    Raises InputError that names the key.
    """
    group = config.get("databases")
    if not group:
        return {}
    if not isinstance(group, Mapping):
        raise InputError("databases: must map names to databases, such as {orders: {count: 60}}")
    entries = {str(name): _entry(str(name), values) for name, values in group.items()}
    if (number := sum(entry.count for entry in entries.values())) > _MOST:
        raise InputError(f"databases: {number} databases; a run may have {_MOST}")
    for name, entry in entries.items():
        if entry.prefill and config.get("prefill") is None:
            raise InputError(f"databases.{name}.prefill: the run has no prefill; choose one, such as prefill=fillrandom")
    if config["workload"].get("shards", 1) != 1:
        raise InputError("workload.shards: a run has shards or `databases`, not both; set workload.shards=1")
    return entries


def _entry(name: str, values: object) -> DatabaseEntry:
    where = f"databases.{name}"
    entry = build(DatabaseEntry, {} if values is None else values, where)  # type: ignore[arg-type]
    options = flatten(entry.options, f"{where}.options")
    for option in _OF_THE_MACHINE:
        if option in options:
            raise InputError(f"{where}.options.{option}: all databases have one value of it; set engine.options.{option}")
    for key in _OF_THE_RUN:
        if key in entry.workload:
            raise InputError(f"{where}.workload.{key}: all databases have one value of it; set workload.{key}")
    return replace(entry, options=options)


def names_of(name: str, count: int) -> list[str]:
    """Return the names of the databases of an entry.

    >>> names_of("orders", 2), names_of("audit", 1)
    (['orders-1', 'orders-2'], ['audit'])
    """
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]


def processes_of(entries: Mapping[str, DatabaseEntry]) -> Iterator[str]:
    """Yield the process of each database, in the order of the databases."""
    for name, entry in entries.items():
        for database in names_of(name, entry.count):
            yield f"{name}/{database}" if entry.process == EACH else entry.process


def one_config(config: Mapping[str, Any], entry: DatabaseEntry) -> dict[str, Any]:
    """Return the configuration of one database of an entry, as if it were alone on the machine."""
    engine, workload = config["engine"], config["workload"]
    options = {**flatten(engine.get("options") or {}), **entry.options}
    prefill, tree = config.get("prefill"), entry.initial_tree
    return {
        **config, "databases": None, "engine": {**engine, "options": options}, "workload": {**workload, **entry.workload},
        "prefill": None if prefill is None or tree is not None else {**prefill, **entry.prefill},
        "initial_tree": config.get("initial_tree") if tree is None else tree,
    }  # fmt: skip


def with_cache(config: Mapping[str, Any], sharing: Sharing, part: float = 1.0) -> Mapping[str, Any]:
    """Return the configuration with the block cache that a database has, by `shared`.

    `part`: of the reads of all databases with the same cache. An LRU cache divides itself in proportion to the accesses. The
    memory that `cost_to_cache` charges is taken as the whole buffer of the write buffer manager.
    """
    if sharing.block_cache is None and not sharing.cost_to_cache:
        return config
    engine = config["engine"]
    options = flatten(engine.get("options") or {})
    size = float(sharing.block_cache) if sharing.block_cache is not None else _cache_size(options)
    if sharing.cost_to_cache:
        size = max(0.0, size - float(sharing.write_buffer_manager or 0))
    applied = {**(config.get("shared") or {}), "block_cache": None, "cost_to_cache": False}
    return {**config, "shared": applied, "engine": {**engine, "options": {**options, "cache_size": round(size * part)}}}


def _cache_size(options: Mapping[str, Any]) -> float:
    size = options.get("cache_size")
    if size is None:
        raise InputError("shared.cost_to_cache: needs the size of the block cache; set shared.block_cache, such as 1GiB")
    return float(parse_quantity(size, "bytes"))

"""Setting of one run: its resolved configuration as typed values, with the files that it names already read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from lsmlab.models import since
from lsmlab.models.costs.assertions import of_build
from lsmlab.models.costs.host import Host
from lsmlab.models.devices.conditions import Conditions, DeviceChange, devices_over_time, read_conditions
from lsmlab.models.devices.make import DeviceSetup, make_device, with_limits
from lsmlab.models.engines.engine import Engine
from lsmlab.models.engines.make import DEFAULT_FAMILY, family_names, make_engines
from lsmlab.models.errors import InputError
from lsmlab.models.options.ignored import IgnoredOption
from lsmlab.models.text.csv_rows import csv_records
from lsmlab.models.units import build, quantity
from lsmlab.models.version import Version
from lsmlab.models.workloads.base import Workload
from lsmlab.models.workloads.make import FamilyShare, family_shares, make_workload
from lsmlab.models.workloads.part import part_of
from lsmlab.sim.databases import (
    EACH,
    DatabaseEntry,
    Sharing,
    names_of,
    one_config,
    read_databases,
    read_sharing,
    with_cache,
)
from lsmlab.sim.machine.caps import with_caps_that_can_bind
from lsmlab.sim.prefill_options import prefill_config, prefill_engines, prefill_options
from lsmlab.sim.store.held_snapshots import check_snapshots

_DOCUMENTATION: Final = ("description", "source", "sources", "assumptions", "parameters")
"""Keys of a group that are no settings of its class: documentation, and `parameters`, which were applied before."""
OTHER_DEVICES: Final = ("cold_device", "wal_device")
"""Keys of a configuration with a second device, as `device` has the first."""
OPEN_ENDED: Final = -1
"""Bound of a `TreeFile` that the table does not give."""
MOST_FILES: Final = 1_000_000
"""Largest number of files of an initial tree: 64 TB in files of 64 MB."""


@dataclass(frozen=True, slots=True)
class KeySettings:
    """Settings of the `keys` group: number of keys that a run simulates."""

    mode: str = "sampled"
    """"sampled", or "exact": all keys, in the key sequence of db_bench."""
    samples_per_file: float | None = quantity("count", None, low=16)
    """Sampled keys per file of target size; None: computed so that the run writes about `sampled_writes` of them."""
    sampled_writes: float = quantity("count", 400_000, low=1000)
    """Sampled keys that a run writes in total if `samples_per_file` is computed; sorting them takes about 0.1 s."""

    def __post_init__(self) -> None:
        if self.mode not in ("sampled", "exact"):
            raise InputError(f"keys.mode: {self.mode!r} is not one of sampled, exact")


@dataclass(frozen=True, slots=True)
class SaveSettings:
    """Settings of the `save` group: optional tables of a run."""

    events: bool = True
    """Whether to save version edits and memtable switches (events.parquet)."""


@dataclass(frozen=True, slots=True)
class TreeFile:
    """Row of `initial_tree`: one file, or several files of equal size."""

    level: int = quantity("count", high=100)
    size_bytes: float = quantity("bytes", low=1, high=1e15)
    files: int = quantity("count", 1, low=1, high=MOST_FILES)
    """Number of files of this size; below L0, files with bounds divide the keys between the bounds evenly."""
    smallest: int = quantity("count", OPEN_ENDED, high=1e18)
    """Number of the first key, counted from 0 to num - 1 as in db_bench; by default, see `initial_tree`."""
    largest: int = quantity("count", OPEN_ENDED, high=1e18)
    """Number of the last key."""


@dataclass(frozen=True, slots=True, eq=False)
class Prefill:
    """Workload that fills the databases before the measured one."""

    setting: Setting
    """Setting of the run that fills them, on the same machine."""
    options: Mapping[str, Any]
    """Options in which the store of the prefill differs from that of the run, by flat name."""


@dataclass(frozen=True, slots=True, eq=False)
class AlikeDatabases:
    """Databases with the same options and load, an entry of `databases`."""

    name: str
    entry: DatabaseEntry
    setting: Setting
    """Setting of each of them."""

    @property
    def names(self) -> list[str]:
        """Name of each database."""
        return names_of(self.name, self.entry.count)


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Everything that determines one run. It holds no state, so it can be simulated any number of times."""

    config: Mapping[str, Any]
    """The configuration from which it was built; results contain it."""
    engines: Mapping[str, Engine]
    """Engine of each column family, "default" first."""
    host: Host
    workload: Workload
    shares: Mapping[str, FamilyShare]
    """Load of each column family."""
    keys: KeySettings
    device: DeviceSetup
    """Device at the start, under its limits, without caps that cannot bind."""
    device_changes: tuple[DeviceChange, ...]
    """Changes of the device during the run, by time."""
    conditions: Conditions
    seed: int = 1
    checks: bool = False
    """Whether to check the invariants of the trees after every change."""
    save: SaveSettings = SaveSettings()
    prefill: Prefill | None = None
    initial_tree: tuple[TreeFile, ...] | None = None
    """Files at the start."""
    allowed: tuple[str, ...] = ()
    """Packages besides lsmlab whose classes the configuration may name."""
    sharing: Sharing = field(default_factory=Sharing)
    """What the databases of one process share."""
    cold_device: DeviceSetup | None = None
    """Device of the files that tiered placement moves away from `device`; None: all are there."""
    wal_device: DeviceSetup | None = None
    """Device of WALs; None: that of the other files."""
    databases: tuple[AlikeDatabases, ...] = ()
    """Databases of a run of several; none for a run of one database, or of shards with common clients."""

    def __reduce__(self) -> tuple[Any, tuple[Mapping[str, Any], tuple[str, ...]]]:
        """Pickle the configuration: policies may have caches. The process that unpickles it reads the files again."""
        return Setting.of, (self.config, self.allowed)

    @property
    def engine(self) -> Engine:
        """Engine of the default column family; its DB-wide options apply to all families."""
        return self.engines[DEFAULT_FAMILY]

    @property
    def devices(self) -> list[DeviceSetup]:
        """The device at the start, and after each change during the run."""
        return [self.device, *(change.setup for change in self.device_changes)]

    @property
    def not_simulated(self) -> list[IgnoredOption]:
        """Options whose values matter and are not simulated; the temperature of a level is, where a device has it."""
        found = self.engine.not_simulated
        return [one for one in found if self.cold_device is None or one.name != "last_level_temperature"]

    @property
    def wal_reaches_device(self) -> bool:
        """Whether WAL bytes always reach the device: the WAL is synced, or SST files refer to values in it."""
        return _wal_reaches_device(self.engine, self.workload)

    @classmethod
    def of(cls, config: Mapping[str, Any], allowed: Sequence[str] = ()) -> Setting:
        """Build the setting of a resolved configuration, and read the files that it names.

        Args:
            config: mapping with the groups engine, device, host, workload and keys; optionally with limits, conditions,
                `seed`, `save`, `checks`, and `prefill` (a workload that runs before) or `initial_tree` (files at the start).
            allowed: packages besides lsmlab whose classes the `_target_` entries of the configuration may name.

        Raises:
            InputError: the configuration is not a run; the message names the key.

        """
        sharing, entries = read_sharing(config), read_databases(config)
        given = config
        config = with_cache(config, sharing) if not entries else config
        seed = config.get("seed", 1)
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise InputError(f"seed: {seed!r} must be a whole number, 0 or more")
        save = build(SaveSettings, config.get("save") or {}, "save")
        engines = make_engines(_group(config, "engine"), allowed)
        engine = engines[DEFAULT_FAMILY]
        of_prefill = prefill_engines(config, engines, allowed)
        host = of_build(build(Host, _settings(config, "host"), "host"))
        keys = build(KeySettings, _settings(config, "keys"), "keys")
        workload = make_workload(_key_sequence(_group(config, "workload"), engine.version, keys), ("lsmlab", *allowed))
        conditions = read_conditions(config.get("conditions"))
        if conditions.snapshots:
            steps = (*workload.phases, *(timed.step for timed in workload.beside))
            check_snapshots(engines.values(), [step.action for step in steps])
        device, changes = devices_over_time(
            with_limits(_group(config, "device"), config.get("limits")), conditions.changes, allowed
        )
        if not changes and not entries:
            device = with_caps_that_can_bind(
                device, engine, workload, host, wal_reaches_device=_wal_reaches_device(engine, workload),
                block_bytes=float(max(one.options.block_size for one in (engine, *of_prefill.values()))),
            )  # fmt: skip
        shares = family_shares(_named(_group(config, "workload").get("families"), config), list(engines))
        if config.get("prefill") is not None and config.get("initial_tree") is not None:
            raise InputError("prefill: a run has either prefill or initial_tree, not both; set one of them to null")
        databases = _alike_databases(config, entries, sharing, allowed)
        others = {key: one for key in OTHER_DEVICES if (one := _other_device(config, key, allowed)) is not None}
        _check_other_devices(others, engines, several=bool(entries))
        return cls(
            config=given, engines=engines, host=host, workload=workload, shares=shares, keys=keys, device=device,
            device_changes=changes, conditions=conditions, seed=seed, checks=bool(config.get("checks", False)), save=save,
            prefill=None if entries or config.get("prefill") is None else _prefill(config, allowed),
            initial_tree=None if entries or config.get("initial_tree") is None else _tree_files(config["initial_tree"]),
            allowed=tuple(allowed), sharing=sharing, **others,
            databases=tuple(replace(one, setting=replace(one.setting, device=device)) for one in databases),
        )  # fmt: skip


def _other_device(config: Mapping[str, Any], key: str, allowed: Sequence[str]) -> DeviceSetup | None:
    """Return `cold_device` or `wal_device`; None without it."""
    group = config.get(key)
    if group is None:
        return None
    if not isinstance(group, Mapping) or "_target_" not in group:
        raise InputError(f"{key}: {group!r} is not a device; choose one, such as {key}=hdd")
    setup = make_device(group, allowed, key)
    if setup.page_cache_bytes:
        raise InputError(f"{key}.page_cache: all devices share the page cache; set device.page_cache, and this one to 0")
    return setup


def _check_other_devices(others: Mapping[str, DeviceSetup], engines: Mapping[str, Engine], *, several: bool) -> None:
    """Raise InputError for a second device without a use, or one that is not modelled."""
    for key in others if several else ():
        raise InputError(f"{key}: with several databases, a second device is not modelled; leave it out")
    if "cold_device" in others and not any(engine.options.leaves_device for engine in engines.values()):
        raise InputError(
            "cold_device: no file goes there; set engine.options.last_level_temperature=kCold, in a FIFO store "
            "compaction_options_fifo.file_temperature_age_thresholds, or two paths, such as "
            "engine.options.db_paths=[{path: fast, target_size: 10GiB}, {path: slow, target_size: 1TiB}]"
        )
    if "wal_device" in others and any(engine.options.disable_wal or engine.picker.values_in_wal for engine in engines.values()):
        raise InputError("wal_device: this store has no WAL, or reads values from it; leave it out")


def _alike_databases(
    config: Mapping[str, Any], entries: Mapping[str, DatabaseEntry], sharing: Sharing, allowed: Sequence[str]
) -> list[AlikeDatabases]:
    """Return the databases of `databases`, with the workload of each."""
    number = sum(entry.count for entry in entries.values())
    for name, entry in entries.items():
        if (end_s := make_workload(config["workload"], ("lsmlab", *allowed)).duration_s) and entry.start_s >= end_s:
            raise InputError(f"databases.{name}.start_s: {entry.start_s:g} s is not before the end of the run, at {end_s:g} s")
    read = {name: one_config(config, entry) for name, entry in entries.items()}
    settings = {name: Setting.of(own, allowed) for name, own in read.items()}
    reads = {name: entries[name].share * setting.workload.read_share for name, setting in settings.items()}
    found = []
    for name, entry in entries.items():
        all_reads = sum(reads[other] * one.count for other, one in entries.items() if one.process == entry.process)
        if entry.process == EACH:
            all_reads = reads[name]
        part = 1.0 if sharing.block_cache is None else reads[name] / all_reads if all_reads > 0.0 else 1.0 / number
        setting = Setting.of(with_cache(read[name], sharing, part), allowed)
        keys = replace(setting.keys, sampled_writes=max(1000.0, setting.keys.sampled_writes / number))
        setting = replace(setting, workload=part_of(setting.workload, entry.share), keys=keys)
        if (before := setting.prefill) is not None:
            filling = replace(before.setting, workload=part_of(before.setting.workload, entry.share), keys=keys)
            setting = replace(setting, prefill=replace(before, setting=filling))
        found.append(AlikeDatabases(name, entry, setting))
    return found


def _named(loads: Any, config: Mapping[str, Any]) -> Any:
    """Return the loads of column families by the names of the families, in place of their keys in the configuration."""
    names = family_names(_group(config, "engine"))
    return {names.get(str(key), key): load for key, load in loads.items()} if isinstance(loads, Mapping) else loads


def _group(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    group = config.get(name)
    if not isinstance(group, Mapping):
        raise InputError(f"{name}: the configuration has no such group; choose an entry with {name}=...")
    return group


def _settings(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in _group(config, name).items() if key not in _DOCUMENTATION}


def _wal_reaches_device(engine: Engine, workload: Workload) -> bool:
    options = engine.options
    synced = options.sync or options.wal_bytes_per_sync > 0 or any(c.sync for c in workload.clients)
    return not options.disable_wal and (synced or engine.picker.values_in_wal)


def _key_sequence(workload: Mapping[str, Any], version: Version, keys: KeySettings) -> Mapping[str, Any]:
    """Return the workload with the seed that db_bench of this release uses, for `keys.mode=exact`.

    Up to 7.1 db_bench seeds thread i, counted from 0, with (--seed or 1000) + i. Later releases use --seed + i with i
    counted from 1, as workloads here do. Checked on a LOG of 6.11: its first eight memtables have exactly the same numbers
    of entries.
    """
    seed = workload.get("seed")
    if keys.mode != "exact" or not isinstance(seed, int) or version >= since.THREADS_FROM_ONE:
        return workload
    return {**workload, "seed": (seed or 1000) - 1}


def _prefill(config: Mapping[str, Any], allowed: Sequence[str]) -> Prefill:
    group = config["prefill"]
    if not isinstance(group, Mapping):
        raise InputError(f"prefill: {group!r} is not a workload; choose one, such as prefill=fillrandom")
    if "_target_" not in group:
        raise InputError("prefill: it has no workload; choose one, such as prefill=fillrandom")
    try:
        return Prefill(Setting.of(prefill_config(config), allowed), prefill_options(config))
    except InputError as error:
        text = str(error)
        raise InputError(text.replace("workload", "prefill", 1) if text.startswith("workload") else text) from None


def _tree_files(table: object) -> tuple[TreeFile, ...]:
    rows = tuple(build(TreeFile, row, f"initial_tree[{i}]") for i, row in enumerate(tree_rows(table)))
    if (files := sum(row.files for row in rows)) > MOST_FILES:
        raise InputError(f"initial_tree: {files:,} files; a tree may have {MOST_FILES:,}: give fewer and larger ones")
    return rows


def tree_rows(table: object) -> list[Mapping[str, Any]]:
    """Return the rows of `initial_tree`: a list of mappings with the keys of `TreeFile`, or the path of a CSV file of them.

    Raises InputError if the file cannot be read.
    """
    if isinstance(table, str):
        try:
            return [{k: v for k, v in row.items() if k and v} for row in csv_records(Path(table))]
        except InputError as error:
            raise InputError(f"initial_tree: {error}, or a list of files") from None
    if isinstance(table, list) and all(isinstance(row, Mapping) for row in table):
        return table
    raise InputError(
        "initial_tree: must be a list of files such as {level: 1, size_bytes: 4MiB}, or a CSV file of them"
    )

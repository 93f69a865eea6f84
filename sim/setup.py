"""Setup of a run: engine, machine, workload and sampled keys, built from its configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import simpy
from lsmlab.models.costs.assertions import of_build
from lsmlab.models.costs.host import Host
from lsmlab.models.devices.conditions import Conditions, DeviceChange, devices_over_time, read_conditions
from lsmlab.models.devices.make import DeviceSetup, with_limits
from lsmlab.models.engines.engine import Engine
from lsmlab.models.engines.make import DEFAULT_FAMILY, make_engines
from lsmlab.models.errors import InputError
from lsmlab.models.tree.content import Content, EntryBytes
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.memtable import batch_bytes
from lsmlab.models.tree.sst import TAIL_BYTES, expected_entry_bytes, expected_file_bytes
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.units import build, quantity
from lsmlab.models.version import Version
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Workload
from lsmlab.models.workloads.make import FamilyShare, family_shares, make_workload
from lsmlab.models.workloads.values import FixedSize, KeyedSizes
from lsmlab.sim.machine.caps import with_caps_that_can_bind
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.machine.make import make_machine
from lsmlab.sim.memory_check import check_memory
from lsmlab.sim.prefill_options import filling_engines
from lsmlab.sim.store.write_shape import WriteShape, mean_shape

OFFSET_BYTES: Final = 8.0
"""Size of a 64-bit WAL offset, which engines with values in the WAL store in L0 files instead of the value."""
_WAL_HEADER_BYTES: Final = 7
"""Header of each record fragment of the WAL (behaviour/write-path.md, Bytes of a put)."""


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
class FamilySetup:
    """Setup of one column family, the same in each database."""

    name: str
    engine: Engine
    content: Content
    shape: WriteShape
    """Mean shape of the writes to the column family."""
    workload: Workload
    """Workload with the key and value sizes and the number of keys of the column family."""
    sample: KeySample
    """Sample of the keys of the column family."""
    share: FamilyShare

    def entry_in(self, table_format: TableFormat) -> EntryBytes:
        """Bytes per entry of files of any table format, such as those of a prefill with options of its own."""
        return _entry_bytes(table_format, self.workload)


@dataclass(slots=True)
class Setup:
    """Parts of a run, before it starts."""

    families: tuple[FamilySetup, ...]
    """Column families of each database, default first."""
    engine: Engine
    """Engine of the default column family; its DB-wide options apply to all families."""
    workload: Workload
    host: Host
    shape: WriteShape
    """Mean shape of all writes to a database."""
    machine: Machine
    device_setup: DeviceSetup
    wal_reaches_device: bool
    """Whether WAL bytes reach the device even if the WAL is deleted soon; if False, `ClientDemand` decides by its life."""
    keys: KeySettings
    conditions: Conditions
    device_changes: tuple[DeviceChange, ...]
    """Changes of the device during the run, by time."""


LEAST_SAMPLES, MOST_SAMPLES = 400, 4096
"""Range of the computed samples per file. Below 400, the W-Amp of a small tree falls by 1 %; above 4096, results stay the
same."""
LARGE_RUN_SAMPLES, LARGE_RUN_WRITES = 256, 4_000_000
"""Samples per file of a large run, and the sampled writes (with `LEAST_SAMPLES` per file) above which a run is large
(docs/background/keys.md)."""


def set_up(
    config: Mapping[str, Any], env: simpy.Environment, rng: np.random.Generator, allowed: Sequence[str],
    like: Mapping[str, KeySample] | None = None,
) -> Setup:  # fmt: skip
    """Build all parts of a run from `config`. Raises InputError that names the faulty key.

    `rng`: random numbers of the machine; `allowed`: packages besides lsmlab whose classes `_target_` may name; `like`:
    sampled keys by column family that another phase of the run has chosen.
    """
    engines = make_engines(_group(config, "engine"), allowed)
    engine = engines[DEFAULT_FAMILY]
    filling = filling_engines(config, engines, allowed)
    host = of_build(build(Host, {k: v for k, v in _group(config, "host").items() if k not in _DOCUMENTATION}, "host"))
    keys = build(KeySettings, {k: v for k, v in _group(config, "keys").items() if k not in _DOCUMENTATION}, "keys")
    workload = make_workload(_key_sequence(_group(config, "workload"), engine.version, keys), ("lsmlab", *allowed))
    reaches_device = _wal_reaches_device(engine, workload)
    conditions = read_conditions(config.get("conditions"))
    mapping = with_limits(_group(config, "device"), config.get("limits"))
    device_setup, changes = devices_over_time(mapping, conditions.changes, allowed)
    if not changes:
        device_setup = with_caps_that_can_bind(
            device_setup, engine, workload, host, wal_reaches_device=reaches_device,
            block_bytes=float(max(one.options.block_size for one in (engine, *filling.values()))),
        )  # fmt: skip
    shares = family_shares(_group(config, "workload").get("families"), list(engines))
    views = {name: share.load.workload(workload) for name, share in shares.items()}
    shapes = {name: _shape(engines[name], views[name], shares[name].load.short_lived) for name in engines}
    per_file = min(
        _entries_per_file(one, views[name], _shape(one, views[name], shares[name].load.short_lived))
        for name in engines
        if shares[name].writes > 0.0
        for one in {engines[name], filling[name]}
    )
    samples = like or _samples(
        views, workload.sample(per_file, _samples_per_file(keys, workload, per_file), exact=keys.mode == "exact")
    )
    check_memory(_group(config, "workload"), workload, samples)
    families = tuple(
        FamilySetup(
            name, one, _content(one, views[name], samples[name]), shapes[name], views[name], samples[name], shares[name]
        )
        for name, one in engines.items()
    )
    return Setup(
        families=families, engine=engine, workload=workload, host=host,
        shape=mean_shape([(f.shape, f.share.writes) for f in families]),
        machine=make_machine(env, engine, workload, host, [device_setup, *(c.setup for c in changes)], rng),
        device_setup=device_setup, wal_reaches_device=reaches_device, keys=keys, conditions=conditions,
        device_changes=changes,
    )  # fmt: skip


def _samples(views: Mapping[str, Workload], sample: KeySample) -> dict[str, KeySample]:
    """Samples of the keys by column family: the workload's, or one at its rate for a family with keys of its own number."""
    return {
        name: sample if view.shard().population == sample.population else view.sample_at(sample.rate)
        for name, view in views.items()
    }


def _wal_reaches_device(engine: Engine, workload: Workload) -> bool:
    """Return whether WAL bytes always reach the device: the WAL is synced, or SST files refer to values in it."""
    options = engine.options
    synced = options.sync or options.wal_bytes_per_sync > 0 or any(c.sync for c in workload.clients)
    return not options.disable_wal and (synced or engine.picker.values_in_wal)


def _key_sequence(workload: Mapping[str, Any], version: Version, keys: KeySettings) -> Mapping[str, Any]:
    """Return the workload with the seed that db_bench of this release uses, for `keys.mode=exact`.

    Up to 6.x db_bench seeds thread i, counted from 0, with (--seed or 1000) + i. Later releases use --seed + i with i
    counted from 1, as workloads here do. Checked on a LOG of 6.11: its first eight memtables have exactly the same numbers
    of entries.
    """
    seed = workload.get("seed")
    if keys.mode != "exact" or not isinstance(seed, int) or version >= NUMBERED_FROM_1:
        return workload
    return {**workload, "seed": (seed or 1000) - 1}


NUMBERED_FROM_1: Final = Version(7, 0)
"""First release whose db_bench numbers threads from 1, in one sequence over all benchmarks of an invocation."""


_DOCUMENTATION: Final = ("description", "source", "sources", "assumptions", "parameters")
"""Keys of a group that are no settings of its class: documentation, and `parameters`, which were applied before."""


def _group(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    group = config.get(name)
    if not isinstance(group, Mapping):
        raise InputError(f"{name}: the configuration has no such group; choose an entry with {name}=...")
    return group


def _shape(engine: Engine, workload: Workload, short_lived: bool) -> WriteShape:
    options = engine.options
    key, value = round(workload.key_size), round(workload.value_bytes)
    deletes = 0.5 if short_lived else _delete_share(workload)
    per_batch = max(c.batch_size for c in workload.clients)
    batch = (batch_bytes(key, value, puts=per_batch)) / per_batch
    return WriteShape(
        batch_bytes=batch - deletes * value,
        user_bytes=key + (1.0 - deletes) * workload.value_bytes,
        wal_bytes=0.0 if options.disable_wal else batch + _WAL_HEADER_BYTES,
        memtable_entries=(entries := engine.memtable_entries(key, value, deletes)),
        memtable_bytes=options.write_buffer_size / entries,
        key_bytes=key,
        value_bytes=value,
        delete_share=deletes,
        statistics=options.statistics,
    )


def _delete_share(workload: Workload) -> float:
    writes = sum(c.mix.writes * c.threads for c in workload.clients)
    return sum(c.mix.delete * c.threads for c in workload.clients) / writes if writes else 0.0


def _entries_per_file(engine: Engine, workload: Workload, shape: WriteShape) -> float:
    """Return the entries of the smallest file that needs enough sampled keys: a flushed memtable or a target-size file."""
    per_file = engine.smallest_file_bytes / max(1.0, workload.entry_bytes * engine.compression_ratio)
    return max(1.0, min(per_file, shape.memtable_entries))


def _samples_per_file(keys: KeySettings, workload: Workload, entries_per_file: float) -> float:
    if keys.samples_per_file is not None:
        return keys.samples_per_file
    writes = max(1.0, _expected_writes(workload) + workload.preload_keys)
    if math.isfinite(writes) and writes * LEAST_SAMPLES / entries_per_file > LARGE_RUN_WRITES:
        return LARGE_RUN_SAMPLES
    return float(min(MOST_SAMPLES, max(LEAST_SAMPLES, keys.sampled_writes * entries_per_file / writes)))


def _expected_writes(workload: Workload) -> float:
    """Return the most entries that the run can write: by operations, or by rate limit and duration; else infinity."""
    total = 0.0
    for group in workload.clients:
        share = group.mix.writes
        if share == 0.0:
            continue
        most = math.inf if group.operations is None else group.operations * share
        limit = group.arrivals.limit_bytes_per_s if isinstance(group.arrivals, ClosedLoop) else None
        if limit and workload.duration_s is not None:
            most = min(most, limit / workload.entry_bytes * workload.duration_s)
        total += most
    return total


def _content(engine: Engine, workload: Workload, sample: KeySample) -> Content:
    varied = None if isinstance(workload.values, FixedSize) else KeyedSizes(workload.values, sampled=not sample.exact)
    entries = {one: _entry_bytes(one, workload) for one in dict.fromkeys(engine.table_formats)}
    return Content(sample, [entries[one] for one in engine.table_formats], varied, workload.value_bytes)


def _entry_bytes(table_format: TableFormat, workload: Workload) -> EntryBytes:
    key, value = round(workload.key_size), workload.value_bytes
    population = float(workload.shard().population)
    # the deepest level holds most bytes; its entries: distinct keys of `population` random writes
    entries = population * (1.0 - np.exp(-1.0))
    common: dict[str, Any] = {"population": population, "entries": entries, "block_format": table_format.block_format}
    put = expected_entry_bytes(key, value, **common)
    many = 100_000.0
    whole = expected_file_bytes(
        many, key, value, bits_per_key=table_format.bloom_bits, format_version=table_format.format_version, **common
    )
    ratio = table_format.compression_ratio
    return EntryBytes(
        put=put * ratio, expansion=1.0 / ratio, tombstone=lambda: expected_entry_bytes(key, 0.0, **common) * ratio,
        tail=max(0.0, (whole - many * put - TAIL_BYTES) / many), fixed=TAIL_BYTES, raw_put=workload.entry_bytes,
        raw_tombstone=float(key), offset=lambda: expected_entry_bytes(key, OFFSET_BYTES, **common), table_format=table_format,
    )  # fmt: skip

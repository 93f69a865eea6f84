"""Setup of a run: sampled keys and sizes of the entries of each column family, from its setting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.models import since
from lsmlab.models.costs.host import Host
from lsmlab.models.engines.engine import Engine
from lsmlab.models.errors import InputError
from lsmlab.models.policies.rocksdb.due_files import least_age_s
from lsmlab.models.policies.rocksdb.manual import can_compact_range
from lsmlab.models.tree.ages import AgeRule
from lsmlab.models.tree.blobs import RECORD_HEADER_BYTES
from lsmlab.models.tree.content import Apart, Content, EntryBytes
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.memtable import batch_bytes
from lsmlab.models.tree.sst import TAIL_BYTES, expected_block, expected_file_bytes
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.tree.values_apart import LargeValues, ValuesApart, reference_bytes, table_value_bytes
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import StoreAction, Workload
from lsmlab.models.workloads.make import FamilyShare
from lsmlab.models.workloads.values import FixedSize, KeyedSizes, large_values
from lsmlab.sim.process_memory import check_memory
from lsmlab.sim.setting import KeySettings, Setting
from lsmlab.sim.store.write_buffer_manager import MUTABLE_SHARE
from lsmlab.sim.store.write_shape import WriteShape, mean_shape

OFFSET_BYTES: Final = 8.0
"""Size of a 64-bit WAL offset, which engines with values in the WAL store in L0 files instead of the value."""
_WAL_HEADER_BYTES: Final = 7
"""Header of each record fragment of the WAL (behaviour/write-path.md, Bytes of a put)."""


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
        return _entry_bytes(table_format, self.workload, self.table_value_bytes)

    @property
    def table_value_bytes(self) -> float:
        """Mean size in bytes of a value in an SST file: a blob index where the value is in a blob file."""
        return self.workload.value_bytes if self.content.apart is None else self.content.apart.values.table_value_bytes


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """Setting of a run with its column families and their sampled keys."""

    setting: Setting
    families: tuple[FamilySetup, ...]
    """Column families of each database, default first."""
    shape: WriteShape
    """Mean shape of all writes to a database."""

    @property
    def engine(self) -> Engine:
        """Engine of the default column family; its DB-wide options apply to all families."""
        return self.setting.engine

    @property
    def workload(self) -> Workload:
        """Workload of the run."""
        return self.setting.workload

    @property
    def host(self) -> Host:
        """Constants of the host."""
        return self.setting.host


LEAST_SAMPLES, MOST_SAMPLES = 400, 4096
"""Range of the computed samples per file. Below 400, the W-Amp of a small tree falls by 1 %; above 4096, results stay the
same."""
LARGE_RUN_SAMPLES, LARGE_RUN_WRITES = 256, 4_000_000
"""Samples per file of a large run, and the sampled writes (with `LEAST_SAMPLES` per file) above which a run is large
(docs/background/keys.md)."""


def set_up(setting: Setting, like: Mapping[str, KeySample] | None = None, *, databases: int = 1) -> Setup:
    """Choose the keys that a run simulates and the sizes of its entries.

    `like`: sampled keys by column family that another phase of the run has chosen. `databases`: number of databases in its
    process. Raises InputError if the keys do not fit in memory.
    """
    engines, workload, shares = setting.engines, setting.workload, setting.shares
    _check_actions(engines, workload)
    of_prefill = engines if setting.prefill is None else setting.prefill.setting.engines
    views = {name: share.load.workload(workload) for name, share in shares.items()}
    shapes = {name: _shape(engines[name], views[name], shares[name].load.short_lived) for name in engines}
    per_file = min(
        _entries_per_file(one, views[name], _shape(one, views[name], shares[name].load.short_lived))
        for name in engines
        if shares[name].writes > 0.0
        for one in (engines[name], of_prefill[name])
    )
    per_file = max(1.0, min(per_file, _entries_for_memory(setting, databases, shapes)))
    samples = like or _samples(
        views,
        workload.sample(
            per_file, _samples_per_file(setting.keys, workload, per_file), exact=setting.keys.mode == "exact"
        ),
    )
    check_memory(setting.config["workload"], workload, samples)
    families = tuple(
        FamilySetup(
            name, one, _content(one, of_prefill[name], views[name], samples[name]), shapes[name], views[name], samples[name],
            shares[name],
        )
        for name, one in engines.items()
    )
    return Setup(setting, families, mean_shape([(f.shape, f.share.writes) for f in families]))


_OF_ROCKSDB: Final = (StoreAction.COMPACT, StoreAction.DELETE_RANGE, StoreAction.DELETE_FILES_IN_RANGE, StoreAction.INGEST)
"""Actions whose rules are known for RocksDB's pickers."""


def _check_actions(engines: Mapping[str, Engine], workload: Workload) -> None:
    steps = {"phases": workload.phases, "actions": [timed.step for timed in workload.beside]}
    found = next(((key, one.action) for key, group in steps.items() for one in group if one.action in _OF_ROCKSDB), None)
    other = next((engine.name for engine in engines.values() if not can_compact_range(engine.picker)), None)
    if found is not None and other is not None:
        key, action = found
        raise InputError(
            f"workload.{key}: {action.value} is modelled for RocksDB's compaction styles only, not for engine={other}; leave it "
            "out or choose engine=rocksdb"
        )


def _samples(views: Mapping[str, Workload], sample: KeySample) -> dict[str, KeySample]:
    """Samples of the keys by column family: the workload's, or one at its rate for a family with keys of its own number."""
    return {
        name: sample if view.shard().population == sample.population else view.sample_at(sample.rate)
        for name, view in views.items()
    }


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
    value_bytes = workload.value_bytes
    if engine.options.enable_blob_files:
        mean, reference = _large_values(engine, workload)
        value_bytes = table_value_bytes(mean, reference)
    per_file = engine.smallest_file_bytes / max(1.0, (workload.key_size + value_bytes) * engine.compression_ratio)
    return max(1.0, min(per_file, shape.memtable_entries))


def _entries_for_memory(setting: Setting, databases: int, shapes: Mapping[str, WriteShape]) -> float:
    """Return the entries per memtable at which those of a process reach the limit of their write buffer manager.

    Infinity without one.
    """
    manager = setting.sharing.manager(setting.engine)
    if manager is None:
        return math.inf
    shared = setting.sharing.write_buffer_manager is not None
    memtables = len(shapes) * (databases * setting.workload.shards if shared else 1)
    return manager.buffer_bytes * MUTABLE_SHARE / memtables / max(shape.memtable_bytes for shape in shapes.values())


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


def _content(engine: Engine, before: Engine, workload: Workload, sample: KeySample) -> Content:
    """Return the content of a column family; `before`: the engine that fills it before the run."""
    varied = None if isinstance(workload.values, FixedSize) else KeyedSizes(workload.values, sampled=not sample.exact)
    writer = next((one for one in (engine, before) if one.options.enable_blob_files), None)
    apart = None
    if writer is not None:
        if before.options.enable_blob_files and before.options.min_blob_size != writer.options.min_blob_size:
            raise InputError(
                f"prefill.options.min_blob_size: {before.options.min_blob_size} must equal the run's, "
                f"{writer.options.min_blob_size}: a run has one border between values in SST files and in blob files"
            )
        values = _values_apart(writer, workload, sample, varied)
        apart = Apart(values, _levels(engine, workload, values.table_value_bytes))
    content = Content(sample, _levels(engine, workload, workload.value_bytes), varied, workload.value_bytes, apart)
    content.collector = engine.deletion_collector
    longest_s = math.inf if workload.duration_s is None or before is not engine else workload.duration_s
    content.age_rule = _age_rule(engine) if longest_s > least_age_s(engine.options) / 2.0 else None  # see TtlBoost
    return content


def _age_rule(engine: Engine) -> AgeRule:
    if engine.version < since.AGE_OF_OLDEST_INPUT:
        return AgeRule.NEWEST
    return AgeRule.OLDEST if engine.version < since.AGE_BY_RANGE else AgeRule.OLDEST_OVERLAPPING


def _values_apart(engine: Engine, workload: Workload, sample: KeySample, varied: KeyedSizes | None) -> ValuesApart:
    mean, reference = _large_values(engine, workload)
    return ValuesApart(
        sample, mean, key_bytes=workload.key_size, least_bytes=engine.options.min_blob_size, reference=reference,
        compression_ratio=engine.blob_compression_ratio, values=varied,
    )  # fmt: skip


def _large_values(engine: Engine, workload: Workload) -> tuple[LargeValues, int]:
    """Return the values of a workload by whether they leave into blob files, and the bytes of a reference to a blob."""
    options = engine.options
    mean = large_values(workload.values, options.min_blob_size)
    record_bytes = RECORD_HEADER_BYTES + workload.key_size + engine.blob_compression_ratio * mean.large_bytes
    return mean, reference_bytes(record_bytes, min(float(options.blob_file_size), options.write_buffer_size))


def _levels(engine: Engine, workload: Workload, value_bytes: float) -> list[EntryBytes]:
    entries = {one: _entry_bytes(one, workload, value_bytes) for one in dict.fromkeys(engine.table_formats)}
    return [entries[one] for one in engine.table_formats]


def _entry_bytes(table_format: TableFormat, workload: Workload, value: float) -> EntryBytes:
    key = round(workload.key_size)
    population = float(workload.shard().population)
    # the deepest level holds most bytes; its entries: distinct keys of `population` random writes
    entries = population * (1.0 - np.exp(-1.0))
    common: dict[str, Any] = {"population": population, "entries": entries, "block_format": table_format.block_format}

    def entry_bytes(value_bytes: float) -> float:
        return expected_block(key, value_bytes, **common).entry_bytes

    put = entry_bytes(value)
    many = 100_000.0
    whole = expected_file_bytes(
        many, key, value, bits_per_key=table_format.bloom_bits, format_version=table_format.format_version, **common
    )
    ratio = table_format.compression_ratio
    return EntryBytes(
        put=put * ratio, expansion=1.0 / ratio, tombstone=lambda: entry_bytes(0.0) * ratio,
        tail=max(0.0, (whole - many * put - TAIL_BYTES) / many), fixed=TAIL_BYTES, raw_put=workload.key_size + value,
        raw_tombstone=float(key), offset=lambda: entry_bytes(OFFSET_BYTES), table_format=table_format,
    )  # fmt: skip

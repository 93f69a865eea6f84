"""Candidates of an advice: one for each bottleneck that the product can name, only where they change something."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.engines.make import make_engines
from lsmlab.models.options.fields import DATABASE_OPTIONS
from lsmlab.models.options.not_simulated import NOT_SIMULATED
from lsmlab.models.options.values import option_types, plain
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.explain.holder_sentences import QueueFor
from lsmlab.sim.studies.baseline import changed
from lsmlab.sim.studies.candidate_rows import Symptom
from lsmlab.sim.studies.candidate_table import TABLE
from lsmlab.sim.studies.candidates import (
    AT_START,
    IN_CODE,
    CandidateChange,
    candidates,
    is_of_family,
    needs,
    promising,
    relieving,
    stalled_families,
)
from lsmlab.sim.studies.present import Present

ROOT = Path(__file__).parents[1]
ROWS = [row for rows in TABLE.values() for row in rows]
UNIVERSAL = "engine=universal"
PER_LEVEL = "engine.options.compression_per_level=[kNoCompression,kZSTD]"
READS: Mapping[str, Any] = {"read_ops_per_s": 1000.0}
STORES: Mapping[Bottleneck, Sequence[str]] = {
    Bottleneck.WRITE_CAP: ("device.write_cap=60MiB/s",),
    Bottleneck.READ_CAP: ("limits.read_cap=60MiB/s",),
    Bottleneck.IOPS_CAP: ("device.iops_cap=300",),
    Bottleneck.LIMITER: ("engine.options.rate_limiter_bytes_per_sec=40MB/s",),
    Bottleneck.PAUSED: ("engine=silk",),
    Bottleneck.ERROR: ("conditions=full_device",),
    Bottleneck.MANAGER: ("shared.write_buffer_manager=64MiB", "shared.allow_stall=true"),
}
"""Settings without which a store cannot have a bottleneck."""
LARGE = ("workload.value_size=1000",)
BLOBS = (*LARGE, "engine.options.enable_blob_files=true")


def present(*overrides: str, **summary: Any) -> Present:
    """Return the present state of a store, without a run of it."""
    config, options = composed(overrides)
    return Present.of({"options": options, "cpu": {"cores": config["host"]["cores"]}, **summary}, config)


@cache
def composed(overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the configuration of a store, and its options in force."""
    config = compose(list(overrides))
    options: dict[str, Any] = plain(asdict(make_engines(config["engine"])["default"].options))
    return config, options


def names(found: Sequence[CandidateChange]) -> list[str]:
    """Return the names of changes."""
    return [change.name for change in found]


def found_for(need: str, *overrides: str, **summary: Any) -> list[str]:
    """Return the names of the candidates of a store that relieve a bottleneck or a cause."""
    relief = Symptom(need) if need in set(Symptom) else Bottleneck(need)
    return names(relieving(candidates(present(*overrides, **summary)), relief))


@pytest.mark.parametrize("bottleneck", [one for one in Bottleneck if one not in (Bottleneck.NONE, Bottleneck.UNKNOWN)])
@pytest.mark.parametrize("cause", ["memtable_stop", "l0_slowdown", "pending_stop"])
def test_each_bottleneck_has_a_candidate(bottleneck: Bottleneck, cause: str) -> None:
    """A store where a bottleneck is named has a change that relieves it, which a quick advice tries first."""
    state = present(
        *STORES.get(bottleneck, ()), bottleneck={"resource": bottleneck.value, "lost_by_cause": {cause: 1.0}}
    )
    found = candidates(state)
    tried = promising(found, needs(state.summary), 6)

    assert relieving(found, bottleneck)
    assert bottleneck in tried[0].relieves


@pytest.mark.parametrize("cause", [f"{one}_{how}" for one in ("memtable", "l0", "pending") for how in ("stop", "slowdown")])
@pytest.mark.parametrize("where", ["lost_by_cause", "stall_seconds", "stall_count"])
def test_an_unknown_bottleneck_leaves_the_cause_of_the_stalls(cause: str, where: str) -> None:
    """A LOG does not tell what jobs waited for: the cause of its stalls, from any of its counters, chooses the changes."""
    counted = {"other_stop": 1.0, cause: 2.0}
    summary: dict[str, Any] = {"bottleneck": {"resource": "unknown", **({where: counted} if where == "lost_by_cause" else {})}}
    state = present(**summary, **({} if where == "lost_by_cause" else {where: counted}))
    first = promising(candidates(state), needs(state.summary), 6)[0]

    assert Symptom(cause.partition("_")[0]) in first.relieves


@pytest.mark.parametrize("queue", QueueFor)
def test_each_queue_has_a_candidate(queue: QueueFor) -> None:
    """Without write stalls, operations may wait for the device or for a thread of the clients, and reads may be dear."""
    busy = {"utilisation": 0.99 if queue is QueueFor.DEVICE else 0.2, "write_bytes_per_s": 5e7}
    calm = {"bottleneck": {"resource": "none", "lost_share": 0.0}, "write_latency_s": {"p99": 3.0}, "device": busy, **READS}
    state = present("workload=constant", **calm)
    needed = needs(state.summary)

    assert [Bottleneck.DEVICE_BANDWIDTH if queue is QueueFor.DEVICE else Symptom.CLIENTS, Symptom.READS] == needed
    assert all(relieving(candidates(state), need) for need in needed)
    assert all(change.relieves & set(needed) for change in promising(candidates(state), needed, 6))


def test_each_kind_of_cure_has_a_candidate() -> None:
    """The table has a row for each option that relieves a bottleneck by another mechanism."""
    buffered = ("device.page_cache=4GiB", "engine.options.compaction_readahead_size=0")
    limited = ("engine.options.rate_limiter_bytes_per_sec=40MB/s",)

    assert ["rate_limiter_bytes_per_sec=160MB/s", "rate_limiter_bytes_per_sec=400MB/s rate_limiter_auto_tuned=true"] == (
        found_for("rate_limiter", *limited)[:2]
    )
    assert "rate_limiter_bytes_per_sec=0" in found_for("rate_limiter", *limited)
    assert "limits=none" in found_for("write_cap", "limits.write_cap=60MiB/s")
    assert "db_write_buffer_size=64MiB" in found_for("memtables", "engine.options.db_write_buffer_size=16MiB")
    assert "max_total_wal_size=4GiB" in found_for("memtables", "+engine.families.b.options.num_levels=5",
                                                  "engine.options.max_total_wal_size=1GiB")  # fmt: skip
    assert "compaction_readahead_size=2MiB" in found_for("device_requests", *buffered)
    assert {"bloom_bits=10", "cache_size=128MiB"} <= set(found_for("reads", **READS))
    assert "use_direct_reads=true" in names(candidates(present(*buffered)))
    assert "soft_pending_compaction_bytes_limit=4GiB hard_pending_compaction_bytes_limit=8GiB" in found_for(
        "pending", "engine.options.soft_pending_compaction_bytes_limit=1GiB",
        "engine.options.hard_pending_compaction_bytes_limit=2GiB",
    )  # fmt: skip
    assert "compaction_style=kCompactionStyleLevel" in found_for("reads", UNIVERSAL, **READS)
    assert "compaction_style=kCompactionStyleUniversal" in names(candidates(present()))
    assert "compaction_pri=kMinOverlappingRatio" in names(candidates(present("engine.options.compaction_pri=kByCompensatedSize")))
    assert "max_subcompactions=4" in found_for("l0_compaction")


@pytest.mark.parametrize(
    ("option", "there", "absent"),
    [
        ("compaction_options_universal.size_ratio", UNIVERSAL, "engine=rocksdb"),
        ("compaction_options_universal.max_read_amp", "engine=universal engine.version='9.8'", UNIVERSAL),
        ("max_bytes_for_level_base", "engine=rocksdb", UNIVERSAL),
        ("soft_pending_compaction_bytes_limit", "engine=rocksdb", UNIVERSAL),
        ("max_background_jobs", "engine=rocksdb", "engine.options.max_background_compactions=4"),
        ("max_background_compactions", "engine.options.max_background_compactions=4", "engine=rocksdb"),
        ("max_background_jobs", "engine=rocksdb", "engine=leveldb"),
        ("compaction_pri", "engine=rocksdb", "engine=leveldb"),
        ("level0_stop_writes_trigger", "engine=rocksdb", "engine=fifo"),
        ("rate_limiter_auto_tuned", "engine.options.rate_limiter_bytes_per_sec=9MB/s", "engine=rocksdb"),
        ("rate_limiter_auto_tuned", "engine.options.rate_limiter_bytes_per_sec=9MB/s",
         "engine.version='5.8' engine.options.rate_limiter_bytes_per_sec=9MB/s"),
        ("use_direct_reads", "device.page_cache=1GiB", "device.page_cache=0"),
        ("compression_per_level", PER_LEVEL, "engine.options.compression_per_level=[kLZ4Compression,kZSTD]"),
        ("compression_per_level", PER_LEVEL, "engine=rocksdb"),
        ("max_total_wal_size", "+engine.families.b.options.num_levels=5", "engine=rocksdb"),
    ],
)  # fmt: skip
def test_a_candidate_is_offered_only_where_it_has_an_effect(option: str, there: str, absent: str) -> None:
    """Options that the style, the engine, the release or another option switches off are not among the changes."""

    def offered(store: str) -> bool:
        keys = [key for change in candidates(present(*store.split())) for key in change.keys]
        return f"engine.options.{option}" in keys

    assert offered(there)
    assert not offered(absent)


def test_reads_decide_about_candidates_for_reads() -> None:
    """Filters, cache and tables are tried for loads with reads only."""
    for option in ("bloom_bits", "cache_size"):
        keys = {f"engine.options.{option}"}
        assert any(change.keys == keys for change in candidates(present(**READS)))
        assert not any(change.keys & keys for change in candidates(present()))


def test_no_candidate_names_an_unknown_option() -> None:
    """Each key of the table is an option that the model simulates, or a key of a configuration; so are those with an effort."""
    config, _ = composed(())
    code = "\n".join(p.read_text() for top in ("models", "sim") for p in (ROOT / top).rglob("*.py") if "options" not in p.parts)
    for row in ROWS:
        for key in row.changes:
            node: Any = config
            for part in () if key in option_types() else key.replace("/", ".").split("."):
                assert part in node, key
                node = node[part]
            if key in option_types():
                assert key not in NOT_SIMULATED
                assert re.search(rf"\.{key.rpartition('.')[2]}\b", code), f"{key} is read nowhere"
        assert is_of_family(row) or not any(key in option_types() and key not in DATABASE_OPTIONS for key in row.changes)
    assert AT_START | IN_CODE.keys() <= {key.removeprefix("shared.") for row in ROWS for key in row.changes}


def test_each_row_is_offered_somewhere() -> None:
    """No row is dead: one of some different stores has it."""
    stores = (
        (), ("device=hdd",), ("device=sata", UNIVERSAL, "engine.version='9.8'"), ("engine=fifo",), ("engine=silk",),
        ("conditions=full_device", "workload=constant"), ("limits.write_cap=1MB/s", "limits.read_cap=1MB/s", "limits.iops_cap=9"),
        ("device.write_cap=1MB/s", "device.read_cap=1MB/s", "device.iops_cap=9", "device.background_cap=1MB/s"),
        ("limits.background_cap=1MB/s", "engine.options.rate_limiter_bytes_per_sec=9MB/s",
         "engine.options.rate_limiter_mode=kAllIo", "engine.options.compression=kZSTD"),
        ("engine.options.db_write_buffer_size=8MiB", "engine.options.max_write_buffer_number=4", "host.cores=1",
         "engine.options.min_write_buffer_number_to_merge=2", "engine.options.max_background_jobs=8",
         "engine.options.max_write_buffer_size_to_maintain=-1"),
        ("conditions.snapshots=[{at: 0s, renew: 5s}]", "engine.version='9.8'"),
        ("engine.options.max_background_flushes=2", "engine.options.disable_auto_compactions=true", "device.page_cache=1GiB",
         "engine.options.max_open_files=100", "engine.options.cache_size=0", "engine.options.block_size=64KiB",
         "engine.options.compaction_pri=kByCompensatedSize", "engine.options.max_bytes_for_level_base=1GiB",
         "engine.options.level_compaction_dynamic_level_bytes=false"),
        (UNIVERSAL, "engine.options.num_levels=1", "engine.options.max_write_buffer_number=3",
         "engine.options.level0_file_num_compaction_trigger=12",
         "engine.options.compaction_readahead_size=0"),
        ("databases={a: {count: 2}}", "shared.write_buffer_manager=64MiB", "shared.allow_stall=true", "shared.block_cache=1GiB",
         "engine.options.rate_limiter_bytes_per_sec=9MB/s"),
        ("+engine.families.b.options.num_levels=5", PER_LEVEL), LARGE, (*BLOBS, "workload=constant", "workload.value_sigma=100"),
        (*BLOBS, "workload=constant", "workload.value_sigma=100", "engine.options.enable_blob_garbage_collection=true",
         "engine.options.min_blob_size=2KiB"),
        (*BLOBS, "engine.options.enable_blob_garbage_collection=true",
         "engine.options.blob_garbage_collection_force_threshold=0.3"),
    )  # fmt: skip
    device = {"device": {"write_bytes_per_s": 5e7}}
    offered = {
        (change.why, frozenset(key.removeprefix("engine.options.") for key in change.keys))
        for store in stores for change in candidates(present(*store, **READS, **device))
    }  # fmt: skip
    dead = [row for row in ROWS if not any(row.why == why and keys <= row.changes.keys() for why, keys in offered)]

    assert [] == dead


@pytest.mark.parametrize(
    "store", [("engine=rocksdb", PER_LEVEL), (UNIVERSAL,), ("engine=fifo",), ("engine=leveldb",), ("engine=vlsm",)]
)
def test_candidates_compose(store: Sequence[str]) -> None:
    """Each candidate of an engine is a set of overrides that its configuration takes, and changes it."""
    state = present(*store, "device.page_cache=1GiB", **READS)
    for change in candidates(state):
        assert changed(state.config, list(change.overrides)) != state.config, change.name


FAMILIES = ("+engine.families.a_b.name=a.b", "+engine.families.a_b.options.write_buffer_size=256KiB")
FAMILY_COUNTS = {
    "default": {"stall_count": {"l0_stop": 1}}, "a.b": {"stall_count": {"l0_stop": 9, "l0_slowdown": 2}},
    "c": {"stall_count": {}},
}  # fmt: skip


def test_the_family_that_stalls_has_candidates_of_its_own() -> None:
    """Memtables, triggers and levels of the family that stalls are tried, those of others are not; the database's are."""
    state = present(*FAMILIES)
    assert ("a.b",) == stalled_families({"column_families": FAMILY_COUNTS})
    assert () == stalled_families({"column_families": {"default": {"stall_count": {}}}})
    found = [text for change in candidates(state, ("a.b",)) for text in change.overrides]
    own = [text for text in found if "families" in text]

    assert "++engine.families.a_b.options.write_buffer_size=512KiB" in own
    for option in ("level0_stop_writes_trigger", "max_bytes_for_level_base", "compaction_style", "max_write_buffer_number"):
        assert any(option in text for text in own)
        assert not any(text.startswith(f"engine.options.{option}=") for text in found)
    assert not any("max_background_jobs" in text or "delayed_write_rate" in text for text in own)
    assert "engine.options.max_background_jobs=4" in found
    assert not any("families" in text for change in candidates(state) for text in change.overrides)


def test_several_families_stall() -> None:
    """Each family with a large share of the stalls has its candidates, the default family under the options of the engine."""
    counts = {"default": {"stall_count": {"l0_stop": 5}}, "a.b": {"stall_count": {"l0_stop": 6}}}
    stalled = stalled_families({"column_families": counts})
    found = {text for change in candidates(present(*FAMILIES), stalled) for text in change.overrides}

    assert ("a.b", "default") == stalled
    assert {"++engine.families.a_b.options.write_buffer_size=512KiB", "engine.options.write_buffer_size=128MiB"} <= found


def test_a_log_without_some_options_has_candidates_of_the_others() -> None:
    """The LOG of an import may lack options and a configuration: what it has is enough for its candidates."""
    summary = {"options": {"max_write_buffer_number": 2, "compaction_style": "kCompactionStyleLevel"}, "import": {}}
    found = names(candidates(Present.of(summary, {})))

    assert "max_write_buffer_number=4" in found
    assert not any("write_buffer_size" in name for name in found)


def test_forced_flushes_ask_for_a_larger_budget() -> None:
    """Memtables that are flushed before they are full need room in the shared budget, or in the WALs."""
    calm = {"bottleneck": {"resource": "l0_compaction", "lost_by_cause": {"l0_slowdown": 1.0}}}
    small = present("engine.options.db_write_buffer_size=4MiB", flush_count=100, flush_bytes=100 << 20, **calm)
    full = present("engine.options.db_write_buffer_size=4MiB", flush_count=100, flush_bytes=6000 << 20, **calm)
    counted = {"default": {"flush_reasons": {"Write Buffer Full": 1, "WAL Full": 9}}}
    forced = present("+engine.families.b.options.num_levels=5", column_families=counted, **calm)

    assert Symptom.SMALL_FLUSHES in needs(small.summary)
    assert Symptom.SMALL_FLUSHES not in needs(full.summary)
    assert "db_write_buffer_size=16MiB" in names(promising(candidates(small), needs(small.summary), 3))
    assert "max_total_wal_size=4GiB" in names(promising(candidates(forced), needs(forced.summary), 3))


def test_values_are_written_in_their_units() -> None:
    """Sizes and rates have units, counts have none, however large."""
    huge = ("engine.options.level0_slowdown_writes_trigger=65536", "engine.options.level0_stop_writes_trigger=65536")
    found = names(candidates(present(*huge, "engine.options.rate_limiter_bytes_per_sec=33MB/s", **READS)))

    assert "level0_slowdown_writes_trigger=131072 level0_stop_writes_trigger=131072" in found
    assert {"block_size=16KiB", "write_buffer_size=128MiB", "rate_limiter_bytes_per_sec=132MB/s"} <= set(found)
    assert "compression_per_level=kZSTD" in names(candidates(present(PER_LEVEL)))


def blob_changes(*overrides: str) -> dict[str, str]:
    """Return the candidates of a store that concern blob files: first override by option."""
    found = [change for change in candidates(present(*overrides, **READS)) if change.about == "blobs"]
    return {change.overrides[0].partition("=")[0].rpartition(".")[2]: change.name for change in found}


@pytest.mark.parametrize(
    ("overrides", "offered"),
    [
        (LARGE, True), (("workload.value_size=999",), False), ((*LARGE, "engine.version='6.17'"), False),
        ((*LARGE, "engine.version='6.18'"), True), ((*LARGE, UNIVERSAL), True), ((*LARGE, "engine=fifo"), False),
        ((*LARGE, "engine=vlsm"), True), ((*LARGE, "engine=leveldb"), False), ((*LARGE, "engine=triad"), False),
        (("workload=mixgraph",), False), (("workload=ycsb_a",), True),
    ],
)  # fmt: skip
def test_values_leave_the_sst_files_where_they_are_large(overrides: Sequence[str], offered: bool) -> None:
    """Blob files are tried for large values, with collection and without, where release and engine have them."""
    found = [change.name for change in candidates(present(*overrides)) if change.about == "blobs"]

    newest = present(*overrides).has("blob_compaction_readahead_size")
    ahead = " blob_compaction_readahead_size=2MiB" if newest else ""  # since 6.27
    collected = f"enable_blob_files=true enable_blob_garbage_collection=true{ahead}"

    assert [collected, "enable_blob_files=true"] * offered == found


def test_options_of_blob_files_are_tried_in_both_directions() -> None:
    """A store with blob files may do without, without collection may collect, and collect more or less than now."""
    collecting = (*BLOBS, "engine.options.enable_blob_garbage_collection=true")
    kept, collected = blob_changes(*BLOBS), blob_changes(*collecting)
    cutoffs = [c.name for c in candidates(present(*collecting)) if "age_cutoff" in c.name]

    assert {"enable_blob_files", "enable_blob_garbage_collection", "use_blob_cache", "blob_compression_type"} == kept.keys()
    turned = "enable_blob_garbage_collection=true blob_compaction_readahead_size=2MiB"
    assert ("enable_blob_files=false", turned) == tuple(kept.values())[:2]
    assert "enable_blob_garbage_collection=false" == collected["enable_blob_garbage_collection"]
    assert ["blob_garbage_collection_age_cutoff=0.5", "blob_garbage_collection_age_cutoff=0.125"] == cutoffs
    assert "blob_garbage_collection_force_threshold=0.5" == collected["blob_garbage_collection_force_threshold"]
    assert "target_file_size_base=8MiB max_bytes_for_level_base=32MiB" in names(candidates(present(*collecting)))
    assert "blob_compaction_readahead_size=2MiB" == collected["blob_compaction_readahead_size"]
    assert "blob_garbage_collection_force_threshold" not in blob_changes(*collecting, UNIVERSAL)
    assert "blob_garbage_collection_force_threshold" not in blob_changes(*collecting, "engine.version='6.25'")


def test_a_border_between_values_is_tried_where_their_sizes_differ() -> None:
    """min_blob_size decides nothing where all values have one size."""
    varied = ("workload=constant", "workload.value_sigma=100", "engine.options.enable_blob_files=true")

    assert "min_blob_size=1KiB" == blob_changes(*varied)["min_blob_size"]
    assert "min_blob_size" not in blob_changes(*BLOBS)


def test_the_values_of_the_family_that_stalls_decide() -> None:
    """A column family with large values may have blob files beside one with small values."""
    loads = "+workload.families={default: {writes: 1}, b: {writes: 1, value_size: 4KB}}"
    families = ("+engine.families.b.options.num_levels=5", loads)
    found = {text for c in candidates(present(*families), ("b", "default")) for text in c.overrides if "blob_files" in text}

    assert {"++engine.families.b.options.enable_blob_files=true"} == found

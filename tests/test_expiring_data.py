"""Data that expires or goes in ranges: ages of files, compaction filters, marked files, range tombstones, dropped files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from draining import check_entries
from lsmlab.models.errors import InputError
from lsmlab.models.options.options import resolve_options
from lsmlab.models.policies.decisions import Compaction, Move, RunningJob
from lsmlab.models.policies.rocksdb.due_files import least_age_s, trigger_period_s
from lsmlab.models.policies.rocksdb.ingest import IngestionPlace, ingestion_place, writes_seqno
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.manual import files_in_range
from lsmlab.models.policies.rocksdb.universal import UniversalPicker
from lsmlab.models.tree.ages import AgeRule, data_from_s, input_ages
from lsmlab.models.tree.deletion_density import DeletionCollector
from lsmlab.models.tree.expiry import with_expired, write_times
from lsmlab.models.tree.files import KeyRange, SortedFile
from lsmlab.models.tree.merge import merge_files
from lsmlab.models.tree.ranges import clipped, covered_bytes, divide, joined
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version
from lsmlab.sim.results.results import Result
from lsmlab.sim.store.memtables import has_key
from running import SMALL, set_up, simulate

HOUR_S = 3600.0
OLD = Version.parse("7.8")
MIB = 1 << 20


def picker(version: str = "7.8", **options: Any) -> LeveledPicker:
    """Return a levelled picker whose levels have room, so that only due files are compacted."""
    roomy = {"level_compaction_dynamic_level_bytes": False, "compression": "none", "ttl": 0, "periodic_compaction_seconds": 0}
    parsed = Version.parse(version)
    return LeveledPicker(resolve_options(parsed, "library", {**roomy, **options}).options, parsed)


def file(number: int, lo: int, hi: int, created_s: float = 0.0, size_mib: int = 1, **more: Any) -> SortedFile:
    """Return a file of keys lo to hi."""
    return SortedFile(number, lo, hi, size_mib * MIB, entries=100.0, created_s=created_s, **more)


def tree_of(**levels: list[SortedFile]) -> Tree:
    """Return a tree with these files, by level (l0, l1, ...)."""
    tree = Tree()
    tree.install(added=[(int(name[1:]), files) for name, files in levels.items()])
    return tree


def keyed(number: int, keys: list[int], **more: Any) -> SortedFile:
    """Return a file with carried keys."""
    codes = np.array(keys, dtype=np.int64)
    return SortedFile(number, keys[0], keys[-1], MIB, entries=float(len(keys)), keys=codes, **more)


# --- ages of files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["5.13", "5.14"])
def test_old_data_goes_down_by_ttl(version: str) -> None:
    """Since 5.14 a file older than ttl goes one level down; files of the deepest level stay."""
    tree = tree_of(l1=[file(1, 0, 9), file(2, 20, 29, 5000.0)], l3=[file(3, 0, 99)])
    pick = picker(version, ttl=3600).pick(tree, (), 2 * HOUR_S)

    if version == "5.13":
        assert not isinstance(pick, Compaction | Move)
        return
    assert isinstance(pick, Move)
    assert ("Ttl", 1, 2, [1]) == (pick.reason, pick.start_level, pick.output_level, [f.number for f in pick.inputs[0][1]])


def test_the_age_of_data_is_that_of_the_oldest_input() -> None:
    """A file that a compaction has just written is as old as its inputs, so it goes on to the deepest level at once."""
    fresh = file(1, 0, 9, created_s=7000.0, data_from_s=100.0)
    tree = tree_of(l2=[fresh], l4=[file(3, 0, 99)])

    assert picker(ttl=3600).needs_compaction(tree, 2 * HOUR_S)
    assert not picker(periodic_compaction_seconds=3600).needs_compaction(tree_of(l2=[fresh]), 2 * HOUR_S)


def test_an_output_is_as_old_as_the_inputs_that_overlap_it() -> None:
    """Since 6.27 the oldest input that overlaps an output counts, since 6.6 the oldest of all, before it the newest."""
    inputs = [file(1, 0, 9, 50.0), file(2, 10, 19, 70.0, data_from_s=20.0), file(3, 5, 15, 90.0)]
    outputs = ((0, 4), (5, 9), (10, 12), (30, 40))

    found = {rule: [data_from_s(input_ages(inputs, rule), lo, hi) for lo, hi in outputs] for rule in AgeRule}
    assert found[AgeRule.OLDEST_OVERLAPPING] == [50.0, 50.0, 20.0, math.inf]
    assert found[AgeRule.OLDEST] == [20.0] * 4
    assert found[AgeRule.NEWEST] == [90.0] * 4
    setups = [set_up(*SMALL, f"engine.version='{v}'", "engine.options.ttl=3600") for v in ("6.5", "6.6", "6.26", "6.27")]
    rules = [setup.families[0].content.age_rule for setup in setups]
    assert [AgeRule.NEWEST, AgeRule.OLDEST, AgeRule.OLDEST, AgeRule.OLDEST_OVERLAPPING] == rules
    assert set_up(*SMALL, "workload.duration=10s").families[0].content.age_rule is None  # no file gets older than the run


@pytest.mark.parametrize(
    ("version", "dynamic", "output"), [("6.1", False, None), ("6.2", False, 5), ("8.10", True, 5), ("8.11", True, 6)]
)
def test_old_files_are_rewritten_by_period(version: str, dynamic: bool, output: int | None) -> None:
    """Since 6.2 a file written too long ago is rewritten in its level; since 8.11 with dynamic levels one level down."""
    tree = tree_of(l5=[file(1, 0, 9)], l6=[file(2, 0, 9, 7000.0, 500), file(3, 50, 60, 7000.0, 500)])
    period = {} if version == "6.1" else {"periodic_compaction_seconds": 3600}
    pick = picker(version, level_compaction_dynamic_level_bytes=dynamic, **period).pick(tree, (), 2 * HOUR_S)

    if output is None:
        assert not isinstance(pick, Compaction | Move)
        return
    assert isinstance(pick, Compaction)
    assert ("PeriodicCompaction", 5, output) == (pick.reason, pick.start_level, pick.output_level)


def test_the_deepest_level_is_rewritten_by_period_alone() -> None:
    """The deepest level's old files are due by period, not by ttl; busy files are not due."""
    tree = tree_of(l5=[file(1, 0, 9)])
    periodic = picker(periodic_compaction_seconds=3600)

    assert not picker(ttl=3600).needs_compaction(tree, 2 * HOUR_S)
    assert periodic.needs_compaction(tree, 2 * HOUR_S)
    tree.mark(5, tree.levels[5].files, busy=True)
    assert not periodic.needs_compaction(tree, 2 * HOUR_S)


def test_ages_come_after_scores_and_wait_for_l0() -> None:
    """A level over its target is compacted first; an old L0 file waits for a running L0 job, and others go instead."""
    tree = tree_of(l0=[file(9, 0, 9)], l1=[file(1, 20, 29)], l2=[file(2, 0, 99, 7000.0)])
    due = picker(ttl=3600)

    first, beside = due.pick(tree, (), 2 * HOUR_S), due.pick(tree, (RunningJob(0, 1, 90, 99),), 2 * HOUR_S)
    assert isinstance(first, Move)
    assert isinstance(beside, Compaction)
    assert ("Ttl", 0, "Ttl", 1) == (first.reason, first.start_level, beside.reason, beside.start_level)
    small = picker(ttl=3600, max_bytes_for_level_base=MIB // 2).pick(tree, (), 2 * HOUR_S)
    assert isinstance(small, Move)
    assert small.reason == "LevelL0FilesNum"


@pytest.mark.parametrize(
    ("version", "ages", "period_s"),
    [
        ("10.3", {"periodic_compaction_seconds": 100_000}, math.inf),
        ("10.4", {"periodic_compaction_seconds": 100_000}, 12 * HOUR_S),
        ("10.4", {"ttl": 100_000}, math.inf),
        ("11.1", {"ttl": 100_000}, 600.0),
        ("11.1", {"ttl": 100}, 20.0),
        ("11.1", {}, math.inf),
    ],
)  # fmt: skip
def test_newer_releases_look_at_ages_by_a_timer(version: str, ages: dict[str, int], period_s: float) -> None:
    """10.4 looks every 12 hours if there is a period; 11.1 five times per age, and at each dump of statistics."""
    found = picker(version, **ages)

    assert period_s == trigger_period_s(found.options, found.version)
    assert least_age_s(found.options) == min(ages.values(), default=math.inf)


# --- compaction filter ------------------------------------------------------------------------------------------------


def test_write_times_are_those_of_the_newest_versions() -> None:
    """A key has the time of the newest file with it: that of its flush, also after compactions."""
    old = keyed(1, [2, 4, 6], times=np.array([1.0, 2.0, 3.0]), created_s=50.0)
    new = keyed(2, [4, 8], created_s=60.0)
    inputs = [(0, [new]), (1, [old])]
    keys, _ = merge_files(inputs)
    times = write_times(inputs, keys)

    assert [1.0, 60.0, 3.0, 60.0] == times.tolist()
    expired = with_expired(None, times, before_s=3.0)
    assert expired is not None
    assert [True, False, False, False] == expired.tolist()
    assert with_expired(None, times, before_s=0.5) is None


EXPIRING = (
    *SMALL, "workload.duration=100s", "workload.benchmark_write_rate_limit=300KB/s", "engine.options.write_buffer_size=256KiB",
    "engine.options.target_file_size_base=512KiB", "engine.options.max_bytes_for_level_base=1MiB",
)  # fmt: skip


def test_a_filter_drops_expired_entries() -> None:
    """Entries older than the age go when a compaction rewrites them."""
    kept = simulate(*EXPIRING).summary
    filtered = simulate(*EXPIRING, "engine.compaction_filter_ttl=20s")

    check_entries(filtered)
    assert filtered.summary["live_entries"] < 0.5 * kept["live_entries"]
    assert filtered.summary["options"]["periodic_compaction_seconds"] == 30 * 86400
    assert kept["options"]["periodic_compaction_seconds"] == 0


@pytest.mark.parametrize("version", ["11.0", "11.1"])
def test_a_period_empties_a_store_of_expired_entries(version: str) -> None:
    """Without writes, old entries go only if files are rewritten by age: since 11.1 a timer looks for them in time."""
    result = simulate(
        *SMALL, f"engine.version='{version}'", "engine.compaction_filter_ttl=20s",
        "engine.options.periodic_compaction_seconds=20", "workload=phases", "workload.phases=[fillrandom,flush,{wait:100s}]",
    )  # fmt: skip

    check_entries(result)
    assert (result.summary["live_entries"] == 0.0) is (version == "11.1")


# --- marked files -----------------------------------------------------------------------------------------------------


def test_dense_deletions_mark_a_file() -> None:
    """A window with enough tombstones marks, and so does the share in the whole file."""
    flags, weights = np.zeros(100, dtype=np.bool_), np.full(100, 10.0)
    flags[40:50] = True

    assert DeletionCollector(200, 100).marks(flags, weights)
    assert not DeletionCollector(200, 101).marks(flags, weights)
    assert DeletionCollector(deletion_ratio=0.1).marks(flags, weights)
    assert not DeletionCollector(deletion_ratio=0.11).marks(flags, weights)
    flags[:] = False
    flags[::10] = True  # as many tombstones, far apart
    assert not DeletionCollector(200, 100).marks(flags, weights)


def test_marked_files_go_down_first() -> None:
    """A marked file above the deepest level goes one down, before files that are too old."""
    tree = tree_of(l1=[file(1, 0, 9), file(2, 20, 29, marked=True)], l2=[file(3, 0, 99, marked=True)])
    pick = picker(ttl=3600).pick(tree, (), 2 * HOUR_S)

    assert isinstance(pick, Compaction)
    assert pick.reason == "FilesMarkedForCompaction"
    assert 2 in [f.number for f in pick.inputs[0][1]]
    assert not picker().needs_compaction(tree_of(l2=[file(3, 0, 99, marked=True)]), 0.0)


def test_a_collector_compacts_deletions_away() -> None:
    """With a collector, flushes of deletes alone go down without waiting for the L0 trigger."""
    deleting = (*SMALL, "workload=deleterandom", "workload.writes=300k", "engine.options.max_bytes_for_level_base=64MiB")
    plain = simulate(*deleting).summary
    collected = simulate(*deleting, "engine.compact_on_deletion={deletion_ratio:0.5}").summary

    universal = simulate(*deleting, "engine.options.compaction_style=kCompactionStyleUniversal",
                         "engine.compact_on_deletion={deletion_ratio:0.5}").summary  # fmt: skip

    assert collected["job_reasons"]["FilesMarkedForCompaction"] > 0
    assert universal["job_reasons"]["FilesMarkedForCompaction"] > 0
    assert "FilesMarkedForCompaction" not in plain["job_reasons"]


# --- ranges -----------------------------------------------------------------------------------------------------------


def test_a_range_tombstone_deletes_older_entries_only() -> None:
    """Entries of older runs in the range go; those of its own file and of newer ones stay."""
    own = keyed(2, [3, 30], ranges=(KeyRange(0, 10),))
    keys, _ = merge_files([(0, [keyed(3, [5]), own]), (1, [keyed(1, [1, 3, 9, 11])])])

    assert [3, 5, 11, 30] == keys.tolist()


def test_outputs_divide_range_tombstones() -> None:
    """Each output file has its part up to the next file's first key, and its bounds contain it."""
    files = [keyed(1, [10, 19]), keyed(2, [30, 39])]
    divide(joined([KeyRange(0, 12), KeyRange(5, 35)]), files)

    assert [(KeyRange(0, 29),), (KeyRange(30, 35),)] == [f.ranges for f in files]
    assert [(0, 29), (30, 39)] == [(f.lo, f.hi) for f in files]
    assert () == clipped([KeyRange(0, 5)], 6, 9)


def test_covered_bytes_are_those_below() -> None:
    """Half of a file in the range counts with half of its bytes."""
    tree = tree_of(l1=[keyed(1, [0, 1, 2, 3])], l2=[keyed(2, [0, 100])])

    assert covered_bytes(tree, [KeyRange(0, 1)], 1) == MIB // 2 + MIB // 2
    assert covered_bytes(tree, [KeyRange(0, 1)], 2) == MIB // 2


def test_files_within_a_range_are_dropped() -> None:
    """Files below L0 with all their keys in the range are deleted; busy ones and those of L0 stay."""
    tree = tree_of(l0=[file(9, 0, 9)], l1=[file(1, 0, 9), file(2, 10, 60)], l2=[file(3, 0, 20), file(4, 30, 50)])
    tree.mark(2, [tree.levels[2].files[1]], busy=True)
    drop = files_in_range(tree, 0, 50)

    assert [(1, [1]), (2, [3])] == [(level, [f.number for f in files]) for level, files in getattr(drop, "inputs", ())]


def phased(*phases: str) -> Result:
    """Simulate these phases on the small store."""
    return simulate(*SMALL, "workload=phases", f"workload.phases=[{','.join(phases)}]")


@pytest.mark.parametrize("before", ["waitforcompaction", "flush,waitforcompaction"])
@pytest.mark.parametrize("version", ["7.9", "7.10"])
def test_a_range_goes_with_its_entries(version: str, before: str) -> None:
    """After a compaction of all keys the range is gone: half of the keys that were written are left."""
    deleted = "{deleterange:{begin:0.25,end:0.75}}"
    result = simulate(
        *SMALL, f"engine.version='{version}'", "workload=phases",
        f"workload.phases=[fillrandom,{before},{deleted},flush,waitforcompaction,compact]",
    )  # fmt: skip

    check_entries(result)
    assert result.summary["live_entries"] == pytest.approx(0.5 * (1.0 - math.exp(-1.0)) * 200_000, rel=0.03)
    assert result.summary["space_amplification"] == pytest.approx(1.0, abs=0.01)


def test_gets_end_at_a_range_tombstone() -> None:
    """Gets of keys in a deleted range find nothing, before and after the flush of the tombstone."""
    steps = ("fillrandom", "flush", "waitforcompaction", "{deleterange:{begin:0,end:1}}", "{readrandom:{reads:2k}}")
    for more in ((), ("flush", "{readrandom:{reads:2k}}")):
        result = phased(*steps, *more)
        assert result.summary["block_cache"]["found_share"] == 0.0
    found = phased("fillrandom", "flush", "waitforcompaction", "{readrandom:{reads:2k}}").summary["block_cache"]["found_share"]
    assert found == pytest.approx(1.0 - math.exp(-1.0), abs=0.05)


def test_files_in_a_range_go_unread() -> None:
    """DeleteFilesInRange frees whole files without a compaction."""
    result = phased("fillrandom", "waitforcompaction", "{deletefilesinrange:{begin:0,end:0.5}}", "levelstats")
    _, filled, dropped, _ = result.summary["phases"]

    assert dropped["live_bytes"] < 0.8 * filled["live_bytes"]
    assert dropped["compaction_write_bytes"] == 0


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        (("engine.compact_on_deletion={deletion_trigger:5}",), "engine.compact_on_deletion"),
        (("engine=fifo", "engine.compact_on_deletion={deletion_ratio:0.5}"), "engine.compact_on_deletion"),
        (("engine=ldc", "engine.compaction_filter_ttl=20s"), "engine.compaction_filter_ttl"),
        (("workload=phases", "workload.phases=[fillrandom,{deleterange:{begin:0.5,end:0.5}}]"), "deleterange"),
    ],
)  # fmt: skip
def test_settings_that_are_not_modelled_are_refused(overrides: tuple[str, ...], key: str) -> None:
    """One error names the key."""
    with pytest.raises(InputError, match=key):
        simulate(*SMALL, *overrides)


# --- ingestion --------------------------------------------------------------------------------------------------------


def test_an_ingested_file_goes_below_all_that_it_does_not_replace() -> None:
    """The deepest level without overlap, above the first level with an entry of its keys; running outputs keep it out."""
    tree = tree_of(l1=[keyed(1, [0, 9])], l3=[keyed(3, [0, 30, 60])])
    chosen = picker()

    places = [ingestion_place(tree, chosen, OLD, (), lo, hi) for lo, hi in ((70, 80), (10, 20), (25, 35), (5, 9))]
    assert [6, 6, 2, 0] == [place.level for place in places]  # between the keys of a file of L3; over a key of L3; over one of L1
    assert [False, False, True, True] == [place.overlaps for place in places]


@pytest.mark.parametrize(("version", "level", "overlaps"), [("7.9", 6, False), ("7.10", 3, True)])
def test_an_ingested_file_stays_above_running_outputs(version: str, level: int, overlaps: bool) -> None:
    """An output of a running compaction in its range keeps a file out of that level; since 7.10 out of deeper ones, too."""
    running = (RunningJob(3, 4, 75, 90),)
    tree = tree_of(l1=[keyed(1, [0, 9])])

    assert IngestionPlace(level, overlaps) == ingestion_place(tree, picker(), Version.parse(version), running, 70, 80)


@pytest.mark.parametrize(("version", "level"), [("9.7", 5), ("9.8", 6)])
def test_universal_stores_take_files_into_empty_levels_since_9_8(version: str, level: int) -> None:
    """Before, only L0 and levels with files count."""
    parsed = Version.parse(version)
    universal = UniversalPicker(resolve_options(parsed, "library", {"compaction_style": "universal"}).options, parsed)

    assert level == ingestion_place(tree_of(l5=[keyed(1, [0, 9])]), universal, parsed, (), 70, 80).level


def test_releases_that_write_the_sequence_number() -> None:
    """From 6.4 to 7.10 a file that needs a sequence number of its own is written and synced."""
    assert [False, True, True, False] == [writes_seqno(Version.parse(v)) for v in ("6.3", "6.4", "7.10", "8.0")]


def test_memtables_overlap_where_they_have_keys() -> None:
    """Between two carried keys the real ones lie evenly; beyond the first and the last there are none."""
    keys = np.array([100, 200], dtype=np.int64)

    assert [False, True, True, False] == [has_key(keys, 50.0, lo, hi) for lo, hi in ((0, 99), (100, 100), (140, 145), (201, 900))]
    assert not has_key(keys, 1.0, 140, 145)


def test_ingested_files_arrive_without_a_compaction() -> None:
    """Ingestion flushes the memtable, and its entries are live without a byte of compaction."""
    result = phased("fillrandom", "waitforcompaction", "{ingest:{begin:0.5,end:1,files:4}}", "waitforcompaction", "compact")
    _, before, after, *_, compacted = result.summary["phases"]

    check_entries(result)
    assert after["live_bytes"] > before["live_bytes"]
    assert sum(after["files_per_level"]) >= sum(before["files_per_level"]) + 4
    assert compacted["live_bytes"] < after["live_bytes"]

"""RocksDB's leveled picker: readable examples of each rule, and properties on random trees.

Source: (behaviour/leveled-compaction.md, Leveled compaction).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from goldens import Arguments, PickerSession, run_golden
from hypothesis import given
from hypothesis import strategies as st
from lsmlab.models.options.fields import CompactionPri, Compression, RocksDbOptions, UniversalOptions
from lsmlab.models.policies.decisions import Compaction, Move, Picker, RunningJob
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.overlap_order import OverlapOrder, Release, overlap_bytes
from lsmlab.models.policies.rocksdb.priority import SORTED_FILES, PriorityLists
from lsmlab.models.policies.rocksdb.ttl_boost import TtlBoost
from lsmlab.models.policies.rocksdb.unstable_sort import sorted_as_libstdcxx
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

GOLDENS = sorted((Path(__file__).parent / "testdata" / "compaction").glob("rocksdb_leveled*.txt"))
VERSIONS = [Version.parse(v) for v in ("5.7", "6.4", "7.5", "7.8", "8.3", "9.8", "11.8")]


def rocksdb(arguments: Arguments) -> Picker:
    """Return a leveled picker for the arguments of a golden text."""
    options = RocksDbOptions(
        max_bytes_for_level_base=int(arguments.pop("base", "1000")),
        max_bytes_for_level_multiplier=float(arguments.pop("multiplier", "10")),
        level_compaction_dynamic_level_bytes=arguments.pop("dynamic", "no") == "yes",
        level0_file_num_compaction_trigger=int(arguments.pop("trigger", "4")),
        num_levels=int(arguments.pop("num_levels", "7")),
        max_compaction_bytes=int(arguments.pop("max_compaction_bytes", "2500")),
        compaction_pri=CompactionPri(arguments.pop("pri", "kMinOverlappingRatio")),
        compaction_options_universal=UniversalOptions(
            allow_trivial_move=arguments.pop("universal_allow_trivial_move", "no") == "yes"
        ),
        ignore_max_compaction_bytes_for_input=arguments.pop("ignore_max_compaction_bytes_for_input", "yes") == "yes",
        compression_per_level=tuple(
            Compression(name) for name in arguments.pop("compression_per_level", "").split(",") if name
        ),
        bottommost_compression=Compression(arguments.pop("bottommost_compression", "kDisableCompressionOption")),
    )
    picker = LeveledPicker(options, Version.parse(arguments.pop("version")))
    assert not arguments, f"unknown options {arguments}"
    return picker


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    """The picker gives every answer of the golden texts."""
    run_golden(path, PickerSession(rocksdb).commands())


def random_tree(seed: int, counts: tuple[int, ...] = (3, 6, 40, 120)) -> Tree:
    """Return a tree of disjoint files of random sizes, some of them busy."""
    rng = np.random.default_rng(seed)
    tree, number = Tree(), 0
    for level, count in enumerate(counts):
        cuts = np.sort(rng.choice(100_000, 2 * count, replace=False)).tolist()
        files = []
        for i in range(count):
            number += 1
            lo, hi = (cuts[2 * i], cuts[2 * i + 1]) if level else (int(rng.integers(0, 500)), 99_000)
            busy = level > 0 and bool(rng.random() < 0.1)
            files.append(SortedFile(number, lo, hi, int(rng.integers(50, 150)), largest_seqno=number, busy=busy))
        if level:
            tree.levels[level].insert(files)
        else:
            tree.l0 = files[::-1]
    return tree


def small_options(**values: Any) -> RocksDbOptions:
    """Return options for levels of a few hundred bytes."""
    return RocksDbOptions(max_bytes_for_level_base=300, max_compaction_bytes=2000, **values)


@given(st.integers(0, 10_000), st.sampled_from(VERSIONS), st.booleans(), st.sampled_from(list(CompactionPri)))
def test_picks_do_not_conflict_with_running_jobs(seed: int, version: Version, dynamic: bool, pri: CompactionPri) -> None:
    """A pick shares no file with a running job, and its output overlaps no running output of the same level."""
    tree = random_tree(seed)
    picker = LeveledPicker(small_options(level_compaction_dynamic_level_bytes=dynamic, compaction_pri=pri), version)
    running: list[RunningJob] = []
    for _ in range(12):
        pick = picker.pick(tree, running, 0.0)
        if not isinstance(pick, Compaction | Move):
            break
        files = [f for _, level in pick.inputs for f in level]
        assert not any(f.busy for f in files)
        lo, hi = min(f.lo for f in files), max(f.hi for f in files)
        same = [r for r in running if r.output_level == pick.output_level and r.lo <= hi and r.hi >= lo]
        assert pick.output_level == 0 or same == []
        for level, chosen in pick.inputs:
            tree.mark(level, chosen, busy=True)
        running.append(RunningJob(pick.start_level, pick.output_level, lo, hi))


@given(st.integers(0, 10_000), st.sampled_from(VERSIONS), st.booleans())
def test_compaction_takes_all_overlapping_files(seed: int, version: Version, dynamic: bool) -> None:
    """A compaction takes every file of the output level, and every L0 file, that overlaps its inputs."""
    tree = random_tree(seed)
    pick = LeveledPicker(small_options(level_compaction_dynamic_level_bytes=dynamic), version).pick(tree, [], 0.0)
    if not isinstance(pick, Compaction | Move) or pick.output_level == 0:
        return
    chosen = {f.number for _, files in pick.inputs for f in files}
    start = pick.inputs[0][1]
    lo, hi = min(f.lo for f in start), max(f.hi for f in start)
    candidates = [*tree.levels[pick.output_level], *(tree.l0 if pick.start_level == 0 else ())]
    assert [f for f in candidates if f.lo <= hi and f.hi >= lo and f.number not in chosen] == []


def slow_overlaps(level: Level, below: Level) -> list[int]:
    """Walk over both levels file by file as SortFileByOverlappingRatio does; of equal user keys the newer is first."""
    found, at, files = [], 0, below.files
    for file in level:
        total = 0
        while at < len(files) and files[at].hi < file.lo:
            at += 1
        while at < len(files) and files[at].lo < file.hi:
            total += files[at].size_bytes
            if files[at].hi >= file.hi:
                break
            at += 1
        found.append(total)
    return found


@given(st.integers(0, 10_000))
def test_overlaps_equal_the_walk(seed: int) -> None:
    """The vectorised overlap sums equal RocksDB's walk over both levels."""
    tree = random_tree(seed)
    assert slow_overlaps(tree.levels[2], tree.levels[3]) == overlap_bytes(tree.levels[2], tree.levels[3]).tolist()


@pytest.mark.parametrize("pri", [p for p in CompactionPri if p is not CompactionPri.ROUND_ROBIN])
def test_order_is_a_full_sort(pri: CompactionPri) -> None:
    """The positions sorted at first and those sorted later form one permutation in the order of the sort key."""
    tree = random_tree(1)
    for file in tree.levels[3]:
        file.smallest_seqno, file.largest_seqno = file.size_bytes, file.hi % 997
    order = PriorityLists(pri, Version(7, 8)).of(tree, 3)
    indices = [order[i] for i in range(len(order))]
    assert sorted(indices) == list(range(len(tree.levels[3])))
    assert len(indices) > SORTED_FILES
    files = [tree.levels[3].files[i] for i in indices]
    keys = {
        CompactionPri.BY_COMPENSATED_SIZE: [-f.compensated_bytes for f in files],
        CompactionPri.OLDEST_LARGEST_SEQ_FIRST: [f.largest_seqno for f in files],
        CompactionPri.OLDEST_SMALLEST_SEQ_FIRST: [f.smallest_seqno for f in files],
        CompactionPri.MIN_OVERLAPPING_RATIO: [f.lo for f in files],  # no level below: all ratios are 0
    }[pri]
    assert sorted(keys) == keys


SCATTERED = [
    (
        [0, 0, 7, 0, 0, 3, 0, 0, 0, 0, 9, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 5, 0],
        [12, 23, 21, 20, 19, 18, 17, 16, 14, 13, 0, 11, 9, 8, 7, 6, 4, 3, 1, 15, 5, 22, 2, 10],
    ),
    (
        [0] * 38,
        [29, *range(20, 29), 19, *range(30, 38), 10, *range(1, 10), 0, *range(11, 19)],
    ),
    ([2, 1, 1, 0, 1, 0, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0], [3, 5, 15, 1, 2, 4, *range(7, 15), 0, 6]),
]
"""Keys and the order in which g++ 12's std::sort leaves their indices, compared by key only."""


@pytest.mark.parametrize(("keys", "order"), SCATTERED, ids=["some_ties", "all_equal", "short"])
def test_ties_before_7_5_are_in_the_order_of_the_sort(keys: list[int], order: list[int]) -> None:
    """Equal elements are left as by libstdc++'s std::sort; up to 16 elements keep their order."""
    assert order == sorted_as_libstdcxx(keys)


def test_tombstones_make_a_file_cheap_since_6_0() -> None:
    """Up to 5.18 the overlap is divided by the file's size, later by its compensated size, which tombstones raise."""
    tree = Tree()
    plain, deleted = SortedFile(1, 0, 9, 100), SortedFile(2, 20, 29, 90)
    deleted.compensated_bytes = 200
    tree.levels[1].insert([plain, deleted])
    tree.levels[2].insert([SortedFile(3, 0, 9, 100), SortedFile(4, 20, 29, 100)])
    lists = {v: PriorityLists(CompactionPri.MIN_OVERLAPPING_RATIO, Version.parse(v)) for v in ("5.7", "5.18", "6.0", "7.8")}
    assert {"5.7": 0, "5.18": 0, "6.0": 1, "7.8": 1} == {v: each.of(tree, 1)[0] for v, each in lists.items()}


@pytest.mark.parametrize(
    ("level", "ages"),
    [(3, {1023: 1, 1024: 1, -10: 1, 1150: 1, 1151: 2, 1152: 2, 1174: 5, 1844: 101}), (5, {1504: 1, 1564: 3})],
)  # fmt: skip
def test_files_near_their_ttl_are_preferred(level: int, ages: dict[int, int]) -> None:
    """Divisors of a ttl of 2,048 s in a store of seven levels, as compaction_picker_test.cc has them."""
    boost = TtlBoost.of(2048, level, 6)
    assert boost is not None
    now_s = 1e6
    files = [SortedFile(i, 10 * i, 10 * i + 5, 1, created_s=now_s - age, data_from_s=now_s - age) for i, age in enumerate(ages)]
    assert list(ages.values()) == boost.divisors(Level(files), now_s).tolist()
    assert [None] * 4 == [TtlBoost.of(2048, 6, 6), TtlBoost.of(2048, 0, 6), TtlBoost.of(0, 3, 6), TtlBoost.of(31, 3, 6)]


def test_the_order_of_a_level_prefers_old_files_since_6_27() -> None:
    """An old file with four times the overlap comes first; the order holds for a version of the tree."""
    tree = Tree()
    tree.levels[1].insert([SortedFile(1, 0, 9, 100, created_s=900.0), SortedFile(2, 20, 29, 100, created_s=0.0)])
    tree.levels[2].insert([SortedFile(3, 0, 9, 100, created_s=0.0), SortedFile(4, 20, 29, 400, created_s=0.0)])
    lists = {v: PriorityLists(CompactionPri.MIN_OVERLAPPING_RATIO, Version.parse(v), 1000) for v in ("6.26", "6.27")}
    assert {"6.26": 0, "6.27": 1} == {v: each.of(tree, 1, 950.0)[0] for v, each in lists.items()}
    assert [1, 0] == [lists["6.27"].of(tree, 1, now_s)[0] for now_s in (951.0, 400.0)]


def test_an_open_moves_files_down_since_8_2() -> None:
    """With dynamic levels the files of the filled levels go to the last ones, without compaction; L0 stays."""
    dynamic = small_options(level_compaction_dynamic_level_bytes=True)
    opened = {v: LeveledPicker(dynamic, Version.parse(v)).levels_at_open([0, 1, 3]) for v in ("8.1", "8.2", "9.7")}
    stays, moved = {0: 0, 1: 1, 3: 3}, {0: 0, 1: dynamic.num_levels - 2, 3: dynamic.num_levels - 1}
    assert opened == {"8.1": stays, "8.2": moved, "9.7": moved}
    assert LeveledPicker(small_options(), Version(9, 7)).levels_at_open([0, 1, 3]) == stays


def test_files_without_overlap_are_scattered_before_7_5() -> None:
    """Releases without a rule for ties pick a file in the middle of the key space, later ones the first."""
    tree = Tree()
    tree.levels[2].insert([SortedFile(i, 10 * i, 10 * i + 5, 100) for i in range(38)])
    lists = {v: PriorityLists(CompactionPri.MIN_OVERLAPPING_RATIO, Version.parse(v)) for v in ("6.4", "7.4", "7.5")}
    assert {"6.4": 29, "7.4": 29, "7.5": 0} == {v: each.of(tree, 2)[0] for v, each in lists.items()}


@given(st.integers(0, 10_000))
def test_updated_order_equals_a_new_one(seed: int) -> None:
    """After any changes of both levels, an order that follows them equals one of all files."""
    rng = np.random.default_rng(seed)
    upper, lower = (Level(_row(rng, 0, 12_000, 30)) for _ in range(2))
    order = OverlapOrder(upper, lower, Release.of(Version(7, 8)))
    for _ in range(20):
        for _ in range(rng.integers(1, 4)):
            level = upper if rng.random() < 0.5 else lower
            i = int(rng.integers(len(level)))
            old = level.files[i : i + int(rng.integers(1, 6))]
            lo, width = old[0].lo, old[-1].hi + 1 - old[0].lo
            level.replace(old, _row(rng, lo, width, 30) if rng.random() < 0.9 else ())
        order.update()
        full = OverlapOrder(upper, lower, Release.of(Version(7, 8)))
        assert [full[i] for i in range(len(full))] == [order[i] for i in range(len(order))]


def _row(rng: np.random.Generator, lo: int, width: int, step: int) -> list[SortedFile]:
    """Return disjoint files of random sizes within [lo, lo + width)."""
    keys = (lo + np.unique(rng.integers(0, width, 2 * max(1, width // step)))).tolist()
    return [
        SortedFile(0, first, last, int(rng.integers(50, 100)))
        for first, last in zip(keys[::2], keys[1::2], strict=False)
    ]


def test_disabled() -> None:
    """With disable_auto_compactions, no compaction is ever due."""
    tree = random_tree(3)
    assert LeveledPicker(small_options(), Version(7, 8)).needs_compaction(tree, 0.0)
    assert not LeveledPicker(small_options(disable_auto_compactions=True), Version(7, 8)).needs_compaction(tree, 0.0)

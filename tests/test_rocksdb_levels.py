"""RocksDB's targets, scores and debt: worked numbers and properties.

See (behaviour/leveled-compaction.md, Leveled compaction).
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsmlab.models.policies.rocksdb.levels import (
    LevelRules,
    average_value,
    bottommost_bytes,
    compensated_size,
    multiply,
    order_by_score,
)
from lsmlab.models.policies.rocksdb.slots import slots
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

MIB = 1 << 20
V78 = Version(7, 8)


def tree_of(*level_bytes: int, l0: int = 0, l0_bytes: int = 0) -> Tree:
    """A tree with one file per level (L1 first) and `l0` files at L0."""
    tree = Tree()
    tree.l0 = [SortedFile(100 - i, 0, 9, l0_bytes) for i in range(l0)]
    for level, size in enumerate(level_bytes, 1):
        if size:
            tree.levels[level].insert([SortedFile(level, 0, 9, size)])
    return tree


def test_static_targets_of_the_defaults() -> None:
    """256 MiB times ten per level, and no target for L0 (behaviour/leveled-compaction.md, Static targets)."""
    targets = LevelRules(V78).targets(Tree())
    assert targets.base_level == 1
    assert [math.inf, *(256 * MIB * 10**i for i in range(6))] == list(targets.size_bytes)


def test_additional_multipliers() -> None:
    """target[i] also takes multiplier_additional[i - 1]; a missing entry counts as 1."""
    rules = LevelRules(V78, max_bytes_for_level_base=100, max_bytes_for_level_multiplier_additional=(7, 3, 2))
    assert list(rules.targets(Tree()).size_bytes[1:5]) == [100, 3000, 60_000, 600_000]


def test_worked_l0_numbers() -> None:
    """L0 files of 53.5 MiB start L0 -> L1 at four files (about 214 MiB), not earlier.

    See (behaviour/write-stalls.md, Delayed write rate).
    """
    rules = LevelRules(V78)
    size = int(53.5 * MIB)
    for files, due in ((3, False), (4, True)):
        tree = tree_of(l0=files, l0_bytes=size)
        assert due == (rules.scores(tree, rules.targets(tree))[0] >= 1)


@given(st.lists(st.integers(0, 10**12), min_size=6, max_size=6), st.sampled_from([2.0, 7.5, 8.0, 10.0]))
def test_dynamic_targets_are_sane(sizes: list[int], multiplier: float) -> None:
    """No level above the base holds data, targets ascend from at least max_bytes_for_level_base, none above the base."""
    tree = tree_of(*sizes)
    for version in (Version(5, 7), Version(6, 4), V78, Version(9, 8)):
        rules = LevelRules(
            version, max_bytes_for_level_base=10**6, max_bytes_for_level_multiplier=multiplier,
            level_compaction_dynamic_level_bytes=True,
        )  # fmt: skip
        targets = rules.targets(tree)
        base = targets.base_level
        assert all(tree.size_bytes(level) == 0 for level in range(1, base))
        assert [math.inf] * base == list(targets.size_bytes[:base])
        if any(sizes):
            below = list(targets.size_bytes[base:])
            assert below == sorted(below)
            assert below[0] >= 10**6
        assert version >= (8, 3) or targets.lowest_unnecessary_level == -1


@pytest.mark.parametrize(("version", "expected"), [("5.7", 8), ("6.4", 2), ("7.8", 2), ("11.8", 2)])
def test_target_file_size(version: str, expected: int) -> None:
    """Sizes grow from L2 on; with dynamic levels they count from the base level, in 5.7 from L0 all the same."""
    rules = LevelRules(Version.parse(version), target_file_size_base=1, target_file_size_multiplier=2)
    assert [rules.target_file_size(level, 1) for level in range(7)] == [1, 1, 2, 4, 8, 16, 32]
    dynamic = replace(rules, level_compaction_dynamic_level_bytes=True)
    assert expected == dynamic.target_file_size(4, base_level=2)


def test_running_jobs_lower_the_score_and_not_the_debt() -> None:
    """Busy files count for the debt and not for the score.

    See (behaviour/leveled-compaction.md, Pending compaction bytes) and (behaviour/leveled-compaction.md, Scores).
    """
    tree = tree_of(500 * MIB, 3000 * MIB, l0=4, l0_bytes=60 * MIB)
    rules = LevelRules(V78)
    targets = rules.targets(tree)
    debt = rules.pending_bytes(tree, targets)
    assert rules.scores(tree, targets) == [1.0, 500 / 256, 3000 / 2560, 0, 0, 0]
    tree.mark(0, tree.l0[:2], busy=True)
    tree.mark(1, tree.levels[1].files, busy=True)
    assert rules.scores(tree, targets) == [0.5, 0, 3000 / 2560, 0, 0, 0]
    assert debt == rules.pending_bytes(tree, targets)


def test_debt_by_hand() -> None:
    """L0 and L1 in full when L0 is due, then each level's overflow times one more than its fan-out.

    See (behaviour/leveled-compaction.md, Pending compaction bytes).
    """
    rules = LevelRules(V78, max_bytes_for_level_base=1000)
    tree = tree_of(1500, 12_000, 40_000, l0=4, l0_bytes=300)
    l1 = int(1700 * (12_000 / 2700 + 1))
    l2 = int(3700 * (40_000 / 13_700 + 1))
    assert 1200 + 1500 + l1 + l2 == rules.pending_bytes(tree, rules.targets(tree))


def test_debt_carries_over_an_empty_level() -> None:
    """Below an overfull level an empty one adds nothing, but what overflows it goes on."""
    rules = LevelRules(V78, max_bytes_for_level_base=1000)
    tree = tree_of(15_000, 0, 200_000)
    assert int(4000 * (200_000 / 14_000 + 1)) == rules.pending_bytes(tree, rules.targets(tree))


def test_exchange_sort() -> None:
    """Descending; equal scores keep the smaller level first unless a swap moved it behind."""
    assert order_by_score([1.0, 1.0, 0.5, 0.5]) == [0, 1, 2, 3]
    assert order_by_score([1.0, 1.0, 5.0, 0.0]) == [2, 1, 0, 3]


def test_multiply() -> None:
    """Truncates; does not pass 2^64; nothing times anything is nothing."""
    assert [multiply(5, 2.5), multiply(2**60, 17.0), multiply(0, 3.0), multiply(5, -1.0)] == [12, 2**60, 0, 0]


def test_compensated_size() -> None:
    """Tombstones weigh two values each beyond half of the entries.

    See (behaviour/leveled-compaction.md, Compensated size).
    """
    assert [compensated_size(1000, 100, d, 50) for d in (49, 50, 51)] == [1000, 1000, 1000 + 2 * 50 * 2]
    assert compensated_size(1000, 100, 100, 50) == 1000 + 100 * 50 * 2
    assert average_value(raw_value_bytes=100_000, raw_key_bytes=24_000, puts=1000, file_bytes=115_000) == 92
    assert average_value(0, 24_000, 0, 10_000) == 0


def slow_bottommost(tree: Tree) -> int:
    """Sum over all files with nothing below, one by one (GenerateBottommostFiles)."""
    total = 0
    for number in range(1, tree.num_levels):
        for file in tree.levels[number]:
            below = [other for level in tree.levels[number + 1 :] for other in level]
            total += 0 if any(o.lo <= file.hi and o.hi >= file.lo for o in below) else file.size_bytes
    if tree.l0 and not any(len(level) for level in tree.levels[1:]):
        total += tree.l0[-1].size_bytes
    return total


@given(st.lists(st.lists(st.integers(0, 200), max_size=12, unique=True), min_size=6, max_size=6), st.integers(0, 3))
def test_bottommost_bytes(cuts: list[list[int]], l0: int) -> None:
    """The vectorised sum equals the one file by file; of L0 only the oldest file counts, and only if it is all."""
    tree = Tree()
    tree.l0 = [SortedFile(100 - i, 0, 9, 1 + i) for i in range(l0)]
    for number, keys in enumerate(cuts, 1):
        keys = sorted(keys)
        files = [SortedFile(i, keys[i], keys[i + 1], 10 + i) for i in range(0, len(keys) - 1, 2)]
        tree.levels[number] = Level(files)
    assert slow_bottommost(tree) == bottommost_bytes(tree)


@pytest.mark.parametrize(("jobs", "expected"), [(1, (1, 1)), (2, (1, 1)), (4, (1, 3)), (8, (2, 6)), (16, (4, 12))])
def test_slots(jobs: int, expected: tuple[int, int]) -> None:
    """A quarter of the jobs for flushes; one compaction at a time unless the throttle asks for more.

    See (behaviour/jobs-and-threads.md, Slots).
    """
    assert expected == slots(jobs, speedup=True)
    assert (expected[0], 1) == slots(jobs, speedup=False)


def test_slots_from_the_old_options() -> None:
    """Either of the old options replaces both numbers; what is left at -1 counts as 1."""
    assert slots(2, -1, 6, speedup=True) == (1, 6)
    assert slots(8, 3, -1, speedup=True) == (3, 1)

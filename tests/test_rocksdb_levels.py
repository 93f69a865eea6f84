"""RocksDB's level targets, scores and pending bytes: worked numbers and properties.

Source: (behaviour/leveled-compaction.md, Leveled compaction).
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.rocksdb.levels import (
    LevelRules,
    average_value,
    bottommost_bytes,
    compensated_size,
)
from lsmlab.models.policies.rocksdb.scheduler import slots
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

MIB = 1 << 20
V78 = Version(7, 8)


def tree_of(*level_bytes: int, l0: int = 0, l0_bytes: int = 0) -> Tree:
    """Return a tree with one file per level (L1 first) and `l0` files in L0."""
    tree = Tree()
    tree.l0 = [SortedFile(100 - i, 0, 9, l0_bytes) for i in range(l0)]
    for level, size in enumerate(level_bytes, 1):
        if size:
            tree.levels[level].insert([SortedFile(level, 0, 9, size)])
    return tree


def test_static_targets_of_the_defaults() -> None:
    """The default targets grow from 256 MiB tenfold per level (behaviour/leveled-compaction.md, Static targets)."""
    targets = LevelRules(RocksDbOptions(), V78).targets(Tree())
    assert targets.base_level == 1
    assert [math.inf, *(256 * MIB * 10**i for i in range(6))] == list(targets.size_bytes)


def test_additional_multipliers() -> None:
    """target[i] is also multiplied by multiplier_additional[i - 1]; a missing entry counts as 1."""
    options = RocksDbOptions(max_bytes_for_level_base=100, max_bytes_for_level_multiplier_additional=(7, 3, 2))
    rules = LevelRules(options, V78)
    assert list(rules.targets(Tree()).size_bytes[1:5]) == [100, 3000, 60_000, 600_000]


@pytest.mark.parametrize(
    ("version", "l0_files", "base_level", "base_mib"),
    [("5.17", 12, 4, 64), ("6.17", 12, 5, 96), ("6.17", 4, 4, 64), ("7.4", 12, 5, 96), ("7.5", 12, 4, 64)],
)
def test_a_large_l0_keeps_the_base_level(version: str, l0_files: int, base_level: int, base_mib: int) -> None:
    """From 5.18 to 7.4 the bytes of L0 count as max_bytes_for_level_base if they are more (CalculateBaseBytes).

    The last level of 830 MiB gives level 5 a size of 83 MiB: more than 64 MiB of max_bytes_for_level_base and than 32 MiB of L0,
    so level 4 opens, but less than 96 MiB of L0.
    """
    options = RocksDbOptions(
        max_bytes_for_level_base=64 * MIB, level_compaction_dynamic_level_bytes=True, level0_file_num_compaction_trigger=8
    )
    rules = LevelRules(options, Version.parse(version))
    targets = rules.targets(tree_of(0, 0, 0, 0, 80 * MIB, 830 * MIB, l0=l0_files, l0_bytes=8 * MIB))

    assert (base_level, base_mib * MIB) == (targets.base_level, targets.size_bytes[base_level])


@given(st.lists(st.integers(0, 10**12), min_size=6, max_size=6), st.sampled_from([2.0, 7.5, 8.0, 10.0]))
def test_dynamic_targets_are_valid(sizes: list[int], multiplier: float) -> None:
    """Levels above the base level are empty without target; other targets ascend from max_bytes_for_level_base up."""
    tree = tree_of(*sizes)
    options = RocksDbOptions(
        max_bytes_for_level_base=10**6, max_bytes_for_level_multiplier=multiplier, level_compaction_dynamic_level_bytes=True
    )
    for version in (Version(5, 7), Version(6, 4), V78, Version(9, 8)):
        targets = LevelRules(options, version).targets(tree)
        base = targets.base_level
        assert all(tree.size_bytes(level) == 0 for level in range(1, base))
        assert [math.inf] * base == list(targets.size_bytes[:base])
        if any(sizes):
            below = list(targets.size_bytes[base:])
            assert below == sorted(below)
            assert below[0] >= 10**6
        assert version >= (8, 3) or targets.lowest_unnecessary_level == -1


@pytest.mark.parametrize(("version", "expected"), [("5.7", 8), ("5.13", 8), ("5.14", 2), ("7.8", 2), ("11.8", 2)])
def test_target_file_size(version: str, expected: int) -> None:
    """Target file sizes grow from L2 on; with dynamic levels from two levels below the base level on, since 5.14."""
    options = RocksDbOptions(target_file_size_base=1, target_file_size_multiplier=2)
    rules = LevelRules(options, Version.parse(version))
    assert [rules.target_file_size(level, 1) for level in range(7)] == [1, 1, 2, 4, 8, 16, 32]
    dynamic = LevelRules(replace(options, level_compaction_dynamic_level_bytes=True), rules.version)
    assert expected == dynamic.target_file_size(4, base_level=2)


def test_running_jobs_lower_the_score_but_not_pending_bytes() -> None:
    """Busy files count for pending bytes and not for the score.

    Sources: (behaviour/leveled-compaction.md, Pending compaction bytes) and (behaviour/leveled-compaction.md, Scores).
    """
    tree = tree_of(500 * MIB, 3000 * MIB, l0=4, l0_bytes=60 * MIB)
    rules = LevelRules(RocksDbOptions(), V78)
    targets = rules.targets(tree)
    pending = rules.pending_bytes(tree, targets)
    assert rules.scores(tree, targets) == [1.0, 500 / 256, 3000 / 2560, 0, 0, 0]
    tree.mark(0, tree.l0[:2], busy=True)
    tree.mark(1, tree.levels[1].files, busy=True)
    assert rules.scores(tree, targets) == [0.5, 0, 3000 / 2560, 0, 0, 0]
    assert pending == rules.pending_bytes(tree, targets)


def test_pending_bytes_by_hand() -> None:
    """Pending bytes are L0 and L1 in full if L0 is due, then each level's excess times its fan-out plus one.

    Source: (behaviour/leveled-compaction.md, Pending compaction bytes).
    """
    rules = LevelRules(RocksDbOptions(max_bytes_for_level_base=1000), V78)
    tree = tree_of(1500, 12_000, 40_000, l0=4, l0_bytes=300)
    l1 = int(1700 * (12_000 / 2700 + 1))
    l2 = int(3700 * (40_000 / 13_700 + 1))
    assert 1200 + 1500 + l1 + l2 == rules.pending_bytes(tree, rules.targets(tree))


def test_pending_bytes_carry_over_an_empty_level() -> None:
    """Below a level above its target an empty level adds nothing, but the excess is passed on."""
    rules = LevelRules(RocksDbOptions(max_bytes_for_level_base=1000), V78)
    tree = tree_of(15_000, 0, 200_000)
    assert int(4000 * (200_000 / 14_000 + 1)) == rules.pending_bytes(tree, rules.targets(tree))


def test_compensated_size() -> None:
    """Beyond half of the entries, each tombstone counts as two values.

    Source: (behaviour/leveled-compaction.md, Compensated size).
    """
    assert [compensated_size(1000, 100, d, 50) for d in (49, 50, 51)] == [1000, 1000, 1000 + 2 * 50 * 2]
    assert compensated_size(1000, 100, 100, 50) == 1000 + 100 * 50 * 2
    assert average_value(raw_value_bytes=100_000, raw_key_bytes=24_000, puts=1000, file_bytes=115_000) == 92
    assert average_value(0, 24_000, 0, 10_000) == 0


def slow_bottommost(tree: Tree) -> int:
    """Sum over all files without overlap below, one by one, as GenerateBottommostFiles does."""
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
    """The vectorised sum equals the one file by file; in a store with only L0 the oldest file counts."""
    tree = Tree()
    tree.l0 = [SortedFile(100 - i, 0, 9, 1 + i) for i in range(l0)]
    for number, keys in enumerate(cuts, 1):
        keys = sorted(keys)
        files = [SortedFile(i, keys[i], keys[i + 1], 10 + i) for i in range(0, len(keys) - 1, 2)]
        tree.levels[number] = Level(files)
    assert slow_bottommost(tree) == bottommost_bytes(tree)


@pytest.mark.parametrize(("jobs", "expected"), [(1, (1, 1)), (2, (1, 1)), (4, (1, 3)), (8, (2, 6)), (16, (4, 12))])
def test_slots(jobs: int, expected: tuple[int, int]) -> None:
    """A quarter of the jobs are for flushes; one compaction runs at a time unless speedup is requested.

    Source: (behaviour/jobs-and-threads.md, Slots).
    """
    options = RocksDbOptions(max_background_jobs=jobs)
    assert expected == slots(options, speedup=True)
    assert (expected[0], 1) == slots(options, speedup=False)


def test_slots_from_the_old_options() -> None:
    """Either of the old options replaces both numbers; one left at -1 counts as 1."""
    assert slots(RocksDbOptions(max_background_compactions=6), speedup=True) == (1, 6)
    assert slots(RocksDbOptions(max_background_jobs=8, max_background_flushes=3), speedup=True) == (3, 1)

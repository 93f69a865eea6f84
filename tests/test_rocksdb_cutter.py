"""RocksDB's cuts of outputs and subcompactions agree with key-by-key versions of its rules.

Sources: (behaviour/compaction-jobs.md, Output cutting) and (behaviour/compaction-jobs.md, Subcompactions).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsmlab.models.options.fields import CompactionPri, CompactionStyle, RocksDbOptions
from lsmlab.models.policies.decisions import Compaction, CutContext
from lsmlab.models.policies.rocksdb.cutter import RocksDbCutter
from lsmlab.models.policies.rocksdb.subcompactions import ANCHORS, planned_parts, subcompaction_cuts, subcompaction_keys
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version
from numpy.typing import NDArray

V57, V75, V77, V78, V98 = (Version.parse(v) for v in ("5.7", "7.5", "7.7", "7.8", "9.8"))


def stream(n: int, entry_bytes: float = 10.0, gap: int = 1) -> MergedStream:
    """Return keys 0, gap, 2 gap … with entries of equal size."""
    return MergedStream(np.arange(n, dtype=np.int64) * gap, np.arange(n + 1) * entry_bytes)


def context(files: list[tuple[int, int, int]], target: int = 100, most: int = 10_000, level: int = 2) -> CutContext:
    """Return the context of a job with these grandparent files (lo, hi, size)."""
    lo, hi, size = (np.array([f[i] for f in files], dtype=np.int64) for i in range(3))
    return CutContext(level, target, most, not files, lo, hi, size)


def test_no_cut_in_l0() -> None:
    """An L0 output is never split."""
    assert RocksDbCutter(RocksDbOptions(), V78).cuts(stream(40), context([], level=0)) == []


def test_grandparent_boundaries_lower_the_limit() -> None:
    """The first passed boundary ends a file from 55 % of the target on; each further one adds 5 %, up to 90 %.

    Source: (behaviour/compaction-jobs.md, Output cutting).

    Between adjacent grandparent files two boundaries are passed at once.
    """
    cutter = RocksDbCutter(RocksDbOptions(), V78)
    assert cutter.cuts(stream(12), context([(6, 50, 1)])) == [6]
    assert cutter.cuts(stream(12), context([(5, 50, 1)])) == []
    assert cutter.cuts(stream(12), context([(0, 5, 1), (6, 50, 1)])) == [6]
    assert cutter.cuts(stream(12), context([(0, 4, 1), (5, 50, 1)])) == []
    many = [(i, i, 1) for i in range(8)]  # nine boundaries are passed up to and including key 8: 90 %
    assert cutter.cuts(stream(12), context([*many, (9, 50, 1)])) == [9]


def test_twice_the_target_at_most() -> None:
    """With grandparents and no boundary in reach, a file grows to twice the target; up to 7.7 to the target only."""
    far = context([(0, 1000, 1)])
    assert RocksDbCutter(RocksDbOptions(), V78).cuts(stream(50), far) == [20, 40]
    assert RocksDbCutter(RocksDbOptions(), V77).cuts(stream(50), far) == [10, 20, 30, 40]
    assert RocksDbCutter(RocksDbOptions(level_compaction_dynamic_file_size=False), V78).cuts(stream(50), far) == [10, 20, 30, 40]


def test_skipped_grandparent_file() -> None:
    """Skipping a grandparent file of more than an eighth of the target ends the output at any size."""
    cutter = RocksDbCutter(RocksDbOptions(), V78)
    keys = np.array([0, 1, 100, 101], dtype=np.int64)
    merged = MergedStream(keys, np.arange(5) * 10.0)
    assert cutter.cuts(merged, context([(50, 60, 13)])) == [2]  # from gap to gap: two boundaries
    assert cutter.cuts(merged, context([(50, 60, 12)])) == []
    assert cutter.cuts(merged, context([(0, 10, 1), (50, 60, 13), (90, 200, 1)])) == [2]
    assert cutter.cuts(merged, context([(0, 10, 1), (90, 200, 13)])) == []  # nothing skipped: only two boundaries


def test_overlap_limit() -> None:
    """A file ends when its size and that of the grandparent files it overlaps exceed max_compaction_bytes."""
    files = [(i * 3, i * 3 + 2, 400) for i in range(4)]
    assert RocksDbCutter(RocksDbOptions(), V78).cuts(stream(12), context(files, target=10_000, most=800)) == [3, 6, 9]
    assert RocksDbCutter(RocksDbOptions(), V78).cuts(stream(12), context(files, target=10_000, most=1200))[:1] == [6]
    # Up to 7.7 only passed files count, and up to 6.25 keys between their ends are checked too.
    passed = context(files, target=10_000, most=860)
    cuts = {v: RocksDbCutter(RocksDbOptions(), Version.parse(v)).cuts(stream(12), passed) for v in ("5.7", "6.25", "6.26", "7.7")}
    assert cuts == {"5.7": [7], "6.25": [7], "6.26": [9], "7.7": [9]}


def test_grandparents_of_deeper_levels() -> None:
    """Up to 6.25 only the level right below the output guides the cuts, later the first one that overlaps the job."""
    tree = Tree()
    tree.levels[4].insert([SortedFile(1, 0, 99, 100)])
    guides = {v: RocksDbCutter(RocksDbOptions(), Version.parse(v)).guide_level(tree, 2, 0, 9) for v in ("5.8", "6.25", "6.26")}
    assert guides == {"5.8": None, "6.25": None, "6.26": 4}


def walk_aligned(merged: MergedStream, job: CutContext, aligned: bool) -> list[int]:
    """Cut key by key as UpdateGrandparentBoundaryInfo and ShouldStopBefore do since 7.8."""
    keys, cumulative = merged.keys, merged.cumulative_bytes
    count, target = len(job.grandparent_size), job.target_bytes
    most = target if job.bottommost or count == 0 or not aligned else 2 * target
    at, gap, passed, overlap, start = 0, True, 0, 0, 0
    cuts: list[int] = []
    for i, key in enumerate(keys.tolist()):
        before, crossed = overlap, 0
        while at < count:
            if key < job.grandparent_lo[at] if gap else key <= job.grandparent_hi[at]:
                break
            if i:
                crossed += 1
                overlap += int(job.grandparent_size[at]) if gap else 0
            at += not gap
            gap = not gap
        inside = 0 if gap else int(job.grandparent_size[at])
        passed += crossed
        if i == 0:
            overlap = inside
            continue
        size = cumulative[i] - cumulative[start]
        share = (target + 99) // 100 * (50 + min(5 * passed, 40))
        skipped = crossed >= (2 if gap else 3) and overlap - before > target // 8
        full = crossed and (overlap + size > job.max_compaction_bytes or (aligned and (skipped or size >= share)))
        if size >= most or full:
            cuts.append(i)
            start, passed, overlap = i, 0, inside
    return cuts


def walk_overlap(merged: MergedStream, job: CutContext, every_key: bool) -> list[int]:
    """Cut key by key as up to 7.7: at the target size, else by ShouldStopBefore."""
    keys, cumulative = merged.keys, merged.cumulative_bytes
    at, overlap, start, seen = 0, 0, 0, False
    cuts: list[int] = []
    for i in range(1, len(keys)):
        size = cumulative[i] - cumulative[start]
        if size >= job.target_bytes:
            cuts.append(i)
            start = i
            continue
        switched = False
        while at < len(job.grandparent_hi) and keys[i] > job.grandparent_hi[at]:
            if seen:
                overlap += int(job.grandparent_size[at])
                switched = True
            at += 1
        seen = True
        if (switched or every_key) and overlap + size > job.max_compaction_bytes:
            cuts.append(i)
            start, overlap = i, 0
    return cuts


def random_job(seed: int) -> tuple[MergedStream, CutContext]:
    """Return random keys and sizes over random grandparent files."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 250))
    count, target = int(rng.integers(0, n)), int(rng.integers(100, 4000))
    bounds = np.sort(rng.choice(4 * n, 2 * count, replace=False)).astype(np.int64)
    keys = np.sort(rng.choice(4 * n, n, replace=False)).astype(np.int64)
    merged = MergedStream(keys, np.concatenate((np.zeros(1), np.cumsum(rng.integers(1, 60, n)))))
    sizes = rng.integers(1, 2 * target, count)
    job = CutContext(2, target, int(target * rng.choice([2, 5, 25])), count == 0, bounds[0::2], bounds[1::2], sizes)
    return merged, job


@given(st.integers(0, 100_000))
def test_cuts_equal_the_walk(seed: int) -> None:
    """The vectorised cutter of every version cuts at the same keys as the key-by-key walk."""
    merged, job = random_job(seed)
    assert walk_aligned(merged, job, aligned=True) == list(RocksDbCutter(RocksDbOptions(), V78).cuts(merged, job))
    plain = RocksDbCutter(RocksDbOptions(level_compaction_dynamic_file_size=False), V78)
    assert walk_aligned(merged, job, aligned=False) == list(plain.cuts(merged, job))
    assert walk_overlap(merged, job, every_key=False) == list(RocksDbCutter(RocksDbOptions(), V77).cuts(merged, job))
    assert walk_overlap(merged, job, every_key=True) == list(RocksDbCutter(RocksDbOptions(), V57).cuts(merged, job))


def finished_blocks(entries: int, block_entries: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys at which blocks of equal 10-byte entries are finished, and the bytes up to there.

    A block is finished when the second entry of the next block arrives.
    """
    ends = np.arange(block_entries, entries, block_entries)
    return ends + 1, ends * 10


def test_cuts_by_blocks() -> None:
    """Cuts depend on the finished blocks of the current file; a new file starts a new block."""
    n, cutter = 60, RocksDbCutter(RocksDbOptions(), V78)

    def finished_from(start: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        first, size = finished_blocks(n - start, 4)
        return first + start, size

    # Without grandparents three blocks of 40 bytes exceed 100 bytes; they are finished before entry 13 of the file.
    assert cutter.cuts_by_blocks(stream(n).keys, context([]), finished_from) == [13, 26, 39, 52]
    # At a boundary at 9 two blocks are finished (80 bytes, above 55 %); at one at 8 one block is.
    assert cutter.cuts_by_blocks(stream(20).keys, context([(9, 500, 1)]), finished_from) == [9]
    assert cutter.cuts_by_blocks(stream(24).keys, context([(8, 500, 1)]), finished_from) == [21]


# ---- subcompactions ----


def file_with_keys(number: int, lo: int, hi: int, size: int, n: int = 400) -> SortedFile:
    """Return a file with n evenly spaced keys."""
    keys = np.unique(np.linspace(lo, hi, n).astype(np.int64))
    return SortedFile(number, lo, hi, size, entries=n, keys=keys)


INPUTS = Compaction(0, 1, (
    (0, tuple(file_with_keys(10 - i, 0, 99_999, 25_000) for i in range(4))),
    (1, tuple(file_with_keys(20 + i, i * 10_000, i * 10_000 + 9_999, 10_000) for i in range(10))),
), "LevelL0FilesNum")  # fmt: skip
"""100 kB in L0 over 100 kB in L1, spread evenly over keys 0 to 99,999."""
KEYS = np.arange(0, 100_000, 10, dtype=np.int64)


@pytest.mark.parametrize("version", ["7.6", "8.4", "9.8"])
def test_parts_of_equal_size(version: str) -> None:
    """Since 7.6 four subcompactions of evenly spread data get about a quarter of the keys each."""
    cuts = subcompaction_cuts(INPUTS, KEYS, 4, 10_000, Version.parse(version))
    assert pytest.approx([2500, 5000, 7500], abs=100) == cuts


@pytest.mark.parametrize("version", ["5.7", "6.4", "7.5"])
def test_parts_of_whole_ranges(version: str) -> None:
    """Up to 7.5 ten ranges of 20 kB between file bounds are joined until each part exceeds the mean of 50 kB."""
    assert subcompaction_cuts(INPUTS, KEYS, 4, 10_000, Version.parse(version)) == [3000, 6000, 9000]


def test_two_parts_run_as_one() -> None:
    """7.6 to 8.3 run a plan with one boundary as one part (behaviour/compaction-jobs.md, Subcompactions)."""
    for version, parts in (("7.5", 2), ("7.6", 1), ("7.8", 1), ("8.3", 1), ("8.4", 2)):
        assert parts - 1 == len(subcompaction_cuts(INPUTS, KEYS, 2, 10_000, Version.parse(version)))


def test_parts_are_bounded_by_the_target_size() -> None:
    """Since 7.6 a part has at least one target file; before, parts are at most as many as files filled to 80 %.

    200 kB make seven such files of 40 kB: the mean of 28.6 kB is exceeded by two ranges of 20 kB.
    """
    assert len(subcompaction_keys(INPUTS, 20, 40_000, V98)) + 1 == 5
    assert len(subcompaction_keys(INPUTS, 20, 200_000, V98)) + 1 == 1
    assert subcompaction_keys(INPUTS, 20, 40_000, V75) == [20_000, 40_000, 60_000, 80_000]


FOUR = RocksDbOptions(max_subcompactions=4)
DEEP = Compaction(1, 2, ((1, INPUTS.inputs[1][1]),), "LevelMaxLevelSize")


def test_levelled_jobs_from_l0_are_split() -> None:
    """Only jobs from L0 to a deeper level are split, up to 7.5 only with files of the output level."""
    within_l0 = INPUTS._replace(output_level=0, inputs=INPUTS.inputs[:1])
    assert [planned_parts(FOUR, job, V98, 0) for job in (INPUTS, DEEP, within_l0)] == [4, 1, 1]
    alone = INPUTS._replace(inputs=INPUTS.inputs[:1])
    releases = {v: planned_parts(FOUR, alone, Version.parse(v), 0) for v in ("5.7", "6.4", "7.5", "7.6", "9.8")}
    assert releases == {"5.7": 1, "6.4": 1, "7.5": 1, "7.6": 4, "9.8": 4}


def test_universal_jobs_are_split() -> None:
    """Universal compaction splits every job with an output below L0, in all releases."""
    universal = RocksDbOptions(max_subcompactions=4, compaction_style=CompactionStyle.UNIVERSAL)
    assert [planned_parts(universal, DEEP, Version.parse(v), 0) for v in ("5.7", "7.5", "9.8")] == [4, 4, 4]
    assert planned_parts(universal, INPUTS._replace(output_level=0), V98, 0) == 1
    spread = DEEP._replace(inputs=(DEEP.inputs[0], (2, tuple(f for f in INPUTS.inputs[1][1]))))
    assert len(subcompaction_keys(spread, 4, 10_000, V98)) == 3
    assert subcompaction_keys(DEEP, 4, 10_000, V75) == []  # of files above the output level only the outer bounds count


def test_round_robin_jobs_take_free_slots() -> None:
    """With kRoundRobin a job has a part for each of its first files, as far as slots are free."""
    options = RocksDbOptions(compaction_pri=CompactionPri.ROUND_ROBIN)
    assert [planned_parts(options, DEEP, V98, free) for free in (0, 3, 99)] == [1, 4, 10]
    assert planned_parts(options, DEEP, V75, 99) == 1
    assert planned_parts(RocksDbOptions(compaction_pri=CompactionPri.ROUND_ROBIN, max_subcompactions=12), DEEP, V98, 0) == 12


def test_files_without_keys() -> None:
    """Files without known keys count as evenly filled between their bounds."""
    bare = INPUTS._replace(inputs=tuple(
        (level, tuple(SortedFile(f.number, f.lo, f.hi, f.size_bytes) for f in files)) for level, files in INPUTS.inputs
    ))  # fmt: skip
    for version in (V75, V98):
        with_keys = subcompaction_keys(INPUTS, 4, 10_000, version)
        assert pytest.approx(with_keys, abs=100_000 / ANCHORS) == subcompaction_keys(bare, 4, 10_000, version)

"""FIFO compaction (behaviour/universal-and-fifo.md, Order of FIFO checks)."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import FifoOptions, RocksDbOptions
from lsmlab.models.policies.decisions import Compaction, DoNothing, Drop, RunningJob
from lsmlab.models.policies.rocksdb.fifo import FifoPicker
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

V513, V514, V78, V98 = (Version(*v) for v in ((5, 13), (5, 14), (7, 8), (9, 8)))
NOTHING = DoNothing()


def l0_tree(sizes: list[int], created_s: list[float] | None = None) -> Tree:
    """Return an L0 of overlapping files; sizes and creation times are newest first."""
    times = created_s or [0.0] * len(sizes)
    count = len(sizes)
    return Tree(l0=[SortedFile(count - i, 0, 99, sizes[i], created_s=times[i]) for i in range(count)])


def fifo(version: Version, **options: Any) -> FifoPicker:
    """Return the picker of these options, members of compaction_options_fifo included."""
    style = {f.name: options.pop(f.name) for f in fields(FifoOptions) if f.name in options}
    return FifoPicker(RocksDbOptions(**options, compaction_options_fifo=FifoOptions(**style)), version)


def sizes_after_flushes(picker: FifoPicker, flushes: int) -> list[list[int]]:
    """Return the L0 file sizes, newest first, after each flush of 100 bytes and the compactions that it triggers."""
    tree, states = l0_tree([]), []
    for number in range(1, flushes + 1):
        tree.install((), [(0, [SortedFile(number, 0, 99, 100)])])
        while not isinstance(pick := picker.pick(tree, (), 0.0), DoNothing):
            merged = [SortedFile(-number, 0, 99, sum(f.size_bytes for f in pick.inputs[0][1]))]
            tree.install(pick.inputs, [(0, merged)] if isinstance(pick, Compaction) else ())
        states.append([f.size_bytes for f in tree.l0])
    return states


def test_compacted_files_fill_the_limit_then_the_oldest_is_deleted() -> None:
    """Four flushes become one file, five of these files are within the limit, and one more flush deletes the oldest.

    Source: (behaviour/universal-and-fifo.md, Worked FIFO sequences).
    """
    picker = fifo(V98, max_table_files_size=2000, allow_compaction=True, write_buffer_size=125)
    states = sizes_after_flushes(picker, 21)
    assert states[3] == [400]
    assert states[19] == [400] * 5
    assert states[20] == [100] + [400] * 4


def test_merges_before_5_14() -> None:
    """Up to 5.13 the cost with the first file left out must be below one memtable: few merges, of many files.

    Six files of 100 bytes cost 120 bytes per file that disappears. After that the merged file counts in each attempt, until
    25 new files bring the cost down to (2500 + 600) / 25.
    """
    old, new = (fifo(v, max_table_files_size=10**6, allow_compaction=True, write_buffer_size=125) for v in (V513, V514))
    states = sizes_after_flushes(old, 31)
    assert [states[5], states[30]] == [[600], [2500, 600]]
    assert all(sum(state) == 100 * len(state) for state in states[:5])
    assert [state[-1] for state in states[6:30]] == [600] * 24
    assert sizes_after_flushes(new, 8)[3::4] == [[400], [400, 400]]


def test_without_compaction_each_flush_deletes_one_file() -> None:
    """Twenty files fit, and the twenty-first deletes one (behaviour/universal-and-fifo.md, Worked FIFO sequences)."""
    states = sizes_after_flushes(fifo(V98, max_table_files_size=2000), 22)
    assert [len(state) for state in states[19:]] == [20, 20, 20]


def test_ttl_deletes_expired_files() -> None:
    """Of files created at 0, 0, 0, 1, 1 and 2 s, ttl=3 deletes at 4 s those created before 1 s.

    Source: (behaviour/universal-and-fifo.md, Worked FIFO sequences).
    """
    tree = l0_tree([1] * 6, [2, 1, 1, 0, 0, 0])
    pick = fifo(V98, max_table_files_size=20, ttl=3).pick(tree, (), 4.0)
    assert Drop(((0, tuple(reversed(tree.l0[3:]))),), "FIFOTtl", 3.0) == pick


def test_size_rule_applies_if_ttl_leaves_too_much() -> None:
    """With a limit of 2, the three unexpired files are too much, so the size rule deletes down to 2.

    Source: (behaviour/universal-and-fifo.md, Worked FIFO sequences).
    """
    tree = l0_tree([1] * 6, [2, 1, 1, 0, 0, 0])
    pick = fifo(V98, max_table_files_size=2, ttl=3).pick(tree, (), 4.0)
    assert isinstance(pick, Drop)
    assert (pick.reason, len(pick.inputs[0][1])) == ("FIFOMaxSize", 4)


@pytest.mark.parametrize(("version", "score"), [(V78, 2.0), (V98, 1.2)])
def test_score(version: Version, score: float) -> None:
    """7.8 takes the largest part of the score; later versions use the file count only if the size part is below 1."""
    picker = fifo(version, max_table_files_size=5, allow_compaction=True, level0_file_num_compaction_trigger=3)
    assert pytest.approx(score) == picker.scores(l0_tree([1] * 6))[0]


def test_expired_files_need_compaction() -> None:
    """Expired files that are not busy raise the score once the current time is known."""
    tree = l0_tree([1, 1], [5, 0])
    picker = fifo(V98, ttl=3)
    assert [picker.needs_compaction(tree, now_s) for now_s in (0.0, 3.0, 4.0)] == [False, False, True]


def test_intra_l0_compaction_needs_small_files() -> None:
    """Files of 0.82 memtables are compacted from the trigger on, files of one whole memtable only twelve at a time."""
    small = fifo(V98, allow_compaction=True, write_buffer_size=100)
    pick = small.pick(l0_tree([82] * 4), (), 0.0)
    assert isinstance(pick, Compaction)
    assert (pick.reason, pick.output_level, len(pick.inputs[0][1])) == ("FIFOReduceNumFiles", 0, 4)
    merged = [isinstance(small.pick(l0_tree([100] * n), (), 0.0), Compaction) for n in (4, 11, 12)]
    assert merged == [False, False, True]


def test_compaction_inputs_end_at_a_large_busy_or_excess_file() -> None:
    """A large compacted file or a busy file ends the inputs; max_compaction_bytes limits them."""
    options: dict[str, Any] = {"allow_compaction": True, "write_buffer_size": 100}
    mixed = fifo(V98, **options).pick(l0_tree([10] * 5 + [40, 40]), (), 0.0)
    assert isinstance(mixed, Compaction)
    assert len(mixed.inputs[0][1]) == 5
    tree = l0_tree([10] * 7)
    tree.mark(0, [tree.l0[5]], busy=True)
    beside = fifo(V98, **options).pick(tree, (RunningJob(0, 0, 0, 99),), 0.0)
    assert isinstance(beside, Compaction)
    assert len(beside.inputs[0][1]) == 5
    limited = fifo(V98, max_compaction_bytes=40, **options).pick(l0_tree([10] * 9), (), 0.0)
    assert isinstance(limited, Compaction)
    assert len(limited.inputs[0][1]) == 4


def test_deletions_wait_for_running_jobs() -> None:
    """While a compaction runs, a store that is too large or has expired files deletes nothing."""
    tree = l0_tree([10, 10, 10])
    picker = fifo(V98, max_table_files_size=15, ttl=3)
    assert isinstance(picker.pick(tree, (), 100.0), Drop)
    assert picker.pick(tree, (RunningJob(0, 0, 0, 99),), 100.0) == NOTHING


@pytest.mark.parametrize(
    ("version", "limit", "dropped"),
    [(Version(7, 10), 25, [1]), (Version(7, 10), 30, []), (V78, 30, [1]), (Version(7, 7), 5, [7])],
)
def test_levels_below_l0_are_deleted_first(version: Version, limit: int, dropped: list[int]) -> None:
    """Since 7.8 the deepest level is deleted first, in key order; 7.8 and 7.9 delete a file even without an excess."""
    last = [SortedFile(1, 0, 9, 10), SortedFile(2, 10, 19, 10)]
    tree = Tree(l0=[SortedFile(7, 0, 99, 10)], levels=[Level(last if n == 3 else []) for n in range(7)])
    pick = fifo(version, max_table_files_size=limit).pick(tree, (), 0.0)
    assert dropped == ([f.number for _, group in pick.inputs for f in group] if isinstance(pick, Drop) else [])


def test_zero_limit_deletes_everything() -> None:
    """With db_bench's default max_table_files_size=0, every flushed file is deleted."""
    picker = fifo(V98, max_table_files_size=0, allow_compaction=True)
    assert sizes_after_flushes(picker, 3) == [[], [], []]
    assert not picker.needs_compaction(l0_tree([]), 0.0)


@pytest.mark.parametrize("name", ["age_for_warm", "max_data_files_size", "use_kv_ratio_compaction"])
def test_options_without_a_model_are_refused(name: str) -> None:
    """Temperatures and separated blobs raise InputError that names the option."""
    options: dict[str, Any] = {name: 1}
    with pytest.raises(InputError, match=name):
        fifo(V98, **options)

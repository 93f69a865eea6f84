"""Universal compaction (behaviour/universal-and-fifo.md, Universal and FIFO compaction)."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions, StopStyle, UniversalOptions
from lsmlab.models.policies.decisions import Compaction, DoNothing, Move, RunningJob
from lsmlab.models.policies.rocksdb.universal import UNLIMITED_BYTES, UniversalPicker, sorted_runs
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

GOLDEN = Path(__file__).parent / "testdata" / "compaction" / "universal.txt"
LETTER = {"UniversalSizeAmplification": "A", "UniversalSizeRatio": "R", "UniversalSortedRunNum": "N"}
V78, V87 = Version(7, 8), Version(8, 7)


def universal(version: Version, **options: Any) -> UniversalPicker:
    """Return the picker of these options, members of compaction_options_universal included."""
    style = {f.name: options.pop(f.name) for f in fields(UniversalOptions) if f.name in options}
    if options.pop("similar_size", False):
        style["stop_style"] = StopStyle.SIMILAR_SIZE
    return UniversalPicker(RocksDbOptions(**options, compaction_options_universal=UniversalOptions(**style)), version)


def blocks() -> dict[str, tuple[dict[str, str], list[str]]]:
    """Read the golden file: name -> (options, states)."""
    found: dict[str, tuple[dict[str, str], list[str]]] = {}
    states: list[str] = []
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            name, _, options = line[1:].partition("] ")
            states = []
            found[name] = (dict(item.split("=") for item in options.split()), states)
        elif line and not line.startswith("#"):
            states.append(line)
    return found


def without_rules(only: str | None) -> dict[str, Any]:
    """Return options with which only `only` can trigger, besides the run number check, at which `run_states` stops.

    Source: (behaviour/universal-and-fifo.md, Order of universal checks).
    """
    return {None: {}, "A": {"max_merge_width": 1}, "R": {"max_size_amplification_percent": 2**31}}[only]


def build_tree(num_levels: int, l0: list[int], levels: dict[int, int] | None = None) -> Tree:
    """Return a tree of files that all overlap: L0 sizes newest first, one file per level below."""
    files = [SortedFile(100 + len(l0) - i, 0, 99, size) for i, size in enumerate(l0)]
    below = {n: [SortedFile(n, 0, 99, size)] for n, size in (levels or {}).items()}
    return Tree(num_levels=num_levels, l0=files, levels=[Level(below.get(n, ())) for n in range(num_levels)])


def apply(tree: Tree, pick: Compaction, number: int) -> None:
    """Replace the inputs of a compaction by one file."""
    size = sum(f.size_bytes for _, group in pick.inputs for f in group)
    tree.install(pick.inputs, [(pick.output_level, [SortedFile(number, 0, 99, size)])])


def run_states(picker: UniversalPicker, wanted: int, only: str | None) -> list[str]:
    """Return the sorted runs after each compaction of the sequential model."""
    tree, states, number = build_tree(picker.options.num_levels, []), [], 0
    while len(states) < wanted and number < 10_000:
        number += 1
        tree.install((), [(0, [SortedFile(number, 0, 99, 1)])])
        while len(states) < wanted and isinstance(pick := picker.pick(tree, (), 0.0), Compaction):
            if only not in (None, LETTER[pick.reason]):
                break  # sorted-run limit: not part of the example
            number += 1
            apply(tree, pick, number)
            states.append(" ".join([LETTER[pick.reason], *(str(r.size_bytes) for r in sorted_runs(tree))]))
    return states


@pytest.mark.parametrize("name", blocks())
def test_worked_sequences(name: str) -> None:
    """Every compaction of the specification's worked sequences has its reason and leaves its sorted runs."""
    options, states = blocks()[name]
    version, only = Version.parse(options.pop("version")), options.pop("only", None)
    values: dict[str, Any] = {key: int(value) for key, value in options.items()} | without_rules(only)
    assert states == run_states(universal(version, **values), len(states), only)


@pytest.mark.parametrize(
    ("merged", "output"),
    [([1, 2, 3], 4), ([0, 1, 2], 3), ([0, 1], 0), ([0, 1, 2, 3, 4], 5), ([3, 4], 5), ([2, 3], 4)],
)
def test_placement(merged: list[int], output: int) -> None:
    """A compaction writes to the deepest level that keeps the age order of runs f2 f1 f0, L4, L5 of six levels.

    Source: (behaviour/universal-and-fifo.md, Worked universal sequences).
    """
    picker = universal(V78, num_levels=6)
    runs = sorted_runs(build_tree(6, [1, 1, 1], {4: 10, 5: 100}))
    assert output == picker.output_level(runs, merged[-1] + 1)


def test_output_above_an_occupied_first_level_is_l0() -> None:
    """If L1 is occupied, compactions of newer runs write one file of unlimited size to L0."""
    tree = build_tree(3, [1, 1, 1, 1], {1: 1000, 2: 100_000})
    pick = universal(V78, num_levels=3).pick(tree, (), 0.0)
    assert isinstance(pick, Compaction)
    assert (pick.output_level, pick.max_output_bytes, pick.reason) == (0, UNLIMITED_BYTES, "UniversalSizeRatio")
    assert pick.inputs == ((0, tuple(tree.l0)),)


def test_full_compaction_lists_every_level_once() -> None:
    """The inputs of a size amplification job are L0, newest first, and each level; the output is the last level."""
    tree = build_tree(7, [3, 3, 3], {5: 5, 6: 6})
    pick = universal(V78).pick(tree, (), 0.0)
    assert isinstance(pick, Compaction)
    assert [level for level, _ in pick.inputs] == [0, 5, 6]
    assert (tuple(tree.l0), 0, 6, None) == (
        pick.inputs[0][1],
        pick.start_level,
        pick.output_level,
        pick.max_output_bytes,
    )


def test_score_counts_free_runs_and_stalls_count_all_runs() -> None:
    """The score counts runs that are not busy, the pick all runs, stalls L0 files plus non-empty levels.

    Source: (behaviour/universal-and-fifo.md, When a universal compaction is tried; Stalls under universal compaction).
    """
    tree = build_tree(7, [1, 1, 100], {6: 1000})
    picker = universal(V78)
    assert (picker.needs_compaction(tree, 0.0), picker.scores(tree)[0]) == (True, 1.0)
    tree.mark(6, tree.levels[6].files, busy=True)
    assert (picker.needs_compaction(tree, 0.0), picker.stall_run_count(tree), picker.scores(tree)[0]) == (
        False,
        4,
        0.75,
    )
    pick = picker.pick(tree, (), 0.0)
    assert isinstance(pick, Compaction)
    assert (len(pick.inputs[0][1]), pick.output_level, picker.pending_bytes(tree)) == (2, 0, 0)


def test_compaction_beside_a_busy_run_writes_above_it() -> None:
    """While the last level is busy, compactions of newer runs write to the level above it."""
    tree = build_tree(7, [1, 1, 1, 1], {6: 100})
    tree.mark(6, tree.levels[6].files, busy=True)
    pick = universal(V78).pick(tree, (RunningJob(0, 6, 0, 99),), 0.0)
    assert isinstance(pick, Compaction)
    assert pick.output_level == 5
    blocked = universal(V78).pick(tree, (RunningJob(0, 5, 0, 99),), 0.0)
    assert DoNothing() == blocked


@pytest.mark.parametrize(("version", "expected"), [(V78, None), (V87, 2)])
def test_busy_run_in_front_of_the_oldest(version: Version, expected: int | None) -> None:
    """At a busy run in front of the oldest, 7.8 gives up size amplification; since 8.7 it takes the runs behind."""
    tree = build_tree(7, [100, 100, 1, 300], {6: 10})
    tree.mark(0, [tree.l0[2]], busy=True)
    picker = universal(version, max_merge_width=1)
    pick = picker.pick(tree, (), 0.0)
    assert expected == (len([f for _, g in pick.inputs for f in g]) if isinstance(pick, Compaction) else None)


@pytest.mark.parametrize(
    ("version", "base", "options", "left_out"),
    [
        # room = 36 - 21 = 15; the rest must keep 9 / 10 x 200 = 180 and twice the base
        (Version(8, 6), 50, {}, 0), (V87, 50, {}, 2), (Version(11, 8), 50, {}, 2), (V87, 95, {}, 1), (V87, 100, {}, 0),
        (V87, 50, {"max_merge_width": 15}, 0), (V87, 50, {"max_merge_width": 16}, 1),  # at most width - room
        (V87, 50, {"min_merge_width": 17}, 2), (V87, 50, {"min_merge_width": 18}, 0),  # at least width - room: 2; 3 are too many
        (V87, 95, {"level0_stop_writes_trigger": 22}, 1), (V87, 95, {"level0_stop_writes_trigger": 21}, 0),  # at least 1; 2
    ],
)  # fmt: skip
def test_size_amplification_leaves_out_newest_files(
    version: Version, base: int, options: dict[str, int], left_out: int
) -> None:
    """Of 20 files of size 10 the newest stay out, within the merge widths less the room before the stop.

    Source: (behaviour/universal-and-fifo.md, Newest files left out).
    """
    tree = build_tree(7, [10] * 20, {6: base})
    pick = universal(version, **options).pick(tree, (), 0.0)
    assert isinstance(pick, Compaction)
    assert (pick.reason, pick.inputs[0]) == ("UniversalSizeAmplification", (0, tuple(tree.l0[left_out:])))


@pytest.mark.parametrize(("l0", "left_out"), [([1], 0), ([1, 1], 1), ([1, 1, 1], 2)])
def test_one_l0_file_stays_in(l0: list[int], left_out: int) -> None:
    """However little they add, not all L0 files are left out."""
    tree = build_tree(7, l0, {5: 100, 6: 10})
    pick = universal(V87, level0_file_num_compaction_trigger=3).pick(tree, (), 0.0)
    assert isinstance(pick, Compaction)
    assert pick.inputs[0] == (0, tuple(tree.l0[left_out:]))


def test_run_limit_of_max_read_amp() -> None:
    """max_read_amp is automatic (256 MiB memtables, ratio 10, 20 GiB -> 8), a number, or -1 for the trigger."""
    mib = 1 << 20
    size = {"write_buffer_size": 256 * mib, "size_ratio": 10}
    limits = [
        universal(Version(*version), max_read_amp=amp, **size).run_limit(20 * 1024 * mib)
        for version, amp in (((9, 4), 0), ((9, 4), 6), ((9, 4), -1), ((9, 3), 0))
    ]
    assert limits == [8, 6, 4, 4]


def test_periodic_compaction_writes_to_the_last_level() -> None:
    """An old file causes a compaction of all runs behind the last busy one to the last level, below the trigger too."""
    tree = build_tree(7, [1, 1], {6: 10})
    picker = universal(V78, periodic_compaction_seconds=100)
    assert (False, DoNothing()) == (picker.needs_compaction(tree, 100.0), picker.pick(tree, (), 100.0))
    tree.mark(0, [tree.l0[0]], busy=True)
    pick = picker.pick(tree, (), 101.0)
    assert isinstance(pick, Compaction)
    assert (picker.needs_compaction(tree, 101.0), pick.reason, pick.output_level) == (True, "PeriodicCompaction", 6)
    assert [len(group) for _, group in pick.inputs] == [1, 1]


def test_trivial_move_of_disjoint_runs() -> None:
    """With allow_trivial_move, disjoint inputs are moved without rewriting; overlapping ones are compacted."""
    l0 = [SortedFile(9 - i, 100 * i, 100 * i + 50, 10) for i in range(4)]
    last = SortedFile(1, 1000, 1050, 10)
    tree = Tree(l0=l0, levels=[Level([last] if n == 6 else []) for n in range(7)])
    move = universal(V78, allow_trivial_move=True).pick(tree, (), 0.0)
    assert isinstance(move, Move)
    assert (((0, tuple(l0)),), 6) == (move.inputs, move.output_level)
    assert isinstance(universal(V78).pick(tree, (), 0.0), Compaction)
    l0[3].hi = 1000
    assert isinstance(universal(V78, allow_trivial_move=True).pick(tree, (), 0.0), Compaction)


def test_compression_size_percent() -> None:
    """Outputs of ratio and run number jobs stay uncompressed if a large enough share of the store is older.

    Source: (behaviour/universal-and-fifo.md, Compression of universal outputs).
    """
    tree = build_tree(7, [1, 1, 1, 1], {6: 96})
    answers = []
    for percent in (-1, 95, 96, 97):
        picker = universal(V78, compression_size_percent=percent)
        pick = picker.pick(tree, (), 0.0)
        assert isinstance(pick, Compaction)
        answers.append(picker.compresses(tree, pick))
    assert answers == [True, False, False, True]


def test_a_limit_below_the_trigger_is_refused() -> None:
    """RocksDB fails to open a store with it."""
    with pytest.raises(InputError, match="max_read_amp"):
        universal(Version(9, 8), max_read_amp=3)


def marked_tree(num_levels: int, l0: list[int], levels: dict[int, int], marked: set[int]) -> Tree:
    """Return the tree of `build_tree` in which the files with these numbers are marked."""
    tree = build_tree(num_levels, l0, levels)
    for file in tree.files():
        file.marked = file.number in marked
    tree.marks_files = True
    return tree


@pytest.mark.parametrize(
    ("l0", "levels", "marked", "inputs", "output"),
    [
        ([10, 10], {4: 100}, {101}, {0: [102, 101], 4: [4]}, 4), ([10], {}, {101}, {0: [101]}, 6),
        ([10], {3: 50, 5: 100}, {3}, {3: [3], 5: [5]}, 5), ([10], {3: 50}, {3}, {}, 0), ([10], {5: 100}, {5}, {}, 0),
    ],
)  # fmt: skip
def test_a_marked_file_goes_to_the_next_level(
    l0: list[int], levels: dict[int, int], marked: set[int], inputs: dict[int, list[int]], output: int
) -> None:
    """Below the trigger a marked file is compacted with all of L0 that overlaps it, and with the next level; the last stays."""
    picker, tree = universal(Version(9, 8), level0_file_num_compaction_trigger=8), marked_tree(7, l0, levels, marked)
    pick = picker.pick(tree, (), 0.0)

    assert isinstance(universal(Version(5, 14), level0_file_num_compaction_trigger=8).pick(tree, (), 0.0), DoNothing)
    if not inputs:
        assert isinstance(pick, DoNothing)
        return
    assert picker.needs_compaction(tree, 0.0)
    assert isinstance(pick, Compaction)
    assert (inputs, output) == ({level: [f.number for f in files] for level, files in pick.inputs}, pick.output_level)
    assert pick.reason == "FilesMarkedForCompaction"


def test_one_level_merges_from_the_marked_run_to_the_oldest() -> None:
    """A marked file of the only level is merged with all older runs up to a busy one; the oldest run alone is not."""
    picker = universal(Version(9, 8), num_levels=1, level0_file_num_compaction_trigger=8)
    tree = marked_tree(1, [10, 20, 30, 40], {}, {103})
    whole, oldest = picker.pick(tree, (), 0.0), picker.pick(marked_tree(1, [10, 20], {}, {101}), (), 0.0)
    tree.l0[-1].busy = True
    part = picker.pick(tree, (), 0.0)

    assert isinstance(oldest, DoNothing)
    assert isinstance(whole, Compaction)
    assert isinstance(part, Compaction)
    assert [[103, 102, 101], [103, 102]] == [[f.number for f in pick.inputs[0][1]] for pick in (whole, part)]
    assert (UNLIMITED_BYTES, 0) == (whole.max_output_bytes, whole.output_level)

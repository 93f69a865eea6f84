"""Compactions of marked files in universal stores (UniversalCompactionBuilder::PickDeleteTriggeredCompaction).

See (behaviour/universal-and-fifo.md, Marked files).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lsmlab.models import since
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import NOTHING, Compaction, DoNothing, RunningJob
from lsmlab.models.policies.rocksdb import l0
from lsmlab.models.policies.rocksdb.due_files import MARKED, marked_files
from lsmlab.models.policies.rocksdb.inputs import InputRules, Seed, conflicts, key_range
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

_ONE_FILE: Final = 2**63 - 1
"""Target file size of a compaction within L0, whose output is one file."""


def has_marked(tree: Tree, version: Version) -> bool:
    """Return whether a marked file asks for a compaction (UniversalCompactionPicker::NeedsCompaction)."""
    return tree.marks_files and version >= since.UNIVERSAL_MARKED and bool(marked_files(tree))


def delete_triggered(
    tree: Tree, running: Sequence[RunningJob], options: RocksDbOptions, version: Version, score: float
) -> Compaction | DoNothing:  # fmt: skip
    """Return the compaction of a marked file, as a levelled store would; NOTHING if there is none or it would only move.

    A store of one level merges the runs from the marked one to the oldest.
    """
    if not has_marked(tree, version):
        return NOTHING
    if options.num_levels == 1:
        return _to_oldest(tree, score)
    l0_busy = any(job.start_level == 0 for job in running)
    seed = next((one for one in marked_files(tree) if one.level > 0 or not l0_busy), None)
    if seed is None:
        return NOTHING
    output = next((level for level in range(seed.level + 1, tree.num_levels) if tree.file_count(level)), tree.num_levels)
    if output == tree.num_levels:
        if seed.level > 0:
            return NOTHING
        output -= 1
    files = l0.closure(tree.l0, seed.file.lo, seed.file.hi) if seed.level == 0 else [seed.file]
    return _with_output(tree, running, InputRules(options, version), Seed(seed.level, output, files, score))


def _to_oldest(tree: Tree, score: float) -> Compaction | DoNothing:
    files = tree.l0
    first = next((i for i, file in enumerate(files[:-1]) if file.marked and not file.busy), len(files))
    chosen: list[SortedFile] = []
    for file in files[first:]:
        if file.busy:
            break
        chosen.append(file)
    if len(chosen) < 2:
        return NOTHING
    return Compaction(0, 0, ((0, tuple(chosen)),), MARKED, score, max_output_bytes=_ONE_FILE)


def _with_output(tree: Tree, running: Sequence[RunningJob], rules: InputRules, seed: Seed) -> Compaction | DoNothing:
    """Add the files of the output level (SetupOtherInputs)."""
    below = tree.levels[seed.output]
    a, b = below.overlapping(*key_range(seed.files))
    if below.any_busy(a, b) or any(file.busy for file in seed.files):
        return NOTHING
    if b > a:
        rules.grow(tree, seed, a, b)
    files, under = tuple(seed.files), tuple(below.files[a:b])
    if conflicts(running, seed.output, *key_range((*files, *under))):
        return NOTHING
    inputs = ((seed.level, files), (seed.output, under)) if under else ((seed.level, files),)
    return Compaction(seed.level, seed.output, inputs, MARKED, seed.score)

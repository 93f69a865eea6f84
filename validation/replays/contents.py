"""Contents of recorded files: computes the keys, file sizes and index sizes that the model predicts for each file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.decisions import CutContext
from lsmlab.models.policies.rocksdb.cutter import RocksDbCutter
from lsmlab.models.tree.blocks import BlockLayout
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.tree.merge import unique_sorted
from lsmlab.models.tree.sst import index_bytes
from lsmlab.models.tree.tree import Tree
from lsmlab.models.workloads.mt19937 import FillRandomKeys
from lsmlab.validation.logs.records import Event
from lsmlab.validation.replays.match_counts import Check
from lsmlab.validation.replays.recording import BenchWorkload
from lsmlab.validation.replays.timeline import ReplayTimeline

RecordedAnswer = tuple[str, bool, str]
"""Name of a check, whether the model gave the recorded answer, and both answers as text."""


@dataclass(frozen=True, slots=True)
class _Job:
    """A compaction between its pick and its commit."""

    inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...]
    context: CutContext


class Contents:
    """Computes the exact keys of every file of the replayed tree and compares predicted with recorded sizes."""

    def __init__(self, workload: BenchWorkload, engine: Engine, timeline: ReplayTimeline) -> None:
        self._workload = workload
        self._engine = engine
        self._timeline = timeline
        self._stream = FillRandomKeys(workload.seed, 1, workload.num)
        self._jobs: dict[int, _Job] = {}

    def picked(
        self,
        job: int,
        tree: Tree,
        inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...],
        output: int,
        lo: int,
        hi: int,
    ) -> None:
        """Store the inputs and the cutting context of a compaction, which depend on the tree at its pick."""
        engine = self._engine
        parents = engine.cutter.guide_level(tree, output, lo, hi)
        files: list[SortedFile] = []
        if parents is not None:
            first, last = tree.levels[parents].overlapping(lo, hi)
            files = tree.levels[parents].files[first:last]
        context = CutContext(
            output_level=output,
            target_bytes=engine.target_file_bytes(tree, output),
            max_compaction_bytes=engine.options.max_compaction_bytes,
            bottommost=not _deeper(tree, output, lo, hi),
            grandparent_lo=np.array([f.lo for f in files], dtype=np.int64),
            grandparent_hi=np.array([f.hi for f in files], dtype=np.int64),
            grandparent_size=np.array([f.size_bytes for f in files], dtype=np.int64),
        )
        self._jobs[job] = _Job(inputs, context)

    def committed(self, job: int, new: Sequence[SortedFile]) -> Iterator[RecordedAnswer]:
        """Set the keys of the files that a job adds, and compare their predicted sizes with the LOG."""
        logged = {event.data["file_number"]: event for event in self._timeline.created.get(job, ())}
        compaction = self._jobs.pop(job, None)
        if compaction is None:
            yield from self._flushed(job, new, logged)
            return
        keys = unique_sorted(np.concatenate([f.keys for _, files in compaction.inputs for f in files]))
        layout = self._layout(keys)
        bounds = [0, *self._cuts(keys, layout, compaction.context), len(keys)]
        expected = list(pairwise(bounds))
        for place, file in enumerate(sorted(new, key=lambda f: f.lo)):
            start, end = expected[place] if place < len(expected) else (0, 0)
            yield from self._compare(Check.OUTPUTS, layout, keys, (start, end), logged[file.number])
            first, last = keys.searchsorted((file.lo, file.hi + 1))
            _fill(file, keys[first:last])

    def _flushed(self, job: int, new: Sequence[SortedFile], logged: dict[int, Event]) -> Iterator[RecordedAnswer]:
        flush = self._timeline.flushes[job]
        keys = unique_sorted(self._stream.take(int(flush.data["num_entries"])))
        layout = self._layout(keys)
        for file in new:
            yield from self._compare(Check.FLUSHES, layout, keys, (0, len(keys)), logged[file.number])
            _fill(file, keys)

    def _layout(self, keys: KeyArray) -> BlockLayout:
        return BlockLayout(keys, self._workload.key_size, self._workload.value_size, self._engine.table_format.block_format)

    def _cuts(self, keys: KeyArray, layout: BlockLayout, context: CutContext) -> Sequence[int]:
        cutter = self._engine.cutter
        assert isinstance(cutter, RocksDbCutter)
        most = 2 * context.target_bytes
        return cutter.cuts_by_blocks(keys, context, lambda start: layout.finished(start, most))

    def _compare(
        self, check: str, layout: BlockLayout, keys: KeyArray, span: tuple[int, int], event: Event
    ) -> Iterator[RecordedAnswer]:
        start, end = span
        properties = event.data["table_properties"]
        recorded = (properties["num_entries"], properties["data_size"])
        expected = (end - start, layout.data_bytes(start, end))
        number = event.data["file_number"]
        yield check, recorded == expected, f"file {number}: LOG has {recorded} (entries, data bytes), model {expected}"
        if recorded == expected:
            index = index_bytes(keys, layout, start, end, self._workload.key_size, shorten_last=True)
            size = properties["index_size"]
            yield Check.INDEXES, index == size, f"file {number}: LOG has {size}, model {index}"


def _deeper(tree: Tree, output: int, lo: int, hi: int) -> bool:
    """Whether a level below the output level has a file that overlaps the range (RangeMightExistAfterSortedRun)."""
    for level in tree.levels[output + 1 :]:
        first, last = level.overlapping(lo, hi)
        if last > first:
            return True
    return False


def _fill(file: SortedFile, keys: KeyArray) -> None:
    file.keys = keys
    file.entries = float(len(keys))

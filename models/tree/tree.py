"""LSM-tree of a shard: L0 newest first, then levels of sorted runs of disjoint files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from lsmlab.models.tree.blobs import NO_BLOBS, BlobEdit, BlobFile, BlobFiles
from lsmlab.models.tree.files import NO_KEYS, Slice, SortedFile, slice_of
from lsmlab.models.tree.level import Level


class Placement(Enum):
    """Target run of new files in their level (`Tree.install`)."""

    REPLACE = "replace"
    """The run from which the edit removes files of that level; the oldest run if the edit removes none."""
    NEW_RUN = "new_run"
    """A new run, the newest of the level (tiering)."""
    SETTLE = "settle"
    """For each file, the oldest run such that no newer run overlaps the file (guards: runs only where files
    overlap)."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Tree:
    """All files of one shard.

    Policies only read a tree; the simulation changes it through `mark`, `install`, `link` and `begin_version`.
    """

    num_levels: int = 7
    l0: list[SortedFile] = field(default_factory=list)
    """Level 0, newest first; files may overlap."""
    levels: list[Level] = field(default_factory=list)
    """Oldest run of each level >= 1, the only run of a level under levelled compaction; `levels[0]` is an unused
    placeholder, so that indices are level numbers."""
    newer: list[list[Level]] = field(default_factory=list)
    """Per level: further runs, newest first, none of them empty. A newer run may overlap an older one."""
    frozen: dict[int, SortedFile] = field(default_factory=dict)
    """Frozen files by number: in no level, with slices that no compaction has merged yet (`link`)."""
    linked_bytes: int = 0
    """Bytes of these slices."""
    blobs: BlobFiles = field(default_factory=BlobFiles)
    """Blob files with values of the SST files; none in a store that keeps all values in SST files."""
    cursor: list[int] = field(default_factory=list)
    """Per level: position in the level's priority list from which the next pick of this version starts.

    See (behaviour/leveled-compaction.md, Picking from deeper levels).
    """
    round_robin_key: list[int] = field(default_factory=list)
    """Per level: smallest key after the last compacted file (kRoundRobin, LevelDB); survives versions."""
    exhausted: list[tuple[int, SortedFile]] = field(default_factory=list)
    """(level, file) of the files that had used up their allowed seeks at the last check; some may be deleted since."""
    marks_files: bool = False
    """Whether the tree has had a file that is marked for compaction."""
    has_ranges: bool = False
    """Whether the tree has had a file with range tombstones."""
    version: int = 0
    """Number of installs."""
    marks: int = 0
    """Number of calls of `mark`. A tree with the same `version` and `marks` is in the same state."""

    def __post_init__(self) -> None:
        if not self.levels:
            self.levels = [Level() for _ in range(self.num_levels)]
        self.newer = [[] for _ in range(self.num_levels)]
        self.cursor = [0] * self.num_levels
        self.round_robin_key = [-1] * self.num_levels

    # --- queries ----------------------------------------------------------------------------------------------------

    def runs(self, level: int) -> list[Level]:
        """Non-empty runs of a level >= 1, newest first."""
        oldest = self.levels[level]
        return [*self.newer[level], oldest] if oldest.files else []

    def file_count(self, level: int) -> int:
        """Files of `level`, busy ones included."""
        if level == 0:
            return len(self.l0)
        newer, count = self.newer[level], len(self.levels[level].files)
        return count + sum(map(len, newer)) if newer else count

    def size_bytes(self, level: int) -> int:
        """Bytes of `level`, busy files included, linked slices excluded."""
        if level == 0:
            return sum([f.size_bytes for f in self.l0])
        newer, size = self.newer[level], self.levels[level].size_bytes
        return size + sum(run.size_bytes for run in newer) if newer else size

    def level_bytes(self) -> list[int]:
        """Bytes of every level, as `size_bytes`."""
        return [self.size_bytes(level) for level in range(self.num_levels)]

    def files_per_level(self) -> list[int]:
        """File count of every level, as `lsm_state` in RocksDB's LOG."""
        return [self.file_count(level) for level in range(self.num_levels)]

    def total_bytes(self) -> int:
        """Bytes of all files in levels."""
        return sum(self.level_bytes())

    def files_of(self, level: int) -> Iterator[SortedFile]:
        """Files of a level, newest run first."""
        if level == 0:
            yield from self.l0
        else:
            for run in self.runs(level):
                yield from run

    def files(self) -> Iterator[SortedFile]:
        """All files on the device, frozen ones included."""
        for level in range(self.num_levels):
            yield from self.files_of(level)
        yield from self.frozen.values()

    def live_entries(self) -> float:
        """Entries that a compaction of all files would read."""
        frozen = sum(f.entries for f in self.frozen.values())
        return sum(f.compaction_entries for f in self.files()) - frozen

    def is_bottommost(self, level: int, lo: int, hi: int) -> bool:
        """Whether no file of a deeper level overlaps the keys [lo, hi]."""
        for deeper in range(level + 1, self.num_levels):
            for run in self.runs(deeper):
                i, j = run.overlapping(lo, hi)
                if j > i:
                    return False
        return True

    def last_nonempty_level(self) -> int:
        """Deepest level with a file; 0 for an empty tree."""
        for level in range(self.num_levels - 1, 0, -1):
            if self.levels[level].files:
                return level
        return 0

    # --- changes ----------------------------------------------------------------------------------------------------

    def mark(self, level: int, files: Sequence[SortedFile], busy: bool) -> None:
        """Mark `files` of `level` as inputs of a running job (`busy`), or clear the mark."""
        self.marks += 1
        if level == 0:
            for file in files:
                file.busy = busy
        elif not self.newer[level]:
            self.levels[level].mark(files, busy)
        else:
            for run in self.runs(level):
                run.mark([f for f in files if run.holds(f)], busy)

    def install(
        self,
        removed: Sequence[tuple[int, Sequence[SortedFile]]] = (),
        added: Sequence[tuple[int, Sequence[SortedFile]]] = (),
        placement: Placement = Placement.REPLACE,
    ) -> list[SortedFile]:
        """Apply one version edit: remove the files of `removed`, add those of `added`, and reset the pick cursors.

        Files added to L0 take the position of the inputs that the same edit removes from L0 (an intra-L0 output is as
        old as its inputs); without such inputs they come first (a flush). Returns the files without references: the
        removed files, and frozen files whose last slice was removed with its owner. `added` names each level once.
        """
        place = 0
        into: dict[int, Level] = {}
        new = {level: files for level, files in added if level > 0 and placement is Placement.REPLACE}
        for level, files in removed:
            if level == 0 and files:
                gone = set(map(id, files))
                place = next(i for i, f in enumerate(self.l0) if id(f) in gone)
                self.l0 = [f for f in self.l0 if id(f) not in gone]
            elif files and not self.newer[level]:
                self.levels[level].replace(files, new.pop(level, ()))
            elif files:
                self._remove(level, files, into)
            for file in files:
                file.busy = False
        for level, files in added:
            for file in files:
                file.seeks = 0.0
                if file.marked:
                    self.marks_files = True
                if file.ranges:
                    self.has_ranges = True
            if level == 0:
                self.l0[place:place] = files
            elif placement is not Placement.REPLACE:
                self._stack(level, files, placement)
        for level, files in new.items():
            into.get(level, self.levels[level]).insert(files)
        self._drop_empty_runs([level for level, _ in removed])
        self.begin_version()
        return self._unreferenced([f for _, files in removed for f in files])

    def move_levels(self, to: Mapping[int, int]) -> None:
        """Move all files of levels below L0 to empty deeper levels, without reading them. `to`: new level by level."""
        for level, output in sorted(to.items(), reverse=True):
            if output != level:
                files = self.levels[level].files.copy()
                self.install([(level, files)], [(output, files)])

    def link(self, level: int, output: int, files: Sequence[SortedFile]) -> list[tuple[SortedFile, Slice]]:
        """Freeze `files` of `level` (oldest first) and link a slice of each to the files of level `output` that own its keys.

        `Level.responsible` names the owners. Returns the slices, each with its owner.
        """
        links: list[tuple[SortedFile, Slice]] = []
        below = self.levels[output]
        self.install(removed=[(level, files)])
        for file in files:
            self.frozen[file.number] = file
            i, j = below.responsible(file.lo, file.hi)
            ends = [*file.keys.searchsorted(below.hi[i : j - 1], side="right").tolist(), len(file.keys)]
            start = 0
            for target, end in zip(below.files[i:j], ends, strict=True):
                if end > start:
                    part = slice_of(file, start, end)
                    target.slices = (*target.slices, part)
                    links.append((target, part))
                    file.live_slices += 1
                    self.linked_bytes += part.size_bytes
                start = end
        below.links_changed()
        return links

    def install_blobs(
        self, removed: Sequence[tuple[int, Sequence[SortedFile]]], added: Sequence[tuple[int, Sequence[SortedFile]]],
        edit: BlobEdit = NO_BLOBS, now_s: float = 0.0,
    ) -> list[BlobFile]:  # fmt: skip
        """Apply the part of a version edit that concerns blob files; return those that go (`BlobFiles.apply`)."""
        gone, come = ([f for _, files in groups for f in files] for groups in (removed, added))
        return self.blobs.apply(edit, gone, come, now_s)

    def begin_version(self) -> None:
        """Begin a new version: RocksDB rebuilds the priority lists, so every pick cursor returns to the start."""
        self.version += 1
        self.cursor = [0] * self.num_levels

    def forget_keys(self) -> None:
        """Drop the keys of all files, most of the memory of a large tree; bounds, sizes and entries stay."""
        for file in self.files():
            file.keys = NO_KEYS
            file.blobs = file.times = None

    def check(self) -> None:
        """Raise AssertionError if an invariant of the tree does not hold."""
        for number in range(1, self.num_levels):
            self.levels[number].check()
            assert len(self.levels[number]) or not self.newer[number], "the oldest run is empty, a newer one is not"
            for run in self.newer[number]:
                assert len(run), "an empty run was kept"
                run.check()
        assert len({f.number for f in self.l0}) == len(self.l0)
        if self.blobs:
            self.blobs.check(list(self.files()))
        if self.frozen or self.linked_bytes:
            slices = [s for f in self.files() for s in f.slices]
            numbers = [s.source.number for s in slices]
            assert {n: f.live_slices for n, f in self.frozen.items()} == {n: numbers.count(n) for n in self.frozen}
            assert self.linked_bytes == sum(s.size_bytes for s in slices)

    def _remove(self, level: int, files: Sequence[SortedFile], into: dict[int, Level]) -> None:
        """Remove files from a level of several runs; record in `into` the newest run that loses a file."""
        for run in (*self.newer[level], self.levels[level]):
            here = [f for f in files if run.holds(f)]
            if here:
                run.replace(here, ())
                into.setdefault(level, run)

    def _stack(self, level: int, files: Sequence[SortedFile], placement: Placement) -> None:
        runs = self.runs(level)
        if placement is Placement.NEW_RUN:
            self._push(level, files)
            return
        for file in files:
            place = None
            for run in runs:
                i, j = run.overlapping(file.lo, file.hi)
                if j > i:
                    break
                place = run
            if place is None:
                self._push(level, [file])
                runs = self.runs(level)
            else:
                place.insert([file])

    def _push(self, level: int, files: Sequence[SortedFile]) -> None:
        if len(self.levels[level]):
            self.newer[level].insert(0, Level(files))
        else:
            self.levels[level].insert(files)

    def _drop_empty_runs(self, levels: Sequence[int]) -> None:
        for level in levels:
            newer = self.newer[level]
            if newer:
                newer[:] = [run for run in newer if len(run)]
                if newer and not len(self.levels[level]):
                    self.levels[level] = newer.pop()

    def _unreferenced(self, removed: list[SortedFile]) -> list[SortedFile]:
        gone = list(removed)
        for file in removed:
            for part in file.slices:
                part.source.live_slices -= 1
                self.linked_bytes -= part.size_bytes
                if part.source.live_slices == 0:
                    del self.frozen[part.source.number]
                    gone.append(part.source)
        return gone

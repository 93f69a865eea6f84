"""The LSM-tree that policies look at: L0 newest first, then levels of sorted runs of disjoint files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from lsmlab.models.tree.files import SortedFile, slice_of
from lsmlab.models.tree.level import Level


class Placement(Enum):
    """Where new files go in their level (`Tree.install`)."""

    REPLACE = "replace"
    """Into the run that the edit takes files of that level from; into the oldest run if it takes none."""
    NEW_RUN = "new_run"
    """Into a run of their own, the newest of the level (tiering)."""
    SETTLE = "settle"
    """Each into the oldest run above which nothing overlaps it (guards: as many runs as files overlap)."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Tree:
    """All files of one store.

    Policies read it and never change it; the simulation changes it through `mark`, `install`, `link` and `restamp`.
    """

    num_levels: int = 7
    l0: list[SortedFile] = field(default_factory=list)
    """Level 0, newest first; files may overlap."""
    levels: list[Level] = field(default_factory=list)
    """`levels[i]` is the oldest run of level i for i >= 1, in a levelled store the only one; `levels[0]` is an unused
    placeholder, so that indices are level numbers."""
    newer: list[list[Level]] = field(default_factory=list)
    """Per level: further runs, newest first, none of them empty. A newer run may overlap an older one."""
    frozen: dict[int, SortedFile] = field(default_factory=dict)
    """By number: files in no level any more, of which slices still wait to be merged (`link`)."""
    linked_bytes: int = 0
    """Of these slices."""
    cursor: list[int] = field(default_factory=list)
    """Per level: position in the level's priority list from which the next pick of this version starts (§5.4)."""
    round_robin_key: list[int] = field(default_factory=list)
    """Per level: smallest key after the last compacted file (kRoundRobin, LevelDB); survives versions."""
    exhausted: list[tuple[int, SortedFile]] = field(default_factory=list)
    """(level, file) of those whose allowance of seeks is used up, as of the last look; some may be gone by now."""
    version: int = 0
    """Counts installs."""

    def __post_init__(self) -> None:
        if not self.levels:
            self.levels = [Level() for _ in range(self.num_levels)]
        self.newer = [[] for _ in range(self.num_levels)]
        self.cursor = [0] * self.num_levels
        self.round_robin_key = [-1] * self.num_levels

    # --- questions --------------------------------------------------------------------------------------------------

    def runs(self, level: int) -> list[Level]:
        """Non-empty runs of a level >= 1, newest first."""
        oldest = self.levels[level]
        return [*self.newer[level], oldest] if len(oldest) else []

    def file_count(self, level: int) -> int:
        """Files of `level`, busy ones included."""
        if level == 0:
            return len(self.l0)
        newer, count = self.newer[level], len(self.levels[level])
        return count + sum(len(run) for run in newer) if newer else count

    def size_bytes(self, level: int) -> int:
        """Bytes of `level`, busy files included, slices that wait to be merged into them not."""
        if level == 0:
            return sum(f.size_bytes for f in self.l0)
        newer, size = self.newer[level], self.levels[level].size_bytes
        return size + sum(run.size_bytes for run in newer) if newer else size

    def level_bytes(self) -> list[int]:
        """`size_bytes` of every level."""
        if any(self.newer):
            return [self.size_bytes(level) for level in range(self.num_levels)]
        return [self.size_bytes(0), *[level.size_bytes for level in self.levels[1:]]]

    def files_per_level(self) -> list[int]:
        """Like `lsm_state` in RocksDB's LOG."""
        if any(self.newer):
            return [self.file_count(level) for level in range(self.num_levels)]
        return [len(self.l0), *[len(level) for level in self.levels[1:]]]

    def total_bytes(self) -> int:
        """Bytes of all files in levels."""
        return sum(self.size_bytes(level) for level in range(self.num_levels))

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
        """Entries that a merge of everything would read."""
        frozen = sum(f.entries for f in self.frozen.values())
        return sum(f.compaction_entries for f in self.files()) - frozen

    def last_nonempty_level(self) -> int:
        """Deepest level that holds a file; 0 for an empty tree."""
        for level in range(self.num_levels - 1, 0, -1):
            if len(self.levels[level]):
                return level
        return 0

    # --- changes ----------------------------------------------------------------------------------------------------

    def mark(self, level: int, files: Sequence[SortedFile], busy: bool) -> None:
        """Mark `files` of `level` as held by a job, or as free again."""
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
        """Apply one version edit: take `removed` (level, files) out, put `added` in, and reset the pick cursors.

        Files added to L0 take the place of the inputs that the same edit takes out of L0 (an intra-L0 output is as
        old as its inputs), and come first when it takes none out (a flush). Answers the files that nothing refers to any
        more: those taken out, and frozen ones whose last slice went with them.
        """
        place = 0
        into: dict[int, Level] = {}
        for level, files in removed:
            if level == 0 and files:
                gone = set(map(id, files))
                place = next(i for i, f in enumerate(self.l0) if id(f) in gone)
                self.l0 = [f for f in self.l0 if id(f) not in gone]
            elif files and not self.newer[level]:
                self.levels[level].remove(files)
            elif files:
                self._remove(level, files, into)
            for file in files:
                file.busy = False
        for level, files in added:
            for file in files:
                file.seeks = 0.0
            if level == 0:
                self.l0[place:place] = files
            elif placement is Placement.REPLACE:
                into.get(level, self.levels[level]).insert(files)
            else:
                self._stack(level, files, placement)
        self._drop_empty_runs([level for level, _ in removed])
        self.restamp()
        return self._unreferenced([f for _, files in removed for f in files])

    def link(self, level: int, output: int, files: Sequence[SortedFile]) -> None:
        """Freeze `files` of `level`, oldest first, and give the files responsible for their keys in `output` slices."""
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
                    file.live_slices += 1
                    self.linked_bytes += part.size_bytes
                start = end
            below.note_links(i, j)

    def restamp(self) -> None:
        """Begin a new version: RocksDB rebuilds the priority lists, so every pick cursor starts over."""
        self.version += 1
        self.cursor = [0] * self.num_levels

    def check(self) -> None:
        """Raise AssertionError where an invariant of the tree is broken."""
        for number in range(1, self.num_levels):
            self.levels[number].check()
            assert len(self.levels[number]) or not self.newer[number], "the oldest run is empty, a newer one is not"
            for run in self.newer[number]:
                assert len(run), "an empty run was kept"
                run.check()
        assert len({f.number for f in self.l0}) == len(self.l0)
        if self.frozen or self.linked_bytes:
            slices = [s for f in self.files() for s in f.slices]
            numbers = [s.source.number for s in slices]
            assert {n: f.live_slices for n, f in self.frozen.items()} == {n: numbers.count(n) for n in self.frozen}
            assert self.linked_bytes == sum(s.size_bytes for s in slices)

    def _remove(self, level: int, files: Sequence[SortedFile], into: dict[int, Level]) -> None:
        """Take files out of a level of several runs; `into` notes the newest that lost one."""
        for run in (*self.newer[level], self.levels[level]):
            here = [f for f in files if run.holds(f)]
            if here:
                run.remove(here)
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

"""The LSM-tree that policies look at: L0 newest first, then levels of disjoint files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level


@dataclass(slots=True, eq=False, weakref_slot=True)
class Tree:
    """All files of one store.

    Policies read it and never change it; the simulation changes it through `mark`, `install` and `restamp` alone.
    """

    num_levels: int = 7
    l0: list[SortedFile] = field(default_factory=list)
    """Level 0, newest first; files may overlap."""
    levels: list[Level] = field(default_factory=list)
    """`levels[i]` holds level i for i >= 1; `levels[0]` is an unused placeholder, so that indices are level numbers."""
    cursor: list[int] = field(default_factory=list)
    """Per level: position in the level's priority list from which the next pick of this version starts (§5.4)."""
    round_robin_key: list[int] = field(default_factory=list)
    """Per level: smallest key after the last compacted file (kRoundRobin, LevelDB); survives versions."""
    version: int = 0
    """Counts installs."""

    def __post_init__(self) -> None:
        if not self.levels:
            self.levels = [Level() for _ in range(self.num_levels)]
        self.cursor = [0] * self.num_levels
        self.round_robin_key = [-1] * self.num_levels

    def file_count(self, level: int) -> int:
        """Files of `level`, busy ones included."""
        return len(self.l0) if level == 0 else len(self.levels[level])

    def size_bytes(self, level: int) -> int:
        """Bytes of `level`, busy files included."""
        return sum(f.size_bytes for f in self.l0) if level == 0 else self.levels[level].size_bytes

    def files_per_level(self) -> list[int]:
        """Like `lsm_state` in RocksDB's LOG."""
        return [self.file_count(level) for level in range(self.num_levels)]

    def total_bytes(self) -> int:
        """Bytes of all files."""
        return sum(self.size_bytes(level) for level in range(self.num_levels))

    def last_nonempty_level(self) -> int:
        """Deepest level that holds a file; 0 for an empty tree."""
        for level in range(self.num_levels - 1, 0, -1):
            if len(self.levels[level]):
                return level
        return 0

    def mark(self, level: int, files: Sequence[SortedFile], busy: bool) -> None:
        """Mark `files` of `level` as held by a job, or as free again."""
        if level == 0:
            for file in files:
                file.busy = busy
        else:
            self.levels[level].mark(files, busy)

    def install(
        self,
        removed: Sequence[tuple[int, Sequence[SortedFile]]] = (),
        added: Sequence[tuple[int, Sequence[SortedFile]]] = (),
    ) -> None:
        """Apply one version edit: take `removed` (level, files) out, put `added` in, and reset the pick cursors.

        Files added to L0 take the place of the inputs that the same edit takes out of L0 (an intra-L0 output is as
        old as its inputs), and come first when it takes none out (a flush).
        """
        place = 0
        for level, files in removed:
            if level == 0 and files:
                gone = set(map(id, files))
                place = next(i for i, f in enumerate(self.l0) if id(f) in gone)
                self.l0 = [f for f in self.l0 if id(f) not in gone]
                for file in files:
                    file.busy = False
            elif files:
                self.levels[level].remove(files)
                for file in files:
                    file.busy = False
        for level, files in added:
            if level == 0:
                self.l0[place:place] = files
            else:
                self.levels[level].insert(files)
        self.restamp()

    def restamp(self) -> None:
        """Begin a new version: RocksDB rebuilds the priority lists, so every pick cursor starts over."""
        self.version += 1
        self.cursor = [0] * self.num_levels

    def check(self) -> None:
        """Raise AssertionError where an invariant of the tree is broken."""
        for level in self.levels[1:]:
            level.check()
        assert len({f.number for f in self.l0}) == len(self.l0)

"""Policies that exist for tests alone: each does one thing that no engine of the catalogue does on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lsmlab.models.policies.decisions import NOTHING, Compaction, DoNothing, Drop, Link, Pick, RunningJob, Scope
from lsmlab.models.policies.parts import Base
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.parts import leveled_picker
from lsmlab.models.policies.rocksdb.scheduler import RocksDbScheduler
from lsmlab.models.policies.scheduling import Action, Discard, JobKind, JobState, Pause, Resume, StoreView
from lsmlab.models.policies.tuning import Changes, Interval
from lsmlab.models.tree.tree import Placement, Tree


@dataclass(frozen=True)
class Schedule:
    """`engine/tuner`: changes options at given intervals."""

    write_buffer_sizes: list[int]
    """Size to set after each second; the last one stays."""

    def make(self, base: Base) -> Scheduled:
        """A tuner that has not changed anything yet."""
        return Scheduled(list(self.write_buffer_sizes))


@dataclass
class Scheduled:
    """Implements `tuning.Tuner`."""

    left: list[int]
    seen: list[Interval] = field(default_factory=list)
    interval_s: float = 1.0

    def observe(self, interval: Interval) -> Changes:
        """The next size of the list."""
        self.seen.append(interval)
        return {"write_buffer_size": self.left.pop(0)} if self.left else {}


@dataclass(frozen=True)
class Stepping:
    """`engine/scheduler`: halts, resumes and gives up deep compactions in turn."""

    def make(self, base: Base) -> SteppingScheduler:
        """RocksDB's scheduler with a habit."""
        return SteppingScheduler(base.options, base.version)


class SteppingScheduler(RocksDbScheduler):
    """Every deep compaction is halted once; every third of those halted is given up, the others go on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.preemptive = True
        self.chunk_bytes = 1 << 16
        self.halted: set[int] = set()

    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:
        """RocksDB's plan, and one thing with each deep job."""
        actions = list(super().plan(view, coin))
        for job in view.jobs:
            if job.kind is not JobKind.DEEP or job.start_level < 1:
                continue
            if job.state is JobState.HALTED:
                actions.append(Discard(job.job) if len(self.halted) % 3 == 0 else Resume(job.job))
            elif job.job not in self.halted:
                self.halted.add(job.job)
                actions.append(Pause(job.job))
        return actions


@dataclass(frozen=True)
class Stacking:
    """`engine/picker`: tiering below L0, to exercise runs."""

    most_runs: int = 3

    def make(self, base: Base) -> StackingPicker:
        """A picker that merges a level as soon as it has enough runs."""
        return StackingPicker(leveled_picker(base).rules, most_runs=self.most_runs)


@dataclass
class StackingPicker(LeveledPicker):
    """Implements `decisions.Picker`: a level with `most_runs` runs becomes one run of the next level."""

    most_runs: int = 3

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Whether a level is full."""
        return not isinstance(self.pick(tree, (), now_s, scope), type(NOTHING))

    def pick(
        self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY
    ) -> Pick:
        """The deepest full level whose runs are free."""
        for level in range(tree.num_levels - 2, -1, -1):
            groups = [(0, (f,)) for f in tree.l0] if level == 0 else [(level, tuple(r.files)) for r in tree.runs(level)]
            if len(groups) >= self.most_runs and not any(f.busy for _, files in groups for f in files):
                return Compaction(level, level + 1, tuple(groups), "Tiering", placement=Placement.NEW_RUN)
        return NOTHING


@dataclass(frozen=True)
class Linking:
    """`engine/picker`: LDC in a few lines, to exercise links."""

    threshold: int = 4

    def make(self, base: Base) -> LinkingPicker:
        """A picker that links instead of merging."""
        inner = leveled_picker(base)
        return LinkingPicker(inner.rules, threshold=self.threshold)


@dataclass
class LinkingPicker(LeveledPicker):
    """Implements `decisions.Picker`: L0 and L1 as RocksDB, L1 into L2 by links, merged at `threshold` slices."""

    threshold: int = 4

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Whether something is due, or a file has slices enough."""
        ripe = any(len(f.slices) >= self.threshold for f in tree.levels[2])
        return ripe or super().needs_compaction(tree, now_s, scope)

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:
        """Merge a ripe file; link a file of L1; else what RocksDB would do about L0."""
        for file in tree.levels[2]:
            if len(file.slices) >= self.threshold and not file.busy:
                return Compaction(2, 2, ((2, (file,)),), "SliceLinks")
        scores = self.scores(tree)
        below = tree.levels[2]
        if scores[1] >= 1 and len(below):
            for file in tree.levels[1]:
                i, j = below.responsible(file.lo, file.hi)
                if not file.busy and not below.any_busy(i, j):
                    return Link(1, 2, ((1, (file,)), (2, tuple(below.files[i:j]))), "Link", scores[1])
        pick = super().pick(tree, running, now_s, scope)
        past_links = not isinstance(pick, DoNothing | Drop) and pick.start_level >= 1 and len(below) > 0
        return NOTHING if past_links else pick

"""Policies for tests only: each exercises one mechanism that no engine of the catalogue uses in this way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lsmlab.models.policies.decisions import NOTHING, Compaction, DoNothing, Drop, Link, Pick, Picker, RunningJob, Scope
from lsmlab.models.policies.parts import Base, PolicySettings
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.scheduler import RocksDbScheduler
from lsmlab.models.policies.scheduling import Action, Discard, JobKind, JobState, Pause, Resume, Scheduler, StoreView
from lsmlab.models.policies.tuning import Changes, Interval, Tuner
from lsmlab.models.tree.tree import Placement, Tree


@dataclass(frozen=True)
class Schedule(PolicySettings[Tuner | None]):
    """`engine/tuner`: changes write_buffer_size once per second."""

    write_buffer_sizes: list[int]
    """Sizes in bytes to set, one after each second; the last one stays."""

    def make(self, base: Base) -> Scheduled:
        """Make a tuner that has not changed anything yet."""
        return Scheduled(list(self.write_buffer_sizes))


@dataclass
class Scheduled:
    """Implements `tuning.Tuner`."""

    left: list[int]
    seen: list[Interval] = field(default_factory=list)
    interval_s: float = 1.0

    def observe(self, interval: Interval) -> Changes:
        """Return the next size of the list."""
        self.seen.append(interval)
        return {"write_buffer_size": self.left.pop(0)} if self.left else {}


@dataclass(frozen=True)
class Stepping(PolicySettings[Scheduler]):
    """`engine/scheduler`: pauses deep compactions and then resumes or discards them."""

    def make(self, base: Base) -> SteppingScheduler:
        """Make RocksDB's scheduler with these additional actions."""
        return SteppingScheduler(base.options, base.version)


class SteppingScheduler(RocksDbScheduler):
    """Pauses every deep compaction once, and discards or resumes it depending on the number of jobs paused so far."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.preemptive = True
        self.chunk_bytes = 1 << 16
        self.halted: set[int] = set()

    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:
        """Return RocksDB's plan and at most one further action for each deep job."""
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
class Stacking(PolicySettings[Picker]):
    """`engine/picker`: tiering below L0, to exercise sorted runs."""

    most_runs: int = 3

    def make(self, base: Base) -> StackingPicker:
        """Make a picker that compacts a level as soon as it has `most_runs` sorted runs."""
        return StackingPicker(base.options, base.version, self.most_runs)


@dataclass
class StackingPicker(LeveledPicker):
    """Implements `decisions.Picker`: compacts a level with `most_runs` runs into one new run of the next level."""

    most_runs: int = 3

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Return whether `pick` would return a compaction."""
        return not isinstance(self.pick(tree, (), now_s, scope), type(NOTHING))

    def pick(
        self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY
    ) -> Pick:
        """Pick the deepest full level whose files are not busy."""
        for level in range(tree.num_levels - 2, -1, -1):
            groups = [(0, (f,)) for f in tree.l0] if level == 0 else [(level, tuple(r.files)) for r in tree.runs(level)]
            if len(groups) >= self.most_runs and not any(f.busy for _, files in groups for f in files):
                return Compaction(level, level + 1, tuple(groups), "Tiering", placement=Placement.NEW_RUN)
        return NOTHING


@dataclass(frozen=True)
class Linking(PolicySettings[Picker]):
    """`engine/picker`: a minimal LDC, to exercise links."""

    threshold: int = 4

    def make(self, base: Base) -> LinkingPicker:
        """Make a picker that links files of L1 instead of compacting them."""
        return LinkingPicker(base.options, base.version, self.threshold)


@dataclass
class LinkingPicker(LeveledPicker):
    """Implements `decisions.Picker`: compacts L0 into L1 as RocksDB; links L1 to L2; merges slices at `threshold`."""

    threshold: int = 4

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Return whether a level needs compaction or a file has at least `threshold` slices."""
        enough_slices = any(len(f.slices) >= self.threshold for f in tree.levels[2])
        return enough_slices or super().needs_compaction(tree, now_s, scope)

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:
        """Merge a file with enough slices; else link a file of L1; else compact L0 as RocksDB does."""
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

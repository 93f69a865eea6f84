"""RocksDB's levelled picker: compaction_picker_level.cc (behaviour/leveled-compaction.md, Leveled compaction)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lsmlab.models import since
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import (
    NOTHING,
    Compaction,
    DoNothing,
    Move,
    Pick,
    Picker,
    RunningJob,
    Scope,
    in_scope,
)
from lsmlab.models.policies.rocksdb import l0
from lsmlab.models.policies.rocksdb.compression import level_compression
from lsmlab.models.policies.rocksdb.due_files import ROUND_ROBIN_TTL, TTL, DueFiles, least_age_s
from lsmlab.models.policies.rocksdb.forced_blob_gc import forced_blob_gc, marked_files
from lsmlab.models.policies.rocksdb.inputs import InputRules, Seed, conflicts, key_range
from lsmlab.models.policies.rocksdb.levels import LevelRules, Targets, bottommost_bytes, order_by_score
from lsmlab.models.policies.rocksdb.places import FIRST_PATH, NO_LEVEL, path_of_level, proximal_level
from lsmlab.models.policies.rocksdb.priority import PriorityLists
from lsmlab.models.policies.rocksdb.subcompactions import MANUAL
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version


@dataclass(slots=True)
class _Derived:
    """Values that follow from one state of a tree."""

    tree: Tree
    version: int
    """The tree's version to which `targets` and `pending_bytes` belong."""
    targets: Targets
    pending_bytes: int
    marks: int = -1
    """Busy marks of the tree to which `scores` belong."""
    scores: Sequence[float] = ()


@dataclass
class LeveledPicker(Picker):
    """Implements `decisions.Picker`. It keeps caches of functions of the tree and no other state."""

    options: RocksDbOptions
    version: Version
    rules: LevelRules = field(init=False, repr=False)
    _lists: PriorityLists = field(init=False, repr=False)
    _last: _Derived | None = field(init=False, repr=False, default=None)
    """Values of the state of a tree at the last query; the store asks for them several times per install."""
    _inputs: InputRules = field(init=False, repr=False)
    _due: DueFiles = field(init=False, repr=False)
    _least_age_s: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.rules = LevelRules(self.options, self.version)
        self._lists = PriorityLists(self.options.compaction_pri, self.version, self.options.ttl)
        self._inputs = InputRules(self.options, self.version)
        self._due = DueFiles(self.options, self.version)
        self._least_age_s = least_age_s(self.options)

    # ---- queries at every install ----

    def _derived(self, tree: Tree) -> _Derived:
        last = self._last
        if last is None or last.tree is not tree or last.version != tree.version:
            targets = self.rules.targets(tree)
            last = self._last = _Derived(tree, tree.version, targets, self.rules.pending_bytes(tree, targets))
        return last

    def _targets(self, tree: Tree) -> Targets:
        return self._derived(tree).targets

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Return whether a score is >= 1, a file is due, or garbage of blobs must go (LevelCompactionPicker::NeedsCompaction)."""
        if self.options.disable_auto_compactions:
            return False
        scores = self.scores(tree)
        if scope is Scope.L0:
            return scores[0] >= 1
        if max(scores if scope is Scope.ANY else scores[1:], default=0.0) >= 1:
            return True
        if self._looks_for_due(tree, now_s) and self._due.files(tree, now_s):
            return True
        return bool(tree.blobs) and bool(marked_files(tree, self.options, self.version))

    def pending_bytes(self, tree: Tree) -> int:
        """Estimated pending compaction bytes (behaviour/leveled-compaction.md, Pending compaction bytes)."""
        return self._derived(tree).pending_bytes

    def bottommost_bytes(self, tree: Tree) -> int:
        """Bytes of files that overlap no deeper file: later releases compare an eighth of them with the debt.

        See (behaviour/write-stalls.md, Pressure).
        The deepest level counts whole, the levels above it in part. The method returns the bytes of the deepest level if
        they alone decide the comparison, or if the debt is over a quarter of the soft limit, which decides it too; and the
        bytes of all levels below L0 if an eighth of them is not above the debt. Few debts are between these bounds.
        """
        if self.version < since.PRESSURE_BY_BOTTOMMOST:
            return 0
        if self.version < since.PRESSURE_AT_AN_EIGHTH:
            return bottommost_bytes(tree)
        pending, last = self.pending_bytes(tree), tree.last_nonempty_level()
        deepest = tree.size_bytes(last)
        if 8 * pending < deepest or 4 * pending >= self.options.soft_pending_compaction_bytes_limit > 0:
            return deepest
        levels = sum(level.size_bytes for level in tree.levels[1 : last + 1])
        return levels if 0 < levels <= 8 * pending else bottommost_bytes(tree)

    def level_targets(self, tree: Tree) -> Sequence[float]:
        """Target bytes per level (behaviour/leveled-compaction.md, Static targets; Dynamic targets)."""
        return self._targets(tree).size_bytes

    def scores(self, tree: Tree) -> Sequence[float]:
        """Score per level, without the last (behaviour/leveled-compaction.md, Scores)."""
        last = self._derived(tree)
        if last.marks != tree.marks:
            last.marks, last.scores = tree.marks, self.rules.scores(tree, last.targets)
        return last.scores

    def target_file_size(self, tree: Tree, level: int) -> int:
        """Target size of files that a job writes to `level` now. Unit: bytes."""
        return self.rules.target_file_size(level, self._targets(tree).base_level)

    def levels_at_open(self, filled: Sequence[int]) -> Mapping[int, int]:
        """Fill the levels from the last one up with dynamic levels: DBImpl::Recover.

        See (behaviour/leveled-compaction.md, Trivial moves).
        """
        if not self.rules.dynamic or self.options.disable_auto_compactions or self.version < since.MOVES_AT_OPEN:
            return super().levels_at_open(filled)
        below_l0 = [level for level in filled if level > 0]
        first = self.options.num_levels - len(below_l0)
        return {0: 0} | {level: first + i for i, level in enumerate(below_l0)}

    # ---- picking ----

    def pick(
        self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY
    ) -> Pick:
        """Choose the next compaction (LevelCompactionBuilder::PickCompaction)."""
        targets = self._targets(tree)
        seed = self._initial(tree, running, targets, scope, now_s)
        if seed is None and self._looks_for_due(tree, now_s) and (seed := self._of_due(tree, running, targets, now_s)):
            return in_scope(self._from_seed(tree, running, targets, seed), scope)
        if seed is None and tree.blobs and scope is not Scope.L0:
            return forced_blob_gc(tree, running, self.options, self.version) or NOTHING
        return self._from_seed(tree, running, targets, seed)

    def pick_level(self, tree: Tree, running: Sequence[RunningJob], level: int) -> Pick:
        """Return the compaction from `level` at any score; never an intra-L0 compaction."""
        targets = self._targets(tree)
        score = self.scores(tree)[level]
        if level == 0:
            return self._from_seed(tree, running, targets, self._seed_l0(tree, running, targets, score))
        return self._from_seed(tree, running, targets, self._seed_level(tree, running, level, score))

    def complete(
        self, tree: Tree, running: Sequence[RunningJob], seed: Seed, *, moves: bool = True
    ) -> Compaction | Move | DoNothing:  # fmt: skip
        """Return the job from files that no score has chosen: a compaction within their level, or to the next one.

        `moves`: whether they may move unread. Returns NOTHING if a running job is in the way.
        """
        if seed.level != seed.output:
            pick = self._complete(tree, running, self._targets(tree), seed)
            if moves or not isinstance(pick, Move):
                return pick
            return Compaction(pick.start_level, pick.output_level, pick.inputs, pick.reason, pick.score)
        files = tuple(seed.files)
        if seed.level > 0 and conflicts(running, seed.level, *key_range(files)):
            return NOTHING
        return Compaction(seed.level, seed.level, ((seed.level, files),), seed.reason, seed.score)

    def _from_seed(self, tree: Tree, running: Sequence[RunningJob], targets: Targets, seed: Seed | None) -> Pick:
        if seed is None:
            return NOTHING
        if seed.output == 0:
            return Compaction(0, 0, ((0, tuple(seed.files)),), seed.reason, seed.score, seed.cursor)
        if seed.level == seed.output:
            return self.complete(tree, running, seed)
        if seed.level == 0 and not seed.disjoint:
            seed.files = l0.closure(tree.l0, *key_range(seed.files))
            if any(f.busy for f in seed.files):
                return NOTHING
        elif seed.level > 0 and self._inputs.expands_round_robin:
            self._inputs.expand_round_robin(tree, running, targets.size_bytes[seed.level], seed)
        return self._complete(tree, running, targets, seed)

    def _initial(
        self, tree: Tree, running: Sequence[RunningJob], targets: Targets, scope: Scope, now_s: float
    ) -> Seed | None:  # fmt: skip
        """Choose level and first files: SetupInitialFiles (behaviour/leveled-compaction.md, Level order)."""
        scores = self.scores(tree)
        l0_blocked = False
        for level in order_by_score(scores):
            score = scores[level]
            if score < 1:
                break
            if scope is not Scope.ANY and (level == 0) is not (scope is Scope.L0):
                continue
            if level == 0:
                seed = self._seed_l0(tree, running, targets, score)
                if seed is None:
                    l0_blocked = True
                    seed = self._intra_l0(tree, score)
            elif l0_blocked and level == targets.base_level:
                continue  # otherwise compactions from L0 to the base level might starve
            else:
                seed = self._seed_level(tree, running, level, score, now_s)
            if seed is not None:
                return seed
        return None

    def _looks_for_due(self, tree: Tree, now_s: float) -> bool:
        """Return whether a file can be due; nearly always none can."""
        return now_s > self._least_age_s or tree.marks_files or tree.oldest_snapshot_s > -math.inf

    def _of_due(self, tree: Tree, running: Sequence[RunningJob], targets: Targets, now_s: float) -> Seed | None:
        """Choose the first file that is due and may start a job (PickFilesMarkedForCompaction, PickFileToCompact)."""
        l0_busy = any(job.start_level == 0 for job in running)
        scores = self.scores(tree)
        score = max((s for s in scores if s < 1), default=min(scores))  # the last one that SetupInitialFiles has looked at
        for old in self._due.files(tree, now_s):
            if old.reason == TTL and old.level > 0 and self._inputs.round_robin:
                seed = self._seed_level(tree, running, old.level, score, now_s)
                if seed is not None:
                    seed.first_reason = ROUND_ROBIN_TTL
                    return seed
            if old.level == 0 and l0_busy:
                continue
            output = targets.base_level if old.output == -1 else old.output
            first = 0 if old.level == 0 else tree.levels[old.level].index(old.file)
            return Seed(old.level, output, [old.file], score, first=first, first_reason=old.reason)
        return None

    def _intra_l0(self, tree: Tree, score: float) -> Seed | None:
        limit = None if self.version < since.INTRA_L0_LIMIT else self.options.max_compaction_bytes
        files = l0.cost_based(tree.l0, self.options.level0_file_num_compaction_trigger, limit)
        return Seed(0, 0, files, score) if files else None

    def _seed_l0(self, tree: Tree, running: Sequence[RunningJob], targets: Targets, score: float) -> Seed | None:
        """Choose first files of level 0: PickFileToCompact (behaviour/leveled-compaction.md, L0 compactions)."""
        version, base = self.version, targets.base_level
        busy = any(job.start_level == 0 for job in running)
        if not busy and version >= since.L0_MOVE and not self.options.compression_per_level and len(self.options.db_paths) <= 1:
            files = l0.movable(tree.l0, tree.levels[base])
            if files:
                return Seed(0, base, files, score, disjoint=True)
        if version >= since.INTRA_L0_BY_SIZE:
            trigger, factor = self.options.level0_file_num_compaction_trigger, self.options.max_bytes_for_level_multiplier
            files = l0.size_based(tree.l0, trigger, tree.levels[base], factor)
            if files:
                return Seed(0, 0, files, score)
        if busy:
            return None
        order = self._lists.of_l0(tree)
        for position in range(0 if self._inputs.round_robin else tree.cursor[0], len(order)):
            file = tree.l0[order[position]]
            if not file.busy and self._open_range(tree, running, base, file) is not None:
                if version < since.RANGE_CHECK_PER_FILE and conflicts(running, base, file.lo, file.hi):
                    return None
                return Seed(0, base, [file], score, None if self._inputs.round_robin else position)
            if self._inputs.round_robin:
                return None
        return None

    def _seed_level(
        self, tree: Tree, running: Sequence[RunningJob], number: int, score: float, now_s: float = 0.0
    ) -> Seed | None:  # fmt: skip
        """Choose first files of a level >= 1: PickFileToCompact (behaviour/leveled-compaction.md, Picking from deeper levels)."""
        level, output = tree.levels[number], number + 1
        order = self._lists.of(tree, number, now_s)
        files, round_robin = level.files, self._inputs.round_robin
        for position in range(0 if round_robin else tree.cursor[number], len(order)):
            index = order[position]
            file = files[index]
            below = None if file.busy else self._open_range(tree, running, output, file)
            if below is None:
                if round_robin:
                    return None
                continue
            seed = Seed(number, output, [file], score, None if round_robin else position, first=index)
            if self.version < since.RANGE_CHECK_PER_FILE and conflicts(running, output, *key_range(seed.files)):
                return None
            if below[0] == below[1]:
                self._inputs.extend_move(tree, seed)
            return seed
        return None

    def _open_range(
        self, tree: Tree, running: Sequence[RunningJob], output: int, file: SortedFile
    ) -> tuple[int, int] | None:
        """Output-level files [a, b) that `file` overlaps; None if one is busy or a running job writes there.

        Before `since.RANGE_CHECK_PER_FILE` the caller makes the second test and skips the level when it fails.
        """
        if self.version >= since.RANGE_CHECK_PER_FILE and conflicts(running, output, file.lo, file.hi):
            return None
        below = tree.levels[output]
        a, b = below.overlapping(file.lo, file.hi)
        return None if b > a and below.any_busy(a, b) else (a, b)

    def _complete(
        self, tree: Tree, running: Sequence[RunningJob], targets: Targets, seed: Seed
    ) -> Compaction | Move | DoNothing:  # fmt: skip
        """Add output-level files, grow the inputs, test for conflicts, and test for a trivial move.

        See (behaviour/leveled-compaction.md, Growing the inputs; Trivial moves).
        """
        below = tree.levels[seed.output]
        lo, hi = key_range(seed.files)
        a, b = below.overlapping(lo, hi)
        if b > a:
            if below.any_busy(a, b):
                return NOTHING
            self._inputs.grow(tree, seed, a, b)
            lo, hi = key_range(seed.files)
            lo, hi = min(lo, below.files[a].lo), max(hi, below.files[b - 1].hi)
        proximal = self._proximal_level(tree, seed)
        if conflicts(running, seed.output, lo, hi) or (proximal != NO_LEVEL and conflicts(running, proximal, lo, hi)):
            return NOTHING
        start, output, files, next_key = seed.level, seed.output, tuple(seed.files), self._next_key(tree, seed)
        if b == a and self._is_trivial_move(tree, targets, seed):
            return Move(start, output, ((start, files),), seed.reason, seed.score, seed.cursor, next_key)
        inputs = ((start, files), (output, tuple(below.files[a:b]))) if b > a else ((start, files),)
        return Compaction(start, output, inputs, seed.reason, seed.score, seed.cursor, next_key=next_key)

    def _is_trivial_move(self, tree: Tree, targets: Targets, seed: Seed) -> bool:
        """Return whether such inputs can move: Compaction::IsTrivialMove (behaviour/leveled-compaction.md, Trivial moves)."""
        if self.options.compaction_options_universal.allow_trivial_move and self.version < since.MOVE_WITH_UNIVERSAL_OPTION:
            return False  # the option of the universal style prevents all moves of this one
        if seed.level == 0 and not seed.disjoint:
            alone = self.version >= since.MOVE_OF_ONE_L0_FILE and len(seed.files) == 1
            if not alone and not l0.disjoint(tree.l0):
                return False
        base, last = targets.base_level, tree.last_nonempty_level()
        before, after = (level_compression(self.options, level, base, last) for level in (seed.level, seed.output))
        if before is not after or self._changes_path(seed) or self._proximal_level(tree, seed) != NO_LEVEL:
            return False
        if seed.output + 1 >= tree.num_levels:
            return True
        deeper = tree.levels[seed.output + 1]
        return all(
            f.size_bytes + deeper.bytes_of(*deeper.overlapping(f.lo, f.hi)) <= self.options.max_compaction_bytes
            for f in seed.files
        )

    def _proximal_level(self, tree: Tree, seed: Seed) -> int:
        empty = not tree.file_count(max(0, seed.output - 1))
        return proximal_level(self.options, self.version, seed.level, seed.output, empty=empty)

    def _changes_path(self, seed: Seed) -> bool:
        """Return whether the first file is not in the path of the output level; its temperature does not count."""
        if len(self.options.paths) <= 1:
            return False
        path = FIRST_PATH if seed.reason == MANUAL else path_of_level(self.options, self.version, seed.output)
        return seed.files[0].cold != (path > FIRST_PATH)

    def _next_key(self, tree: Tree, seed: Seed) -> int | None:
        """Smallest key of the file after the inputs, or of the first file after the last one (kRoundRobin)."""
        if seed.level == 0 or not self._inputs.round_robin:
            return None
        level = tree.levels[seed.level]
        return level.files[(level.index(seed.files[-1]) + 1) % len(level)].lo

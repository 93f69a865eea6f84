"""RocksDB's FIFO compaction picker: compaction_picker_fifo.cc (behaviour/universal-and-fifo.md, Order of FIFO checks)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models import since
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import NOTHING, Compaction, Drop, Pick, Picker, RunningJob, Scope, in_scope
from lsmlab.models.policies.rocksdb.places import CHANGE_TEMPERATURE
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

_UNLIMITED_BYTES: Final = 2**63 - 1
_COOLING_SCORE: Final = 1.1
"""Score of a tree in which a change of temperature is due (kScoreForNeedCompaction)."""
_MERGE_FACTOR: Final = 1.1
"""Upper bound on the bytes of an intra-L0 compaction per file that it removes, in memtables (`since.FIFO_MERGES_BELOW_1_1`)."""


@dataclass(frozen=True)
class FifoPicker(Picker):
    """Implements `decisions.Picker`. Raises InputError for age_for_warm and blobs, which are not modelled."""

    options: RocksDbOptions
    version: Version

    def __post_init__(self) -> None:
        style = self.options.compaction_options_fifo
        for name, value in (
            ("age_for_warm", style.age_for_warm), ("max_data_files_size", style.max_data_files_size),
            ("use_kv_ratio_compaction", style.use_kv_ratio_compaction),
        ):  # fmt: skip
            if value:
                raise InputError(f"compaction_options_fifo.{name} is not modelled; leave it at its default")

    @property
    def _most_bytes(self) -> int:
        return self.options.compaction_options_fifo.max_table_files_size

    @property
    def _compacts(self) -> bool:
        return self.options.compaction_options_fifo.allow_compaction

    # ---- queries at every install ----

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:  # noqa: ARG002
        """Return whether the score is >= 1 (NeedsCompaction); RocksDB tests this at installs only, so a ttl acts late."""
        return not self.options.disable_auto_compactions and self._score(tree, now_s) >= 1

    def scores(self, tree: Tree) -> Sequence[float]:
        """Score of level 0 without the part of expired files; 0 for others (behaviour/universal-and-fifo.md, FIFO score)."""
        return [self._score(tree, -math.inf)] + [0.0] * (tree.num_levels - 2)

    def _score(self, tree: Tree, now_s: float) -> float:
        """Compute the score, ComputeCompactionScore for FIFO (behaviour/universal-and-fifo.md, FIFO score)."""
        free = [f for f in tree.l0 if not f.busy]
        total = sum(f.compensated_bytes for f in free)
        limit = self._most_bytes
        score = total / limit if limit else (math.inf if total else 0.0)
        every_part = self.version < since.FIFO_LATER_SCORES_BELOW_ONE
        if self._compacts and (every_part or score < 1):
            score = max(score, len(free) / self.options.level0_file_num_compaction_trigger)
        if self.options.ttl and (every_part or score < 1):
            score = max(score, float(sum(self._expired(f, now_s) for f in free)))
        return _COOLING_SCORE if score < 1 and self._to_cool(tree, now_s) else score

    # ---- temperatures ----

    def _to_cool(self, tree: Tree, now_s: float) -> list[SortedFile]:
        """Return the files that the next change of temperature rewrites, newest first (PickTemperatureChangeCompaction).

        See (behaviour/universal-and-fifo.md, FIFO temperatures).
        """
        age_s, taken, total = self.options.compaction_options_fifo.cold_from_s, list[SortedFile](), 0
        if age_s is None or tree.num_levels > 1 or not math.isfinite(now_s):
            return []
        for place in range(len(tree.l0) - 1, -1, -1):
            file = tree.l0[place]
            if file.busy:
                return []
            if file.cold:  # its data were old enough before they were rewritten
                if taken:
                    break
                continue
            until_s = self._data_until_s(tree, place)
            if until_s is None or int(until_s) > int(now_s) - age_s:
                break
            if taken and total + file.size_bytes > self.options.max_compaction_bytes:
                break
            taken.insert(0, file)
            total += file.size_bytes
            if self.version >= since.FIFO_COOLS_ONE_FILE:
                break
        return taken

    def _data_until_s(self, tree: Tree, place: int) -> float | None:
        """Return the time in s of the newest data of an L0 file, by RocksDB's count; None: it does not know."""
        if self.version >= since.FIFO_COOLS_BY_NEWEST_KEY:
            return tree.l0[place].created_s
        return tree.l0[place - 1].data_from_s if place > 0 else None

    def _expired(self, file: SortedFile, now_s: float) -> bool:
        """Return whether a file is older than the ttl; RocksDB compares whole seconds."""
        return math.isfinite(now_s) and int(file.data_from_s) < int(now_s) - self.options.ttl

    # ---- picking ----

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:
        """Choose the next job, PickCompaction: expired files, files over the size limit, intra-L0 compaction.

        See (behaviour/universal-and-fifo.md, Order of FIFO checks).
        """
        return in_scope(self._next(tree, running, now_s), scope)

    def _next(self, tree: Tree, running: Sequence[RunningJob], now_s: float) -> Pick:
        alone = not any(job.start_level == 0 for job in running)
        dropped = self._by_age(tree, now_s) if self.options.ttl and alone else []
        if dropped:
            return self._drop(tree, 0, dropped, "FIFOTtl", now_s)
        level = tree.last_nonempty_level() if self.version >= since.FIFO_LEVELS else 0
        excess = tree.total_bytes() - self._most_bytes
        if level == 0 and excess <= 0:
            pick = self._compact(tree, now_s)
            return pick if pick is not NOTHING or not alone else self._cool(tree, now_s)
        if not alone:
            return NOTHING
        dropped = self._by_size(tree, level, excess)
        return self._drop(tree, level, dropped, "FIFOMaxSize", now_s) if dropped else NOTHING

    def _by_age(self, tree: Tree, now_s: float) -> list[SortedFile]:
        """Expired files from the oldest on; none if the rest is still over the size limit (PickTTLCompaction)."""
        taken: list[SortedFile] = []
        for file in reversed(tree.l0):
            if not self._expired(file, now_s):
                break
            taken.append(file)
        remaining = tree.size_bytes(0) - sum(f.size_bytes for f in taken)
        return taken if remaining <= self._most_bytes else []

    def _by_size(self, tree: Tree, level: int, excess: int) -> list[SortedFile]:
        """Oldest files of L0, or first files of a level to drain (behaviour/universal-and-fifo.md, FIFO with several levels)."""
        if level and excess <= 0 and self.version >= since.FIFO_DRAINS_ONLY_EXCESS:
            return []
        taken: list[SortedFile] = []
        for file in list(reversed(tree.l0)) if level == 0 else tree.levels[level].files:
            if file.busy:
                continue
            taken.append(file)
            excess -= file.size_bytes
            if excess <= 0:
                break
        return taken

    def _compact(self, tree: Tree, now_s: float) -> Pick:
        """Compact the newest files while the bytes per removed file do not rise (FindIntraL0Compaction)."""
        l0 = tree.l0
        if not self._compacts or not l0 or l0[0].busy:
            return NOTHING
        total, compensated, per_file, end = l0[0].size_bytes, l0[0].compensated_bytes, _UNLIMITED_BYTES, 1
        tested = per_file
        limit = self.options.max_compaction_bytes if self.version >= since.INTRA_L0_LIMIT else _UNLIMITED_BYTES
        while end < len(l0):
            total += l0[end].size_bytes
            compensated += l0[end].compensated_bytes
            tested = total // end
            if l0[end].busy or tested > per_file or compensated > limit:
                break
            per_file = tested
            end += 1
        most = int(_MERGE_FACTOR * self.options.write_buffer_size)
        if self.version < since.FIFO_MERGES_BELOW_1_1:  # the first file that is left out counts too
            per_file, most = tested, self.options.write_buffer_size
        if end < self.options.level0_file_num_compaction_trigger or per_file >= most:
            return NOTHING
        score = self._score(tree, now_s)
        return Compaction(0, 0, ((0, tuple(l0[:end])),), "FIFOReduceNumFiles", score, max_output_bytes=_UNLIMITED_BYTES)

    def _cool(self, tree: Tree, now_s: float) -> Pick:
        files = self._to_cool(tree, now_s)
        if not files:
            return NOTHING
        score = self._score(tree, now_s)
        return Compaction(0, 0, ((0, tuple(files)),), CHANGE_TEMPERATURE, score, max_output_bytes=_UNLIMITED_BYTES)

    def _drop(self, tree: Tree, level: int, files: Sequence[SortedFile], reason: str, now_s: float) -> Drop:
        return Drop(((level, tuple(files)),), reason, self._score(tree, now_s))

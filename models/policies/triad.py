"""TRIAD's techniques against write amplification: hot keys in memory, deferred L0 compactions, the WAL as L0.

Balmau et al., TRIAD: Creating Synergies Between Memory, Disk and Log in Log Structured Key-Value Stores, USENIX ATC
2017; the rules in short (background/triad.md, What it changes). Each technique has a switch. TRIAD's released code, and
the copy in SILK's, have the first one commented out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from lsmlab.models import since
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import NOTHING, Compaction, Move, Pick, Picker, RunningJob, Scope
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.rocksdb.inputs import Seed
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Triad(PolicySettings[Picker]):
    """`engine/picker=triad`: RocksDB's levelled picker with TRIAD's techniques."""

    levels_only: ClassVar[str] = (
        "triad defers compactions from L0 to L1, which {style} does not have; set engine.options.compaction_style to level"
    )
    deferred_l0: bool = True
    """Whether L0 compacts only with many duplicates or many files."""
    least_overlap: float = quantity("ratio", 0.4, high=1.0)
    """Overlap ratio from which L0 compacts with any number of files."""
    most_files: int = quantity("count", 6)
    """Maximum number of L0 files that wait for this overlap ratio."""
    hot_keys: bool = True
    """Whether frequently updated keys stay in memory at the flush of their memtable."""
    most_hot: float = quantity("ratio", 0.5, high=1.0)
    """Maximum of keys that stay, as a share of `most_hot_of`."""
    most_hot_of: str = "entries"
    """"entries": writes in the memtable; "keys": its distinct keys."""
    least_cold: float = quantity("count", 100)
    """Minimum number of entries to flush; with fewer, all keys stay in memory."""
    wal_as_l0: bool = True
    """Whether L0 files contain offsets into the WAL, from which compactions of L0 read the values."""

    def __post_init__(self) -> None:
        if self.most_hot_of not in ("entries", "keys"):
            raise InputError(f"picker.most_hot_of: {self.most_hot_of!r} is not one of entries, keys")

    def make(self, base: Base) -> TriadPicker:
        """Build RocksDB's levelled picker with the enabled techniques."""
        return TriadPicker(base.options, base.version, self)

    def refuses(self, parts: Parts, base: Base) -> str | None:
        """Refuse styles without levels, and limits at which writers and L0 would wait for each other for ever.

        With `wal_as_l0` also refuse a disabled WAL and intra-L0 compactions by size.
        """
        if self.wal_as_l0 and base.options.disable_wal:
            return (
                "wal_as_l0 keeps values in the WAL, but engine.options.disable_wal is true; set "
                "engine.picker.wal_as_l0 to false"
            )
        if self.wal_as_l0 and base.version >= since.INTRA_L0_BY_SIZE:
            return (
                f"wal_as_l0 needs engine.version below {since.INTRA_L0_BY_SIZE}, because later pickers compact small L0 files "
                "within L0; set engine.picker.wal_as_l0 to false"
            )
        return super().refuses(parts, base) or (self._deadlock(base.options) if self.deferred_l0 else None)

    def _deadlock(self, options: RocksDbOptions) -> str | None:
        """Return the limit that stops writers while L0 waits for `most_files` + 1 files, which only writers can add."""
        if options.disable_auto_compactions:
            return None
        if options.level0_stop_writes_trigger <= self.most_files:
            return (
                f"engine.options.level0_stop_writes_trigger={options.level0_stop_writes_trigger} stops writers while L0 "
                f"waits for more than {self.most_files} files, so neither would ever go on; set it above "
                f"{self.most_files}, or engine.picker.deferred_l0 to false"
            )
        waiting_bytes = self.most_files * options.write_buffer_size + options.max_bytes_for_level_base
        if 0 < options.hard_pending_compaction_bytes_limit <= waiting_bytes:
            return (
                f"engine.options.hard_pending_compaction_bytes_limit={options.hard_pending_compaction_bytes_limit} stops "
                f"writers while L0 waits for more than {self.most_files} files, so neither would ever go on; set it above "
                f"{waiting_bytes} (these files and L1), or engine.picker.deferred_l0 to false"
            )
        return None


@dataclass
class TriadPicker(LeveledPicker):
    """Implements `decisions.Picker`."""

    triad: Triad

    @property
    def values_in_wal(self) -> bool:
        """Return whether L0 files contain offsets instead of values."""
        return self.triad.wal_as_l0

    @property
    def keeps_hot_keys(self) -> bool:
        """Return whether hot keys stay in memory."""
        return self.triad.hot_keys

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:
        """Return RocksDB's pick; NOTHING if the pick is from L0 and L0 must wait (the code abandons the whole pick)."""
        pick = super().pick(tree, running, now_s, scope)
        leaves_l0 = isinstance(pick, Compaction | Move) and pick.start_level == 0 and pick.output_level > 0
        return NOTHING if leaves_l0 and self._waits(tree.l0) else pick

    def _waits(self, l0: Sequence[SortedFile]) -> bool:
        rules = self.triad
        return rules.deferred_l0 and len(l0) <= rules.most_files and overlap_ratio(l0) < rules.least_overlap

    def _intra_l0(self, tree: Tree, score: float) -> Seed | None:
        """Return None if files contain offsets: the job would copy the offsets, and the WAL files could not be deleted."""
        return None if self.values_in_wal else super()._intra_l0(tree, score)

    def hot(self, updates: Floats, keys: Floats, entries: float) -> Marks:
        """Mask of the keys with at least the mean number of updates, most updated first, up to the cap.

        No key is hot if all have the same number of updates.
        """
        rules = self.triad
        mean = float((updates * keys).sum() / keys.sum())
        hot: Marks = (updates >= mean) & (updates > updates.min())
        most = rules.most_hot * (entries if rules.most_hot_of == "entries" else float(keys.sum()))
        order = np.argsort(-updates, kind="stable")
        room = np.cumsum(np.where(hot, keys, 0.0)[order]) <= most
        hot[order] &= room
        if float(keys[~hot].sum()) < rules.least_cold:
            hot[:] = True
        return hot


def overlap_ratio(files: Sequence[SortedFile]) -> float:
    """Compute 1 - distinct keys / sum of the files' keys: the share of entries that their compaction would drop.

    The code estimates the ratio with a sketch per file (HyperLogLog); this function counts. 0 for files without keys.
    """
    total = sum(f.entries for f in files)
    keys = [f.keys for f in files if len(f.keys)]
    if total <= 0.0 or not keys:
        return 0.0
    together = np.unique(np.concatenate(keys))
    single = int(np.count_nonzero(together & 1))  # hot keys, with a code of their own (models/tree/keys.py)
    cold = sum(int(np.count_nonzero(~k & 1)) for k in keys)
    weight = (total - sum(int(np.count_nonzero(k & 1)) for k in keys)) / cold if cold else 0.0
    return max(0.0, 1.0 - (single + (len(together) - single) * weight) / total)

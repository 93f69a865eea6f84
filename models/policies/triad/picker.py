"""TRIAD's three ways to write less: hot keys stay in memory, L0 waits for duplicates, the log serves as L0.

Balmau et al., TRIAD: Creating Synergies Between Memory, Disk and Log in Log Structured Key-Value Stores, USENIX ATC
2017; the rules in short (background/triad.md, What it changes). Each is a switch. The first is commented out in TRIAD's
released tree and in the copy inside SILK's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.options.options import CompactionStyle
from lsmlab.models.policies.decisions import NOTHING, Compaction, Move, Pick, RunningJob, Scope
from lsmlab.models.policies.parts import Base, Parts
from lsmlab.models.policies.rocksdb.inputs import Seed
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.parts import leveled_picker
from lsmlab.models.sums import float_sum
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Triad:
    """`engine/picker=triad`: RocksDB's levelled picker with TRIAD's techniques."""

    deferred_l0: bool = True
    """L0 is compacted only when it holds many duplicates or many files."""
    least_overlap: float = quantity("ratio", 0.4, high=1.0)
    """Overlap ratio from which L0 is compacted, however few its files are."""
    most_files: int = quantity("count", 6)
    """L0 files up to which it waits for that."""
    hot_keys: bool = True
    """Keys that were updated often stay in memory when their memtable is flushed."""
    most_hot: float = quantity("ratio", 0.5, high=1.0)
    """Most keys that stay, as a share of `most_hot_of`."""
    most_hot_of: str = "entries"
    """"entries": writes that the memtable took; "keys": the distinct keys in it."""
    least_cold: float = quantity("count", 100)
    """If fewer entries would be flushed, nothing is."""
    wal_as_l0: bool = True
    """Files of L0 hold offsets into the log; values are read from there when L0 is compacted."""

    def __post_init__(self) -> None:
        if self.most_hot_of not in ("entries", "keys"):
            raise InputError(f"picker.most_hot_of: {self.most_hot_of!r} is not one of entries, keys")

    def make(self, base: Base) -> TriadPicker:
        """RocksDB's levelled picker with the techniques that are on."""
        inner = leveled_picker(base)
        common = {f.name: getattr(inner, f.name) for f in fields(LeveledPicker) if f.init}
        return TriadPicker(**common, triad=self)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Offsets need a log that they point into, and are not rewritten within L0."""
        if base.options.compaction_style is not CompactionStyle.LEVEL:
            return f"triad defers compactions from L0 to L1, which {base.options.compaction_style.value} has not"
        if self.wal_as_l0 and base.options.disable_wal:
            return (
                "wal_as_l0 keeps values in the log, and engine.options.disable_wal is true; set "
                "engine.picker.wal_as_l0 to false"
            )
        if self.wal_as_l0 and base.version >= (9, 0):
            return "wal_as_l0 goes with releases before 9.0, whose pickers do not merge L0 files by their size"
        return None


@dataclass
class TriadPicker(LeveledPicker):
    """Implements `decisions.Picker`, `decisions.KeepsHotKeys` and `decisions.UsesWal`."""

    triad: Triad = Triad()

    @property
    def values_in_wal(self) -> bool:
        """Whether files of L0 hold offsets instead of values."""
        return self.triad.wal_as_l0

    @property
    def keeps_hot_keys(self) -> bool:
        """Whether keys may stay in memory."""
        return self.triad.hot_keys

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:
        """RocksDB's pick; nothing at all if that is L0 and L0 is to wait (the code gives up the whole pick)."""
        pick = super().pick(tree, running, now_s, scope)
        leaves_l0 = isinstance(pick, Compaction | Move) and pick.start_level == 0 and pick.output_level > 0
        return NOTHING if leaves_l0 and self._waits(tree.l0) else pick

    def _waits(self, l0: Sequence[SortedFile]) -> bool:
        rules = self.triad
        return rules.deferred_l0 and len(l0) <= rules.most_files and overlap_ratio(l0) < rules.least_overlap

    def _intra_l0(self, tree: Tree, score: float) -> Seed | None:
        """None where files hold offsets: they would be copied, and the logs stay."""
        return None if self.values_in_wal else super()._intra_l0(tree, score)

    def hot(self, updates: Floats, keys: Floats, entries: float) -> Marks:
        """Keys updated at least as often as the average one, the most updated first, up to the cap.

        Where all were updated equally often, no key is hot.
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
    """1 - distinct keys / keys of all files together: the share that a merge of them would drop.

    The code estimates it with a sketch per file (HyperLogLog); here it is counted. 0 for files without known keys.
    """
    total = float_sum(f.entries for f in files)
    keys = [f.keys for f in files if len(f.keys)]
    if total <= 0.0 or not keys:
        return 0.0
    together = np.unique(np.concatenate(keys))
    single = int(np.count_nonzero(together & 1))  # carried one by one (models/tree/keys.py)
    cold = sum(int(np.count_nonzero(~k & 1)) for k in keys)
    weight = (total - sum(int(np.count_nonzero(k & 1)) for k in keys)) / cold if cold else 0.0
    return max(0.0, 1.0 - (single + (len(together) - single) * weight) / total)

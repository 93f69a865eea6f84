"""vLSM's cutter: variable-size SSTs (vSSTs) in L1, fixed-size files below (behaviour/vlsm.md, vLSM output cutting)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final

import numpy as np
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import CutContext, Cutter
from lsmlab.models.policies.parts import Base, PolicySettings
from lsmlab.models.policies.rocksdb.cutter import RocksDbCutter
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.tree.tree import Tree

VSST_LEVEL: Final = 1
"""Level whose files are vSSTs."""


class Overlap(Enum):
    """Measures of a vSST's overlap O with L2; the paper uses both (behaviour/vlsm.md, Overlap of a vSST)."""

    COUNT = "count"
    """Number of L2 files that its key range overlaps."""
    RATIO = "ratio"
    """Bytes of those files / bytes of the vSST."""


@dataclass(frozen=True)
class FixedCutting(PolicySettings[Cutter]):
    """`engine/cutter=fixed`: files of the target size."""

    def make(self, base: Base) -> RocksDbCutter:
        """Build RocksDB's cutter of the releases before it aligned files with the level below."""
        return RocksDbCutter(base.options, base.version, aligned=False)


@dataclass(frozen=True)
class VsstCutting(PolicySettings[Cutter]):
    """`engine/cutter=vsst`: outputs to L1 as vSSTs, all others at the target size."""

    levels_only: ClassVar[str] = "vSSTs need levels, not {style}; choose engine/cutter=rocksdb"
    overlap: Overlap = Overlap.COUNT

    def make(self, base: Base) -> VsstCutter:
        """Build the cutter with f = max_bytes_for_level_multiplier."""
        return VsstCutter(base.options, self.overlap, FixedCutting().make(base))


@dataclass(frozen=True, slots=True)
class VsstCutter(Cutter):
    """Implements `decisions.Cutter`."""

    options: RocksDbOptions
    overlap: Overlap
    fixed: RocksDbCutter
    """Cutter of the other levels."""

    def guide_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:
        """Return L2 for outputs to L1; the level of `fixed` for others."""
        if output_level == VSST_LEVEL:
            return VSST_LEVEL + 1 if tree.num_levels > VSST_LEVEL + 1 else None
        return self.fixed.guide_level(tree, output_level, lo, hi)

    def inspects_keys(self, output_level: int) -> bool:
        """Return whether the cutter compares each key with the files below, which takes CPU time."""
        return output_level == VSST_LEVEL

    def cuts(self, merged: MergedStream, context: CutContext) -> Sequence[int]:
        """Positions at which a new file starts."""
        if context.output_level == VSST_LEVEL:
            return build_vssts(merged, context, self.options.max_bytes_for_level_multiplier, self.overlap)
        return self.fixed.cuts(merged, context)


def build_vssts(merged: MergedStream, context: CutContext, growth: float, overlap: Overlap) -> list[int]:
    """Cut the stream as the paper's BUILD does key by key (R4), with a search for the last key of each vSST.

    A vSST closes before key i if key i would take its size over S_M, or if it has at least S_m and key i would take its
    overlap over f. The overlap is that of the range from the vSST's first key to key i, so it grows only where a key
    enters another file of L2. `context.grandparent_*` are the files of L2, `context.target_bytes` is S_M. `growth` is f: the
    maximum of L2 files (count), or of their bytes per byte (ratio), that a good vSST overlaps; S_m = S_M / f.
    """
    keys, size = merged.keys, merged.cumulative_bytes
    n = len(keys)
    most, least = float(context.target_bytes), context.target_bytes / growth
    first = context.grandparent_hi.searchsorted(keys, side="left")  # files of L2 that end before the key
    past = context.grandparent_lo.searchsorted(keys, side="right")  # files of L2 that begin at or before it
    below = np.concatenate((np.zeros(1), np.cumsum(context.grandparent_size, dtype=np.float64)))
    weight = below[past] - growth * size[1:]
    cuts: list[int] = []
    begin = 0
    while True:
        full = int(size.searchsorted(size[begin] + most, side="right")) - 1
        ripe = max(int(size.searchsorted(size[begin] + least, side="left")), begin + 1)
        end = max(min(full, n), begin + 1)
        if overlap is Overlap.COUNT:
            end = min(end, max(int(past.searchsorted(first[begin] + int(growth), side="right")), ripe))
        elif ripe < end:
            heavy = weight[ripe:end] > below[first[begin]] - growth * size[begin]
            end = ripe + int(heavy.argmax()) if heavy.any() else end
        if end >= n:
            return cuts
        cuts.append(end)
        begin = end

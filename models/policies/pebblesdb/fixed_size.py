"""Cutter at the target size alone, without regard to the level below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsmlab.models.policies.decisions import CutContext, Cutter
from lsmlab.models.policies.parts import Base, PolicySettings
from lsmlab.models.tree.merge import MergedStream


@dataclass(frozen=True)
class FixedSize(PolicySettings[Cutter]):
    """`engine/cutter=fixed_size`."""

    def make(self, base: Base) -> FixedSizeCutter:  # noqa: ARG002
        """Build the cutter; the target size comes with each job."""
        return FixedSizeCutter()


@dataclass(frozen=True)
class FixedSizeCutter(Cutter):
    """Implements `decisions.Cutter`."""

    def cuts(self, merged: MergedStream, context: CutContext) -> Sequence[int]:
        """Close a file with the entry that brings it to the target size."""
        data, n = merged.cumulative_bytes, len(merged.keys)
        cuts: list[int] = []
        start = 0
        while context.output_level > 0:
            start = max(start + 1, int(data.searchsorted(data[start] + context.target_bytes, side="left")))
            if start >= n:
                break
            cuts.append(start)
        return cuts

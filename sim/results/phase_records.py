"""Phases of a workload, and actions beside clients, that have ended: their times, clients, and the trees at their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsmlab.sim.clients.group import ClientGroup

if TYPE_CHECKING:
    from lsmlab.models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class TreeState:
    """Size of one tree, or of several."""

    level_bytes: list[int]
    level_files: list[int]
    blob_bytes: int

    @classmethod
    def of(cls, tree: Tree) -> TreeState:
        """Return the present size of a tree."""
        return cls(tree.level_bytes(), tree.files_per_level(), tree.blobs.size_bytes)

    @classmethod
    def sum(cls, states: Sequence[TreeState]) -> TreeState:
        """Return the size of all trees together."""
        levels = range(max(len(state.level_bytes) for state in states))
        return cls(
            [sum(state.level_bytes[i] for state in states if i < len(state.level_bytes)) for i in levels],
            [sum(state.level_files[i] for state in states if i < len(state.level_files)) for i in levels],
            sum(state.blob_bytes for state in states),
        )


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """Phase, or action beside clients, that has ended."""

    name: str
    start_s: float
    end_s: float
    groups: list[ClientGroup]
    """Its client groups; none for an action on the store."""
    tree: TreeState
    """Trees of all databases at its end."""
    unfinished: bool = False
    """Whether the action had not ended at the end of the run."""

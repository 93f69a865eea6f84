"""What some pickers decide besides compactions."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from lsmlab.models.tree.tree import Tree


@runtime_checkable
class PlacesFlushes(Protocol):
    """A picker that may put a flushed file deeper than L0."""

    def flush_level(self, tree: Tree, lo: int, hi: int) -> int:
        """Level that a flushed file with keys in [lo, hi] goes to."""


@runtime_checkable
class CountsSeeks(Protocol):
    """A picker that compacts files which lookups search in vain: `Tree.exhausted` lists those over their allowance."""

    def allowed_seeks(self, size_bytes: int) -> float:
        """Lookups that may go past a file of that size; infinity if they are not to be counted."""

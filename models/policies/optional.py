"""What a picker or a throttle may answer beside its protocol in `decisions`, where its store differs from RocksDB's."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.tree import Tree


@runtime_checkable
class KeepsMetadata(Protocol):
    """Its store holds more about its levels in memory than a list of files."""

    def metadata_bytes(self, tree: Tree) -> int:
        """Bytes of memory that it takes, such as the guards of PebblesDB."""


@runtime_checkable
class SettlesElsewhere(Protocol):
    """Its store, filled and at rest, is not RocksDB's pyramid of targets."""

    def settled_level(self, tree: Tree, size_bytes: float) -> int:
        """The level that holds nearly everything once a store of that size has come to rest."""


@runtime_checkable
class DividesLevels(Protocol):
    """Its files may not reach over certain keys."""

    def borders(self, keys: KeyArray, weight: float, level: int) -> KeyArray:
        """Those of `keys`, carried for `weight` each, at which a file of the level must begin, ascending."""


@runtime_checkable
class PlacesFlushes(Protocol):
    """It may put a flushed file deeper than L0."""

    def flush_level(self, tree: Tree, lo: int, hi: int) -> int:
        """Level that a flushed file with keys in [lo, hi] goes to."""


@runtime_checkable
class CountsSeeks(Protocol):
    """It compacts files that lookups search in vain: `Tree.exhausted` lists those over their allowance."""

    def allowed_seeks(self, size_bytes: int) -> float:
        """Lookups that may go past a file of that size; infinity if they are not to be counted."""


@runtime_checkable
class FlushesSingly(Protocol):
    """A throttle under which each memtable becomes a file of its own; RocksDB flushes all that wait into one."""

    flushes_one_memtable: bool

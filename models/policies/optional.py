"""Optional protocols of pickers and throttles, beside those in `decisions`, for stores that differ from RocksDB."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.tree import Tree


@runtime_checkable
class KeepsMetadata(Protocol):
    """Picker of a store with more metadata per level in memory than a list of files."""

    def metadata_bytes(self, tree: Tree) -> int:
        """Memory of the metadata in bytes, for example of PebblesDB's guards."""


@runtime_checkable
class SettlesElsewhere(Protocol):
    """Picker of a store that, filled and without pending compactions, does not follow RocksDB's level targets."""

    def settled_level(self, tree: Tree, size_bytes: float) -> int:
        """Level with nearly all bytes of a store of `size_bytes` without pending compactions."""


@runtime_checkable
class DividesLevels(Protocol):
    """Picker whose files must not span certain keys."""

    def borders(self, keys: KeyArray, weight: float, level: int) -> KeyArray:
        """Select from `keys`, of `weight` real keys each, those at which a file of the level must begin, ascending."""


@runtime_checkable
class PlacesFlushes(Protocol):
    """Picker that may place a flushed file deeper than L0."""

    def flush_level(self, tree: Tree, lo: int, hi: int) -> int:
        """Level to which a flush writes a file with keys in [lo, hi]."""


@runtime_checkable
class CountsSeeks(Protocol):
    """Picker that compacts files in which many lookups miss: `Tree.exhausted` lists files over their allowed seeks."""

    def allowed_seeks(self, size_bytes: int) -> float:
        """Misses that a file of that size may have before its compaction; infinity if the store need not count them."""


@runtime_checkable
class FlushesSingly(Protocol):
    """Throttle under which each memtable becomes a file of its own; RocksDB flushes all immutable memtables into one."""

    flushes_one_memtable: bool

"""What a picker may answer beside `decisions.Picker`, where its store differs from RocksDB's."""

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

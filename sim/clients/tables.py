"""Tables of a column family by table format: bytes, entries per block, and means over blocks of several formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from lsmlab.models.tree.content import EntryBytes
from lsmlab.models.tree.sst import expected_block
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.store.column_family import ColumnFamily

if TYPE_CHECKING:
    from lsmlab.sim.setup import FamilySetup


class Tables(NamedTuple):
    """Tables of one format."""

    entry: EntryBytes
    entries_per_block: float


def tables_of(own: FamilySetup, table_format: TableFormat, population: float) -> Tables:
    """Return the sizes of tables of one format with the entries of a column family."""
    block = expected_block(
        round(own.workload.key_size), own.table_value_bytes, population=population, entries=population,
        block_format=table_format.block_format,
    )  # fmt: skip
    return Tables(own.entry_in(table_format), block.entries)


def weighted_mean(weighed: Iterable[tuple[float, float]]) -> float:
    """Return the mean of (weight, value) pairs; the first value if all are equal or no pair has a weight."""
    (weight, first), *others = weighed
    if not others:
        return first
    total = weight + sum(weight for weight, _ in others)
    return first + sum(weight * (value - first) for weight, value in others) / total if total else first


def table_count(tree: Tree) -> int:
    """Files on the device, frozen ones included."""
    return sum(tree.files_per_level()) + len(tree.frozen)


def bytes_in(table_format: TableFormat, family: ColumnFamily) -> int:
    """Bytes of all files of one table format."""
    if family.table_formats == (table_format,):
        return all_bytes(family.tree)
    return sum(file.size_bytes for file in family.tree.files() if file.table_format == table_format)


def all_bytes(tree: Tree) -> int:
    """Bytes of all files on the device, frozen ones included."""
    return tree.total_bytes() + sum(f.size_bytes for f in tree.frozen.values())

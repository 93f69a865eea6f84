"""SST files, and slices of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.tree.table_format import DEFAULT_TABLE_FORMAT, TableFormat
from numpy.typing import NDArray

KeyArray = NDArray[np.int64]
"""Key codes in ascending order. A code is a key's place in the key order: codes compare as keys do."""

BlobNumbers = NDArray[np.int64]
"""Number of the blob file that holds the value of each of some keys; `IN_TABLE`: the value is in the SST file."""
IN_TABLE: Final = 0

NO_KEYS: Final[KeyArray] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Range tombstone: all older entries of its keys are deleted (DeleteRange)."""

    lo: int
    hi: int
    """Smallest and largest key code, inclusive."""


class Versions(NamedTuple):
    """Versions of keys, the newest of equal keys first."""

    keys: KeyArray
    """Ascending. Shape (n,), as that of the others."""
    times: NDArray[np.float64]
    """Time in s by which each was written: the switch of its memtable, or the first snapshot after it."""
    deleted: NDArray[np.bool_]
    """Whether it is a tombstone."""

    def chosen(self, which: NDArray[np.bool_] | slice) -> Versions:
        """Return some of the versions."""
        return Versions(self.keys[which], self.times[which], self.deleted[which])


@dataclass(slots=True, eq=False)
class SortedFile:
    """SST file: an immutable sorted run of distinct keys, with a mutable mark for the job that has it as an input.

    `keys` are the keys that the simulation carries: all of them in an exact run, a sample in a sampled one (see
    `lsmlab.models.tree.keys`), none where only the bounds are given (a tree read from a MANIFEST). `entries` is the
    entry count of the real store's file and need not equal `len(keys)`.
    """

    number: int
    """File number, from the shard's counter; newer files have higher numbers."""
    lo: int
    """Smallest key code."""
    hi: int
    """Largest key code (inclusive)."""
    size_bytes: int
    """Size on the device: data blocks, index, filter and footer."""
    entries: float = 0.0
    """Entries (puts and tombstones) that the file holds."""
    keys: KeyArray = field(default_factory=lambda: NO_KEYS)
    tombstones: NDArray[np.bool_] | None = None
    """Mask of the deletes among `keys`; None without deletes."""
    deletions: float = 0.0
    """Entries that are tombstones."""
    compensated_bytes: int = -1
    """Compensated file size; equals `size_bytes` without tombstones (behaviour/leveled-compaction.md, Compensated size)."""
    smallest_seqno: int = 0
    largest_seqno: int = 0
    created_s: float = 0.0
    """Simulated time at which the file was written."""
    data_from_s: float = math.inf
    """Time from which its data is, by RocksDB's count (oldest_ancester_time, creation_time); at most `created_s`."""
    busy: bool = False
    """True while a job has the file as an input."""
    wal_bytes: float = 0.0
    """Bytes of the WAL that the store keeps for an L0 file with offsets instead of values; 0 for any other file."""
    slices: tuple[Slice, ...] = ()
    """Parts of frozen files that the next compaction merges into this file, oldest first; newer than the file's own
    keys."""
    seeks: float = 0.0
    """Lookups that missed in the file since it came to its level; counted only if the picker has `allowed_seeks`."""
    live_slices: int = 0
    """Slices of a frozen file that no compaction has merged yet."""
    table_format: TableFormat = DEFAULT_TABLE_FORMAT
    """Table options with which the file was written."""
    blobs: BlobNumbers | None = None
    """Blob file of the value of each of `keys`; None if all values are in this file."""
    oldest_blob: int = 0
    """Lowest number among `blobs` that is not 0: the blob file to which this file is linked; 0 without one."""

    ranges: tuple[KeyRange, ...] = ()
    """Range tombstones of the file, ascending and disjoint; older than its own entries."""
    marked: bool = False
    """Whether a table property collector has marked the file for compaction."""
    cold: bool = False
    """Whether the file is on `cold_device`, by its path or temperature."""
    times: NDArray[np.float64] | None = None
    """Time in s at which each of `keys` was flushed, in a store with a compaction filter or with snapshots; None: all of them at
    `created_s`."""
    older: Versions | None = None
    """Versions of `keys` beside the newest ones, which open snapshots see."""
    newest_s: float = -math.inf
    """Time of its newest entry with a sequence number, in a store with snapshots; minus infinity: it has none."""

    @property
    def compaction_bytes(self) -> int:
        """Bytes that a compaction of the file reads: the file and its slices."""
        return self.size_bytes + sum(s.size_bytes for s in self.slices) if self.slices else self.size_bytes

    @property
    def compaction_entries(self) -> float:
        """Entries that a compaction of the file reads: the file's and its slices'."""
        return self.entries + sum(s.entries for s in self.slices) if self.slices else self.entries

    def set_blobs(self, numbers: BlobNumbers) -> None:
        """Note the blob file of the value of each of `keys`."""
        apart = numbers[numbers != IN_TABLE]
        if len(apart):
            self.blobs, self.oldest_blob = numbers, int(apart.min())

    def __post_init__(self) -> None:
        if self.compensated_bytes < 0:
            self.compensated_bytes = self.size_bytes
        if self.data_from_s > self.created_s:
            self.data_from_s = self.created_s
        if self.hi < self.lo:
            raise ValueError(f"file {self.number}: largest key {self.hi} is below smallest key {self.lo}")

    def __repr__(self) -> str:
        mark = "*" if self.busy else ""
        return f"#{self.number}{mark}[{self.lo}..{self.hi}]{self.size_bytes}B"


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """Part of a frozen file, linked to the file of the next level that is responsible for its keys (LDC's SliceLink)."""

    source: SortedFile
    """The frozen file."""
    lo: int
    hi: int
    """Smallest and largest carried key, inclusive."""
    keys: KeyArray
    tombstones: NDArray[np.bool_] | None
    entries: float
    size_bytes: int
    """The slice's share of the source's bytes."""


def slice_of(source: SortedFile, start: int, end: int) -> Slice:
    """Return the slice of a file with its carried keys [start, end)."""
    share = (end - start) / len(source.keys)
    return Slice(
        source, int(source.keys[start]), int(source.keys[end - 1]), source.keys[start:end],
        None if source.tombstones is None else source.tombstones[start:end],
        source.entries * share, round(source.size_bytes * share),
    )  # fmt: skip

"""Entries and bytes that the carried keys of a run represent, and files of the right size from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.models.tree.ages import AgeRule, data_from_s, input_ages
from lsmlab.models.tree.deletion_density import DeletionCollector
from lsmlab.models.tree.files import IN_TABLE, NO_KEYS, BlobNumbers, KeyArray, SortedFile, Versions
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import MergedStream, Tombstones
from lsmlab.models.tree.table_format import DEFAULT_TABLE_FORMAT, TableFormat
from lsmlab.models.tree.values_apart import ValuesApart
from numpy.typing import NDArray

_MOST_KEPT: Final = 65_536
"""Keys of the longest stream whose cumulative sizes are kept for later streams; a level of a preloaded tree has more."""

_FLUSH_SEQNOS: Final = 1 << 20
"""Sequence numbers of one flush, as the files of a run count them: only their order matters."""
_SPREAD_BITS: Final = 12
_SCATTER_SMALLEST: Final = 2_654_435_761
_SCATTER_LARGEST: Final = 2_246_822_519
"""Multipliers of two independent hashes of file numbers."""


@dataclass(frozen=True, slots=True)
class EntryBytes:
    """Bytes on the device per entry, averaged over blocks (behaviour/tables.md, Data blocks)."""

    put: float
    """Data-block bytes of a put, compressed if any level is."""
    expansion: float
    """Uncompressed over compressed data-block bytes; 1 without compression."""
    tombstone: Callable[[], float]
    """Data-block bytes of a delete, as `put`. Computed on demand, as `offset`: it takes up to 0.2 s, and few runs need it."""
    tail: float
    """Index and filter bytes per entry."""
    fixed: float
    """Footer, properties and metaindex per file (about 970 B)."""
    raw_put: float
    """Uncompressed key and value bytes of a put, which the CPU of a compaction copies."""
    raw_tombstone: float
    """Uncompressed bytes of a delete: its key."""
    offset: Callable[[], float]
    """Data-block bytes of an entry with an offset into the WAL in place of its value."""
    table_format: TableFormat = DEFAULT_TABLE_FORMAT
    """Table format of files with entries of these sizes."""


@dataclass(frozen=True, slots=True)
class Apart:
    """Entries whose large values live in blob files."""

    values: ValuesApart
    levels: Sequence[EntryBytes]
    """Bytes per entry by level, as `Content.levels`, with the mean value that stays in the SST file."""

    def entry_bytes(self, codes: KeyArray) -> NDArray[np.float64]:
        """Data-block bytes per entry of each code. Shape (len(codes),)."""
        entry = self.levels[-1]
        per_byte = entry.put / max(1.0, entry.raw_put)
        return entry.put + (self.values.table_values(codes) - self.values.table_value_bytes) * per_byte


class Content:
    """Converter from key arrays to files with sizes. One per run: all shards share it."""

    def __init__(
        self, sample: KeySample, levels: Sequence[EntryBytes], values: Any = None, mean_value_bytes: float = 0.0,
        apart: Apart | None = None,
    ) -> None:  # fmt: skip
        """Take the carried keys and the bytes per entry of each level.

        `values.of(codes)` gives value sizes in bytes where they vary with the key; None where all puts have one size. `apart`:
        entries of a store with blob files; None for another store.
        """
        self.apart = apart
        self.collector: DeletionCollector | None = None
        """Collector that marks files with many tombstones."""
        self.age_rule: AgeRule | None = AgeRule.OLDEST_OVERLAPPING
        """Input that gives the age of a compacted file; None: no file of the run gets so old that ages matter."""
        self.sample = sample
        self.levels = levels
        """Bytes per entry of the files that jobs write to a level; levels differ in their filters only."""
        self.entry = levels[-1]
        """Bytes per entry of the last level."""
        self._values = values
        self._mean_value = mean_value_bytes
        self._mean_table_value = mean_value_bytes if apart is None else apart.values.table_value_bytes
        self._uniform = sample.weight if values is None and not len(sample.hot) else None
        self._cumulative = np.empty((2, 0))
        """Entries and data bytes of the first i puts of uniform keys, for all streams of the run but the longest."""

    def entries(self, keys: KeyArray) -> float:
        """Entries that `keys` represent."""
        return self.sample.entries(keys)

    def raw_bytes(self, entries: float, deletions: float) -> float:
        """Uncompressed bytes of keys and values of `entries`, of which `deletions` are tombstones."""
        return (entries - deletions) * self.entry.raw_put + deletions * self.entry.raw_tombstone

    def stream(
        self, keys: KeyArray, tombstones: Tombstones, *, compressed: bool = True, blobs: BlobNumbers | None = None,
        older: Versions | None = None,
    ) -> tuple[MergedStream, NDArray[np.float64]]:  # fmt: skip
        """Return the merged stream with its cumulative data bytes, and the cumulative entries, both of shape (n + 1,).

        `compressed`: false for files of a level without compression in a store that compresses others. `blobs`: blob file of
        the value of each key; None if all values are in the stream. `older`: versions beside the newest of some of the keys.
        """
        if not compressed and self.entry.expansion != 1.0:
            stream, entries = self.stream(keys, tombstones, blobs=blobs, older=older)
            return MergedStream(keys, stream.cumulative_bytes * self.entry.expansion), entries
        n = len(keys)
        if self._uniform is not None and tombstones is None and blobs is None and older is None:
            if n > _MOST_KEPT:
                entries = np.arange(n + 1, dtype=np.float64) * self._uniform
                return MergedStream(keys, entries * self.entry.put), entries
            if n >= self._cumulative.shape[1]:
                entries = np.arange(2 * n + 1, dtype=np.float64) * self._uniform
                self._cumulative = np.stack((entries, entries * self.entry.put))
            entries, data = self._cumulative[:, : n + 1]
            return MergedStream(keys, data), entries
        weights = np.broadcast_to(np.asarray(self.sample.weights(keys), dtype=np.float64), (n,))
        sizes = np.full(n, self.entry.put)
        if self._values is not None:
            # the block overhead of an entry does not depend on its value, so sizes differ by the value alone
            per_byte = self.entry.put / max(1.0, self.entry.raw_put)
            sizes += (np.asarray(self._values.of(keys), dtype=np.float64) - self._mean_value) * per_byte
        if self.apart is not None and blobs is not None:
            apart = blobs != IN_TABLE
            sizes[apart] = self.apart.entry_bytes(keys[apart])
        count: Any = 1.0
        more: Any = 0.0
        if older is not None:
            at = keys.searchsorted(older.keys)
            own = np.where(older.deleted, self.entry.tombstone(), sizes[at]) if older.deleted.any() else sizes[at]
            count, more = 1.0 + np.bincount(at, minlength=n), np.bincount(at, own, n)
        if tombstones is not None:
            sizes[tombstones] = self.entry.tombstone()
        entries = np.zeros(n + 1)
        np.cumsum(weights * count, out=entries[1:])
        data = np.zeros(n + 1)
        np.cumsum(weights * np.maximum(sizes + more, 1.0), out=data[1:])
        return MergedStream(keys, data), entries

    def offsets(self, keys: KeyArray) -> tuple[MergedStream, NDArray[np.float64]]:
        """Return the same as `stream` for entries that hold offsets into the WAL instead of values."""
        entries = np.zeros(len(keys) + 1)
        np.cumsum(np.broadcast_to(np.asarray(self.sample.weights(keys), dtype=np.float64), keys.shape), out=entries[1:])
        return MergedStream(keys, entries * self.entry.offset()), entries

    def bytes_of(self, keys: int) -> int | None:
        """Size in bytes of one file with puts of `keys` keys, 0 without keys; None if it depends on which keys they are."""
        if self._uniform is None or self.apart is not None:
            return None
        entries = keys * self._uniform
        return self.file_bytes(entries, entries * self.entry.put) if entries else 0

    def total_bytes(self, parts: Iterable[KeyArray]) -> int:
        """Size in bytes of one file with puts of all keys; `parts`: the keys in ascending order. 0 without keys.

        In a store with blob files, large values are not in the file (`blob_bytes`).
        """
        if self._uniform is not None and self.apart is None:
            return self.bytes_of(sum(len(keys) for keys in parts)) or 0
        keys = np.concatenate([NO_KEYS, *parts])
        if not len(keys):
            return 0
        blobs = None if self.apart is None else (self.apart.values.leaving(keys) > 0.0).astype(np.int64)
        stream, counts = self.stream(keys, None, blobs=blobs)
        size = self.file_bytes(float(counts[-1]), float(stream.cumulative_bytes[-1]))
        return size - self._shorter_tail(keys, blobs)

    @property
    def table_put(self) -> float:
        """Data-block bytes of a put in an SST file, with a blob index in place of a value in a blob file."""
        return self.entry.put if self.apart is None else self.apart.levels[-1].put

    def blob_bytes(self, keys: KeyArray) -> float:
        """Record bytes of the large values of `keys`; 0 in a store without blob files."""
        return 0.0 if self.apart is None else float(self.apart.values.blobs(keys)[1].sum())

    def _shorter_tail(self, keys: KeyArray, blobs: BlobNumbers | None, level: int = -1) -> int:
        """Bytes by which index and filter of a file are smaller than with all values in the file: its blocks hold more keys."""
        if self.apart is None or blobs is None:
            return 0
        return round(self.entries(keys[blobs != IN_TABLE]) * (self.levels[level].tail - self.apart.levels[level].tail))

    @property
    def table_formats(self) -> tuple[TableFormat, ...]:
        """Formats of new files, that of the last level first."""
        return tuple(dict.fromkeys(entry.table_format for entry in reversed(self.levels)))

    def file_bytes(self, entries: float, data_bytes: float, level: int = -1) -> int:
        """Size in bytes of a file of a level, by default the last, with `entries` in `data_bytes` of blocks."""
        entry = self.levels[level]
        return max(1, round(data_bytes + entries * entry.tail + entry.fixed))

    def files(
        self,
        stream: MergedStream,
        entries: NDArray[np.float64],
        tombstones: Tombstones,
        cuts: Sequence[int],
        numbers: Iterator[int],
        now_s: float,
        inputs: Sequence[SortedFile] = (),
        *,
        level: int,
        blobs: BlobNumbers | None = None,
    ) -> list[SortedFile]:
        """Cut the stream into files of a level that end at `cuts` (ascending positions; 0 and the end are implied).

        `inputs`: files of the compaction that writes the stream; none for a flush. `blobs`: as for `stream`.
        """
        keys = stream.keys
        oldest = min([f.smallest_seqno for f in inputs], default=0)
        newest = max([f.largest_seqno for f in inputs], default=0)
        ages = () if self.age_rule is None else input_ages(inputs, self.age_rule)
        n = len(keys)
        table_format = self.levels[level].table_format
        files: list[SortedFile] = []
        start = 0
        data = stream.cumulative_bytes
        for end in (*cuts, n):
            if end <= start:
                continue
            part = keys[start:end].copy()  # a view would keep the whole job's keys alive
            count = entries.item(end) - entries.item(start)
            size = self.file_bytes(count, data.item(end) - data.item(start), level)
            lo, hi = part.item(0), part.item(-1)
            file = SortedFile(
                number=next(numbers), lo=lo, hi=hi, size_bytes=size, entries=count, keys=part,
                created_s=now_s, data_from_s=data_from_s(ages, lo, hi) if ages else now_s,
                table_format=table_format,
            )  # fmt: skip
            if not inputs:
                oldest, newest = (file.number - 1) * _FLUSH_SEQNOS, file.number * _FLUSH_SEQNOS
            file.smallest_seqno = oldest + _spread(file.number, _SCATTER_SMALLEST)
            file.largest_seqno = newest - _spread(file.number, _SCATTER_LARGEST)
            if tombstones is not None:
                self._note_tombstones(file, tombstones[start:end])
            if blobs is not None:
                self._note_blobs(file, blobs[start:end], level)
            files.append(file)
            start = end
        return files

    def _note_blobs(self, file: SortedFile, blobs: BlobNumbers, level: int) -> None:
        shorter = self._shorter_tail(file.keys, blobs, level)
        file.set_blobs(blobs.copy())
        file.size_bytes = max(1, file.size_bytes - shorter)
        file.compensated_bytes = max(1, file.compensated_bytes - shorter)

    def _note_tombstones(self, file: SortedFile, flags: NDArray[np.bool_]) -> None:
        if not flags.any():
            return
        file.tombstones = flags.copy()
        file.deletions = self.entries(file.keys[flags])
        if self.collector is not None:
            weights = np.broadcast_to(np.asarray(self.sample.weights(file.keys), dtype=np.float64), flags.shape)
            file.marked = self.collector.marks(flags, weights)
        extra = 2.0 * file.deletions - file.entries
        # The mean value is that of the whole store, not of this file (behaviour/leveled-compaction.md, Compensated size).
        if extra >= 0.0:
            file.compensated_bytes = file.size_bytes + round(extra * self._mean_table_value * 2.0)


def _spread(file_number: int, multiplier: int) -> int:
    """Return how far the extreme sequence number of a file is from that of its job, in [0, 4096).

    The oldest and the newest entry of a job are in one of its files each. A file has thousands of entries of the newest input, so
    the extremes of the files of one job are close together, in random order.
    """
    return (file_number * multiplier & 0xFFFF_FFFF) >> (32 - _SPREAD_BITS)

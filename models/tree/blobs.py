"""Blob files of a column family (RocksDB's integrated BlobDB): what they hold, who refers to them, and when they go.

An SST file keeps, for each carried key, the number of the blob file with its value (`SortedFile.blobs`). A blob file keeps
what it was written with and how much of it is garbage, as RocksDB's MANIFEST does (behaviour/blob-files.md, Garbage and links).
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.tree.files import IN_TABLE, BlobNumbers, KeyArray, SortedFile

RECORD_HEADER_BYTES: Final = 32
"""BlobLogRecord::kHeaderSize; the key and the value follow."""
BLOB_FRAME_BYTES: Final = 30 + 32
"""BlobLogHeader::kSize and BlobLogFooter::kSize, of each file."""


class BlobSums(NamedTuple):
    """Blobs, as sums over carried keys."""

    keys: int = 0
    """Carried keys."""
    blobs: float = 0.0
    """Values of the real store that these keys represent."""
    record_bytes: float = 0.0
    """Bytes of their records: header, key and value."""


NO_SUMS: Final = BlobSums()


@dataclass(slots=True, eq=False)
class BlobFile:
    """Blob file: written once by one job; its garbage grows as compactions drop or relocate its blobs."""

    number: int
    """From the counter of all files of the database; older blob files have lower numbers."""
    total: BlobSums
    """What the file was written with."""
    garbage: BlobSums = NO_SUMS
    """What no SST file refers to any more."""
    linked: dict[int, SortedFile] = field(default_factory=dict)
    """SST files, by number, whose oldest blob file this is."""
    lo: int = 0
    hi: int = 0
    """Codes of its first and last key."""
    created_s: float = 0.0
    """Simulated time at which the file was written."""
    kept_until_s: float = math.nan
    """Time until which the real file keeps its last blobs, once no carried key has a blob in it; NaN before."""

    @property
    def size_bytes(self) -> int:
        """Size of the file on the device."""
        return round(self.total.record_bytes) + BLOB_FRAME_BYTES

    @property
    def cold(self) -> bool:
        """Return False: blob files are in the first path (`BlobFileBuilder::OpenBlobFileIfNeeded`)."""
        return False

    @property
    def lifetime_factor(self) -> float:
        """Time until n blobs are overwritten over that until a sample of k of them is: ln n / ln k, at a constant rate.

        The share that is left falls exponentially, and the last blob goes when the share is 1/n.
        """
        blobs, keys = self.total.blobs, self.total.keys
        return math.log(blobs) / math.log(keys) if 1 < keys < blobs else 1.0

    def bytes_in_portions(self, met: BlobSums, first: int, last: int, portion_bytes: float) -> float:
        """Bytes that a job reads in portions to get the blobs `met`, whose keys lie evenly from `first` to `last`.

        A blob beyond the last portion starts the next one, so portions cover what lies between these blobs, garbage or not
        (FilePrefetchBuffer::Prefetch), and the last one goes beyond them. The file ends anywhere after its last blob.
        """
        total_bytes = self.total.record_bytes
        share = (last - first) / (self.hi - self.lo) if self.hi > self.lo else 1.0
        if met.blobs > met.keys > 1:  # between all blobs lies more than between a sample of them
            share *= (met.keys + 1) / (met.keys - 1)
        share = min(1.0, max(share, (met.keys + 1) / (self.total.keys + 1)))
        stretch_bytes = max(met.record_bytes, share * total_bytes)
        gap_bytes = (stretch_bytes - met.record_bytes) / met.blobs
        portions = min(met.blobs, math.ceil(stretch_bytes / (portion_bytes + gap_bytes)))
        return min(portions * portion_bytes, (total_bytes + stretch_bytes) / 2.0)


class BlobEdit(NamedTuple):
    """What a job does to the blob files: the part of its version edit beside that of the SST files."""

    added: Sequence[BlobFile] = ()
    garbage: Mapping[int, BlobSums] = {}
    """New garbage by blob file number."""
    collects: bool = False
    """Whether the job relocates the blobs of old files, so that these do not wait until their last blob is overwritten."""


NO_BLOBS: Final = BlobEdit()


@dataclass(slots=True, eq=False)
class BlobFiles:
    """Blob files of one version of a tree, oldest first (VersionStorageInfo::blob_files_)."""

    counts_garbage: bool = True
    """Whether garbage is counted, so that files other than the oldest can go (`since.BLOB_GARBAGE_COUNTED`)."""
    files: list[BlobFile] = field(default_factory=list)
    size_bytes: int = 0
    """Bytes of all files."""
    stamp: int = 0
    """Number of edits that changed the files or their garbage."""

    def __bool__(self) -> bool:
        return bool(self.files)

    @property
    def total_bytes(self) -> float:
        """Record bytes of all files."""
        return sum(file.total.record_bytes for file in self.files)

    @property
    def garbage_bytes(self) -> float:
        """Record bytes of all garbage."""
        return sum(file.garbage.record_bytes for file in self.files)

    def space_amplification(self) -> float:
        """Bytes of the blob files over those without garbage, as RocksDB prints it; 0 without live blobs (GetBlobStats)."""
        garbage = self.garbage_bytes
        return self.size_bytes / (self.size_bytes - garbage) if self.size_bytes > garbage else 0.0

    def eligible(self, age_cutoff: float) -> int:
        """Return the number of files, the oldest ones, whose blobs garbage collection may move."""
        return int(age_cutoff * len(self.files))

    def cutoff_number(self, age_cutoff: float) -> float:
        """Return the blob file number below which a compaction relocates blobs (ComputeBlobGarbageCollectionCutoffFileNumber)."""
        count = self.eligible(age_cutoff)
        return self.files[count].number if count < len(self.files) else math.inf

    def apply(
        self, edit: BlobEdit, removed: Iterable[SortedFile], added: Iterable[SortedFile], now_s: float = 0.0
    ) -> list[BlobFile]:
        """Apply the version edit of a job with its `removed` and `added` SST files; return the blob files that go.

        A blob file goes if no SST file has it as its oldest one, and either all of its blobs are garbage or it is older than
        every blob file with such a link (VersionBuilder::SaveBlobFilesTo). A sample of its keys is overwritten before the last of
        all keys is; the file stays until then (`BlobFile.lifetime_factor`), as if it had a link.
        """
        if not self.files and not edit.added:
            return []
        for file in edit.added:
            insort(self.files, file, key=_number)
            self.size_bytes += file.size_bytes
        by_number = {file.number: file for file in self.files}
        for sst in removed:
            if sst.oldest_blob:
                by_number[sst.oldest_blob].linked.pop(sst.number)
        for sst in added:
            if sst.oldest_blob:
                by_number[sst.oldest_blob].linked[sst.number] = sst
        if self.counts_garbage:
            for number, more in edit.garbage.items():
                file = by_number[number]
                file.garbage = plus(file.garbage, more)
                if file.garbage.keys >= file.total.keys and not edit.collects:
                    file.kept_until_s = file.created_s + file.lifetime_factor * (now_s - file.created_s)
        self.stamp += 1
        return self._drop(math.inf if edit.collects else now_s)

    def _drop(self, now_s: float) -> list[BlobFile]:
        held = [bool(file.linked) or now_s < file.kept_until_s for file in self.files]
        first = held.index(True) if True in held else len(held)
        gone = [
            file for i, file in enumerate(self.files)
            if i < first or (not held[i] and file.garbage.keys >= file.total.keys)
        ]  # fmt: skip
        if gone:
            numbers = {file.number for file in gone}
            self.files = [file for file in self.files if file.number not in numbers]
            self.size_bytes -= sum(file.size_bytes for file in gone)
        return gone

    def check(self, ssts: Sequence[SortedFile]) -> None:
        """Raise AssertionError if links or garbage do not follow from the SST files of the tree."""
        numbers = {file.number for file in self.files}
        assert [file.number for file in self.files] == sorted(numbers), "blob files are not in order"
        assert self.size_bytes == sum(file.size_bytes for file in self.files)
        references: dict[int, int] = {}
        for sst in ssts:
            if sst.blobs is not None:
                found, counts = np.unique(sst.blobs[sst.blobs != IN_TABLE], return_counts=True)
                assert sst.oldest_blob == (int(found[0]) if len(found) else IN_TABLE)
                for number, count in zip(found.tolist(), counts.tolist(), strict=True):
                    references[number] = references.get(number, 0) + count
        assert references.keys() <= numbers, "an SST file refers to a deleted blob file"
        for file in self.files:
            linked = {sst.number for sst in ssts if sst.oldest_blob == file.number}
            assert linked == file.linked.keys(), f"links of blob file {file.number} are wrong"
            if self.counts_garbage:
                assert file.total.keys - file.garbage.keys == references.get(file.number, 0)


def _number(file: BlobFile) -> int:
    return file.number


def plus(one: BlobSums, other: BlobSums) -> BlobSums:
    """Return the sum of both."""
    return BlobSums(one.keys + other.keys, one.blobs + other.blobs, one.record_bytes + other.record_bytes)


def minus(one: BlobSums, other: BlobSums) -> BlobSums:
    """Return the difference of both."""
    return BlobSums(one.keys - other.keys, one.blobs - other.blobs, one.record_bytes - other.record_bytes)


def references(inputs: Sequence[tuple[int, Sequence[SortedFile]]], keys: KeyArray) -> BlobNumbers:
    """Blob files of the newest versions of `keys`, `IN_TABLE` for values in SST files. Shape (len(keys),).

    `inputs`: (level, files) of the job that merges them into `keys`, newest first.
    """
    found = np.zeros(len(keys), dtype=np.int64)
    for _, files in reversed(inputs):
        for file in reversed(files):
            if len(keys) and len(file.keys):
                at = np.minimum(keys.searchsorted(file.keys), len(keys) - 1)
                kept = keys[at] == file.keys
                found[at[kept]] = IN_TABLE if file.blobs is None else file.blobs[kept]
    return found


def cut_by_size(record_bytes: np.ndarray, most_bytes: float) -> list[int]:
    """Return the positions at which a new blob file begins; a file ends with the record that reaches `most_bytes`.

    `record_bytes`: bytes of each key's records, in the order of the merge (BlobFileBuilder::CloseBlobFileIfNeeded).
    """
    ends = np.cumsum(record_bytes)
    cuts: list[int] = []
    begun = 0.0
    while len(ends) and begun + most_bytes <= ends[-1]:
        last = int(ends.searchsorted(begun + most_bytes))
        if last + 1 >= len(ends):
            break
        cuts.append(last + 1)
        begun = float(ends[last])
    return cuts

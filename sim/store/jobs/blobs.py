"""Blob files of a job: which values it moves out of SST files, which blobs it relocates, and the garbage that it leaves.

See (behaviour/blob-files.md, Which values leave; Relocation). The functions return None for a column family that has no blob
files and writes none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from lsmlab.models.policies.decisions import Compaction
from lsmlab.models.tree.blobs import (
    NO_SUMS,
    BlobEdit,
    BlobFile,
    BlobSums,
    cut_by_size,
    minus,
    plus,
    references,
)
from lsmlab.models.tree.files import IN_TABLE, BlobNumbers, KeyArray
from lsmlab.models.tree.merge import Tombstones
from lsmlab.models.tree.values_apart import ValuesApart
from lsmlab.sim.machine.make import KERNEL_READAHEAD_BYTES
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lsmlab.sim.store.jobs.context import FamilyContext


@dataclass(slots=True)
class BlobWork:
    """What a job does to blob files."""

    numbers: BlobNumbers
    """Blob file of each key that the job writes."""
    written: list[list[BlobFile]]
    """New blob files of each subcompaction."""
    garbage: Mapping[int, BlobSums] = field(default_factory=dict)
    """New garbage by blob file number."""
    relocated: Mapping[int, BlobSums] = field(default_factory=dict)
    """Blobs that move to other files, by the number of the blob file that holds them now."""
    uncopied_bytes: float = 0.0
    """Value bytes of the job's entries that it neither reads nor writes, because they stay in their blob files."""
    collects: bool = False
    """Whether the job relocates the blobs of old files."""
    device_bytes: float = 0.0
    """Bytes that the job reads from the device with readahead."""
    point_reads: float = 0.0
    """Blobs that it reads from the device one by one."""

    @property
    def read(self) -> BlobSums:
        """Blobs that the job reads: the relocated ones."""
        return _total(self.relocated)

    @property
    def files(self) -> list[BlobFile]:
        """All new blob files."""
        return [file for files in self.written for file in files]

    @property
    def edit(self) -> BlobEdit:
        """Part of the version edit of the job."""
        return BlobEdit(self.files, self.garbage, self.collects)

    @property
    def write_bytes(self) -> int:
        """Record bytes of the new blob files: RocksDB's Wblob."""
        return round(sum(file.total.record_bytes for file in self.files))


def writes_blobs(family: FamilyContext, level: int) -> bool:
    """Return whether files of a level have their large values in blob files."""
    options = family.options
    return options.enable_blob_files and level >= options.blob_file_starting_level


def flush_blobs(family: FamilyContext, keys: KeyArray, tombstones: Tombstones) -> BlobWork | None:
    """Move the large values of a flush into blob files."""
    apart = family.content.apart
    if apart is None or not writes_blobs(family, 0):
        return None
    numbers = np.zeros(len(keys), dtype=np.int64)
    leaving = _can_leave(apart.values, keys, tombstones)
    return BlobWork(numbers, _write(family, keys, leaving, numbers, []))


def compaction_blobs(
    family: FamilyContext, pick: Compaction, keys: KeyArray, tombstones: Tombstones, bounds: Sequence[int]
) -> BlobWork | None:
    """Move large values and old blobs of a compaction into new blob files, each subcompaction into files of its own.

    `keys` are those that the job writes, `bounds` the positions at which subcompactions begin. A relocated blob whose value is
    no longer large, or whose level has no blob files, returns to the SST file (GarbageCollectBlobIfNeeded).
    """
    options, blob_files, apart = family.options, family.tree.blobs, family.content.apart
    if apart is None or not (options.enable_blob_files or blob_files):
        return None
    inputs = [f for _, files in pick.inputs for f in files]
    before = references(pick.inputs, keys)
    moves = np.zeros(len(keys), dtype=np.bool_)
    if options.enable_blob_garbage_collection:
        moves = (before != IN_TABLE) & (before < blob_files.cutoff_number(options.blob_garbage_collection_age_cutoff))
    numbers = np.where(moves, IN_TABLE, before)
    leaving = np.zeros(len(keys), dtype=np.bool_)
    if writes_blobs(family, pick.output_level):
        leaving = (numbers == IN_TABLE) & _can_leave(apart.values, keys, tombstones)
    kept = apart.values.sums(keys, numbers)
    relocated = apart.values.sums(keys[moves], before[moves])
    held: Mapping[int, BlobSums] = {}
    if referring := [(file.keys, file.blobs) for file in inputs if file.blobs is not None]:
        held = apart.values.sums(*(np.concatenate(column) for column in zip(*referring, strict=True)))
    garbage = {number: minus(sums, kept.get(number, NO_SUMS)) for number, sums in held.items()}
    work = BlobWork(
        numbers, _write(family, keys, leaving, numbers, bounds),
        {number: sums for number, sums in garbage.items() if sums.keys}, relocated,
    )  # fmt: skip
    outside = minus(_total(held), work.read)
    work.uncopied_bytes = apart.values.value_bytes(outside) - apart.values.reference * outside.blobs
    work.collects = options.enable_blob_garbage_collection
    for start, end in _spans(bounds, len(keys)):
        mine = start + np.flatnonzero(moves[start:end])
        device_bytes, point_reads = _device_reads(family, keys[mine], before[mine])
        work.device_bytes, work.point_reads = work.device_bytes + device_bytes, work.point_reads + point_reads
    return work


def blobs_of_preload(
    family: FamilyContext, keys: KeyArray, level: int, rng: np.random.Generator
) -> BlobNumbers | None:
    """Return the blob file numbers of the keys of a level of a tree that was built before the run.

    As after a load in random order, each flush has written a blob file with values of random keys. There is no garbage.
    """
    apart = family.content.apart
    if apart is None or not writes_blobs(family, level):
        return None
    numbers = np.zeros(len(keys), dtype=np.int64)
    leaving = rng.permutation(np.flatnonzero(_can_leave(apart.values, keys, None)))
    memtable_bytes = family.options.write_buffer_size * family.latest_options.blob_compression_ratio
    file_bytes = min(float(family.options.blob_file_size), memtable_bytes)
    cuts = cut_by_size(apart.values.blobs(keys[leaving])[1], file_bytes) if len(leaving) else []
    for first, after in _spans(cuts, len(leaving)):
        numbers[leaving[first:after]] = next(family.database.file_numbers)
    return numbers


def files_without_garbage(values: ValuesApart, held: Sequence[tuple[KeyArray, BlobNumbers | None]]) -> list[BlobFile]:
    """Return the blob files of SST files with these keys and blob file numbers, for a tree built before the run."""
    referring = [(keys, numbers) for keys, numbers in held if numbers is not None]
    if not referring:
        return []
    keys, numbers = (np.concatenate(column) for column in zip(*referring, strict=True))
    order = np.argsort(keys, kind="stable")
    spans = _spans_of(keys[order], numbers[order])
    files = values.sums(keys, numbers)
    return [BlobFile(number, sums, lo=spans[number][0], hi=spans[number][1]) for number, sums in files.items()]


def _spans_of(keys: KeyArray, numbers: BlobNumbers) -> dict[int, tuple[int, int]]:
    """Return the first and last of the ascending `keys` in each blob file."""
    files, first = np.unique(numbers, return_index=True)
    last = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
    ends = zip(keys[first].tolist(), keys[last].tolist(), strict=True)
    return dict(zip(files.tolist(), ends, strict=True))


def _can_leave(values: ValuesApart, keys: KeyArray, tombstones: Tombstones) -> NDArray[np.bool_]:
    leaving = values.leaving(keys) > 0.0
    return leaving if tombstones is None else leaving & ~tombstones


def _write(
    family: FamilyContext, keys: KeyArray, leaving: NDArray[np.bool_], numbers: BlobNumbers, bounds: Sequence[int]
) -> list[list[BlobFile]]:
    """Write the blobs of `leaving` keys, set their `numbers`, and return the blob files of each subcompaction."""
    apart = family.content.apart
    assert apart is not None
    written: list[list[BlobFile]] = []
    for start, end in zip([0, *bounds], [*bounds, len(keys)], strict=True):
        places = start + np.flatnonzero(leaving[start:end])
        files: list[BlobFile] = []
        if len(places):
            blobs, record_bytes = apart.values.blobs(keys[places])
            cuts = cut_by_size(record_bytes, float(family.options.blob_file_size))
            for first, after in _spans(cuts, len(places)):
                total = BlobSums(after - first, float(blobs[first:after].sum()), float(record_bytes[first:after].sum()))
                lo, hi = int(keys[places[first]]), int(keys[places[after - 1]])
                file = BlobFile(next(family.database.file_numbers), total, lo=lo, hi=hi, created_s=family.database.env.now)
                numbers[places[first:after]] = file.number
                files.append(file)
        written.append(files)
    return written


def _spans(cuts: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    yield from zip([0, *cuts], [*cuts, end], strict=True)


def _total(sums: Mapping[int, BlobSums]) -> BlobSums:
    total = NO_SUMS
    for one in sums.values():
        total = plus(total, one)
    return total


def _device_reads(family: FamilyContext, keys: KeyArray, numbers: BlobNumbers) -> tuple[float, float]:
    """Return (bytes read ahead, blobs read one by one) from the device by a thread that relocates blobs.

    `keys` of the blobs, ascending, and the `numbers` of their blob files. A job meets the blobs of one file in the order of the
    file. A blob file in the page cache costs no read. Readahead is that of the option; without it, buffered reads have the
    kernel's.
    """
    apart = family.content.apart
    if apart is None or not len(keys):
        return 0.0, 0.0
    machine, ahead = family.database.machine, float(family.options.blob_compaction_readahead_size)
    if not ahead and machine.style.overlap_reads:
        ahead = float(KERNEL_READAHEAD_BYTES)
    by_number = {file.number: file for file in family.tree.blobs.files}
    spans = _spans_of(keys, numbers)
    read_ahead = one_by_one = 0.0
    for number, sums in apart.values.sums(keys, numbers).items():
        file = by_number[number]
        if not sums.blobs or machine.cache.cached_bytes([file]):
            continue
        if ahead <= sums.record_bytes / sums.blobs:
            one_by_one += sums.blobs
        else:
            read_ahead += file.bytes_in_portions(sums, *spans[number], ahead)
    return read_ahead, one_by_one

"""Blob files of a tree, the values that live in them, and forced collection (behaviour/blob-files.md, Blob files)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import Compaction, DoNothing, RunningJob, Scope
from lsmlab.models.policies.rocksdb.forced_blob_gc import marked_files
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.tree.blobs import BlobEdit, BlobFile, BlobFiles, BlobSums, cut_by_size, references
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.tree.values_apart import LargeValues, ValuesApart, reference_bytes
from lsmlab.models.version import Version
from lsmlab.models.workloads.values import (
    FixedSize,
    KeyedSizes,
    NormalSize,
    ParetoSize,
    UniformSize,
    ValueSizes,
    large_values,
)

V96, V97 = Version(9, 6), Version(9, 7)
COLLECTING: Mapping[str, Any] = {"enable_blob_files": True, "enable_blob_garbage_collection": True}


def sst(number: int, *blobs: int, lo: int = 0) -> SortedFile:
    """Return an SST file with one key for each blob file number, 0 for a value in the file."""
    keys = np.arange(lo, lo + len(blobs), dtype=np.int64)
    file = SortedFile(number, lo, lo + max(0, len(blobs) - 1), 100, keys=keys)
    file.set_blobs(np.array(blobs, dtype=np.int64))
    return file


def blob_file(number: int, keys: int = 10, garbage: int = 0) -> BlobFile:
    """Return a blob file with records of 100 bytes."""
    return BlobFile(number, BlobSums(keys, float(keys), 100.0 * keys), BlobSums(garbage, float(garbage), 100.0 * garbage))


def held(files: BlobFiles) -> list[int]:
    """Return the numbers of the blob files."""
    return [file.number for file in files.files]


def example(garbage: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Tree:
    """Return the tree of the example in ComputeFilesMarkedForForcedBlobGC: SST files 1 and 2 need blob file 10, 3 needs 12."""
    tree = Tree()
    ssts = [sst(1, 10, 13), sst(2, 10, 11, lo=10), sst(3, 12, 13, lo=20)]
    added = [(2, ssts)]
    tree.install(added=added)
    files = [blob_file(number, garbage=count) for number, count in zip((10, 11, 12, 13), garbage, strict=True)]
    tree.install_blobs([], added, BlobEdit(files))
    return tree


# --- blob files of a version ---------------------------------------------------------------------------------------------


def test_an_sst_file_is_linked_to_its_oldest_blob_file() -> None:
    """Values in the SST file do not count, and files without any link stay while an older one has a link."""
    assert 11 == sst(1, 12, 0, 11).oldest_blob
    assert 0 == sst(1, 0, 0).oldest_blob
    tree = example()
    assert [[1, 2], [], [3], []] == [sorted(file.linked) for file in tree.blobs.files]


def test_blob_files_before_the_first_link_go() -> None:
    """Without the links to 10, the batch of 10 and 11 goes, whatever its garbage is; 13 stays behind 12."""
    tree = example()
    gone = tree.install_blobs([(2, [tree.blobs.files[0].linked[1], tree.blobs.files[0].linked[2]])], [])

    assert [10, 11] == [file.number for file in gone]
    assert [12, 13] == held(tree.blobs)
    assert sum(file.size_bytes for file in tree.blobs.files) == tree.blobs.size_bytes


def test_a_blob_file_of_garbage_alone_goes() -> None:
    """A file without links goes when its garbage is complete, also behind others; one with a link never does so."""
    blobs = example().blobs
    all_of = BlobSums(10, 10.0, 1000.0)

    assert [11, 13] == [file.number for file in blobs.apply(BlobEdit(garbage={11: all_of, 13: all_of, 12: all_of}), [], [])]
    assert [10, 12] == held(blobs)


def test_before_garbage_is_counted_only_the_oldest_go() -> None:
    """Up to 6.22 a blob file in the middle stays until all older ones have gone."""
    blobs = example().blobs
    blobs.counts_garbage = False

    assert [] == blobs.apply(BlobEdit(garbage={11: BlobSums(10, 10.0, 1000.0)}), [], [])
    assert 0.0 == blobs.garbage_bytes


def test_without_links_all_blob_files_go() -> None:
    """When the last SST file goes, its blob files go."""
    blobs = example().blobs
    ssts = [file for one in blobs.files for file in one.linked.values()]

    assert [10, 11, 12, 13] == [file.number for file in blobs.apply(BlobEdit(), ssts, [])]
    assert (0, 0.0) == (blobs.size_bytes, blobs.space_amplification())


def test_a_moved_file_keeps_its_link() -> None:
    """A trivial move removes and adds the same file."""
    blobs = example().blobs
    moved = blobs.files[2].linked[3]

    assert [] == blobs.apply(BlobEdit(), [moved], [moved])
    assert [3] == list(blobs.files[2].linked)


def test_space_amplification_is_that_of_rocksdb() -> None:
    """Bytes of the files over those without counted garbage."""
    blobs = BlobFiles(files=[blob_file(1, garbage=5)], size_bytes=blob_file(1).size_bytes)

    assert pytest.approx(1062 / 562) == blobs.space_amplification()


@pytest.mark.parametrize(("cutoff", "eligible", "number"), [(0.0, 0, 10), (0.25, 1, 11), (0.74, 2, 12), (1.0, 4, np.inf)])
def test_the_age_cutoff_rounds_down(cutoff: float, eligible: int, number: float) -> None:
    """The oldest int(cutoff x files) files are eligible; blobs below the number of the next one move."""
    blobs = example().blobs

    assert (eligible, number) == (blobs.eligible(cutoff), blobs.cutoff_number(cutoff))


@pytest.mark.parametrize(
    ("met", "first", "last", "expected"),
    [
        ((1000, 1000), 0, 999, 100_000), ((300, 300), 0, 999, 82_000), ((100, 100), 100, 199, 11_000), ((1, 1), 500, 500, 1000),
        ((2, 2), 0, 999, 2000), ((10, 10), 0, 999, 10_000), ((5, 50), 110, 190, 11_000), ((1, 10), 500, 500, 1000),
    ],
)  # fmt: skip
def test_readahead_reads_what_lies_between(met: tuple[int, int], first: int, last: int, expected: float) -> None:
    """A file of 1,000 records of 100 bytes in portions of 1,000 bytes: whole stretches with garbage, and single portions."""
    file = BlobFile(1, BlobSums(1000, 1000.0, 100_000.0), lo=0, hi=999)
    keys, blobs = met

    assert expected == pytest.approx(file.bytes_in_portions(BlobSums(keys, blobs, 100.0 * blobs), first, last, 1000.0), rel=0.1)


@pytest.mark.parametrize(
    ("records", "size", "cuts"),
    [([10] * 6, 30, [3]), ([10] * 6, 25, [3]), ([10] * 7, 20, [2, 4, 6]), ([10] * 3, 30, []), ([50, 50], 20, [1]), ([], 20, [])],
)
def test_a_blob_file_ends_with_the_record_that_reaches_its_size(records: list[int], size: float, cuts: list[int]) -> None:
    """A record is never divided, and no file is empty."""
    assert cuts == cut_by_size(np.array(records, dtype=np.float64), size)


def test_the_newest_version_of_a_key_decides_its_blob_file() -> None:
    """Inputs are newest first; a newer value in an SST file hides an older blob, and keys that the job drops have none."""
    newest, middle, oldest = sst(3, 0, 30), sst(2, 20, 20, 20), sst(1, 10, 10, 10, 10, 10)
    inputs = [(0, [newest, middle]), (1, [oldest])]

    assert [0, 30, 20, 10, 10] == references(inputs, np.arange(5)).tolist()
    assert [30, 10] == references(inputs, np.array([1, 4])).tolist()


# --- values ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values", [UniformSize(100, 5000), NormalSize(100, 5000), ParetoSize(), ParetoSize(sigma=200.0, max_bytes=8192.0)], ids=repr
)
@pytest.mark.parametrize("least", [0, 64, 256, 1000, 2000])
def test_large_values_are_those_of_the_distribution(values: ValueSizes, least: int) -> None:
    """Share and means are those of many drawn values, and both parts together have the mean of the distribution."""
    drawn = values.quantile(np.random.default_rng(7).random(400_000))
    large = drawn >= max(1, least)
    found = large_values(values, least)

    assert pytest.approx(large.mean(), abs=0.004) == found.share
    if large.sum() > 1000:
        assert pytest.approx(drawn[large].mean(), rel=0.02) == found.large_bytes
    mean = found.share * found.large_bytes + (1.0 - found.share) * found.small_bytes
    assert pytest.approx(values.mean_bytes, rel=1e-3) == mean


@pytest.mark.parametrize(("least", "expected"), [(0, (1.0, 100.0, 0.0)), (100, (1.0, 100.0, 0.0)), (101, (0.0, 0.0, 100.0))])
def test_a_fixed_size_is_large_or_not(least: int, expected: tuple[float, float, float]) -> None:
    """A value of exactly min_blob_size leaves."""
    assert expected == large_values(FixedSize(100.0), least)


def test_empty_values_stay() -> None:
    """With min_blob_size 0 every value but an empty one leaves (BlobFileBuilder::Add)."""
    assert 0.0 == large_values(FixedSize(0.0), 0).share


def test_a_reference_has_rocksdbs_encoding() -> None:
    """Type, file number, offset, size and compression type: 1 + 2 + 4 + 2 + 1 bytes for 1 KB values in files of 64 MiB."""
    assert 10 == reference_bytes(1000, 2**26)


def test_single_keys_are_large_or_small_and_groups_are_both() -> None:
    """Hot keys have sizes of their own; a sampled group has the share of the distribution. Sums add up."""
    values = UniformSize(0, 1000)
    sample = KeySample(1 << 16, 2.0**-6, hot=np.arange(50, dtype=np.int64))
    mean = large_values(values, 500)
    apart = ValuesApart(
        sample, mean, key_bytes=16, least_bytes=500, reference=10, values=KeyedSizes(values, sampled=True)
    )
    codes = sample.codes()
    hot = (codes & 1) == 1
    leaving = apart.leaving(codes)
    blobs, record_bytes = apart.blobs(codes)

    assert {0.0, 1.0} == set(leaving[hot].tolist())
    assert {mean.share} == set(leaving[~hot].tolist())
    assert pytest.approx(mean.share * 65_536, rel=0.01) == blobs.sum()
    assert pytest.approx(blobs.sum() * (48 + mean.large_bytes), rel=0.01) == record_bytes.sum()
    files = apart.sums(codes, np.where(leaving > 0.0, np.arange(len(codes)) % 3 + 7, 0))
    assert [7, 8, 9] == sorted(files)
    assert pytest.approx(record_bytes.sum()) == sum(one.record_bytes for one in files.values())
    assert np.count_nonzero(leaving) == sum(one.keys for one in files.values())


def test_compressed_blobs_are_smaller_in_records_only() -> None:
    """The ratio applies to values, not to headers and keys."""
    apart = ValuesApart(
        KeySample(10), LargeValues(1.0, 1000.0, 0.0), key_bytes=16, least_bytes=0, reference=10, compression_ratio=0.5
    )
    sums = apart.sums(np.arange(10) << 1, np.full(10, 5))[5]

    assert BlobSums(10, 10.0, 5480.0) == sums
    assert 10_000.0 == apart.value_bytes(sums)


# --- forced collection -------------------------------------------------------------------------------------------------------


def options(threshold: float = 0.5, cutoff: float = 1.0, **others: Any) -> RocksDbOptions:
    """Return options with garbage collection."""
    return RocksDbOptions(
        **{**COLLECTING, **others}, blob_garbage_collection_force_threshold=threshold, blob_garbage_collection_age_cutoff=cutoff
    )


@pytest.mark.parametrize(
    ("garbage", "cutoff", "before", "since"),
    [
        ((6, 6, 0, 0), 0.5, [1, 2], [1, 2]),  # the batch of 10 and 11 is eligible and has enough garbage
        ((6, 6, 0, 0), 0.25, [], [1, 2]),  # 11 is not eligible; since 9.7 10 alone counts
        ((6, 6, 0, 0), 1.0, [1, 2], []),  # since 9.7 all four count: 12 of 40
        ((1, 0, 10, 9), 1.0, [], [1, 2]),  # garbage behind the batch
        ((4, 5, 0, 0), 0.5, [], []),
        ((6, 6, 0, 0), 0.0, [], []),
    ],
)
def test_the_garbage_of_old_files_marks_those_linked_to_the_oldest(
    garbage: tuple[int, int, int, int], cutoff: float, before: list[int], since: list[int]
) -> None:
    """Before 9.7 the oldest batch must be eligible and has to have the garbage; since then, all eligible files together."""
    tree, chosen = example(garbage), options(cutoff=cutoff)

    assert [before, since] == [[f.number for f in marked_files(tree, chosen, version)] for version in (V96, V97)]


@pytest.mark.parametrize(
    "others", [{"threshold": 1.0}, {"enable_blob_garbage_collection": False}, {"cutoff": 0.2}], ids=str
)
def test_nothing_is_marked_by_default(others: dict[str, Any]) -> None:
    """A threshold of 1, no collection, or no eligible file."""
    assert [] == marked_files(example((10, 9, 9, 9)), options(**others), V97)


def test_a_marked_file_is_compacted_alone_within_its_level() -> None:
    """The first marked file that is free is the only input; without one there is nothing to do."""
    tree = example((10, 10, 10, 9))
    picker = LeveledPicker(options(), V97)
    first, second = (tree.blobs.files[0].linked[number] for number in (1, 2))

    assert picker.needs_compaction(tree, 0.0)
    assert Compaction(2, 2, ((2, (first,)),), "ForcedBlobGC") == picker.pick(tree, (), 0.0)
    tree.mark(2, [first], busy=True)
    assert Compaction(2, 2, ((2, (second,)),), "ForcedBlobGC") == picker.pick(tree, (), 0.0)
    assert isinstance(picker.pick(tree, [RunningJob(1, 2, 10, 12)], 0.0), DoNothing)
    tree.mark(2, [second], busy=True)
    assert not picker.needs_compaction(tree, 0.0)
    assert isinstance(picker.pick(tree, (), 0.0), DoNothing)


def test_a_level_over_its_target_comes_first() -> None:
    """Forced collection waits for compactions by score, and is no compaction of L0 for schedulers."""
    tree = example((10, 10, 10, 9))
    tree.l0 = [SortedFile(number, 0, 99, 10) for number in (9, 8, 7, 6)]
    pick = LeveledPicker(options(), V97).pick(tree, (), 0.0)

    assert isinstance(pick, Compaction)
    assert "LevelL0FilesNum" == pick.reason
    tree.l0 = []
    tree.begin_version()
    picker = LeveledPicker(options(), V97)
    assert not picker.needs_compaction(tree, 0.0, Scope.L0)
    assert picker.needs_compaction(tree, 0.0, Scope.DEEP)
    assert isinstance(picker.pick(tree, (), 0.0, Scope.L0), DoNothing)


def test_a_marked_l0_file_waits_for_other_compactions_of_l0() -> None:
    """It is rewritten within L0, while no compaction from L0 runs."""
    tree = Tree(levels=[Level() for _ in range(7)])
    file = sst(1, 10)
    tree.install(added=[(0, [file])])
    tree.install_blobs([], [(0, [file])], BlobEdit([blob_file(10, garbage=9)]))
    picker = LeveledPicker(options(), V97)

    assert Compaction(0, 0, ((0, (file,)),), "ForcedBlobGC") == picker.pick(tree, (), 0.0)
    assert isinstance(picker.pick(tree, [RunningJob(0, 1, 50, 60)], 0.0), DoNothing)

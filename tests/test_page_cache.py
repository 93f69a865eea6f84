"""The page cache: which reads and writes pass it."""

from __future__ import annotations

from typing import Any

import pytest
from lsmlab.models.tree.blobs import BlobFiles
from lsmlab.sim import configure
from lsmlab.sim.machine.page_cache import PageCache
from running import run

DIRECT = {"reads": "use_direct_reads", "writes": "use_direct_io_for_flush_and_compaction"}


class _Part:
    """Slice of 10 bytes."""

    size_bytes = 10

    def __init__(self, source: Any) -> None:
        self.source = source


class _File:
    """File of 100 bytes, with slices of 10 bytes of the frozen files `sources`."""

    size_bytes = 100

    def __init__(self, *sources: Any) -> None:
        self.slices = [_Part(source) for source in sources]
        self.compaction_bytes = 100 + 10 * len(sources)


class _Tree:
    """Tree of 400 bytes."""

    linked_bytes = 0
    blobs = BlobFiles()

    def total_bytes(self) -> int:
        """Return the bytes of all files."""
        return 400


def _after_a_write(cache: PageCache) -> tuple[int, int, float]:
    """Return the bytes that a first and a second compaction of a new file read, and the share that clients find."""
    file: Any = _File()
    tree: Any = _Tree()
    cache.add_written([file])
    return cache.missing_bytes([file]), cache.missing_bytes([file]), cache.share([tree])


def test_each_switch_decides_for_its_own_direction() -> None:
    """Direct writes leave no pages, so that the first buffered read misses; direct reads never look into the cache."""
    assert (0, 0, 0.25) == _after_a_write(PageCache(1000))
    assert (100, 0, 0.25) == _after_a_write(PageCache(1000, direct_writes=True))
    assert (100, 100, 0.0) == _after_a_write(PageCache(1000, direct_reads=True))
    assert (100, 100, 0.0) == _after_a_write(PageCache(1000, direct_reads=True, direct_writes=True))


def test_the_file_that_was_longest_unused_leaves_the_cache() -> None:
    """With room for two files, a compaction that reads the older one keeps it: the next write drops the other."""
    cache = PageCache(200)
    files: list[Any] = [_File() for _ in range(3)]
    cache.add_written(files[:2])
    assert cache.missing_bytes([files[0]]) == 0
    cache.add_written(files[2:])

    assert [cache.cached_bytes([file]) for file in files] == [100, 0, 100]
    cache.deleted(files[2:])
    assert cache.missing_bytes(files) == 200


def test_slices_are_read_with_the_pages_of_their_frozen_file() -> None:
    """A compaction reads slices from memory while their frozen file is there, and else from the device."""
    frozen: Any = _File()
    cache = PageCache(1000)
    cache.add_written([frozen])
    sliced: Any = _File(frozen, _File())

    assert cache.missing_bytes([sliced]) == 110


@pytest.mark.parametrize("switched_on", [("reads",), ("writes",), ("reads", "writes"), ()])
def test_compactions_read_from_the_device_if_a_switch_is_on(switched_on: tuple[str, ...]) -> None:
    """With a page cache and buffered I/O compactions read nothing from the device, with either switch all inputs.

    A file is an input of one compaction, so that the pages of a buffered read serve no second one.
    """
    options = ["write_buffer_size=1MiB", "target_file_size_base=1MiB", "max_bytes_for_level_base=4MiB"]
    options += [f"{DIRECT[direction]}=true" for direction in switched_on]
    load = ["workload=fillrandom", "workload.num=100K", "workload.value_size=100"]
    config = configure([*load, "device=nvme", "device.page_cache=1GiB", *(f"engine.options.{text}" for text in options)])
    summary = run(config).summary
    finished, read = summary["compaction_read_bytes"], summary["device_bytes_read"]

    assert finished > 5e6
    assert finished <= read < 2.0 * finished if switched_on else read == 0.0  # jobs at the end of the run read, too

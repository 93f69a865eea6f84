"""Ranges of bytes_per_sync, and sequence numbers of files (decision 0041)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from lsmlab.sim.machine.machine import IoStyle
from lsmlab.sim.machine.make import io_style
from running import SMALL, set_up


def style_of(*overrides: str) -> IoStyle:
    """Return the I/O mode of background jobs."""
    setup = set_up(*overrides)
    return io_style(setup.engine.options, setup.setting.devices, setup.engine.scheduler().limiter())


@pytest.mark.parametrize(
    ("bytes_per_sync", "written_back"), [("0", False), ("1KiB", True), ("63MiB", True), ("64MiB", False)]
)
def test_files_shorter_than_bytes_per_sync_are_written_at_their_fsync(bytes_per_sync: str, written_back: bool) -> None:
    """RocksDB keeps the last MiB of a file back, so a file of 64 MiB has no range of 64 MiB to write back."""
    options = ("engine.options.target_file_size_base=64MiB", f"engine.options.bytes_per_sync={bytes_per_sync}")
    style = style_of(*SMALL, "device.page_cache=1GiB", *options)

    assert style.overlap_writes == written_back
    assert style.whole_files != written_back


def test_files_have_the_sequence_numbers_of_their_inputs() -> None:
    """Files of a compaction lie between its oldest and newest input; each has its own extremes, in no order of keys."""
    content = set_up(*SMALL).families[0].content
    numbers = itertools.count(1)
    keys = np.arange(3000, dtype=np.int64)
    stream, entries = content.stream(keys, None)
    flushed = [content.files(stream, entries, None, (), numbers, 0.0, level=0)[0] for _ in range(2)]
    merged = content.files(stream, entries, None, range(300, 3000, 300), numbers, 1.0, flushed, level=1)

    assert flushed[0].largest_seqno < flushed[1].smallest_seqno
    assert all(flushed[0].smallest_seqno <= f.smallest_seqno < f.largest_seqno <= flushed[1].largest_seqno for f in merged)
    for extremes in ([f.smallest_seqno for f in merged], [f.largest_seqno for f in merged]):
        assert len(set(extremes)) == len(merged)
        assert extremes not in (sorted(extremes), sorted(extremes, reverse=True))

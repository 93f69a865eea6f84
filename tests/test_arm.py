"""Moves of a hard disk's arm between files, ranges of bytes_per_sync, and sequence numbers of files (decision 0041)."""

from __future__ import annotations

import itertools
from math import inf

import numpy as np
import pytest
import simpy
from lsmlab.models.devices.base import DeviceLoad
from lsmlab.models.devices.hdd import Hdd
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.journal import Journal
from lsmlab.sim.machine.machine import IoStyle
from lsmlab.sim.machine.make import io_style
from lsmlab.sim.machine.queues import Events
from running import SMALL, set_up

MIB = 2.0**20
DISK = Hdd(read_bandwidth=100e6, write_bandwidth=100e6, rpm=7200, seek=8.5e-3, fsync_latency=0.0)
SWITCH_S = 8.5e-3 + 30.0 / 7200.0


def style_of(*overrides: str) -> IoStyle:
    """Return the I/O mode of background jobs."""
    setup = set_up(*overrides)
    return io_style(setup.engine.options, setup.setting.devices, setup.engine.scheduler().limiter())


def test_a_turn_costs_one_move_of_the_arm() -> None:
    """Two writers with 8 MiB per turn lose a seek and half a revolution per turn; a single writer loses nothing."""
    one = DISK.allocate(None, DeviceLoad(writers=1, queue_depth=64.0, write_turn_bytes=8 * MIB)).write_bytes_per_s
    two = 2.0 * DISK.allocate(None, DeviceLoad(writers=2, queue_depth=64.0, write_turn_bytes=8 * MIB)).write_bytes_per_s

    assert one == pytest.approx(100e6)
    assert two == pytest.approx(8 * MIB / (8 * MIB / 100e6 + SWITCH_S))


def written_s(sizes: list[float], queue: float) -> float:
    """Return the time until files of these sizes are on the disk, all of them in their fsync from the start."""
    env = simpy.Environment()
    journal = Journal(env, DeviceStation(env, DISK, MIB, MIB, 64.0), 8 * MIB, queue)

    def fsync(size: float) -> Events:
        yield from journal.fsync_file(size, 1)

    for size in sizes:
        env.process(fsync(size))
    env.run()
    return env.now


@pytest.mark.parametrize(
    ("sizes", "queue", "moves"),
    [
        ([64 * MIB], 0.0, 0.0), ([64 * MIB] * 2, inf, 2.0), ([64 * MIB] * 4, 0.0, 32.0), ([512 * MIB, 8 * MIB], 0.0, 2.0),
        ([64 * MIB] * 2, 64 * MIB, 2.0),
    ],
    ids=["one_file", "whole_files", "portions", "one_portion", "whole_file_beside_portions"],
)
def test_files_in_the_queue_are_written_in_turns(sizes: list[float], queue: float, moves: float) -> None:
    """Whole files cost one move each, portions of a full queue one each; a whole file interrupts the portions of another once."""
    lost_s = written_s(sizes, queue) - sum(sizes) / 100e6

    assert lost_s / SWITCH_S == pytest.approx(moves, abs=0.1)


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

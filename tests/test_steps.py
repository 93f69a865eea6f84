"""Steps of a job: how a merge reads ahead, and how long the steps take on a machine with 100 MiB/s in each direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import simpy
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.rate_limiter import Priority, RateLimiter
from lsmlab.models.policies.rocksdb.errors import WriteFailure
from lsmlab.models.version import Version
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.limiter import LimiterStation
from lsmlab.sim.machine.machine import Consumer, Machine
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.machine.steps import Step, StepProgress, compaction_steps, flush_steps, split_at_halts
from plain_machine import MIB, plain_machine

READ_COMPUTE_WRITE = Step(10 * MIB, 0.2, 20 * MIB)
"""0.1 s to read, 0.2 s to compute, 0.2 s to write."""


def run(machine: Machine, parts: list[list[Step]], gate: Gate | None = None) -> tuple[float, StepProgress]:
    """Run a job of these threads alone; return its time in s and its progress."""
    progress = StepProgress()
    machine.env.run(machine.env.process(machine.run_parts(parts, Consumer.DEEPER, Priority.LOW, progress, gate)))
    return machine.env.now, progress


def totals(steps: list[Step]) -> tuple[float, float, float]:
    """Return bytes read, CPU time and bytes written of all steps."""
    return sum(s.read_bytes for s in steps), sum(s.cpu_s for s in steps), sum(s.write_bytes for s in steps)


# --- lists of steps ---------------------------------------------------------------------------------------------------


def test_a_merge_reads_the_first_portion_of_every_run_before_it_writes() -> None:
    """Four files of 4 MiB in portions of 2 MiB: 8 MiB at the beginning, 8 MiB in the middle, and 1 MiB per step."""
    steps = compaction_steps(
        [[4 * MIB]] * 4, 16 * MIB, 1.6, 16 * MIB, readahead_bytes=2 * MIB, piece_bytes=MIB
    )

    assert len(steps) == 16
    assert {i: s.read_bytes / MIB for i, s in enumerate(steps) if s.read_bytes} == {0: 8.0, 8: 8.0}
    assert totals(steps) == pytest.approx((16 * MIB, 1.6, 16 * MIB))


def test_files_of_one_run_are_read_one_after_the_other() -> None:
    """Of a run of two files and another run, the second file begins where the merge has passed the first one."""
    steps = compaction_steps(
        [[2 * MIB, 2 * MIB], [2 * MIB]], 6 * MIB, 0.6, 6 * MIB, readahead_bytes=2 * MIB, piece_bytes=MIB
    )

    assert {i: s.read_bytes / MIB for i, s in enumerate(steps) if s.read_bytes} == {0: 4.0, 3: 2.0}


def test_pages_in_memory_are_not_read() -> None:
    """A merge whose inputs are in the page cache has the steps of a flush; one without output still reads."""
    read = [[4 * MIB]]

    cached = compaction_steps(read, 0.0, 1.0, 4 * MIB, readahead_bytes=2 * MIB, piece_bytes=MIB)
    nothing_left = compaction_steps(read, 4 * MIB, 1.0, 0.0, readahead_bytes=2 * MIB, piece_bytes=MIB)

    assert totals(cached) == pytest.approx(totals(flush_steps(1.0, 4 * MIB, MIB)))
    assert totals(nothing_left) == pytest.approx((4 * MIB, 1.0, 0.0))


@pytest.mark.parametrize(("whole_files", "writes"), [(False, [2.5, 2.5, 2.5, 2.5]), (True, [0.0, 0.0, 0.0, 10.0])])
def test_a_step_is_split_so_that_a_job_can_halt(whole_files: bool, writes: list[float]) -> None:
    """10 MiB in chunks of 3 MiB are four steps; a file that its fsync writes is not split. The last one ends the file."""
    steps = split_at_halts([Step(10 * MIB, 1.0, 10 * MIB, ends_file=True)], 3 * MIB, whole_files=whole_files)

    assert [s.write_bytes / MIB for s in steps] == writes
    assert [s.ends_file for s in steps] == [False, False, False, True]
    assert totals(steps) == pytest.approx((10 * MIB, 1.0, 10 * MIB))


# --- on the machine ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "expected_s"),
    [({}, 0.5), ({"overlap_reads": True}, 0.4), ({"overlap_reads": True, "overlap_writes": True}, 0.4)],
    ids=["direct", "read_ahead", "both"],
)
def test_direct_reads_and_writes_do_not_overlap_with_computing(style: dict[str, Any], expected_s: float) -> None:
    """A thread reads, computes and writes in turn; buffered reads arrive while it computes."""
    seconds, progress = run(plain_machine(simpy.Environment(), **style), [[READ_COMPUTE_WRITE]])

    assert seconds == pytest.approx(expected_s)
    assert (progress.steps, progress.read_bytes, progress.write_bytes) == (1, 10 * MIB, 20 * MIB)


def test_buffered_writes_proceed_while_a_flush_computes() -> None:
    """A step without reads takes the longer of computing and writing, with bytes_per_sync; else the sum."""
    step = Step(0.0, 0.2, 30 * MIB)

    assert run(plain_machine(simpy.Environment(), overlap_writes=True), [[step]])[0] == pytest.approx(0.3)
    assert run(plain_machine(simpy.Environment()), [[step]])[0] == pytest.approx(0.5)


def test_buffered_writes_proceed_beside_a_rate_limiter() -> None:
    """A limiter that never waits costs only the write of the last portion: computing hides the writes of all others."""
    env = simpy.Environment()
    rules = RateLimiter(RocksDbOptions(rate_limiter_bytes_per_sec=400 * int(MIB)), Version(7, 5))
    machine = plain_machine(env, limiter=LimiterStation(env, rules, np.random.default_rng(1)), overlap_writes=True)

    assert run(machine, [[Step(0.0, 0.3, 30 * MIB)]])[0] == pytest.approx(0.3 + 0.1)


def test_a_job_ends_with_its_slowest_thread() -> None:
    """Two subcompactions on one core share core and device; their waits are those of both threads."""
    machine = plain_machine(simpy.Environment(), cores=1.0)
    seconds, progress = run(machine, [[Step(0.0, 1.0, 0.0)], [Step(0.0, 2.0, 0.0)]])

    assert seconds == pytest.approx(3.0)
    assert progress.waits.core_wait_s == pytest.approx(1.0 + 1.0)


def test_waits_add_up_to_the_time_of_the_job() -> None:
    """Computing, waits for device and limiter are the whole time; the device's part alone is that on the idle device."""
    env = simpy.Environment()
    options = RocksDbOptions(rate_limiter_bytes_per_sec=50_000_000)
    limiter = LimiterStation(env, RateLimiter(options, Version(8, 6)), np.random.default_rng(1))
    machine = plain_machine(env, limiter=limiter)
    machine.device.write(1000 * MIB, Consumer.FLUSH)
    seconds, progress = run(machine, [[READ_COMPUTE_WRITE] * 3])
    waits = progress.waits

    assert waits.limiter_wait_s > 0.1
    assert waits.device_s == pytest.approx(3 * (0.1 + 0.4))
    assert waits.device_alone_s == pytest.approx(3 * (0.1 + 0.2))
    assert seconds == pytest.approx(3 * 0.2 + waits.device_s + waits.limiter_wait_s + waits.core_wait_s)


def test_a_closed_gate_stops_a_job_between_two_steps() -> None:
    """Closed during the first of three steps, open at 2 s: the second step begins then."""
    env = simpy.Environment()
    gate = Gate(env, lambda: None)

    def halt() -> Events:
        yield env.timeout(0.1)
        gate.close()
        yield env.timeout(1.9)
        gate.open()

    env.process(halt())
    assert run(plain_machine(env), [[READ_COMPUTE_WRITE] * 3], gate)[0] == pytest.approx(2.0 + 2 * 0.5)


def test_a_full_device_ends_a_job_with_the_bytes_that_had_room() -> None:
    """Of three writes of 20 MiB with room for 50, the third writes 10 MiB and fails; deleting them frees the room."""
    machine = plain_machine(simpy.Environment())
    machine.space.limit_bytes = 50 * MIB
    _, progress = run(machine, [[READ_COMPUTE_WRITE] * 5])

    assert (progress.failure, progress.steps) == (WriteFailure.NO_SPACE, 3)
    assert progress.write_bytes == pytest.approx(50 * MIB)
    machine.discard(progress.write_bytes)
    assert machine.space.free_bytes == pytest.approx(50 * MIB)


def test_the_share_of_a_job_that_is_done() -> None:
    """By bytes written, or by steps for a job that writes nothing."""
    writing, reading = [[READ_COMPUTE_WRITE] * 4], [[Step(MIB, 0.1, 0.0)] * 5]
    progress = StepProgress()
    progress.done(READ_COMPUTE_WRITE)

    assert (progress.share_of(writing), progress.share_of(reading)) == (0.25, 0.2)

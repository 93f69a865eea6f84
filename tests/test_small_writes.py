"""The small write of an fsync behind a cap passes while there is an allowance, else waits for the next slice."""

from __future__ import annotations

import pytest
import simpy
from lsmlab.models.devices.capped import FILE_PIECES, FILE_WRITES, IO_BYTES, SYNC_WRITES
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.machine.machine import Consumer, Events
from lsmlab.sim.machine.steps import Step, StepProgress, flush_steps, with_file_ends
from plain_machine import capped_machine

MB = 1e6


CAP = {"write_cap": "80MB/s"}


@pytest.mark.parametrize(("beside_mb", "expected_s"), [(0.0, 0.05), (4.0, 0.05), (12.0, 0.1)])
def test_a_commit_waits_if_the_allowance_is_used_up(beside_mb: float, expected_s: float) -> None:
    """A commit at 50 ms ends with the next slice if another write used up the slice's 8 MB, else immediately."""
    env = simpy.Environment()
    machine = capped_machine(env, CAP)
    ended: list[float] = []

    def job() -> Events:
        yield env.timeout(0.05)
        yield from machine.commit()
        ended.append(env.now)

    env.process(job())
    if beside_mb:
        machine.device.write(beside_mb * MB, Consumer.DEEPER)
    env.run(until=1.0)

    fsync_s = machine.device.device.fsync_s(machine.device.state)
    assert ended == pytest.approx([expected_s + fsync_s], abs=2e-3)


def test_every_output_file_has_an_fsync() -> None:
    """A job with two files writes three more pages for each file and three for their directory (decision 0024)."""
    env = simpy.Environment()
    machine = capped_machine(env, CAP)
    steps = with_file_ends([Step(0.0, 0.0, 0.5 * MB)] * 4, [1.2 * MB, 0.8 * MB])

    def job() -> Events:
        yield from machine.run_steps(steps, Consumer.DEEPER, Priority.LOW, StepProgress())
        yield from machine.finish_files(2)

    env.run(env.process(job()))
    machine.device.settle()

    assert machine.device.write_bytes == pytest.approx(2 * MB + (2 * FILE_WRITES + SYNC_WRITES) * 4096.0)


def test_a_cap_on_operations_counts_fsyncs_and_deletions() -> None:
    """Three commits (3 operations each) and a deletion (2) use up a slice's 10 operations; the next commit waits."""
    env = simpy.Environment()
    machine = capped_machine(env, {"iops_cap": 100, "file_discards": 2})
    ended: list[float] = []
    file = SortedFile(1, 1, 1, 1000)

    def job() -> Events:
        for number in range(4):
            yield from machine.commit()
            ended.append(env.now)
            if number == 2:
                machine.deleted([file])

    env.run(env.process(job()))

    assert all(at_s < 0.05 for at_s in ended[:3])
    fsync_s = machine.device.device.fsync_s(machine.device.state)
    assert ended[3] == pytest.approx(0.1 + fsync_s, abs=2e-3)


def test_flushes_under_a_cap_on_operations() -> None:
    """A flush of 4 MiB has 8.9 writes of 470 kB, 4 for its file and 6 for directory and manifest: 26 per second."""
    env = simpy.Environment()
    machine = capped_machine(env, {"iops_cap": 500})
    flushes = 0

    def jobs() -> Events:
        nonlocal flushes
        while True:
            steps = with_file_ends(flush_steps(0.0, 4 * 2.0**20, 2.0**20), [4 * 2.0**20])
            yield from machine.run_steps(steps, Consumer.FLUSH, Priority.HIGH, StepProgress())
            yield from machine.finish_files(1)
            yield from machine.commit()
            flushes += 1

    env.process(jobs())
    env.run(until=10.0)

    assert flushes == pytest.approx(10 * 500 / (4 * 2.0**20 / IO_BYTES + FILE_PIECES + FILE_WRITES + 2 * SYNC_WRITES), rel=0.03)


def test_file_ends_are_marked_in_the_step_that_writes_them() -> None:
    """Of four steps of 0.5 MB, a 1.2 MB file ends in the third and a 0.8 MB file in the fourth; a flush in its last."""
    ends = [step.ends_file for step in with_file_ends([Step(0.0, 0.0, 0.5 * MB)] * 4, [1.2 * MB, 0.8 * MB])]
    flush = [step.ends_file for step in with_file_ends(flush_steps(1.0, 3 * MB, MB), [3 * MB])]

    assert ends == [False, False, True, True]
    assert flush == [False, False, True]


def test_small_writes_pass_together_or_not_at_all() -> None:
    """Three pages fit into an allowance of 10 pages and are three writes; then eight do not fit, and seven do."""
    machine = capped_machine(simpy.Environment(), {"write_cap": 10 * 4096.0 / 0.1})
    device = machine.device

    assert [device.small_writes_pass(count, Consumer.FLUSH) for count in (3, 8, 7, 1)] == [True, False, True, False]
    assert device.write_bytes == 10 * 4096.0
    assert len(device.log.rows) == 4 * 10

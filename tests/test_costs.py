"""The cost model: a run and a fit evaluate the same formulas."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from lsmlab.models.costs.cores import client_wake_up, core_share, slowdown, wake_ups
from lsmlab.models.costs.cost import contribution, fsyncs, lone_request_s, reads, writes
from lsmlab.models.costs.host import Host, priors_of
from lsmlab.models.costs.jobs import compaction_cpu, deletions, file_ends, flush_cpu, job_start
from lsmlab.models.costs.operations import (
    Searched,
    coreless_share,
    group_share,
    group_wake_ups,
    handover,
    point_read_cpu,
    scan_cpu,
    synced_group,
    wal_fsync_factor,
    write_cpu,
)
from lsmlab.validation.calibrate.solve import FitConstant, solve
from lsmlab.validation.calibrate.terms import DurationRow, design, linear

HOST = Host(**{f.name: 1e-6 * (number + 1) for number, f in enumerate(fields(Host)) if f.name != "cores"})
"""Each constant has a different value, and none is 0."""
SEARCHED = Searched(
    memtables=1.6, doublings=2.0, runs=5.2, indexes=2.5, index_doublings=3.5, block_doublings=1.3, blocks=1.1,
    calls=0.9, requests=0.4, block_bytes=2048.0, decompress_bytes=4096.0, opens=0.3,
)  # fmt: skip
COSTS = {
    "flush": flush_cpu(HOST, entries_in=1e5, entries_out=8e4, raw_bytes=1e7, compress_bytes=1e7, file_bytes=9e6),
    "compaction": compaction_cpu(
        HOST, entries_in=1e5, entries_out=7e4, raw_bytes=1e7, runs=9, checked_entries=7e4, compress_bytes=1e7,
        decompress_bytes=1e7, file_bytes=2e7, slept_files=3, input_files=9, buffer_bytes=1e7,
    ),
    "write": write_cpu(216.0, logged=True, statistics=True, memtable_bytes=2.0**29),
    "point read": point_read_cpu(SEARCHED, HOST),
    "scan": scan_cpu(SEARCHED, HOST, entries=40.0),
    "job": job_start() + file_ends(4) + deletions(5, 3e8, 1e8),
    "waits": wake_ups(64.0, 0.4) + client_wake_up(0.4) + handover(2),
}  # fmt: skip


@pytest.mark.parametrize("name", COSTS)
def test_a_run_and_a_fit_agree(name: str) -> None:
    """The seconds of a cost in a run equal the counts of a fit times the constants."""
    cost = COSTS[name]
    counts = cost.counts()
    from_counts = sum(contribution(key, count, getattr(HOST, key.removeprefix("host."))) for key, count in counts.items())

    assert all(counts.values()), "every constant is counted"
    assert from_counts == pytest.approx(cost.seconds(HOST), rel=1e-12)
    assert from_counts == pytest.approx(cost.seconds_at({}, HOST), rel=1e-12)
    assert 2.5 * from_counts == pytest.approx(cost.times(2.5).seconds(HOST), rel=1e-12)


def test_every_constant_of_a_duration_is_in_a_formula() -> None:
    """Every fitted constant appears in one of these costs, except those with formulas of their own elsewhere."""
    counted = {key.removeprefix("host.") for cost in COSTS.values() for key in cost.counts()}
    elsewhere = {"sleep_step", "interrupt_every", "interrupt"}

    assert elsewhere == priors_of(Host).keys() - counted


def test_requests_add_up() -> None:
    """Four writes of 1 MiB, two reads of 2 MiB and two fsyncs, one after the other, take the sum of their times."""
    cost = writes(4 * 2.0**20, 4) + reads(2 * 2.0**21, 2) + fsyncs(2)
    values = {
        "device.write_bandwidth": 1e9, "device.write_latency": 20e-6, "device.read_bandwidth": 2e9,
        "device.read_latency": 80e-6, "device.fsync_latency": 1e-3,
    }  # fmt: skip

    expected = 4 * lone_request_s(2.0**20, 20e-6, 1e9) + 2 * lone_request_s(2.0**21, 80e-6, 2e9) + 2e-3
    assert expected == pytest.approx(cost.seconds_at(values, HOST))
    assert expected == pytest.approx(sum(contribution(key, count, values[key]) for key, count in cost.counts().items()))


def test_constants_without_fit_keep_the_value_of_the_machine() -> None:
    """Checksums of 20 MB at 1 ns per byte are a fixed 20 ms, which the fit does not assign to other constants."""
    cost = compaction_cpu(Host(), entries_in=1e5, entries_out=1e5, raw_bytes=1e7, file_bytes=2e7)

    columns, fixed_s = design([(cost, Host(checksum_byte=1e-9))])

    assert "host.checksum_byte" not in columns
    assert [0.02] == pytest.approx(fixed_s.tolist())


def test_compressed_files_take_less_time_per_byte() -> None:
    """Files of 0.4 of their raw bytes save three fifths of the share of a byte's time that follows files; entries do not."""
    jobs = (
        flush_cpu(HOST, entries_in=1e5, entries_out=1e5, raw_bytes=1e7, compression_ratio=0.4),
        compaction_cpu(HOST, entries_in=1e5, entries_out=1e5, raw_bytes=1e7, compression_ratio=0.4),
    )

    for name, file_share, job in zip(("flush", "compaction"), (0.4, 0.6), jobs, strict=True):
        assert job.counts()[f"host.{name}_byte"] == pytest.approx((1.0 - 0.6 * file_share) * 1e7)
        assert job.counts()[f"host.{name}_record"] == 1e5


def test_dropped_entries_cost_a_fifth() -> None:
    """A compaction that drops all entries counts 22 % of them (docs/decisions/0011)."""
    counts = compaction_cpu(HOST, entries_in=1e5, entries_out=0.0, raw_bytes=1e7).counts()

    assert counts["host.compaction_record"] == pytest.approx(2.2e4)


def test_a_constant_in_a_formula_is_estimated() -> None:
    """A constant that the costs count is a key of the equation, and its value is recovered."""
    rng = np.random.default_rng(1)
    host, rows = Host(), []
    for number in range(60):
        entries, files = rng.uniform(1e5, 4e5), float(1 + number % 7)
        cost = compaction_cpu(
            host, entries_in=entries, entries_out=entries, raw_bytes=entries * (116, 1016)[number % 2], slept_files=files
        )
        seconds = cost.seconds(Host(compaction_record=0.2e-6, compaction_byte=1e-9, cold_start=8e-3))
        rows.append(DurationRow(cost, host, seconds, str(number % 6)))
    equation = linear("CPU", rows, 0.1)

    assert equation is not None
    assert {"host.compaction_record", "host.compaction_byte", "host.cold_start"} <= set(equation.keys)
    priors = priors_of(Host)
    constants = [FitConstant(key, *priors[key.removeprefix("host.")]) for key in equation.keys]
    assert 8e-3 == pytest.approx(solve(constants, [equation]).values["host.cold_start"], rel=0.02)


def test_threads_share_cores_and_slow_each_other_down() -> None:
    """Four threads on two cores get half a core each and one running neighbour; a thread alone gets a whole core."""
    assert 1.1 == pytest.approx(slowdown(4.0, 2.0, 0.1))
    assert 0.5 / 1.1 == pytest.approx(core_share(4.0, 2.0, 0.1))
    assert [1.0, 1.0] == [core_share(1.0, 2.0, 0.1), core_share(0.0, 2.0, 0.1)]
    assert 1.0 == slowdown(4.0, 0.5, 0.1), "with less than one core no other thread runs at the same time"


@pytest.mark.parametrize(("writers", "share"), [(1, 1.0), (2, 0.74), (8, 0.74)])
def test_group_commit_is_as_fast_as_its_serial_part(writers: int, share: float) -> None:
    """Several writers follow each other after the serial part of a write, a single writer after the whole write."""
    assert share == group_share(writers, 0.0)


@pytest.mark.parametrize(
    ("writers", "background", "share"),
    [(1, 3.0, 1.0), (2, 0.0, 0.74), (2, 0.5, 0.87), (2, 1.0, 1.0), (4, 0.0, 1.0), (16, 0.0, 1.0)],
)
def test_writers_without_a_core_write_one_after_the_other(writers: int, background: float, share: float) -> None:
    """On two cores a third thread takes away what a second writer gains, and further writers change nothing."""
    assert share == pytest.approx(group_share(writers, coreless_share(writers, background, 2.0)))


@pytest.mark.parametrize(("writers", "served"), [(1, 1.0), (2, 1.18), (4, 2.37), (8, 4.36), (12, 6.16)])
def test_an_fsync_serves_half_of_the_synced_writers_and_a_quick_one(writers: int, served: float) -> None:
    """Two groups take turns; "writes per sync" in LOGs of db_bench with values of 100 bytes."""
    assert served == pytest.approx(synced_group(writers), rel=0.06)


@pytest.mark.parametrize(
    ("writers", "value_bytes", "measured_us"),
    [(1, 2000, 180), (1, 4000, 226), (2, 100, 146), (4, 100, 178), (8, 100, 206), (8, 1000, 263), (4, 4000, 256)],
)
def test_the_time_of_a_synced_group(writers: int, value_bytes: int, measured_us: float) -> None:
    """An fsync of 134 us, longer if it reaches a new block, and a wake-up per thread (benchmarks/synced_writes.py)."""
    fsync_us = 134.0 * wal_fsync_factor(synced_group(writers) * (value_bytes + 36))

    assert fsync_us + 1e6 * group_wake_ups(writers).seconds(Host()) == pytest.approx(measured_us, rel=0.1)


def test_bytes_beyond_a_block_cost_less() -> None:
    """An entry of four blocks costs one block and three blocks at the share of large bytes; one of a block costs all."""
    host = Host(flush_record=0.0, flush_byte=1e-9, compaction_record=0.0, compaction_byte=1e-9)
    for job in (flush_cpu, compaction_cpu):
        small = job(host, entries_in=10.0, entries_out=10.0, raw_bytes=10 * 4096.0).seconds(host)
        large = job(host, entries_in=10.0, entries_out=10.0, raw_bytes=40 * 4096.0).seconds(host)
        wide = job(host, entries_in=10.0, entries_out=10.0, raw_bytes=40 * 4096.0, block_bytes=4 * 4096.0).seconds(host)
        assert (10 * 4096e-9, 2.2) == (pytest.approx(small), pytest.approx(large / small))
        assert 4.0 == pytest.approx(wide / small)

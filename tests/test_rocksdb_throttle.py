"""RocksDB's stall conditions, delayed write rate and delay bucket (behaviour/write-stalls.md, Write stalls)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import StallCause, StallInputs, ThrottleState
from lsmlab.models.policies.rocksdb.delay import DelayBucket, get_delay, sleep_shares
from lsmlab.models.policies.rocksdb.throttle import MIN_RATE, RocksDbThrottle
from lsmlab.models.version import Version

V57, V78, V98 = Version(5, 7), Version(7, 8), Version(9, 8)
OPTIONS = RocksDbOptions(
    max_write_buffer_number=5,
    soft_pending_compaction_bytes_limit=10**8,
    hard_pending_compaction_bytes_limit=2 * 10**8,
    delayed_write_rate=8 << 20,
)
LOGGED = RocksDbThrottle(OPTIONS, V78)
"""Options of the run with the listed stall lines (behaviour/log-and-statistics.md, Stall lines)."""


def delayed(rate: int, previous: int = 10**8) -> ThrottleState:
    """Return a state in which writes are delayed."""
    return ThrottleState(StallCause.PENDING_SLOWDOWN, rate, previous, pressure=False)


def test_excerpt_of_a_real_log() -> None:
    """The recorded stall lines follow in their order: after a stop, recovery, memtable delay, a flush, a switch.

    Source: (behaviour/log-and-statistics.md, Stall lines).
    """
    state = ThrottleState(StallCause.PENDING_STOP, 8_388_608, 200_000_000, pressure=False)
    lines = []
    for inputs in (
        StallInputs(1, 3, 102_949_783),
        StallInputs(0, 3, 94_252_252),
        StallInputs(4, 3, 94_252_252),
        StallInputs(3, 4, 108_842_149),
        StallInputs(3, 4, 108_842_149),
    ):
        state = LOGGED.recompute(state, inputs)
        lines.append(state.line)
    assert lines == [
        "Stalling writes because of estimated pending compaction bytes 102949783 rate 8388608",
        "Increasing compaction threads because of estimated pending compaction bytes 94252252",
        "Stalling writes because we have 4 immutable memtables (waiting for flush), max_write_buffer_number is set to 5"
        " rate 8388608",
        "Stalling writes because of estimated pending compaction bytes 108842149 rate 6710886",
        "Stalling writes because of estimated pending compaction bytes 108842149 rate 5368708",
    ]


@pytest.mark.parametrize(
    ("inputs", "cause", "line"),
    [
        (
            StallInputs(5, 99, 10**12),
            StallCause.MEMTABLE_STOP,
            "Stopping writes because we have 5 immutable memtables (waiting for flush), "
            "max_write_buffer_number is set to 5",
        ),
        (StallInputs(4, 36, 10**12), StallCause.L0_STOP, "Stopping writes because we have 36 level-0 files"),
        (
            StallInputs(4, 35, 2 * 10**8),
            StallCause.PENDING_STOP,
            "Stopping writes because of estimated pending compaction bytes 200000000",
        ),
        (
            StallInputs(4, 35, 10**8),
            StallCause.MEMTABLE_SLOWDOWN,
            "Stalling writes because we have 4 immutable memtables (waiting for flush), "
            "max_write_buffer_number is set to 5 rate 8388608",
        ),
        (
            StallInputs(3, 20, 10**8),
            StallCause.L0_SLOWDOWN,
            "Stalling writes because we have 20 level-0 files rate 8388608",
        ),
        (
            StallInputs(3, 19, 10**8),
            StallCause.PENDING_SLOWDOWN,
            "Stalling writes because of estimated pending compaction bytes 100000000 rate 8388608",
        ),
        (StallInputs(3, 8, 0), None, "Increasing compaction threads because we have 8 level-0 files "),
        (
            StallInputs(3, 7, 25_000_000),
            None,
            "Increasing compaction threads because of estimated pending compaction bytes 25000000",
        ),
        (StallInputs(3, 7, 24_999_999), None, None),
    ],
)
def test_stall_conditions(inputs: StallInputs, cause: StallCause | None, line: str | None) -> None:
    """The first true condition applies, stops before slowdowns, and its line is RocksDB's.

    Sources: (behaviour/write-stalls.md, Stall conditions) and (behaviour/log-and-statistics.md, Stall lines).
    """
    state = LOGGED.recompute(LOGGED.initial(), inputs)
    assert (cause, line) == (state.cause, state.line)
    assert (cause is None and line is not None) == state.pressure
    assert (line is not None) == state.speedup


def test_memtable_delay_needs_more_than_three_buffers() -> None:
    """With two or three buffers, there are memtable stops but no memtable slowdowns."""
    for buffers in (2, 3):
        throttle = RocksDbThrottle(replace(OPTIONS, max_write_buffer_number=buffers), V78)
        causes = [throttle.cause(StallInputs(n, 0, 0)) for n in range(buffers + 1)]
        assert [None] * buffers + [StallCause.MEMTABLE_STOP] == causes


def test_memtables_waiting_to_be_merged_cause_no_delay() -> None:
    """Memtables that wait for min_write_buffer_number_to_merge cause no delay, except up to 6.18.

    Flink's stores have four memtables and merge three (facebook/rocksdb pull request 7921).
    """
    merging = replace(OPTIONS, max_write_buffer_number=4, min_write_buffer_number_to_merge=3)
    releases = ("5.7", "5.17", "6.18", "6.19", "7.8")
    causes = {v: RocksDbThrottle(merging, Version.parse(v)).cause(StallInputs(3, 0, 0)) for v in releases}
    delays = StallCause.MEMTABLE_SLOWDOWN
    assert causes == {"5.7": delays, "5.17": delays, "6.18": delays, "6.19": None, "7.8": None}


def test_disabled_compactions() -> None:
    """With disable_auto_compactions, only memtables stall writes, and the rate is the maximum."""
    throttle = RocksDbThrottle(replace(OPTIONS, disable_auto_compactions=True), V78)
    assert throttle.cause(StallInputs(0, 99, 10**12)) is None
    assert throttle.recompute(delayed(10**6), StallInputs(4, 0, 10**9)).rate_bytes_per_s == 8 << 20


@pytest.mark.parametrize(
    ("state", "inputs", "rate"),
    [
        (delayed(1_407_372, 150_000_000), StallInputs(1, 0, 144_003_440), 1_759_215),  # recorded: pending bytes fell
        (delayed(10**6), StallInputs(1, 0, 10**8), 800_000),  # equal pending bytes slow down too
        (delayed(10**6, 0), StallInputs(1, 25, 0), 10**6),  # no pending bytes: the rate stays
        (delayed(10**6), StallInputs(1, 0, 175_000_001), 600_000),  # beyond three quarters of the way to the stop
        (delayed(10**6), StallInputs(1, 0, 175_000_000), 800_000),
        (delayed(10**6), StallInputs(1, 34, 99_000_000), 600_000),  # two L0 files before the stop
        (delayed(10**6), StallInputs(1, 33, 99_000_000), 1_250_000),
        (delayed(8_000_000), StallInputs(1, 0, 10**8 - 1), 8 << 20),  # no stall: times 1.4, at most the maximum
        (delayed(10**6), StallInputs(1, 0, 10**8 - 1), 1_400_000),
        (delayed(1 << 20, 2 * 10**8), StallInputs(1, 0, 10**8), 1_310_720),
        (delayed(17_000), StallInputs(1, 0, 10**8), MIN_RATE),  # the floor
        (ThrottleState(StallCause.PENDING_STOP, 2_758_442, 2 * 10**8, False), StallInputs(1, 0, 10**8), 2_758_442),
        (ThrottleState(StallCause.PENDING_STOP, 2_758_442, 2 * 10**8, False), StallInputs(1, 0, 0), 2_758_442),
        (ThrottleState(None, 2_758_442, 0, False), StallInputs(1, 0, 10**8), 2_758_442),  # a new delay keeps the rate
    ],
)
def test_rates(state: ThrottleState, inputs: StallInputs, rate: int) -> None:
    """Each step of SetupDelay changes the rate as in RocksDB; stops and first delays do not change it.

    Source: (behaviour/write-stalls.md, Delayed write rate).
    """
    after = LOGGED.recompute(state, inputs)
    assert rate == after.rate_bytes_per_s
    assert inputs.pending_bytes == after.previous_pending_bytes


def test_worked_decay() -> None:
    """Ten memtables filled during a delay lower 16 MiB/s to 1.7 MiB/s; the floor is reached after 32 steps.

    Source: (behaviour/write-stalls.md, Delayed write rate).
    """
    throttle = RocksDbThrottle(RocksDbOptions(), V78)
    state, rates = throttle.initial(), []
    for _ in range(33):
        state = throttle.recompute(state, StallInputs(1, 20, 10**9))
        rates.append(state.rate_bytes_per_s)
    assert rates[0] == 16 << 20
    assert round(rates[10] / 2**20, 1) == 1.7
    assert rates[31] > MIN_RATE
    assert rates[32] == MIN_RATE


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40), st.integers(0, 3 * 10**8)), max_size=60))
def test_rate_stays_in_bounds(steps: list[tuple[int, int, int]]) -> None:
    """The rate always stays between floor and maximum, and stops never change it."""
    state = LOGGED.initial()
    for immutables, l0_files, pending in steps:
        before = state
        state = LOGGED.recompute(state, StallInputs(immutables, l0_files, pending))
        assert MIN_RATE <= state.rate_bytes_per_s <= 8 << 20
        assert not state.stopped or before.rate_bytes_per_s == state.rate_bytes_per_s


@pytest.mark.parametrize(
    ("version", "bottommost", "expected"),
    [
        ("7.8", 4 << 30, 16 << 30),
        ("8.9", 4 << 30, 16 << 30),
        ("8.10", 4 << 30, 16 << 30),  # eight times the bytes at the bottom, by mistake
        ("8.10", 1 << 30, 8 << 30),
        ("8.11", 4 << 30, 512 << 20),  # an eighth of them
        ("8.11", 1 << 30, 128 << 20),
        ("9.7", 1 << 30, 128 << 20),
        ("9.8", 1 << 30, 512 << 20),  # at least twice max_bytes_for_level_base
        ("9.8", 0, 16 << 30),
        ("11.8", 1 << 40, 16 << 30),  # at most a quarter of the soft limit
    ],
)
def test_pressure_threshold(version: str, bottommost: int, expected: int) -> None:
    """Pending bytes from which compactions run in parallel, by version (behaviour/write-stalls.md, Pressure)."""
    assert expected == RocksDbThrottle(RocksDbOptions(), Version.parse(version)).pressure_pending_bytes(bottommost)


def test_pressure_without_a_soft_limit() -> None:
    """With a soft limit of 0, compactions always run in parallel, without a line."""
    unlimited = replace(OPTIONS, soft_pending_compaction_bytes_limit=0, hard_pending_compaction_bytes_limit=0)
    throttle = RocksDbThrottle(unlimited, V78)
    state = throttle.recompute(throttle.initial(), StallInputs(0, 0, 0))
    assert (state.pressure, state.line) == (True, None)


@pytest.mark.parametrize(("trigger", "slowdown", "expected"), [(4, 20, 8), (4, 12, 6), (2, 40, 4), (8, 8, 8)])
def test_pressure_files(trigger: int, slowdown: int, expected: int) -> None:
    """Number of L0 files from which compactions run in parallel (behaviour/write-stalls.md, Pressure)."""
    options = replace(OPTIONS, level0_file_num_compaction_trigger=trigger, level0_slowdown_writes_trigger=slowdown)
    throttle = RocksDbThrottle(options, V78)
    assert expected == throttle.pressure_l0_files


# ---- the delay bucket ----


def test_bucket_by_hand() -> None:
    """At 1 MB/s, the first group gets one millisecond's credit; later ones wait for theirs, at least 1 ms.

    Source: (behaviour/write-stalls.md, Delay bucket).
    """
    rate, now = 1_000_000, 10_000
    bucket, sleep = get_delay(DelayBucket(), 400, now, rate, V78)
    assert (DelayBucket(600, 11_000), 0) == (bucket, sleep)
    bucket, sleep = get_delay(bucket, 500, now, rate, V78)
    assert (DelayBucket(100, 11_000), 0) == (bucket, sleep)
    bucket, sleep = get_delay(bucket, 600, now, rate, V78)  # 500 short: 500 us after the next refill
    assert (DelayBucket(0, 11_500), 1500) == (bucket, sleep)
    bucket, sleep = get_delay(bucket, 100, 11_500, rate, V78)
    assert (DelayBucket(900, 12_500), 0) == (bucket, sleep)
    bucket, sleep = get_delay(bucket, 3000, 62_500, rate, V78)  # idle time is credited in full
    assert (DelayBucket(48_900, 63_500), 0) == (bucket, sleep)


def test_old_bucket_by_hand() -> None:
    """In 5.7, a group within one interval's refill sleeps 1024 us, a larger one its size divided by the rate.

    Source: (behaviour/write-stalls.md, Delay bucket).
    """
    rate, now = 1_000_000, 10_000
    bucket, sleep = get_delay(DelayBucket(), 400, now, rate, V57)
    assert (DelayBucket(624, 11_024), 1024) == (bucket, sleep)
    bucket, sleep = get_delay(bucket, 5000, now, rate, V57)  # in addition to the unfinished sleep
    assert (DelayBucket(624, 16_024), 6024) == (bucket, sleep)
    bucket, sleep = get_delay(bucket, 2000, 18_024, rate, V57)  # 2 ms idle: 2000 more bytes, enough at once
    assert (DelayBucket(624, 18_024), 0) == (bucket, sleep)


@pytest.mark.parametrize("version", [V57, V78])
@pytest.mark.parametrize(("group", "rate"), [(131, 16 << 20), (1131, 2_199_021), (100_000, 300_000), (5000, 50_000_000)])
def test_bucket_keeps_the_rate(version: Version, group: int, rate: int) -> None:
    """A writer without long idle times gets the delayed rate on average, in both versions of the bucket."""
    bucket, begin = DelayBucket(), 1_000_000
    now, groups = begin, 5000
    for _ in range(groups):
        bucket, sleep = get_delay(bucket, group, now, rate, version)
        now += sleep + 1
    assert groups * group / rate == pytest.approx((now - begin) / 1e6, rel=0.03)


def test_delayed_writers_sleep_in_steps() -> None:
    """Small batches at a high rate sometimes sleep one step; large ones at a low rate always sleep two.

    The sleeps determine the rate: groups per second times their bytes is the delayed rate
    (behaviour/write-stalls.md, Delay bucket).
    """
    small = sleep_shares(8 << 20, 231, 2e-6, 1.06e-3, Version(7, 8))
    assert [1] == [steps for steps, _ in small]
    large = dict(sleep_shares(500_000, 1031, 2e-6, 1.06e-3, Version(7, 8)))
    assert large[2] > 0.9
    for rate, batch in ((8 << 20, 231), (1_000_000, 431), (500_000, 1031)):
        shares = sleep_shares(rate, batch, 2e-6, 1.06e-3, Version(7, 8))
        per_group_s = 2e-6 + sum(steps * share for steps, share in shares) * 1.06e-3
        assert pytest.approx(rate, rel=0.05) == batch / per_group_s

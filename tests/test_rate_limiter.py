"""RocksDB's rate limiter (behaviour/jobs-and-threads.md, Rate limiter)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.rate_limiter import Priority, RateLimiter
from lsmlab.models.policies.rocksdb.scheduler import RocksDbScheduler
from lsmlab.models.policies.scheduling import JobKind, StoreView
from lsmlab.models.version import Version

OLD, NEW = Version(7, 8), Version(8, 3)
USUAL = (0.5, 0.5)
"""Random numbers that keep the usual order USER, HIGH, MID, LOW."""
MB = 1_000_000
LOW, MID, HIGH, USER = Priority.LOW, Priority.MID, Priority.HIGH, Priority.USER


def limited(version: Version, rate: int, **options: Any) -> RateLimiter:
    """Return the limiter of a rate in bytes/s and other options."""
    return RateLimiter(RocksDbOptions(rate_limiter_bytes_per_sec=rate, **options), version)


def drive(limiter: RateLimiter, until_s: float, writers: dict[str, tuple[Priority, int]]) -> dict[str, int]:
    """Let each writer request its step again as soon as it is granted; return the bytes granted until `until_s`."""
    done = dict.fromkeys(writers, 0)
    rng = random.Random(7)

    def ask(now_s: float, name: str) -> None:
        priority, size_bytes = writers[name]
        while limiter.request(now_s, size_bytes, priority, name):
            done[name] += size_bytes

    for name in writers:
        ask(0.0, name)
    while limiter.next_refill_s < until_s:
        now_s = limiter.next_refill_s
        for name in limiter.refill(now_s, (rng.random(), rng.random())):
            done[str(name)] += writers[str(name)][1]
            ask(now_s, str(name))
    return done


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("step_bytes", [4096, 300_000, 1 << 20, 7 * MB])
def test_long_run_rate(version: Version, step_bytes: int) -> None:
    """Saturating writers get the rate, plus at most one refill, for any size of their requests."""
    limiter = limited(version, 20 * MB)
    drive(limiter, 60.0, {"a": (LOW, step_bytes), "b": (LOW, step_bytes), "c": (HIGH, step_bytes)})
    assert 1200 * MB - 2 * limiter.refill_bytes <= sum(limiter.granted_bytes) <= 1200 * MB + limiter.refill_bytes


def test_equal_writers_share_equally() -> None:
    """Writers of one priority alternate by pieces, also if one of them requests much more at a time."""
    limiter = limited(NEW, 20 * MB)
    done = drive(limiter, 60.0, {"a": (LOW, 1 << 20), "b": (LOW, 40 << 20)})
    assert pytest.approx(1.0, abs=0.1) == done["a"] / done["b"]


def test_priority_order_of_a_refill() -> None:
    """USER goes first, then HIGH, MID, LOW; a piece that does not fit is granted in part and keeps its place."""
    limiter = limited(NEW, 10 * MB)
    for priority in Priority:
        assert not limiter.request(0.0, 400_000, priority, priority.name)
    assert limiter.refill(0.0, USUAL) == ["USER", "HIGH"]
    assert limiter.granted_bytes == [0, 200_000, 400_000, 400_000]
    assert limiter.refill(0.1, USUAL) == ["MID", "LOW"]


def test_fairness_changes_the_order() -> None:
    """The first random number puts HIGH behind MID and LOW, the second MID behind LOW, each with chance 1/fairness."""
    orders = {}
    for coins in ((0.05, 0.5), (0.5, 0.05), (0.05, 0.05), (0.1, 0.1)):
        limiter = limited(NEW, 4 * MB)
        for priority in Priority:
            limiter.request(0.0, 100_000, priority, priority.name[0])
        orders[coins] = "".join(str(token) for token in limiter.refill(0.0, coins))
    expected = {(0.05, 0.5): "UMLH", (0.5, 0.05): "UHLM", (0.05, 0.05): "ULMH", (0.1, 0.1): "UHML"}
    assert expected == orders


def test_priority_decides_only_the_queued_pieces() -> None:
    """Priority orders only queued pieces: after one piece each, HIGH and LOW alternate in a refill of ten pieces."""
    limiter = limited(NEW, 100 * MB, writable_file_max_buffer_size=MB)
    limiter.request(0.0, 50 * MB, HIGH, "flush")
    limiter.request(0.0, 50 * MB, LOW, "compaction")
    limiter.refill(0.0, USUAL)
    assert limiter.granted_bytes == [5 * MB, 0, 5 * MB, 0]


def test_idle_credit_is_one_period() -> None:
    """After any idle time, at most the rest of one refill is free, plus one refill at the first wait."""
    limiter = limited(NEW, 10 * MB)
    limiter.request(0.0, 1, LOW, "first")
    assert limiter.refill(0.0, USUAL) == ["first"]
    assert limiter.request(1000.0, MB - 1, LOW, "rest")
    assert not limiter.request(1000.0, MB, LOW, "more")
    assert limiter.refill(1000.0, USUAL) == ["more"]
    assert not limiter.request(1000.0, 1, LOW, "last")
    assert limiter.refill(1000.0, USUAL) == []
    assert limiter.next_refill_s == 1000.1
    assert limiter.refill(1000.1, USUAL) == ["last"]


def test_a_request_takes_a_partial_grant_since_8_3() -> None:
    """Since 8.3 a request takes the available bytes and waits for the rest; before, smaller requests get them."""
    granted = {}
    for version in (OLD, NEW):
        limiter = limited(version, 10 * MB)
        limiter.request(0.0, 600_000, LOW, "first")
        limiter.refill(0.0, USUAL)
        limiter.request(0.0, 500_000, LOW, "second")
        granted[version] = (limiter.granted_bytes[LOW], limiter.available_bytes)
    assert granted == {OLD: (600_000, 400_000), NEW: (MB, 0)}


def test_old_refill_adds_to_the_remainder() -> None:
    """Before 8.3 a refill is added to a remainder that is smaller than a refill."""
    limiter = limited(OLD, 10 * MB)
    limiter.request(0.0, 600_000, LOW, "first")
    limiter.refill(0.0, USUAL)
    limiter.request(0.0, 500_000, LOW, "second")
    assert limiter.refill(0.1, USUAL) == ["second"]
    assert limiter.available_bytes == 900_000


def test_drains_count_the_waits_for_a_refill() -> None:
    """Each refill with a waiting request counts as a drain; a refill at the time of the request does not."""
    limiter = limited(NEW, 10 * MB)
    limiter.request(0.0, 3 * MB, LOW, "a")
    assert limiter.drains == 0
    assert [limiter.refill(t, USUAL) for t in (0.0, 0.1, 0.2)] == [[], [], ["a"]]
    assert limiter.drains == 2


@pytest.mark.parametrize(
    ("drains", "rate"),
    [(0, 5 * MB), (49, 47_619_047), (50, 50 * MB), (90, 50 * MB), (91, 52_500_000), (100, 52_500_000)],
)
def test_auto_tune(drains: int, rate: int) -> None:
    """Auto-tuning starts at half the maximum and changes the rate every 100 periods by the share of drained ones."""
    limiter = limited(NEW, 100 * MB, rate_limiter_auto_tuned=True)
    assert limiter.rate_bytes_per_s == 50 * MB
    limiter.drains = drains
    limiter.request(9.9, 0, LOW, "early")
    assert limiter.rate_bytes_per_s == 50 * MB
    limiter.request(10.0, 0, LOW, "due")
    assert limiter.rate_bytes_per_s == rate


def test_auto_tune_stays_within_its_range() -> None:
    """Under saturation, the rate rises to its maximum; with single requests, it falls to a twentieth."""
    limiter = limited(NEW, 100 * MB, rate_limiter_auto_tuned=True)
    drive(limiter, 300.0, {"a": (LOW, MB)})
    assert limiter.rate_bytes_per_s == 100 * MB
    limiter.request(1000.0, 0, LOW, "b")
    limiter.request(2000.0, 0, LOW, "c")
    assert limiter.rate_bytes_per_s == 5 * MB


def test_refill_before_its_time_does_nothing() -> None:
    """A refill that is not due, or without a waiting request, grants nothing."""
    limiter = limited(NEW, 10 * MB)
    assert limiter.refill(0.0, USUAL) == []
    limiter.request(0.0, 2 * MB, LOW, "a")
    limiter.refill(0.0, USUAL)
    assert limiter.refill(0.05, USUAL) == []
    assert limiter.granted_bytes[LOW] == MB


def test_a_rate_of_zero_is_refused() -> None:
    """A rate of 0 raises InputError."""
    with pytest.raises(InputError, match="must be positive"):
        limited(NEW, 0)


def test_limiter_of_the_scheduler() -> None:
    """Rate 0 makes no limiter; else rate and period apply, and an auto-tuned limiter starts at half of the maximum."""
    assert RocksDbScheduler(RocksDbOptions(), OLD).limiter() is None
    options = RocksDbOptions(
        rate_limiter_bytes_per_sec=20 * MB, rate_limiter_auto_tuned=True, rate_limiter_refill_period_us=50_000
    )
    limiter = RocksDbScheduler(options, OLD).limiter()
    assert limiter is not None
    assert (limiter.rate_bytes_per_s, limiter.refill_bytes) == (10_000_000, 500_000)


def test_urgent_jobs_have_user_priority_since_7_3() -> None:
    """Before 7.3 a write stall does not raise the priority of flushes and compactions."""
    old, new = (RocksDbScheduler(RocksDbOptions(), Version(7, minor)) for minor in (2, 3))
    assert [s.priority(kind, urgent=True) for s in (old, new) for kind in (JobKind.FLUSH, JobKind.DEEP)] == [
        HIGH, LOW, USER, USER
    ]  # fmt: skip


def test_free_slots_of_further_parts() -> None:
    """Parts of a job may take the slots that no other compaction has: none without compaction pressure."""
    scheduler = RocksDbScheduler(RocksDbOptions(max_background_jobs=8), NEW)
    states = [StoreView(compactions=running, speedup=speedup) for running, speedup in ((1, False), (1, True), (6, True))]
    assert [scheduler.free_slots(state) for state in states] == [0, 5, 0]

"""Stations and latency distributions agree with closed forms of queueing theory."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsmlab.sim.clients.arrival_queue import ArrivalQueue
from lsmlab.sim.clients.latency import (
    LatencyDistribution,
    Unstalled,
    erlang_c,
    loglogistic_cdf,
    pieces_below,
    queue_pieces,
    waiting_mixture,
)
from lsmlab.sim.machine.sojourn import mean_sojourn_s


@pytest.mark.parametrize("service", ["exponential", "constant"])
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_shared_core_has_the_mean_of_processor_sharing(service: str, load: float) -> None:
    """The mean time in M/M/1-PS and M/D/1-PS is 1/(1 - load) for both service distributions (99 % interval)."""
    means = [mean_sojourn_s(service, load, 6000, seed) for seed in range(10)]
    half_width = 3.25 * np.std(means, ddof=1) / math.sqrt(len(means))  # t(9), 99 %

    assert np.mean(means) == pytest.approx(1.0 / (1.0 - load), abs=half_width)


def test_erlang_c() -> None:
    """Erlang C of one server is the utilisation; of two servers at 75 % it is 9/14."""
    assert erlang_c(1, 0.37) == pytest.approx(0.37)
    assert erlang_c(2, 0.75) == pytest.approx(9 / 14)


@pytest.mark.parametrize(
    ("spread", "variation", "name"), [(0.0, 0.0, "M/D/1"), (0.67294, 1.0, "M/G/1 with the variation of M/M/1")]
)
@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_open_loop_waits_follow_pollaczek_khinchine(load: float, spread: float, variation: float, name: str) -> None:
    """The mean wait of one thread is load·(1 + cv²)/(2(1 - load)) service times."""
    _, rows = waiting_mixture(Unstalled(1e6, 1e-3, spread), load, 1)
    mean_wait_s = float((rows[:, 1] * rows[:, 2:].mean(axis=1)).sum()) / 1e6

    expected = load * (1.0 + variation) / (2.0 * (1.0 - load)) * 1e-3
    assert mean_wait_s == pytest.approx(expected, rel=0.01), name


@pytest.mark.parametrize("load", [0.2, 0.6])
def test_short_operations_wait_behind_long_ones(load: float) -> None:
    """With half of the operations at 2 us and half at 140 us, all wait as Lindley's recursion gives."""
    rng = np.random.default_rng(1)
    service = np.where(rng.random(400_000) < 0.5, 2e-6, 140e-6)
    mean_s, square = 71e-6, (2e-6**2 + 140e-6**2) / 2.0
    gaps = rng.exponential(mean_s / load, len(service))
    wait_s, waits = 0.0, np.empty(len(service))
    for i, (gap, time_s) in enumerate(zip(gaps.tolist(), service.tolist(), strict=True)):
        wait_s = max(0.0, wait_s - gap)
        waits[i] = wait_s
        wait_s += time_s

    plain, rows = waiting_mixture(Unstalled(1e6, 2e-6, 0.0), load, 1, square / (2.0 * mean_s))

    assert float((rows[:, 1] * rows[:, 2:].mean(axis=1)).sum()) / 1e6 == pytest.approx(waits.mean(), rel=0.03)
    assert 1.0 - plain.count / 1e6 == pytest.approx((waits > 0.0).mean(), rel=0.01)


@pytest.mark.parametrize(("busy_s", "load"), [(0.01, 0.95), (0.05, 0.95), (0.1, 0.8), (30.0, 0.6)])
def test_a_queue_needs_time_to_grow(busy_s: float, load: float) -> None:
    """In short busy periods between quiet ones, the mean wait is that of a simulated queue, within 25 %."""
    service_s, quiet_s, rng = 140e-6, 0.09, np.random.default_rng(2)
    waits: list[float] = []
    now_s = left_s = 0.0
    while len(waits) < 300_000:
        at_s = now_s % (busy_s + quiet_s)
        gap_s = float(rng.exponential(service_s / (load if at_s < busy_s else 0.2)))
        now_s, left_s = now_s + gap_s, max(0.0, left_s - gap_s)
        if now_s % (busy_s + quiet_s) < busy_s:
            waits.append(left_s)
        left_s += service_s
    queue, mean_s, steps = ArrivalQueue(), 0.0, 50
    for _ in range(3):
        mean_s = 0.0
        for _ in range(steps):
            busy = queue.advance(busy_s / steps, load, service_s / 2.0)
            mean_s += busy / (1.0 - busy) * service_s / 2.0 / steps
        queue.advance(quiet_s, 0.2, service_s / 2.0)

    assert mean_s == pytest.approx(float(np.mean(waits)), rel=0.25)
    assert mean_s < 1.01 * load / (1.0 - load) * service_s / 2.0


def test_a_queue_reaches_equilibrium() -> None:
    """After a long time, in one step or many, from above or below, the queue has Pollaczek-Khinchine's length."""
    for before_s in (0.0, 1.0):
        once, often = ArrivalQueue(), ArrivalQueue()
        once.work_s = often.work_s = before_s
        once.advance(1e4, 0.7, 1e-4)
        for _ in range(100):
            often.advance(1e2, 0.7, 1e-4)

        assert once.work_s == pytest.approx(0.7 * 1e-4 / 0.3, rel=2e-3)
        assert often.work_s == pytest.approx(0.7 * 1e-4 / 0.3, rel=2e-3)


@pytest.mark.parametrize("spread", [0.1, 0.36])
def test_unstalled_times_are_log_logistic(spread: float) -> None:
    """Unstalled times have the mean, spread, variation and quantiles of log-logistic samples."""
    part = Unstalled(1.0, 2e-6, spread)
    uniform = (np.arange(2_000_000) + 0.5) / 2_000_000
    times = np.array([part.quantile(0.5)]) * np.exp(spread * math.sqrt(3.0) / math.pi * np.log(uniform / (1.0 - uniform)))

    assert float(times.mean()) == pytest.approx(2e-6, rel=1e-3)
    assert float(np.log(times).std()) == pytest.approx(spread, rel=1e-3)
    assert float(times.var() / times.mean() ** 2) == pytest.approx(part.variation, rel=0.03)
    for q in (0.01, 0.5, 0.99, 0.9999):
        assert part.quantile(q) == pytest.approx(float(np.quantile(times, q)), rel=1e-3)
        assert float(loglogistic_cdf(np.array([part.quantile(q)]), 2e-6, spread)[0]) == pytest.approx(q, abs=1e-9)


def test_delay_of_a_stop_under_constant_arrivals() -> None:
    """With 100 op/s and a stop of 2 s, then 300 op/s, delays fall from 2 s to 0 over the 300 waiting operations."""
    times = np.array([0.0, 5.0, 7.0, 8.0, 10.0])
    arrived = np.array([0.0, 500.0, 700.0, 800.0, 1000.0])
    served = np.array([0.0, 500.0, 500.0, 800.0, 1000.0])
    pieces = queue_pieces(times, arrived, served, np.arange(11.0))
    distribution = LatencyDistribution([], pieces)

    assert distribution.count == pytest.approx(300.0)
    assert distribution.max_s == pytest.approx(2.0, rel=1e-6)
    assert distribution.quantile(0.5) == pytest.approx(1.0, rel=0.02)
    assert distribution.mean_s == pytest.approx(1.0, rel=1e-6)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(1.0, 1e4), st.floats(0.0, 10.0), st.floats(0.0, 10.0)), min_size=1, max_size=20),
    st.floats(1e-7, 1e-2),
)
def test_pieces_count_like_their_definition(rows: list[tuple[float, float, float]], shift: float) -> None:
    """The sorted computation equals the sum of the pieces' uniform distribution functions."""
    pieces = np.array([(0.0, n, low, high) for n, low, high in rows])
    x = np.linspace(0.0, 12.0, 301)
    expected = np.zeros_like(x)
    for _, n, a, b in pieces:
        low, high = min(a, b) + shift, max(a, b) + shift
        middle = 0.5 * (low + high)
        narrow = high <= low * 1.02
        expected += n * ((x >= middle) if narrow else np.clip((x - low) / (high - low), 0.0, 1.0))

    assert pieces_below(pieces, x, shift) == pytest.approx(expected, abs=1e-6 * pieces[:, 1].sum() + 1e-6)


@settings(max_examples=60)
@given(
    st.floats(1.0, 1e7), st.floats(1e-7, 1e-2), st.floats(0.0, 1.5),
    st.lists(st.tuples(st.floats(0.5, 1e4), st.floats(0.0, 50.0)), max_size=8),
)  # fmt: skip
def test_percentiles_are_ordered(
    count: float, mean_s: float, spread: float, delayed: list[tuple[float, float]]
) -> None:
    """For any mix of operations, percentiles increase and end at the maximum."""
    pieces = np.array([(0.0, n, d, d) for n, d in delayed]).reshape(-1, 4)
    summary = LatencyDistribution([Unstalled(count, mean_s, spread)], pieces).summary()
    values = [summary[p] for p in ("p50", "p90", "p95", "p99", "p999", "p9999", "max")]

    assert sorted(values) == values
    assert all(v > 0.0 for v in values)

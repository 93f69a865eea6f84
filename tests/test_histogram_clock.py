"""RocksDB's latency histograms: a clock of whole microseconds, buckets, and linear interpolation inside each."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.sim.clients.latency import QUANTILES, LatencyDistribution, Unstalled
from lsmlab.validation.logs.histogram_clock import bucket_bounds, printed_percentiles, seen_below


def test_a_constant_time_falls_into_two_buckets() -> None:
    """1.3 us is measured as 1 us with probability 0.7, as 2 us with 0.3; the median is at 5/7 of the first bucket."""
    seen = seen_below(lambda x: (x >= 1.3).astype(float), [1, 2, 3])

    assert [0.7, 1.0, 1.0] == pytest.approx(seen.tolist(), abs=0.02)
    printed = printed_percentiles(np.array([1.299e-6, 1.3e-6]), np.array([0.0, 1000.0]), 1.3e-6, {"p50": 0.5, "p85": 0.85})
    assert printed["p50"] == pytest.approx(0.5 / 0.7 * 1e-6, rel=0.02)
    assert printed["p85"] == pytest.approx((1.0 + 0.15 / 0.3) * 1e-6, abs=0.05e-6)


def test_percentiles_are_those_of_the_measured_histogram() -> None:
    """Percentiles equal those of log-logistic writes and a few sleeps after RocksDB's clock and buckets."""
    rng = np.random.default_rng(1)
    part = Unstalled(2e6, 1.6e-6, 0.36)
    pieces = np.array([(0.0, 4000.0, 1.0e-3, 1.1e-3)])
    uniform = rng.uniform(size=2_000_000)
    median = part.quantile(0.5)
    times = np.concatenate(
        (median * (uniform / (1.0 - uniform)) ** (0.36 * 3.0**0.5 / np.pi), rng.uniform(1.0e-3, 1.1e-3, 4000))
    )
    seen = np.floor(times * 1e6 + rng.uniform(size=len(times)))
    bounds = np.array(bucket_bounds()[:60])
    counts = np.bincount(np.searchsorted(bounds, seen, side="left"), minlength=60)

    upper_s, count = LatencyDistribution([part], pieces).histogram()
    found = printed_percentiles(upper_s, count, 1.1e-3, QUANTILES)

    for name, q in QUANTILES.items():
        place = int(np.searchsorted(np.cumsum(counts), q * len(times)))
        low = bounds[place - 1] if place else 0
        before = counts[:place].sum()
        expected = low + (bounds[place] - low) * (q * len(times) - before) / counts[place]
        assert found[name] * 1e6 == pytest.approx(min(expected, seen.max()), rel=0.03), name


def test_percentiles_without_operations_are_zero() -> None:
    """Without operations percentiles are 0."""
    assert {"p50": 0.0} == printed_percentiles(np.array([1e-6]), np.array([0.0]), 0.0, {"p50": 0.5})

"""Arrival schedules and value sizes."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.workloads.arrivals import OnOff, PeaksValleys, Recorded, Sine, mean_rate
from lsmlab.models.workloads.generic import Trace
from lsmlab.models.workloads.trace import TraceColumn, read_trace
from lsmlab.models.workloads.values import FixedSize, KeyedSizes, NormalSize, ParetoSize, UniformSize

RNG = np.random.default_rng


def test_peaks_and_valleys() -> None:
    """Valleys of 10 s and peaks of 5 s alternate and are cut at the end of the run."""
    starts, rates = PeaksValleys(100.0, 10.0, 400.0, 5.0).segments(27.0, RNG(1))
    assert starts.tolist() == [0.0, 10.0, 15.0, 25.0]
    assert rates.tolist() == [100.0, 400.0, 100.0, 400.0]


@pytest.mark.parametrize(("quiet_s", "ends"), [(2.0, [2.0, 7.0, 17.0, 22.0]), (30.0, [30.0])])
def test_the_first_valley_may_have_its_own_length(quiet_s: float, ends: list[float]) -> None:
    """With a shorter or longer first valley, peaks and valleys alternate after it up to the end."""
    starts, rates = PeaksValleys(100.0, 10.0, 400.0, 5.0, quiet_s).segments(31.0, RNG(1))

    assert starts.tolist() == [0.0, *ends]
    assert rates.tolist() == [100.0, 400.0, 100.0, 400.0, 100.0][: len(starts)]


def test_on_off_lengths_are_lognormal() -> None:
    """Lengths have the given mean and their logarithms the given deviation; equal seeds give equal lengths."""
    arrivals = OnOff(1000.0, 20.0, 0.5, 10.0, 15.0, 0.3)
    starts, rates = arrivals.segments(700_000.0, RNG(1))
    lengths = np.diff(starts)
    for first, mean_s, sigma in ((0, 15.0, 0.3), (1, 20.0, 0.5)):
        part = lengths[first::2]
        deviation = mean_s * math.sqrt(math.expm1(sigma**2))
        assert part.mean() == pytest.approx(mean_s, abs=5 * deviation / math.sqrt(len(part)))
        assert np.log(part).std() == pytest.approx(sigma, rel=5 / math.sqrt(2 * len(part)))
    assert rates[:2].tolist() == [10.0, 1000.0]
    assert starts.tolist() == arrivals.segments(700_000.0, RNG(1))[0].tolist()


def test_some_bursts_are_long() -> None:
    """As in SILK's trace, 90 % of the peaks last 10 to 20 s, 10 % last 100 to 400 s; valleys keep their mean length."""
    arrivals = OnOff(1000.0, 14.4, 0.17, 10.0, 15.0, 0.3, long_share=0.1, long_mean_s=213.0, long_sigma=0.35)
    starts, _ = arrivals.segments(400_000.0, RNG(1))
    valleys, peaks = np.diff(starts)[::2], np.diff(starts)[1::2]

    assert ((peaks > 10.0) & (peaks < 20.0)).mean() == pytest.approx(0.9 * 0.957, abs=0.02)
    assert ((peaks > 100.0) & (peaks < 400.0)).mean() == pytest.approx(0.1 * 0.952, abs=0.02)
    assert peaks.mean() == pytest.approx(0.9 * 14.4 + 0.1 * 213.0, rel=0.06)
    assert valleys.mean() == pytest.approx(15.0, rel=0.02)


def test_sine() -> None:
    """A day has the sine's mean rate and a maximum of mean + amplitude; noise 0.4 adds at most 0.2 amplitudes."""
    day = Sine(1000.0, 2 * math.pi / 86_400, 0.0, 4500.0, 60.0)
    starts, rates = day.segments(86_400.0, RNG(1))
    assert len(starts) == 1440
    assert mean_rate(day, 86_400.0, RNG(1)) == pytest.approx(4500.0)
    assert rates.max() == pytest.approx(5500.0)
    noisy = dataclasses.replace(day, noise=0.4).segments(86_400.0, RNG(1))[1]
    assert 150.0 < np.abs(noisy - rates).max() <= 200.0


def test_rates_are_never_negative() -> None:
    """Where the sine is negative the rate is 0."""
    assert Sine(10.0, 1.0, 0.0, 0.0, 1.0).segments(7.0, RNG(1))[1].min() == 0.0


def test_trace_rows_become_rates(tmp_path: Path) -> None:
    """Operations per row become rates over the time to the next row; the last row lasts as long as the previous one."""
    path = tmp_path / "trace.csv"
    path.write_text("seconds,operations\n100,50\n110,300\n# a remark\n112,40\n", encoding="utf-8")
    recorded = read_trace(path, TraceColumn.OPERATIONS)
    assert recorded == Recorded((0.0, 10.0, 12.0), (5.0, 150.0, 20.0), 14.0)
    assert recorded.segments(20.0, RNG(1))[1].tolist() == [5.0, 150.0, 20.0, 0.0]
    looped = read_trace(path, TraceColumn.RATE, loop=True, scale=2.0)
    starts, rates = looped.segments(25.0, RNG(1))
    assert starts.tolist() == [0.0, 10.0, 12.0, 14.0, 24.0]
    assert rates.tolist() == [100.0, 600.0, 80.0, 100.0, 600.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n", "at least two rows"), ("0,1\n1,x\n", ":2: '1,x'"), ("0,1\n0,1\n", ":2: time 0 s"),
        ("0,1\n1,-1\n", ":2: -1 is negative"), ("0,1\n1\n", ":2: '1' is not"), ("0,1\nnan,1\n", ":2: 'nan,1'"),
        (f"0,1\n{'1' * 200_000},1\n", "cannot be read"),
    ],
)  # fmt: skip
def test_bad_traces_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    """A bad row raises InputError with the file and line, also in a trace that the configuration contains."""
    path = tmp_path / "trace.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_trace(path, TraceColumn.OPERATIONS)
    with pytest.raises(InputError, match=f"^rows{'' if message[0] == ':' else '.*'}{message}"):
        Trace(rows=text).workload()


@pytest.mark.parametrize(
    "values",
    [FixedSize(100.0), UniformSize(100.0, 300.0), NormalSize(100.0, 400.0), ParetoSize(), ParetoSize(k=0.0),
     ParetoSize(0.0, 2.517, 14.236, 10_000.0, 0.0)],
)  # fmt: skip
def test_mean_value_size(values: Any) -> None:
    """The stated mean is the mean over evenly spaced quantiles and the mean of the sizes that hashed keys get."""
    u = (np.arange(2_000_000) + 0.5) / 2_000_000
    sizes = values.quantile(u)
    assert values.mean_bytes == pytest.approx(sizes.mean(), rel=2e-3)
    keyed = KeyedSizes(values, sampled=False).of(np.arange(200_000, dtype=np.int64) << 1)
    assert keyed.mean() == pytest.approx(values.mean_bytes, abs=5 * sizes.std() / math.sqrt(200_000) + 1e-9)


def test_mixgraph_values() -> None:
    """Published sizes are at least 10 B unless wrapped, at most 1024 B, with a mean near 35 B.

    Source: (behaviour/db-bench.md, mixgraph).
    """
    sizes = ParetoSize().quantile((np.arange(100_000) + 0.5) / 100_000)
    assert sizes.max() <= 1024
    assert np.mean(sizes < 10) < 1e-3
    assert ParetoSize().mean_bytes == pytest.approx(35.0, rel=0.05)


def test_sampled_keys_have_the_mean_size() -> None:
    """A code that represents many keys has their mean size; a hot key has its own size, the same each time."""
    sizes = KeyedSizes(ParetoSize(), sampled=True)
    codes = np.array([8, 9], dtype=np.int64)
    assert sizes.of(codes)[0] == ParetoSize().mean_bytes
    assert sizes.of(codes).tolist() == sizes.of(codes).tolist()


def test_peaks_too_short_for_the_clock_are_left_out() -> None:
    """A peak of 1e-99 s after a valley of 10 s begins and ends at the same moment: only valleys remain."""
    starts, rates = PeaksValleys(100.0, 10.0, 900.0, 1e-99).segments(30.0, np.random.default_rng(1))

    assert starts.tolist() == [0.0, 10.0, 20.0]
    assert rates.tolist() == [100.0] * 3

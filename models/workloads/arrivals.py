"""Arrivals of operations: each after the end of the last one (closed loop) or by a schedule (open loop).

A schedule is a rate in operations per second that is constant between its break points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from lsmlab.models.errors import InputError
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

DAY_S: Final = 86_400.0


class OpenLoop(Protocol):
    """Operations that arrive by a schedule, independent of the store's speed."""

    def segments(self, until_s: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Start times in s (ascending, the first 0, all below `until_s`) and the rates in op/s from there on."""


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Closed loop: each thread sends its next operation when the last one returns.

    The limits are db_bench's: all threads of a group share a GenericRateLimiter in the client. The limiter grants a
    tenth of the limit every 100 ms, keeps at most one such portion, and does not make up for time lost in a stall.
    """

    limit_bytes_per_s: float | None = None
    """Keys and values written per second (--benchmark_write_rate_limit), or None."""
    limit_ops_per_s: float | None = None
    """Operations per second (--benchmark_read_rate_limit), or None."""


@dataclass(frozen=True, slots=True)
class ConstantRate:
    """Constant rate."""

    rate_per_s: float

    def segments(self, until_s: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return one segment."""
        return np.zeros(1), np.array([self.rate_per_s])


@dataclass(frozen=True, slots=True)
class PeaksValleys:
    """Valleys and peaks of fixed length, a valley first; SILK's long peaks (behaviour/evaluations.md, SILK's evaluation)."""

    valley_rate_per_s: float
    valley_s: float
    peak_rate_per_s: float
    peak_s: float
    quiet_s: float | None = None
    """Length of the first valley, if it differs from that of the others."""

    def __post_init__(self) -> None:
        if self.valley_s < 0 or self.peak_s < 0 or self.valley_s + self.peak_s <= 0:
            raise InputError("valley and peak: one of them must be longer than 0 s")

    def segments(self, until_s: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return alternating segments."""
        periods = _count(until_s / (self.valley_s + self.peak_s))
        lengths = np.tile([self.valley_s, self.peak_s], periods)
        rates = np.tile([self.valley_rate_per_s, self.peak_rate_per_s], periods)
        if self.quiet_s is not None:
            lengths[0] = self.quiet_s
            lengths, rates = np.append(lengths, self.valley_s), np.append(rates, self.valley_rate_per_s)
        return _from_lengths(lengths, rates, until_s)


@dataclass(frozen=True, slots=True)
class OnOff:
    """ON and OFF periods with lognormal lengths, OFF first: irregular bursts.

    The median length is the mean divided by exp(sigma²/2). A share of the ON periods may be long, with a separate mean.
    """

    on_rate_per_s: float
    on_mean_s: float
    on_sigma: float
    off_rate_per_s: float
    off_mean_s: float
    off_sigma: float
    long_share: float = 0.0
    """Share of the ON periods that are long."""
    long_mean_s: float = 1.0
    long_sigma: float = 0.0

    def __post_init__(self) -> None:
        if min(self.on_mean_s, self.off_mean_s, self.long_mean_s) <= 0:
            raise InputError("ON and OFF periods must have a mean length above 0 s")

    def segments(self, until_s: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return alternating segments of random length."""
        mean_s = np.array([self.off_mean_s, self.on_mean_s])
        sigma = np.array([self.off_sigma, self.on_sigma])
        lengths = np.empty((0, 2))
        while lengths.sum() < until_s:
            missing = until_s - lengths.sum()
            more = _count(1.2 * missing / mean_s.sum())
            normal = rng.standard_normal((more, 2))
            drawn = np.exp(normal * sigma - sigma**2 / 2) * mean_s
            if self.long_share > 0.0:
                long = rng.random(more) < self.long_share
                spread = self.long_sigma
                drawn[long, 1] = np.exp(normal[long, 1] * spread - spread**2 / 2) * self.long_mean_s
            lengths = np.concatenate((lengths, np.maximum(drawn, 1e-6)))
        rates = np.tile([self.off_rate_per_s, self.on_rate_per_s], len(lengths))
        return _from_lengths(lengths.ravel(), rates, until_s)


@dataclass(frozen=True, slots=True)
class Sine:
    """Sine rate: amplitude · sin(frequency · t + phase) + mean, constant per `interval_s`, at least `floor_per_s`.

    mixgraph's --sine_a, _b, _c, _d and --sine_mix_rate_interval_milliseconds (behaviour/db-bench.md, mixgraph); a day
    is frequency 2π / 86 400 s. Every interval's rate is shifted by up to ± `noise` · amplitude / 2
    (--sine_mix_rate_noise), unless that would make it negative.
    """

    amplitude_per_s: float
    frequency_rad_per_s: float
    phase_rad: float
    mean_per_s: float
    interval_s: float
    noise: float = 0.0
    floor_per_s: float = 0.0

    def __post_init__(self) -> None:
        if self.interval_s <= 0:
            raise InputError("the interval of a sine rate must be longer than 0 s")

    def segments(self, until_s: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return one segment per interval, with the rate at the start of the interval."""
        starts = np.arange(_count(until_s / self.interval_s), dtype=np.float64) * self.interval_s
        angle = self.frequency_rad_per_s * starts + self.phase_rad
        rates: FloatArray = self.amplitude_per_s * np.sin(angle) + self.mean_per_s
        if self.noise:
            shifted = rates + self.noise * self.amplitude_per_s * rng.uniform(-0.5, 0.5, len(starts))
            rates = np.where(shifted < 0, rates, shifted)
        return starts, np.maximum(rates, self.floor_per_s)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Recorded schedule: `rates_per_s[i]` from `starts_s[i]` on, repeated from the start after `length_s` if `loop`.

    The last rate lasts until `length_s`; without `loop` nothing arrives afterwards.
    """

    starts_s: tuple[float, ...]
    rates_per_s: tuple[float, ...]
    length_s: float
    loop: bool = False

    def __post_init__(self) -> None:
        if not self.starts_s or len(self.starts_s) != len(self.rates_per_s):
            raise InputError("a recorded schedule needs at least one row, each with a time and a rate")
        if self.starts_s[0] != 0.0 or any(b <= a for a, b in zip(self.starts_s, self.starts_s[1:], strict=False)):
            raise InputError("the times of a recorded schedule must begin at 0 and ascend")
        if self.length_s <= self.starts_s[-1]:
            raise InputError("a recorded schedule must end after its last row")
        if min(self.rates_per_s) < 0:
            raise InputError("the rates of a recorded schedule must not be negative")

    def segments(self, until_s: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return the recording, cut or repeated to `until_s`."""
        starts, rates = np.array(self.starts_s), np.array(self.rates_per_s)
        if self.loop:
            rounds = _count(until_s / self.length_s)
            starts = (np.arange(rounds)[:, None] * self.length_s + starts).ravel()
            rates = np.tile(rates, rounds)
        else:
            starts, rates = np.append(starts, self.length_s), np.append(rates, 0.0)
        keep = starts < until_s
        keep[0] = True
        return starts[keep], rates[keep]


@dataclass(frozen=True, slots=True)
class Scaled:
    """Arrivals of another process, with each rate times `factor`."""

    arrivals: OpenLoop
    factor: float

    def segments(self, until_s: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return the segments of the other process, scaled."""
        starts, rates = self.arrivals.segments(until_s, rng)
        return starts, rates * self.factor


Arrivals = ClosedLoop | ConstantRate | PeaksValleys | OnOff | Sine | Recorded | Scaled


def mean_rate(arrivals: OpenLoop, until_s: float, rng: np.random.Generator) -> float:
    """Mean arrivals per second over [0, until_s)."""
    starts, rates = arrivals.segments(until_s, rng)
    return float(np.sum(np.diff(np.append(starts, until_s)) * rates) / until_s)


def _count(periods: float) -> int:
    return max(1, math.ceil(periods))


def _from_lengths(lengths: FloatArray, rates: FloatArray, until_s: float) -> tuple[FloatArray, FloatArray]:
    ends = np.cumsum(lengths)
    starts = np.concatenate(([0.0], ends[:-1]))
    keep = (starts < until_s) & (ends > starts)  # a segment too short for the clock has no length
    starts, rates = starts[keep], rates[keep]
    return starts, rates

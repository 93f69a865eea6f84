"""Forecasts from a rate that grows: date when it reaches a limit, life of a drive, machines, and the model's error in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

import numpy as np
from lsmlab.sim.studies.plan.service_levels import LEVELS, ServiceLevels
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DAYS_PER_YEAR: Final = 365.25
_YEAR_S: Final = _DAYS_PER_YEAR * 86400.0
NEVER_YEARS: Final = 100.0
"""Years after which a limit counts as never reached."""
DRAWS: Final = 10_000
_OPS: Final = "ops_per_s"
_BYTES: Final = "device_bytes_written"
_STALL_ERROR: Final = "write_latency_s.max"
"""Metric whose error stands for that of the longest stall, which model_errors.json does not contain."""


def years_until(ratio: float, growth_per_year: float) -> float:
    """Return the years until a quantity has grown by `ratio`: 0 if it already has, infinity if it never does.

    >>> years_until(2.0, 1.0), years_until(0.9, 0.5), years_until(2.0, 0.0)
    (1.0, 0.0, inf)
    """
    if ratio <= 1.0:
        return 0.0
    return math.log(ratio) / math.log1p(growth_per_year) if growth_per_year > 0.0 else math.inf


def date_after(start: date, years: float) -> date | None:
    """Return the day after a number of years; None if it counts as never."""
    return start + timedelta(days=int(years * _DAYS_PER_YEAR)) if years < NEVER_YEARS else None


def drive_life_years(endurance_bytes: float | None, bytes_per_s: float, growth_per_year: float) -> float | None:
    """Return the years until writes at a rate that grows have used up the endurance; None if it is unknown.

    >>> round(drive_life_years(1e15, 1e15 / (365.25 * 86400.0), 0.0), 3), drive_life_years(None, 1.0, 0.0)
    (1.0, None)
    """
    if endurance_bytes is None or bytes_per_s <= 0.0:
        return None
    years = endurance_bytes / bytes_per_s / _YEAR_S
    rate = math.log1p(growth_per_year)
    if rate == 0.0:
        return years
    inside = 1.0 + years * rate
    return math.log(inside) / rate if inside > 0.0 else math.inf


def machines_for(rate_per_s: float, sustainable_per_machine: float) -> int | None:
    """Return the machines that sustain a rate together; None if one machine sustains nothing."""
    return max(1, math.ceil(rate_per_s / sustainable_per_machine - 1e-9)) if sustainable_per_machine > 0.0 else None


@dataclass(frozen=True)
class Curve:
    """Value of a service level at several rates, as simulated."""

    rates: Sequence[float]
    """Rates over the planned rate, rising."""
    values: Sequence[float]

    def at(self, rates: Floats) -> Floats:
        """Return the values at other rates, linear between two simulated ones."""
        return np.interp(rates, self.rates, self.values)


def feasible_share(
    headroom: float, values: Mapping[str, float], levels: ServiceLevels, errors: Mapping[str, float],
    curves: Mapping[str, Curve] | None = None,
) -> float:  # fmt: skip
    """Return the share of draws of the model's errors in which a candidate is feasible.

    A draw multiplies the sustainable rate (`headroom`: its ratio to the planned rate) by a lognormal error: it says how much
    of the store the planned rate uses. Stalls follow from the use: the drawn stalls are those that the simulation has at this
    use (`curves`, by service level). Their own error is at most as large as they are, so a store without stalls at any use in
    reach has none in any draw. Latencies at the planned rate (`values`) get independent lognormal errors. `errors`: standard
    deviations by metric.
    """
    draws = np.random.default_rng(0)
    faster = np.exp(errors.get(_OPS, 0.0) * draws.standard_normal(DRAWS))
    good = headroom * faster >= 1.0
    for name, limit in levels.limits().items():
        error, noise = _error(name, errors), draws.standard_normal(DRAWS)
        if name not in values:
            continue
        curve = (curves or {}).get(name)
        value = np.full(DRAWS, values[name]) if curve is None else curve.at(1.0 / faster)
        good &= _drawn(value, error, noise, additive=LEVELS[name].share) <= limit
    return float(good.mean())


def _drawn(value: Floats, error: float, noise: Floats, *, additive: bool) -> Floats:
    """Return values with their error: relative, or in points for a share, whose error is no larger than the share."""
    if not additive:
        return value * np.exp(error * noise)
    return value + np.minimum(error, value) * noise


def factor_range(error: float) -> tuple[float, float]:
    """Return the factors that contain 90 % of the draws of a lognormal error."""
    return float(np.exp(-1.645 * error)), float(np.exp(1.645 * error))


def rate_error(errors: Mapping[str, float]) -> float:
    """Return the relative error of a throughput."""
    return errors.get(_OPS, 0.0)


def written_error(errors: Mapping[str, float]) -> float:
    """Return the relative error of the bytes written to the drive."""
    return errors.get(_BYTES, 0.0)


def _error(name: str, errors: Mapping[str, float]) -> float:
    """Return the error of a service level; 0 for one whose error was never measured."""
    return errors.get(_STALL_ERROR if name == "longest_stall" else LEVELS[name].metric, 0.0)

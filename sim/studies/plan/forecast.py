"""Forecasts from a rate that grows: date when it reaches a limit, life of a drive, machines, and the model's error in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
from lsmlab.sim.studies.intervals import ErrorRange, ModelErrors, facts_of
from lsmlab.sim.studies.metrics import error_name
from lsmlab.sim.studies.plan.service_levels import LEVELS, ServiceLevels
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DAYS_PER_YEAR: Final = 365.25
_YEAR_S: Final = _DAYS_PER_YEAR * 86400.0
NEVER_YEARS: Final = 100.0
"""Years after which a limit counts as never reached."""
DRAWS: Final = 10_000
RATE: Final = "ops_per_s"
WRITTEN: Final = "device_bytes_written"
NORMAL_90: Final = 1.645
"""Half the width of a 90 % interval of a normal distribution, in standard deviations."""

Errors = Mapping[str, ErrorRange]
"""90 % ranges of the model's error by quantity of configs/model_errors.json; quantities of unknown error are missing."""


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


def errors_of(config: Mapping[str, Any], errors: ModelErrors) -> Errors:
    """Return the errors of a candidate with the configuration of one machine, typical ones for its knowledge and drive."""
    facts = facts_of(config, {})
    names = {RATE, WRITTEN, *(error_name(level.metric) for level in LEVELS.values() if level.metric)}
    ranges = {name: errors.range(name, facts) for name in sorted(names)}
    return {name: of for name, of in ranges.items() if of is not None}


def feasible_share(
    headroom: float, values: Mapping[str, float], levels: ServiceLevels, errors: Errors,
    curves: Mapping[str, Curve] | None = None,
) -> float | None:  # fmt: skip
    """Return the share of draws of the model's errors in which a candidate is feasible; None if an error is not known.

    A draw multiplies the sustainable rate (`headroom`: its ratio to the planned rate) by an error: it says how much of the
    store the planned rate uses. Stalls follow from the use: the drawn stalls are those that the simulation has at this use
    (`curves`, by service level). Their own error is at most as large as they are, so a store without stalls at any use in
    reach has none in any draw. Latencies at the planned rate (`values`) get independent errors. Each side of an error is half
    a normal distribution, on the scale of its quantity. Service levels that the plan computes itself have no error.
    """
    if RATE not in errors:
        return None
    draws = np.random.default_rng(0)
    faster = np.exp(_drawn(errors[RATE], draws.standard_normal(DRAWS)))
    good = headroom * faster >= 1.0
    for name, limit in levels.limits().items():
        noise = draws.standard_normal(DRAWS)
        if name not in values:
            continue
        level, own = LEVELS[name], ErrorRange(0.0, 0.0)
        if level.metric:
            known = errors.get(error_name(level.metric))
            if known is None:
                return None
            own = known
        curve = (curves or {}).get(name)
        value = np.full(DRAWS, values[name]) if curve is None else curve.at(1.0 / faster)
        error = _drawn(own, noise)
        value = value + np.clip(error, -value, value) if level.share else value * np.exp(error)
        good &= value <= limit
    return float(good.mean())


def _drawn(of: ErrorRange, noise: Floats) -> Floats:
    """Return errors from standard normal noise."""
    return noise * np.where(noise > 0.0, of.high, -of.low) / NORMAL_90


def widened(of: ErrorRange, deviation: float) -> ErrorRange:
    """Return the range of the sum of an error and an independent one with this standard deviation."""
    return ErrorRange(-math.hypot(of.low, NORMAL_90 * deviation), math.hypot(of.high, NORMAL_90 * deviation))

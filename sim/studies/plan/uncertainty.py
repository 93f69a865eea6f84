"""The model's own error in the answer of a plan: share of draws in which a candidate is feasible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from lsmlab.sim.studies.plan.service_levels import LEVELS, ServiceLevels

DRAWS: Final = 10_000
_OPS: Final = "ops_per_s"
_BYTES: Final = "device_bytes_written"
_STALL_ERROR: Final = "write_latency_s.max"
"""Metric whose error stands for that of the longest stall, which model_errors.json does not contain."""


def feasible_share(
    headroom: float, values: Mapping[str, float], levels: ServiceLevels, errors: Mapping[str, float]
) -> float:
    """Return the share of draws of the model's errors in which a candidate is feasible.

    A draw multiplies the sustainable rate (`headroom`: its ratio to the planned rate) and each latency at the planned rate
    by independent lognormal errors, and adds a normal error to the stalled share. `errors`: standard deviations by metric.
    """
    draws = np.random.default_rng(0)
    good = headroom * np.exp(errors.get(_OPS, 0.0) * draws.standard_normal(DRAWS)) >= 1.0
    for name, limit in levels.limits().items():
        error = _error(name, errors)
        noise = draws.standard_normal(DRAWS)
        value = values.get(name)
        if value is None:
            continue
        drawn = value + error * noise if LEVELS[name].share else value * np.exp(error * noise)
        good &= drawn <= limit
    return float(good.mean())


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

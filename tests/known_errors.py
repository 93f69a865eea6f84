"""Errors of the model for tests: of runs that know a data sheet of an NVMe drive alone."""

from __future__ import annotations

from typing import Any

from lsmlab.sim.studies.intervals import ALWAYS, Knowledge, LearntError, ModelErrors, Scale

NVME: dict[str, Any] = {"device": {"name": "nvme", "_target_": "lsmlab.models.devices.nvme.Nvme"}}
"""Configuration of such a run, as far as its error depends on it."""


def scale_of(metric: str) -> Scale:
    """Return the scale of a metric."""
    if metric == "stall_fraction":
        return Scale.POINTS
    return Scale.LATENCY if "latency" in metric else Scale.RATIO


def known_errors(half_widths: dict[str, float], **more: Any) -> ModelErrors:
    """Return errors that are symmetric on the scale of each metric; `more`: other fields of `LearntError`."""
    return ModelErrors.of([
        LearntError(metric, scale_of(metric), Knowledge.CATALOGUE, None, 100, {ALWAYS: 1.0}, {}, -half, half, **more)
        for metric, half in half_widths.items()
    ])  # fmt: skip

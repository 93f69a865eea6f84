"""Test whether a store keeps up with its load: growth of backlog, compaction debt, L0 and upper levels over a run.

Each quantity is divided by the flow that feeds it, so its growth is the share of the load that piles up: of the arriving
operations, of the bytes that compactions must write, of the bytes that memtables flush.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np
from lsmlab.sim.studies.statistics import t_quantile
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOLERANCE: Final = 0.005
"""Largest share of the load that may pile up in a sustainable run: a third of the resolution of the search."""
CONFIDENCE: Final = 0.95
"""Confidence of the one-sided bounds of a growth."""
_BACKLOG_STEP_S: Final = 0.1
"""Backlog, in seconds of arrivals, that a stall of usual length leaves for a moment."""
_BATCHES: Final = 24
"""Batches of the later part of a run; their means hardly depend on each other."""


class GrowthVerdict(Enum):
    """Result of the test."""

    STEADY = "steady"
    GROWS = "grows"
    UNCLEAR = "unclear"
    """The interval contains shares below and above the tolerance: a longer run is needed."""


@dataclass(frozen=True, slots=True)
class QuantityGrowth:
    """Growth of one quantity over the later part of a run."""

    quantity: str
    """backlog, debt, l0 or tree."""
    share: float
    """Share of the load that piles up; negative if the quantity shrinks."""
    low: float
    """Lower bound of the share."""
    high: float
    per_s: float
    """Growth in the unit of the quantity per second: operations, bytes, files, bytes."""

    steps: float = math.inf
    """Growth over the later part, in units of the step by which the quantity varies in any case: one compaction of L0."""

    @property
    def verdict(self) -> GrowthVerdict:
        """Return whether the quantity grows by more than the tolerance and more than one step."""
        if self.low > TOLERANCE and self.steps > 1.0:
            return GrowthVerdict.GROWS
        falls = self.share <= 0.0 and self.high <= 10.0 * TOLERANCE
        return GrowthVerdict.STEADY if self.high <= 2.0 * TOLERANCE or falls else GrowthVerdict.UNCLEAR

    @property
    def rises(self) -> bool:
        """Return whether an unclear growth at the greatest length counts: significant, and above twice the tolerance."""
        return self.low > 0.0 and self.share > 2.0 * TOLERANCE and self.steps > 1.0


def growths(
    series: Mapping[str, Any], summary: Mapping[str, Any], rate_per_s: float, round_bytes: float, from_s: float,
    *, leveled: bool,
) -> list[QuantityGrowth]:  # fmt: skip
    """Return the growth of all quantities after `from_s`, from the columns of series.parquet and summary.json.

    `round_bytes`: bytes that L0 gathers between two compactions. Without `leveled` compaction the bytes above the last level
    are no sign of debt: universal compaction lets sorted runs grow until it merges them, and limits their number.
    """
    times: Floats = np.asarray(series["t_s"], dtype=np.float64)
    later = times > from_s
    levels = sorted(name for name in series if name.startswith("level_bytes_"))
    sizes = np.array([np.asarray(series[name], dtype=np.float64)[later] for name in levels])
    last = max((i for i in range(len(levels)) if sizes[i].any()), default=0)
    duration_s = float(summary["duration_s"])
    flushed = float(summary["flush_bytes"]) / duration_s
    compacted = float(summary["compaction_write_bytes"]) / duration_s
    file_bytes = float(summary["flush_bytes"]) / max(1.0, float(summary["flush_count"]))
    flushed_files = flushed / file_bytes if file_bytes else 0.0
    above = sizes[:last].sum(axis=0) if last else np.zeros(int(later.sum()))
    column = {name: np.asarray(series[name], dtype=np.float64)[later] for name in ("backlog_ops", "pending_bytes", "l0_files")}
    quantities = {
        "backlog": (column["backlog_ops"], rate_per_s, rate_per_s * _BACKLOG_STEP_S),
        "debt": (column["pending_bytes"], max(compacted, flushed), round_bytes * max(1.0, compacted / max(flushed, 1.0))),
        "l0": (column["l0_files"], flushed_files, round_bytes / max(file_bytes, 1.0)),
        "tree": (above, flushed, round_bytes),
    }
    return [growth(name, times[later], *values) for name, values in quantities.items() if leveled or name != "tree"]


def growth(quantity: str, times_s: Floats, values: Floats, flow_per_s: float, step: float = 0.0) -> QuantityGrowth:
    """Return the slope of `values` by least squares over batch means, in units of `flow_per_s`, with its bounds.

    The residuals of neighbouring batches are correlated; the number of independent batches follows from their
    correlation at lag 1. `step`: change of the quantity that counts as no growth.
    """
    count = min(_BATCHES, len(values))
    if count < 4 or flow_per_s <= 0.0:
        return QuantityGrowth(quantity, 0.0, -math.inf, math.inf if flow_per_s > 0.0 else 0.0, 0.0)
    x = np.array([part.mean() for part in np.array_split(times_s, count)])
    y = np.array([part.mean() for part in np.array_split(values, count)])
    x = x - x.mean()
    slope = float((x * y).sum() / (x * x).sum())
    rest = y - y.mean() - slope * x
    variance = float((rest * rest).sum())
    steps = slope * float(times_s[-1] - times_s[0]) / step if step > 0.0 else math.inf
    if variance <= 0.0:
        return QuantityGrowth(quantity, slope / flow_per_s, slope / flow_per_s, slope / flow_per_s, slope, steps)
    lag = min(0.9, max(0.0, float((rest[1:] * rest[:-1]).sum()) / variance))
    independent = max(3.0, count * (1.0 - lag) / (1.0 + lag))
    error = math.sqrt(variance / (independent - 2.0) / float((x * x).sum()))
    half = t_quantile(independent - 2.0, CONFIDENCE) * error
    return QuantityGrowth(quantity, slope / flow_per_s, (slope - half) / flow_per_s, (slope + half) / flow_per_s, slope, steps)

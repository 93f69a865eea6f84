"""Test whether a store has settled, or keeps up with its load: backlog, compaction debt, L0 and upper levels do not grow.

Each quantity is divided by the flow that feeds it, so its growth is the share of the load that piles up: of the arriving
operations, of the bytes that compactions must write, of the bytes that memtables flush.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from lsmlab.models.options.fields import CompactionStyle
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lsmlab.sim.setup import FamilySetup, Setup

Floats = NDArray[np.float64]

TOLERANCE: Final = 0.005
"""Largest share of the load that may pile up in a sustainable run: a third of the resolution of the search."""
_NORMAL_95: Final = 1.6448536
"""Quantile of the normal distribution for the one-sided bounds of a growth, with 95 % confidence."""
_BACKLOG_STEP_S: Final = 0.1
"""Backlog, in seconds of arrivals, that a stall of usual length leaves for a moment."""
_LATER: Final = 0.5
"""Share of a run before the part that is tested: levels fill up to their targets in it."""
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
    blobs = summary.get("blobs") or {"flush_write_bytes": 0, "compaction_write_bytes": 0}  # they are in no level
    flushed = float(summary["flush_bytes"] - blobs["flush_write_bytes"]) / duration_s
    compacted = float(summary["compaction_write_bytes"] - blobs["compaction_write_bytes"]) / duration_s
    file_bytes = flushed * duration_s / max(1.0, float(summary["flush_count"]))
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
    half = _t_quantile(independent - 2.0) * error
    return QuantityGrowth(quantity, slope / flow_per_s, (slope - half) / flow_per_s, (slope + half) / flow_per_s, slope, steps)


def _t_quantile(freedom: float) -> float:
    """Return the 95 % quantile of Student's t distribution: four terms of its expansion, 0.3 % off with two degrees of freedom.

    A run imports no SciPy, whose import takes longer than a short run.
    """
    z, q = _NORMAL_95, 1.0 / freedom
    terms = (
        z,
        (z**3 + z) / 4.0,
        (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0,
        (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0,
        (79.0 * z**9 + 776.0 * z**7 + 1482.0 * z**5 - 1920.0 * z**3 - 945.0 * z) / 92160.0,
    )
    return sum(term * q**i for i, term in enumerate(terms))


_QUANTITIES: Final = {
    "backlog": "the queue of operations", "debt": "compaction debt", "l0": "L0", "tree": "the size of the levels above the last",
}  # fmt: skip
"""Quantities in words."""
_FLOWS: Final = {
    "backlog": "the load", "debt": "the bytes that compactions write", "l0": "the flushed files", "tree": "the flushed bytes",
}  # fmt: skip
"""What feeds each quantity, in words."""
_FEWEST_ROUNDS: Final = 8.0
"""Compactions of L0 in the later part of a run from which on its sizes can show a trend."""
_FEWEST_SECONDS: Final = 8
"""Shortest run whose later part has the four rows that a trend needs."""
_DRIFT: Final = 0.2
"""Relative change of the written operations from the middle to the last third of a run that a settled store does not have."""
_WIDEST: Final = 10.0 * TOLERANCE
"""Upper bound of a share from which on an unclear growth is no evidence of a settled store."""


def settled_facts(setup: Setup, series: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return `settled` of summary.json: whether the second half of a run shows the store as it stays, and the reason.

    `settled` is None where the question has no answer: the device or the load changes during the run.
    """
    if len(summary.get("phases", ())) > 1:
        return {"settled": None, "reason": "the load changes from phase to phase"}
    if "conditions" in summary:
        return {"settled": None, "reason": "the device changes during the run"}
    reason = _unsettled(series, summary, round_bytes(setup), leveled=is_leveled(setup))
    return {"settled": reason is None, "reason": reason or "backlog, compaction debt, L0 and upper levels do not grow"}


def overload_facts(series: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, float] | None:
    """Return `overload` of summary.json: what clients ask and what the store takes in operations/s, if their queue grows.

    Both are means over the second half of the run. A queue grows if its low point is higher in the last quarter than in the one
    before, because the queue of a peak that the store can bear empties in the valley. None if the store keeps up, or if clients
    wait for it (a closed loop).
    """
    times: Floats = np.asarray(series["t_s"], dtype=np.float64)
    later = times > _LATER * float(summary["duration_s"])
    backlog: Floats = np.asarray(series["backlog_ops"], dtype=np.float64)[later]
    half = len(backlog) // 2
    if half < 1 or backlog[-1] <= backlog[0]:
        return None
    served = np.asarray(series["write_ops"], dtype=np.float64) + np.asarray(series["read_ops"], dtype=np.float64)
    span_s = float(times[later][-1] - times[later][0])
    takes = float(served[later][1:].sum()) / span_s
    asked = takes + float(backlog[-1] - backlog[0]) / span_s
    rise = float(backlog[half:].min() - backlog[:half].min())
    return {"asked_ops_per_s": asked, "takes_ops_per_s": takes} if rise > _BACKLOG_STEP_S * asked else None


def main_family(setup: Setup) -> FamilySetup:
    """Return the column family that gets most writes."""
    return max(setup.families, key=lambda family: family.share.writes)


def round_bytes(setup: Setup) -> float:
    """Return the bytes that L0 of all shards gathers between two compactions: the step in which a tree changes."""
    family = main_family(setup)
    trigger = max(1, family.engine.options.level0_file_num_compaction_trigger)
    return setup.workload.shards * trigger * family.shape.memtable_entries * family.content.table_put


def is_leveled(setup: Setup) -> bool:
    """Return whether the main column family uses leveled compaction."""
    return main_family(setup).engine.options.compaction_style is CompactionStyle.LEVEL


def _unsettled(series: Mapping[str, Any], summary: Mapping[str, Any], step_bytes: float, *, leveled: bool) -> str | None:
    """Return why a run does not show the store as it stays; None if it does."""
    writes: Floats = np.asarray(series["write_ops"], dtype=np.float64)
    if not writes.any():
        return None
    duration_s = float(summary["duration_s"])
    flushed = summary["flush_bytes"] - (summary.get("blobs") or {"flush_write_bytes": 0})["flush_write_bytes"]
    later_bytes = float(flushed) * float(writes[len(writes) // 2 :].sum() / writes.sum())
    rounds = later_bytes / step_bytes if step_bytes > 0.0 else 0.0
    if len(writes) < _FEWEST_SECONDS:
        return f"the run is short: a trend needs {_FEWEST_SECONDS} s"
    if rounds < _FEWEST_ROUNDS:
        return f"the run is short: {rounds:.1f} times the files that start a compaction of L0 were flushed in its second half"
    if (new := _new_level(series)) is not None and new[1] > _LATER * duration_s:
        return f"L{new[0]} got its first file only at {new[1]:,.0f} s of {duration_s:,.0f} s"
    third = len(writes) // 3
    middle, last = float(writes[third : 2 * third].mean()), float(writes[2 * third : 3 * third].mean())
    if abs(last - middle) > _DRIFT * middle:
        word = "faster" if last > middle else "slower"
        change = abs(last / middle - 1.0) if middle else 1.0
        return f"writes in the last third of the run were {change:.0%} {word} than in the middle third"
    asked_per_s = float(summary["ops_per_s"]) + float(np.asarray(series["backlog_ops"], dtype=np.float64)[-1]) / duration_s
    found = growths(series, summary, asked_per_s, step_bytes, _LATER * duration_s, leveled=leveled)
    growing = [g for g in found if g.verdict is GrowthVerdict.GROWS or g.rises or _unknown(g)]
    if not growing:
        return None
    worst = max(growing, key=lambda g: g.share)
    if _unknown(worst):
        return f"the run is too short to tell whether {_QUANTITIES[worst.quantity]} grows"
    return f"{_QUANTITIES[worst.quantity]} grows by {worst.share:.1%} of {_FLOWS[worst.quantity]}"


def _unknown(found: QuantityGrowth) -> bool:
    return found.verdict is GrowthVerdict.UNCLEAR and found.high > _WIDEST and found.steps > 1.0


def _new_level(series: Mapping[str, Any]) -> tuple[int, float] | None:
    """Return the level that got its first file last, and when, in s; None without files below L0."""
    times: Floats = np.asarray(series["t_s"], dtype=np.float64)
    found: list[tuple[float, int]] = []
    for name in series:
        level = name.removeprefix("level_bytes_")
        if level.isdecimal() and int(level) > 0 and (filled := np.flatnonzero(np.asarray(series[name]) > 0.0)).size:
            found.append((float(times[filled[0]]), int(level)))
    at_s, level_number = max(found, default=(0.0, 0))
    return (level_number, at_s) if level_number else None

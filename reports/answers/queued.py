"""Runs without write stalls whose operations waited all the same: open loops that asked for more than the store serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.headline import number
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.bottleneck import SATURATED, Bottleneck
from lsmlab.sim.explain.sentences import count

_LONG_S: Final = 1.0
"""Length of a queue, in seconds of the mean throughput, from which it counts."""


@dataclass(frozen=True)
class Queued:
    """Queue of the operations of an open loop."""

    most_ops: float
    """Largest number of waiting operations."""
    seconds: float
    """Time during which more operations waited than the store serves in a second."""
    p99_s: float | None
    """P99 latency of writes."""
    device_use: float | None
    """Share of the run in which the device was busy."""

    @property
    def resource(self) -> str:
        """Resource that was short as far as the means of the run tell."""
        return Bottleneck.DEVICE_BANDWIDTH if (self.device_use or 0.0) >= SATURATED else Bottleneck.UNKNOWN


def queued(run: RunData) -> Queued | None:
    """Return the queue of a run without stalls; None if there was none."""
    if sum(run.stall_seconds().values()) or "backlog_ops" not in run.series:
        return None
    backlog, rate = run.column("backlog_ops"), number(run.summary, "ops_per_s") or 0.0
    if not len(backlog) or backlog.max() <= _LONG_S * rate:
        return None
    step_s = np.diff(run.times_s, prepend=0.0)
    use = number(run.summary.get("device"), "utilisation")
    p99_s = number(run.summary.get("write_latency_s"), "p99")
    return Queued(float(backlog.max()), float(step_s[backlog > _LONG_S * rate].sum()), p99_s, use)


def how_long_queued(run: RunData, queue: Queued) -> tuple[str, list[str]]:
    """Return headline and sentence on the time for which operations waited."""
    long, whole = numbers.duration(queue.seconds), numbers.duration(run.duration_s)
    late = f"; write P99 {numbers.seconds(queue.p99_s)}" if queue.p99_s else ""
    return f"{long} with a queue", [
        f"Up to {count(queue.most_ops)} operations waited. In {long} of {whole} they were more than a second's work{late}."
    ]


def why_queued(run: RunData, queue: Queued) -> tuple[str, list[str]]:
    """Return headline and sentences on why operations waited."""
    changes = (run.summary.get("conditions") or {}).get("changes") or []
    said = "; ".join(f"at {change['at_s']:g} s {change['text']}" for change in changes)
    sentences = [f"The device changed: {said}."] if said else []
    if queue.device_use is not None:
        sentences.append(f"The device was busy {numbers.percent(queue.device_use)} of the whole run.")
    return "Operations arrived faster than the store served them", sentences

"""How busy the machine was while it was measured: its load, time that a hypervisor took, and its speed before and after."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from lsmlab.validation.recorder.speed import NOTABLE, Speed, speed_facts

_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
"""CPU time of a container: "quota period" in microseconds, or "max period" (cgroup v2)."""
_LOADED: Final = 0.25
"""Load of other programs, per core, from which a measurement is doubtful."""


def usable_cores(quota: Path = _QUOTA) -> int:
    """Return the number of cores that this process may use: its affinity, and the quota of its container, rounded up."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        used, period = quota.read_text().split()
        return cores if used == "max" else max(1, min(cores, -(-int(used) // int(period))))
    except (OSError, ValueError):
        return cores


def load() -> float:
    """Return the mean number of threads that ran or waited in the last minute; before the measurement, they are of others."""
    return os.getloadavg()[0]


def busy_facts(load_before: float, before: Speed, after: Speed) -> dict[str, float]:
    """Return load, drift of the speed, and stolen time as numbers for the file."""
    return {"load_before": round(load_before, 2), **speed_facts(before, after)}


def doubts(facts: Mapping[str, float], cores: int) -> Iterator[str]:
    """Yield why the machine was too busy for a good measurement."""
    if facts["load_before"] > _LOADED * cores:
        yield f"other programs ran: the load was {facts['load_before']:.1f} on {cores} cores before the measurement"
    if abs(facts["drift"]) > NOTABLE:
        yield f"the speed of the cores changed by {100 * facts['drift']:+.0f} % during the measurement"
    if facts["stolen"] > NOTABLE:
        yield f"the hypervisor took {100 * facts['stolen']:.0f} % of a core"

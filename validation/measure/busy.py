"""How busy the machine was while it was measured: cores of other programs, time of the hypervisor, speed before and after."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from lsmlab.validation.recorder.speed import NOTABLE, Speed, speed_facts

_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
"""CPU time of a container: "quota period" in microseconds, or "max period" (cgroup v2)."""
_STAT: Final = Path("/proc/stat")
_BUSY: Final = (1, 2, 3, 6, 7)
"""Fields of its first line with CPU time that programs used: user, nice, system, irq, softirq."""
_LOADED: Final = 0.25
"""Share of the cores that other programs use, from which a measurement is doubtful."""


def usable_cores(quota: Path = _QUOTA) -> int:
    """Return the number of cores that this process may use: its affinity, and the quota of its container, rounded up."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        used, period = quota.read_text().split()
        return cores if used == "max" else max(1, min(cores, -(-int(used) // int(period))))
    except (OSError, ValueError):
        return cores


def cpu_of_others_s(stat: Path = _STAT) -> float:
    """Return the CPU seconds that programs other than this one and its ended children have used; NaN if the system tells none.

    Neither has a zero, so only differences count. The load of /proc/loadavg is no measure: it falls for minutes after a program
    ends, and a measurement that begins soon after a build would count as disturbed.
    """
    own = os.times()
    own_s = own.user + own.system + own.children_user + own.children_system
    try:
        fields = stat.read_text().split("\n", 1)[0].split()
        return sum(int(fields[i]) for i in _BUSY) / os.sysconf("SC_CLK_TCK") - own_s
    except (OSError, IndexError, ValueError):
        return math.nan


def busy_facts(others_s: float, before: Speed, after: Speed) -> dict[str, float]:
    """Return cores of other programs, drift of the speed and stolen time as numbers for the file.

    `others_s`: CPU seconds that other programs used between the two readings of the speed.
    """
    return {"others": round(others_s / max(after.at_s - before.at_s, 1e-9), 2), **speed_facts(before, after)}


def doubts(facts: Mapping[str, float], cores: int) -> Iterator[str]:
    """Yield why the machine was too busy for a good measurement."""
    if facts["others"] > _LOADED * cores:
        yield f"other programs used {facts['others']:.1f} of {cores} cores during the measurement"
    if abs(facts["drift"]) > NOTABLE:
        yield f"the speed of the cores changed by {100 * facts['drift']:+.0f} % during the measurement"
    if facts["stolen"] > NOTABLE:
        yield f"the hypervisor took {100 * facts['stolen']:.0f} % of a core"

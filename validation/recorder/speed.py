"""Speed of this machine: the time of a fixed computation before and after each recorded run.

A virtual machine shares its cores, caches and memory with others: jobs of the recorded cases took 0.8 to 1.1 of the CPU
time that the calibration predicts (validation/scorecard/findings.yaml). The computation is a sort, because compactions
also spend their CPU time on comparisons.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

_KEYS: Final = 1 << 20
"""Number of keys to sort (8 MiB)."""
_ROUNDS: Final = 9
NOTABLE: Final = 0.05
"""Difference in speed between repeats, or share of stolen CPU time, from which the recorder prints a warning."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Time of the computation and stolen CPU time, read at one moment."""

    alone_s: float
    """Median time of the computation on one core, all others idle."""
    crowded_s: float
    """Time of the computation on all cores at once: mean over the cores of the median."""
    steal_s: float
    """Steal time since boot in CPU seconds: a core had work, but the host ran another task (Linux, /proc/stat)."""
    at_s: float
    """Monotonic clock at the reading of `steal_s`."""


def measure_speed() -> Speed:
    """Time the computation, first on one core, then on all cores at once; this takes about two seconds."""
    cores = os.cpu_count() or 1
    alone = _median_s(_ROUNDS)
    with ThreadPoolExecutor(cores) as pool:  # NumPy's sort releases the GIL
        crowded = list(pool.map(_median_s, [_ROUNDS] * cores))
    return Speed(alone, statistics.fmean(crowded), _steal_s(), time.monotonic())


def speed_facts(before: Speed, after: Speed) -> dict[str, float]:
    """Return the facts stored with a repeat: mean times, drift between the readings, and steal time per second."""
    return {
        "alone_s": _short((before.alone_s + after.alone_s) / 2.0),
        "crowded_s": _short((before.crowded_s + after.crowded_s) / 2.0),
        "drift": _short(after.alone_s / before.alone_s - 1.0),
        "stolen": _short((after.steal_s - before.steal_s) / max(after.at_s - before.at_s, 1e-9)),
    }


def speeds_differ(repeats: Sequence[Mapping[str, float]]) -> str:
    """Return a warning for the terminal if the machine's speed differed between repeats, else an empty text."""
    spread = max(max(r[key] for r in repeats) / min(r[key] for r in repeats) for key in ("alone_s", "crowded_s")) - 1.0
    stolen = max(r["stolen"] for r in repeats)
    if max(spread, stolen) < NOTABLE:
        return ""
    return (
        f"  the speed of the machine changed: a fixed computation took {100.0 * spread:.0f} % longer in one repeat "
        f"than in another; steal time was {100.0 * stolen:.0f} % of a core\n"
    )


def _median_s(rounds: int) -> float:
    keys = np.random.default_rng(1).integers(0, 1 << 62, _KEYS)
    taken = []
    for _ in range(rounds):
        work = keys.copy()
        started = time.perf_counter()
        work.sort(kind="stable")
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _steal_s() -> float:
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return int(fields[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def _short(value: float) -> float:
    return float(f"{value:.4g}")

"""How fast this machine is just now: a fixed computation, timed before and after each recorded run.

A virtual machine shares its cores, caches and memory with others: jobs of the recorded cases took 0.8 to 1.1 of the CPU
time that their calibration lets expect (validation/scorecard/findings.yaml). The computation sorts, so it compares as merges do.
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
"""Sorted keys: 8 MiB."""
_ROUNDS: Final = 9
_NOTABLE: Final = 0.05
"""What repeats of a run may differ by in speed before it is said."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Medians of the computation's time, and what the host took away."""

    alone_s: float
    """With one core busy."""
    crowded_s: float
    """With all of them."""
    steal_s: float
    """CPU seconds since boot for which a core had work and the host ran something else (Linux, /proc/stat)."""
    at_s: float
    """Monotonic clock when that was read."""


def measure_speed() -> Speed:
    """Time the computation, first on one core, then on all at once. Takes about two seconds."""
    cores = os.cpu_count() or 1
    alone = _median_s(_ROUNDS)
    with ThreadPoolExecutor(cores) as pool:  # sorting releases the interpreter's lock
        crowded = list(pool.map(_median_s, [_ROUNDS] * cores))
    return Speed(alone, statistics.fmean(crowded), _steal_s(), time.monotonic())


def speed_facts(before: Speed, after: Speed) -> dict[str, float]:
    """What is kept with a repeat: means of before and after, and the time stolen between them per second."""
    return {
        "alone_s": _short((before.alone_s + after.alone_s) / 2.0),
        "crowded_s": _short((before.crowded_s + after.crowded_s) / 2.0),
        "drift": _short(after.alone_s / before.alone_s - 1.0),
        "stolen": _short((after.steal_s - before.steal_s) / max(after.at_s - before.at_s, 1e-9)),
    }


def speeds_differ(repeats: Sequence[Mapping[str, float]]) -> str:
    """A line for the terminal where the machine was not the same in all repeats, else nothing."""
    spread = max(max(r[key] for r in repeats) / min(r[key] for r in repeats) for key in ("alone_s", "crowded_s")) - 1.0
    stolen = max(r["stolen"] for r in repeats)
    if max(spread, stolen) < _NOTABLE:
        return ""
    return (
        f"  the machine was not the same throughout: a fixed computation took {100.0 * spread:.0f} % longer beside one repeat "
        f"than beside another, the host stole {100.0 * stolen:.0f} % of a core\n"
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

"""Time that a store needs to recover from a burst of the load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

_QUANTITIES: Final = ("backlog_ops", "l0_files", "pending_bytes")
_SETTLED: Final = 0.5
"""Share of the time before the burst after which the store has settled."""


def recovery_s(series: Mapping[str, Any], begins_s: float, ends_s: float) -> float:
    """Return the seconds after the end of a burst until backlog, L0 files and compaction debt are no higher than before.

    The level before is the highest value between half of the time before the burst and its begin. Infinity: the store has
    not recovered at the end of the run.
    """
    times = np.asarray(series["t_s"], dtype=np.float64)
    before = (times > _SETTLED * begins_s) & (times <= begins_s)
    after = times > ends_s
    took_s = 0.0
    for name in _QUANTITIES:
        values = np.asarray(series[name], dtype=np.float64)
        usual = float(values[before].max()) if before.any() else 0.0
        above = np.flatnonzero(values[after] > usual)
        back = np.flatnonzero(values[after] <= usual)
        if not len(above):
            continue
        if not len(back):
            return math.inf
        took_s = max(took_s, float(times[after][back[0]]) - ends_s)
    return took_s

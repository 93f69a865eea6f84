"""Windows of a long horizon: their times, and the configuration of each with the keys that the store then has.

Between two windows no time is simulated. A window starts with the settled tree of the keys inserted so far
(`sim.preload`): each key once, upper levels at 90 % of their targets. Its warm-up, which is not measured, brings
obsolete versions, L0 and the fill of the upper levels to their usual state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.workloads.arrivals import ClosedLoop, mean_rate
from lsmlab.models.workloads.make import make_workload

_DAY_S = 86400.0
_NO_EVENTS = {"events": False}


@dataclass(frozen=True)
class Horizon:
    """Times of a long horizon, in s."""

    length_s: float
    count: int
    """Number of windows, the first at the start and the last at the end of the horizon."""
    warm_s: float
    """Simulated time before the measured part of a window."""
    window_s: float
    """Measured part of a window."""

    def __post_init__(self) -> None:
        if self.count < 2:
            raise InputError(f"--windows {self.count}: at least 2 windows are needed, at the start and at the end")
        if self.warm_s < 0.0 or self.length_s < self.count * (self.warm_s + self.window_s):
            raise InputError("--horizon: is shorter than its windows; take fewer of them, or simulate all with 'lsmlab run'")

    @property
    def begins_s(self) -> list[float]:
        """Return the time at which each window begins to be simulated."""
        last_s = self.length_s - self.warm_s - self.window_s
        return [last_s * i / (self.count - 1) for i in range(self.count)]


@dataclass(frozen=True)
class GrowthLoad:
    """Load of a growing store."""

    keys: float
    """Keys at the start."""
    inserts_per_s: float
    writes_per_s: float
    """Inserts, updates and deletes per second."""

    def keys_at(self, time_s: float) -> float:
        """Return the keys in the store at a time."""
        return self.keys + self.inserts_per_s * time_s


WARM_SHARE: Final = 0.3
"""Entries that clients write during the usual warm-up, as a share of the keys at the end. On a store of 100 GB, the write
amplification of windows was 14 % too high after 5 % of the keys, and within 4 % after 30 % (docs/how-to/grow.md)."""


def usual_warm_s(load: GrowthLoad, length_s: float, count: int, window_s: float) -> float:
    """Return the usual warm-up in s: `WARM_SHARE`, or less if the windows would not fit into the horizon."""
    wanted_s = WARM_SHARE * load.keys_at(length_s) / load.writes_per_s
    return float(math.floor(min(wanted_s, length_s / max(1, count) - window_s)))


def load_of(config: Mapping[str, Any]) -> GrowthLoad:
    """Return the load of a configuration. Raises InputError if its rate or growth is unknown."""
    group = config["workload"]
    if not str(group.get("_target_", "")).startswith("lsmlab.models.workloads.generic."):
        raise InputError("workload: a growing store needs a generic workload with inserts, such as workload=constant")
    workload = make_workload(group)
    inserts, writes, rng = 0.0, 0.0, np.random.default_rng(0)
    for clients in workload.clients:
        if isinstance(clients.arrivals, ClosedLoop):
            raise InputError("workload: a closed loop has no rate over months; choose a rate, such as workload=constant")
        rate = mean_rate(clients.arrivals, _DAY_S, rng)
        inserts += clients.mix.insert * rate
        writes += clients.mix.writes * rate
    if inserts <= 0.0:
        raise InputError("workload.insert: must be above 0, because the store of a long horizon grows by inserts")
    return GrowthLoad(float(workload.preload_keys), inserts, writes)


def check_comparable(config: Mapping[str, Any]) -> None:
    """Raise InputError if a run over the whole horizon has another load than the windows.

    Distributions other than `latest` choose among the keys at the start of a run. In a window these are all keys inserted
    so far; in a run over the horizon, those of its start only.
    """
    workload = make_workload(config["workload"])
    others = max(1.0 - c.mix.insert for c in workload.clients)
    if others > 1e-9 and str(config["workload"].get("distribution", "uniform")) != "latest":
        raise InputError(
            "--check: a run over the whole horizon updates and reads only the keys of its start; check the windows with "
            "workload.distribution=latest, or with inserts only"
        )


def window_configs(config: Mapping[str, Any], horizon: Horizon) -> list[dict[str, Any]]:
    """Return the configuration of each window."""
    load, length_s = load_of(config), horizon.warm_s + horizon.window_s
    return [_between(config, load, begin_s, begin_s + length_s) for begin_s in horizon.begins_s]


def full_config(config: Mapping[str, Any], horizon: Horizon) -> dict[str, Any]:
    """Return the configuration of one run over the whole horizon."""
    return _between(config, load_of(config), 0.0, horizon.length_s)


def _between(config: Mapping[str, Any], load: GrowthLoad, begin_s: float, end_s: float) -> dict[str, Any]:
    keys, end_keys = load.keys_at(begin_s), max(1, round(load.keys_at(end_s)))
    own = {"num": end_keys, "preload": min(1.0, keys / end_keys), "duration": end_s - begin_s}
    return {**config, "workload": {**config["workload"], **own}, "save": _NO_EVENTS}

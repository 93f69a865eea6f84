"""Load of a plan: rate now, growth, daily and weekly shape, bursts, and the keys, sizes and mix of the operations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.units import build, quantity
from lsmlab.models.workloads.arrivals import ClosedLoop, mean_rate
from lsmlab.models.workloads.base import Clients, Workload
from lsmlab.models.workloads.generic import Constant, MixedWorkload
from lsmlab.models.workloads.make import make_workload
from lsmlab.sim.studies.plan.trial import LoadBursts

_KEYS: Final = tuple(f.name for f in dataclasses.fields(MixedWorkload))
"""Keys of the load that a plan passes on to the simulated workload."""
_DAY_S: Final = 86400.0


@dataclass(frozen=True, kw_only=True)
class LoadSettings:
    """Keys of `workload` in a plan that are no keys of the simulated workload."""

    run: str | None = None
    """Folder of `lsmlab import`, folder of a run, or an override such as experiment=NAME: the store and its load."""
    set: Any = ()
    """Overrides for all candidates."""
    rate: float | None = quantity("per_s", None, low=1e-3)
    """Operations per second today, mean over a week."""
    growth_per_year: float = quantity("ratio", 0.0, low=-0.99, high=100.0)
    keys_growth_per_year: float = quantity("ratio", 0.0, low=-0.99, high=100.0)
    daily: Any = 1.0
    """Rate of the busiest hour over the mean of the day, or 24 relative rates."""
    weekly: Any = 1.0
    """Rate of the busiest day over the mean of the week, or 7 relative rates."""
    bursts: Any = None


@dataclass(frozen=True)
class LoadPlan:
    """Load of a plan, of all machines together."""

    rate_per_s: float
    growth_per_year: float
    keys_growth_per_year: float
    daily: float
    weekly: float
    bursts: LoadBursts | None
    keys: Mapping[str, Any]
    """Keys of the simulated workload, without rate and schedule."""

    @property
    def peak_per_s(self) -> float:
        """Return the rate of the busiest hour of the week: the rate that a store must sustain."""
        return self.rate_per_s * self.daily * self.weekly

    def grown(self, years: float) -> LoadPlan:
        """Return the load after some years: its rate and its keys have grown."""
        keys = {**self.keys, "num": max(1, round(self.keys_after(years)))}
        return dataclasses.replace(self, rate_per_s=self.rate_per_s * (1.0 + self.growth_per_year) ** years, keys=keys)

    def keys_after(self, years: float) -> float:
        """Return the number of keys after some years."""
        today = float(self.keys.get("num", MixedWorkload.num))
        return float(today * (1.0 + self.keys_growth_per_year) ** years)

    def on_one_of(self, machines: int) -> dict[str, Any]:
        """Return the keys of the workload on one of several machines that divide keys and clients evenly."""
        keys = dict(self.keys)
        keys["num"] = max(1, round(float(keys.get("num", MixedWorkload.num)) / machines))
        keys["threads"] = max(1, -(-int(keys.get("threads", MixedWorkload.threads)) // machines))
        return keys


def split(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the plan's own keys of `workload`, and those of the simulated workload."""
    passed = {key: value for key, value in values.items() if key in _KEYS or key == "families"}
    return {key: value for key, value in values.items() if key not in passed}, passed


def make_load(own: LoadSettings, passed: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[LoadPlan, list[str]]:
    """Return the load and notes about it. `config`: configuration of the store, whose workload gives what the plan lacks.

    Raises InputError that names the key.
    """
    notes: list[str] = []
    if own.run is not None:
        workload = make_workload(config["workload"])
        known = _of_run(config["workload"], workload, notes)
        rate = own.rate if own.rate is not None else _rate_of_run(workload)
    elif own.rate is not None:
        known, rate = {"preload": 1.0}, own.rate
    else:
        raise InputError("workload.rate: a value is required: operations per second today, such as 20k")
    keys = {**known, **passed}
    families = keys.pop("families", None)
    checked = build(Constant, {**keys, "rate": rate}, "workload")
    checked.mix()
    plain = {name: _plain(getattr(checked, name)) for name in keys}
    bursts = None if own.bursts is None else build(LoadBursts, _mapping(own.bursts, "workload.bursts"), "workload.bursts")
    return LoadPlan(
        rate, own.growth_per_year, own.keys_growth_per_year, _peak(own.daily, 24, "workload.daily"),
        _peak(own.weekly, 7, "workload.weekly"), bursts, plain if families is None else {**plain, "families": families},
    ), notes  # fmt: skip


def _plain(value: Any) -> Any:
    return value.value if hasattr(value, "value") else value


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: {value!r} must be a mapping, such as {{factor: 3, length: 60s}}")
    return value


def _peak(value: object, count: int, where: str) -> float:
    """Return the ratio of the highest rate to the mean."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != count or not all(isinstance(v, int | float) and v >= 0 for v in value) or not sum(value):
            raise InputError(f"{where}: must be {count} relative rates, none negative, or one number: busiest over mean")
        return float(max(value) / (sum(value) / count))
    if isinstance(value, int | float) and not isinstance(value, bool) and 1.0 <= value <= 1000.0:
        return float(value)
    raise InputError(f"{where}: {value!r} must be the busiest rate over the mean, 1 or more, or {count} relative rates")


def _rate_of_run(workload: Workload) -> float:
    group = _main(workload)
    if isinstance(group.arrivals, ClosedLoop):
        raise InputError(
            "workload.rate: a value is required, because the load of workload.run is a closed loop; set the operations per "
            "second today"
        )
    return mean_rate(group.arrivals, workload.duration_s or _DAY_S, np.random.default_rng(0))


def _main(workload: Workload) -> Clients:
    return max(workload.clients, key=lambda c: c.threads * (not c.background))


def _of_run(values: Mapping[str, Any], workload: Workload, notes: list[str]) -> dict[str, Any]:
    """Return the keys of the load of a run, as keys of the generic workloads."""
    if str(values.get("_target_", "")).startswith("lsmlab.models.workloads.generic."):
        found = {key: value for key, value in values.items() if key in _KEYS or (key == "families" and value)}
    else:
        mix = _main(workload).mix
        found = {name: share for name, share in dataclasses.asdict(mix).items() if share}
        found = {"read": 0.0, "update": 0.0, **found, "key_size": workload.key_size, "value_size": workload.value_bytes,
                 "num": workload.population, "threads": _main(workload).threads, "shards": workload.shards}  # fmt: skip
        name = values.get("name", workload.name)
        notes.append(f"workload.run: its load is {name}; the plan simulates its mix of operations with uniform keys")
    return {**found, "preload": 1.0}

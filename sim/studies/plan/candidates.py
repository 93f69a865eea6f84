"""Candidates of a plan: every combination of device, engine, options, shards and machines."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.overrides import literal
from lsmlab.sim.studies.baseline import Baseline
from lsmlab.sim.studies.plan.load import LoadPlan
from lsmlab.sim.studies.plan.planned_store import PlannedStore
from lsmlab.sim.studies.plan.prices import AvailabilitySettings, PriceEntry, with_device_price
from lsmlab.sim.studies.plan.yaml_file import check_keys

_KEYS: Final = ("device", "engine", "options", "shards", "machines")


@dataclass(frozen=True)
class PlanCandidate:
    """One way to run the store."""

    name: str
    choices: Mapping[str, Any]
    """Values of device, engine, options, shards and machines."""
    store: PlannedStore
    """Store of each of the machines."""
    price: PriceEntry
    availability: AvailabilitySettings = field(default_factory=AvailabilitySettings)

    @property
    def machines(self) -> int:
        """Return the number of machines of a copy, which divide keys and load evenly."""
        return int(self.choices["machines"])

    @property
    def carrying(self) -> int:
        """Return the number of machines of a copy that must carry the load: those left when the spare ones have failed."""
        return self.machines - self.availability.spare


def make_candidates(
    values: Mapping[str, Any], baseline: Baseline, load: LoadPlan, catalogue: Mapping[str, PriceEntry],
    availability: AvailabilitySettings,
) -> tuple[PlanCandidate, ...]:  # fmt: skip
    """Return all combinations, each once. Raises InputError for an unknown key or a configuration that cannot run."""
    check_keys(values, _KEYS, "candidates.")
    axes: dict[str, list[Any]] = {
        "device": _texts(values, "device"), "engine": _texts(values, "engine"), "options": _options(values),
        "shards": _counts(values, "shards"), "machines": _counts(values, "machines"),
    }  # fmt: skip
    rows = [dict(zip(axes, row, strict=True)) for row in itertools.product(*axes.values())]
    configs = baseline.compose_all([_overrides(row, catalogue) for row in rows])
    varied = [key for key, axis in axes.items() if len(axis) > 1] or ["device"]
    made = (_candidate(row, config, varied, load, catalogue) for row, config in zip(rows, configs, strict=True))
    return tuple(_available(one, load, availability) for one in made)


def _available(candidate: PlanCandidate, load: LoadPlan, availability: AvailabilitySettings) -> PlanCandidate:
    """Return the candidate whose machines also carry the load of failed ones."""
    found = replace(candidate, availability=availability)
    if found.carrying < 1:
        raise InputError(
            f"availability.spare: {availability.spare} of {found.machines} machines may fail, so none is left to carry the load; "
            "raise candidates.machines, or lower spare"
        )
    own = {key: value for key, value in load.on_one_of(found.carrying).items() if key != "shards"}
    return replace(found, store=PlannedStore(found.store.config, {**found.store.load, **own}))


def _candidate(
    row: Mapping[str, Any], config: Mapping[str, Any], varied: Sequence[str], load: LoadPlan,
    catalogue: Mapping[str, PriceEntry],
) -> PlanCandidate:  # fmt: skip
    machines = row["machines"] or 1
    keys = load.on_one_of(machines)
    if row["shards"] is not None:
        keys["shards"] = row["shards"]
    store = PlannedStore(config, keys)
    device = row["device"] or str(config["device"].get("name", "device"))
    choices = {
        **row, "device": device, "engine": row["engine"] or str(config["engine"].get("name", "engine")),
        "shards": row["shards"] or int(keys.get("shards", 1)), "machines": machines,
    }  # fmt: skip
    name = ", ".join(_text(key, choices[key]) for key in varied)
    try:
        price = store.setup.setting.device.settings.price_usd
    except InputError as error:
        raise InputError(f"candidates: {name}: {error}") from None
    entry = with_device_price(catalogue.get(device, PriceEntry()), config["device"], price)
    return PlanCandidate(name, choices, store, entry)


def _text(key: str, value: Any) -> str:
    if key == "options":
        return " ".join(f"{name.removeprefix('engine.options.')}={v}" for name, v in value.items()) or "default options"
    if key in ("shards", "machines"):
        return f"{value} {key[:-1] if value == 1 else key}"
    return str(value)


def _overrides(row: Mapping[str, Any], catalogue: Mapping[str, PriceEntry]) -> list[str]:
    changes: list[str] = []
    if row["device"] is not None:
        entry = catalogue.get(row["device"], PriceEntry())
        changes += [f"device={entry.device or row['device']}", *_set(entry, row["device"])]
    if row["engine"] is not None:
        changes.append(f"engine={row['engine']}")
    return [*changes, *(f"{key if '.' in key else f'engine.options.{key}'}={literal(v)}" for key, v in row["options"].items())]


def _set(entry: PriceEntry, name: str) -> list[str]:
    changes = entry.set
    if isinstance(changes, str) or not isinstance(changes, Sequence) or not all(isinstance(t, str) for t in changes):
        raise InputError(f"catalogue: {name}.set: must be a list of overrides, such as [host.cores=4]")
    return list(changes)


def _listed(values: Mapping[str, Any], key: str) -> list[Any]:
    value = values.get(key)
    if value is None:
        return [None]
    listed = list(value) if isinstance(value, list | tuple) else [value]
    if not listed:
        raise InputError(f"candidates.{key}: the list is empty; name at least one value, or omit the key")
    return listed


def _texts(values: Mapping[str, Any], key: str) -> list[str | None]:
    listed = _listed(values, key)
    if not all(text is None or isinstance(text, str) for text in listed):
        raise InputError(f"candidates.{key}: {listed!r} must be names; 'lsmlab list {key}s' shows them")
    return list(dict.fromkeys(listed))


def _counts(values: Mapping[str, Any], key: str) -> list[int | None]:
    listed = _listed(values, key)
    if not all(n is None or (isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= 10_000) for n in listed):
        raise InputError(f"candidates.{key}: {listed!r} must be whole numbers from 1 to 10000")
    return list(dict.fromkeys(listed))


def _options(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = [{} if value is None else value for value in _listed(values, "options")]
    if not all(isinstance(value, Mapping) for value in listed):
        raise InputError("candidates.options: must be a list of mappings, such as [{}, {max_background_jobs: 8}]")
    return [{str(key): value for key, value in one.items()} for one in listed]

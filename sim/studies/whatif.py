"""What if: differences between a store and alternatives to it, over common seeds, and the present state against its LOG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes
from lsmlab.sim.configuration.combinations import expand
from lsmlab.sim.configuration.names import folder_names
from lsmlab.sim.configuration.overrides import override_key
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate
from lsmlab.sim.runs.index import flat, typed_value
from lsmlab.sim.studies.baseline import Baseline, StoreRequest, read_baseline
from lsmlab.sim.studies.differences import Difference, Reproduction, against_log, differences, reproduction
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.lengths import StoreState, state_of, until_settled
from lsmlab.sim.studies.request import argument, command_of
from lsmlab.sim.studies.study import Study, Variant

PRESENT: Final = "present state"
GROUPS: Final = (
    "engine", "device", "cold_device", "wal_device", "host", "limits", "conditions", "workload", "keys", "experiment",
)  # fmt: skip
_CAPS: Final = ("write_cap", "read_cap", "iops_cap")


@dataclass(frozen=True, kw_only=True)
class WhatIfRequest(StoreRequest):
    """Simulate a store and alternatives to it with the same seeds; print the differences with 90 % intervals."""

    alternatives: tuple[str, ...] = argument(
        "ALTERNATIVE", "change to the store: key=value; several in quotes; comma lists give one alternative per combination",
        several=True, least=0,
    )  # fmt: skip


@dataclass(frozen=True)
class Present:
    """Present state of a store."""

    name: str
    folder: str
    """Folder of its first run, in the folder of the answer."""
    values: dict[str, float]
    """Mean of each metric over the seeds."""
    state: StoreState


@dataclass(frozen=True)
class ComparedAlternative:
    """An alternative, compared with the present state."""

    name: str
    folder: str
    changes: list[str]
    """Replaced entries and values, in words."""
    kept: list[str]
    """Facts that stay although an entry was replaced."""
    differences: list[Difference]
    state: StoreState


@dataclass(frozen=True)
class WhatIfAnswer(Document):
    """Answer to a what-if; the content of whatif.json."""

    store: str
    overrides: list[str]
    seeds: list[int]
    present: Present
    reproduction: Reproduction | None
    """The simulated present state against the LOG; None for a store that is no LOG."""
    alternatives: list[ComparedAlternative]
    command: str
    """Command that repeats the answer."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Changes to the present state."""

    name: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class _Asked:
    """A what-if with its configurations: the present state, then each alternative."""

    baseline: Baseline
    alternatives: Sequence[Alternative]
    configs: Sequence[dict[str, Any]]
    folders: Sequence[str]
    """Name of the folder of each configuration."""
    study: Study


def _asked(request: WhatIfRequest, folder: Path | None) -> _Asked:
    baseline = read_baseline(request.store, request.set, request.config_dirs)
    found = alternatives(request.alternatives)
    configs = baseline.compose_all([(), *(a.overrides for a in found)])
    names = [PRESENT, *(a.name for a in found)]
    folders = folder_names(names)
    variants = {
        name: Variant(config, {"configuration": name}, None if folder is None else folder / place)
        for name, config, place in zip(names, configs, folders, strict=True)
    }
    return _Asked(baseline, found, configs, folders, Study(variants, request.replications))


def cost(request: WhatIfRequest, runs: Settings) -> CostEstimate:
    """Return the estimated cost of the runs that the run store lacks."""
    return _asked(request, None).study.cost(runs)


def whatif(request: WhatIfRequest, runs: Settings, folder: Path | None = None) -> WhatIfAnswer:
    """Simulate the present state of a store and its alternatives, and compare them.

    `folder`: gets a folder for the first run of each. Raises InputError for a store, a change or an alternative that is not
    possible.
    """
    asked = _asked(request, folder)
    baseline, configs = asked.baseline, asked.configs
    study = asked.study
    if baseline.lengthens(request.settled, [text for one in asked.alternatives for text in one.overrides]):
        study = until_settled(study, runs)
    outcome = study.run(runs, [folder] if folder is not None else [])
    present = replace(outcome.repeats(PRESENT), changed=bool(request.set))
    reproduced = reproduction(present, baseline.recorded) if baseline.recorded and baseline.from_a_log else None
    return WhatIfAnswer(
        baseline.name, list(baseline.overrides), present.seeds,
        Present(PRESENT, asked.folders[0], present.means(), state_of(present)),
        reproduced,
        [
            ComparedAlternative(
                one.name, place, changes_of(one.overrides, configs[0], config), kept_facts(one.overrides, config),
                against_log(differences(present, repeats), reproduced), state_of(repeats),
            )
            for one, place, config in zip(asked.alternatives, asked.folders[1:], configs[1:], strict=True)
            for repeats in [outcome.repeats(one.name)]
        ],
        command_of("whatif", request),
    )  # fmt: skip


def alternatives(arguments: Sequence[str]) -> list[Alternative]:
    """Return the alternatives in order, each once: each argument has one or several overrides; comma lists make a grid.

    >>> [a.name for a in alternatives(["device=sata", "engine=vlsm,silk workload.scale=2"])]
    ['device=sata', 'engine=vlsm workload.scale=2', 'engine=silk workload.scale=2']
    """
    found: dict[str, Alternative] = {}
    for argument_ in arguments:
        texts = argument_.split()
        bad = next((text for text in texts if "=" not in text.lstrip("~") and not text.startswith("~")), None)
        if bad is not None or not texts:
            raise InputError(f"{argument_!r}: an alternative is key=value, several of them in quotes: 'device=sata host.cores=8'")
        for overrides, chosen in expand(texts):
            name = " ".join(_named(text, chosen) for text in texts)
            found.setdefault(name, Alternative(name, tuple(overrides)))
    return list(found.values())


def _named(text: str, chosen: dict[str, str]) -> str:
    key = text.partition("=")[0]
    return f"{key}={chosen[key]}" if key in chosen else text


def changes_of(overrides: Sequence[str], present: Mapping[str, Any], alternative: Mapping[str, Any]) -> list[str]:
    """Return one text for each change: `device: imported -> sata`, `host.cores: 16 -> 4`.

    Options that another engine sets itself follow the engine; other values of a replaced group are left out.
    """
    before, after = dict(flat(present)), dict(flat(alternative))
    texts: list[str] = []
    for override in overrides:
        key = override_key(override)
        if key in GROUPS:
            texts.append(f"{key}: {_name(present, key)} -> {override.partition('=')[2]}")
            if key == "engine":
                texts += [
                    f"{name}: {_text(present, name)} -> {_text(alternative, name)}"
                    for name, value in after.items()
                    if name.startswith("engine.options.") and value is not None and before.get(name) != value
                ]
        else:
            texts.append(f"{key}: {_text(present, key)} -> {_text(alternative, key)}")
    return list(dict.fromkeys(texts))


def kept_facts(overrides: Sequence[str], alternative: Mapping[str, Any]) -> list[str]:
    """Return the facts that stay although an entry was replaced, as sentences."""
    keys = {override_key(text) for text in overrides}
    facts = []
    if "device" in keys:
        facts.append("the load, the options and the CPU costs stay")
        caps = _caps(alternative)
        if caps and "limits" not in keys:
            stay = "stays" if len(caps) == 1 else "stay"
            facts.append(f"{', '.join(caps)} {stay} although the drive is another one; limits=none lifts caps")
        cache = typed_value((alternative.get("device") or {}).get("page_cache"))
        if isinstance(cache, int | float) and cache > 0:
            facts.append(f"the page cache of {format_bytes(cache)} stays")
    if "engine" in keys:
        version = (alternative.get("engine") or {}).get("version")
        facts.append(f"the load, the machine, release {version} and all options that the engine does not set stay")
    if "workload" in keys:
        facts.append("the options and the machine stay")
    return facts


def _caps(config: Mapping[str, Any]) -> list[str]:
    """Return the caps in force, by key with value."""
    limits, device = config.get("limits") or {}, config.get("device") or {}
    found = []
    for key in _CAPS:
        group = "device" if device.get(key) is not None else "limits"
        value = device.get(key) if group == "device" else limits.get(key)
        if value is not None:
            found.append(f"{group}.{key}={_rate(value) if key != 'iops_cap' else value}")
    return found


def _rate(value: object) -> str:
    number = typed_value(value)
    return f"{number / 1e6:,.0f}MB/s" if isinstance(number, int | float) else str(value)


def _name(config: Mapping[str, Any], group: str) -> str:
    entry = config.get(group)
    if entry is None:
        return "none"
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return str(name) if name else "present"


def _text(config: Mapping[str, Any], key: str) -> str:
    """Return a value as the configuration writes it; whole numbers of KiB with their unit."""
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**16 and value % 1024 == 0:
        return format_bytes(value)
    return "default" if value is None else str(value)

"""Baseline of a study: the store in question, from an imported LOG, a finished run, or overrides; and changes to it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.catalogue import IN_MEMORY, ConfigFolder
from lsmlab.sim.configuration.compose import check, compose
from lsmlab.sim.configuration.overrides import PARAMETERS, override_key, parsed, prepare
from lsmlab.sim.configuration.parameters import with_drive
from lsmlab.sim.results.reading import SUMMARY, read_summary
from lsmlab.sim.studies.request import SettledRequest, argument, option
from lsmlab.sim.yaml_text import read_yaml

DURATION: Final = "workload.duration"
"""Key with the length of runs."""
_POLICIES: Final = tuple(f"engine/{part}" for part in ("picker", "cutter", "throttle", "scheduler", "tuner", "filter"))
_REPLACED: Final = (
    "engine", *_POLICIES, "device", "cold_device", "wal_device", "host", "limits", "conditions", "workload", "keys",
)  # fmt: skip
"""Groups whose entry a change may replace."""
_LEFT_OUT: Final = ("cold_device", "wal_device")
"""Groups without which a store works: a change may set them to null."""
_OF_THE_DEPLOYMENT: Final = ("page_cache", "write_cap", "read_cap", "iops_cap")
"""Keys of the device group that belong to memory and limits of the machine: they stay with another drive."""
_OF_THE_STORE: Final = ("version", "families", "options_file", "not_simulated")
"""Keys of the engine group that belong to the store: they stay with other policies."""


@dataclass(frozen=True, kw_only=True)
class StoreRequest(SettledRequest):
    """Question about one store, which runs with several seeds."""

    store: str = argument(
        "RUN", "folder of 'lsmlab import', folder of a run, or an override such as experiment=NAME"
    )
    set: tuple[str, ...] = option((), "override for all runs", metavar="KEY=VALUE")
    replications: int = option(5, "seeds per configuration (default: 5)", metavar="N", low=1)


@dataclass(frozen=True)
class Baseline:
    """Store whose present state and alternatives are simulated."""

    name: str
    """Folder or override by which the user named it."""
    overrides: tuple[str, ...] = ()
    """Overrides of the present state; without `stored` they choose its entries too."""
    folders: tuple[ConfigFolder, ...] = ()
    """Folders of configuration groups."""
    stored: Mapping[str, Any] | None = None
    """Configuration of a finished run; None: the overrides give it."""
    recorded: Mapping[str, Any] | None = None
    """Summary of the LOG or of the run; None if the store was named by an override."""
    from_a_log: bool = False
    """Whether the constants of the machine come from one LOG."""

    def lengthens(self, settled: bool | None, changes: Iterable[str] = ()) -> bool:
        """Return whether runs are lengthened until they settle: as asked, or if nothing sets their duration.

        A LOG and a finished run set it, and overrides may (`sets_duration`).
        """
        if settled is not None:
            return settled
        return self.stored is None and not self.from_a_log and not sets_duration((*self.overrides, *changes))

    def compose_all(self, changes: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Return one configuration for each sequence of overrides, on top of the present state."""
        if self.stored is None:
            return [compose([*self.overrides, *own], self.folders) for own in changes]
        return [changed(self.stored, [*self.overrides, *own], self.folders) for own in changes]

    def compose(self, changes: Sequence[str] = ()) -> dict[str, Any]:
        """Return the configuration with these overrides on top of the present state."""
        return self.compose_all([changes])[0]


def sets_duration(overrides: Iterable[str]) -> bool:
    """Return whether overrides set the duration of a run: its key, or an experiment, which has a length of its own."""
    return not {DURATION, "experiment"}.isdisjoint(map(override_key, overrides))


def read_baseline(name: str, overrides: Sequence[str] = (), folders: Sequence[Path] = ()) -> Baseline:
    """Return the store that `name` means: a folder of `lsmlab import`, on disk or in memory, that of a run, or an override.

    `overrides` apply to the present state and to all alternatives. Raises InputError for any other folder.
    """
    if (in_memory := IN_MEMORY.get(name)) is not None:
        return _imported(name, in_memory, in_memory.summary, overrides, folders)
    folder = Path(name)
    if not folder.exists() and "=" in name:
        return Baseline(name, (name, *overrides), tuple(folders))
    if not folder.is_dir():
        raise InputError(f"{name}: no such folder; name a folder of 'lsmlab import', a run's folder, or experiment=NAME")
    if (folder / "experiment").is_dir():
        return _imported(name, folder, read_summary(folder), overrides, folders)
    first = folder if (folder / "config.yaml").is_file() else folder / "seed_1"
    if not (first / "config.yaml").is_file():
        raise InputError(f"{name}: contains no experiment/ of an import and no config.yaml of a run; choose such a folder")
    summary = read_summary(first) if (first / SUMMARY).is_file() else None
    return Baseline(name, tuple(overrides), tuple(folders), stored=_read_config(first / "config.yaml"), recorded=summary)


def _imported(
    name: str, folder: ConfigFolder, recorded: Mapping[str, Any], overrides: Sequence[str], folders: Sequence[Path]
) -> Baseline:
    """Return the store of a LOG with the load that repeats the real one."""
    experiment = (recorded.get("import") or {}).get("experiment", "imported")
    return Baseline(
        name, (f"experiment={experiment}", *overrides), (folder, *folders), recorded=recorded, from_a_log=True
    )


def _read_config(path: Path) -> dict[str, Any]:
    """Return the configuration of a run. Raises InputError if the file is damaged."""
    content = read_yaml(path)
    if not isinstance(content, dict) or not isinstance(content.get("engine"), dict):
        raise InputError(f"{path}: is not the configuration of a run; repeat the run")
    return content


def changed(
    config: Mapping[str, Any], overrides: Sequence[str], folders: Sequence[ConfigFolder] = ()
) -> dict[str, Any]:
    """Return a copy of a run's configuration with the changes of `overrides`.

    An entry of a group replaces the group, except the facts that do not depend on it: another drive leaves page cache and
    caps, other policies leave release, column families and those options that they do not set themselves. A measured machine
    (machine=PATH) replaces host and drive and adds its limits. Raises InputError for an unknown key or an override that a
    finished run cannot take.
    """
    result = copy.deepcopy(dict(config))
    prepared = with_drive(prepare(overrides))
    for text in [text for text in prepared if override_key(text) in _LEFT_OUT and text.endswith("=null")]:
        prepared.remove(text)
        result[override_key(text)] = None
    chosen = [text for text in prepared if override_key(text) in (*_REPLACED, PARAMETERS)]
    values = [text for text in prepared if text not in chosen]
    if chosen:
        entries = compose(chosen, folders)
        keys = list(map(override_key, chosen))
        for group in dict.fromkeys("host" if key == PARAMETERS else key for key in keys):
            if group in _POLICIES:
                part = group.partition("/")[2]
                result["engine"] = {**result["engine"], part: entries["engine"][part]}
                continue
            result[group] = _replaced(group, entries[group], config.get(group) or {})
            _forget_errors(result, group)
        if PARAMETERS in keys:
            result["limits"] = {**(result.get("limits") or {}), **{k: v for k, v in entries["limits"].items() if v is not None}}
            result["parameters"] = entries["parameters"]
    for text in values:
        _set(result, text)
    check(result)
    return result


def _replaced(group: str, entry: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    if group == "device":
        return {**entry, **{key: before[key] for key in _OF_THE_DEPLOYMENT if before.get(key)}}
    if group == "engine":
        kept = {key: before[key] for key in _OF_THE_STORE if before.get(key)}
        return {**entry, **kept, "options": _filled(entry.get("options") or {}, before.get("options") or {})}
    return dict(entry)


def _filled(options: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return `options` with the values of `before` where they have none."""
    filled = dict(options)
    for key, value in before.items():
        own = filled.get(key)
        if isinstance(own, Mapping) and isinstance(value, Mapping):
            filled[key] = _filled(own, value)
        elif own is None and key in filled:
            filled[key] = value
    return filled


def _forget_errors(config: dict[str, Any], group: str) -> None:
    """Drop the standard errors of the constants of a group that was replaced."""
    known = config.get("parameters")
    if isinstance(known, Mapping):
        errors = {k: v for k, v in (known.get("standard_errors") or {}).items() if not k.startswith(f"{group}.")}
        config["parameters"] = {**known, "standard_errors": errors}


def _set(config: dict[str, Any], text: str) -> None:
    from lsmlab.sim.configuration.messages import unknown_key

    (override,) = parsed([text])
    *path, last = override.key_or_group.split(".")
    node: Any = config
    if override.type.name == "FORCE_ADD" and path[:2] == ["engine", "families"] and not override.is_sweep_override():
        for part in path:  # a family has only the options in which it differs; the engine checks their names
            node = node.setdefault(part, {})
        node[last] = override.value()
        return
    for part in path:
        node = node.get(part) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node or isinstance(node[last], dict):
        raise unknown_key(override.key_or_group, config)
    if not override.type.name == "CHANGE" or override.is_sweep_override():
        raise InputError(f"{text}: a finished run takes overrides of the form key=value; compose other ones with 'lsmlab run'")
    node[last] = override.value()

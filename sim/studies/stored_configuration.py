"""Changes to the complete configuration of a finished run."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.catalogue import ConfigFolder
from lsmlab.sim.configuration.checks import check
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.overrides import override_key, parsed, prepare
from lsmlab.sim.yaml_text import read_yaml

_POLICIES: Final = tuple(f"engine/{part}" for part in ("picker", "cutter", "throttle", "scheduler", "tuner", "filter"))
_REPLACED: Final = ("engine", *_POLICIES, "device", "host", "limits", "conditions", "workload", "keys")
"""Groups whose entry a change may replace."""
_OF_THE_DEPLOYMENT: Final = ("page_cache", "write_cap", "read_cap", "iops_cap")
"""Keys of the device group that belong to memory and limits of the machine: they stay with another drive."""
_OF_THE_STORE: Final = ("version", "families", "options_file")
"""Keys of the engine group that belong to the store: they stay with other policies."""


def read_config(path: Path) -> dict[str, Any]:
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
    caps, other policies leave release, column families and those options that they do not set themselves. Raises
    InputError for an unknown key or an override that a finished run cannot take.
    """
    result = copy.deepcopy(dict(config))
    chosen = [text for text in prepare(overrides) if override_key(text) in _REPLACED and "." not in override_key(text)]
    values = [text for text in prepare(overrides) if text not in chosen]
    if chosen:
        entries = compose(chosen, folders)
        for group in map(override_key, chosen):
            if group in _POLICIES:
                part = group.partition("/")[2]
                result["engine"] = {**result["engine"], part: entries["engine"][part]}
                continue
            result[group] = _replaced(group, entries[group], config.get(group) or {})
            _forget_errors(result, group)
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
    for part in path:
        node = node.get(part) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node or isinstance(node[last], dict):
        raise unknown_key(override.key_or_group, config)
    if not override.type.name == "CHANGE" or override.is_sweep_override():
        raise InputError(f"{text}: a finished run takes overrides of the form key=value; compose other ones with 'lsmlab run'")
    node[last] = override.value()

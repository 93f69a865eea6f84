"""Checks of a composed configuration: its keys, its version, and the classes that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.version import Version
from lsmlab.sim.configuration.trust import check_targets

_KEYS: Final = (
    "engine", "device", "host", "limits", "conditions", "workload", "keys", "prefill", "initial_tree", "seed",
    "replications", "save", "checks", "report", "json", "description",
)  # fmt: skip
"""Top-level keys of a configuration; host.parameters adds the key `parameters` later."""


def check_keys(config: Mapping[str, Any]) -> None:
    """Raise InputError for an unknown top-level key, such as a misspelt key of an experiment or one added with +."""
    for key in sorted(config.keys() - _KEYS):
        if key == "experiment":
            raise InputError("experiment: its file has no effect; its first line must be '# @package _global_'")
        from lsmlab.sim.configuration.messages import unknown_key

        raise unknown_key(key, dict.fromkeys(_KEYS))


def check(config: Mapping[str, Any]) -> None:
    """Raise InputError for a configuration that must not run: a `_target_` that is not allowed, or a bad version."""
    version = config.get("engine", {}).get("version") if isinstance(config.get("engine"), Mapping) else None
    if isinstance(version, int | float):
        raise InputError(f"engine.version: {version} was read as a number; write major.minor, in a YAML file in quotes")
    if isinstance(version, str):
        try:
            Version.parse(version)
        except InputError as error:
            raise InputError(f"engine.version: {error}") from None
    check_targets(config)

"""Checks of a composed configuration: its keys, its version, and the classes that it names."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.version import Version

_KEYS: Final = (
    "engine", "device", "host", "limits", "workload", "keys", "prefill", "initial_tree", "seed", "replications", "save",
    "checks", "report", "json", "description",
)  # fmt: skip
"""Top-level keys of a configuration; host.parameters adds the key `parameters` later."""
_TRUSTED_ENV: Final = "LSMLAB_ALLOW_PACKAGES"
"""Environment variable that passes the packages allowed in `_target_` to the worker processes of a sweep."""


def allow_packages(names: Sequence[str]) -> None:
    """Allow `_target_` to name classes of further packages, in this process and in the workers of a sweep."""
    if names:
        os.environ[_TRUSTED_ENV] = ":".join([*trusted_packages(), *names])


def check_keys(config: Mapping[str, Any]) -> None:
    """Raise InputError for an unknown top-level key, such as a misspelt key of an experiment or one added with +."""
    from lsmlab.sim.configuration.messages import unknown_key

    for key in sorted(config.keys() - _KEYS):
        if key == "experiment":
            raise InputError("experiment: its file has no effect; its first line must be '# @package _global_'")
        raise unknown_key(key, dict.fromkeys(_KEYS))


def check(config: Mapping[str, Any]) -> None:
    """Raise InputError for a configuration that must not run: code outside trusted packages, or a bad version.

    A configuration may come from an untrusted source, and LSMLab calls the class that `_target_` names.
    """
    version = config.get("engine", {}).get("version") if isinstance(config.get("engine"), Mapping) else None
    if isinstance(version, int | float):
        raise InputError(f"engine.version: {version} was read as a number; write major.minor, in a YAML file in quotes")
    if isinstance(version, str):
        try:
            Version.parse(version)
        except InputError as error:
            raise InputError(f"engine.version: {error}") from None
    trusted = ("lsmlab", *trusted_packages())
    for where, target in _targets(config, ""):
        if not any(str(target).startswith(f"{package}.") for package in trusted):
            package = str(target).partition(".")[0]
            raise InputError(f"{where}: {target} is outside lsmlab; if you trust it, add --allow-package {package}")
        if not _in_a_module(str(target)):
            raise InputError(f"{where}: {target} is not in an installed module; check the name or install its package")


def _targets(node: object, where: str) -> Iterator[tuple[str, object]]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            place = f"{where}.{key}" if where else str(key)
            if key == "_target_":
                yield place, value
            else:
                yield from _targets(value, place)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _targets(value, f"{where}[{index}]")


def _in_a_module(target: str) -> bool:
    """Return whether the part before the last dot is a module; this excludes objects that a module imported."""
    try:
        return importlib.util.find_spec(target.rpartition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def trusted_packages() -> list[str]:
    """Return the packages other than lsmlab whose classes `_target_` may name (--allow-package)."""
    return [name for name in os.environ.get(_TRUSTED_ENV, "").split(":") if name]

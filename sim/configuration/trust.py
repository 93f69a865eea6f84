"""Trust in configurations of others: classes that `_target_` may name, and Hydra's own settings (--trust).

LSMLab and Hydra call what `_target_` names. docs/reference/security.md describes the rules for users.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from lsmlab.models.errors import InputError

_PACKAGES_ENV: Final = "LSMLAB_ALLOW_PACKAGES"
"""Environment variable that passes the packages allowed in `_target_` to the worker processes of a sweep."""
_TRUST_ENV: Final = "LSMLAB_TRUST"
"""Environment variable that passes --trust to the worker processes of a sweep."""
FOREIGN: Final = "foreign"
"""Scheme of the addresses of folders that may set LSMLab's own groups only (`configuration.folders`)."""
TRUSTED: Final = "trusted"
"""Scheme of folders that may set everything."""
MEMORY: Final = "memory"
"""Scheme of folders in memory, which may set no more than foreign ones."""
FOLDER_SCHEMES: Final = (FOREIGN, TRUSTED, MEMORY)
REMEDY: Final = "remove it, or add --trust if you trust its author"
_ROOMS: Final = {
    "device": "lsmlab.models.devices", "cold_device": "lsmlab.models.devices", "wal_device": "lsmlab.models.devices",
    "workload": "lsmlab.models.workloads", "prefill": "lsmlab.models.workloads",
    "engine": "lsmlab.models.engines",
    **{f"engine.{part}": "lsmlab.models.policies" for part in ("picker", "cutter", "throttle", "scheduler", "tuner", "filter")},
}  # fmt: skip
"""Packages of LSMLab whose classes a `_target_` may name, by the key that contains the `_target_`."""
_HYDRA_TARGETS: Final = (
    "lsmlab.reports.cli.hydra_runs.Index", "hydra._internal.core_plugins.", "hydra.experimental.callbacks.", "hydra_plugins.",
    "optuna.samplers.", "logging.StreamHandler", "logging.FileHandler", "logging.NullHandler", "logging.Formatter",
    "colorlog.ColoredFormatter",
)  # fmt: skip
"""Names, or beginnings of names, that Hydra's settings may name: those of Hydra, of its plugins and of its logging."""
_CALLED: Final = ("_target_", "class", "()")
"""Keys of Hydra's settings whose values Hydra or `logging` calls."""


@contextmanager
def trusting(wanted: bool) -> Iterator[None]:
    """Trust the configurations of this block and of the processes that it starts, if `wanted`."""
    before = os.environ.get(_TRUST_ENV)
    if wanted:
        os.environ[_TRUST_ENV] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_TRUST_ENV, None)
        else:
            os.environ[_TRUST_ENV] = before


def is_trusted() -> bool:
    """Return whether configurations of others may set everything (--trust)."""
    return os.environ.get(_TRUST_ENV, "0") not in ("", "0")


def names_hydra(text: str) -> bool:
    """Return whether a key, group, package or entry of a defaults list belongs to Hydra's own settings.

    >>> [names_hydra(t) for t in ("override /hydra/launcher", "/device@hydra.run", "hydra.run.dir", "host", "my_hydra")]
    [True, True, True, False, False]
    """
    return "hydra" in re.split(r"[^\w-]+", text)


def refuse_hydra(overrides: Sequence[str], where: str) -> None:
    """Raise InputError if an override of a file sets something of Hydra. `where` names file and key."""
    for text in overrides:
        if not is_trusted() and names_hydra(text.partition("=")[0]):
            raise InputError(f"{where}: {text}: may not set Hydra's own settings, which can run code; {REMEDY}")


def allow_packages(names: Sequence[str]) -> None:
    """Allow `_target_` to name classes of further packages, in this process and in the workers of a sweep."""
    if names:
        os.environ[_PACKAGES_ENV] = ":".join([*trusted_packages(), *names])


def trusted_packages() -> list[str]:
    """Return the packages other than lsmlab whose classes `_target_` may name (--allow-package)."""
    return [name for name in os.environ.get(_PACKAGES_ENV, "").split(":") if name]


def check_targets(config: Mapping[str, object]) -> None:
    """Raise InputError for a `_target_` that is no class of the group's package or of a trusted package."""
    for where, target in _values(config, "", ("_target_",)):
        name, place = str(target), where.rpartition(".")[0]
        allowed = [*([_ROOMS[place]] if place in _ROOMS else []), *trusted_packages()]
        if not name.startswith("lsmlab.") and not _is_inside(name, allowed):
            package = name.partition(".")[0]
            raise InputError(f"{where}: {name} is outside lsmlab; if you trust it, add --allow-package {package}")
        if not _is_inside(name, allowed):
            room = f"a class of {_ROOMS[place]}" if place in _ROOMS else "no class"
            raise InputError(f"{where}: {name} may not be called here; {place or 'the configuration'} takes {room}")
        if not _in_a_module(name):
            raise InputError(f"{where}: {name} is not in an installed module; check the name or install its package")


def check_hydra_targets(settings: Mapping[str, object]) -> None:
    """Raise InputError if Hydra's settings name a function or class other than those of Hydra and its plugins."""
    if is_trusted():
        return
    for where, target in _values(settings, "hydra", _CALLED):
        name = str(target)
        known = any(name.startswith(t) if t.endswith(".") else name == t for t in _HYDRA_TARGETS)
        if not known and not _is_inside(name, trusted_packages()):
            raise InputError(f"{where}: {name} may not be called by Hydra; {REMEDY}")


def _is_inside(target: str, packages: Sequence[str]) -> bool:
    return any(target.startswith(f"{package}.") for package in packages)


def _values(node: object, where: str, keys: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Yield the values of some keys at any depth, with their places in the configuration."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            place = f"{where}.{key}" if where else str(key)
            if key in keys:
                yield place, value
            else:
                yield from _values(value, place, keys)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _values(value, f"{where}[{index}]", keys)


def _in_a_module(target: str) -> bool:
    """Return whether the part before the last dot is a module; this excludes objects that a module imported."""
    try:
        return importlib.util.find_spec(target.rpartition(".")[0]) is not None
    except (ImportError, ValueError):
        return False

"""Engines from configuration mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from lsmlab.models.engines.engine import Engine
from lsmlab.models.errors import InputError
from lsmlab.models.units import build

METADATA: Final = ("description", "source", "citation", "assumptions", "options_file")
"""Keys of an engine's YAML that inform readers, or that the command line has already acted on."""
DEFAULT: Final = "lsmlab.models.engines.rocksdb.RocksDb"


def make_engine(values: Mapping[str, Any], allowed: Sequence[str] = ()) -> Engine:
    """The engine that an `engine` mapping describes.

    `_target_` names a class inside lsmlab or one of the packages in `allowed`; its attribute `Settings` is a frozen
    dataclass of the mapping's other keys, and the class is called with one of it. Raises InputError for any other
    target, unknown keys and bad values.
    """
    cls = _import(str(values.get("_target_") or DEFAULT), ("lsmlab", *allowed))
    settings = build(cls.Settings, {k: v for k, v in values.items() if k not in METADATA}, "engine")
    engine: Engine = cls(settings)
    return engine


def _import(target: str, packages: Sequence[str]) -> Any:
    if not any(target.startswith(f"{package}.") for package in packages):
        raise InputError(f"engine._target_: {target} is outside the allowed packages ({', '.join(packages)})")
    module, _, name = target.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"engine._target_: cannot load {target}: {error}") from None
    if not hasattr(found, "Settings"):
        raise InputError(f"engine._target_: {target} is not an engine: it has no Settings")
    return found

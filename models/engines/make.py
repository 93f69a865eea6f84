"""Engines from configuration mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.engines.engine import Engine
from lsmlab.models.errors import InputError
from lsmlab.models.policies.parts import GROUPS, METADATA, make_part
from lsmlab.models.targets import load_class
from lsmlab.models.units import build

_ABOUT: Final = (*METADATA, "options_file", "families")
"""Keys of an engine's YAML without effect on the engine: metadata, keys that the command line has evaluated, and keys of
`lsmlab.models.engines.families`."""
DEFAULT: Final = "lsmlab.models.engines.rocksdb.RocksDb"


def make_engine(values: Mapping[str, Any], allowed: Sequence[str] = ()) -> Engine:
    """Build the engine of an `engine` mapping.

    `_target_` names a class inside lsmlab or in one of the packages in `allowed`. Its attribute `Settings` is a frozen
    dataclass of the other keys, and the class takes an instance of it. The keys picker, cutter, throttle, scheduler
    and tuner are mappings with a `_target_` of their own (`lsmlab.models.policies.parts.make_part`). Raises InputError
    for any other target, unknown keys, bad values and incompatible policies.
    """
    target = values.get("_target_") or DEFAULT
    cls = load_class(target, ("lsmlab", *allowed), "engine", DEFAULT)
    if not hasattr(cls, "Settings"):
        raise InputError(f"engine._target_: {target} is not an engine: it has no Settings; write it like {DEFAULT}")
    keys = {k: v for k, v in values.items() if k not in _ABOUT}
    for group in GROUPS:
        if isinstance(keys.get(group), Mapping):
            keys[group] = make_part(group, keys[group], allowed)
    settings = build(cls.Settings, keys, "engine")
    engine: Engine = cls(settings)
    return engine

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
"""Keys of an engine's YAML that inform readers, that the command line has already acted on, or that
`lsmlab.models.engines.families` reads."""
DEFAULT: Final = "lsmlab.models.engines.rocksdb.RocksDb"


def make_engine(values: Mapping[str, Any], allowed: Sequence[str] = ()) -> Engine:
    """The engine that an `engine` mapping describes.

    `_target_` names a class inside lsmlab or one of the packages in `allowed`; its attribute `Settings` is a frozen
    dataclass of the mapping's other keys, and the class is called with one of it. Of those keys picker, cutter,
    throttle, scheduler and tuner are mappings with a `_target_` of their own (`lsmlab.models.policies.parts.make_part`).
    Raises InputError for any other target, unknown keys, bad values and policies that cannot go together.
    """
    target = values.get("_target_") or DEFAULT
    cls = load_class(target, ("lsmlab", *allowed), "engine", DEFAULT)
    if not hasattr(cls, "Settings"):
        raise InputError(f"engine._target_: {target} is not an engine: it has no Settings")
    known = {k: v for k, v in values.items() if k not in _ABOUT}
    for group in GROUPS:
        if isinstance(known.get(group), Mapping):
            known[group] = make_part(group, known[group], allowed)
    settings = build(cls.Settings, known, "engine")
    engine: Engine = cls(settings)
    return engine

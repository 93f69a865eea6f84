"""Engines of a database's column families, from the `engine` group of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.engines.engine import Engine
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import DATABASE_OPTIONS
from lsmlab.models.options.values import flatten
from lsmlab.models.policies.parts import GROUPS, METADATA, make_part
from lsmlab.models.targets import load_class
from lsmlab.models.units import build

DEFAULT: Final = "lsmlab.models.engines.engine.Engine"
_ABOUT: Final = (*METADATA, "options_file", "families")
"""Keys of an engine's YAML without effect on one engine: metadata, and keys that others have evaluated."""
DEFAULT_FAMILY: Final = "default"
"""Name of the column family that every database has (`kDefaultColumnFamilyName`)."""
_KEYS: Final = ("name", "options", "compression_ratio")
"""What a family may set for itself."""
_MOST: Final = 100


def make_engine(values: Mapping[str, Any], allowed: Sequence[str] = ()) -> Engine:
    """Build the engine of an `engine` mapping.

    `_target_` names a subclass of `Engine` inside lsmlab or in one of the packages in `allowed`. The other keys are those of
    its `Settings`. The keys picker, cutter, throttle, scheduler and tuner are mappings with a `_target_` of their own
    (`lsmlab.models.policies.parts.make_part`). Raises InputError for any other target, unknown keys, bad values and
    incompatible policies.
    """
    target = values.get("_target_") or DEFAULT
    cls = load_class(target, ("lsmlab", *allowed), "engine", DEFAULT)
    if not issubclass(cls, Engine):
        raise InputError(f"engine._target_: {target} is not an engine; write a subclass of {DEFAULT}")
    keys = {k: v for k, v in values.items() if k not in _ABOUT}
    for group in GROUPS:
        if isinstance(keys.get(group), Mapping):
            keys[group] = make_part(group, keys[group], allowed)
    return cls(build(cls.Settings, keys, "engine"))


def make_engines(values: Mapping[str, Any], allowed: Sequence[str] = ()) -> dict[str, Engine]:
    """Make the engines of all column families by name, "default" first.

    `engine.families` maps names to `options` and `compression_ratio` that differ from those of the group itself, which
    are the options of the default family. RocksDB allows any bytes in a name; one that is no key of a configuration, such as
    one with dots, is the `name` of its family. Raises InputError for options of the whole database in a family, and for
    engines with policies that are made for a single tree.
    """
    families = values.get("families") or {}
    if not isinstance(families, Mapping) or len(families) > _MOST:
        raise InputError(f"engine.families: must map names of at most {_MOST} column families to their options")
    common = {key: value for key, value in values.items() if key != "families"}
    names = family_names(values)
    engines = {DEFAULT_FAMILY: _family(common, DEFAULT_FAMILY, {}, allowed)}
    engines |= {names[str(key)]: _family(common, str(key), spec or {}, allowed) for key, spec in families.items()}
    if len(engines) < len({DEFAULT_FAMILY, *map(str, families)}):
        raise InputError("engine.families: two column families have the same name; give each its own")
    if len(engines) > 1:
        _refuse_single_tree(engines[DEFAULT_FAMILY])
    return engines


def family_names(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the column families in an `engine` mapping by their keys in `engine.families`."""
    families = values.get("families")
    found = families.items() if isinstance(families, Mapping) else ()
    return {str(key): str((spec.get("name") if isinstance(spec, Mapping) else None) or key) for key, spec in found}


def _family(common: Mapping[str, Any], name: str, spec: object, allowed: Sequence[str]) -> Engine:
    where = f"engine.families.{name}"
    if not isinstance(spec, Mapping) or not spec.keys() <= set(_KEYS):
        raise InputError(f"{where}: must be a mapping with {' or '.join(_KEYS)}, such as {{options: {{...}}}}")
    if not spec.keys() - {"name"}:
        return make_engine(common, allowed)
    own = spec.get("options") or {}
    if not isinstance(own, Mapping):
        raise InputError(f"{where}.options: must be a mapping of option names to values")
    for option in own:
        if option in DATABASE_OPTIONS and own[option] is not None:
            raise InputError(
                f"{where}.options.{option}: all column families share this option; set engine.options.{option}"
            )
    ratio = {"compression_ratio": spec["compression_ratio"]} if "compression_ratio" in spec else {}
    try:
        options = {**flatten(common.get("options") or {}), **flatten(own)}
        return make_engine({**common, **ratio, "options": options}, allowed)
    except InputError as error:
        text = str(error)
        raise InputError(text.replace("engine.", f"{where}.", 1) if text.startswith("engine.") else text) from None


def _refuse_single_tree(engine: Engine) -> None:
    scheduler = engine.scheduler()
    single = scheduler.splits_l0 or scheduler.preemptive or scheduler.window_s > 0.0 or engine.tuner() is not None
    flushes = engine.flushes_one_memtable or engine.flush_keeps_versions or engine.picker.values_in_wal
    if single or flushes or engine.picker.keeps_hot_keys:
        raise InputError(
            f"engine.families: {engine.name} has policies that are made for one tree; remove the families or choose "
            "RocksDB's scheduler, flushes and throttle, and no tuner"
        )

"""Column families of a database: one engine for each, from the `engine` group of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.engines.engine import Engine
from lsmlab.models.engines.make import make_engine
from lsmlab.models.errors import InputError
from lsmlab.models.options.scope import DATABASE_OPTIONS
from lsmlab.models.options.values import flatten

DEFAULT_FAMILY: Final = "default"
"""Name of the column family that every database has (`kDefaultColumnFamilyName`)."""
_KEYS: Final = ("options", "compression_ratio")
"""What a family may set for itself."""
_MOST: Final = 100


def make_engines(values: Mapping[str, Any], allowed: Sequence[str] = ()) -> dict[str, Engine]:
    """Make the engines of all column families by name, "default" first.

    `engine.families` maps names to `options` and `compression_ratio` that differ from those of the group itself, which
    are the options of the default family. Raises InputError for options of the whole database in a family, and for
    engines with policies that are made for a single tree.
    """
    families = values.get("families") or {}
    if not isinstance(families, Mapping) or len(families) > _MOST:
        raise InputError(f"engine.families: must map names of at most {_MOST} column families to their options")
    common = {key: value for key, value in values.items() if key != "families"}
    specs: dict[str, Any] = {DEFAULT_FAMILY: {}, **{str(name): spec for name, spec in families.items()}}
    engines = {name: _family(common, name, spec or {}, allowed) for name, spec in specs.items()}
    if len(engines) > 1:
        _refuse_single_tree(engines[DEFAULT_FAMILY])
    return engines


def _family(common: Mapping[str, Any], name: str, spec: object, allowed: Sequence[str]) -> Engine:
    where = f"engine.families.{name}"
    if not isinstance(spec, Mapping) or not spec.keys() <= set(_KEYS):
        raise InputError(f"{where}: must be a mapping with {' or '.join(_KEYS)}, such as {{options: {{...}}}}")
    if not spec:
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
    flushes = engine.flushes_one_memtable or engine.flush_keeps_versions or engine.values_in_wal
    if single or flushes or engine.hot_keys is not None:
        raise InputError(
            f"engine.families: {engine.name} has policies that are made for one tree; remove the families or choose "
            "RocksDB's scheduler, flushes and throttle, and no tuner"
        )

"""Translates the groups of a case file into command-line overrides of a configuration."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.files import is_file
from lsmlab.sim.configuration.catalogue import entries
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.options_input import options_overrides
from lsmlab.sim.configuration.overrides import literal
from lsmlab.sim.setting import tree_rows

_SHARED_FLAGS: Final = (
    "key_size", "value_size", "value_size_distribution_type", "value_size_min", "value_size_max", "num", "shards",
)  # fmt: skip
"""Keys that a prefill inherits from the workload unless it sets them: db_bench takes them once per invocation."""
FAMILIES: Final = "families"
"""Key of the column families in `store` and `workload`."""
_ADDED: Final = {"workload": (FAMILIES, "actions"), "prefill": (FAMILIES, "options")}
"""Keys of a group that configurations of `lsmlab run` lack until they are added."""


def overrides_of(mapping: Mapping[str, Any], directory: Path) -> tuple[list[str], list[str]]:
    """Return overrides for `lsmlab run` and notes on assumptions. Raises InputError that names the key."""
    overrides, notes = _store(mapping["store"], directory)
    for key, group in (("host", "host"), ("device", "device"), ("workload", "workload"), ("conditions", "conditions")):
        overrides += _group(mapping.get(key), key, group)
    prefill = mapping.get("prefill")
    if prefill is not None:
        if mapping.get("initial_tree") is not None:
            raise InputError("prefill: a case has this or initial_tree, not both; remove one")
        overrides += _group(_with_shared_flags(prefill, mapping["workload"]), "prefill", "workload")
    if mapping.get("initial_tree") is not None:
        overrides.append(f"initial_tree={literal(_tree(mapping['initial_tree'], directory))}")
    for key in ("databases", "shared"):
        if mapping.get(key) is not None:
            overrides.append(f"++{key}={literal(mapping[key])}")
    overrides += _keys(mapping.get("keys"))
    if mapping.get("seed") is not None:
        overrides.append(f"seed={literal(mapping['seed'])}")
    return overrides, notes


def _store(store: Mapping[str, Any], directory: Path) -> tuple[list[str], list[str]]:
    engine = store.get("engine", "rocksdb")
    overrides = [f"engine={_entry(engine, 'store.engine', 'engine')}"]
    groups = _subgroups("engine")
    for key, value in store.items():
        if key in ("engine", "options", "options_file") or value is None:
            continue
        if key == "version" and not isinstance(value, str):
            raise InputError(f'store.version: {value!r} was read as a number; put quotes around it: version: "{value}"')
        if key == FAMILIES:
            overrides.append(f"+engine.{key}={literal(value)}")
        elif key in groups and isinstance(value, str):
            overrides.append(f"engine/{key}={value}")
        else:
            overrides.append(f"engine.{key}={literal(value)}")
    options = store.get("options")
    if options is not None and not isinstance(options, Mapping):
        raise InputError("store.options: must be a mapping of RocksDB's options, such as {max_background_jobs: 2}")
    overrides += [f"engine.options.{name}={literal(value)}" for name, value in _flat(options or {}, "store.options")]
    file = store.get("options_file")
    if file is None:
        return overrides, []
    if not isinstance(file, str):
        raise InputError(f"store.options_file: {file!r} must be the name of an OPTIONS file or a LOG")
    path = directory / file
    if not is_file(path):
        raise InputError(f"store.options_file: {path} does not exist; the name is relative to the case's folder")
    from_file, notes = options_overrides(path, overrides)
    return [overrides[0], *from_file, *overrides[1:]], notes


def _group(value: object, key: str, group: str) -> list[str]:
    """Return the overrides of a group that is given as {base: entry, further keys}."""
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise InputError(f"{key}: must be a mapping, such as {key}: {{base: …}}")
    overrides = []
    base = value.get("base")
    if base is not None:
        overrides.append(f"{key}={_entry(base, f'{key}.base', group)}")
    elif key in ("workload", "prefill"):
        raise InputError(f"{key}.base: is required; 'lsmlab list workloads' shows the workloads")
    added = _ADDED.get(key, ())
    overrides += [f"+{key}.{name}={literal(value[name])}" for name in added if value.get(name) is not None]
    others = {name: v for name, v in value.items() if name not in ("base", *added)}
    return overrides + [f"{key}.{name}={literal(v)}" for name, v in _flat(others, key)]


def _entry(name: object, place: str, group: str) -> str:
    known = [e.name for e in entries(group)]
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise InputError(f"{place}: no entry {name!r} in configs/{group}; {remedy}")
    return str(name)


def _flat(values: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    """Yield values by dotted name; skip null, so that the preset or the options file sets the value."""
    for name, value in values.items():
        if not isinstance(name, str):
            raise InputError(f"{place}.{name}: keys must be text")
        if isinstance(value, Mapping):
            for inner, v in _flat(value, f"{place}.{name}"):
                yield f"{name}.{inner}", v
        elif value is not None:
            yield name, value


def _subgroups(group: str) -> frozenset[str]:
    """Return the groups inside a group of configs, such as engine/options."""
    return frozenset(p.name for p in entries(group)[0].path.parent.iterdir() if p.is_dir())


def _with_shared_flags(prefill: object, workload: Mapping[str, Any]) -> object:
    if not isinstance(prefill, Mapping) or prefill.get("base") is None:
        return prefill
    known = _workload_keys(_entry(prefill["base"], "prefill.base", "workload"))
    shared = {k: workload[k] for k in _SHARED_FLAGS if workload.get(k) is not None and k not in prefill and k in known}
    return {**prefill, **shared}


@cache
def _workload_keys(entry: str) -> frozenset[str]:
    return frozenset(compose([f"workload={entry}"])["workload"])


def _keys(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        value = {"mode": value}
    if not isinstance(value, Mapping):
        raise InputError("keys: must be sampled, exact, or a mapping such as {mode: sampled, samples_per_file: 800}")
    mode = value.get("mode", "sampled")
    return [
        f"keys={_entry(mode, 'keys.mode', 'keys')}",
        *(f"keys.{k}={literal(v)}" for k, v in value.items() if k != "mode"),
    ]


def _tree(value: object, directory: Path) -> list[dict[str, Any]]:
    """Return the rows of an initial tree, from a list in the case file or from a CSV file in its folder."""
    return [dict(row) for row in tree_rows(str(directory / value) if isinstance(value, str) else value)]

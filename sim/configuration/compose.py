"""Compose a plain, resolved configuration from overrides, with Hydra; check it, and apply its parameter set.

Hydra composes each choice of entries once per process, in 0.1 s. Its own rules then set the values in a copy of the
composed tree, in a few milliseconds. All functions may be called from several threads.
"""

from __future__ import annotations

import errno
import os
import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from lsmlab.models.errors import InputError
from lsmlab.models.version import Version
from lsmlab.sim.configuration.catalogue import IN_MEMORY, ConfigFolder, MemoryFolder, is_group, packaged_folder
from lsmlab.sim.configuration.interpolations import check_interpolations
from lsmlab.sim.configuration.overrides import (
    HYDRA_LOCK,
    override_key,
    parsed,
    prepare,
    searched_folders,
    with_search_path,
)
from lsmlab.sim.configuration.parameters import apply_parameters, with_drive
from lsmlab.sim.configuration.trust import (
    FOLDER_SCHEMES,
    MEMORY,
    TRUSTED,
    check_hydra_targets,
    check_targets,
    names_hydra,
)
from lsmlab.sim.garbage import no_collections

if TYPE_CHECKING:
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.override_parser.types import Override
    from omegaconf import DictConfig

_MOST_TREES: Final = 1000
"""Largest number of composed trees in memory, about 20 KB each."""
_KEYS: Final = (
    "engine", "device", "cold_device", "wal_device", "host", "limits", "conditions", "workload", "keys", "prefill",
    "initial_tree", "databases", "shared", "seed", "replications", "save", "checks", "report", "json", "description",
)  # fmt: skip
"""Top-level keys of a configuration; host.parameters adds the key `parameters` later."""
NOT_GIVEN: Final = "unknown"
"""Value of a key of a workload, or of an option, that the user must give; OmegaConf's ??? would leave the default of the entry
below it."""
_MAIN: Final = "main"
"""Hydra's name for the folder of the primary configuration."""

Stamps = tuple[tuple[str, int, int], ...]
"""Name, time and size of each file in the user's folders."""


@dataclass(frozen=True, slots=True)
class _Tree:
    """Configuration that Hydra composed for one choice of entries, without overridden values and unresolved."""

    config: bytes
    """The pickled DictConfig, without the node `hydra`: a copy by unpickling costs a seventh of a deep copy."""
    hydra: Mapping[str, Any]
    """The node `hydra`."""

    @property
    def interpolates(self) -> bool:
        """Whether a value refers to another one."""
        return b"${" in self.config

    def with_values(self, values: Sequence[Override]) -> DictConfig:
        """Return a copy with the values set, by Hydra's rules. Raises Hydra's errors."""
        from hydra._internal.config_loader_impl import ConfigLoaderImpl

        config: DictConfig = pickle.loads(self.config)
        ConfigLoaderImpl._apply_overrides_to_config(list(values), config)
        return config


def compose(overrides: Sequence[str] = (), folders: Sequence[str | ConfigFolder] = ()) -> dict[str, Any]:
    """Compose the configuration for Hydra `overrides` such as "device=sata", as plain nested dictionaries.

    `folders` contain further groups and entries. Raises InputError or an error of Hydra for anything that does not compose;
    `messages.one_line` gives their text.
    """
    places = _existing(folders)
    with HYDRA_LOCK, no_collections():  # the first composition loads 140 modules
        from omegaconf import OmegaConf

        try:
            prepared = with_drive(prepare(overrides))
            tree, values = _chosen(prepared, places)
            composed = tree.with_values(values)
            if tree.interpolates or any("${" in text for text in prepared):
                check_interpolations(cast(dict[str, Any], OmegaConf.to_container(composed, resolve=False)))
            plain = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
        except Exception as error:
            raise translated(error, overrides, places) from error
    config = cast(dict[str, Any], plain)
    complete(config, prepared, tree.hydra)
    return config


def complete(config: dict[str, Any], overrides: Iterable[str], hydra: Mapping[str, Any]) -> None:
    """Check a composed configuration and apply its parameter set, in place; `hydra` are Hydra's settings.

    Raises InputError for a configuration that must not run.
    """
    _check_keys(config)
    runtime = hydra["runtime"]
    folders = [
        IN_MEMORY[source["path"]] if source["schema"] == MEMORY else Path(source["path"])
        for source in runtime["config_sources"]
        if source["schema"] in FOLDER_SCHEMES and source["provider"] != _MAIN
    ]
    choices = runtime["choices"]
    devices = {"device": choices.get("device"), **{key: choices.get(f"device@{key}") for key in ("cold_device", "wal_device")}}
    apply_parameters(config, devices, map(override_key, overrides), folders)
    check(config)


def _check_keys(config: Mapping[str, Any]) -> None:
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
    _check_given(config)


def _check_given(config: Mapping[str, Any]) -> None:
    """Raise InputError with the keys of the load and the options of the store that are `NOT_GIVEN`."""
    engine = config.get("engine")
    options = engine.get("options") if isinstance(engine, Mapping) else None
    parts = {"load": ("workload", config.get("workload")), "options": ("engine.options", options)}
    unknown = {
        what: names
        for what, (group, values) in parts.items()
        if isinstance(values, Mapping) and (names := [f"{group}.{key}" for key, value in values.items() if value == NOT_GIVEN])
    }
    if unknown:
        names = [name for part in unknown.values() for name in part]
        raise InputError(
            f"{', '.join(names)}: unknown, because the LOG does not show the {' and the '.join(unknown)}; give each, as "
            f"{names[0]}=VALUE"
        )


def output_directory(
    overrides: Sequence[str] = (), folders: Sequence[str | ConfigFolder] = (), *, sweep: bool = False
) -> Path:
    """Return the folder that Hydra's settings give for a run (or a sweep) that starts now."""
    from omegaconf import OmegaConf, open_dict

    with HYDRA_LOCK:
        tree, values = _chosen(prepare(overrides), _existing(folders))
        config = tree.with_values(values)
        with open_dict(config):
            config.hydra = OmegaConf.create(dict(tree.hydra))
        return Path(str((config.hydra.sweep if sweep else config.hydra.run).dir))


def check_hydra(overrides: Sequence[str], folders: Sequence[str | ConfigFolder] = ()) -> None:
    """Raise InputError if the overrides make Hydra call a function or class that is not allowed."""
    named = [text for text in prepare(overrides) if names_hydra(text.partition("=")[0])]
    if named or folders:  # without them, Hydra's settings are those that LSMLab ships
        with HYDRA_LOCK:
            tree, _ = _chosen(named, _existing(folders))
        check_hydra_targets(tree.hydra)


def translated(error: Exception, overrides: Sequence[str], folders: Sequence[str | ConfigFolder] = ()) -> Exception:
    """Turn Hydra's errors about unknown keys and empty groups into InputErrors; return other errors unchanged."""
    from lsmlab.sim.configuration.messages import unknown_key

    if not str(error) or (isinstance(error, ValueError) and "Config group override" in str(error)):
        values = {o: o.partition("=")[2].lower() for o in overrides if "." not in override_key(o)}
        unnamed = [o for o, value in values.items() if value in ("null", "") or "${" in value]
        return InputError(f"{(unnamed or ['override'])[0]}: a group needs the name of an entry; see 'lsmlab list'")
    if isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP):
        return InputError(f"{Path(error.filename or '').name[:60]}…: no such entry; {error.strerror}: see 'lsmlab list'")
    match = re.match(r"Could not (?:override|append|delete)[^']*'([^']+)'", str(error))
    if match is None:
        return error
    key = match.group(1)
    # the set of keys depends only on the chosen entries
    groups = [o for o in overrides if "." not in override_key(o) and "," not in o and not o.startswith("~")]
    for chosen in ([o for o in groups if override_key(o) != key.partition("@")[0]], []):
        with suppress(Exception):  # the choice of entries is bad as well: try the default entries
            return unknown_key(key, compose(chosen, folders))
    return error


def _existing(folders: Sequence[str | ConfigFolder]) -> tuple[ConfigFolder, ...]:
    for folder in folders:
        if not isinstance(folder, MemoryFolder) and not Path(folder).is_dir():
            raise InputError(f"--config-dir {folder}: no such folder")
    return tuple(folder if isinstance(folder, MemoryFolder) else Path(folder) for folder in folders)


def _chosen(prepared: Sequence[str], folders: Sequence[ConfigFolder]) -> tuple[_Tree, list[Override]]:
    """Return the tree of the chosen entries, and the overrides that set values in it.

    Hydra itself applies all overrides if one of them is about Hydra's own settings, which may refer to the others.
    """
    places = searched_folders(prepared, folders)
    given = parsed(prepared)
    if any(names_hydra(one.get_key_element()) for one in given):
        entries, values = list(prepared), []
    else:
        sets = [_sets_a_value(one, places) for one in given]
        values = [one for one, is_value in zip(given, sets, strict=True) if is_value]
        entries = [text for text, is_value in zip(prepared, sets, strict=True) if not is_value]
    return _composed(tuple(with_search_path(entries, folders)), _stamps(places)), values


def _sets_a_value(override: Override, folders: Sequence[ConfigFolder]) -> bool:
    """Return whether an override sets a value, as opposed to an entry or a sweep, by the rule of Hydra's `Overrides`."""
    if override.is_sweep_override():
        return False
    return isinstance(override.value(), dict) or not is_group(override.key_or_group, folders)


@lru_cache(maxsize=_MOST_TREES)
def _composed(overrides: tuple[str, ...], _state: Stamps) -> _Tree:
    """Compose from files. A change of `_state` makes the cache miss when a file of the user changes."""
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    composed = _loader().load_configuration("config", list(overrides), RunMode.RUN)
    hydra = cast(dict[str, Any], OmegaConf.to_container(composed.hydra, resolve=False))
    OmegaConf.set_struct(composed, False)
    del composed["hydra"]
    OmegaConf.set_struct(composed, True)
    return _Tree(pickle.dumps(composed), hydra)


@cache
def _loader() -> ConfigLoaderImpl:
    """Return Hydra's composer of configurations, which `hydra.compose` uses too; it leaves the caller's Hydra alone."""
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.utils import create_config_search_path
    from hydra.core.utils import setup_globals
    from hydra.version import setbase
    from lsmlab.sim.configuration.folders import register

    setbase("1.3")
    setup_globals()  # the resolvers `now`, `hydra` and `python_version`
    register()
    return ConfigLoaderImpl(create_config_search_path(f"{TRUSTED}://{packaged_folder()}"))


def _stamps(folders: Sequence[ConfigFolder]) -> Stamps:
    stamps = []
    for folder in folders:
        if isinstance(folder, MemoryFolder):
            stamps.append((folder.name, hash(frozenset(folder.files.items())), len(folder.files)))
            continue
        for place, names, entries in os.walk(folder):
            names[:] = [name for name in names if name != "__pycache__"]
            for name in entries:
                with suppress(OSError):  # a link to a file that does not exist
                    status = Path(place, name).stat()
                    stamps.append((f"{place}/{name}", status.st_mtime_ns, status.st_size))
    return tuple(sorted(stamps))

"""Compose a plain, resolved configuration from overrides, with Hydra; check it, and apply its parameter set."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from lsmlab.models.errors import InputError
from lsmlab.models.version import Version
from lsmlab.sim.configuration import bases
from lsmlab.sim.configuration.old_names import new_name, rename_keys, rename_targets
from lsmlab.sim.configuration.parameters import apply_parameters

_KEYS: Final = (
    "engine", "device", "host", "limits", "workload", "keys", "prefill", "initial_tree", "seed", "replications", "save", "checks",
    "report", "json", "description",
)  # fmt: skip
"""Top-level keys of a configuration; host.parameters adds the key `parameters` later."""
_TRUSTED_ENV: Final = "LSMLAB_ALLOW_PACKAGES"
"""Environment variable that passes the packages allowed in `_target_` to the worker processes of a sweep."""

_BASES: Final[dict[Hashable, bases.Base | None]] = {}
"""Cached bases of this process; None if Hydra must compose a choice of entries each time."""
_MOST_BASES: Final = 1000
"""Largest number of cached bases, about 20 KB each."""


class Composition(NamedTuple):
    """A resolved configuration, with the folders that Hydra's settings give for a run and for a sweep."""

    config: dict[str, Any]
    directory: Path
    sweep_directory: Path


def compose(overrides: Sequence[str] = (), config_dirs: Sequence[str | Path] = ()) -> dict[str, Any]:
    """Compose the configuration for Hydra `overrides` such as "device=sata", as plain nested dictionaries.

    `config_dirs` are folders with further groups and entries. Raises InputError for anything that does not compose.
    """
    with composer(config_dirs) as compose_one:
        return compose_one(overrides).config


class Composer:
    """Composer of any number of configurations over one search path; use the context manager `composer`."""

    def __init__(self, config_dirs: Sequence[str | Path], *, keep_bases: bool = True) -> None:
        self._config_dirs = [Path(d) for d in config_dirs]
        for folder in self._config_dirs:
            if not folder.is_dir():
                raise InputError(f"--config-dir {folder}: no such folder")
        self._known: dict[tuple[str, ...], dict[str, Any]] = {}
        """Configurations by chosen entries; error messages search them for the nearest key."""
        self._stamp = bases.stamp(self._config_dirs) if keep_bases else None

    def __call__(self, overrides: Sequence[str]) -> Composition:
        """Compose one configuration."""
        try:
            composition, device, folders = self._composed(prepare(overrides))
        except Exception as error:
            raise self.translated(error, overrides) from error
        config = composition.config
        check_keys(config)
        rename_keys(config)
        rename_targets(config)
        apply_parameters(config, device, map(override_key, prepare(overrides)), folders)
        check(config)
        return composition

    def _composed(self, prepared: list[str]) -> tuple[Composition, str | None, Sequence[Path]]:
        """Return the configuration, the chosen device and the user's folders, from a cached base if possible."""
        sorted_ = bases.split(prepared, self._config_dirs) if self._stamp is not None else None
        if sorted_ is None:
            return self._by_hydra(prepared)
        base = self._base(sorted_.entries)
        config = base.with_values(sorted_.values) if base is not None else None
        if base is None or config is None:
            return self._by_hydra(prepared)
        return Composition(config, *base.places()), base.device, base.folders

    def _base(self, entries: tuple[str, ...]) -> bases.Base | None:
        key = (self._stamp, tuple(self._config_dirs), Path.cwd(), entries)
        if key not in _BASES:
            composed = self._hydra(list(entries))
            if len(_BASES) >= _MOST_BASES:
                _BASES.clear()
            _BASES[key] = bases.base_of(composed, *chosen_device(composed.hydra))
        return _BASES[key]

    def _by_hydra(self, prepared: list[str]) -> tuple[Composition, str | None, Sequence[Path]]:
        from omegaconf import OmegaConf

        composed = self._hydra(prepared)
        run_dir, sweep_dir = Path(composed.hydra.run.dir), Path(composed.hydra.sweep.dir)
        device, folders = chosen_device(composed.hydra)
        everything = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=False))
        everything.pop("hydra")
        plain = OmegaConf.create(everything)
        config = cast(dict[str, Any], OmegaConf.to_container(plain, resolve=True, throw_on_missing=True))
        return Composition(config, run_dir, sweep_dir), device, folders

    def _hydra(self, prepared: list[str]) -> Any:
        import hydra

        overrides = with_search_path(prepared, self._config_dirs)
        return hydra.compose("config", overrides=overrides, return_hydra_config=True)

    def translated(self, error: Exception, overrides: Sequence[str]) -> Exception:
        """Turn Hydra's errors about unknown keys and empty groups into InputErrors; return other errors unchanged."""
        from lsmlab.sim.configuration.messages import unknown_key

        if isinstance(error, ValueError) and "Config group override" in str(error):
            empty = [o for o in overrides if "." not in override_key(o) and o.partition("=")[2].lower() in ("null", "")]
            return InputError(f"{(empty or ['override'])[0]}: a group needs the name of an entry; see 'lsmlab list'")
        match = re.match(r"Could not (?:override|append|delete)[^']*'([^']+)'", str(error))
        if match is None:
            return error
        key = match.group(1)
        # the set of keys depends only on the chosen entries
        groups = tuple(o for o in overrides if "." not in override_key(o) and "," not in o and not o.startswith("~"))
        for chosen in (tuple(o for o in groups if override_key(o) != key.partition("@")[0]), ()):
            with suppress(Exception):  # the choice of entries is bad as well: try the default entries
                if chosen not in self._known:
                    self._known[chosen] = self(chosen).config
                return unknown_key(key, self._known[chosen])
        return error


def chosen_device(hydra_config: Any) -> tuple[str | None, list[Path]]:
    """Return the name of the chosen entry of configs/device, and the user's folders with configuration groups."""
    runtime = hydra_config.runtime
    folders = [Path(source.path) for source in runtime.config_sources if source.schema == "file"]
    return runtime.choices.get("device"), folders


@contextmanager
def composer(config_dirs: Sequence[str | Path] = (), *, keep_bases: bool = True) -> Iterator[Composer]:
    """Initialize Hydra once for many compositions; restore the caller's Hydra state afterwards.

    With `keep_bases=False`, Hydra composes each configuration from its files: the same result, 20 times slower.
    """
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra

    previous = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module(bases.CONFIG_MODULE, job_name="lsmlab", version_base="1.3"):
            yield Composer(config_dirs, keep_bases=keep_bases)
    finally:
        GlobalHydra.instance().hydra = previous


def prepare(overrides: Sequence[str]) -> list[str]:
    """Quote the values that Hydra would misread, and replace old names of keys.

    A version is text: 7.10 must not become the number 7.1. Hydra's grammar takes ASCII only, so "80µs" is quoted too.

    >>> prepare(["engine.version=7.10", "device.latency=80µs", "device=nvme"])
    ["engine.version='7.10'", "device.latency='80µs'", 'device=nvme']
    >>> prepare(["engine.version=6.11,7.10", "prefill=fillseq"])
    ["engine.version='6.11','7.10'", 'workload@prefill=fillseq']
    """
    prepared = []
    for text in overrides:
        key, equals, value = text.partition("=")
        without_quotes = key.lstrip("+~")
        key = key.removesuffix(without_quotes) + new_name(without_quotes)
        if key == "prefill":  # a second instance of the group `workload`
            key = "workload@prefill"
        if key.lstrip("+") == "engine.version" and "'" not in value and '"' not in value:
            value = re.sub(r"[0-9]+(?:\.[0-9]+)+", r"'\g<0>'", value)
        elif not value.isascii() and not value.startswith(("'", '"', "[", "{")):
            value = quote(value)
        prepared.append(f"{key}{equals}{value}")
    return prepared


def quote(text: str) -> str:
    r"""Quote text for Hydra's override grammar.

    >>> quote("it's")
    "'it\\'s'"
    """
    escaped = re.sub(r"(\\*)'", lambda m: m.group(1) * 2 + r"\'", text)
    trailing = len(escaped) - len(escaped.rstrip("\\"))
    return f"'{escaped}{chr(92) * trailing}'"


def literal(value: object) -> str:
    """Write a plain value in Hydra's override grammar.

    >>> literal(True), literal(None), literal(4), literal("kLZ4"), literal([1, 2])
    ('true', 'null', '4', "'kLZ4'", '[1,2]')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(literal(v) for v in value)}]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{k}:{literal(v)}" for k, v in value.items()) + "}"
    return quote(str(value))


def override_key(override: str) -> str:
    """Return the key that an override sets.

    >>> override_key("+device.write_cap=1"), override_key("~experiment")
    ('device.write_cap', 'experiment')
    """
    return override.partition("=")[0].lstrip("+~").partition("@")[0]


def with_search_path(overrides: list[str], config_dirs: Sequence[Path]) -> list[str]:
    """Put the user's folders in front of the folders that an override `hydra.searchpath=[...]` names."""
    if not config_dirs:
        return overrides
    folders = [quote(f"file://{folder.resolve()}") for folder in config_dirs]
    others = []
    for text in overrides:
        if override_key(text) == "hydra.searchpath":
            inner = text.partition("=")[2].strip()[1:-1].strip()
            folders += [inner] if inner else []
        else:
            others.append(text)
    return [f"hydra.searchpath=[{','.join(folders)}]", *others]


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

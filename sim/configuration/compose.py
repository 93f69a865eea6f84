"""From overrides to a plain, resolved configuration: Hydra's compose step with its rough edges taken off."""

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
    "engine", "device", "host", "workload", "keys", "prefill", "initial_tree", "seed", "replications", "save", "checks",
    "report", "json", "description",
)  # fmt: skip
"""What a configuration holds at the top; `parameters` is put beside it by host.parameters."""
_TRUSTED_ENV: Final = "LSMLAB_ALLOW_PACKAGES"
"""Environment variable that carries the packages allowed in `_target_` to the worker processes of a sweep."""

_BASES: Final[dict[Hashable, bases.Base | None]] = {}
"""Bases of this process; None where a choice of entries must be composed by Hydra each time."""
_MOST_BASES: Final = 1000
"""Bases kept, some 20 KB each."""


class Composition(NamedTuple):
    """A resolved configuration, and where Hydra's settings want a run, or a sweep, to be stored."""

    config: dict[str, Any]
    directory: Path
    sweep_directory: Path


def compose(overrides: Sequence[str] = (), config_dirs: Sequence[str | Path] = ()) -> dict[str, Any]:
    """Compose the configuration for Hydra `overrides` such as "device=sata", as plain nested dictionaries.

    `config_dirs` are folders with further groups and entries. Raises InputError for anything that does not compose.
    """
    with composer(config_dirs) as one:
        return one(overrides).config


class Composer:
    """Composes any number of configurations over one search path; made by `composer`."""

    def __init__(self, config_dirs: Sequence[str | Path], *, keep_bases: bool = True) -> None:
        self._config_dirs = [Path(d) for d in config_dirs]
        for folder in self._config_dirs:
            if not folder.is_dir():
                raise InputError(f"--config-dir {folder}: no such folder")
        self._known: dict[tuple[str, ...], dict[str, Any]] = {}
        """Configurations by chosen entries, to look for the nearest key in."""
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
        """The configuration, the chosen device and the user's folders: values on a base, or by Hydra alone."""
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
        """An unknown key becomes an error that names the nearest known one; others are worded by `messages`."""
        from lsmlab.sim.configuration.messages import unknown_key

        if isinstance(error, ValueError) and "Config group override" in str(error):
            empty = [o for o in overrides if "." not in override_key(o) and o.partition("=")[2].lower() in ("null", "")]
            return InputError(f"{(empty or ['override'])[0]}: a group needs the name of an entry; see 'lsmlab list'")
        found = re.match(r"Could not (?:override|append|delete)[^']*'([^']+)'", str(error))
        if found is None:
            return error
        key = found.group(1)
        # which keys there are depends on the chosen entries alone
        groups = tuple(o for o in overrides if "." not in override_key(o) and "," not in o and not o.startswith("~"))
        for chosen in (tuple(o for o in groups if override_key(o) != key.partition("@")[0]), ()):
            with suppress(Exception):  # a choice is bad as well: try without
                if chosen not in self._known:
                    self._known[chosen] = self(chosen).config
                return unknown_key(key, self._known[chosen])
        return error


def chosen_device(hydra_config: Any) -> tuple[str | None, list[Path]]:
    """The entry of configs/device that was chosen, and the user's folders of groups."""
    runtime = hydra_config.runtime
    folders = [Path(source.path) for source in runtime.config_sources if source.schema == "file"]
    return runtime.choices.get("device"), folders


@contextmanager
def composer(config_dirs: Sequence[str | Path] = (), *, keep_bases: bool = True) -> Iterator[Composer]:
    """Open Hydra once for many compositions; whatever the caller had opened is restored afterwards.

    `keep_bases=False` lets Hydra compose each configuration from its files: the same result, 20 times slower.
    """
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra

    before = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module(bases.CONFIG_MODULE, job_name="lsmlab", version_base="1.3"):
            yield Composer(config_dirs, keep_bases=keep_bases)
    finally:
        GlobalHydra.instance().hydra = before


def prepare(overrides: Sequence[str]) -> list[str]:
    """Quote the values that Hydra would read as something else.

    A version is text: 7.10 must not become the number 7.1. Hydra's grammar knows ASCII only, so "80µs" is quoted too.

    >>> prepare(["engine.version=7.10", "device.latency=80µs", "device=nvme"])
    ["engine.version='7.10'", "device.latency='80µs'", 'device=nvme']
    >>> prepare(["engine.version=6.11,7.10", "prefill=fillseq"])
    ["engine.version='6.11','7.10'", 'workload@prefill=fillseq']
    """
    prepared = []
    for text in overrides:
        key, equals, value = text.partition("=")
        bare = key.lstrip("+~")
        key = key.removesuffix(bare) + new_name(bare)
        if key == "prefill":  # the `workload` group once more, under another name
            key = "workload@prefill"
        if key.lstrip("+") == "engine.version" and "'" not in value and '"' not in value:
            value = re.sub(r"[0-9]+(?:\.[0-9]+)+", r"'\g<0>'", value)
        elif not value.isascii() and not value.startswith(("'", '"', "[", "{")):
            value = quote(value)
        prepared.append(f"{key}{equals}{value}")
    return prepared


def quote(text: str) -> str:
    r"""Text as a quoted value of Hydra's override grammar.

    >>> quote("it's")
    "'it\\'s'"
    """
    escaped = re.sub(r"(\\*)'", lambda m: m.group(1) * 2 + r"\'", text)
    trailing = len(escaped) - len(escaped.rstrip("\\"))
    return f"'{escaped}{chr(92) * trailing}'"


def literal(value: object) -> str:
    """A plain value in Hydra's override grammar.

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
    """The key that an override sets.

    >>> override_key("+device.write_cap=1"), override_key("~experiment")
    ('device.write_cap', 'experiment')
    """
    return override.partition("=")[0].lstrip("+~").partition("@")[0]


def with_search_path(overrides: list[str], config_dirs: Sequence[Path]) -> list[str]:
    """Put the user's folders in front of the search path, beside what `hydra.searchpath=[...]` names already."""
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
    """Trust `_target_` entries of further packages, in this process and in the workers of a sweep."""
    if names:
        os.environ[_TRUSTED_ENV] = ":".join([*trusted_packages(), *names])


def check_keys(config: Mapping[str, Any]) -> None:
    """Refuse what stands beside the groups and would be ignored: a misspelt key of an experiment, or one added with +."""
    from lsmlab.sim.configuration.messages import unknown_key

    for key in sorted(config.keys() - _KEYS):
        if key == "experiment":
            raise InputError("experiment: its file sets nothing so; the first line must be '# @package _global_'")
        raise unknown_key(key, dict.fromkeys(_KEYS))


def check(config: Mapping[str, Any]) -> None:
    """Refuse what composes but must not run: code outside trusted packages, and a version read as a number.

    A configuration may come from somebody else; `_target_` names the class that is built from it.
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
            raise InputError(f"{where}: {target} names no class of an installed module")


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
    """Whether the part before the last dot is a module, so that no path leads through a module's imports."""
    try:
        return importlib.util.find_spec(target.rpartition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def trusted_packages() -> list[str]:
    """Packages besides lsmlab whose classes `_target_` may name (--allow-package)."""
    return [name for name in os.environ.get(_TRUSTED_ENV, "").split(":") if name]

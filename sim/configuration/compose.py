"""Compose a plain, resolved configuration from overrides, with Hydra; check it, and apply its parameter set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.base_cache import BaseCache
from lsmlab.sim.configuration.bases import chosen_device, is_unresolved
from lsmlab.sim.configuration.checks import check, check_keys
from lsmlab.sim.configuration.entries import CONFIG_MODULE
from lsmlab.sim.configuration.old_names import rename_keys, rename_targets
from lsmlab.sim.configuration.overrides import override_key, prepare, with_search_path
from lsmlab.sim.configuration.parameters import apply_parameters
from lsmlab.sim.configuration.parsed_overrides import read_parsed
from lsmlab.sim.configuration.plain_overrides import read_plain
from lsmlab.sim.configuration.trust import check_hydra_targets, names_hydra


class Composition(NamedTuple):
    """A resolved configuration."""

    config: dict[str, Any]
    directory: Path
    """Folder that Hydra's settings give for a run that starts now."""
    sweep_directory: Path
    """The same for a sweep."""
    device: str | None
    """Name of the chosen entry of configs/device."""
    folders: tuple[Path, ...]
    """The user's folders with configuration groups."""


def compose(overrides: Sequence[str] = (), config_dirs: Sequence[str | Path] = ()) -> dict[str, Any]:
    """Compose the configuration for Hydra `overrides` such as "device=sata", as plain nested dictionaries.

    `config_dirs` are folders with further groups and entries. Raises InputError for anything that does not compose.
    """
    with composer(config_dirs) as compose_one:
        return compose_one(overrides).config


class Composer:
    """Composer of any number of configurations over one search path; use the context manager `composer`."""

    def __init__(self, config_dirs: Sequence[str | Path], stack: ExitStack, *, keep_bases: bool = True) -> None:
        self._config_dirs = [Path(d) for d in config_dirs]
        for folder in self._config_dirs:
            if not folder.is_dir():
                raise InputError(f"--config-dir {folder}: no such folder")
        self._known: dict[tuple[str, ...], dict[str, Any]] = {}
        """Configurations by chosen entries; error messages search them for the nearest key."""
        self._bases = BaseCache(self._config_dirs) if keep_bases else None
        self._stack = stack
        self._started = False

    def __call__(self, overrides: Sequence[str]) -> Composition:
        """Compose one configuration."""
        try:
            prepared = prepare(overrides)
            composition = self._on_base(prepared) or self._by_hydra(prepared)
        except Exception as error:
            raise self.translated(error, overrides) from error
        config = composition.config
        check_keys(config)
        rename_keys(config)
        rename_targets(config)
        apply_parameters(config, composition.device, map(override_key, prepare(overrides)), composition.folders)
        check(config)
        return composition

    def _on_base(self, prepared: list[str]) -> Composition | None:
        """Set values in the base of the chosen entries; None if Hydra must compose the configuration from files."""
        if self._bases is None:
            return None
        for read in (read_plain, read_parsed):
            read_overrides = read(prepared, self._config_dirs)
            base = self._bases.find(read_overrides.entries, self._hydra) if read_overrides is not None else None
            if read_overrides is None or base is None:
                continue
            config = read_overrides.set_in(base.plain())
            if config is not None and not is_unresolved(config):
                return Composition(config, *base.places(), base.device, tuple(map(Path, base.folders)))
        return None

    def _by_hydra(self, prepared: Sequence[str]) -> Composition:
        from omegaconf import OmegaConf

        composed = self._hydra(prepared)
        run_dir, sweep_dir = Path(composed.hydra.run.dir), Path(composed.hydra.sweep.dir)
        everything = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=False))
        everything.pop("hydra")
        plain = OmegaConf.create(everything)
        config = cast(dict[str, Any], OmegaConf.to_container(plain, resolve=True, throw_on_missing=True))
        return Composition(config, run_dir, sweep_dir, *chosen_device(composed.hydra))

    def _hydra(self, prepared: Sequence[str]) -> Any:
        """Compose from files, including the node `hydra`. Hydra starts with the first configuration."""
        import hydra

        if not self._started:
            self._stack.enter_context(_hydra_started())
            self._started = True
        overrides = with_search_path(prepared, self._config_dirs)
        return hydra.compose("config", overrides=overrides, return_hydra_config=True)

    def check_hydra(self, overrides: Sequence[str]) -> None:
        """Raise InputError if the overrides make Hydra call a function or class that is not allowed."""
        named = [text for text in prepare(overrides) if names_hydra(text.partition("=")[0])]
        if not named and not self._config_dirs:  # Hydra's settings are those that LSMLab ships
            return
        from omegaconf import OmegaConf

        settings = self._hydra(named).hydra
        check_hydra_targets(cast(dict[str, Any], OmegaConf.to_container(settings, resolve=False)))

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


@contextmanager
def composer(config_dirs: Sequence[str | Path] = (), *, keep_bases: bool = True) -> Iterator[Composer]:
    """Compose many configurations; restore the caller's Hydra state afterwards.

    With `keep_bases=False`, Hydra composes each configuration from its files: the same result, 20 times slower.
    """
    with ExitStack() as stack:
        yield Composer(config_dirs, stack, keep_bases=keep_bases)


@contextmanager
def _hydra_started() -> Iterator[None]:
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra

    previous = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module(CONFIG_MODULE, job_name="lsmlab", version_base="1.3"):
            yield
    finally:
        GlobalHydra.instance().hydra = previous

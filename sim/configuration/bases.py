"""Bases: configurations that Hydra has composed for a choice of entries, in which overrides then set values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from lsmlab.sim.configuration.trust import FOLDER_SCHEMES

_UNRESOLVED: Final = ("${", "???")
"""Text that marks an interpolation or a missing mandatory value in a configuration."""
_NOW: Final = re.compile(r"\$\{now:([%\w.-]+)\}")
"""Hydra's interpolation for the time at which a run starts."""


@dataclass(frozen=True, slots=True)
class Base:
    """Composed configuration of one choice of entries, without overridden values."""

    config: str
    """The configuration as JSON, without the node `hydra`."""
    run_dir: str
    """Folder of a run in Hydra's settings; the name may contain the time as `${now:FORMAT}`."""
    sweep_dir: str
    """Folder of a sweep, likewise."""
    device: str | None
    """Name of the chosen entry of configs/device."""
    folders: tuple[str, ...]
    """The user's folders with configuration groups."""

    @classmethod
    def from_json(cls, text: str) -> Base:
        """Return the base of `to_json`. Raises ValueError or TypeError for other text."""
        base = cls(**json.loads(text))
        base.plain()
        return base

    def to_json(self) -> str:
        """Return the base as text."""
        return json.dumps(asdict(self))

    def plain(self) -> dict[str, Any]:
        """Return a new copy of the configuration."""
        return dict(json.loads(self.config))

    def places(self) -> tuple[Path, Path]:
        """Return the folders that Hydra's settings give for a run and for a sweep that start now."""
        now = datetime.now()
        run_dir, sweep_dir = (_NOW.sub(lambda m: now.strftime(m[1]), text) for text in (self.run_dir, self.sweep_dir))
        return Path(run_dir), Path(sweep_dir)


def base_of(composed: Any) -> Base | None:
    """Return the base of a composed configuration; None if it contains interpolations, which depend on other values."""
    from omegaconf import OmegaConf

    device, folders = chosen_device(composed.hydra)
    everything = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=False))
    hydra = everything.pop("hydra")
    run_dir, sweep_dir = str(hydra["run"]["dir"]), str(hydra["sweep"]["dir"])
    if any("${" in text for text in (*texts(everything), _NOW.sub("", run_dir), _NOW.sub("", sweep_dir))):
        return None
    config = json.dumps(everything)
    if json.loads(config) != everything:  # a key is no text
        return None
    return Base(config, run_dir, sweep_dir, device, tuple(map(str, folders)))


def chosen_device(hydra_config: Any) -> tuple[str | None, tuple[Path, ...]]:
    """Return the name of the chosen entry of configs/device, and the user's folders with configuration groups."""
    runtime = hydra_config.runtime
    folders = tuple(Path(source.path) for source in runtime.config_sources if source.schema in FOLDER_SCHEMES)
    return runtime.choices.get("device"), folders


def is_unresolved(plain: Any) -> bool:
    """Return whether a configuration contains an interpolation or a missing mandatory value."""
    return any(mark in text for text in texts(plain) for mark in _UNRESOLVED)


def texts(node: object) -> Iterator[str]:
    """Yield all values of a configuration that are texts, at any depth."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        for value in node.values():
            yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)

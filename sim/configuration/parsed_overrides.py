"""Overrides that Hydra's parser reads, and that Hydra's rules set in a composed configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lsmlab.sim.configuration.entries import is_group

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override


@dataclass(frozen=True, slots=True)
class ParsedOverrides:
    """Overrides, separated into those that choose entries and those that set values."""

    entries: tuple[str, ...]
    values: tuple[Override, ...]

    def set_in(self, config: dict[str, Any]) -> dict[str, Any] | None:
        """Return the configuration with the values set.

        Raises Hydra's ConfigCompositionException for an override that does not fit.
        """
        from hydra._internal.config_loader_impl import ConfigLoaderImpl
        from omegaconf import OmegaConf

        app = OmegaConf.create(config)
        OmegaConf.set_struct(app, True)
        ConfigLoaderImpl._apply_overrides_to_config(list(self.values), app)
        return cast(dict[str, Any], OmegaConf.to_container(app, resolve=False))


def read_parsed(prepared: Sequence[str], folders: Sequence[Path]) -> ParsedOverrides | None:
    """Read overrides; None if Hydra must also compose them: interpolations, added groups, sweeps, its own keys.

    Raises Hydra's OverrideParseException for text that is no override.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    entries, values = [], []
    for text, override in zip(prepared, OverridesParser.create().parse_overrides(list(prepared)), strict=True):
        key = override.key_or_group
        if "$" in text or key.partition(".")[0].partition("/")[0] == "hydra" or override.is_sweep_override():
            return None
        changes = override.type.name == "CHANGE"
        if is_group(key, folders):
            if not changes or not isinstance(override.value(), str):
                return None
            entries.append(text)
        elif override.package is not None or "/" in key or not (changes or "." in key):
            return None
        else:
            values.append(override)
    return ParsedOverrides(tuple(entries), tuple(values))

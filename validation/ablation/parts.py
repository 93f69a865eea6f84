"""Parts of the model that can be left out: constants and sub-models, with their simplest forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.yaml_text import read_yaml

_FILE: Final = Path(__file__).with_name("parts.yaml")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the model."""

    name: str
    what: str
    """What it describes, in one sentence."""
    simplest: Mapping[str, Any]
    """Values of configuration keys with which the part has no effect, or one value of a constant for all machines."""
    kept_by: str = field(default="")
    """Rule of RocksDB or Linux, or measurement of its own, for which the part stays even where it gains nothing."""


def read_parts(names: tuple[str, ...] = ()) -> list[Part]:
    """Return all parts, or those with one of the texts `names` in their name."""
    parts: dict[str, Part] = {}
    for name, values in read_yaml(_FILE).items():
        together = {key: value for member in values.pop("of", ()) for key, value in parts[member].simplest.items()}
        parts[name] = Part(name, **{"simplest": together, **values})
    return [part for part in parts.values() if not names or any(text in part.name for text in names)]

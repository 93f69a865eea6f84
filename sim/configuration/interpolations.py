"""Limit on interpolations: ten lines of `${a}${a}…`, each of which repeats the line before, expand without limit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from lsmlab.models.errors import InputError

_MOST_VALUES: Final = 1_000_000
"""Largest number of characters and values of a configuration after its interpolations."""
_REFERENCE: Final = re.compile(r"\$\{\s*([\w.\[\]-]+)\s*\}")


def check_interpolations(config: Mapping[str, Any]) -> None:
    """Raise InputError if the interpolations of a configuration that is not resolved expand to too much."""
    sizes: dict[str, int] = {}

    def size(place: str) -> int:
        """Return the size of the value at a place; 0 while it is counted: OmegaConf refuses circles."""
        if place not in sizes:
            sizes[place] = 0
            sizes[place] = total = _size(_at(config, place), place)
            if total > _MOST_VALUES:
                raise InputError(f"{place or 'configuration'}: its interpolations expand to over {_MOST_VALUES:,} characters")
        return sizes[place]

    def _size(value: Any, place: str) -> int:
        if isinstance(value, Mapping):
            return 1 + sum(size(f"{place}.{key}" if place else str(key)) for key in value)
        if isinstance(value, list):
            return 1 + sum(_size(one, place) for one in value)
        if not isinstance(value, str):
            return 1
        return 1 + len(value) + sum(size(_absolute(name, place)) for name in _REFERENCE.findall(value))

    try:
        size("")
    except RecursionError:
        raise InputError("configuration: its interpolations refer to each other too deeply; write the values") from None


def _absolute(name: str, place: str) -> str:
    """Return the key that a name means: one that begins with dots is relative to the node at `place`."""
    inner = name.lstrip(".")
    dots = len(name) - len(inner)
    inner = re.sub(r"\[(\w+)\]", r".\1", inner)
    return ".".join([*place.split(".")[:-dots], inner]) if dots else inner


def _at(config: Any, place: str) -> Any:
    """Return the value at a place; None if there is none, which OmegaConf refuses."""
    for key in place.split(".") if place else ():
        if isinstance(config, Mapping):
            config = config.get(key)
        elif isinstance(config, list) and re.fullmatch("[0-9]{1,9}", key) and int(key) < len(config):
            config = config[int(key)]
        else:
            return None
    return config

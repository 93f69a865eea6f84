"""Typed values of configurations for the index of runs: numbers in base units, booleans, text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity

_KINDS: Final = ("bytes", "bytes_per_s", "seconds", "per_s", "count", "ratio")
_WITH_UNIT: Final = re.compile(r"[-+]?\d[\d._]*(?:[eE][-+]?\d+)?\s*[^\d\s.]\S*")
_NUMBER: Final = re.compile(r"[-+]?\d+")


def typed_value(value: object) -> object:
    """Convert a value to a number in base units (bytes, seconds), a boolean, or text; a list becomes text.

    A string that contains a bare number stays text: its author quoted it on purpose, as in the version '7.10'.

    >>> [typed_value(v) for v in ("64MiB", "2us", "400MB/s", "50%", "7.10", "nvme", 4, True)]
    [67108864.0, 2e-06, 400000000.0, 0.5, '7.10', 'nvme', 4, True]
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str) and _WITH_UNIT.fullmatch(value):
        for kind in _KINDS:
            try:
                return parse_quantity(value, kind)
            except InputError:
                continue
    return str(value)


def parameters(config: Mapping[str, Any], choices: Mapping[str, str]) -> dict[str, object]:
    """Return the typed values of the choices: the configuration's value of a key, or the name of a group's entry.

    >>> parameters({"seed": 3, "device": {"write_cap": "1MB/s"}}, {"seed": "3", "device.write_cap": "1MB/s", "device": "x"})
    {'seed': 3, 'device.write_cap': 1000000.0, 'device': 'x'}
    """
    return {key: _chosen(config, key, text) for key, text in choices.items()}


def _chosen(config: Mapping[str, Any], key: str, text: str) -> object:
    node: Any = config
    for part in key.split("."):
        node = node.get(part, config) if isinstance(node, Mapping) else config
    if node is config or isinstance(node, Mapping):  # not a key of the configuration, or the entry of a group
        return int(text) if _NUMBER.fullmatch(text) else text
    return typed_value(node)


def flat(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield all values of a configuration by dotted key, typed."""
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", typed_value(value)

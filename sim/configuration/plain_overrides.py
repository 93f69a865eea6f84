"""Overrides that LSMLab reads itself: `group=entry`, and a number, word, quantity or quoted text for a key.

Importing Hydra and its parser takes longer than a short run. Forms, values and types are those of Hydra's grammar
(https://hydra.cc/docs/advanced/override_grammar/basic); Hydra reads all other overrides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.configuration.entries import is_group

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_WORD: Final = r"[A-Za-z_][A-Za-z0-9_-]*"
_INTEGER: Final = r"[+-]?(?:0|[1-9][0-9]*)"
_OVERRIDE: Final = re.compile(rf"(?P<key>{_NAME}(?:[./]{_NAME})*)(?P<package>@{_NAME})?=(?P<value>.+)")
_ENTRY: Final = re.compile(_WORD)
_FORMS: Final = (
    (re.compile(_INTEGER), int),
    (re.compile(rf"{_INTEGER}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"), float),
    (re.compile(_WORD), str),
    (re.compile(rf"{_INTEGER}(?:\.[0-9]+)?[A-Za-z]+(?:/s)?"), str),  # a quantity: 64MiB, 2.5GB/s
)
"""Form and type of values without quotes, the first that fits."""
_QUOTED: Final = re.compile(r"'[^'\"\\$]+'")
_CONSTANTS: Final = {"true": True, "false": False, "null": None, "inf": float("inf"), "nan": float("nan")}
"""Values that Hydra does not read as words, in lower case."""


@dataclass(frozen=True, slots=True)
class PlainOverrides:
    """Overrides, separated into those that choose entries and those that set values."""

    entries: tuple[str, ...]
    """Texts such as "device=sata" or "workload@prefill=fillseq"."""
    values: tuple[tuple[str, Any], ...]
    """Keys with dots between levels, and their values."""

    def set_in(self, config: dict[str, Any]) -> dict[str, Any] | None:
        """Set the values in `config` and return it; None if a key is missing or has no single value."""
        return config if all(_set(config, key, value) for key, value in self.values) else None


def read_plain(prepared: Sequence[str], folders: Sequence[Path]) -> PlainOverrides | None:
    """Read overrides; None if Hydra must read one of them. `folders`: the user's folders with configuration groups."""
    entries, values = [], []
    for text in prepared:
        match = _OVERRIDE.fullmatch(text)
        if match is None or re.match(r"hydra\b", text):
            return None
        key, package, value = match.groups()
        if is_group(key, folders):
            if not _ENTRY.fullmatch(value) or value.lower() in _CONSTANTS:
                return None
            entries.append(text)
        elif package is not None or "/" in key:
            return None
        else:
            try:
                values.append((key, read_value(value)))
            except ValueError:
                return None
    return PlainOverrides(tuple(entries), tuple(values))


def read_value(text: str) -> Any:
    """Return the value of a text by Hydra's grammar. Raises ValueError for a text of a form that only Hydra reads.

    >>> [read_value(text) for text in ("64MiB", "12", "1e3", "null", "'7.10'")]
    ['64MiB', 12, 1000.0, None, '7.10']
    """
    if _QUOTED.fullmatch(text):
        return text[1:-1]
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    for form, kind in _FORMS:
        if form.fullmatch(text):
            return kind(text)
    raise ValueError(text)


def _set(config: dict[str, Any], key: str, value: Any) -> bool:
    *path, last = key.split(".")
    node: Any = config
    for name in path:
        node = node.get(name) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node or isinstance(node[last], dict | list):
        return False
    node[last] = value
    return True

"""What is said of a store's options that are not simulated, from `not_simulated` of its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Options = Sequence[Mapping[str, Any]]
"""Name, value, effect and reason of each option, those of large effect first."""


def warnings(options: Options) -> list[str]:
    """Return one sentence for each option of large effect.

    >>> warnings([{"name": "row_cache", "value": "0x1", "effect": "large", "reason": "reads of cached rows skip all files"}])
    ['row_cache=0x1 is not simulated, which has a large effect: reads of cached rows skip all files.']
    """
    return [
        f"{one['name']}={one['value']} is not simulated, which has a large effect: {one['reason']}."
        for one in options
        if one["effect"] == "large"
    ]


def remarks(options: Options) -> list[str]:
    """Return one sentence on each option of small effect, and one on all options whose effect is unknown."""
    found = [
        f"{one['name']}={one['value']} is not simulated, which has a small effect: {one['reason']}."
        for one in options
        if one["effect"] == "small"
    ]
    unknown = [f"{one['name']}={one['value']}" for one in options if one["effect"] == "unknown"]
    return [*found, f"No options that LSMLab knows, so their effect is unknown: {', '.join(unknown)}."] if unknown else found


def not_covered(options: Options) -> str:
    """Return what intervals do not cover, to follow them; "" if there is no such option."""
    names = [one["name"] for one in options if one["effect"] in ("large", "unknown")]
    return f"They do not cover {', '.join(names)}, which the model does not simulate." if names else ""

"""JSON of a LOG's events, complete or cut off."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final

_FIELD: Final = re.compile(r'"(\w+)": (-?\d+\.?\d*(?:[eE][-+]?\d+)?(?=[,}\]])|"(?:[^"\\]|\\.)*"|\[[^\]\[]*\]|\{)')
_PROPERTIES: Final = frozenset(
    (
        "data_size", "index_size", "raw_key_size", "raw_value_size", "num_entries", "num_deletions", "kDeletedKeys",
        "compression",
    )
)  # fmt: skip
"""Table properties that are read. An event has 35 of them, which would be most of the memory for a large LOG."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object whose names, and short texts, are in memory once for all events."""
    return {sys.intern(name): sys.intern(value) if isinstance(value, str) and len(value) < 40 else value for name, value in pairs}


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object)


def parse_event(text: str) -> tuple[dict[str, Any], bool]:
    """Return the fields of an event's JSON, and whether the JSON is complete. Ignore text after the closing brace."""
    try:
        value, _ = _DECODER.raw_decode(text)
        if isinstance(value, dict):
            return _needed(value), True
    except (ValueError, RecursionError):
        pass
    data: dict[str, Any] = {}
    target = data
    for name, value in _FIELD.findall(text):
        if value == "{":  # table_properties, the only nested object of an event and its last field
            target = data[name] = {}
            continue
        try:
            target[name] = json.loads(value)
        except ValueError:
            continue
    return data, False


def _needed(event: dict[str, Any]) -> dict[str, Any]:
    properties = event.get("table_properties")
    if isinstance(properties, dict):
        event["table_properties"] = {name: properties[name] for name in _PROPERTIES if name in properties}
    return event

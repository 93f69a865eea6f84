"""JSON of a LOG's events, complete or cut off."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_FIELD: Final = re.compile(r'"(\w+)": (-?\d+\.?\d*(?:[eE][-+]?\d+)?(?=[,}\]])|"(?:[^"\\]|\\.)*"|\[[^\]\[]*\]|\{)')
_DECODER: Final = json.JSONDecoder()


def parse_event(text: str) -> tuple[dict[str, Any], bool]:
    """Return the fields of an event's JSON, and whether the JSON is complete. Ignore text after the closing brace."""
    try:
        value, _ = _DECODER.raw_decode(text)
        if isinstance(value, dict):
            return value, True
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

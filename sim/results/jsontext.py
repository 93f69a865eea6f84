"""Results as text: JSON that every JSON parser reads (no NaN or infinity, no partly written files), and YAML."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

from lsmlab.sim.results.leftovers import partial_path


def to_json(value: object) -> str:
    """Return indented JSON text that ends with a newline.

    NaN and infinities become null, NumPy arrays lists, dataclasses objects, and members of an Enum their values.
    """
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, value: object) -> None:
    """Write a JSON file atomically: readers see the complete old file or the complete new one."""
    temporary = partial_path(path)
    try:
        temporary.write_text(to_json(value), encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "tolist"):  # a NumPy array or number
        return _plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

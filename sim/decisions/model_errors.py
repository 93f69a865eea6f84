"""The model's own errors by metric: the part of a prediction's error that neither seeds nor constants explain."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError

FILE: Final = Path(str(files("lsmlab.configs"))) / "model_errors.json"
"""Written by `lsmlab validate --write-docs` from calibration runs (docs/background/confidence.md)."""
KINDS: Final = ("model_errors", "log_errors")
"""Keys of the file: errors with fitted constants, and with constants inferred from one LOG."""


def read_model_errors(path: Path = FILE, *, from_a_log: bool) -> Mapping[str, float]:
    """Return the errors by metric as standard deviations: relative, in points of a share, or of a latency's logarithm.

    `from_a_log`: whether the machine's constants come from one LOG. Returns no errors without the file; raises InputError
    if it is unreadable.
    """
    errors = _read(path)
    return {**errors.get("model_errors", {}), **(errors.get("log_errors", {}) if from_a_log else {})}


def model_errors_of(config: Mapping[str, Any], *, from_a_log: bool) -> dict[str, float]:
    """Return the errors for a configuration: those of its parameter set in place of the published ones (`read_model_errors`)."""
    own = (config.get("parameters") or {}).get("model_errors") or {}
    return {**read_model_errors(from_a_log=from_a_log), **own}


@cache
def _read(path: Path) -> Mapping[str, Mapping[str, float]]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {kind: {str(k): float(v) for k, v in content[kind].items()} for kind in KINDS}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); 'lsmlab validate --write-docs' writes it") from None


def forget_model_errors() -> None:
    """Read the file again at the next use, after it was written."""
    _read.cache_clear()

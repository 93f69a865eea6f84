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
"""Written by `lsmlab validate --write-docs` from one half of the scored runs (docs/background/confidence.md)."""
FITTED, FROM_A_LOG, CHANGED = "model_errors", "log_errors", "change_errors"
"""Keys of the file: errors with fitted constants, with constants inferred from one LOG, and after a change of the LOG's store
or load. Other keys are names of parameter sets: errors of runs on that machine."""


def read_model_errors(
    path: Path = FILE, *, from_a_log: bool, changed: bool = False, parameters: str = ""
) -> Mapping[str, float]:
    """Return the errors by metric as standard deviations: relative, in points of a share, or of a latency's logarithm.

    `from_a_log`: whether the machine's constants come from one LOG; `changed`: whether options, load or limits then differ
    from the LOG's. `parameters`: name of the machine's parameter set. Returns no errors without the file; raises InputError
    if it is unreadable.
    """
    errors = _read(path)
    kinds = [FITTED, parameters]
    if from_a_log:
        kinds += [FROM_A_LOG, CHANGED] if changed else [FROM_A_LOG]
    return {metric: error for kind in kinds for metric, error in errors.get(kind, {}).items()}


def model_errors_of(config: Mapping[str, Any], *, from_a_log: bool, changed: bool = False) -> dict[str, float]:
    """Return the errors for a configuration: those of its parameter set in place of the published ones (`read_model_errors`)."""
    own = (config.get("parameters") or {}).get("model_errors") or {}
    name = str(config.get("host", {}).get("parameters") or "")
    return {**read_model_errors(from_a_log=from_a_log, changed=changed, parameters=name), **own}


@cache
def _read(path: Path) -> Mapping[str, Mapping[str, float]]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kinds = [kind for kind in content if kind != "about"]
        return {kind: {str(k): float(v) for k, v in content[kind].items()} for kind in kinds}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); 'lsmlab validate --write-docs' writes it") from None


def forget_model_errors() -> None:
    """Read the file again at the next use, after it was written."""
    _read.cache_clear()

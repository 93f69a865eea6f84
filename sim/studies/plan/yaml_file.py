"""YAML files of plans and catalogues."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError


def read_mapping(path: Path) -> Mapping[str, Any]:
    """Return the mapping of a YAML file. Raises InputError if the file cannot be read or contains something else."""
    import yaml

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" line {mark.line + 1}:" if mark is not None else ""
        raise InputError(f"{path}:{place} is not YAML ({getattr(error, 'problem', None) or 'syntax error'})") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({' '.join(str(error).split())}); save the file as UTF-8 text") from None
    if not isinstance(content, Mapping) or not content:
        raise InputError(f"{path}: must contain a mapping of keys; see docs/reference/plan.md")
    return content


def check_keys(values: Mapping[str, Any], known: Sequence[str], where: str = "") -> None:
    """Raise InputError for a key that is not in `known`; the message names the nearest one."""
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            remedy = f"did you mean {where}{near[0]}?" if near else f"keys: {', '.join(known)}"
            raise InputError(f"{where}{key}: no such key; {remedy}")

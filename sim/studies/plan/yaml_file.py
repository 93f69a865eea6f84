"""YAML files of plans and catalogues."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.yaml_text import read_yaml


def read_mapping(path: Path) -> Mapping[str, Any]:
    """Return the mapping of a YAML file. Raises InputError if the file cannot be read or contains something else."""
    content = read_yaml(path)
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

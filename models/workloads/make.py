"""Workloads from configuration mappings."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import build
from lsmlab.models.workloads.base import Workload

ALLOWED: Final = ("lsmlab",)
"""Packages whose classes a configuration may name: a configuration from somebody else must not run code."""


def make_workload(values: Mapping[str, Any], allowed: Sequence[str] = ALLOWED) -> Workload:
    """The workload that a `workload` mapping describes: its `_target_` class is built from the other keys.

    Raises InputError for a missing or forbidden `_target_`, and for keys or values that the class refuses.
    """
    target = values.get("_target_")
    if not isinstance(target, str) or "." not in target:
        raise InputError(f"workload._target_: {target!r} must name a class, such as lsmlab.models.workloads.ycsb.Ycsb")
    module_name, _, name = target.rpartition(".")
    if module_name.split(".")[0] not in allowed:
        raise InputError(f"workload._target_: {target} is not in an allowed package ({', '.join(allowed)})")
    try:
        cls = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError):
        raise InputError(f"workload._target_: there is no class {target}") from None
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls) and callable(getattr(cls, "workload", None))):
        raise InputError(f"workload._target_: {target} is not a workload: a dataclass with a workload() method")
    builder: Any = build(cls, values, "workload")
    try:
        workload = builder.workload()
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith("workload") else f"workload: {text}") from None
    if not isinstance(workload, Workload):
        raise InputError(f"workload._target_: {target}.workload() gave a {type(workload).__name__}, not a Workload")
    return workload

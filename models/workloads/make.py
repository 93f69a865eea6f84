"""Workloads from configuration mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.targets import load_class
from lsmlab.models.units import build
from lsmlab.models.workloads.base import Workload, WorkloadSettings

ALLOWED: Final = ("lsmlab",)
"""Packages whose classes a configuration may name: a configuration of a third party must not run arbitrary code."""


def make_workload(values: Mapping[str, Any], allowed: Sequence[str] = ALLOWED) -> Workload:
    """Build the workload of a `workload` mapping: its `_target_` class takes the other keys.

    Raises InputError for a missing or forbidden `_target_`, and for keys or values that the class refuses.
    """
    target = values.get("_target_")
    cls = load_class(target, allowed, "workload", "lsmlab.models.workloads.ycsb.Ycsb")
    if not issubclass(cls, WorkloadSettings):
        raise InputError(f"workload._target_: {target} is no workload; name a dataclass that extends WorkloadSettings")
    own = {key: value for key, value in values.items() if key != "families"}  # `workloads.families` reads this key
    settings = build(cls, own, "workload")
    try:
        return settings.workload()
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith("workload") else f"workload: {text}") from None

"""Workloads from configuration mappings, and the load of column families: shares, and sizes where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.targets import load_class
from lsmlab.models.units import build, quantity
from lsmlab.models.workloads.actions import read_actions
from lsmlab.models.workloads.base import Workload, WorkloadSettings
from lsmlab.models.workloads.values import FixedSize

ALLOWED: Final = ("lsmlab",)
"""Packages whose classes a configuration may name: a configuration of a third party must not run arbitrary code."""

_OF_ANY_WORKLOAD: Final = ("families", "actions")
"""Keys that every workload may have beside those of its class (`family_shares`, `read_actions`)."""


def make_workload(values: Mapping[str, Any], allowed: Sequence[str] = ALLOWED) -> Workload:
    """Build the workload of a `workload` mapping: its `_target_` class takes the other keys.

    Raises InputError for a missing or forbidden `_target_`, and for keys or values that the class refuses.
    """
    target = values.get("_target_")
    cls = load_class(target, allowed, "workload", "lsmlab.models.workloads.ycsb.Ycsb")
    if not issubclass(cls, WorkloadSettings):
        raise InputError(f"workload._target_: {target} is no workload; name a dataclass that extends WorkloadSettings")
    own = {key: value for key, value in values.items() if key not in _OF_ANY_WORKLOAD}
    settings = build(cls, own, "workload")
    actions = read_actions(values.get("actions"), "workload.actions")
    try:
        workload = settings.workload()
        if actions and workload.phases:
            raise InputError("actions: give them to a phase with clients, such as {overwrite: {actions: [...]}}")
        return replace(workload, actions=actions)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith("workload") else f"workload: {text}") from None


@dataclass(frozen=True, slots=True)
class FamilyLoad:
    """Load of one column family, an entry of `workload.families`."""

    writes: float = quantity("ratio", 0.0, high=1e9)
    """Entries written to this family, in proportion to those of the other families."""
    reads: float | None = quantity("ratio", None, high=1e9)
    """Reads and scans, in proportion to those of the other families; None: as `writes`."""
    key_size: float | None = quantity("bytes", None, low=1)
    """None: the workload's."""
    value_size: float | None = quantity("bytes", None)
    """Size of every value; None: the workload's values."""
    num: int | None = quantity("count", None, low=1)
    """Keys that exist in this family; None: the workload's `num`. The share of preloaded keys is the workload's."""
    short_lived: bool = False
    """Whether each key is deleted right after it was put, as a lock is: half the entries are deletes."""

    def workload(self, whole: Workload) -> Workload:
        """The workload with the sizes and the number of keys of this family."""
        changes: dict[str, Any] = {}
        if self.key_size is not None:
            changes["key_size"] = self.key_size
        if self.value_size is not None:
            changes["values"] = FixedSize(self.value_size)
        if self.num is not None:
            loaded = round(self.num * (whole.preload_keys / whole.population))
            changes |= {"population": max(self.num, whole.shards), "preload_keys": loaded}
        if self.short_lived:
            changes["preload_keys"] = 0
        return replace(whole, **changes) if changes else whole


@dataclass(frozen=True, slots=True)
class FamilyShare:
    """A family's load with its shares of all writes and of all reads; each sum to 1 over the families."""

    load: FamilyLoad
    writes: float
    reads: float


def family_shares(loads: object, families: list[str]) -> dict[str, FamilyShare]:
    """Read `workload.families` into shares by name, for all `families` of the engine.

    Without an entry all load goes to the first family. Raises InputError for names that the engine does not have.
    """
    if not loads:
        whole = FamilyLoad(writes=1.0)
        return {name: FamilyShare(whole, float(i == 0), float(i == 0)) for i, name in enumerate(families)}
    if not isinstance(loads, Mapping):
        raise InputError("workload.families: must map names of column families to their load, such as {lock: {writes: 1}}")
    for name in loads:
        if name not in families:
            known = ", ".join(families)
            raise InputError(f"workload.families.{name}: no such column family; engine.families has {known}")
    built = {name: build(FamilyLoad, loads.get(name) or {}, f"workload.families.{name}") for name in families}
    writes = {name: load.writes for name, load in built.items()}
    reads = {name: load.writes if load.reads is None else load.reads for name, load in built.items()}
    if sum(writes.values()) <= 0.0 or sum(reads.values()) <= 0.0:
        raise InputError("workload.families: at least one family must have writes above 0")
    return {
        name: FamilyShare(built[name], writes[name] / sum(writes.values()), reads[name] / sum(reads.values()))
        for name in families
    }

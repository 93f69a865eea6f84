"""Settings of the five policies of an engine, and the test that they are compatible.

The entry of a policy in `configs/engine/<group>/` names a frozen dataclass: its fields are the keys of the entry, its
method `make` builds the policy. An optional method `refuses` gives the reason if another policy or an option is
incompatible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Protocol

from lsmlab.models.errors import InputError
from lsmlab.models.options.options import RocksDbOptions
from lsmlab.models.policies.decisions import Cutter, Picker, Throttle
from lsmlab.models.policies.scheduling import Scheduler
from lsmlab.models.policies.tuning import Changes, Tuner
from lsmlab.models.targets import load_class
from lsmlab.models.units import build
from lsmlab.models.version import Version

_EXAMPLE: Final = "lsmlab.models.policies.rocksdb.parts.RocksDbPicker"
METADATA: Final = ("description", "source", "citation", "assumptions")
"""Keys of an entry for its readers, without effect on the policy."""


@dataclass(frozen=True)
class Base:
    """Inputs common to all policies of a store."""

    options: RocksDbOptions
    version: Version


class PickerPart(Protocol):
    """Settings of a picker."""

    def make(self, base: Base) -> Picker:
        """Build the picker. Raises InputError for options that the picker does not support."""


class CutterPart(Protocol):
    """Settings of a cutter."""

    def make(self, base: Base) -> Cutter:
        """Build the cutter."""


class ThrottlePart(Protocol):
    """Settings of a throttle."""

    def make(self, base: Base) -> Throttle:
        """Build the throttle."""


class SchedulerPart(Protocol):
    """Settings of a scheduler."""

    def make(self, base: Base) -> Scheduler:
        """Build a scheduler in its state at the open of a store."""


class TunerPart(Protocol):
    """Settings of a tuner."""

    def make(self, base: Base) -> Tuner | None:
        """Build a tuner in its state at the open of a store; None = options never change."""


@dataclass(frozen=True)
class Parts:
    """Settings of the five policies."""

    picker: PickerPart
    cutter: CutterPart
    throttle: ThrottlePart
    scheduler: SchedulerPart
    tuner: TunerPart

    def check(self, base: Base) -> None:
        """Raise InputError with the reason if a policy refuses another policy or an option."""
        for field in fields(self):
            refuses = getattr(getattr(self, field.name), "refuses", None)
            reason = refuses(self, base) if refuses is not None else None
            if reason:
                raise InputError(f"engine.{field.name}: {reason}")

    def changed(self, changes: Changes) -> Parts:
        """Return the parts with the settings that a tuner changes (`picker.threshold`)."""
        parts = self
        for name, value in changes.items():
            group, dot, key = name.partition(".")
            if dot:
                parts = replace(parts, **{group: replace(getattr(parts, group), **{key: value})})
        return parts


GROUPS: Final = tuple(f.name for f in fields(Parts))
"""Names of the groups: picker, cutter, throttle, scheduler, tuner."""


def make_part(group: str, values: Mapping[str, Any], allowed: Sequence[str] = ()) -> Any:
    """Build the settings object of an entry of `engine/<group>`. Raises InputError for a bad target, key or value."""
    where = f"engine.{group}"
    cls = load_class(values.get("_target_"), ("lsmlab", *allowed), where, _EXAMPLE)
    if not hasattr(cls, "make"):
        raise InputError(f"{where}._target_: {values['_target_']} is not a {group}: it has no make; write it like {_EXAMPLE}")
    return build(cls, {k: v for k, v in values.items() if k not in METADATA}, where)

"""What the five policies of an engine are made from, and whether they go together.

A policy's entry in `configs/engine/<group>/` names a frozen dataclass: its fields are the entry's keys, its method
`make` gives the policy. It may also say, in `refuses`, why it cannot work beside what was chosen for another group.
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

METADATA: Final = ("description", "source", "citation", "assumptions")
"""Keys of an entry that inform readers."""


@dataclass(frozen=True)
class Base:
    """What all policies of a store share."""

    options: RocksDbOptions
    version: Version


class PickerPart(Protocol):
    """The settings of a picker."""

    def make(self, base: Base) -> Picker:
        """The picker. Raises InputError for options that it cannot work with."""


class CutterPart(Protocol):
    """The settings of a cutter."""

    def make(self, base: Base) -> Cutter:
        """The cutter."""


class ThrottlePart(Protocol):
    """The settings of a throttle."""

    def make(self, base: Base) -> Throttle:
        """The throttle."""


class SchedulerPart(Protocol):
    """The settings of a scheduler."""

    def make(self, base: Base) -> Scheduler:
        """A scheduler as it is when a store is opened."""


class TunerPart(Protocol):
    """The settings of a tuner."""

    def make(self, base: Base) -> Tuner | None:
        """A tuner as it is when a store is opened; None = options stay as they are."""


@dataclass(frozen=True)
class Parts:
    """The settings of the five policies."""

    picker: PickerPart
    cutter: CutterPart
    throttle: ThrottlePart
    scheduler: SchedulerPart
    tuner: TunerPart

    def check(self, base: Base) -> None:
        """Raise InputError with the reason if two of them cannot go together."""
        for field in fields(self):
            refuses = getattr(getattr(self, field.name), "refuses", None)
            reason = refuses(self, base) if refuses is not None else None
            if reason:
                raise InputError(f"engine.{field.name}: {reason}")

    def changed(self, changes: Changes) -> Parts:
        """With the settings that a tuner changes (`picker.threshold`)."""
        parts = self
        for name, value in changes.items():
            group, dot, key = name.partition(".")
            if dot:
                parts = replace(parts, **{group: replace(getattr(parts, group), **{key: value})})
        return parts


GROUPS: Final = tuple(f.name for f in fields(Parts))
"""picker, cutter, throttle, scheduler, tuner."""


def make_part(group: str, values: Mapping[str, Any], allowed: Sequence[str] = ()) -> Any:
    """The settings object that an entry of `engine/<group>` describes. Raises InputError for what it cannot be."""
    where = f"engine.{group}"
    cls = load_class(values.get("_target_"), ("lsmlab", *allowed), where, "lsmlab.models.policies.rocksdb.parts.Leveled")
    if not hasattr(cls, "make"):
        raise InputError(f"{where}._target_: {values['_target_']} is not a {group}: it has no make")
    return build(cls, {k: v for k, v in values.items() if k not in METADATA}, where)

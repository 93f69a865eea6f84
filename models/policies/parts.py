"""Settings of the policies of an engine, and the test that they are compatible.

The entry of a policy in `configs/engine/<group>/` names a frozen dataclass: its fields are the keys of the entry, its
method `make` builds the policy, and its method `refuses` gives the reason if another policy or an option is incompatible.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Final, Generic, TypeVar

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import CompactionStyle, RocksDbOptions
from lsmlab.models.policies.decisions import Cutter, FilterPolicy, Picker, Throttle
from lsmlab.models.policies.scheduling import Scheduler
from lsmlab.models.policies.tuning import Changes, Tuner
from lsmlab.models.targets import load_class
from lsmlab.models.units import build, field_values
from lsmlab.models.version import Version

_EXAMPLE: Final = "lsmlab.models.policies.rocksdb.parts.RocksDbPicker"
METADATA: Final = ("description", "source", "citation", "assumptions")
"""Keys of an entry for its readers, without effect on the policy."""


@dataclass(frozen=True)
class Base:
    """Inputs common to all policies of a store."""

    options: RocksDbOptions
    version: Version


P_co = TypeVar("P_co", covariant=True)


class PolicySettings(ABC, Generic[P_co]):
    """Settings of one policy; a subclass is a frozen dataclass whose fields are the keys of an entry."""

    @abstractmethod
    def make(self, base: Base) -> P_co:
        """Build the policy; a scheduler or tuner in its state at the open of a store (no tuner: options never change).

        Raises InputError for options that the policy does not support.
        """

    levels_only: ClassVar[str] = ""
    """Reason to refuse universal and FIFO compaction, with {style} in place of its name; empty: any style will do."""

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Return the reason, in words for the user, if another policy or an option is incompatible. Default: `levels_only`."""
        style = base.options.compaction_style
        if style is CompactionStyle.LEVEL or not self.levels_only:
            return None
        return self.levels_only.format(style=style.value)


@dataclass(frozen=True)
class Parts:
    """Settings of the policies."""

    picker: PolicySettings[Picker]
    cutter: PolicySettings[Cutter]
    throttle: PolicySettings[Throttle]
    scheduler: PolicySettings[Scheduler]
    tuner: PolicySettings[Tuner | None]
    filter: PolicySettings[FilterPolicy]

    def check(self, base: Base) -> None:
        """Raise InputError with the reason if a policy refuses another policy or an option."""
        for group, part in field_values(self).items():
            reason = part.refuses(self, base)
            if reason:
                raise InputError(f"engine.{group}: {reason}")

    def setting(self, group: str, key: str) -> Any:
        """Return the value of a policy's setting, such as `threshold` of the group `picker`."""
        return vars(field_values(self)[group])[key]

    def changed(self, changes: Changes) -> Parts:
        """Return the parts with the settings that a tuner changes (`picker.threshold`)."""
        parts = self
        for name, value in changes.items():
            group, dot, key = name.partition(".")
            if dot:
                parts = replace(parts, **{group: replace(field_values(parts)[group], **{key: value})})
        return parts


GROUPS: Final = tuple(f.name for f in fields(Parts))
"""Names of the groups: picker, cutter, throttle, scheduler, tuner, filter."""


def make_part(group: str, values: Mapping[str, Any], allowed: Sequence[str] = ()) -> Any:
    """Build the settings object of an entry of `engine/<group>`. Raises InputError for a bad target, key or value."""
    where = f"engine.{group}"
    cls = load_class(values.get("_target_"), ("lsmlab", *allowed), where, _EXAMPLE)
    if not issubclass(cls, PolicySettings):
        raise InputError(f"{where}._target_: {values['_target_']} is no PolicySettings of a {group}; write it like {_EXAMPLE}")
    return build(cls, {k: v for k, v in values.items() if k not in METADATA}, where)

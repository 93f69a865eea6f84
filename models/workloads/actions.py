"""Actions on a store: as phases of a run, and beside clients (`workload.actions`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.compact_range import CompactRangeOptions
from lsmlab.models.units import build, quantity
from lsmlab.models.workloads.base import StoreAction, TimedAction, WorkloadPhase

ACTIONS: Final = {action.value: action for action in StoreAction}
"""Actions by name."""
_BESIDE: Final = ("flush", "compact", "deleterange", "deletefilesinrange", "ingest")
"""Actions that may happen while clients run; the others wait for something or do nothing."""
_OF_RANGES: Final = (StoreAction.DELETE_RANGE, StoreAction.DELETE_FILES_IN_RANGE, StoreAction.INGEST)


@dataclass(frozen=True, slots=True)
class _Wait:
    """Settings of `wait`."""

    duration: float = quantity("seconds")


@dataclass(frozen=True, slots=True)
class _Range:
    """Settings of `deleterange` and `deletefilesinrange`."""

    begin: float = quantity("ratio", high=1.0)
    """Place in key order, as a share of the key space."""
    end: float = quantity("ratio", high=1.0)

    def __post_init__(self) -> None:
        if self.end <= self.begin:
            raise InputError(f"end: {self.end:g} must be above begin, {self.begin:g}")


@dataclass(frozen=True, slots=True)
class _Ingest(_Range):
    """Settings of `ingest`."""

    files: int = quantity("count", 1, low=1, high=100_000)
    """Files that divide the keys of the range."""
    move_files: bool = False
    """Whether they are linked into the store, not copied."""


@dataclass(frozen=True, slots=True)
class _Times:
    """Times of an action beside clients."""

    at: float | None = quantity("seconds", None)
    """Time of the first one; None: as `every`."""
    every: float | None = quantity("seconds", None, low=0.01)
    """Time from one to the next; None: it happens once."""
    step: float = quantity("ratio", 0.0, high=1.0)
    """Share of the key space by which the range of each one lies behind that of the one before."""

    def __post_init__(self) -> None:
        if self.step and self.every is None:
            raise InputError("step: it has no effect without every")
        if self.at is None and self.every is None:
            raise InputError("a time is required, such as at: 60s, or every: 30s")


def read_action(name: str, own: Mapping[str, Any], where: str) -> WorkloadPhase:
    """Return the action of this name with its own settings. Raises InputError that names the key below `where`."""
    action = ACTIONS[name]
    if action is StoreAction.WAIT:
        return WorkloadPhase(name, action=action, duration_s=build(_Wait, own, where).duration)
    if action is StoreAction.INGEST:
        files = build(_Ingest, own, where)
        span = (files.begin, files.end)
        return WorkloadPhase(name, action=action, span=span, files=files.files, move_files=files.move_files)
    if action in (StoreAction.DELETE_RANGE, StoreAction.DELETE_FILES_IN_RANGE):
        given = build(_Range, own, where)
        return WorkloadPhase(name, action=action, span=(given.begin, given.end))
    if action is StoreAction.COMPACT:
        return WorkloadPhase(name, action=action, compact_range=build(CompactRangeOptions, own, where))
    if own:
        raise InputError(f"{where}: this action has no settings")
    return WorkloadPhase(name, action=action)


def read_actions(values: Any, where: str) -> tuple[TimedAction, ...]:
    """Return the actions beside clients: mappings of a time and one action, such as {at: 60s, ingest: {begin: 0, end: 0.1}}.

    Raises InputError that names the item below `where`.
    """
    if values is None:
        return ()
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InputError(f"{where}: must be a list of actions, such as [{{at: 60s, compact: {{}}}}]")
    return tuple(_timed(item, f"{where}[{i}]") for i, item in enumerate(values))


def _timed(item: Any, where: str) -> TimedAction:
    own = dict(item) if isinstance(item, Mapping) else {}
    times = build(_Times, {key: own.pop(key) for key in ("at", "every", "step") if key in own}, where)
    if len(own) != 1 or next(iter(own)) not in _BESIDE:
        raise InputError(f"{where}: must have a time (at, every) and one of {', '.join(_BESIDE)}")
    ((name, settings),) = own.items()
    step = read_action(name, settings or {}, f"{where}.{name}")
    if times.step and step.action not in _OF_RANGES:
        raise InputError(f"{where}.step: {name} has no range of keys")
    first_s = times.every if times.at is None else times.at
    return TimedAction(step, first_s or 0.0, times.every, times.step)

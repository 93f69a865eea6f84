"""Conditions of a run: another device from a moment on, failing compactions, open snapshots, the block cache at the start."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lsmlab.models.devices.capped import Capped
from lsmlab.models.devices.make import METADATA, DeviceSetup, make_device
from lsmlab.models.errors import InputError
from lsmlab.models.units import build, field_values, format_bytes, parse_quantity, quantity


@dataclass(frozen=True, kw_only=True)
class Change:
    """Settings of one item of `conditions.changes`. What an item does not name is as in the entry of the device."""

    at: float = quantity("seconds")
    """Time from which the change holds, until the next one."""
    scale: Any = None
    """Factors on numbers of the device, by key."""
    set: Any = None
    """Values that replace those of the device, caps of the `limits` group included, by key."""
    space: float | None = quantity("bytes", None)
    """Bytes that SST files and WALs of the store may occupy; None: any."""


@dataclass(frozen=True, kw_only=True)
class CompactionErrors:
    """Settings of one item of `conditions.compaction_errors`."""

    at: float = quantity("seconds")
    """Compactions that start later fail."""
    count: int = quantity("count", 1, low=1)
    """Number of compactions that fail, the retries of the first one included."""
    done: float = quantity("ratio", 0.5, high=1.0)
    """Share of a compaction's output that is on the device when a write fails."""


@dataclass(frozen=True, kw_only=True)
class HeldSnapshot:
    """Settings of one item of `conditions.snapshots`: a backup, scan or transaction that reads the store as it was."""

    at: float = quantity("seconds")
    """Time at which the snapshot is taken."""
    until: float | None = quantity("seconds", None)
    """Time at which it is released; None: it is open until the end."""
    renew: float | None = quantity("seconds", None, low=0.001)
    """Time after which it is released and another one is taken, again and again; None: never."""

    def __post_init__(self) -> None:
        if self.until is not None and self.until <= self.at:
            raise InputError(f"until: {self.until:g} s must be after at, {self.at:g} s")


class BlockCache(Enum):
    """Block cache at the start of a run."""

    EMPTY = "empty"
    """As after the store was opened: reads fill it."""
    WARM = "warm"
    """As after a long run with the same reads."""


@dataclass(frozen=True)
class Conditions:
    """Conditions of a run, each list by time."""

    changes: tuple[Change, ...] = ()
    compaction_errors: tuple[CompactionErrors, ...] = ()
    snapshots: tuple[HeldSnapshot, ...] = ()
    block_cache: BlockCache = BlockCache.EMPTY


@dataclass(frozen=True)
class DeviceChange:
    """Device from a moment on."""

    at_s: float
    setup: DeviceSetup
    space_bytes: float | None
    text: str
    """The change in words, such as "write_bandwidth x 0.25"."""


def read_conditions(values: object) -> Conditions:
    """Return the conditions of the `conditions` group. Raises InputError that names the key."""
    if values is None:
        return Conditions()
    if not isinstance(values, Mapping):
        wanted = "must be a mapping with changes, compaction_errors, snapshots or block_cache, or choose conditions=none"
        raise InputError(f"conditions: {values!r} {wanted}")
    kinds: dict[str, type[Any]] = {"changes": Change, "compaction_errors": CompactionErrors, "snapshots": HeldSnapshot}
    found: dict[str, Any] = {}
    for key, value in values.items():
        where = f"conditions.{key}"
        if key in METADATA:
            continue
        if key == "block_cache":
            found[key] = _block_cache(value, where)
        elif key in kinds:
            found[key] = _items(value, kinds[key], where)
        else:
            raise InputError(f"{where}: no such key; valid keys: {', '.join(kinds)}, block_cache")
    return Conditions(**found)


def _block_cache(value: object, where: str) -> BlockCache:
    try:
        return BlockCache(value)
    except ValueError:
        raise InputError(f"{where}: {value!r} must be {' or '.join(c.value for c in BlockCache)}") from None


def _items(values: object, kind: type[Any], where: str) -> tuple[Any, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str) or not all(isinstance(v, Mapping) for v in values):
        raise InputError(f"{where}: must be a list of items such as {{at: 300s, ...}}")
    items = [build(kind, value, f"{where}[{number}]") for number, value in enumerate(values)]
    return tuple(sorted(items, key=lambda item: item.at))


def devices_over_time(
    device: Mapping[str, Any], changes: Sequence[Change], allowed: Sequence[str] = ()
) -> tuple[DeviceSetup, tuple[DeviceChange, ...]]:
    """Return the device at the start and from each change on. Raises InputError that names the key.

    If any of them has a cap, all are `Capped`, so that they share one kind of state.
    """
    start = make_device(device, allowed)
    later = [_changed(device, start, change, f"conditions.changes[{i}]", allowed) for i, change in enumerate(changes)]
    if any(isinstance(setup.device, Capped) for setup in (start, *(d.setup for d in later))):
        start = start.capped()
        later = [dataclasses.replace(d, setup=d.setup.capped()) for d in later]
    return start, tuple(later)


def _changed(
    device: Mapping[str, Any], start: DeviceSetup, change: Change, where: str, allowed: Sequence[str]
) -> DeviceChange:
    scaled = {
        key: _scaled(start, key, factor, f"{where}.scale") for key, factor in _mapping(change.scale, f"{where}.scale").items()
    }
    replaced = dict(_mapping(change.set, f"{where}.set"))
    if "_target_" in replaced:
        raise InputError(f"{where}.set._target_: a device stays of one kind; change its numbers")
    known = {key: value for key, value in scaled.items() if value is not None}
    setup = make_device({**device, **known, **replaced}, allowed, where)
    words = [f"{key} x {change.scale[key]}" for key in known] + [f"{key} = {value}" for key, value in replaced.items()]
    words += [f"space = {format_bytes(change.space)}"] if change.space is not None else []
    return DeviceChange(change.at, setup, change.space, ", ".join(words) or "as at the start")


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: {value!r} must be a mapping, such as {{write_bandwidth: 0.25}}")
    return value


def _scaled(start: DeviceSetup, key: str, factor: object, where: str) -> float | None:
    """Return a number of the device times a factor; None if the device does not know it."""
    own = field_values(start.device.uncapped)
    for values in (own, field_values(start.settings)):
        value = values.get(key)
        if key in values and (value is None or _is_number(value)):
            try:
                ratio = parse_quantity(factor, "ratio")  # type: ignore[arg-type]
            except (InputError, TypeError, AttributeError):
                raise InputError(f"{where}.{key}: {factor!r} must be a factor, such as 0.25") from None
            if not ratio > 0.0:
                raise InputError(f"{where}.{key}: {factor!r} must be above 0")
            return None if value is None else value * ratio
    numbers = sorted(name for name, value in own.items() if _is_number(value))
    raise InputError(f"{where}.{key}: this device has no such number; its numbers: {', '.join(numbers)}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

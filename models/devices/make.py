"""Devices from the groups `device` and `limits` of a configuration."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.devices.base import Device, DeviceClass
from lsmlab.models.devices.capped import FILE_DISCARDS, IO_BYTES, KEPT_SLICES, BackgroundCap, Capped
from lsmlab.models.errors import InputError
from lsmlab.models.targets import load_class
from lsmlab.models.units import build, field_values, of_submodel, quantity

METADATA: Final = ("description", "source", "assumptions")
"""Keys of a device's YAML for its readers, without effect on the device."""


@dataclass(frozen=True, kw_only=True)
class DeviceCaps:
    """Caps that a cgroup or a cloud provider sets, whatever drive the machine has; the `limits` group. None: no limit."""

    write_cap: float | None = quantity("bytes_per_s", None, low=1.0)
    """Cap on all writes together."""
    read_cap: float | None = quantity("bytes_per_s", None, low=1.0)
    iops_cap: float | None = quantity("per_s", None, low=1.0)
    """Cap on operations per second, for reads and for writes separately."""
    background_cap: float | None = quantity("bytes_per_s", None, low=1.0)
    """Cap on the bytes that flushes and compactions read and write together; clients do not count."""


@dataclass(frozen=True, kw_only=True)
class DeviceSettings(DeviceCaps):
    """Settings of every device, in addition to the parameters of its class."""

    wal_fsync_latency: float | None = quantity("seconds", None, low=0.0)
    """Time of an fsync of the WAL on the idle device, with which a synced write waits; None: `fsync_latency`."""
    throttle_io: float = quantity("bytes", IO_BYTES, low=512)
    """Maximum of bytes that the throttle counts as one operation."""
    throttle_kept_slices: int = quantity("count", KEPT_SLICES, high=1)
    """Past slices whose unused allowance still counts: 1 since Linux 6.15, 0 before."""
    file_discards: float = quantity("count", FILE_DISCARDS)
    """Discards per deleted file, which a cap on operations counts as writes: 0 if the file system sends none."""
    fsync_portion: float | None = quantity("bytes", None, low=65536, submodel="journal")
    """Maximum of bytes of a file that one journal handle submits while the device's queue is full; None: it is never
    full."""
    fsync_queue: float = quantity("bytes", 0.0, submodel="journal")
    """Bytes of files at their fsync that the device's queue accepts before it is full."""
    journal_behind_files: bool = of_submodel("journal", True)
    """Whether the journal's blocks wait for the files in the device's queue; False: the I/O scheduler serves them first."""
    page_cache: float = quantity("bytes", 0.0)
    """0: direct I/O. Else the size of the page cache, from which recently written files are read.

    RocksDB's switches for direct I/O decide what passes it.
    """
    price_usd: float | None = quantity("count", None)


@dataclass(frozen=True)
class DeviceSetup:
    """Device with its settings."""

    device: Device
    settings: DeviceSettings

    @property
    def page_cache_bytes(self) -> float:
        """Size of the page cache; 0: direct I/O."""
        return self.settings.page_cache

    @property
    def capacity_bytes(self) -> float | None:
        """Capacity; None: unknown or unlimited."""
        return self.device.capacity

    @property
    def direct_io(self) -> bool:
        """Return whether all reads and writes bypass the page cache."""
        return self.settings.page_cache == 0

    def capped(self) -> DeviceSetup:
        """Return the same device as `Capped`, with or without caps."""
        if isinstance(self.device, Capped):
            return self
        return dataclasses.replace(self, device=_capped(self.device, self.settings))


def make_device(mapping: Mapping[str, Any], allowed: Sequence[str] = (), where: str = "device") -> DeviceSetup:
    """Build the device of `mapping`, under its caps if it has any.

    `_target_` names a frozen dataclass that implements `Device`, inside lsmlab or one of the packages in `allowed`.
    Raises InputError for any other target, unknown keys and bad values.
    """
    cls = device_type(mapping, allowed, where)
    own = {f.name for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    common = {f.name for f in dataclasses.fields(DeviceSettings)}
    device_values: dict[str, Any] = {}
    settings_values: dict[str, Any] = {}
    for key in mapping:
        if key in METADATA or key == "_target_":
            continue
        if key not in own and key not in common:
            near = difflib.get_close_matches(str(key), sorted(own | common), n=1)
            hint = f"did you mean {where}.{near[0]}?" if near else f"valid keys: {', '.join(sorted(own | common))}"
            raise InputError(f"{where}.{key}: no such key; {hint}")
        if key in own:
            device_values[key] = mapping[key]
        if key in common:
            settings_values[key] = mapping[key]
    settings = build(DeviceSettings, settings_values, where)
    device: Device = build(cls, device_values, where)
    return DeviceSetup(_with_caps(device, settings), settings)


def with_limits(device: Mapping[str, Any], limits: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the `device` group under the caps of the `limits` group; a cap that the device group sets stays.

    Raises InputError for an unknown key or a bad value of `limits`.
    """
    if limits is not None and not isinstance(limits, Mapping):
        raise InputError(f"limits: {limits!r} must be a mapping such as {{write_cap: 80MiB/s}}, or choose limits=none")
    values = {key: value for key, value in (limits or {}).items() if key not in METADATA}
    caps = build(DeviceCaps, values, "limits")
    set_caps = {key: cap for key, cap in field_values(caps).items() if cap is not None and device.get(key) is None}
    return {**device, **set_caps}


def _with_caps(device: Device, settings: DeviceSettings) -> Device:
    if settings.background_cap is not None:
        device = BackgroundCap(device, settings.background_cap)
    if settings.write_cap is None and settings.read_cap is None and settings.iops_cap is None:
        return device
    return _capped(device, settings)


def _capped(device: Device, settings: DeviceSettings) -> Capped:
    return Capped(
        device,
        write_cap=settings.write_cap,
        read_cap=settings.read_cap,
        iops_cap=settings.iops_cap,
        io_bytes=settings.throttle_io,
        kept_slices=settings.throttle_kept_slices,
        file_discards=settings.file_discards,
    )


def device_type(mapping: Mapping[str, Any], allowed: Sequence[str] = (), where: str = "device") -> type[Device]:
    """Return the class that `_target_` of the `device` group names. Raises InputError if it is no device."""
    target = mapping.get("_target_")
    cls = load_class(target, ("lsmlab", *allowed), where, "lsmlab.models.devices.nvme.Nvme")
    if not dataclasses.is_dataclass(cls) or not issubclass(cls, Device):
        raise InputError(f"{where}._target_: {target} is not a device; name a frozen dataclass that extends Device")
    return cls


def device_class_of(mapping: Mapping[str, Any]) -> DeviceClass:
    """Return the class of the device of a `device` group; "other" for one of another package."""
    ours = str(mapping.get("_target_", "")).startswith("lsmlab.")
    return device_type(mapping).device_class if ours else "other"

"""SATA solid-state drives: flash behind a half-duplex link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lsmlab.models.devices.base import DeviceClass
from lsmlab.models.devices.flash import FlashDrive
from lsmlab.models.errors import InputError
from lsmlab.models.units import quantity


@dataclass(frozen=True, kw_only=True)
class SataSsd(FlashDrive):
    """SATA drive. The link carries one frame at a time, in one direction, so reads and writes share the time of the link."""

    device_class: ClassVar[DeviceClass] = "sata"
    name: str = "sata"
    interface_bandwidth: float = quantity("bytes_per_s", 600e6, low=1.0)
    """Bandwidth of the link; default: SATA revision 3, 6 Gb/s with 10 line bits per byte."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, rate in (("read_bandwidth", self.read_bandwidth), ("write_bandwidth", self.write_bandwidth)):
            if rate > self.interface_bandwidth:
                raise InputError(f"{key}: must not exceed interface_bandwidth, {self.interface_bandwidth:g} B/s")

"""NVMe drives: flash behind many channels and a full-duplex link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lsmlab.models.devices.base import DeviceClass
from lsmlab.models.devices.flash import FlashDrive


@dataclass(frozen=True, kw_only=True)
class Nvme(FlashDrive):
    """NVMe drive. Its link is full duplex; reads and writes share the time of its channels, r/R + w/W <= 1.

    This is the assumption `additive_media_time`: there is no measurement of mixed load for the configured drives.
    """

    device_class: ClassVar[DeviceClass] = "nvme"
    name: str = "nvme"

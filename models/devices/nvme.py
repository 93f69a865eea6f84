"""NVMe drives: flash behind many channels and a full-duplex link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lsmlab.models.devices.base import DeviceClass
from lsmlab.models.devices.flash import FlashDrive
from lsmlab.models.devices.sharing import Service
from lsmlab.models.units import quantity


@dataclass(frozen=True, kw_only=True)
class Nvme(FlashDrive):
    """NVMe drive. Its link is full duplex; reads and writes share its channels."""

    device_class: ClassVar[DeviceClass] = "nvme"
    name: str = "nvme"
    channel_contention: float = quantity("ratio", 1.0, high=1.0)
    """1: a channel cannot read while it writes, so r/R + w/W <= 1; 0: only r <= R and w <= W; between: the sum <= 2 - c.

    The default is the assumption `additive_media_time`: there is no measurement of mixed load for the configured drives.
    """

    def _make_service(self, amplification: float, slc_full: bool) -> Service:
        return super()._make_service(amplification, slc_full)._replace(contention=self.channel_contention)

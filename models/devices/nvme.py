"""NVMe drives: flash behind many channels and a full-duplex link."""

from __future__ import annotations

from dataclasses import dataclass

from lsmlab.models.devices.flash import FlashDrive
from lsmlab.models.units import quantity


@dataclass(frozen=True, kw_only=True)
class Nvme(FlashDrive):
    """An NVMe drive. Its link carries both directions at once; its channels are what reads and writes share."""

    name: str = "nvme"
    channel_contention: float = quantity("ratio", 1.0, high=1.0)
    """1: a channel that writes cannot read, so r/R + w/W <= 1; 0: r <= R and w <= W alone; between: the sum <= 2 - c.

    The default is the assumption `additive_media_time`: no measured mix is known for the drives configured here.
    """

    @property
    def contention(self) -> float:
        """How far reads and writes exclude each other."""
        return self.channel_contention

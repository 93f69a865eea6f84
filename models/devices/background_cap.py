"""Cap on the bytes of flushes and compactions together, reads and writes, which spares clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsmlab.models.devices.base import Device, DeviceFacts, Flow, Grant, Load, Peaks


@dataclass(frozen=True)
class BackgroundCap:
    """Device whose background streams share a rate: all are slowed by the same factor when they would exceed it.

    Source: SILK's evaluation gives the store 200 MB/s for its internal operations (behaviour/evaluations.md, SILK's evaluation).
    """

    device: Device
    bytes_per_s: float

    def __getattr__(self, name: str) -> Any:
        """Return the properties of the device below, such as its capacity."""
        return getattr(self.__dict__["device"], name)

    @property
    def name(self) -> str:
        """Name of the device below."""
        return self.device.name

    def initial(self) -> Any:
        """State of the device below."""
        return self.device.initial()

    def allocate(self, state: Any, load: Load) -> Grant:
        """Compute the rates under `load`: the device's own, unless background streams would exceed the cap together."""
        grant = self.device.allocate(state, load)
        wanted = load.readers * grant.read_bytes_per_s + load.writers * grant.write_bytes_per_s
        if wanted <= self.bytes_per_s:
            return grant
        share = self.bytes_per_s / wanted
        return self.device.allocate(
            state,
            load._replace(
                read_limit_bytes_per_s=share * grant.read_bytes_per_s, write_limit_bytes_per_s=share * grant.write_bytes_per_s
            ),
        )

    def advance(self, state: Any, elapsed_s: float, flow: Flow) -> Any:
        """Advance the state of the device below."""
        return self.device.advance(state, elapsed_s, flow)

    def fsync_s(self, state: Any) -> float:
        """Time of an fsync of the device below."""
        return self.device.fsync_s(state)

    def facts(self, state: Any, live_bytes: float) -> DeviceFacts:
        """Return the facts of the device below."""
        return self.device.facts(state, live_bytes)

    def peaks(self) -> Peaks:
        """Upper bounds of the rates of the device below."""
        return self.device.peaks() if hasattr(self.device, "peaks") else Peaks()

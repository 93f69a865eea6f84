"""Cap on the bytes of flushes and compactions together, reads and writes, which spares clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsmlab.models.devices.base import Grant, Layer, Load


@dataclass(frozen=True)
class BackgroundCap(Layer):
    """Device whose background streams share a rate: all are slowed by the same factor when they would exceed it.

    Source: SILK's evaluation gives the store 200 MB/s for its internal operations (behaviour/evaluations.md, SILK's evaluation).
    """

    bytes_per_s: float

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

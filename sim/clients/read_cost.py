"""Cost of a read: CPU time, requests to the device, and the share of reads without a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class ReadCost:
    """Cost of one read on the present trees."""

    cpu_s: float = 0.0
    """CPU time, that of its requests included."""
    request_cpu_s: float = 0.0
    """Part of `cpu_s` for requests of data blocks to the device."""
    device_reads: float = 0.0
    """Mean requests to the device: single blocks, or several blocks that a scan reads ahead."""
    device_bytes: float = 0.0
    """Bytes of these requests."""
    memory_share: float = 1.0
    """Share of reads without a request to the device."""
    blocks: float = 0.0
    """Mean number of data blocks that it searches, in memory or from the device."""


ReadClasses = Sequence[tuple[float, ReadCost]]
"""(share of the reads, cost) of classes of reads that take different times: of scans by length, or of column families. Shares
sum to 1."""


def mean_cost(classes: ReadClasses) -> ReadCost:
    """Return the mean cost of reads of several classes; without classes, that of no read."""
    if not classes:
        return ReadCost()
    return ReadCost(
        **{f.name: sum(share * getattr(cost, f.name) for share, cost in classes) for f in fields(ReadCost)}
    )

"""Numbers that are inferred from a log, each with how well it is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

MEDIAN_BY_MEAN: Final = 1.2533
"""Standard error of a median by that of a mean: sqrt(pi / 2)."""
LABELS: Final = {
    "host.compaction_record": "compaction, CPU per entry",
    "host.compaction_byte": "compaction, CPU per byte",
    "host.flush_record": "flush, CPU per entry",
    "host.flush_byte": "flush, CPU per byte",
    "flush_bytes_per_s": "one flush writes",
    "compaction_write_bytes_per_s": "one compaction writes",
    "host.job_start": "start of a compaction",
    "host.unlink_byte": "deletion of a file, per byte",
    "host.file_overhead": "end of a merge, per file",
    "host.write_op": "client, time of a write",
    "host.sleep_penalty": "client, lost per sleep of a delayed write",
    "device.write_bandwidth": "device, writes",
    "device.fsync_latency": "device, small fsync",
    "device.write_limit": "all jobs together wrote",
    "device.read_bandwidth": "device, reads",
}
"""The estimates in words."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One inferred number."""

    name: str
    """Key of the configuration that it stands for, such as host.compaction_record; or a name of its own."""
    value: float
    standard_error: float | None
    unit: str
    kind: str
    """estimate; lower_bound (the machine can do at least this); or assumed (the log cannot tell)."""
    basis: str
    """What it was taken from, in words."""


@dataclass
class InferredRates:
    """Rates of the machine."""

    estimates: list[Estimate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bursts: float | None = None
    """How many times faster the device takes the bytes of short stretches of fsyncs than of long ones: a cap lets an
    allowance pass at once, a device does not. None where no fsync tells (direct I/O)."""

    idle_clients: bool = False
    """Whether clients that nothing held back took their time: then they did not write as fast as the store let them."""

    def get(self, name: str) -> Estimate | None:
        """The estimate of this name."""
        return next((e for e in self.estimates if e.name == name), None)

    @property
    def write_limited(self) -> bool:
        """Whether the writes of flushes and compactions ran against a limit."""
        return self.get("device.write_limit") is not None

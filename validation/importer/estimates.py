"""Numbers inferred from a LOG, each with its standard error and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from numpy.typing import NDArray

MEDIAN_BY_MEAN: Final = 1.2533
"""Standard error of a median divided by that of a mean: sqrt(pi / 2)."""
LABELS: Final = {
    "host.compaction_record": "compaction, CPU per entry",
    "host.compaction_byte": "compaction, CPU per byte",
    "host.compress_byte": "compression, CPU per byte",
    "host.decompress_byte": "decompression, CPU per byte",
    "host.flush_record": "flush, CPU per entry",
    "host.flush_byte": "flush, CPU per byte",
    "flush_bytes_per_s": "write rate of a flush",
    "compaction_write_bytes_per_s": "write rate of a compaction",
    "host.job_start": "start of a compaction",
    "host.unlink_byte": "deletion of a file, per byte",
    "host.file_overhead": "end of a compaction, per file",
    "host.write_op": "client, time of a write",
    "host.wal_op": "client, append to the WAL",
    "host.wal_byte": "client, bytes appended to the WAL",
    "host.memtable_depth": "client, larger memtables",
    "host.sleep_penalty": "client, delay after each sleep",
    "device.write_bandwidth": "device, writes",
    "device.slc_write_bandwidth": "device, writes into its SLC cache",
    "device.slc_cache": "device, room of its SLC cache",
    "device.slc_resume": "device, free share at which it is used again",
    "device.slc_fold_bandwidth": "device, copies out of its SLC cache",
    "device.slc_idle": "device, pause after which it copies its SLC cache",
    "device.fsync_latency": "device, small fsync",
    "device.wal_fsync_latency": "device, fsync of the WAL",
    "device.write_limit": "write limit of all jobs",
    "device.read_limit": "read limit of all jobs",
    "device.iops_limit": "limit of operations",
    "device.write_latency": "device, latency of a write",
    "device.read_latency": "device, latency of a read",
    "device.read_bandwidth": "device, reads",
}
"""Labels of the estimates in the terminal and on the page."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One inferred number."""

    name: str
    """Key of the configuration, such as host.compaction_record, or a name outside the configuration."""
    value: float
    standard_error: float | None
    unit: str
    kind: str
    """estimate; lower_bound (the machine reaches at least this value); or assumed (the LOG does not show it)."""
    basis: str
    """Source of the number, in words."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Numbers inferred from one LOG, and notes on missing ones."""

    estimates: tuple[Estimate, ...] = ()
    notes: tuple[str, ...] = ()
    alternative: tuple[Estimate, ...] = ()
    """Limits according to another hypothesis that the LOG does not exclude; empty if there is none."""

    def __add__(self, more: Estimates) -> Estimates:
        """Combine two sets of estimates."""
        return Estimates(
            self.estimates + more.estimates, self.notes + more.notes, self.alternative + more.alternative
        )

    def get(self, name: str) -> Estimate | None:
        """Return the estimate with this name; None if there is none."""
        return next((e for e in self.estimates if e.name == name), None)

    def without(self, prefix: str) -> Estimates:
        """Return all but the estimates whose name begins with `prefix`."""
        return replace(self, estimates=tuple(e for e in self.estimates if not e.name.startswith(prefix)))

    @property
    def write_limited(self) -> bool:
        """Whether flushes and compactions wrote at a limit."""
        return self.get("device.write_limit") is not None or self.get("device.iops_limit") is not None


Earlier = Mapping[str, Estimate | None]
"""Earlier estimates that an estimator needs, by name; None for an estimate that the LOG did not allow."""


def host_with(earlier: Earlier) -> Host:
    """Return the default host with the constants that were estimated earlier."""
    known = {name.removeprefix("host."): estimate.value for name, estimate in earlier.items() if estimate is not None}
    return replace(Host(), **{name: value for name, value in known.items() if hasattr(Host, name)})


def jackknife_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of an estimate from its values with one part of the data left out at a time. Shape (n,)."""
    n = len(values)
    return float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))

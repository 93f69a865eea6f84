"""Waits of a background job on the machine: what the job waited for, and for how long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class JobWaits:
    """Waits of one job that are over, in s; several subcompactions add up theirs."""

    slot_wait_s: float = 0.0
    """Time that the request waited in its queue before the job started."""
    device_s: float = 0.0
    """Time that the threads waited for reads and writes of data."""
    device_alone_s: float = 0.0
    """Time that the same reads and writes take on the idle device without caps."""
    core_wait_s: float = 0.0
    """Time in which the threads could compute but had no core, or shared one."""
    limiter_wait_s: float = 0.0
    """Time that the threads waited for the rate limiter."""
    sync_wait_s: float = 0.0
    """Time to finish and commit the files: fsyncs of file ends, directory and MANIFEST, and waits for the journal."""

"""Bottleneck: the resource that held up most of the stalled time."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import numpy as np
from lsmlab.sim.explain.stall_division import NUMBER, Held, Holder, Ints, Jobs, Work

SATURATED: Final = 0.8
"""Use from which a resource counts as saturated: jobs that read, compute and write in turn leave gaps that no job fills."""
LEAST_LOSS: Final = 0.01
"""Share of the operations asked for below which the stalls of a run have no bottleneck."""
_REQUESTS: Final = 0.5
"""Ratio of the used bandwidth to the busy time of a device below which it is short of requests, not of bandwidth."""


class Bottleneck(StrEnum):
    """Short resource of a run or a group of stalls."""

    NONE = "none"
    """Hardly any operations were lost to write stalls."""
    UNKNOWN = "unknown"
    """The work behind the stalls ran, and what it waited for is not recorded, as in a LOG."""
    DEVICE_BANDWIDTH = "device_bandwidth"
    DEVICE_REQUESTS = "device_requests"
    """The device was busy with small or scattered requests (IOPS, seeks), below its bandwidth."""
    WRITE_CAP = "write_cap"
    READ_CAP = "read_cap"
    IOPS_CAP = "iops_cap"
    LIMITER = "rate_limiter"
    CORES = "cores"
    SYNC = "fsync"
    SLOTS = "background_slots"
    LOCKED_FILES = "locked_files"
    """A thread was free, but another compaction had locked the files."""
    PAUSED = "paused"
    """The scheduler had paused the work."""
    L0_COMPACTION = "l0_compaction"
    """One thread compacts L0, and it has no other limit than its own speed."""
    COMPACTION_SPEED = "compaction_speed"
    """Compactions at their own speed behind a stall on pending bytes, while threads, device and cores were free."""
    MEMTABLES = "memtables"
    """Too few memtables: flushes had device, cores and slots."""
    ERROR = "background_error"
    """A job had failed, and the database accepted no write."""
    MANAGER = "write_buffer_manager"
    """The memtables of all databases took the whole buffer of their write buffer manager, which may stop writers."""
    THROTTLE = "throttle"
    """RocksDB slowed writers although resources were free."""


_OF: Final = {
    Holder.FLUSH_SLOTS: Bottleneck.SLOTS, Holder.COMPACTION_SLOTS: Bottleneck.SLOTS,
    Holder.LATE_START: Bottleneck.SLOTS,
    Holder.LOCKED_FILES: Bottleneck.LOCKED_FILES, Holder.WRITE_CAP: Bottleneck.WRITE_CAP,
    Holder.READ_CAP: Bottleneck.READ_CAP, Holder.IOPS_CAP: Bottleneck.IOPS_CAP, Holder.LIMITER: Bottleneck.LIMITER,
    Holder.CORES: Bottleneck.CORES, Holder.SYNC: Bottleneck.SYNC, Holder.PAUSED: Bottleneck.PAUSED,
    Holder.UNKNOWN: Bottleneck.UNKNOWN, Holder.THROTTLE: Bottleneck.THROTTLE, Holder.ERROR: Bottleneck.ERROR,
    Holder.MANAGER: Bottleneck.MANAGER,
}  # fmt: skip


DEVICES: Final = {"device": "bandwidth", "cold_device": "cold_bandwidth", "wal_device": "wal_bandwidth"}
"""Names of the uses of devices, and of those of their bandwidths."""


def busiest(uses: Mapping[str, float]) -> str:
    """Return the name of the device in fullest use; "device" for a store on one."""
    return max(DEVICES, key=lambda name: max(uses.get(name, 0.0), uses.get(DEVICES[name], 0.0)))


def short_of_requests(uses: Mapping[str, float]) -> bool:
    """Return whether the busiest device was busy with requests, while it moved less than half the bytes that it could."""
    name = busiest(uses)
    return uses.get(DEVICES[name], 1.0) < _REQUESTS * uses.get(name, 0.0)


def resource_seconds(held: Held, jobs: Jobs, work: Ints, uses: Mapping[str, float]) -> dict[Bottleneck, float]:
    """Return the stalled time in s by resource, the longest first.

    `work`: what each stall waits for; `uses`: mean use of each resource during the stalls.
    """
    total = np.bincount(held.holder, held.seconds, minlength=len(Holder))
    seconds = dict.fromkeys(Bottleneck, 0.0)
    for holder, resource in _OF.items():
        seconds[resource] += float(total[NUMBER[holder]])
    device = Bottleneck.DEVICE_REQUESTS if short_of_requests(uses) else Bottleneck.DEVICE_BANDWIDTH
    seconds[device] += float(total[NUMBER[Holder.DEVICE]])
    own = held.holder == NUMBER[Holder.OWN_SPEED]
    flush, pending = jobs.flush[held.job[own]], work[held.stall[own]] == Work.COMPACTION
    for resource, mine in (
        (Bottleneck.MEMTABLES, flush), (Bottleneck.COMPACTION_SPEED, pending), (Bottleneck.L0_COMPACTION, ~flush & ~pending)
    ):  # fmt: skip
        seconds[resource] += float(held.seconds[own][mine].sum())
    return {resource: s for resource, s in sorted(seconds.items(), key=lambda item: -item[1]) if s > 0.0}


def find_bottleneck(seconds: Mapping[Bottleneck, float], lost_share: float) -> Bottleneck:
    """Return the resource that held up most of the stalled time.

    `seconds`: stalled time by resource; `lost_share`: lost operations / (served + lost operations).
    """
    if lost_share < LEAST_LOSS:
        return Bottleneck.NONE
    return max(seconds, key=lambda resource: seconds[resource], default=Bottleneck.UNKNOWN)

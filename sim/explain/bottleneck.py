"""Bottleneck: the resource that was short while clients lost operations, from its use and from the waits of the jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SATURATED: Final = 0.8
"""Use from which a resource counts as saturated: jobs that read, compute and write in turn leave gaps that no job fills."""
LARGE_WAIT: Final = 1.0 / 3.0
"""Share of the time of the blamed jobs from which a wait counts as their main delay."""
LEAST_LOSS: Final = 0.01
"""Share of the operations asked for below which the stalls of a run have no bottleneck."""


class Bottleneck(StrEnum):
    """Short resource of a run or a group of stalls."""

    NONE = "none"
    """No operations were lost to write stalls."""
    UNKNOWN = "unknown"
    """The use of the resources is unknown, as for an imported LOG."""
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
    L0_COMPACTION = "l0_compaction"
    """One thread compacts L0, and it has no other limit than its own speed."""
    MEMTABLES = "memtables"
    """Too few memtables: flushes had device, cores and slots."""
    ERROR = "background_error"
    """A job had failed, and the database accepted no write."""
    THROTTLE = "throttle"
    """RocksDB slowed writers although resources were free."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Means over the stalls of a run or group of stalls, weighted by lost operations."""

    lost_share: float
    """Lost operations / (served + lost operations)."""
    lost_by_cause: Mapping[str, float]
    """Share of the lost operations by stall cause."""
    uses: Mapping[str, float]
    """Use of each resource (`of_run`), from 0 to 1; without those that the run does not have."""
    waits: Mapping[str, float]
    """Share of the time of the blamed jobs by wait (`DelayingJob.waits_s`); empty for a LOG."""


_HARDWARE: Final = {
    "limiter": Bottleneck.LIMITER,
    "write_cap": Bottleneck.WRITE_CAP,
    "read_cap": Bottleneck.READ_CAP,
    "iops_cap": Bottleneck.IOPS_CAP,
    "device": Bottleneck.DEVICE_BANDWIDTH,
    "cores": Bottleneck.CORES,
}
_CAPS: Final = ("write_cap", "read_cap", "iops_cap")
_WAITS: Final = {"limiter": ("limiter",), "device": (*_CAPS, "device"), "core": ("cores",)}
"""Resources that a wait may be for."""


def find_bottleneck(evidence: Evidence) -> Bottleneck:
    """Return the short resource: a saturated one, else the one that the blamed jobs waited for, else a limit of RocksDB."""
    if evidence.lost_share < LEAST_LOSS:
        return Bottleneck.NONE
    if not evidence.uses:
        return Bottleneck.UNKNOWN
    if evidence.lost_by_cause.get(Bottleneck.ERROR, 0.0) > 0.5:
        return Bottleneck.ERROR
    resource = _saturated(evidence) or _waited_for(evidence)
    if resource == "device" and evidence.uses.get("bandwidth", 1.0) < 0.5 * evidence.uses["device"]:
        return Bottleneck.DEVICE_REQUESTS
    if resource:
        return _HARDWARE[resource]
    if evidence.waits.get("sync", 0.0) >= LARGE_WAIT:
        return Bottleneck.SYNC
    return _limit_of_rocksdb(evidence)


def _saturated(evidence: Evidence) -> str | None:
    hardware = {name: evidence.uses.get(name, 0.0) for name in _HARDWARE}
    hardware["device"] = max(hardware["device"], evidence.uses.get("bandwidth", 0.0))
    most = max(hardware, key=lambda name: hardware[name])
    return most if hardware[most] >= SATURATED else None


def _waited_for(evidence: Evidence) -> str | None:
    waits = {name: evidence.waits.get(name, 0.0) for name in _WAITS}
    if max(evidence.uses.get(cap, 0.0) for cap in _CAPS) > evidence.uses.get("device", 0.0):
        waits["device"] += evidence.waits.get("sync", 0.0)  # the requests of an fsync wait in line for the cap
    longest = max(waits, key=lambda name: waits[name])
    if waits[longest] < LARGE_WAIT:
        return None
    return max(_WAITS[longest], key=lambda name: evidence.uses.get(name, 0.0))


def _limit_of_rocksdb(evidence: Evidence) -> Bottleneck:
    """Return the limit of RocksDB behind the costliest kind of stall, with resources to spare."""
    kinds: dict[str, float] = {}
    for cause, share in evidence.lost_by_cause.items():
        kind = cause.partition("_")[0]
        kinds[kind] = kinds.get(kind, 0.0) + share
    costliest = max(kinds, key=lambda kind: kinds[kind])
    no_slot = evidence.waits.get("slot", 0.0) >= LARGE_WAIT
    if costliest == "memtable":
        return Bottleneck.SLOTS if no_slot else Bottleneck.MEMTABLES
    slots = "other_compaction_slots" if costliest == "l0" else "compaction_slots"
    if no_slot or evidence.uses.get(slots, 0.0) >= SATURATED:
        return Bottleneck.SLOTS
    one_thread = costliest == "l0" and evidence.uses.get("l0_compaction", 0.0) >= SATURATED
    return Bottleneck.L0_COMPACTION if one_thread else Bottleneck.THROTTLE

"""Flash drives: garbage collection, SLC cache, TRIM and wear, common to NVMe and SATA.

Sources: garbage collection after Xiang and Kurkoski, "An Improved Analytical Expression for Write Amplification in NAND
Flash", ICNC 2012 (arXiv:1110.4245); the figures of the drives are in docs/reference/devices.md.
"""


from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from lsmlab.models.devices.base import DeviceFacts, DeviceLoad, Flow, Grant, Peaks
from lsmlab.models.devices.sharing import ServedDevice, Service, share
from lsmlab.models.errors import InputError
from lsmlab.models.units import of_submodel, quantity

SMALL_REQUEST_BYTES: Final = 4096.0
"""Request size of all IOPS ratings (4 KB or 4 KiB random; data sheets do not distinguish them)."""
_UTILISATION_STEPS: Final = 500
"""Steps of the utilisation, 0.2 % each, for write amplification: rates stay constant between steps."""
_EMPTY_S: Final = 1e-6
"""Minimum time to the next change of state: below the latency of any request."""
_SLC_RESUME: Final = 0.5
"""Share of a full SLC cache that must be free before it accepts writes again. An assumption for all drives."""


@lru_cache(maxsize=4096)
def greedy_write_amplification(utilisation: float) -> float:
    """Compute bytes programmed per byte written, for uniformly random page writes and greedy garbage collection.

    `utilisation` is valid bytes / physical bytes u, in [0, 1). With a = 1/u the share of valid pages in the collected
    block is v = -W(-a e^-a) / a (principal branch of Lambert's W) and the amplification 1 / (1 - v), for blocks of many
    pages (Xiang and Kurkoski 2012, equation for the improved expression). Raises InputError outside the range.
    """
    if not 0.0 <= utilisation < 1.0:
        raise InputError(f"flash utilisation {utilisation:g} must be in [0, 1); give the drive some over-provisioning")
    if utilisation < 0.01:  # the valid share is below e^-100
        return 1.0
    a = 1.0 / utilisation
    valid = 0.0
    while True:  # solves v = e^(a (v - 1)) by Newton's method from below; the difference is concave: no step passes the root
        kept = math.exp(a * (valid - 1.0))
        step = (kept - valid) / (1.0 - a * kept)
        valid += step
        if step <= _SMALLEST_STEP:
            return 1.0 / (1.0 - valid)


_SMALLEST_STEP: Final = 1e-13
"""Step of the valid share at which Newton's method ends."""


class FlashState(NamedTuple):
    """State of a flash drive."""

    live_bytes: float = 0.0
    """Bytes of the host on the drive (written and not trimmed)."""
    host_bytes: float = 0.0
    """Bytes that the host has written since time 0."""
    flash_bytes: float = 0.0
    """Bytes programmed since time 0, garbage collection and the SLC cache's copies included."""
    slc_used_bytes: float = 0.0
    slc_full: bool = False
    """Whether writes bypass the cache, because it was full and has not drained to half since."""
    amplification: float = 1.0
    """Bytes programmed per byte written, garbage collection included."""
    idle_s: float = 0.0
    """Time since the last read or write."""


@dataclass(frozen=True, kw_only=True)
class FlashDrive(ServedDevice):
    """Flash drive: bandwidth, IOPS and latency, SLC cache, garbage collection, wear. Base of Nvme and SataSsd."""

    name: str
    read_bandwidth: float = quantity("bytes_per_s", low=1.0)
    write_bandwidth: float = quantity("bytes_per_s", low=1.0)
    """Sustained rate, with a full cache and without garbage collection."""
    read_iops: float | None = quantity("per_s", None, low=1.0)
    """Small random reads per second at a deep queue; None: unknown, so only the bandwidth limits reads."""
    write_iops: float | None = quantity("per_s", None, low=1.0)
    """Small random writes per second at a deep queue, without garbage collection; None: unknown."""
    read_latency: float = quantity("seconds")
    """Time of one small random read on the idle drive."""
    stream_read_latency: float | None = quantity("seconds", None)
    """Time of one request of a sequential reader, without its transfer; None: `read_latency`."""
    write_latency: float = quantity("seconds")
    """Time of one write on the idle drive, without its transfer."""
    stream_read_bandwidth: float | None = quantity("bytes_per_s", None, low=1.0)
    """Transfer rate of a single request; None: the drive's rate (a request is striped over all channels)."""
    stream_write_bandwidth: float | None = quantity("bytes_per_s", None, low=1.0)
    fsync_latency: float = quantity("seconds")
    """Time of one cache flush: close to 0 with power-loss protection."""
    capacity: float = quantity("bytes", low=1.0)
    over_provisioning: float = quantity("ratio", low=0.01)
    """Physical bytes / capacity - 1."""
    filled: float = quantity("bytes", 0.0)
    """Other data on the drive, which does not change."""
    trim: bool = True
    """Whether deleted files are trimmed at once (mount option discard); if not, their pages stay valid until
    overwritten."""
    steady_state: bool = of_submodel("garbage_collection", True)
    """Whether garbage collection runs from the start, or only once the physical capacity has been written."""
    slc_cache: float = quantity("bytes", 0.0, submodel="slc")
    slc_write_bandwidth: float | None = quantity("bytes_per_s", None, low=1.0, submodel="slc")
    """Write rate while the cache has room; required with `slc_cache`."""
    slc_idle: float = quantity("seconds", 0.0, submodel="slc")
    """Time without reads and writes after which the drive copies its cache; 0: it copies in all its idle time."""
    endurance: float | None = quantity("bytes", None)
    """Rated host bytes written (TBW); None: unknown."""

    def __post_init__(self) -> None:
        if self.slc_cache > 0 and self.slc_write_bandwidth is None:
            raise InputError("slc_write_bandwidth: a value is required with slc_cache")
        if self.filled > self.capacity:
            raise InputError(f"filled: must not exceed capacity, {self.capacity:g} B, but is {self.filled:g} B")

    @cached_property
    def physical_bytes(self) -> float:
        """Bytes of flash of the drive, spare blocks included."""
        return self.capacity * (1.0 + self.over_provisioning)

    @cached_property
    def _room_bytes(self) -> float:
        """Bytes that the host can store on the drive."""
        return self.capacity - self.filled

    def peaks(self) -> Peaks:
        """Bandwidths of the drive; writes are fastest into the SLC cache, if there is one."""
        return Peaks(self.read_bandwidth, max(self.write_bandwidth, self.slc_write_bandwidth or 0.0))

    def initial(self) -> FlashState:
        """State with an empty cache and no data except `filled`."""
        return FlashState(amplification=self._amplification(0.0, 0.0))

    def allocate(self, state: FlashState, load: DeviceLoad) -> Grant:
        """Compute the rates under `load`, valid until the SLC cache changes its mode."""
        service = self._service(state.amplification, state.slc_full)
        grant = share(service, load)
        if not self.slc_cache:
            return grant
        read_rate = load.readers * grant.read_bytes_per_s
        read_rate += load.client_read_iops * grant.client_read_share * load.client_read_bytes
        write_rate = load.writers * grant.write_bytes_per_s + load.client_write_bytes_per_s * grant.client_write_share
        valid_s = self._cache_change_s(state, service, read_rate, write_rate)
        return grant.until(max(valid_s, _EMPTY_S))

    def advance(self, state: FlashState, elapsed_s: float, flow: Flow) -> FlashState:
        """Compute the state after writes, trims and the drain of the cache in `elapsed_s`."""
        amplification = state.amplification
        removed = flow.trimmed_bytes if self.trim else 0.0
        live = state.live_bytes + flow.write_bytes - removed
        if live > self._room_bytes:
            live = self._room_bytes
        elif live < 0.0:
            live = 0.0
        programmed = flow.write_bytes * amplification
        idle_s = state.idle_s + elapsed_s if flow.read_bytes == flow.write_bytes == 0.0 else 0.0
        used, full = state.slc_used_bytes, state.slc_full
        if self.slc_cache and elapsed_s > 0:
            service = self._service(amplification, full)
            if not full:
                used += flow.write_bytes
                programmed += flow.write_bytes  # programmed once in the cache and once in the final cells
            drain = self._drain(service, flow.read_bytes / elapsed_s, flow.write_bytes / elapsed_s, amplification)
            used -= elapsed_s * drain + self._pause_drain_bytes(state.idle_s, idle_s, amplification)
            used = min(max(0.0, used), self.slc_cache)
            full = self._cache_full(used, full)
        host = state.host_bytes + flow.write_bytes
        flash = state.flash_bytes + programmed
        return FlashState(live, host, flash, used, full, self._amplification(live, host), idle_s)

    def facts(self, state: FlashState, live_bytes: float) -> DeviceFacts:
        """Return the amplification so far (without writes, that of `live_bytes`) and the rated endurance."""
        if state.host_bytes > 0:
            amplification = state.flash_bytes / state.host_bytes
        else:
            amplification = self._amplification(live_bytes, state.host_bytes)
        return DeviceFacts(flash_write_amplification=amplification, endurance_bytes=self.endurance)

    def _amplification(self, live_bytes: float, host_bytes: float) -> float:
        """Return the bytes programmed per byte written, with `live_bytes` on the drive after `host_bytes` written."""
        physical = self.physical_bytes
        if not self.steady_state and self.filled + host_bytes < physical:
            return 1.0
        live = self.filled + live_bytes
        if live > self.capacity:
            live = self.capacity
        step = round(live / physical * _UTILISATION_STEPS)
        amplification = self._amplifications.get(step)
        if amplification is None:
            amplification = greedy_write_amplification(min(step / _UTILISATION_STEPS, 0.998))
            self._amplifications[step] = amplification
        return amplification

    @cached_property
    def _amplifications(self) -> dict[int, float]:
        """Write amplification by step of the utilisation."""
        return {}

    def _cache_full(self, used: float, full: bool) -> bool:
        """Return the mode of the cache: full at 100 %, in use again once `_SLC_RESUME` of it is free."""
        if full:
            return used > self.slc_cache * (1.0 - _SLC_RESUME) * (1 + 1e-12)
        return used >= self.slc_cache * (1 - 1e-12)

    def _cache_change_s(self, state: FlashState, service: Service, read_rate: float, write_rate: float) -> float:
        """Time in s until the cache is full, or in use again, at these rates."""
        drain = self._drain(service, read_rate, write_rate, state.amplification)
        if state.slc_full:
            excess = state.slc_used_bytes - self.slc_cache * (1.0 - _SLC_RESUME)
            return excess / drain if drain > 0 and write_rate > 0 else math.inf
        growth = write_rate - drain
        return (self.slc_cache - state.slc_used_bytes) / growth if growth > 0 else math.inf

    def _drain(self, service: Service, read_rate: float, write_rate: float, amplification: float) -> float:
        """Rate in bytes per second at which the cache is copied to its final cells, apart from that of pauses (`slc_idle`)."""
        if self.slc_idle > 0.0:
            return 0.0
        return _idle(service, read_rate, write_rate) * self.write_bandwidth / amplification

    def _pause_drain_bytes(self, before_s: float, idle_s: float, amplification: float) -> float:
        """Return the bytes copied while a pause grew from `before_s` to `idle_s`, beyond `slc_idle`."""
        if self.slc_idle == 0.0:
            return 0.0
        return (max(idle_s, self.slc_idle) - max(before_s, self.slc_idle)) * self.write_bandwidth / amplification

    def _make_service(self, amplification: float, slc_full: bool) -> Service:
        """Describe the drive at this write amplification, with or without room in its cache."""
        write_bandwidth = self.write_bandwidth / amplification
        if self.slc_cache and not slc_full and self.slc_write_bandwidth is not None:
            write_bandwidth = self.slc_write_bandwidth  # no garbage collection in the cache, only when it drains
        stream = self.stream_read_latency
        return Service(
            read_bandwidth=self.read_bandwidth,
            write_bandwidth=write_bandwidth,
            read_request_s=request_s(self.read_iops, self.read_bandwidth),
            write_request_s=request_s(self.write_iops, self.write_bandwidth) * amplification,
            wal_request_s=request_s(self.write_iops, self.write_bandwidth) * amplification,
            client_read_request_s=request_s(self.read_iops, self.read_bandwidth),
            read_latency_s=self.read_latency if stream is None else stream,
            write_latency_s=self.write_latency,
            client_read_latency_s=self.read_latency,
            stream_read_bandwidth=min(self.stream_read_bandwidth or math.inf, self.read_bandwidth),
            stream_write_bandwidth=min(self.stream_write_bandwidth or math.inf, write_bandwidth),
            unit_bytes=SMALL_REQUEST_BYTES,  # the mapping unit of common drives: smaller reads take the same time
        )


def request_s(iops: float | None, bandwidth: float) -> float:
    """Device time of a request in addition to its transfer, so that small requests reach `iops` (0 if unknown)."""
    return max(0.0, 1.0 / iops - SMALL_REQUEST_BYTES / bandwidth) if iops is not None else 0.0


def _idle(service: Service, read_rate: float, write_rate: float) -> float:
    """Idle share of the drive's time, in which it can drain its cache."""
    return max(0.0, 1.0 - read_rate / service.read_bandwidth - write_rate / service.write_bandwidth)

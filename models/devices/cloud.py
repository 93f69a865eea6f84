"""Cloud volumes: limits set by a provider, in bytes and in operations per second, with or without burst credit."""


from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from lsmlab.models.devices.base import DeviceClass, DeviceLoad, Flow, Grant, Peaks
from lsmlab.models.devices.sharing import ServedDevice, Service, share
from lsmlab.models.errors import InputError
from lsmlab.models.units import quantity

_EMPTY_S: Final = 1e-3
"""Minimum credit to spend, as the time to earn it: one timer tick (HZ = 1000) of the throttle."""


class CloudState(NamedTuple):
    """Remaining credit in operations and bytes."""

    ios: float
    bytes: float


@dataclass(frozen=True, kw_only=True)
class Cloud(ServedDevice):
    """Network volume or local disk of a provider, described by its limits.

    A request takes max(operations / IOPS limit, bytes / bandwidth limit) of the volume's time. Reads and writes share
    this time, because a network volume has one budget for both. With burst credit the limits apply only while credit
    lasts, and then the baseline. One operation transfers at most `io_size`.
    """

    device_class: ClassVar[DeviceClass] = "cloud"
    name: str = "cloud"
    read_bandwidth: float = quantity("bytes_per_s", low=1.0)
    write_bandwidth: float = quantity("bytes_per_s", low=1.0)
    read_iops: float = quantity("per_s", low=1.0)
    write_iops: float = quantity("per_s", low=1.0)
    io_size: float = quantity("bytes", 256.0 * 2**10, low=512)
    """Maximum of bytes that count as one operation."""
    read_latency: float = quantity("seconds")
    write_latency: float = quantity("seconds")
    fsync_latency: float = quantity("seconds")
    """Time of one synchronous write of metadata."""
    baseline_iops: float | None = quantity("per_s", None, low=1.0)
    """Operations per second that earn credit; None: no burst credit for operations."""
    burst_ios: float = quantity("count", 0.0)
    """Maximum credit in operations, and the credit at the start."""
    baseline_bandwidth: float | None = quantity("bytes_per_s", None, low=1.0)
    """Bytes per second that earn credit; None: no burst credit for bytes."""
    burst_bytes: float = quantity("bytes", 0.0)
    capacity: float | None = quantity("bytes", None)

    def __post_init__(self) -> None:
        if self.baseline_iops is not None and self.baseline_iops > min(self.read_iops, self.write_iops):
            raise InputError("baseline_iops: must not exceed the burst limits read_iops and write_iops")
        if self.baseline_bandwidth is not None and self.baseline_bandwidth > min(
            self.read_bandwidth, self.write_bandwidth
        ):
            raise InputError("baseline_bandwidth: must not exceed the burst limits read_bandwidth and write_bandwidth")

    def peaks(self) -> Peaks:
        """Limits of the volume while it has credit."""
        return Peaks(self.read_bandwidth, self.write_bandwidth)

    def initial(self) -> CloudState:
        """State with full credit."""
        return CloudState(self.burst_ios, self.burst_bytes)

    def allocate(self, state: CloudState, load: DeviceLoad) -> Grant:
        """Compute the rates under `load`, valid until the credit is used up."""
        no_ios = self.baseline_iops is not None and state.ios <= self.baseline_iops * _EMPTY_S
        no_bytes = self.baseline_bandwidth is not None and state.bytes <= self.baseline_bandwidth * _EMPTY_S
        sizes = load.read_request_bytes, load.write_request_bytes, load.client_read_bytes
        grant = share(self._service(no_ios, no_bytes, *sizes), load)
        if self.baseline_iops is None and self.baseline_bandwidth is None:
            return grant
        return grant.until(self._credit_s(state, grant, load, no_ios, no_bytes))

    def advance(self, state: CloudState, elapsed_s: float, flow: Flow) -> CloudState:
        """Compute the state after the credit earned and spent in `elapsed_s`."""
        ios, left = state
        if self.baseline_iops is not None:
            spent = max(flow.reads, flow.read_bytes / self.io_size) + max(flow.writes, flow.write_bytes / self.io_size)
            ios = min(self.burst_ios, max(0.0, ios + self.baseline_iops * elapsed_s - spent))
        if self.baseline_bandwidth is not None:
            gained = self.baseline_bandwidth * elapsed_s - flow.read_bytes - flow.write_bytes
            left = min(self.burst_bytes, max(0.0, left + gained))
        return CloudState(ios, left)

    def _credit_s(self, state: CloudState, grant: Grant, load: DeviceLoad, no_ios: bool, no_bytes: bool) -> float:
        """Time in s until one of the credits is used up."""
        read = load.readers * grant.read_bytes_per_s
        write = load.writers * grant.write_bytes_per_s + load.client_write_bytes_per_s * grant.client_write_share
        point_reads = load.client_read_iops * grant.client_read_share
        valid_s = math.inf
        if self.baseline_iops is not None and not no_ios:
            ios = read / min(self.io_size, load.read_request_bytes) + write / min(
                self.io_size, load.write_request_bytes
            )
            ios += point_reads * max(1.0, load.client_read_bytes / self.io_size)
            if ios > self.baseline_iops:
                valid_s = state.ios / (ios - self.baseline_iops)
        if self.baseline_bandwidth is not None and not no_bytes:
            moved = read + write + point_reads * load.client_read_bytes
            if moved > self.baseline_bandwidth:
                valid_s = min(valid_s, state.bytes / (moved - self.baseline_bandwidth))
        return valid_s

    def _make_service(
        self, no_ios: bool, no_bytes: bool, read_bytes: float, write_bytes: float, client_bytes: float
    ) -> Service:
        iops = self.baseline_iops if no_ios and self.baseline_iops else math.inf
        bandwidth = self.baseline_bandwidth if no_bytes and self.baseline_bandwidth else math.inf
        read_iops, write_iops = min(iops, self.read_iops), min(iops, self.write_iops)
        read, write = min(bandwidth, self.read_bandwidth), min(bandwidth, self.write_bandwidth)
        write_request_s = self._operations_s(write_bytes, write_iops, write)
        return Service(
            read_bandwidth=read,
            write_bandwidth=write,
            read_request_s=self._operations_s(read_bytes, read_iops, read),
            write_request_s=write_request_s,
            wal_request_s=write_request_s,
            client_read_request_s=self._operations_s(client_bytes, read_iops, read),
            read_latency_s=self.read_latency,
            write_latency_s=self.write_latency,
            client_read_latency_s=self.read_latency,
            stream_read_bandwidth=read,
            stream_write_bandwidth=write,
        )

    def _operations_s(self, size_bytes: float, iops: float, bandwidth: float) -> float:
        """Time of a request in addition to its transfer in s, if its operations take longer than the transfer."""
        return max(0.0, max(1.0, size_bytes / self.io_size) / iops - size_bytes / bandwidth)

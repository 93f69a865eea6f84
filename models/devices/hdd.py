"""Hard disks: with one arm, every change of stream costs a seek and half a revolution."""

# ruff: noqa: ARG002 -- the Device protocol fixes the arguments
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lsmlab.models.devices.base import DeviceClass, DeviceLoad, Grant, Peaks
from lsmlab.models.devices.sharing import ServedDevice, Service, share
from lsmlab.models.units import quantity


@dataclass(frozen=True, kw_only=True)
class Hdd(ServedDevice):
    """Hard disk with conventional recording.

    A single stream is sequential. With two or more, each turn of a stream (its outstanding requests, one after the
    other) begins with a seek. A client read or WAL write always seeks, and beside a single stream it also counts the seek
    back. The model assumes no gain from reordering of queued reads.
    """

    device_class: ClassVar[DeviceClass] = "hdd"
    name: str = "hdd"
    read_bandwidth: float = quantity("bytes_per_s", low=1.0)
    write_bandwidth: float = quantity("bytes_per_s", low=1.0)
    rpm: float = quantity("count", low=1.0)
    """Revolutions per minute."""
    seek: float = quantity("seconds")
    """Mean seek between two files."""
    fsync_latency: float = quantity("seconds")
    """Time of one journal commit."""
    capacity: float | None = quantity("bytes", None)

    @property
    def switch_s(self) -> float:
        """Time of a seek plus half a revolution in s."""
        return self.seek + 30.0 / self.rpm

    def peaks(self) -> Peaks:
        """Bandwidths of one sequential stream."""
        return Peaks(self.read_bandwidth, self.write_bandwidth)

    def allocate(self, state: None, load: DeviceLoad) -> Grant:
        """Compute the rates under `load`."""
        depth = load.queue_depth if load.queue_depth > 1.0 else 1.0
        return share(self._service(min(load.readers + load.writers, 2), depth), load)

    def _make_service(self, streams: int, depth: float) -> Service:
        """Return the performance with this number of streams (2: two or more) of `depth` requests per turn."""
        switch_s = self.switch_s if streams > 1 else 0.0
        visit_s = self.switch_s * (2.0 if streams == 1 else 1.0)
        return Service(
            read_bandwidth=self.read_bandwidth,
            write_bandwidth=self.write_bandwidth,
            read_request_s=switch_s / depth,
            write_request_s=switch_s / depth,
            wal_request_s=visit_s if streams else 0.0,
            client_read_request_s=visit_s,
            read_latency_s=0.0,  # the time of the arm is the whole latency
            write_latency_s=0.0,
            client_read_latency_s=self.switch_s,
            stream_read_bandwidth=self.read_bandwidth,
            stream_write_bandwidth=self.write_bandwidth,
            interleave_bytes=float("inf"),  # the disk does not interrupt a request
        )

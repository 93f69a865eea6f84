"""Contract of a device: the load on it, and the rates that it grants.

A device is a pure function of the load and of a small state of its own (burst credit, SLC cache, wear). The simulation
calls `allocate` whenever the load changes and when `Grant.valid_for_s` has passed, and moves time with `advance`. All
rates are constant between two calls of `allocate`.

All figures are SI: bytes, seconds, bytes per second, operations per second. Objects created at every change of the load
are NamedTuples, whose creation takes a third of the time of a frozen dataclass.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal, NamedTuple


class DeviceLoad(NamedTuple):
    """Load on the device at one instant.

    Background streams (flushes, compactions) use any rate that they are granted. Clients (WAL writes, point reads) have a
    definite demand and get at most that.
    """

    readers: int = 0
    """Number of background streams that read sequentially."""
    writers: int = 0
    """Number of background streams that write sequentially."""
    read_request_bytes: float = 2 * 2**20
    """Bytes per request of a background reader."""
    write_request_bytes: float = 2**20
    """Bytes per request of a background writer."""
    queue_depth: float = 1.0
    """Outstanding requests of one background stream: 1 for direct I/O, more with kernel readahead or writeback."""
    client_read_iops: float = 0.0
    """Demand of clients in point reads per second."""
    client_read_bytes: float = 4096.0
    """Bytes per client read."""
    client_read_depth: float = 1.0
    """Maximum of outstanding client reads (client threads)."""
    client_write_bytes_per_s: float = 0.0
    """Demand of clients in WAL bytes per second."""
    read_limit_bytes_per_s: float = math.inf
    """Upper limit of one background reader, set by a throttle above the device."""
    write_limit_bytes_per_s: float = math.inf
    """Upper limit of one background writer, set by a throttle above the device."""


class Grant(NamedTuple):
    """Rates of streams and clients until the load changes or `valid_for_s` has passed."""

    read_bytes_per_s: float
    """Rate of each background reader."""
    write_bytes_per_s: float
    """Rate of each background writer."""
    client_read_share: float = 1.0
    """Fraction of the clients' demand of reads that the device serves, in [0, 1]."""
    client_read_latency_s: float = 0.0
    """Mean time of one client read under this load, queueing in the device included."""
    client_write_share: float = 1.0
    """Fraction of the clients' demand of WAL bytes that the device writes, in [0, 1]."""
    utilisation: float = 0.0
    """Busy share of the device's time, in [0, 1]."""
    queued_s: float = 0.0
    """Mean wait of one small request behind those of streams and clients; part of `client_read_latency_s`."""
    valid_for_s: float = math.inf
    """Time until the device's state changes the rates (credit used up, SLC cache full) at this load. Must be the last
    field."""

    def until(self, valid_for_s: float) -> Grant:
        """Return the same grant with another validity in s."""
        return Grant(*self[:-1], valid_for_s)


class Flow(NamedTuple):
    """Transfers of the device in an interval of constant rates."""

    read_bytes: float = 0.0
    write_bytes: float = 0.0
    reads: float = 0.0
    """Read requests."""
    writes: float = 0.0
    """Write requests."""
    trimmed_bytes: float = 0.0
    """Bytes of deleted files."""
    small_writes: float = 0.0
    """Further write requests of negligible size: metadata that fsyncs write."""
    small_reads: float = 0.0
    """Further read requests of negligible size: footer and index of a file at its open."""


class Peaks(NamedTuple):
    """Upper bounds of the total rates that a device grants under any load, in bytes per second."""

    read_bytes_per_s: float = math.inf
    write_bytes_per_s: float = math.inf


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Facts about a device at the end of a run; None if not applicable or unknown."""

    flash_write_amplification: float | None = None
    """Bytes programmed to flash per byte written by the host."""
    endurance_bytes: float | None = None
    """Rated total bytes written (TBW)."""


DeviceClass = Literal["nvme", "sata", "hdd", "pmem", "cloud", "other"]
"""Classes of devices."""

STATE_STEP_S: Final = 1.0
"""Simulated seconds between two updates of the state of most devices."""


class Device(ABC):
    """Storage device. Subclasses are frozen dataclasses of physical parameters, one class per file.

    Abstract methods and attributes without a value have no default; all others have that of a device without the property.
    """

    device_class: ClassVar[DeviceClass] = "other"
    name: str
    """Name of the device in results."""
    capacity: float | None = None
    """Bytes that the device holds; None: unknown or unlimited."""
    copies_in_caller: ClassVar[bool] = False
    """Whether a writing thread copies the bytes itself and keeps its core."""
    state_step_s: ClassVar[float] = STATE_STEP_S
    """Simulated seconds between two calls of `advance` at rates whose validity has no end."""
    bursty: ClassVar[bool] = False
    """Whether the bandwidth depends on the bytes of the last moments: a cap with its allowance."""
    file_discards: float = 0.0
    """Discards per deleted file that count as writes."""

    @abstractmethod
    def initial(self) -> Any:
        """State at time 0 (an immutable value; None for a device without state)."""

    @abstractmethod
    def allocate(self, state: Any, load: DeviceLoad) -> Grant:
        """Compute the rates under `load`."""

    @abstractmethod
    def fsync_s(self, state: Any) -> float:
        """Time of one fsync of metadata (manifest, directory) in s, without the transfer of data."""

    def advance(self, state: Any, elapsed_s: float, flow: Flow) -> Any:  # noqa: ARG002
        """Compute the state after `elapsed_s` seconds with the transfers `flow`. Default: the same state."""
        return state

    def facts(self, state: Any, live_bytes: float) -> DeviceFacts:  # noqa: ARG002
        """Return wear and write amplification inside the device, for `live_bytes` of data on it. Default: none."""
        return DeviceFacts()

    def peaks(self) -> Peaks:
        """Return upper bounds of the rates; a cap above them costs no simulation time. Default: infinity."""
        return Peaks()

    @property
    def uncapped(self) -> Device:
        """Return the device without caps on bytes and operations. Default: itself."""
        return self

    @property
    def counts_operations(self) -> bool:
        """Return whether the rates depend on the number of operations, however small. Default: they do not."""
        return False

    def page_passes(self, state: Any, ahead_bytes: float, *, write: bool) -> bool:  # noqa: ARG002
        """Return whether a small request behind `ahead_bytes` need not wait for a cap. Default: it need not."""
        return True

    def worker_share(self, write_alone_s: float) -> float:  # noqa: ARG002
        """Return the share of the time in which a kernel thread copies the writes that a cap has let pass. Default: 0.

        `write_alone_s`: seconds per byte that one thread needs without a cap.
        """
        return 0.0


def _of_device_below(name: str) -> Any:
    """Return a property with the value that the device below a layer has."""
    return property(attrgetter(f"device.{name}"))


@dataclass(frozen=True)
class Layer(Device):
    """Rules over a device: a limit of its user or its provider. All that a subclass does not change is of the device below."""

    device: Device

    device_class = _of_device_below("device_class")
    name = _of_device_below("name")
    capacity = _of_device_below("capacity")
    copies_in_caller = _of_device_below("copies_in_caller")

    def initial(self) -> Any:
        """State of the device below."""
        return self.device.initial()

    def advance(self, state: Any, elapsed_s: float, flow: Flow) -> Any:
        """Advance the state of the device below."""
        return self.device.advance(state, elapsed_s, flow)

    def fsync_s(self, state: Any) -> float:
        """Time of an fsync of the device below."""
        return self.device.fsync_s(state)

    def facts(self, state: Any, live_bytes: float) -> DeviceFacts:
        """Return the facts of the device below."""
        return self.device.facts(state, live_bytes)

    def peaks(self) -> Peaks:
        """Upper bounds of the rates of the device below."""
        return self.device.peaks()

"""What a device is to the simulation: who asks for what, and how much each one gets.

A device is a pure function of the load and of a small state of its own (burst credit, SLC cache, wear). The simulation
asks `allocate` whenever the load changes, moves time with `advance`, and asks again when `Grant.valid_for_s` has
passed. Between two questions every rate is constant: that is all the simulation needs to know about storage.

All figures are SI: bytes, seconds, bytes per second, operations per second. What is made anew at every change of the load
is a NamedTuple, which costs a third of a frozen dataclass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


class Load(NamedTuple):
    """What asks of the device at this instant.

    Background streams (flushes, compactions) are greedy: each takes whatever rate it is given. Clients (log writes,
    point reads) ask for a definite rate and get at most that.
    """

    readers: int = 0
    """Background streams that read sequentially now."""
    writers: int = 0
    """Background streams that write sequentially now."""
    read_request_bytes: float = 2 * 2**20
    """Bytes per request of a background reader."""
    write_request_bytes: float = 2**20
    """Bytes per request of a background writer."""
    queue_depth: float = 1.0
    """Requests that one background stream keeps outstanding: 1 for direct I/O, more with kernel readahead/writeback."""
    client_read_iops: float = 0.0
    """Point reads that clients want per second."""
    client_read_bytes: float = 4096.0
    """Bytes per client read."""
    client_read_depth: float = 1.0
    """Client reads that may be outstanding at once (client threads)."""
    client_write_bytes_per_s: float = 0.0
    """Log bytes that clients want to write per second."""
    read_limit_bytes_per_s: float = math.inf
    """Most that one background reader may take: set by a throttle above the device."""
    write_limit_bytes_per_s: float = math.inf
    """Most that one background writer may take."""


class Grant(NamedTuple):
    """What each of the askers gets until the load changes or `valid_for_s` has passed."""

    read_bytes_per_s: float
    """To each background reader."""
    write_bytes_per_s: float
    """To each background writer."""
    client_read_share: float = 1.0
    """Fraction of the wanted client reads that the device can serve, in [0, 1]."""
    client_read_latency_s: float = 0.0
    """Mean service time of one client read under this load, waiting in the device included."""
    client_write_share: float = 1.0
    """Fraction of the wanted log bytes that the device can take, in [0, 1]."""
    utilisation: float = 0.0
    """Share of the device's time in use, in [0, 1]."""
    valid_for_s: float = math.inf
    """Time until the device's own state changes the answer (credit used up, SLC cache full) at this load. Last of the fields."""

    def until(self, valid_for_s: float) -> Grant:
        """The same grant for so long."""
        return Grant(*self[:-1], valid_for_s)


class Flow(NamedTuple):
    """What went through the device in a stretch of constant rates."""

    read_bytes: float = 0.0
    write_bytes: float = 0.0
    reads: float = 0.0
    """Read requests."""
    writes: float = 0.0
    """Write requests."""
    trimmed_bytes: float = 0.0
    """Bytes of deleted files."""
    small_writes: float = 0.0
    """Write requests besides, which have no bytes to speak of: what fsyncs write themselves."""
    small_reads: float = 0.0
    """Read requests of the same kind: a file's footer and index when it is opened."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What a device can say about itself at the end of a run; None where it does not apply or is unknown."""

    flash_write_amplification: float | None = None
    """Bytes programmed to flash per byte written by the host."""
    endurance_bytes: float | None = None
    """Rated total bytes written (TBW)."""


class Device(Protocol):
    """A storage device. Implementations are frozen dataclasses of physical parameters, one class per file."""

    @property
    def name(self) -> str:
        """What results call the device."""

    def initial(self) -> Any:
        """State at time 0 (an immutable value; None for a device without memory)."""

    def allocate(self, state: Any, load: Load) -> Grant:
        """How much each asker gets under `load`."""

    def advance(self, state: Any, elapsed_s: float, flow: Flow) -> Any:
        """State after `elapsed_s` seconds in which `flow` went through."""

    def fsync_s(self, state: Any) -> float:
        """Time of one fsync of metadata (manifest, directory), without the data's own transfer."""

    def facts(self, state: Any, live_bytes: float) -> DeviceFacts:
        """Wear and write amplification inside the device, for `live_bytes` of data kept on it."""

"""Division of a device's time among streams and clients.

A `Service` describes a device in its present state: the time of the shared medium (channels, link, arm, memory
controller) per request, and the maximum rate of a single stream. `share` divides the time of the medium max-min fairly:
each stream or client gets a fair share, or its demand if that is less. Units are SI.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

from lsmlab.models.costs.cost import lone_request_s
from lsmlab.models.devices.base import Device, DeviceLoad, Grant

INTERLEAVE_BYTES: Final = 128.0 * 2**10
"""Unit in which a solid-state device alternates between requests: 128 KiB, the smallest common NVMe transfer limit
(MDTS 5 with 4 KiB pages). Assumption `interleave`: it sets the wait of a small read behind a large request."""


_DEMAND: Final = itemgetter(1)


class Service(NamedTuple):
    """Performance of a device in its present state."""

    read_bandwidth: float
    """Bytes per second of the medium with reads only."""
    write_bandwidth: float
    """Bytes per second of the medium with writes only."""
    read_request_s: float
    """Time of the medium for one background read request in addition to its transfer."""
    write_request_s: float
    """Time of the medium for one background write request in addition to its transfer."""
    wal_request_s: float
    """Time of the medium for one WAL write (of `write_request_bytes`) in addition to its transfer."""
    client_read_request_s: float
    """Time of the medium for one client read in addition to its transfer."""
    read_latency_s: float
    """Time of one background read request outside the medium (its stream waits, others do not)."""
    write_latency_s: float
    """Time of one background write request outside the medium."""
    client_read_latency_s: float
    """Time of one client read on the idle device, without its transfer."""
    stream_read_bandwidth: float
    """Transfer rate of a single read request."""
    stream_write_bandwidth: float
    """Transfer rate of a single write request."""
    interleave_bytes: float = INTERLEAVE_BYTES
    """Unit in which the device alternates between requests."""
    unit_bytes: float = 512.0
    """Minimum transfer of the medium."""


def fair_level(demands: list[tuple[float, float]], capacity: float) -> float:
    """Max-min fair share: the maximum of one stream or client, or infinity if all demands fit.

    `demands` are (number of streams or clients, demand of each). The result t satisfies sum of number * min(demand, t) =
    capacity.
    """
    total = count = 0.0
    for n, demand in demands:
        total += n * demand
        count += n
    if total <= capacity:
        return math.inf
    left = capacity
    for n, demand in sorted(demands, key=_DEMAND):
        if demand * count >= left:
            return left / count
        left -= n * demand
        count -= n
    return math.inf


class ServedDevice(Device):
    """Device described by a `Service`. Without state, unless a subclass has one."""

    fsync_latency: float
    """Value of `fsync_s`."""

    def initial(self) -> Any:
        """Return None: no state."""

    def fsync_s(self, state: Any) -> float:  # noqa: ARG002
        """Return `fsync_latency`."""
        return self.fsync_latency

    @abstractmethod
    def _make_service(self, *state: Any) -> Service:
        """Compute the performance in a state that the arguments describe."""

    def _service(self, *state: Any) -> Service:
        """Return `_make_service`, which computes each state once."""
        service = self._services.get(state)
        if service is None:
            service = self._services[state] = self._make_service(*state)
        return service

    @cached_property
    def _services(self) -> dict[tuple[Any, ...], Service]:
        return {}


class _Costs(NamedTuple):
    """Maximum rates of the streams of a load, and the time of the medium that they need."""

    read_own: float
    """Bytes per second of one background reader alone on the device."""
    write_own: float
    read_byte_s: float
    write_byte_s: float
    wal_byte_s: float
    client_s: float
    """Time of the medium for one client read."""
    client_depth: float


def _costs(s: Service, load: DeviceLoad) -> _Costs:
    read_bytes, write_bytes = load.read_request_bytes, load.write_request_bytes
    depth = load.queue_depth if load.queue_depth > 1.0 else 1.0
    read_own = depth * read_bytes / lone_request_s(read_bytes, s.read_latency_s, s.stream_read_bandwidth)
    write_own = depth * write_bytes / lone_request_s(write_bytes, s.write_latency_s, s.stream_write_bandwidth)
    client_bytes = max(load.client_read_bytes, s.unit_bytes)
    return _Costs(
        min(read_own, load.read_limit_bytes_per_s),
        min(write_own, load.write_limit_bytes_per_s),
        1.0 / s.read_bandwidth + s.read_request_s / read_bytes,
        1.0 / s.write_bandwidth + s.write_request_s / write_bytes,
        1.0 / s.write_bandwidth + s.wal_request_s / write_bytes,
        s.client_read_request_s + client_bytes / s.read_bandwidth,
        load.client_read_depth if load.client_read_depth > 1.0 else 1.0,
    )


@lru_cache(maxsize=8192)
def share(service: Service, load: DeviceLoad) -> Grant:
    """Divide the time of the medium between background streams, client reads and WAL writes.

    The rate of a stream alone is depth * size / (latency + size / stream bandwidth). Client reads count as
    `client_read_depth` streams, the WAL as one. `valid_for_s` stays infinite: a service does not change.
    """
    c = _costs(service, load)
    wanted, depth = load.client_read_iops, c.client_depth
    client_bytes = max(load.client_read_bytes, service.unit_bytes)
    idle_s = lone_request_s(client_bytes, service.client_read_latency_s, service.stream_read_bandwidth)
    wait = _waiting(service, load, c)
    reading = min(wanted, depth / idle_s)
    read_rate, write_rate, wal_rate, served, used = _divide(c, load, reading)
    latency_s = idle_s
    if wanted > 0.0:
        served = min(served, _closed_rate(depth, idle_s, c.client_s, used, wait))
        if served < 0.99 * reading:  # streams use the time that waiting clients leave, and so delay the clients more
            read_rate, write_rate, wal_rate, served, used = _divide(c, load, served)
            served = min(served, _closed_rate(depth, idle_s, c.client_s, used, wait))
    free = 1.0 - (used + served * c.client_s)
    queued_s = (used * wait.piece_s + served * c.client_s * c.client_s) / 2.0 / max(free, 1e-12)
    queued_s = min(wait.most_s, queued_s)
    if wanted > 0.0:
        latency_s += queued_s
        if served < wanted:  # the maximum number of reads is outstanding: their time follows from Little's law
            latency_s = max(latency_s, depth / served)
    log = load.client_write_bytes_per_s
    return Grant(
        read_bytes_per_s=read_rate,
        write_bytes_per_s=write_rate,
        client_read_share=served / wanted if wanted > 0.0 else 1.0,
        client_read_latency_s=latency_s,
        client_write_share=wal_rate / log if log > 0.0 else 1.0,
        utilisation=min(1.0, used + served * c.client_s),
        queued_s=queued_s,
    )


def _divide(c: _Costs, load: DeviceLoad, reading: float) -> tuple[float, float, float, float, float]:
    """Compute max-min fair rates of a reader, a writer, the WAL and client reads, and the time used without client reads."""
    readers, writers, log = load.readers, load.writers, load.client_write_bytes_per_s
    demands = []
    if readers:
        demands.append((float(readers), c.read_own * c.read_byte_s))
    if reading > 0.0:
        demands.append((c.client_depth, reading * c.client_s / c.client_depth))
    if writers:
        demands.append((float(writers), c.write_own * c.write_byte_s))
    if log > 0.0:
        demands.append((1.0, log * c.wal_byte_s))
    level = fair_level(demands, 1.0)
    read_rate = min(c.read_own, level / c.read_byte_s) if readers else 0.0
    write_rate = min(c.write_own, level / c.write_byte_s) if writers else 0.0
    wal_rate = min(log, level / c.wal_byte_s)
    served = min(reading, level * c.client_depth / c.client_s)
    used = readers * read_rate * c.read_byte_s + writers * write_rate * c.write_byte_s + wal_rate * c.wal_byte_s
    return read_rate, write_rate, wal_rate, served, used


class _Waiting(NamedTuple):
    """Work in front of a client read."""

    piece_s: float
    """Time of the current unit of background work."""
    most_s: float
    """Maximum wait: one unit of every other stream, because the device serves them in turn. The current unit is half done
    on average when the read arrives (the residual time of the Pollaczek-Khinchine formula)."""


def _waiting(s: Service, load: DeviceLoad, c: _Costs) -> _Waiting:
    """Compute the work in front of a client read under `load`."""
    read_piece_s = min(load.read_request_bytes, s.interleave_bytes) * c.read_byte_s
    write_piece_s = min(load.write_request_bytes, s.interleave_bytes) * c.write_byte_s
    writers = load.writers + (load.client_write_bytes_per_s > 0.0)
    others = load.readers * read_piece_s + writers * write_piece_s
    streams = load.readers + writers
    piece_s = others / streams if streams else 0.0
    return _Waiting(piece_s, others - piece_s / 2.0 + (c.client_depth - 1.0) * c.client_s)


def _closed_rate(depth: float, idle_s: float, client_s: float, background: float, wait: _Waiting) -> float:
    """Client reads per second of a closed loop of `depth` clients.

    Solves x (idle + W(x)) = depth with the Pollaczek-Khinchine wait for fixed service times, W(x) = (x S^2 + B p) / 2 /
    (1 - B - x S), for client service time S, background load B and its unit p. The wait never exceeds `wait.most_s`.
    """
    free = 1.0 - background
    at_least = depth / (idle_s + wait.most_s)
    if free <= 0.0:
        return at_least
    b = idle_s * free + background * wait.piece_s / 2.0 + depth * client_s
    c = depth * free
    root = math.sqrt(max(0.0, b * b - 4.0 * client_s * (idle_s - client_s / 2.0) * c))
    return max(at_least, 2.0 * c / (b + root))

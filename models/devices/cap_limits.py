"""Limits of the streams and clients of one direction when an allowance of a device's caps is used up."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lsmlab.models.devices.sharing import fair_level

_EMPTY_S: Final = 1e-3
"""Minimum allowance, as the time at the cap's rate: one timer tick (HZ = 1000) of the throttle; less counts as used
up."""
_BLOCKED_BYTES_PER_S: Final = 1.0
"""Rate of a stream that waits for the next slice: practically 0, and valid as a divisor."""
_BLOCKED_SHARE: Final = 1e-6
"""Share of the demand of clients that wait for the next slice: practically 0."""
_SLACK: Final = 1.0 + 1e-9
"""Tolerance factor on caps: rates equal to the cap are within it."""


class Direction(NamedTuple):
    """Direction of a load: its streams, its clients, and the limits set by used-up allowances so far."""

    streams: int
    request_bytes: float
    io_bytes: float
    """Mean bytes of one operation as the throttle counts them."""
    clients: float
    """Number of clients."""
    client_unit_bytes: float
    """Bytes of one client request."""
    limit: float
    """Limit of one stream in bytes per second."""
    client_limit: float
    """Limit of the clients as a share of their demand."""
    queued: bool = False
    """Whether clients queue for the next slice like streams, as single reads do; else they have a steady rate (the
    WAL)."""
    slice_s: float = math.inf
    """Maximum wait of queued clients after the allowance is used up."""
    wait_s: float = 0.0
    """Wait of queued clients now."""


CapRates = tuple[float, float, float]
"""Bytes per second of each stream and of all clients, and the share of the clients' demand that the device grants (it may
grant more once others are limited). A plain tuple: it is made at every change of the load."""

Units = tuple[float, float]
"""Units of a cap per byte of a stream and per byte of a client: 1, or operations per byte."""
BYTES: Final[Units] = (1.0, 1.0)


def hold(
    side: Direction, rates: CapRates, cap_per_s: float, left: float, slice_left_s: float, units: Units = BYTES
) -> tuple[Direction, CapRates, float]:
    """Return the direction with the limits of an allowance, the rates under these limits, and their validity in s.

    `left`: the allowance that remains of the cap in this slice. Without new limits the direction is the same object. New
    limits add up to the cap at most for any grant of the device, so an iteration over all caps ends.
    """
    if side.queued and rates[1] > 0.0:
        if side.wait_s > 0.0:
            return side, rates, math.inf
        return _hold_queue(side, rates, cap_per_s, left, slice_left_s, units)
    return _hold_streams(side, rates, cap_per_s, left, slice_left_s, units)


def _hold_queue(
    side: Direction, rates: CapRates, cap_per_s: float, left: float, slice_left_s: float, units: Units
) -> tuple[Direction, CapRates, float]:
    """Limit streams and clients in one queue: all run at the speed of the device, or all wait for the next slice."""
    stream, clients, share = rates
    if left <= cap_per_s * _EMPTY_S:
        limit = side.client_limit * _BLOCKED_SHARE
        side = side._replace(limit=_BLOCKED_BYTES_PER_S, client_limit=limit, wait_s=side.slice_s)
        return side, (_BLOCKED_BYTES_PER_S, clients * _BLOCKED_SHARE, share), slice_left_s
    per_s = side.streams * (stream * units[0]) + clients * units[1]
    if per_s > cap_per_s * _SLACK:
        return side, rates, min(slice_left_s, left / per_s)
    return side, rates, math.inf


def _hold_streams(
    side: Direction, rates: CapRates, cap_per_s: float, left: float, slice_left_s: float, units: Units
) -> tuple[Direction, CapRates, float]:
    """Limit clients to their fair share of the cap, as a fluid without bursts, and streams to the rest."""
    stream, clients, share = rates
    wanted, wanted_by_clients = side.streams * (stream * units[0]), clients * units[1]
    if wanted + wanted_by_clients <= cap_per_s * _SLACK:
        return side, rates, math.inf
    if clients > 0.0:
        each = fair_level(
            [(float(side.streams), stream * units[0]), (side.clients, wanted_by_clients / side.clients)], cap_per_s
        )
        factor = min(1.0, each * side.clients / wanted_by_clients)
        if factor < 1.0:
            side = side._replace(client_limit=side.client_limit * share * factor)
            rates = stream, clients * factor, 1.0
            wanted_by_clients *= factor
    if not side.streams or stream <= _BLOCKED_BYTES_PER_S:
        return side, rates, math.inf
    left -= wanted_by_clients * slice_left_s
    if left > cap_per_s * _EMPTY_S:
        return side, rates, min(slice_left_s, left / wanted)
    return side._replace(limit=_BLOCKED_BYTES_PER_S), (_BLOCKED_BYTES_PER_S, rates[1], rates[2]), slice_left_s

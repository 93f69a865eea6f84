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


class Rates(NamedTuple):
    """Rates of one direction in bytes per second."""

    stream: float
    """Rate of each stream."""
    clients: float
    """Rate of all clients."""
    share: float
    """Share of the clients' demand that the device grants; it may grant more once others are limited."""


class Allowance(NamedTuple):
    """Remaining allowance of one cap, on bytes or on operations, in this slice."""

    cap_per_s: float
    left: float
    per_stream_byte: float = 1.0
    """Units of the cap per byte of a stream: 1, or operations per byte."""
    per_client_byte: float = 1.0


def hold(side: Direction, rates: Rates, of: Allowance, slice_left_s: float) -> tuple[Direction, Rates, float]:
    """Return the direction with the limits of an allowance, the rates under these limits, and their validity in s.

    Without new limits the direction is the same object. New limits add up to the cap at most for any grant of the
    device, so an iteration over all caps ends.
    """
    if side.queued and rates.clients > 0.0:
        return _hold_queue(side, rates, of, slice_left_s) if side.wait_s == 0.0 else (side, rates, math.inf)
    return _hold_streams(side, rates, of, slice_left_s)


def _hold_queue(side: Direction, rates: Rates, of: Allowance, slice_left_s: float) -> tuple[Direction, Rates, float]:
    """Limit streams and clients in one queue: all run at the speed of the device, or all wait for the next slice."""
    if of.left <= of.cap_per_s * _EMPTY_S:
        limit = side.client_limit * _BLOCKED_SHARE
        side = side._replace(limit=_BLOCKED_BYTES_PER_S, client_limit=limit, wait_s=side.slice_s)
        return side, Rates(_BLOCKED_BYTES_PER_S, rates.clients * _BLOCKED_SHARE, rates.share), slice_left_s
    per_s = side.streams * (rates.stream * of.per_stream_byte) + rates.clients * of.per_client_byte
    if per_s > of.cap_per_s * _SLACK:
        return side, rates, min(slice_left_s, of.left / per_s)
    return side, rates, math.inf


def _hold_streams(side: Direction, rates: Rates, of: Allowance, slice_left_s: float) -> tuple[Direction, Rates, float]:
    """Limit clients to their fair share of the cap, as a fluid without bursts, and streams to the rest."""
    stream, clients = rates.stream * of.per_stream_byte, rates.clients * of.per_client_byte
    if side.streams * stream + clients <= of.cap_per_s * _SLACK:
        return side, rates, math.inf
    if clients > 0.0:
        each = fair_level([(float(side.streams), stream), (side.clients, clients / side.clients)], of.cap_per_s)
        factor = min(1.0, each * side.clients / clients)
        if factor < 1.0:
            side = side._replace(client_limit=side.client_limit * rates.share * factor)
            rates = Rates(rates.stream, rates.clients * factor, 1.0)
            clients *= factor
    if not side.streams or rates.stream <= _BLOCKED_BYTES_PER_S:
        return side, rates, math.inf
    left = of.left - clients * slice_left_s
    if left > of.cap_per_s * _EMPTY_S:
        return side, rates, min(slice_left_s, left / (side.streams * stream))
    held = Rates(_BLOCKED_BYTES_PER_S, rates.clients, rates.share)
    return side._replace(limit=_BLOCKED_BYTES_PER_S), held, slice_left_s

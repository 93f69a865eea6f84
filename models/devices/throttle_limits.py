"""Who is held when an allowance is used up: limits of the streams and clients of one direction under a device's caps."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lsmlab.models.devices.sharing import fair_level

_EMPTY_S: Final = 1e-3
"""Allowance that the cap gives in less time than this counts as used up: one timer tick (HZ = 1000) of the throttle."""
_BLOCKED_BYTES_PER_S: Final = 1.0
"""Rate of a stream that waits for the next slice: nothing, but for arithmetic that divides by it."""
_BLOCKED_SHARE: Final = 1e-6
"""The same of clients."""
_SLACK: Final = 1.0 + 1e-9
"""Rates equal to the cap are within it."""


class Direction(NamedTuple):
    """One direction of a load: the streams, the clients, and the limits that used-up allowances have set so far."""

    streams: int
    request_bytes: float
    io_bytes: float
    """Bytes of one operation as the throttle counts them, on the average."""
    clients: float
    """Askers among the clients."""
    client_unit_bytes: float
    """Bytes of one client request."""
    limit: float
    """Bytes per second of one stream."""
    client_limit: float
    """Share of the clients' demand."""
    in_line: bool = False
    """Clients wait for the next slice like streams, as single reads do; else they are a steady trickle (the log)."""
    slice_s: float = math.inf
    """What clients in line wait at most, the allowance being used up."""
    wait_s: float = 0.0
    """What they wait now."""


class Rates(NamedTuple):
    """What passes in one direction, bytes per second."""

    stream: float
    """Of each stream."""
    clients: float
    """Of all clients."""
    share: float
    """Of the clients' demand: what the device grants. It may grant more once others are held."""


class Allowance(NamedTuple):
    """What one cap, on bytes or on operations, still lets pass in this slice."""

    cap_per_s: float
    left: float
    per_stream_byte: float = 1.0
    """What a stream's byte counts."""
    per_client_byte: float = 1.0


def hold(side: Direction, rates: Rates, of: Allowance, slice_left_s: float) -> tuple[Direction, Rates, float]:
    """The direction with the limits that an allowance sets now, the rates under them, and the time until that changes.

    Without new limits the direction is the same object. New ones add up to the cap at most, whatever the device grants
    then: so a search for all of them ends.
    """
    if side.in_line and rates.clients > 0.0:
        return _hold_line(side, rates, of, slice_left_s) if side.wait_s == 0.0 else (side, rates, math.inf)
    return _hold_streams(side, rates, of, slice_left_s)


def _hold_line(side: Direction, rates: Rates, of: Allowance, slice_left_s: float) -> tuple[Direction, Rates, float]:
    """Streams and clients ask one after the other: all pass as fast as the device takes them, or all wait."""
    if of.left <= of.cap_per_s * _EMPTY_S:
        limit = side.client_limit * _BLOCKED_SHARE
        side = side._replace(limit=_BLOCKED_BYTES_PER_S, client_limit=limit, wait_s=side.slice_s)
        return side, Rates(_BLOCKED_BYTES_PER_S, rates.clients * _BLOCKED_SHARE, rates.share), slice_left_s
    per_s = side.streams * (rates.stream * of.per_stream_byte) + rates.clients * of.per_client_byte
    if per_s > of.cap_per_s * _SLACK:
        return side, rates, min(slice_left_s, of.left / per_s)
    return side, rates, math.inf


def _hold_streams(side: Direction, rates: Rates, of: Allowance, slice_left_s: float) -> tuple[Direction, Rates, float]:
    """Clients are a fluid whose bursts nobody sees: they get their fair share of the cap, streams what is left."""
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

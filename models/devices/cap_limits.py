"""Limits of the streams and clients of one direction when an allowance of a device's caps is used up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from lsmlab.models.devices.sharing import fair_level

SLICE_S: Final = 0.1
"""Length of a slice (DFL_THROTL_SLICE_HD, block/blk-throttle.c)."""
_EMPTY_S: Final = 1e-3
"""Minimum allowance, as the time at the cap's rate: one timer tick (HZ = 1000) of the throttle; less counts as used
up."""
BLOCKED_BYTES_PER_S: Final = 1.0
"""Rate of a stream that waits for the next slice: practically 0, and valid as a divisor."""
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
    client_demand_bytes_per_s: float
    """Demand of all clients."""
    limit: float
    """Limit of one stream in bytes per second."""
    client_limit: float
    """Limit of the clients as a share of their demand."""
    queued: bool = False
    """Whether clients queue for the next slice like streams, as single reads do; else they have a steady rate (the
    WAL)."""
    wait_s: float = 0.0
    """Wait of queued clients now."""


CapRates = tuple[float, float, float]
"""Bytes per second of each stream and of all clients, and the share of the clients' demand that the device grants (it may
grant more once others are limited). A plain tuple: it is made at every change of the load."""

Units = tuple[float, float]
"""Units of a cap per byte of a stream and per byte of a client: 1, or operations per byte."""
BYTES: Final[Units] = (1.0, 1.0)


class Allowance(NamedTuple):
    """What remains of one cap."""

    cap_per_s: float
    left: float
    """Units that may still pass in this slice."""
    units: Units = BYTES

    @property
    def empty(self) -> bool:
        """Return whether it is used up."""
        return self.left <= self.cap_per_s * _EMPTY_S


def hold(
    side: Direction, rates: CapRates, allowances: Sequence[Allowance], slice_left_s: float
) -> tuple[Direction, float]:
    """Return the direction with the limits of its allowances, and their validity in s.

    Without new limits the direction is the same object. New limits add up to each cap at most for any grant of the device,
    so an iteration over both directions ends.
    """
    if side.queued and side.clients > 0.0 and side.client_demand_bytes_per_s > 0.0:
        return _hold_queue(side, rates, allowances, slice_left_s)
    valid_s = math.inf
    for allowance in allowances:
        side, rates, until_s = _hold_streams(side, rates, allowance, slice_left_s)
        valid_s = min(valid_s, until_s)
    return side, valid_s


def _hold_queue(
    side: Direction, rates: CapRates, allowances: Sequence[Allowance], slice_left_s: float
) -> tuple[Direction, float]:
    """Limit streams and clients in one queue, served in the order of arrival (`throtl_qnode_add_bio`).

    While the allowance lasts, streams run at the speed of the device, and clients too if the requests in front of them fit
    into it. Else each client waits for the next slice, or longer if the queue has more requests than a slice lets pass.
    """
    if side.wait_s > 0.0:
        return side, min(slice_left_s, _last_s(side, rates, allowances, slice_left_s))
    fits, empty = True, False
    for allowance in allowances:
        cap_per_s, left, (own, client) = allowance
        empty = empty or allowance.empty
        crowded = side.streams * (rates[0] * own) > cap_per_s * _SLACK
        ahead = side.streams * side.request_bytes * own if crowded else 0.0
        fits = fits and ahead + side.client_unit_bytes * client <= left
    if fits and not empty:
        return side, _last_s(side, rates, allowances, slice_left_s)
    stream_bytes, client_bytes = side.streams * side.request_bytes, side.clients * side.client_unit_bytes
    queue_s = max((stream_bytes * own + client_bytes * client) / cap_per_s for cap_per_s, _, (own, client) in allowances)
    wait_s = max(SLICE_S, queue_s)
    limit = BLOCKED_BYTES_PER_S if empty else side.limit
    client_limit = min(1.0, client_bytes / wait_s / side.client_demand_bytes_per_s)
    return side._replace(limit=limit, client_limit=client_limit, wait_s=wait_s), slice_left_s


def _last_s(side: Direction, rates: CapRates, allowances: Sequence[Allowance], slice_left_s: float) -> float:
    """Return how long the allowances last at these rates in s: until the end of the slice at most, or for ever."""
    stream, clients, _ = rates
    valid_s = math.inf
    for cap_per_s, left, (own, client) in allowances:
        per_s = side.streams * (stream * own) + clients * client
        if per_s > cap_per_s * _SLACK:
            valid_s = min(valid_s, slice_left_s, left / per_s)
    return valid_s


def _hold_streams(
    side: Direction, rates: CapRates, allowance: Allowance, slice_left_s: float
) -> tuple[Direction, CapRates, float]:
    """Limit clients to their fair share of the cap, as a fluid without bursts, and streams to the rest."""
    stream, clients, share = rates
    cap_per_s, left, units = allowance
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
    if not side.streams or stream <= BLOCKED_BYTES_PER_S:
        return side, rates, math.inf
    left -= wanted_by_clients * slice_left_s
    if left > cap_per_s * _EMPTY_S:
        return side, rates, min(slice_left_s, left / wanted)
    return side._replace(limit=BLOCKED_BYTES_PER_S), (BLOCKED_BYTES_PER_S, rates[1], rates[2]), slice_left_s

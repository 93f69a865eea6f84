"""Client groups in time: demand, served operations, and waits of the operations."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Clients
from lsmlab.sim.clients.arrival_queue import ArrivalQueue
from lsmlab.sim.clients.latency import Pieces
from lsmlab.sim.clients.unstalled import UnstalledTally
from lsmlab.sim.machine.queues import TICK_S
from lsmlab.sim.store.write_shape import WriteShape

NEVER: Final = math.inf
OPS_EPSILON: Final = 1e-6
"""Number of operations below which a difference is rounding."""

REFILL_S: Final = 0.1
"""Refill period of the rate limiter in a closed-loop client (behaviour/db-bench.md, Benchmarks); idle time saves the tokens
of one period."""

WRITE, READ, SCAN = 0, 1, 2
"""Kinds of operation; a read-modify-write is a read and a write."""


class ClientTraffic(NamedTuple):
    """Traffic of all clients: totals so far, or per second."""

    writes: float = 0.0
    reads: float = 0.0
    """Point reads and scans."""
    device_bytes: float = 0.0
    """Bytes of reads, and of the WAL where it reaches the device."""


@dataclass(slots=True, eq=False)
class ClientGroup:
    """Client group in time."""

    spec: Clients
    write_share: float
    """Write operations per operation."""
    read_share: float
    scan_share: float
    closed: bool
    limit_per_s: float
    """Operations per second to which a closed-loop client limits itself; infinity: no limit."""
    starts: list[float]
    """Open loop: times at which the arrival rates `rates` begin, ascending."""
    rates: list[float]
    operations: float
    """Number of operations of the whole run; infinity: no limit."""
    saved: float = 0.0
    """Closed loop with a limit: operations that the client may do beyond its limit, because it waited before."""
    segment: int = 0
    """Index of the next entry of `starts`."""
    arrival_rate_per_s: float = 0.0
    """Present arrival rate, ops/s (open loop)."""
    backlog: float = 0.0
    """Open loop: operations that have arrived and are not served."""
    capacity: float = 0.0
    """Operations per second that the machine allows without stalls."""
    times: Sequence[Sequence[tuple[float, float, float]]] = ()
    """For each of `kinds`: planned (share, mean time, spread) of each class of operations (`OpTimes.parts`)."""
    demand_rate: float = 0.0
    """Operations per second that the group would do without stalls."""
    served_rate: float = 0.0
    runnable: float = 0.0
    """Mean number of its threads that want a core."""
    arrived: float = 0.0
    """Operations that have arrived; closed loop: operations that the group would have done without stalls."""
    served: float = 0.0
    finished: bool = False
    curve: array[float] = field(default_factory=lambda: array("d"))
    """Rows of (time, arrived, served)."""
    write_pieces: Pieces = field(default_factory=Pieces)
    residual_s: float = 0.0
    """Open loop: planned mean residual time of an operation in progress at an arrival."""
    queue: ArrivalQueue = field(default_factory=ArrivalQueue)
    """Open loop: queue due to random arrivals, in addition to `backlog`."""
    unstalled: UnstalledTally = field(default_factory=UnstalledTally)
    kinds: tuple[tuple[int, float], ...] = field(init=False)
    """Kinds of operation with a positive share: (WRITE, READ or SCAN, number per operation)."""

    def __post_init__(self) -> None:
        self.kinds = tuple((kind, share) for kind, share in enumerate(self.shares) if share > 0.0)

    @property
    def servers(self) -> int:
        """Threads that share one queue."""
        return 1 if self.spec.queue_per_thread else self.spec.threads

    @property
    def shares(self) -> tuple[float, float, float]:
        """Writes, point reads and scans per operation."""
        return self.write_share, self.read_share, self.scan_share

    def demand_at(self, capacity: float) -> float:
        """Return the operations per second that the group would do without stalls, if the machine allows `capacity`."""
        if self.finished:
            return 0.0
        if self.closed:
            return capacity if self.saved > OPS_EPSILON else min(capacity, self.limit_per_s)
        return capacity if self.backlog > OPS_EPSILON else min(self.arrival_rate_per_s, capacity)

    @property
    def complete(self) -> bool:
        """Whether all its operations are served, up to those of one tick."""
        rate = self.served_rate
        return rate > 0.0 and self.operations - self.served <= OPS_EPSILON + rate * TICK_S

    def arrive(self, now_s: float) -> None:
        """Set the arrival rate of the present time."""
        while self.segment < len(self.starts) and self.starts[self.segment] <= now_s + TICK_S:
            self.arrival_rate_per_s = self.rates[self.segment]
            self.segment += 1

    def advance(self, elapsed_s: float) -> float:
        """Serve at the present rates for `elapsed_s`; return the number of operations."""
        done = self.served_rate * elapsed_s
        self.served += done
        utilisation = 0.0
        if not self.closed:
            used = min(1.0, self.served_rate / self.capacity)
            utilisation = self.queue.advance(elapsed_s, used, self.residual_s / self.servers)
            self.arrived += self.arrival_rate_per_s * elapsed_s
            self.backlog = max(0.0, self.arrived - self.served)
            if self.backlog <= self.capacity * TICK_S:
                self.backlog = 0.0
        else:
            self.arrived += min(self.demand_rate, self.limit_per_s) * elapsed_s
            self._save(elapsed_s)
        if done > 0.0 and self.backlog <= OPS_EPSILON:
            residual_s = None if self.closed else self.residual_s
            self.unstalled.add(done, self.kinds, self.times, utilisation, residual_s)
        return done

    def _save(self, elapsed_s: float) -> None:
        """Count the tokens of the client's rate limiter: it saves at most those of one refill."""
        if self.limit_per_s < NEVER:
            saved = self.saved + (self.limit_per_s - self.served_rate) * elapsed_s
            self.saved = min(self.limit_per_s * REFILL_S, saved) if saved > self.capacity * TICK_S else 0.0

    def next_change_s(self, now_s: float) -> float:
        """Seconds until the group is complete, its arrival rate changes, or nothing waits any more; infinity if never."""
        soonest_s = NEVER
        if self.served_rate > 0.0 and self.operations < NEVER:
            soonest_s = (self.operations - self.served) / self.served_rate
        if self.saved > OPS_EPSILON and self.served_rate > self.limit_per_s:
            soonest_s = min(soonest_s, self.saved / (self.served_rate - self.limit_per_s))
        if not self.closed:
            if self.segment < len(self.starts):
                soonest_s = min(soonest_s, self.starts[self.segment] - now_s)
            if self.backlog > OPS_EPSILON and self.served_rate > self.arrival_rate_per_s:
                soonest_s = min(soonest_s, self.backlog / (self.served_rate - self.arrival_rate_per_s))
        return soonest_s


def start_group(
    spec: Clients, until_s: float, rng: np.random.Generator, shape: WriteShape, now_s: float = 0.0
) -> ClientGroup:
    """Make the group at the time `now_s` and draw the open-loop arrival rates from then to `until_s`."""
    mix = spec.mix
    writes = mix.update + mix.insert + mix.delete + mix.read_modify_write
    reads = mix.read + mix.read_modify_write
    arrivals = spec.arrivals
    limit, starts, rates = NEVER, [], []
    if isinstance(arrivals, ClosedLoop):
        if arrivals.limit_bytes_per_s:
            limit = arrivals.limit_bytes_per_s / shape.user_bytes / max(writes, 1e-12)
        if arrivals.limit_ops_per_s:
            limit = min(limit, arrivals.limit_ops_per_s)
    else:
        times, values = arrivals.segments(until_s - now_s, rng)
        starts, rates = (now_s + times).tolist(), values.tolist()
    return ClientGroup(
        spec=spec, write_share=writes, read_share=reads, scan_share=mix.scan,
        closed=isinstance(arrivals, ClosedLoop), limit_per_s=limit, starts=starts, rates=rates,
        operations=NEVER if spec.operations is None else float(spec.operations),
    )  # fmt: skip


def writes_per_s(groups: Iterable[ClientGroup]) -> float:
    """Writes per second of all groups together."""
    return sum(g.served_rate * g.write_share for g in groups)

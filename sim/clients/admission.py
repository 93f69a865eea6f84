"""Admission of writes: write stops, delayed write rates, and sleeps of delayed writers, from the stall conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from lsmlab.models.costs.host import Host
from lsmlab.models.policies.decisions import StallCause
from lsmlab.models.policies.rocksdb.delay import sleep_shares
from lsmlab.models.version import Version
from lsmlab.sim.clients.group import NEVER, WRITE, ClientGroup
from lsmlab.sim.clients.op_costs import OpCosts
from lsmlab.sim.clients.op_times import OpTimes
from lsmlab.sim.store.database import Database

ASKED_S: Final = 1.001e-3
"""Sleep that RocksDB asks for per step; `Host.sleep_step` also contains timer slack and wake-up."""


class Delay(NamedTuple):
    """Delay of the writes to one database."""

    rate_bytes_per_s: float
    """Delayed write rate."""
    sleep_s: float
    """Fixed sleep of each write group; 0: the sleep follows from the delayed write rate."""
    part: float
    """Writes to the database, relative to the mean over all databases."""
    cause: StallCause


class WriteLimits(NamedTuple):
    """Stall conditions of all databases at one moment.

    A thread waits at a stopped database, so one stop ends up stopping all threads.
    """

    databases: int
    stopped_by: StallCause | None
    """Cause of the stop of the first database that stops writes; None: none does."""
    held: bool
    """Whether no write is admitted for another reason, which RocksDB does not count as a stall."""
    delays: list[Delay]
    version: Version

    @classmethod
    def of(cls, databases: Sequence[Database], parts: Sequence[float], *, held: bool) -> WriteLimits:
        """Return the present conditions. `parts`: writes to each database, relative to the mean over all."""
        stopped_by, delays = None, []
        for database, part in zip(databases, parts, strict=True):
            controller = database.write_controller
            if database.blocked and stopped_by is None:
                stopped_by = database.blocked_by
            if (cause := controller.delay_cause) is not None:
                delays.append(Delay(controller.rate_bytes_per_s, controller.sleep_s, part, cause))
        return cls(len(databases), stopped_by, held, delays, databases[0].families[0].latest_options.version)


class Admitted(NamedTuple):
    """Writes per second that all databases together admit."""

    writes_per_s: float = NEVER
    cause: StallCause | None = None
    """Cause of the limit; None: no stall."""


def admitted_writes(limits: WriteLimits, groups: Sequence[ClientGroup], times: OpTimes) -> Admitted:
    """Return the writes that the databases admit; the slowest of several limits every group that writes."""
    if limits.stopped_by is not None:
        return Admitted(0.0, limits.stopped_by)
    if limits.held:
        return Admitted(0.0)
    found = Admitted()
    for delay in limits.delays:
        rate = _delayed_per_s(delay, groups, times) * limits.databases / delay.part
        if rate < found.writes_per_s:
            found = Admitted(rate, delay.cause)
    return found


def _delayed_per_s(delay: Delay, groups: Sequence[ClientGroup], times: OpTimes) -> float:
    """Return the writes per second of a delayed database: by its delayed rate in bytes, or one write group per sleep."""
    if delay.sleep_s == 0.0:
        return delay.rate_bytes_per_s / times.costs.shape.batch_bytes
    host = times.costs.host
    writers = sum(g.spec.threads for g in groups if g.write_share > 0.0 and not g.finished)
    return max(1, writers) / (fixed_sleep(delay.sleep_s, host).mean_s + times.mean_s(WRITE))


class Sleeps(NamedTuple):
    """Sleeps of a delayed write group at one delayed write rate."""

    mean_s: float
    lengths: tuple[tuple[float, float], ...]
    """Pairs of (seconds, share of the sleeps)."""

    @property
    def longest_s(self) -> float:
        """Longest sleep in seconds."""
        return self.lengths[-1][0]


def sleeps_of(limits: WriteLimits, admitted: Admitted, groups: Sequence[ClientGroup], costs: OpCosts) -> Sleeps:
    """Return the sleeps of delayed writers at the admitted rate, or of the length that the throttle asks for."""
    host, shape = costs.host, costs.shape
    if (asked_s := max(delay.sleep_s for delay in limits.delays)) > 0.0:
        return fixed_sleep(asked_s, host)
    threads = sum(g.spec.threads for g in groups if g.closed and g.write_share > 0.0)
    group_bytes = max(1, threads) * shape.batch_bytes
    rate = admitted.writes_per_s / limits.databases * shape.batch_bytes
    shares = sleep_shares(rate, group_bytes, costs.cpu_s(WRITE), host.sleep_step, limits.version) or ((1, 1.0),)
    total = sum(share for _, share in shares)
    lengths = tuple((steps * host.sleep_step, share / total) for steps, share in shares)
    return Sleeps(sum(sleep_s * share for sleep_s, share in lengths), lengths)


def fixed_sleep(asked_s: float, host: Host) -> Sleeps:
    """Return the sleep of a throttle that asks for a fixed time (`ThrottleState.sleep_s`)."""
    sleep_s = asked_s + max(0.0, host.sleep_step - ASKED_S)
    return Sleeps(sleep_s, ((sleep_s, 1.0),))

"""Part of a workload: fewer or more keys, operations and arrivals, by the same clients."""

from __future__ import annotations

from dataclasses import replace

from lsmlab.models.workloads.arrivals import Arrivals, ClosedLoop, Scaled
from lsmlab.models.workloads.base import Clients, Workload


def part_of(workload: Workload, share: float) -> Workload:
    """Return the workload with `share` of its keys, operations, and rates of arrival; threads stay.

    >>> from lsmlab.models.workloads.values import FixedSize
    >>> clients = Clients("c", arrivals=ClosedLoop(limit_ops_per_s=100.0), operations=50)
    >>> whole = Workload("w", (clients,), 16, FixedSize(100), 1000)
    >>> half = part_of(whole, 0.5)
    >>> half.population, half.clients[0].operations, half.clients[0].arrivals.limit_ops_per_s
    (500, 25, 50.0)
    """
    if share == 1.0:
        return workload
    return replace(
        workload, clients=tuple(_part(group, share) for group in workload.clients),
        phases=tuple(replace(one, clients=tuple(_part(group, share) for group in one.clients)) for one in workload.phases),
        population=max(1, round(workload.population * share)), preload_keys=round(workload.preload_keys * share),
    )  # fmt: skip


def _part(group: Clients, share: float) -> Clients:
    arrivals = group.arrivals
    scaled: Arrivals
    if isinstance(arrivals, ClosedLoop):
        limits = {
            name: None if (limit := getattr(arrivals, name)) is None else limit * share
            for name in ("limit_bytes_per_s", "limit_ops_per_s")
        }
        scaled = replace(arrivals, **limits)
    else:
        scaled = Scaled(arrivals, share)
    operations = None if group.operations is None else max(1, round(group.operations * share))
    return replace(group, arrivals=scaled, operations=operations)

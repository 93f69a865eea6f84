"""Explanation of a run's stalls, as keys of summary.json: cost, time by holder, costliest groups, and bottleneck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from lsmlab.sim.explain.bottleneck import Bottleneck, find_bottleneck, resource_seconds
from lsmlab.sim.explain.delaying_jobs import DelayingJob, JobTable, Table
from lsmlab.sim.explain.lost_operations import ClientCurves, lost_per_stall
from lsmlab.sim.explain.resource_use import Curve, mean_uses
from lsmlab.sim.explain.stall_division import Held, Slots
from lsmlab.sim.explain.stall_groups import StallGroup, group_stalls
from lsmlab.sim.explain.stall_waits import StallWaits, stall_waits

MOST_GROUPS: Final = 10
"""Groups of stalls in summary.json."""
_NAMED_JOBS: Final = 3
"""Jobs in summary.json per group of stalls: those that ran longest during the group of stalls."""


@dataclass(frozen=True, slots=True)
class StallData:
    """Tables and curves of a run that explain its stalls."""

    stalls: Sequence[Mapping[str, Any]]
    """Rows of stalls.parquet."""
    jobs: Table
    """Columns of jobs.parquet; `column_family` is not used."""
    series: Table
    """Columns of series.parquet."""
    clients: ClientCurves
    memtable_writes: float
    """Writes of all clients that fill one memtable of each database."""
    usage: Mapping[str, Curve]
    """Use of each resource that the run has (`of_run`); empty for a LOG."""
    stall_seconds: Mapping[str, float]
    """Time that writers waited, by cause, in s."""
    slots: Slots | None
    """Threads of a pool; None if they are unknown."""
    unseen: bool = False
    """Whether writers were stalled at times that the records do not show, as in statistics without events."""
    pools: Sequence[int] = ()
    """Number of the pool of threads of each shard; empty if each has its own. A LOG counts column families as shards."""
    rated: bool = True
    """Whether the rate of the clients' operations is known; without it nobody knows how many were lost."""
    waited_share: float | None = None
    """Share of the time that writers waited, where that is known apart from `stalls`, as in a LOG."""

    @property
    def costed(self) -> bool:
        """Whether the operations that the stalls cost are known."""
        return self.rated and not self.unseen


def analyse_stalls(data: StallData) -> dict[str, Any]:
    """Return the keys `lost_operations`, `stalls`, `stall_waits_s`, `episodes` and `bottleneck` of summary.json."""
    columns = {name: [row[name] for row in data.stalls] for name in ("cause", "start_s", "end_s", "shard")}
    groups = group_stalls(columns, data.clients, data.memtable_writes) if data.stalls else []
    jobs = JobTable(data.jobs, data.series)
    waits = stall_waits(data.stalls, data.jobs, data.usage, data.stall_seconds, data.slots, data.pools)
    lost = sum(e.lost_ops for e in groups)
    served = float(data.clients.served[-1])
    return {
        "lost_operations": {
            "total": lost if data.costed else None,
            "share": None if not data.costed else lost / (served + lost) if lost else 0.0, "episodes": len(groups),
            "by_cause": _lost_by_cause(groups),
        },
        "stalls": len(data.stalls),
        "stall_waits_s": waits.seconds(waits.held, *jobs.names),
        "episodes": [_group(data, jobs, waits, e, lost) for e in groups[:MOST_GROUPS]],
        "bottleneck": _bottleneck(data, waits, groups, served),
    }  # fmt: skip


def lost_operations(data: StallData) -> list[float]:
    """Return the lost operations of each stall."""
    starts, ends = (np.array([row[side] for row in data.stalls], dtype=np.float64) for side in ("start_s", "end_s"))
    return lost_per_stall(starts, ends, data.clients).tolist()  # type: ignore[no-any-return]


def _lost_by_cause(groups: Sequence[StallGroup]) -> dict[str, float]:
    total: dict[str, float] = {}
    for group in groups:
        for cause, ops in group.lost_by_cause.items():
            total[cause] = total.get(cause, 0.0) + ops
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _delaying_jobs(data: StallData, jobs: JobTable, group: StallGroup) -> list[DelayingJob]:
    """Return the jobs that the stalls of a group waited for."""
    waited_for = dict.fromkeys(int(job) for row in group.stalls for job in data.stalls[row]["chain_jobs"])
    return jobs.delaying(group.shard, list(waited_for), group.start_s, group.end_s)


def _group(data: StallData, jobs: JobTable, waits: StallWaits, group: StallGroup, lost: float) -> dict[str, Any]:
    delaying = _delaying_jobs(data, jobs, group)
    served = float(data.clients.between(data.clients.served, *_edges(group))[0])
    held = waits.of(group.stalls)
    evidence, seconds = _evidence(data, waits, held, [group], served)
    return {
        "start_s": group.start_s, "end_s": group.end_s, "shard": group.shard, "cause": group.cause,
        "lost_ops": group.lost_ops if data.costed else None,
        "lost_share": None if not data.costed else group.lost_ops / lost if lost else 0.0,
        "stall_seconds": dict(group.seconds_by_cause), "stalls": len(group.stalls),
        "chain": {
            "jobs": len(delaying), "seconds": sum(c.held_s for c in delaying),
            "read_bytes": sum(c.read_bytes for c in delaying), "write_bytes": sum(c.write_bytes for c in delaying),
        },
        "culprits": [_delaying_job(jobs, group.shard, c) for c in delaying[:_NAMED_JOBS]],
        "waits_s": waits.seconds(held, *jobs.names), "uses": evidence["uses"],
        "bottleneck": find_bottleneck(seconds, _cost(data, evidence)).value,
    }  # fmt: skip


def _delaying_job(jobs: JobTable, shard: int, delaying_job: DelayingJob) -> dict[str, Any]:
    sharing = jobs.sharing(shard, delaying_job.job)
    return {
        **asdict(delaying_job), "waits_s": dict(delaying_job.waits_s), "device_shares": dict(sharing.shares),
        "neighbours": sharing.neighbours, "neighbours_at_a_time": sharing.neighbours_at_a_time,
    }  # fmt: skip


def _bottleneck(data: StallData, waits: StallWaits, groups: Sequence[StallGroup], served: float) -> dict[str, Any]:
    evidence, seconds = _evidence(data, waits, waits.held, groups, served)
    jobless = not data.rated and not len(data.jobs["job"])  # a part of a LOG without events
    resource = Bottleneck.UNKNOWN if data.unseen or jobless else find_bottleneck(seconds, _cost(data, evidence))
    return {
        "resource": resource.value, **evidence,
        "threads": data.slots and {"flushes": data.slots.flushes, "compactions": data.slots.compactions},
    }  # fmt: skip


def _cost(data: StallData, evidence: Mapping[str, Any]) -> float:
    """Return the share of the operations that stalls cost, or of the time that writers waited if that is larger."""
    return max(evidence["lost_share"] or 0.0, data.waited_share or 0.0)


def _evidence(
    data: StallData, waits: StallWaits, held: Held, groups: Sequence[StallGroup], served: float
) -> tuple[dict[str, Any], dict[Bottleneck, float]]:
    """Return the evidence of some groups of stalls, and their stalled time by resource.

    `held`: pieces of their time; `served`: operations done in the time to which their losses are compared.
    """
    lost = sum(e.lost_ops for e in groups)
    by_cause = _lost_by_cause(groups)
    uses = mean_uses(data.usage, [(e.start_s, e.end_s, e.lost_ops or e.end_s - e.start_s) for e in groups])
    seconds = resource_seconds(held, waits.jobs, waits.work, uses)
    total_s = sum(seconds.values())
    return {
        "lost_share": None if not data.costed else lost / (lost + served) if lost > 0.0 else 0.0,
        "lost_by_cause": {cause: ops / lost for cause, ops in by_cause.items()} if lost > 0.0 else {},
        "uses": uses,
        "shares": {resource.value: s / total_s for resource, s in seconds.items()},
    }, seconds


def _edges(group: StallGroup) -> tuple[Any, Any]:
    return np.array([group.start_s]), np.array([group.end_s])

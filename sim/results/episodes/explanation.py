"""Explanation of a run's stalls: the keys `lost_operations`, `episodes` and `bottleneck` of summary.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from lsmlab.sim.results.episodes.blame import Culprit, JobTable, Table
from lsmlab.sim.results.episodes.bottleneck import Bottleneck, Evidence, find_bottleneck
from lsmlab.sim.results.episodes.losses import ClientCurves, lost_per_stall
from lsmlab.sim.results.episodes.merging import Episode, find_episodes
from lsmlab.sim.results.episodes.usage import Curve, mean_uses

MOST_EPISODES: Final = 10
"""Episodes in summary.json."""
_BLAMED: Final = 50
"""Costliest episodes whose jobs give the waits of the whole run."""
_CULPRITS: Final = 3
"""Jobs in summary.json per episode: those that ran longest during the episode."""


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
    """Use of each resource that the run has (`usage.RESOURCES`, and `bandwidth`); empty for a LOG."""


def explain(data: StallData) -> dict[str, Any]:
    """Return the keys `lost_operations`, `episodes` (the costliest ones) and `bottleneck` of summary.json."""
    columns = {name: [row[name] for row in data.stalls] for name in ("cause", "start_s", "end_s", "shard")}
    episodes = find_episodes(columns, data.clients, data.memtable_writes) if data.stalls else []
    jobs = JobTable(data.jobs, data.series)
    lost = sum(e.lost_ops for e in episodes)
    served = float(data.clients.served[-1])
    return {
        "lost_operations": {
            "total": lost, "share": lost / (served + lost) if lost else 0.0, "episodes": len(episodes),
            "by_cause": _lost_by_cause(episodes),
        },
        "episodes": [_episode(data, jobs, e, lost) for e in episodes[:MOST_EPISODES]],
        "bottleneck": _bottleneck(data, jobs, episodes, served),
    }  # fmt: skip


def lost_operations(data: StallData) -> list[float]:
    """Return the lost operations of each stall."""
    starts, ends = (np.array([row[side] for row in data.stalls], dtype=np.float64) for side in ("start_s", "end_s"))
    return lost_per_stall(starts, ends, data.clients).tolist()  # type: ignore[no-any-return]


def _lost_by_cause(episodes: Sequence[Episode]) -> dict[str, float]:
    total: dict[str, float] = {}
    for episode in episodes:
        for cause, ops in episode.lost_by_cause.items():
            total[cause] = total.get(cause, 0.0) + ops
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _chain(data: StallData, episode: Episode) -> list[int]:
    """Return the numbers of the jobs that the stalls of an episode waited for."""
    return list(dict.fromkeys(int(job) for row in episode.stalls for job in data.stalls[row]["chain_jobs"]))


def _culprits(data: StallData, jobs: JobTable, episode: Episode) -> list[Culprit]:
    return jobs.culprits(episode.shard, _chain(data, episode), episode.start_s, episode.end_s)


def _episode(data: StallData, jobs: JobTable, episode: Episode, lost: float) -> dict[str, Any]:
    culprits = _culprits(data, jobs, episode)
    served = float(data.clients.between(data.clients.served, *_edges(episode))[0])
    evidence = _evidence(data, [(episode, culprits)], [episode], served)
    return {
        "start_s": episode.start_s, "end_s": episode.end_s, "shard": episode.shard, "cause": episode.cause,
        "lost_ops": episode.lost_ops, "lost_share": episode.lost_ops / lost if lost else 0.0,
        "stall_seconds": dict(episode.seconds_by_cause), "stalls": len(episode.stalls),
        "chain": {
            "jobs": len(culprits), "seconds": sum(c.held_s for c in culprits),
            "read_bytes": sum(c.read_bytes for c in culprits), "write_bytes": sum(c.write_bytes for c in culprits),
        },
        "culprits": [_culprit(jobs, episode.shard, c) for c in culprits[:_CULPRITS]],
        "uses": dict(evidence.uses), "bottleneck": find_bottleneck(evidence).value,
    }  # fmt: skip


def _culprit(jobs: JobTable, shard: int, culprit: Culprit) -> dict[str, Any]:
    sharing = jobs.sharing(shard, culprit.job)
    return {
        **asdict(culprit), "waits_s": dict(culprit.waits_s), "device_shares": dict(sharing.shares),
        "neighbours": sharing.neighbours, "neighbours_at_a_time": sharing.neighbours_at_a_time,
    }  # fmt: skip


def _bottleneck(data: StallData, jobs: JobTable, episodes: Sequence[Episode], served: float) -> dict[str, Any]:
    blamed = ((e, _culprits(data, jobs, e)) for e in episodes[:_BLAMED] if e.lost_ops > 0.0)
    evidence = _evidence(data, blamed, episodes, served)
    resource = find_bottleneck(evidence) if evidence.lost_by_cause else Bottleneck.NONE
    return {"resource": resource.value, **asdict(evidence)}


def _evidence(
    data: StallData, blamed: Iterable[tuple[Episode, Sequence[Culprit]]], episodes: Sequence[Episode], served: float
) -> Evidence:
    """Return the evidence of some episodes; `served`: operations done in the time to which their losses are compared."""
    lost = sum(e.lost_ops for e in episodes)
    by_cause = _lost_by_cause(episodes)
    weighted = [(e.start_s, e.end_s, e.lost_ops or e.end_s - e.start_s) for e in episodes]
    return Evidence(
        lost_share=lost / (lost + served) if lost > 0.0 else 0.0,
        lost_by_cause={cause: ops / lost for cause, ops in by_cause.items()} if lost > 0.0 else {},
        uses=mean_uses(data.usage, weighted),
        waits=_waits(blamed),
    )


def _waits(blamed: Iterable[tuple[Episode, Sequence[Culprit]]]) -> dict[str, float]:
    """Return the share of the time of the blamed jobs by wait, weighted by lost operations and time in the episode."""
    total, shares = 0.0, dict[str, float]()
    for episode, culprits in blamed:
        held_s = sum(c.held_s for c in culprits)
        for culprit in culprits:
            weight = episode.lost_ops * culprit.held_s / held_s
            total += weight
            for name, share in culprit.wait_shares().items():
                shares[name] = shares.get(name, 0.0) + weight * share
    return {name: share / total for name, share in sorted(shares.items(), key=lambda item: -item[1])} if total else {}


def _edges(episode: Episode) -> tuple[Any, Any]:
    return np.array([episode.start_s]), np.array([episode.end_s])

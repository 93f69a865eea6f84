"""Groups of write stalls of one database that follow each other so closely that the store did not recover in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.sim.explain.lost_operations import ClientCurves, lost_per_stall

RECOVERY: Final = 0.5
"""Memtables that clients must fill without a stall before the next stall begins a new group.

A stall condition changes only when a memtable switches or a job commits. Until a memtable is full, writers therefore
meet the same files and memtables as in the stall before. Half a memtable instead of a whole one, because a stall that
returns with each memtable leaves room for just one: each of these stalls is a group of its own, with its own jobs.
"""


@dataclass(frozen=True, slots=True)
class StallGroup:
    """Consecutive stalls of one database."""

    shard: int
    start_s: float
    end_s: float
    stalls: tuple[int, ...]
    """Rows of the stalls in stalls.parquet, by start time."""
    lost_ops: float
    lost_by_cause: Mapping[str, float]
    """Lost operations by stall cause, the costliest first."""
    seconds_by_cause: Mapping[str, float]
    """Length of the stalls by cause, in s."""

    @property
    def cause(self) -> str:
        """Costliest cause."""
        return next(iter(self.lost_by_cause))


def group_stalls(stalls: Mapping[str, Sequence[Any]], curves: ClientCurves, memtable_writes: float) -> list[StallGroup]:
    """Merge stalls into groups of stalls, those with the most lost operations first.

    `stalls`: columns cause, start_s, end_s and shard of stalls.parquet; `memtable_writes`: writes of all clients that fill
    one memtable of each database.
    """
    starts = np.asarray(stalls["start_s"], dtype=np.float64)
    ends = np.asarray(stalls["end_s"], dtype=np.float64)
    lost = lost_per_stall(starts, ends, curves)
    order = np.lexsort((ends, starts, np.asarray(stalls["shard"])))
    written = [np.interp(times, curves.time_s, curves.written).tolist() for times in (starts, ends)]
    groups: list[list[int]] = []
    shard, written_at_end = None, 0.0
    for row in order.tolist():
        recovered = written[0][row] - written_at_end > RECOVERY * memtable_writes
        if stalls["shard"][row] != shard or recovered:
            groups.append([])
            shard, written_at_end = stalls["shard"][row], 0.0
        groups[-1].append(row)
        written_at_end = max(written_at_end, written[1][row])
    columns = stalls["cause"], starts.tolist(), ends.tolist(), lost.tolist()
    found = [_group(rows, int(stalls["shard"][rows[0]]), *columns) for rows in groups]
    return sorted(found, key=lambda e: (-e.lost_ops, e.start_s - e.end_s, e.start_s))


def _group(
    rows: Sequence[int], shard: int, causes: Sequence[str], starts: Sequence[float], ends: Sequence[float],
    lost: Sequence[float],
) -> StallGroup:  # fmt: skip
    lost_ops: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for row in rows:
        cause = causes[row]
        lost_ops[cause] = lost_ops.get(cause, 0.0) + lost[row]
        seconds[cause] = seconds.get(cause, 0.0) + (ends[row] - starts[row])
    costliest = sorted(lost_ops, key=lambda cause: (-lost_ops[cause], -seconds[cause]))
    return StallGroup(
        shard=shard, start_s=starts[rows[0]], end_s=max(ends[row] for row in rows), stalls=tuple(rows),
        lost_ops=sum(lost_ops.values()), lost_by_cause={c: lost_ops[c] for c in costliest},
        seconds_by_cause={c: seconds[c] for c in costliest},
    )  # fmt: skip

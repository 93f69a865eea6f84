"""Blame chains: the jobs that had to end before stalled writers could continue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.models.policies.decisions import StallCause
from lsmlab.sim.store.records import JobRecord, StallInterval


@dataclass(frozen=True, slots=True)
class Chain:
    """Jobs that a stall waited for, in the order in which they ran.

    Length, width and bytes count compactions only (background/vlsm.md, Arithmetic): the compactions that had to end before
    a blocked flush or write could continue. A stall that waited for flushes only has a chain of length 0.
    """

    jobs: tuple[int, ...]
    levels: int
    """Length of the chain: number of distinct output levels of its compactions."""
    size_bytes: int
    """Bytes written by the compactions of the chain."""
    compactions: int = 0
    """Number of compactions in the chain; its width is `size_bytes` per compaction."""


Find = Callable[[int], JobRecord | None]
MEMTABLE_CAUSES: Final = (
    StallCause.MEMTABLE_STOP, StallCause.MEMTABLE_SLOWDOWN, StallCause.WRITE_BUFFER_MANAGER_LIMIT,
    StallCause.INGESTION,
)  # fmt: skip
PENDING_CAUSES: Final = (StallCause.PENDING_STOP, StallCause.PENDING_SLOWDOWN)


def chain_of(stall: StallInterval, find: Find, running: Sequence[JobRecord]) -> Chain:
    """Follow parents from the job that released the writers back to the job that ran when the stall began.

    The parent of a job is the job whose end started it. The parents are therefore the jobs waited for, such as a flush
    before another flush, or a deeper compaction that had locked the files of an L0 compaction. For a stall that lasts
    until the end of the run, the walk starts at the unfinished job that it waits for (`holding_job`).

    `find`: see `chains`; `running`: the unfinished jobs of the database.
    """
    jobs: list[int] = []  # not the records: the chain of a long stall may have thousands of jobs
    levels: set[int] = set()
    size_bytes = compactions = 0
    number = holding_job(stall.cause, running) if stall.unfinished else stall.ended_by
    while (job := find(number)) is not None and job.end_s >= stall.start_s:
        jobs.append(job.job)
        if job.kind == "compaction":
            levels.add(job.output_level)
            size_bytes += job.write_bytes + job.blob_write_bytes
            compactions += 1
        number = job.parent
    return Chain(tuple(reversed(jobs)), len(levels), size_bytes, compactions)


def holding_job(cause: StallCause, running: Sequence[JobRecord]) -> int:
    """Return the unfinished job that a stall waits for; -1 if there is none.

    - Memtable stall: the oldest flush. If no flush runs, L0 has no room for a flush, and the rule of L0 stalls applies.
    - L0 stall: the oldest compaction from L0. If none runs, a deeper compaction has locked its files: the oldest compaction
      from the shallowest start level.
    - Stall on pending compaction bytes: the oldest compaction.
    """
    oldest = sorted(running, key=lambda j: (j.start_s, j.job))
    if cause in MEMTABLE_CAUSES:
        flush = next((j for j in oldest if j.kind == "flush"), None)
        if flush is not None:
            return flush.job
    compactions = [j for j in oldest if j.kind == "compaction"]
    if cause not in PENDING_CAUSES:
        compactions.sort(key=lambda j: j.start_level)
    return compactions[0].job if compactions else -1


def chains(stalls: Sequence[StallInterval], find: Find, running: Sequence[JobRecord]) -> list[Chain]:
    """Return the chain of each stall.

    `find`: gives the job of a number, None if the database has none; `running`: the unfinished jobs of the database.
    """
    return [chain_of(stall, find, running) for stall in stalls]


def chain_summary(stalls: Sequence[tuple[StallInterval, Chain]]) -> dict[str, Any]:
    """Return bytes, levels and width of chains, over all stalls that waited for a compaction."""
    chains = [c for _, c in stalls if c.compactions]
    levels = [c.levels for c in chains]
    return {
        "chain_bytes": _mean_max([float(c.size_bytes) for c in chains]),
        "chain_levels": {
            "mean": float(np.mean(levels or [0])),
            "max": max(levels, default=0),
            "distribution": {str(n): levels.count(n) for n in sorted(set(levels))},
        },
        "chain_width_bytes": _mean_max([c.size_bytes / c.compactions for c in chains]),
    }


def _mean_max(values: Sequence[float]) -> dict[str, float]:
    return {"mean": float(np.mean(values or [0.0])), "max": max(values, default=0.0)}


def stall_rows(stalls: Sequence[tuple[StallInterval, Chain]], named: bool = False) -> list[dict[str, Any]]:
    """Return the rows of stalls.parquet with its columns in order (`STALLS`); `named`: include the column family."""
    return [
        {
            "stall": number,
            "cause": stall.cause.value,
            "start_s": stall.start_s,
            "end_s": stall.end_s,
            "shard": stall.shard,
            **({"column_family": stall.family} if named else {}),
            "chain_jobs": list(chain.jobs),
            "chain_levels": chain.levels,
            "chain_bytes": chain.size_bytes,
            "unfinished": stall.unfinished,
        }
        for number, (stall, chain) in enumerate(stalls)
    ]

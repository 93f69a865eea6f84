"""Blame: which jobs had to end before a stalled writer could go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models.policies.decisions import StallCause
from lsmlab.sim.store.records import JobRecord, StallInterval


@dataclass(frozen=True, slots=True)
class Chain:
    """The jobs that a stall waited for, in the order in which they ran.

    Length, width and bytes are those of the compactions among them (background/vlsm.md, Arithmetic): what had to be
    compacted before a blocked flush, or write, could go on. A stall that waited for flushes alone has a chain of length
    0.
    """

    jobs: tuple[int, ...]
    levels: int
    """Length: distinct levels that compactions wrote to."""
    size_bytes: int
    """Bytes that compactions wrote."""
    compactions: int = 0
    """Compactions that wrote something; `size_bytes` per compaction is the chain's width."""


NO_CHAIN = Chain((), 0, 0)
MEMTABLE_CAUSES: Final = (StallCause.MEMTABLE_STOP, StallCause.MEMTABLE_SLOWDOWN)
PENDING_CAUSES: Final = (StallCause.PENDING_STOP, StallCause.PENDING_SLOWDOWN)


def chain_of(stall: StallInterval, jobs: Mapping[int, JobRecord]) -> Chain:
    """Walk back from the job that let writers go on, parent by parent, to the one that ran when the stall began.

    A job's parent is the job whose end made it start, so the walk follows the wait itself: a flush that waited for a
    flush, an L0 compaction that waited for the deeper one that held its files. A stall that was still on when the run
    ended begins with the unfinished job that holds it (`holding_job`).
    """
    found: list[JobRecord] = []
    number = holding_job(stall.cause, [j for j in jobs.values() if j.unfinished]) if stall.unfinished else stall.ended_by
    while number in jobs:
        job = jobs[number]
        if job.end_s < stall.start_s:
            break
        found.append(job)
        number = job.parent
    if not found:
        return NO_CHAIN
    found.reverse()
    merges = [j for j in found if j.kind == "compaction"]
    return Chain(
        jobs=tuple(j.job for j in found),
        levels=len({j.output_level for j in merges}),
        size_bytes=sum(j.write_bytes for j in merges),
        compactions=len(merges),
    )


def holding_job(cause: StallCause, running: Sequence[JobRecord]) -> int:
    """Return the unfinished job that a stall waits for; -1 if there is none.

    Full memtables wait for the oldest flush, and without one for L0 to take it, as a full L0 does: for the oldest
    compaction out of L0, or, as long as none can start, for the oldest of the shallowest level, whose files are in its
    way. Pending bytes wait for the oldest compaction.
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


def chains(stalls: Sequence[StallInterval], jobs: Sequence[JobRecord]) -> list[Chain]:
    """The chain of each stall. `jobs` are those of the same store, unfinished ones included."""
    known = {j.job: j for j in jobs}
    return [chain_of(stall, known) for stall in stalls]

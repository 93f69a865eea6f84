"""Blame: which jobs had to end before a stalled writer could go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


def chain_of(stall: StallInterval, jobs: Mapping[int, JobRecord]) -> Chain:
    """Walk back from the job that let writers go on, parent by parent, to the one that ran when the stall began.

    A job's parent is the job whose end made it start, so the walk follows the wait itself: a flush that waited for a
    flush, an L0 compaction that waited for the deeper one that held its files.
    """
    found: list[JobRecord] = []
    number = stall.ended_by
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


def chains(stalls: Sequence[StallInterval], jobs: Sequence[JobRecord]) -> list[Chain]:
    """The chain of each stall. `jobs` are those of the same store."""
    known = {j.job: j for j in jobs}
    return [chain_of(stall, known) for stall in stalls]

"""Several runs of each of many configurations, in parallel processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from lsmlab.sim.runs.batch import RunJob, RunOutcome, Settings, outcomes


def finished_groups(groups: Mapping[int, Sequence[RunJob]], settings: Settings) -> Iterator[tuple[int, list[RunOutcome], int]]:
    """Yield the key of each group of runs when its last run ends, its outcomes in their order, and how many groups are left.

    A failed run does not stop the others.
    """
    group_of = {id(job): key for key, jobs in groups.items() for job in jobs}
    left = Counter(group_of.values())
    found: dict[int, RunOutcome] = {}
    several = [job for jobs in groups.values() for job in jobs]
    for outcome in outcomes(several, settings, len(several)):
        found[id(outcome.job)] = outcome
        key = group_of[id(outcome.job)]
        left[key] -= 1
        if left[key] == 0:
            del left[key]
            yield key, [found[id(job)] for job in groups[key]], len(left)

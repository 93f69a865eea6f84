"""Files and bytes per level over time, computed from the committed jobs of a LOG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from lsmlab.validation.logs.history.jobs import LogJob, LogJobs


@dataclass
class LevelTracker:
    """Files of one column family by level, where the LOG shows them."""

    files: dict[int, dict[int, int]] = field(default_factory=dict)
    """By level: file number to size in bytes."""
    bytes: dict[int, int] = field(default_factory=dict)
    """By level: sum of the sizes in `files`."""
    counts: tuple[int, ...] = ()
    """Files per level after the last commit, as its event gives them or else counted from `files`."""

    def commit(self, job: LogJob) -> None:
        """Apply the file changes of a committed job."""
        sizes: dict[int, int] = {}
        for level, numbers in job.inputs.items():
            for number in numbers:
                levels = [level, *self.files] if level in self.files else list(self.files)
                for candidate in levels:
                    size = self.files[candidate].pop(number, None)
                    if size is not None:
                        self.bytes[candidate] -= size
                        sizes[number] = size
                        break
        target = max(0, job.output_level)
        if job.kind == "drop":
            width = max(len(self.counts), 1)
            gone = sum(len(files) for files in job.inputs.values())
            self.counts = tuple(max(0, n - gone * (level == 0)) for level, n in enumerate(self.counts or (0,) * width))
            return
        if job.kind == "trivial_move":
            moved = [n for files in job.inputs.values() for n in files]
            self._add(target, {n: sizes.get(n, job.moved_bytes // max(1, len(moved))) for n in moved})
        else:
            self._add(target, {f.number: f.size_bytes for f in job.outputs})
        if job.lsm_state:
            self.counts = job.lsm_state
        else:
            width = max(len(self.counts), job.output_level + 1, *(level + 1 for level in job.inputs), 1)
            self.counts = tuple(len(self.files.get(level, ())) for level in range(width))

    def _add(self, level: int, sizes: dict[int, int]) -> None:
        here = self.files.setdefault(level, {})
        replaced = sum(here.get(number, 0) for number in sizes)
        self.bytes[level] = self.bytes.get(level, 0) + sum(sizes.values()) - replaced
        here.update(sizes)

    def sizes(self) -> tuple[int | None, ...]:
        """Return bytes per level; None for a level with files of unknown size."""
        return tuple(
            self.bytes.get(level, 0) if len(self.files.get(level, {})) == count else None
            for level, count in enumerate(self.counts)
        )

    def estimated_sizes(self) -> tuple[int, ...]:
        """Return bytes per level. A file of unknown size counts with the mean size of the known files."""
        known = sum(len(files) for files in self.files.values())
        mean = sum(self.bytes.values()) / known if known else 0.0
        result = []
        for level, count in enumerate(self.counts):
            unknown = count - len(self.files.get(level, {}))
            result.append(round(self.bytes.get(level, 0) + mean * max(0, unknown)))
        return tuple(result)


def commits(jobs: LogJobs) -> list[LogJob]:
    """Return the committed jobs in the order of their commits."""
    done = [job for job in jobs.jobs if job.done and job.end_us is not None]
    return sorted(done, key=lambda job: (job.end_us or 0, job.line))


def states(jobs: LogJobs, until_us: float = math.inf) -> Iterator[tuple[LogJob, dict[str, LevelTracker]]]:
    """Yield each job committed up to a time with the trackers of all column families after it."""
    trackers: dict[str, LevelTracker] = {}
    for job in commits(jobs):
        if (job.end_us or 0) > until_us:
            return
        trackers.setdefault(job.column_family, LevelTracker()).commit(job)
        yield job, trackers


def levels_at(jobs: LogJobs, end_us: int) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """Return files and bytes per level at a time, summed over column families; None for a level of unknown size."""
    trackers: dict[str, LevelTracker] = {}
    for _, trackers in states(jobs, end_us):  # noqa: B007 -- only the last ones count
        pass
    return total(trackers)


def total(
    trackers: Mapping[str, LevelTracker], sizes_of: Callable[[LevelTracker], Sequence[int | None]] = LevelTracker.sizes
) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """Return files and bytes (`sizes_of`) per level, summed over column families; None for a level of unknown size."""
    counts = zip_longest(*(tracker.counts for tracker in trackers.values()), fillvalue=0)
    sizes = zip_longest(*(sizes_of(tracker) for tracker in trackers.values()), fillvalue=0)
    known = ([size for size in level if size is not None] for level in sizes)
    return tuple(map(sum, counts)), tuple(sum(level) if len(level) == len(trackers) else None for level in known)

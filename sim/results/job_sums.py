"""Finished jobs of jobs.parquet: filter, counts and sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def finished(jobs: Mapping[str, Any], *names: str) -> dict[str, NDArray[Any]]:
    """Return columns `names` of jobs.parquet without the rows of jobs that were unfinished at the end of the run."""
    rows = ~np.asarray(jobs["unfinished"], dtype=np.bool_)
    return {name: np.asarray(jobs[name])[rows] for name in names}


def moved_bytes(jobs: Mapping[str, Any], direction: str) -> NDArray[Any]:
    """Return the bytes of SST files and blob records of each job, from the columns of jobs.parquet.

    `direction`: "read" or "write".
    """
    own: NDArray[Any] = np.asarray(jobs[f"{direction}_bytes"])
    blobs = jobs.get(f"blob_{direction}_bytes")
    return own if blobs is None else own + np.asarray(blobs)


def write_amplification(flush_bytes: float, compaction_bytes: float, ingested_bytes: float | None = 0.0) -> float | None:
    """Return the bytes that flushes and compactions wrote by those that came in, flushed or as ingested files.

    So does RocksDB (`InternalStats::DumpCFStatsNoFileHistogram`, curr_ingest). None if nothing came in, or if the bytes of
    ingested files are unknown (None).
    """
    if ingested_bytes is None or not flush_bytes + ingested_bytes:
        return None
    return (flush_bytes + compaction_bytes) / (flush_bytes + ingested_bytes)


class JobSums:
    """Counts and sums over finished jobs, from the columns of jobs.parquet."""

    def __init__(self, jobs: Mapping[str, NDArray[Any]], rows: NDArray[np.int64] | None = None) -> None:
        """`rows`: rows to count; None: those of all finished jobs."""
        self._jobs = jobs
        self._rows: NDArray[np.int64] = np.flatnonzero(~jobs["unfinished"]) if rows is None else rows

    def __len__(self) -> int:
        return len(self._rows)

    def where(self, name: str, *values: object) -> JobSums:
        """Return the jobs whose column `name` has one of these values."""
        column = self[name]
        return JobSums(self._jobs, self._rows[np.logical_or.reduce([column == value for value in values])])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._jobs[name][self._rows]

    def count(self, name: str) -> Counter[Any]:
        """Return the number of jobs by value of column `name`."""
        return Counter(self[name].tolist())

    def whole(self, name: str) -> int:
        """Return the sum of a column of whole numbers."""
        return int(self[name].sum())

    def moved(self, direction: str) -> int:
        """Return the bytes of SST files and blob records; `direction`: "read" or "write"."""
        return self.whole(f"{direction}_bytes") + self.blob_bytes(direction)

    def blob_bytes(self, direction: str) -> int:
        """Return the bytes of blob records alone; 0 for jobs of a store without blob files."""
        name = f"blob_{direction}_bytes"
        return self.whole(name) if name in self._jobs else 0

    def real(self, name: str, minus: str | None = None) -> float:
        """Return the sum of a column of floats in the order of the rows, or of its difference to column `minus`."""
        values = self[name] if minus is None else self[name] - self[minus]
        return float(sum(values.tolist()))

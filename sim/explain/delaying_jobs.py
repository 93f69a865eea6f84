"""Blame of a group of stalls: the jobs that it waited for, and what these jobs waited for themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from lsmlab.sim.clients.latency import Floats
from lsmlab.sim.results.job_sums import moved_bytes
from lsmlab.sim.store.recorder import RowIndex
from numpy.typing import NDArray

Table = Mapping[str, Any]
"""Columns of a table by name."""


@dataclass(frozen=True, slots=True)
class DelayingJob:
    """Job that a group of stalls waited for."""

    job: int
    name: str
    """Kind and levels, such as "flush" or "compaction from L0 to L1"."""
    start_s: float
    end_s: float
    held_s: float
    """Time that the job ran during the group of stalls."""
    read_bytes: int
    write_bytes: int
    waits_s: Mapping[str, float] = field(default_factory=dict)
    """Mean wait of its threads, the longest first: beyond the time alone on the "device"; for a "core", a "slot", the
    "limiter", fsyncs ("sync"). Empty for a LOG."""
    device_alone_s: float = 0.0
    """Time that its reads and writes would have taken alone, per thread."""

    @property
    def ran_s(self) -> float:
        """Time from the start of the job to its commit."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class Sharing:
    """Use of the device while a job ran. The bytes of each job count as evenly distributed over its time."""

    shares: Mapping[str, float]
    """Share of the bytes, at least 1 %: of the job ("itself"), of other jobs by name, and of clients; the largest first."""
    neighbours: int
    """Other jobs that used the device."""
    neighbours_at_a_time: float
    """Mean number of these jobs that ran at the same time."""


def job_name(kind: str, start_level: int, output_level: int) -> str:
    """Return the kind of a job and its levels."""
    if kind == "flush":
        return "flush"
    levels = f"within L{start_level}" if start_level == output_level else f"from L{start_level} to L{output_level}"
    if start_level < 0:  # a LOG without the begin of the job
        levels = f"into L{output_level}"
    return f"{kind.replace('_', ' ')} {levels}"


class JobTable:
    """Jobs of one run, for blame."""

    def __init__(self, jobs: Table, series: Table) -> None:
        """`jobs`, `series`: columns of jobs.parquet and series.parquet."""
        self._jobs = jobs
        self._start_s = np.asarray(jobs["start_s"], dtype=np.float64)
        self._end_s = np.asarray(jobs["end_s"], dtype=np.float64)
        self._read_bytes, self._write_bytes = (moved_bytes(jobs, direction) for direction in ("read", "write"))
        self._bytes = self._read_bytes.astype(np.float64) + self._write_bytes
        numbers = np.asarray(jobs["job"], dtype=np.int64)
        self._span = int(numbers.max(initial=0)) + 1
        self._index = RowIndex(np.asarray(jobs["shard"], dtype=np.int64) * self._span + numbers)
        client = [np.asarray(series[c], dtype=np.float64) for c in _CLIENT_BYTES if c in series]
        per_second = np.sum(client, axis=0) if client else np.zeros(len(series["t_s"]))
        self._client = np.concatenate(([0.0], series["t_s"])), np.concatenate(([0.0], np.cumsum(per_second)))

    def delaying(self, shard: int, jobs: Sequence[int], start_s: float, end_s: float) -> list[DelayingJob]:
        """Return those of `jobs` that ran between two times, the one that ran longest first."""
        rows = [row for job in dict.fromkeys(jobs) if (row := self._index.last(shard * self._span + job)) is not None]
        held = {row: min(end_s, self._end_s[row]) - max(start_s, self._start_s[row]) for row in rows}
        rows = sorted((row for row in rows if held[row] > 0.0), key=lambda row: -held[row])
        return [self._delaying_job(row, float(held[row])) for row in rows]

    def _delaying_job(self, row: int, held_s: float) -> DelayingJob:
        jobs, (waits_s, alone_s) = self._jobs, self._waits(row)
        return DelayingJob(
            job=int(jobs["job"][row]), name=self._name(row), start_s=float(self._start_s[row]),
            end_s=float(self._end_s[row]), held_s=held_s, read_bytes=int(self._read_bytes[row]),
            write_bytes=int(self._write_bytes[row]), waits_s=waits_s, device_alone_s=alone_s,
        )  # fmt: skip

    def _name(self, row: int) -> str:
        numbers, names = self.names
        return names[int(numbers[row])]

    @cached_property
    def names(self) -> tuple[NDArray[np.int64], list[str]]:
        """Return the number of each job's name, and the names: few, while there may be 100,000 jobs."""
        found: dict[tuple[str, int, int], str] = {}
        names: dict[str, int] = {}
        numbers = np.empty(len(self._start_s), dtype=np.int64)
        columns = (np.asarray(self._jobs[c]).tolist() for c in ("kind", "start_level", "output_level"))
        for row, job in enumerate(zip(*columns, strict=True)):
            name = found.get(job) or found.setdefault(job, job_name(*job))
            numbers[row] = names.setdefault(name, len(names))
        return numbers, list(names)

    def _waits(self, row: int) -> tuple[dict[str, float], float]:
        """Return the waits of the threads of a job, the longest first, and its time alone on the device."""
        jobs = self._jobs
        if "device_s" not in jobs:
            return {}, 0.0
        threads = max(1, int(jobs["subcompactions"][row]))
        alone_s = float(jobs["device_alone_s"][row]) / threads
        waits_s = {
            "device": float(jobs["device_s"][row]) / threads - alone_s,
            **{name: float(jobs[f"{name}_wait_s"][row]) / threads for name in ("core", "limiter")},
            **{name: float(jobs[f"{name}_wait_s"][row]) for name in ("slot", "sync")},
        }
        positive = {name: s for name, s in waits_s.items() if s > _NO_WAIT_S}
        return dict(sorted(positive.items(), key=lambda item: -item[1])), alone_s

    def sharing(self, shard: int, job: int) -> Sharing:
        """Return who used the device while a job ran."""
        row = self._index.last(shard * self._span + job)
        assert row is not None, f"shard {shard} has no job {job}"
        start_s, end_s = self._start_s[row], self._end_s[row]
        overlap = np.maximum(np.minimum(self._end_s, end_s) - np.maximum(self._start_s, start_s), 0.0)
        moved: Floats = self._bytes * overlap / np.maximum(self._end_s - self._start_s, 1e-9)
        clients = float(np.interp(end_s, *self._client) - np.interp(start_s, *self._client))
        total = float(moved.sum()) + clients
        users = np.flatnonzero(moved > 0.0)
        others = users[users != row]
        at_a_time = float(overlap[others].sum()) / max(end_s - start_s, 1e-9)
        of_clients = clients / total if clients > 0.0 else 0.0
        return Sharing(self._shares(users, row, moved[users] / total, of_clients), len(others), at_a_time)

    def _shares(self, users: NDArray[np.int64], row: int, shares: Floats, of_clients: float) -> dict[str, float]:
        """Add up the shares of jobs of the same name, the largest first, without those below `_LEAST_SHARE`."""
        numbers, names = self.names
        own = np.where(users == row, len(names), numbers[users])
        total = np.bincount(own, shares, minlength=len(names) + 1).tolist()
        present, first = np.unique(own, return_index=True)
        found = {(*names, "itself")[n]: total[n] for n in present[first.argsort()].tolist()}
        if of_clients > 0.0:
            found["clients"] = of_clients
        return {name: share for name, share in sorted(found.items(), key=lambda item: -item[1]) if share >= _LEAST_SHARE}


_LEAST_SHARE: Final = 0.01
"""Smallest share of the device's bytes that counts as a use of the device."""
_NO_WAIT_S: Final = 1e-9
"""Waits below this are rounding errors of times."""
_CLIENT_BYTES: Final = ("read_bytes_client_per_s", "write_bytes_client_per_s")

"""What held up the stalls of a run, from its tables of stalls and jobs: seconds by holder and job.

`stall_division` has the rules; this module reads tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.sim.clients.latency import Floats
from lsmlab.sim.explain.bottleneck import DEVICES, SATURATED
from lsmlab.sim.explain.resource_use import Curve, use
from lsmlab.sim.explain.stall_division import (
    HOLDERS,
    NUMBER,
    WAITS,
    Held,
    Holder,
    Ints,
    Jobs,
    Slots,
    Stalls,
    divide,
    work_of,
)
from numpy.typing import NDArray

Table = Mapping[str, Any]
_THREADED: Final = ("flush", "compaction", "discarded")
"""Kinds of jobs that occupy a thread for more than a commit."""
_CAPS: Final = ("write_cap", "read_cap", "iops_cap")
_WAIT_COLUMNS: Final = (
    "device_s", "device_alone_s", "core_wait_s", "limiter_wait_s", "sync_wait_s", "halted_s", "slot_wait_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StallWaits:
    """Stalled time of a run, divided among what held it up."""

    jobs: Jobs
    rows: Ints
    """Row of each job in jobs.parquet."""
    work: Ints
    """Work that each stall waits for (`Work`)."""
    held: Held
    """Pieces; their jobs are rows of `jobs`, their stalls rows of stalls.parquet."""

    def of(self, stalls: Sequence[int]) -> Held:
        """Return the pieces of some stalls."""
        mine = np.isin(self.held.stall, np.asarray(stalls, dtype=np.int64))
        held = self.held
        return Held(held.stall[mine], held.holder[mine], held.job[mine], held.seconds[mine])

    def seconds(self, held: Held, numbers: Ints, names: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return the seconds of pieces by holder and name of the job, the longest first; "" where no job is concerned.

        `numbers`: number of each job's name by its row in jobs.parquet.
        """
        name = np.full(len(held.job), len(names))
        concerned = held.job >= 0
        name[concerned] = numbers[self.rows[held.job[concerned]]]
        size = len(names) + 1
        table = np.bincount(held.holder * size + name, held.seconds, minlength=len(HOLDERS) * size).reshape(-1, size)
        found = {}
        for holder in np.argsort(-table.sum(axis=1), kind="stable").tolist():
            order = np.argsort(-table[holder], kind="stable").tolist()
            if parts := {(*names, "")[n]: float(table[holder, n]) for n in order if table[holder, n] > 0.0}:
                found[HOLDERS[holder].value] = parts
        return found


def stall_waits(
    stalls: Sequence[Mapping[str, Any]], jobs: Table, usage: Mapping[str, Curve], stall_seconds: Mapping[str, float],
    slots: Slots | None, pools: Sequence[int] = (),
) -> StallWaits:  # fmt: skip
    """Divide the stalled time of a run.

    `stalls`: rows of stalls.parquet; `jobs`: columns of jobs.parquet; `usage`: use of each resource; `stall_seconds`: time
    that writers waited by cause, in s, to which the pieces of a cause add up; `slots`: threads of a pool, None if they are
    unknown; `pools`: number of the pool of each shard, empty if each has its own.
    """
    if not stalls:
        jobs = {name: values[:0] for name, values in jobs.items()}  # no job held up anything
    named = bool(stalls) and "column_family" in stalls[0] and "column_family" in jobs
    families = np.asarray(jobs["column_family"]) if named else np.zeros(len(jobs["job"]))
    of_stalls = np.array([row["column_family"] if named else 0.0 for row in stalls])
    names, numbers = np.unique(np.concatenate((families, of_stalls)), return_inverse=True)
    shards = np.concatenate((jobs["shard"], [row["shard"] for row in stalls])).astype(np.int64)
    pool = shards
    if len(pools):  # families of all shards of a pool are apart
        pool, numbers = np.asarray(pools, dtype=np.int64)[shards], numbers + shards * len(names)
    threaded, rows = _jobs(jobs, numbers[: len(families)], pool[: len(families)])
    table = _stalls(stalls, numbers[len(families) :], pool[len(families) :], stall_seconds, usage)
    return StallWaits(threaded, rows, table.work, divide(table, threaded, slots))


def _jobs(table: Table, family: Ints, pool: Ints) -> tuple[Jobs, Ints]:
    """Return the jobs that occupy threads, and their rows in the table."""
    kind = np.asarray(table["kind"])
    rows = np.flatnonzero(np.isin(kind, _THREADED))
    start_s, end_s = (np.asarray(table[name], dtype=np.float64)[rows] for name in ("start_s", "end_s"))
    level = np.asarray(table["start_level"], dtype=np.int64)[rows]
    discarded = kind[rows] == "discarded"
    shares, slot_s = _shares(table, rows, end_s - start_s)
    known = ~np.asarray(table["unfinished"], dtype=np.bool_)[rows] & ("device_s" in table)
    jobs = Jobs(
        database=pool[rows], family=family[rows],
        queued_s=start_s - slot_s, start_s=start_s, end_s=np.maximum(start_s, end_s),
        flush=(kind[rows] == "flush") | (discarded & (level < 0)), works=~discarded,
        start_level=level, output_level=np.asarray(table["output_level"], dtype=np.int64)[rows],
        known=known, shares=shares,
    )  # fmt: skip
    return jobs, rows


def _shares(table: Table, rows: Ints, ran_s: Floats) -> tuple[Floats, Floats]:
    """Return the shares of `Jobs.shares`, and the time in the queue in s; zeros for a LOG, which has no waits."""
    if "device_s" not in table:
        return np.zeros((len(rows), len(WAITS))), np.zeros(len(rows))
    read = {name: np.nan_to_num(np.asarray(table[name], dtype=np.float64)[rows]) for name in _WAIT_COLUMNS}
    threads = np.maximum(1.0, np.asarray(table["subcompactions"], dtype=np.float64)[rows])
    alone_s = read["device_alone_s"] / threads
    waits_s = np.column_stack((
        read["device_s"] / threads - alone_s, alone_s, read["core_wait_s"] / threads, read["limiter_wait_s"] / threads,
        read["sync_wait_s"], read["halted_s"],
    ))  # fmt: skip
    shares: Floats = np.maximum(waits_s, 0.0, out=waits_s)
    shares /= np.maximum(ran_s, 1e-12)[:, None]
    shares /= np.maximum(1.0, shares.sum(axis=1))[:, None]
    return shares, np.maximum(read["slot_wait_s"], 0.0)


def _stalls(
    rows: Sequence[Mapping[str, Any]], family: Ints, pool: Ints, stall_seconds: Mapping[str, float],
    usage: Mapping[str, Curve],
) -> Stalls:  # fmt: skip
    """Return the stalls. A slowdown that writers did not notice has no time to divide."""
    cause = np.array([row["cause"] for row in rows])
    start_s, end_s = (np.array([row[name] for row in rows], dtype=np.float64) for name in ("start_s", "end_s"))
    stalled_s = end_s - start_s
    for name in sorted(set(cause.tolist())):
        mine = cause == name
        length_s = float(stalled_s[mine].sum())
        stalled_s[mine] *= stall_seconds.get(name, length_s) / length_s if length_s > 0.0 else 0.0
    transfer, saturated = _transfers(usage, start_s, end_s)
    cores = use(usage["cores"], start_s, end_s) if "cores" in usage else np.zeros(len(start_s))
    return Stalls(
        database=pool, family=family, start_s=start_s, end_s=end_s,
        work=np.array([work_of(name) for name in cause.tolist()], dtype=np.int64),
        slowdown=np.array([name.endswith("slowdown") for name in cause.tolist()], dtype=np.bool_), stalled_s=stalled_s,
        transfer=transfer, saturated=saturated, cores_saturated=cores >= SATURATED,
    )  # fmt: skip


def _transfers(usage: Mapping[str, Curve], starts: Floats, ends: Floats) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the number of the holder of reads and writes in each stall, and whether it was saturated."""
    holder, most = np.full(len(starts), NUMBER[Holder.DEVICE]), np.zeros(len(starts))
    for name in (name for pair in DEVICES.items() for name in pair if name in usage):
        most = np.maximum(most, use(usage[name], starts, ends))
    for name, cap in ((name, use(usage[name], starts, ends)) for name in _CAPS if name in usage):
        fuller = cap > most
        holder, most = np.where(fuller, NUMBER[Holder(name)], holder), np.maximum(most, cap)
    return holder, most >= SATURATED

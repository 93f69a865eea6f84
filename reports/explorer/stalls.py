"""Write stalls in a page: times, causes, costs, the chain of jobs behind each, and the costliest groups of stalls in words."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.explorer.jobs import places
from lsmlab.reports.explorer.packing import narrowed
from lsmlab.reports.palette import stall_color, stall_name
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.delaying_jobs import job_name
from lsmlab.sim.explain.sentences import binding_cap, count, reason_text, stall_group_text
from lsmlab.sim.results.job_sums import moved_bytes
from numpy.typing import NDArray

Ints = NDArray[np.int64]
MOST_CHAINS: Final = 3000
"""Costliest stalls whose chains a page contains."""
_LEAST_WAIT: Final = 0.05
"""Share of a job's time from which its wait for the device is told."""
MOST_TEXTS: Final = 100
"""Costliest stalls that the list of stalls offers, with a sentence each."""


def chain_keys(run: RunData) -> Ints:
    """Return the keys of the jobs in the chains of the costliest stalls."""
    rows = run.ranked_stalls()[:MOST_CHAINS]
    return np.unique(np.array([key for row in rows.tolist() for key in run.chain(row)], dtype=np.int64))


def stall_data(run: RunData, job_rows: Ints) -> dict[str, Any]:
    """Return the stalls of a run; `job_rows`: rows of the jobs in the page, to which the chains refer by place."""
    total = len(run.stalls.get("start_s", ()))
    ranked = run.ranked_stalls()
    causes, cause = np.unique(run.stalls["cause"].astype(str), return_inverse=True) if total else (np.empty(0), np.empty(0))
    chained = set(ranked[:MOST_CHAINS].tolist())
    keys = run.jobs["key"][job_rows] if len(job_rows) else np.empty(0, dtype=np.int64)
    chains = [run.chain(row) if row in chained else [] for row in range(total)]
    flat = places(keys, np.array([key for chain in chains for key in chain], dtype=np.int64))
    lost = run.stalls.get("lost_ops", np.empty(0))
    columns = {
        "start_s": narrowed(run.stalls.get("start_s", np.empty(0)), "f8"),
        "end_s": narrowed(run.stalls.get("end_s", np.empty(0)), "f8"),
        "cause": narrowed(cause, "u1"), "lost_ops": narrowed(lost, "f4"), "rank": narrowed(np.argsort(ranked), "u4"),
        "shard": narrowed(run.stalls.get("shard", np.zeros(total)), "u2"),
        "unfinished": narrowed(run.stalls.get("unfinished", np.zeros(total)), "u1"),
        "chain_ends": narrowed(np.cumsum([0, *map(len, chains)]), "u4"), "chain": flat,
    }  # fmt: skip
    listed = ranked[:MOST_TEXTS].tolist()
    return {
        "count": total, "chained": min(total, MOST_CHAINS), "columns": columns,
        "causes": [{"name": stall_name(str(c)), "color": stall_color(str(c)), "stops": _stops(str(c))} for c in causes],
        "texts": {str(row): stall_text(run, row) for row in listed},
        "listed": [{"row": row, "label": stall_choice(run, row, rank + 1)} for rank, row in enumerate(listed)],
        "groups": _groups(run),
    }  # fmt: skip


def _stops(cause: str) -> bool:
    return not cause.endswith("_slowdown")


def _groups(run: RunData) -> list[dict[str, Any]]:
    """Return the costliest groups of stalls of the summary: times, sentences, and the rows of their stalls."""
    starts, ends, shards = (run.stalls.get(name, np.empty(0)) for name in ("start_s", "end_s", "shard"))
    found = []
    for group in run.summary.get("episodes") or []:
        mine = (shards == group["shard"]) & (starts >= group["start_s"]) & (ends <= group["end_s"])
        found.append({
            "start_s": group["start_s"], "end_s": group["end_s"], "stalls": np.flatnonzero(mine).tolist(),
            "delaying_jobs": [job["job"] for job in group["culprits"]], "jobs": group["chain"]["jobs"],
            "text": stall_group_text(group), "reason": reason_text(group),
        })  # fmt: skip
    return found


def stall_choice(run: RunData, row: int, rank: int) -> str:
    """Return the line of a stall in the list of stalls."""
    start_s, end_s, name = _facts(run, row)
    chain = run.chain(row)
    jobs = "no job" if not chain else "1 job" if len(chain) == 1 else f"{len(chain)} jobs"
    return f"{rank}. {numbers.seconds(end_s - start_s)} from {start_s:,.1f} s: {name}{_lost(run, row)}, {jobs}"


def stall_text(run: RunData, row: int) -> str:
    """Return sentences on a stall: cause, times, cost, the jobs behind it, and what the longest of them waited for."""
    start_s, end_s, name = _facts(run, row)
    chain = run.chain(row)
    in_chain = np.isin(run.jobs.get("key", np.empty(0)), chain)
    waited = _waited_for(run, row, in_chain) if in_chain.any() else "It waited for no background job."
    return (
        f"{name[0].upper()}{name[1:]} for {numbers.seconds(end_s - start_s)}, from {start_s:,.2f} s to {end_s:,.2f} s"
        f"{_lost(run, row)}. {waited}{_wait_sentence(run, row)}"
    )


def _facts(run: RunData, row: int) -> tuple[float, float, str]:
    return float(run.stalls["start_s"][row]), float(run.stalls["end_s"][row]), stall_name(str(run.stalls["cause"][row]))


def _lost(run: RunData, row: int) -> str:
    lost = float(run.stalls["lost_ops"][row])
    return "" if math.isnan(lost) else f", {count(lost)} operations lost"


def _waited_for(run: RunData, row: int, in_chain: NDArray[np.bool_]) -> str:
    moved = sum(float(moved_bytes(run.jobs, direction)[in_chain].sum()) for direction in ("read", "write"))
    levels = " and ".join(f"L{level:.0f}" for level in np.unique(run.jobs["output_level"][in_chain]) if level >= 0)
    jobs = "1 job" if in_chain.sum() == 1 else f"{in_chain.sum()} jobs"
    if run.stalls["unfinished"][row]:
        return (
            f"The stall lasted until the end of the run. It waited for {jobs} into {levels}; the last one was "
            f"unfinished. Read and written by then: {numbers.size(moved)}."
        )
    return f"Before it could end, {jobs} into {levels} had to finish, reading and writing {numbers.size(moved)}."


def _wait_sentence(run: RunData, row: int) -> str:
    """Return what the longest job behind a stall waited for on the device, and who shared it; "" if it did not wait."""
    job = _longest_job(run, row)
    if job is None or "device_s" not in run.jobs:
        return ""
    jobs = run.jobs
    start_s, end_s = jobs["start_s"][job], jobs["end_s"][job]
    wait_s = float(jobs["device_s"][job] - jobs["device_alone_s"][job]) / max(1, int(jobs["subcompactions"][job]))
    if wait_s < _LEAST_WAIT * (end_s - start_s):
        return ""
    moving = (moved_bytes(jobs, "read") + moved_bytes(jobs, "write")) > 0
    others = int((moving & (jobs["start_s"] < end_s) & (jobs["end_s"] > start_s)).sum()) - 1
    shared = f", which it shared with {others} other job{'' if others == 1 else 's'}" if others > 0 else ""
    cap = binding_cap((run.summary.get("bottleneck") or {}).get("uses") or {})
    return f" The {_job_text(run, job)} itself waited {numbers.seconds(wait_s)} for {cap or 'the device'}{shared}."


def _longest_job(run: RunData, row: int) -> int | None:
    """Return the row of the job in a stall's chain that ran longest during the stall; None without such a job."""
    rows = [place for key in run.chain(row) if (place := run.job_rows.get(key)) is not None]
    start_s, end_s = run.stalls["start_s"][row], run.stalls["end_s"][row]
    held = {job: min(run.jobs["end_s"][job], end_s) - max(run.jobs["start_s"][job], start_s) for job in rows}
    return max(held, key=lambda job: held[job], default=None)


def _job_text(run: RunData, row: int) -> str:
    jobs = run.jobs
    name = job_name(str(jobs["kind"][row]), int(jobs["start_level"][row]), int(jobs["output_level"][row]))
    return f"{name} (job {int(jobs['job'][row])})"

"""Sentences on stalls: what a closed loop hides, runs that are too short, and the job behind a stall."""

from __future__ import annotations

from typing import Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.delaying_jobs import job_name
from lsmlab.sim.explain.sentences import binding_cap

_FEW: Final = 10
"""Compactions out of L0 below which a run is too short to show how its store behaves in the long run."""
_LEAST_WAIT: Final = 0.05
"""Share of a job's time from which its wait for the device is told."""
_SETTLED: Final = 0.2
"""Relative change of throughput from the middle to the last third of a run below which it counts as settled."""


def closed_loop_sentence(run: RunData) -> str:
    """Return what a closed loop hides; "" for an open loop, and without stalls."""
    late = run.summary.get("open_loop_latency_s")
    if not late:
        return ""
    return (
        f"P99{_of_writes(run)} hides it: these clients are a closed loop, and a stall delays one write per thread. If operations "
        f"arrived evenly at the same mean rate, they would wait {numbers.seconds(late['p99'])} at P99 and up to "
        f"{numbers.seconds(late['max'])} (a fluid queue before a store that serves what this one served)."
    )


def _of_writes(run: RunData) -> str:
    p99 = (run.summary.get("write_latency_s") or {}).get("p99")
    return f" of writes ({numbers.seconds(p99)})" if p99 else ""


def length_sentence(run: RunData) -> str:
    """Return a warning if the run is too short to tell how its store behaves in the long run; else ""."""
    if "kind" not in run.jobs or "lost_operations" not in run.summary or "conditions" in run.summary:
        return ""  # a run whose device changes does not settle
    out_of_l0 = np.isin(run.jobs["kind"], ("compaction", "link", "drop"))  # LDC links files of L0, FIFO drops them
    from_l0 = int((out_of_l0 & (run.jobs["start_level"] == 0)).sum())
    writes = run.column("write_ops")
    if not writes.any():
        return ""
    if from_l0 < _FEW:
        often = "no compaction" if from_l0 == 0 else "only one compaction" if from_l0 == 1 else f"only {from_l0} compactions"
        return f"The run is short: {often} out of L0. A longer run may behave differently."
    third = len(writes) // 3
    if third == 0:
        return ""
    middle, last = (float(np.mean(part)) for part in (writes[third : 2 * third], writes[2 * third : 3 * third]))
    change = last / middle - 1.0 if middle else 0.0
    if abs(change) < _SETTLED:
        return ""
    return (
        f"The store had not settled: writes in the last third of the run were {numbers.percent(abs(change))} "
        f"{'faster' if change > 0 else 'slower'} than in the middle third."
    )


def wait_sentence(run: RunData, row: int) -> str:
    """Return what the longest job behind a stall waited for on the device, and who shared it; "" if it did not wait."""
    job = longest_job(run, row)
    if job is None or "device_s" not in run.jobs:
        return ""
    jobs = run.jobs
    start_s, end_s = jobs["start_s"][job], jobs["end_s"][job]
    wait_s = float(jobs["device_s"][job] - jobs["device_alone_s"][job]) / max(1, int(jobs["subcompactions"][job]))
    if wait_s < _LEAST_WAIT * (end_s - start_s):
        return ""
    moving = (jobs["read_bytes"] + jobs["write_bytes"]) > 0
    others = int((moving & (jobs["start_s"] < end_s) & (jobs["end_s"] > start_s)).sum()) - 1
    shared = f", which it shared with {others} other job{'' if others == 1 else 's'}" if others > 0 else ""
    cap = binding_cap((run.summary.get("bottleneck") or {}).get("uses") or {})
    return f" The {_job(run, job)} itself waited {numbers.seconds(wait_s)} for {cap or 'the device'}{shared}."


def longest_job(run: RunData, row: int) -> int | None:
    """Return the row of the job in a stall's chain that ran longest during the stall; None without such a job."""
    rows = [place for key in run.chain(row) if (place := run.job_rows.get(key)) is not None]
    start_s, end_s = run.stalls["start_s"][row], run.stalls["end_s"][row]
    held = {job: min(run.jobs["end_s"][job], end_s) - max(run.jobs["start_s"][job], start_s) for job in rows}
    return max(held, key=lambda job: held[job], default=None)


def _job(run: RunData, row: int) -> str:
    jobs = run.jobs
    name = job_name(str(jobs["kind"][row]), int(jobs["start_level"][row]), int(jobs["output_level"][row]))
    return f"{name} (job {int(jobs['job'][row])})"

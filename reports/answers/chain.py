"""Graphic of the costliest group of stalls: writers, the job that they waited for, and what this job waited for itself."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.explain.delaying_jobs import job_name
from lsmlab.sim.explain.sentences import CAUSE_WORDS, WAIT_WORDS, binding_cap, count

_MOST_OF: Final = 0.5
"""Share of a stall from which its chain explains it."""
_LEAST: Final = 0.05
"""Share of a job's time from which the graphic shows a wait."""


def chain_graphic(group: Mapping[str, Any]) -> str:
    """Return the HTML list of the links of a chain, from the writers to the root of their wait."""
    cause = CAUSE_WORDS.get(group["cause"], group["cause"])
    length_s = group["end_s"] - group["start_s"]
    links = [("Writers", f"{cause}, {numbers.seconds(length_s)}", f"{count(group['lost_ops'])} operations lost")]
    if group["culprits"] and group["cause"] == Bottleneck.ERROR:
        first = group["culprits"][0]  # it ended the error, and did not cause it
        ended = f"after {numbers.seconds(length_s)}"
        links.append(("until the next job succeeded", f"{first['name']} (job {first['job']})", ended))
    elif group["culprits"]:
        links += _job(group["culprits"][0], binding_cap(group.get("uses") or {}))
    items = "".join(
        f"<li><span>{html.escape(head)}</span><b>{html.escape(main)}</b><small>{html.escape(more)}</small></li>"
        for head, main, more in links
    )
    return f'<ol class="chain-of-blame">{items}</ol>'


def beside_the_chain(run: RunData, group: Mapping[str, Any]) -> str:
    """Return which compaction out of L0 ran while writers waited, if the chain covers only the end of an L0 stall; else ""."""
    jobs, start_s, end_s = run.jobs, float(group["start_s"]), float(group["end_s"])
    chained_s, long_s = float(group["chain"]["seconds"]), end_s - start_s
    if not str(group["cause"]).startswith("l0_") or chained_s >= _MOST_OF * long_s or "kind" not in jobs:
        return ""
    ran_s = np.minimum(jobs["end_s"], end_s) - np.maximum(jobs["start_s"], start_s)
    out_of_l0 = (jobs["kind"] == "compaction") & (jobs["start_level"] == 0) & (jobs["shard"] == group["shard"])
    ran_s = np.where(out_of_l0, ran_s, 0.0)
    row = int(np.argmax(ran_s)) if len(ran_s) else -1
    if row < 0 or ran_s[row] <= chained_s:
        return ""
    name = job_name("compaction", 0, int(jobs["output_level"][row]))
    return (
        f"The chain is the end of this stall, {numbers.seconds(chained_s)} of {numbers.seconds(long_s)}; for "
        f"{numbers.seconds(float(ran_s[row]))} of it ran the {name} (job {int(jobs['job'][row])}), which kept its inputs in L0."
    )


def _job(delaying_job: Mapping[str, Any], cap: str) -> list[tuple[str, str, str]]:
    ran_s = delaying_job["end_s"] - delaying_job["start_s"]
    moved = delaying_job["read_bytes"] + delaying_job["write_bytes"]
    of = f" for {numbers.size(moved)}" if moved else ""
    links = [("waited for", f"{delaying_job['name']} (job {delaying_job['job']})", f"ran {numbers.seconds(ran_s)}{of}")]
    slot_s = delaying_job["waits_s"].get("slot", 0.0)
    waits = {name: s for name, s in delaying_job["waits_s"].items() if s >= _LEAST * (ran_s + slot_s)}
    if delaying_job["waits_s"] and not waits:
        links.append(("which waited for", "nothing", "it read, computed and wrote at full speed"))
    for name, wait_s in list(waits.items())[:2]:
        words = f"for {cap}" if cap and name == "device" else WAIT_WORDS[name]
        more = _sharing(delaying_job) if name == "device" else ""
        links.append(("which itself waited", f"{numbers.seconds(wait_s)} {words}", more))
    return links


def _sharing(delaying_job: Mapping[str, Any]) -> str:
    """Return who used the device while a job waited for it."""
    others = [f"{name} {numbers.percent(share)}" for name, share in delaying_job["device_shares"].items() if name != "itself"]
    own = delaying_job["device_shares"].get("itself")
    if not others or own is None:
        return "nobody shared it: the limit is its own speed" if own else ""
    return f"shared with {', '.join(others[:3])}; it had {numbers.percent(own)} of the bytes"

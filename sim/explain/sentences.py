"""Sentences on the cost and the reason of stalls, from the numbers of summary.json. Terminal and pages show the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.units import format_bytes, format_seconds

CAUSE_WORDS: Final = {
    "memtable_stop": "memtables full, stopped",
    "memtable_slowdown": "memtables nearly full, slowed",
    "l0_stop": "L0 files, stopped",
    "l0_slowdown": "L0 files, slowed",
    "pending_stop": "pending compaction bytes, stopped",
    "pending_slowdown": "pending compaction bytes, slowed",
    "background_error": "background error, stopped",
    "write_buffer_manager_limit": "write buffer manager full, stopped",
    "ingestion": "files ingested, stopped",
}
"""Stall causes as text."""
WAIT_WORDS: Final = {
    "device": "for the device",
    "core": "for a core",
    "slot": "for a slot",
    "limiter": "for the rate limiter",
    "sync": "in fsyncs",
}
CAP_WORDS: Final = {
    "write_cap": "the cap on written bytes",
    "read_cap": "the cap on read bytes",
    "iops_cap": "the cap on operations per second",
}
"""Caps of a device by the names of their uses."""
_LEAST_WAIT: Final = 0.05
"""Share of a job's time from which a sentence names a wait."""


def binding_cap(uses: Mapping[str, float]) -> str:
    """Return the cap that was in fuller use than the device itself, in words; "" if there was none."""
    caps = [name for name in CAP_WORDS if uses.get(name, 0.0) > uses.get("device", 0.0)]
    return CAP_WORDS[max(caps, key=lambda name: uses[name])] if caps else ""


def device_use(summary: Mapping[str, Any]) -> str:
    """Return how busy the device was over the run, or how much of its cap was used, such as "93 % busy"."""
    share = percent(summary["device"]["utilisation"])
    cap = binding_cap((summary.get("bottleneck") or {}).get("uses") or {})
    return f"{share} of {cap} used" if cap else f"{share} busy"


def stall_group_text(group: Mapping[str, Any]) -> str:
    """Return the cause, length and cost of a group of stalls, such as "L0 files, slowed: 24.5 s from 240.4 s, ..."."""
    length_s = group["end_s"] - group["start_s"]
    text = f"{CAUSE_WORDS.get(group['cause'], group['cause'])}: {format_seconds(length_s)} from {group['start_s']:,.1f} s"
    others = group["stalls"] - 1
    text += f" ({group['stalls']} stalls)" if others else ""
    if group["lost_ops"] is None:
        return f"{text}; the operations that it cost are unknown, as the rate of writes is"
    return f"{text}, {count(group['lost_ops'])} operations lost ({percent(group['lost_share'])} of all lost)"


def reason_text(group: Mapping[str, Any]) -> str:
    """Return the job that a group of stalls waited for longest, and what this job waited for; "" without such a job."""
    if not group["culprits"]:
        return ""
    delaying_job = group["culprits"][0]
    ran_s = delaying_job["end_s"] - delaying_job["start_s"]
    text = f"{delaying_job['name']} (job {delaying_job['job']}), {format_seconds(ran_s)}"
    if moved := delaying_job["read_bytes"] + delaying_job["write_bytes"]:
        text += f" for {format_bytes(moved)}"
    slot_s = delaying_job["waits_s"].get("slot", 0.0)
    waits = {name: s for name, s in delaying_job["waits_s"].items() if s >= _LEAST_WAIT * (ran_s + slot_s)}
    if not waits:
        return f"{text}, without waits of its own" if delaying_job["waits_s"] else text
    cap = binding_cap(group.get("uses") or {})
    return f"{text}; the job itself waited " + joined([_wait(name, s, delaying_job, cap) for name, s in waits.items()])


def count(number: float) -> str:
    """Format a number of operations, such as 208.7 million."""
    for unit, factor in (("billion", 1e9), ("million", 1e6)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number:,.0f}"


def percent(share: float) -> str:
    """Format a share of one, such as 84 % or 0.3 %."""
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 9.95 or value == 0.0 else f"{value:.1f} %" if value >= 0.05 else "< 0.1 %"


def overload_text(found: Mapping[str, float]) -> str:
    """Return that a store cannot keep up, from `overload` of its summary.

    >>> overload_text({"asked_ops_per_s": 276_000.0, "takes_ops_per_s": 201_000.0})
    'cannot keep up: takes 201,000 of 276,000 operations/s; the queue grows'
    """
    takes, asked = found["takes_ops_per_s"], found["asked_ops_per_s"]
    return f"cannot keep up: takes {takes:,.0f} of {asked:,.0f} operations/s; the queue grows"


def _wait(name: str, wait_s: float, delaying_job: Mapping[str, Any], cap: str) -> str:
    text = f"{format_seconds(wait_s)} {f'for {cap}' if cap and name == 'device' else WAIT_WORDS[name]}"
    others = [f"{name} {percent(share)}" for name, share in delaying_job["device_shares"].items() if name != "itself"]
    if name != "device" or not others:
        return text
    own = delaying_job["device_shares"].get("itself", 0.0)
    jobs = delaying_job["neighbours"]
    at_a_time = f", {delaying_job['neighbours_at_a_time']:.2g} at a time" if jobs > 1 else ""
    other_jobs = f"{jobs} other job{'' if jobs == 1 else 's'}{at_a_time}" if jobs else "clients"
    return f"{text}, shared with {other_jobs} (it had {percent(own)} of the bytes; {', '.join(others[:2])})"


def joined(parts: Sequence[str]) -> str:
    """Return words as a list, such as "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

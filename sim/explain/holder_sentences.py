"""Sentences on what held up stalled writers, from the seconds by holder in summary.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from lsmlab.models.units import format_seconds
from lsmlab.sim.explain.bottleneck import DEVICES, SATURATED, Bottleneck, busiest, short_of_requests
from lsmlab.sim.explain.sentences import joined, percent
from lsmlab.sim.explain.stall_division import Holder

NO_BOTTLENECK: Final = "no bottleneck"
"""Begin of the sentence of a run that nothing held back."""
LEAST_SHARE: Final = 0.05
"""Share of the stalled time from which a sentence names a holder."""
_MOST_PARTS: Final = 3
_MOST_NAMES: Final = 2
_PHRASES: Final = {
    Holder.FLUSH_SLOTS: "waited for {flush_thread}, which ran {jobs}",
    Holder.COMPACTION_SLOTS: "waited for {compaction_thread}, which ran {jobs}",
    Holder.LATE_START: "passed in {jobs}, begun late because {compaction_threads} with other compactions",
    Holder.LOCKED_FILES: "waited for files that {jobs} had locked",
    Holder.DEVICE: "waited for {device} in {jobs}",
    Holder.WRITE_CAP: "waited for the cap on written bytes in {jobs}",
    Holder.READ_CAP: "waited for the cap on read bytes in {jobs}",
    Holder.IOPS_CAP: "waited for the cap on operations per second in {jobs}",
    Holder.LIMITER: "waited for RocksDB's rate limiter in {jobs}",
    Holder.CORES: "waited for the cores in {jobs}",
    Holder.SYNC: "passed in fsyncs of {jobs}",
    Holder.PAUSED: "waited while the scheduler had paused {jobs}",
    Holder.OWN_SPEED: "passed in {jobs} at full speed",
    Holder.UNKNOWN: "passed in {jobs}, {unknown}",
    Holder.THROTTLE: "passed in {jobs} without a wait, but the throttle slowed writers before they were due",
    Holder.ERROR: "passed until the store had recovered from a background error",
    Holder.MANAGER: "passed until flushes had freed memory of the write buffer manager",
}
_LATE_S: Final = 0.1
"""P99 of a latency from which on operations waited in a queue, where write stalls cost hardly any."""
_PLURALS: Final = {"flush": "flushes"}
_LEAST_NAMED: Final = 0.1
"""Share of a holder's time from which a job is named beside the first."""
_NO_JOB: Final = "passed while no job ran that could end the stall"
_OF_A_LOG: Final = "imported"
"""Name of the device of a store that was imported from a LOG (`validation.importer.configuration`)."""
_IN_A_LOG: Final = "whose use of device and cores is not in a LOG"
_UNFINISHED: Final = "unfinished at the end of the run, so that their waits are not all known"
_HEADS: Final = {
    Bottleneck.DEVICE_BANDWIDTH: "device bandwidth",
    Bottleneck.DEVICE_REQUESTS: "IOPS or seeks of the device",
    Bottleneck.WRITE_CAP: "cap on written bytes",
    Bottleneck.READ_CAP: "cap on read bytes",
    Bottleneck.IOPS_CAP: "cap on operations per second",
    Bottleneck.LIMITER: "RocksDB's rate limiter",
    Bottleneck.CORES: "cores ({cores:g})",
    Bottleneck.SYNC: "fsyncs",
    Bottleneck.LOCKED_FILES: "locked files",
    Bottleneck.PAUSED: "pauses of the scheduler",
    Bottleneck.L0_COMPACTION: "L0 compaction, of which one runs at a time",
    Bottleneck.COMPACTION_SPEED: "the speed of compactions",
    Bottleneck.MEMTABLES: "memtables (max_write_buffer_number={memtables})",
    Bottleneck.ERROR: "a background error",
    Bottleneck.MANAGER: "the write buffer manager, whose buffer was full",
    Bottleneck.THROTTLE: "the throttle",
}
_HEADS_OF_SEVERAL: Final = {
    Bottleneck.DEVICE_BANDWIDTH: "bandwidth of {device}",
    Bottleneck.DEVICE_REQUESTS: "IOPS or seeks of {device}",
}
"""The same with the name of one of several devices."""
_USE_WORDS: Final = {
    "device": "device", "bandwidth": "its bandwidth", "cold_device": "cold device", "cold_bandwidth": "its bandwidth",
    "wal_device": "WAL device", "wal_bandwidth": "its bandwidth", "write_cap": "cap on written bytes",
    "read_cap": "cap on read bytes", "iops_cap": "cap on operations per second", "limiter": "rate limiter", "cores": "cores",
    "flush_slots": "flush threads", "compaction_slots": "compaction threads",
}  # fmt: skip
"""Uses of resources as text."""


@dataclass(frozen=True, slots=True)
class Part:
    """Part of the stalled time with one holder."""

    holder: Holder
    share: float
    seconds: float
    text: str
    """What happened in this part, such as "waited for the only compaction thread, which ran flushes"."""


def parts_of(held_s: Mapping[str, Mapping[str, float]], summary: Mapping[str, Any]) -> list[Part]:
    """Return the parts of stalled time by holder, the largest first.

    `held_s`: seconds by holder and job, as in `stall_waits_s`; `summary`: that of the run.
    """
    total_s = sum(sum(jobs.values()) for jobs in held_s.values())
    found = []
    for name, jobs in held_s.items():
        holder, seconds = Holder(name), sum(jobs.values())
        found.append(Part(holder, seconds / total_s, seconds, _phrase(holder, jobs, summary)))
    return found


def held_text(held_s: Mapping[str, Mapping[str, float]], summary: Mapping[str, Any]) -> str:
    """Return the largest parts of stalled time in one line; "" without any."""
    parts = [p for p in parts_of(held_s, summary) if p.share >= LEAST_SHARE][:_MOST_PARTS]
    return "; ".join(f"{percent(part.share)} {part.text}" for part in parts)


def bottleneck_text(summary: Mapping[str, Any]) -> str:
    """Return the sentence on the bottleneck of a run, from its summary."""
    found, held_s = summary["bottleneck"], summary.get("stall_waits_s") or {}
    if found["resource"] == Bottleneck.NONE and found["lost_share"] is None:
        return f"{NO_BOTTLENECK}: writers hardly waited for flushes and compactions"
    if found["resource"] == Bottleneck.NONE:
        return _queue_text(summary) or f"{NO_BOTTLENECK}: write stalls cost {percent(found['lost_share'])} of the operations"
    if not held_s:
        return "unknown: the input does not show the times of the stalls"
    if found["resource"] == Bottleneck.UNKNOWN and set(held_s) == {Holder.THROTTLE}:
        return "unknown: the input does not show which jobs ran during the stalls"
    total_s = sum(sum(jobs.values()) for jobs in held_s.values())
    text = f"{_head(summary)}: of {format_seconds(total_s)} stalled, {held_text(held_s, summary)}"
    uses = uses_text(found["uses"])
    return f"{text}; {uses}" if uses else text


class QueueFor(StrEnum):
    """What operations waited for although write stalls hardly cost any, as sentences name it."""

    DEVICE = "the device"
    CLIENTS = "the clients' threads"


def queue_for(summary: Mapping[str, Any]) -> QueueFor | None:
    """Return what operations of a run without a bottleneck waited for; None if they did not wait, or it is not known."""
    use = _busiest_device(summary).get("utilisation")
    late = any(((summary.get(f"{name}_latency_s") or {}).get("p99") or 0.0) >= _LATE_S for name in ("write", "read"))
    if use is None or not (late or summary.get("overload")):
        return None
    return QueueFor.DEVICE if use >= SATURATED else QueueFor.CLIENTS


def _queue_text(summary: Mapping[str, Any]) -> str:
    """Return why operations waited although write stalls hardly cost any; "" if they did not wait."""
    queue = queue_for(summary)
    if queue is None:
        return ""
    device = _busiest_device(summary)
    use, lost = percent(device["utilisation"]), percent(summary["bottleneck"]["lost_share"])
    rest = f"{_name(device)} was busy {use} of the run; write stalls cost {lost} of the operations"
    if queue is QueueFor.DEVICE:
        return f"{queue}: {rest}"
    when = "operations arrive" if summary.get("overload") else "at times operations arrived"
    return f"{queue}: {when} faster than these do them one after the other; {rest}"


def uses_text(uses: Mapping[str, float]) -> str:
    """Return the uses of resources during the stalls, such as "in use meanwhile: device 93 %"; "" for a LOG."""
    hidden = set(DEVICES.values()) - ({DEVICES[busiest(uses)]} if short_of_requests(uses) else set())
    shown = {name: share for name, share in uses.items() if name not in hidden}
    known = [f"{words} {percent(shown[name])}" for name, words in _USE_WORDS.items() if name in shown]
    return f"in use meanwhile: {', '.join(known)}" if known else ""


def _head(summary: Mapping[str, Any]) -> str:
    """Return the name of the bottleneck."""
    found, options, held_s = summary["bottleneck"], summary.get("options") or {}, summary["stall_waits_s"]
    if found["resource"] == Bottleneck.SLOTS:
        flushes = sum((held_s.get(Holder.FLUSH_SLOTS) or {}).values())
        rest = sum(sum((held_s.get(name) or {}).values()) for name in (Holder.COMPACTION_SLOTS, Holder.LATE_START))
        kind = "flush" if flushes > rest else "compaction"
        number = _threads(summary, kind)
        if number is None:
            return f"{kind} threads"
        jobs = options.get("max_background_jobs") if str(summary.get("engine", "")).startswith("rocksdb") else None
        threads = f"the only {kind} thread" if number == 1 else f"the {number} {kind} threads"
        return threads if jobs is None else f"{threads} (max_background_jobs={jobs})"
    if found["resource"] == Bottleneck.UNKNOWN:
        jobs = list(held_s.get(Holder.UNKNOWN) or {})
        return f"the {jobs_text(jobs[:1])} themselves" if "import" in summary and jobs else "unknown"
    head = _HEADS[Bottleneck(found["resource"])]
    if summary.get("devices"):
        head = _HEADS_OF_SEVERAL.get(Bottleneck(found["resource"]), head)
    return head.format(
        device=_device(summary),
        cores=(summary.get("cpu") or {}).get("cores", 0.0), memtables=options.get("max_write_buffer_number", "unknown")
    )


def jobs_text(names: Sequence[str]) -> str:
    """Return names of jobs in the plural.

    >>> jobs_text(["compaction from L1 to L2", "compaction from L2 to L3", "flush"])
    'compactions from L1 to L2 and from L2 to L3, and flushes'
    """
    compactions = [name.removeprefix("compaction ") for name in names if name.startswith("compaction ")]
    found: dict[str, None] = {}
    for name in names:
        text = f"compactions {joined(compactions)}" if name.startswith("compaction ") else _PLURALS.get(name, name)
        found[text] = None
    return ", and ".join(found)


def _phrase(holder: Holder, jobs: Mapping[str, float], summary: Mapping[str, Any]) -> str:
    most = _LEAST_NAMED * sum(jobs.values())
    names = [name for name, seconds in jobs.items() if name and seconds >= most][:_MOST_NAMES]
    if not names and holder not in (Holder.ERROR, Holder.MANAGER):
        return _NO_JOB
    return _PHRASES[holder].format(
        jobs=jobs_text(names) if names else "", device=_device(summary),
        unknown=_IN_A_LOG if "import" in summary else _UNFINISHED, flush_thread=_one_thread(summary, "flush"),
        compaction_thread=_one_thread(summary, "compaction"), compaction_threads=_all_threads(summary),
    )  # fmt: skip


def _device(summary: Mapping[str, Any]) -> str:
    """Return the name of the device, of several the one in fullest use during the stalls."""
    devices = summary.get("devices") or {}
    name = busiest((summary.get("bottleneck") or {}).get("uses") or {})
    return _name(devices.get(name) or summary.get("device") or {})


def _busiest_device(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts of the device, of several the one that was busiest over the run."""
    devices = list((summary.get("devices") or {}).values())
    return max(devices, key=lambda one: one["utilisation"]) if devices else summary.get("device") or {}


def _name(device: Mapping[str, Any]) -> str:
    """Return the name of a device; that of a LOG has none."""
    name = device.get("name")
    return str(name) if name and name != _OF_A_LOG else "the device"


def _threads(summary: Mapping[str, Any], kind: str) -> int | None:
    return ((summary.get("bottleneck") or {}).get("threads") or {}).get({"flush": "flushes"}.get(kind, "compactions"))


def _one_thread(summary: Mapping[str, Any], kind: str) -> str:
    number = _threads(summary, kind)
    return f"the only {kind} thread" if number == 1 else f"one of the {number or ''} {kind} threads".replace("  ", " ")


def _all_threads(summary: Mapping[str, Any]) -> str:
    number = _threads(summary, "compaction")
    return "the only thread was busy" if number == 1 else f"all {number} threads were busy" if number else "all threads were busy"

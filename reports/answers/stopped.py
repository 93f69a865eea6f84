"""What stopped a store and for how long: causes of write stalls by the operations that they cost.

An open loop that asks for more than the store serves has a queue, also without a stall.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.palette import stall_color, stall_name
from lsmlab.reports.run_data import RunData
from lsmlab.reports.run_sentences import stall_reason
from lsmlab.sim.explain.bottleneck import SATURATED, Bottleneck
from lsmlab.sim.explain.holder_sentences import NO_BOTTLENECK
from lsmlab.sim.explain.sentences import count, stall_group_text

_LONG_S: Final = 1.0
"""Length of a queue, in seconds of the mean throughput, from which it counts."""
_TIE: Final = 0.9
"""Ratio of the second largest share to the largest from which both count as equal."""
_SHORT: Final = {
    "memtable_stop": "Full memtables stopped writes",
    "memtable_slowdown": "Nearly full memtables slowed writes",
    "l0_stop": "Files in L0 stopped writes",
    "l0_slowdown": "Files in L0 slowed writes",
    "pending_stop": "Pending compaction bytes stopped writes",
    "pending_slowdown": "Pending compaction bytes slowed writes",
    "background_error": "A background error stopped writes",
    "write_buffer_manager_limit": "A full write buffer manager stopped writes",
    "ingestion": "Ingestion of files stopped writes",
}
"""Headline by the costliest cause."""


@dataclass(frozen=True)
class Cause:
    """Cause of stalls with its share of the cost."""

    name: str
    color: str
    share: float
    text: str


def causes(run: RunData) -> list[Cause]:
    """Return the causes of stalls with their shares of the lost operations, else of the stalled time; costliest first."""
    lost = (run.summary.get("lost_operations") or {}).get("by_cause") or {}
    weights: Mapping[str, float] = lost if sum(lost.values()) > 0 else run.stall_seconds()
    total, seconds = sum(weights.values()), run.stall_seconds()
    ordered = sorted(weights, key=lambda cause: -weights[cause])
    return [
        Cause(
            cause, stall_color(cause), weights[cause] / total,
            f"{stall_name(cause)}: {numbers.percent(weights[cause] / total)}, {numbers.seconds(seconds.get(cause, 0.0))}",
        )
        for cause in ordered
    ]  # fmt: skip


def what_stopped(run: RunData) -> tuple[str, list[str]]:
    """Return headline and sentences on what stopped the writers."""
    found = causes(run)
    if run.stalls_unknown:
        return "Unknown: the input does not tell", ["It has no line of a write stall, and no statistics that count them."]
    if run.stall_times_unknown:
        return "Write stalls, but their times are unknown", [_counters(run)]
    if not found and queued(run) is not None:
        return "No write stall, but operations queued", ["Writers were not slowed or stopped, and still had to wait in line."]
    if not found:
        return "Nothing: no write stalls", ["Writers were never slowed or stopped by flushes or compactions.", *_own_time(run)]
    first = found[0]
    headline = _SHORT.get(first.name, f"{stall_name(first.name)}")
    cost = "lost operations" if run.summary.get("lost_operations", {}).get("total") else "stalled time"
    sentences = [f"{numbers.percent(first.share)} of the {cost}: {stall_reason(first.name, run)}."]
    if len(found) > 1 and found[1].share >= _TIE * first.share:
        headline += f", and {_SHORT.get(found[1].name, stall_name(found[1].name)).lower()}"
        sentences.append(f"It is a tie: “{stall_name(found[1].name)}” cost {numbers.percent(found[1].share)}.")
    return headline, sentences


def is_calm(run: RunData) -> bool:
    """Return whether nothing held the clients back: no stall, no queue, and none that the input does not show."""
    return not run.summary.get("episodes") and queued(run) is None and not run.stall_times_unknown


_ERRORS: Final = {
    "no_space": ("the device was full", "Keep more space free than the largest flush or compaction writes."),
    "io_error": ("an I/O error", "RocksDB goes on by itself only after errors that it may retry."),
}
"""Reason of a failed job in words, and what helps against it."""


def failures(run: RunData) -> list[tuple[str, str]]:
    """Return why jobs failed and what helps, if a background error was the bottleneck."""
    if (run.summary.get("bottleneck") or {}).get("resource") != Bottleneck.ERROR or "reason" not in run.jobs:
        return []
    return [_ERRORS[reason] for reason in dict.fromkeys(run.jobs["reason"]) if reason in _ERRORS]


TIMES_UNKNOWN: Final = "The input does not show which jobs ran during the stalls."
"""Reason of stalls whose times are unknown."""


def _counters(run: RunData) -> str:
    """Return how often each stall cause occurred, by RocksDB's counters or the lines of stalls."""
    counts = sorted(run.stall_counts().items(), key=lambda item: -item[1])
    told = ", ".join(f"{stall_name(cause)} {numbers.count(n)}" for cause, n in counts)
    return f"Stalls by cause: {told}." if told else "The input does not tell their causes."


def bottleneck_parts(text: str) -> tuple[str, str]:
    """Return the name of a bottleneck and its explanation from the sentence of a summary.

    >>> bottleneck_parts("cap on read bytes: 98 % of it was used; jobs waited 5 us for it")
    ('Bottleneck: cap on read bytes', '98 % of it was used; jobs waited 5 µs for it')
    >>> bottleneck_parts("no bottleneck: write stalls cost 0 % of the operations")
    ('No bottleneck', 'write stalls cost 0 % of the operations')
    """
    head, _, rest = numbers.on_page(text).partition(":")
    return "No bottleneck" if head == NO_BOTTLENECK else f"Bottleneck: {head}", rest.strip()


def _own_time(run: RunData) -> list[str]:
    """Return what a write of a closed loop without stalls spends its time on."""
    p50_s = run.number("write_latency_s.p50")
    open_loop = "backlog_ops" in run.series and run.column("backlog_ops").any()
    if p50_s is None or open_loop:
        return []
    synced = re.search(r"^\s+sync: true\b", run.config_text, re.MULTILINE) is not None
    what = "the fsync of the WAL (sync: true) and CPU time" if synced else "CPU time and the WAL"
    return [f"A write took {numbers.seconds(p50_s)} at P50: {what}."]


def how_long(run: RunData) -> tuple[str, list[str]]:
    """Return headline and sentences on the time and the operations that stalls cost, and on what a closed loop hides."""
    stalled_s = sum(run.stall_seconds().values())
    if (queue := queued(run)) is not None:
        return _how_long_queued(run, queue)
    if run.stall_times_unknown:
        share, waited_s = run.number("stall_fraction"), run.number("stall_measured.seconds")
        if share:
            return f"{numbers.percent(share)} of the time", ["The input has RocksDB's sum of the stalls, not the times of each."]
        if waited_s:
            return numbers.seconds(waited_s), ["The input has RocksDB's sum of the stalls, not the time that it covers."]
        length = numbers.duration(run.duration_s) if run.duration_s else "an unknown time"
        return "Unknown", [f"The input covers {length}."]
    if not stalled_s:
        return "0 s", [f"The run lasted {numbers.duration(run.duration_s)}."]
    headline = f"{numbers.percent(run.summary['stall_fraction'])} of the time"
    many = run.number("stalls") or len(run.stalls.get("start_s", ()))
    spans = f"{numbers.seconds(stalled_s)} of {numbers.duration(run.duration_s)} in {many:,.0f} stall{'' if many == 1 else 's'}"
    sentences = [spans + "."]
    lost = run.summary.get("lost_operations") or {}
    if lost.get("total"):
        headline += f", {numbers.percent(lost['share'])} of the operations"
        sentences = [f"{spans}, which cost {count(lost['total'])} operations, {numbers.percent(lost['share'])} of those that "
                     "clients asked for."]  # fmt: skip
    if groups := run.summary.get("episodes"):
        many = lost.get("episodes", len(groups))
        worst = f"Costliest of {many:,} groups (stalls without recovery between them): " if many > 1 else "One group of stalls: "
        sentences.append(numbers.on_page(f"{worst}{stall_group_text(groups[0])}."))
    return headline, sentences


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


@dataclass(frozen=True)
class Queued:
    """Queue of the operations of an open loop."""

    most_ops: float
    """Largest number of waiting operations."""
    seconds: float
    """Time during which more operations waited than the store serves in a second."""
    p99_s: float | None
    """P99 latency of writes."""
    device_use: float | None
    """Share of the run in which the device was busy."""

    @property
    def resource(self) -> str:
        """Resource that was short as far as the means of the run tell."""
        return Bottleneck.DEVICE_BANDWIDTH if (self.device_use or 0.0) >= SATURATED else Bottleneck.UNKNOWN


def queued(run: RunData) -> Queued | None:
    """Return the queue of a run without stalls; None if there was none."""
    if sum(run.stall_seconds().values()) or run.stall_times_unknown or "backlog_ops" not in run.series:
        return None
    backlog, rate = run.column("backlog_ops"), run.number("ops_per_s") or 0.0
    if not len(backlog) or backlog.max() <= _LONG_S * rate:
        return None
    step_s = np.diff(run.times_s, prepend=0.0)
    use = run.number("device.utilisation")
    p99_s = run.number("write_latency_s.p99")
    return Queued(float(backlog.max()), float(step_s[backlog > _LONG_S * rate].sum()), p99_s, use)


def _how_long_queued(run: RunData, queue: Queued) -> tuple[str, list[str]]:
    """Return headline and sentence on the time for which operations waited."""
    long, whole = numbers.duration(queue.seconds), numbers.duration(run.duration_s)
    late = f"; write P99 {numbers.seconds(queue.p99_s)}" if queue.p99_s else ""
    return f"{long} with a queue", [
        f"Up to {count(queue.most_ops)} operations waited. In {long} of {whole} they were more than a second's work{late}."
    ]


def why_queued(run: RunData, queue: Queued) -> tuple[str, list[str]]:
    """Return headline and sentences on why operations waited."""
    changes = (run.summary.get("conditions") or {}).get("changes") or []
    said = "; ".join(f"at {change['at_s']:g} s {change['text']}" for change in changes)
    sentences = [f"The device changed: {said}."] if said else []
    if queue.device_use is not None:
        sentences.append(f"The device was busy {numbers.percent(queue.device_use)} of the whole run.")
    return "Operations arrived faster than the store served them", sentences

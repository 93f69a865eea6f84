"""Binding constraint of a candidate in words: what fails just above the largest sustainable rate, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lsmlab.sim.studies.plan.service_levels import LEVELS, ServiceLevels
from lsmlab.sim.studies.plan.trial import Trial

_BUSY: Final = 0.95
"""Share of its time from which a resource counts as used up."""
_MANY: Final = 0.9
"""Mean share of compaction slots in use from which they count as used up; a slot is free between two jobs."""
_STALLED: Final = 0.01
"""Stalled share of the time from which stalls explain why a store does not keep up."""
_CAUSES: Final = {
    "memtable": "flushes are too slow (memtable stalls)", "l0": "L0 compaction is too slow (L0 stalls)",
    "pending": "compactions are behind (pending bytes)",
}  # fmt: skip


def constraint(failed: Trial, limits: Mapping[str, float], levels: ServiceLevels) -> str:
    """Return one clause about the symptom and one about its cause."""
    return f"{symptom(failed, levels)}; {cause(failed, limits)}"


def symptom(failed: Trial, levels: ServiceLevels) -> str:
    """Return what fails."""
    if failed.reason in LEVELS:
        level = LEVELS[failed.reason]
        limit = levels.limits()[failed.reason]
        return f"{level.label} {level.form(failed.levels[failed.reason])}, limit {level.form(limit)}"
    grows = {g.quantity: g for g in failed.growths}.get(failed.reason)
    per_s = grows.per_s if grows is not None else 0.0
    return {
        "backlog": f"backlog grows by {per_s:,.0f} operations/s",
        "debt": f"compaction debt grows by {per_s / 1e6:,.2g} MB/s",
        "l0": f"L0 grows by {60.0 * per_s:,.2g} files/min",
        "tree": f"levels above the last grow by {per_s / 1e6:,.2g} MB/s",
    }.get(failed.reason, failed.reason)


def cause(failed: Trial, limits: Mapping[str, float]) -> str:
    """Return the resource that is used up, or the kind of stalls."""
    values = failed.values
    busy = values.get("device.utilisation", 0.0)
    drive = "drive or its cap" if limits.get("caps") else "drive"
    if busy >= _BUSY:
        return f"{drive} busy {busy:.0%}"
    cores, used = limits.get("cores", 0.0), values.get("cpu.background_busy_cores", 0.0)
    if cores and used >= _MANY * cores:
        return f"all {cores:.0f} cores busy with compactions"
    slots = limits.get("slots", 0.0)
    if slots and values.get("compactions", 0.0) >= _MANY * slots:
        which = "the only compaction slot is" if slots == 1 else f"all {slots:.0f} compaction slots are"
        return f"{which} busy ({drive} {busy:.0%})"
    if failed.causes and values.get("stall_fraction", 0.0) >= _STALLED:
        worst = max(failed.causes, key=lambda name: failed.causes[name])
        return f"{_CAUSES.get(worst.partition('_')[0], worst)} ({drive} {busy:.0%})"
    if failed.reason == "backlog":
        return f"the {limits.get('threads', 0.0):.0f} client threads are busy ({drive} {busy:.0%})"
    return f"{drive} busy {busy:.0%}"

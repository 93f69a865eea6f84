"""Trial of one rate: runs of growing length until it is clear whether the store keeps up; and what limits it, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import numpy as np
from lsmlab.models.units import quantity
from lsmlab.sim.explain.settled import GrowthVerdict, QuantityGrowth, growths
from lsmlab.sim.runs.store import StoredTable
from lsmlab.sim.studies.metrics import value_of
from lsmlab.sim.studies.plan.planned_store import READ_ONLY_S, SHORTEST_S, PlannedStore
from lsmlab.sim.studies.plan.rounds import PlanRuns, Steps
from lsmlab.sim.studies.plan.service_levels import LEVELS, ServiceLevels, broken, measured

_RECOVERING: Final = ("backlog_ops", "l0_files", "pending_bytes")
"""Columns of series.parquet that must fall back after a burst."""
_SETTLED: Final = 0.5
"""Share of the time before the burst after which the store has settled."""
_LENGTHS: Final = (1.0, 2.0, 4.0)
"""Lengths of the runs of a trial, in units of `SearchSettings.turnovers`; a longer one follows an unclear one."""
_LATER: Final = 0.5
"""Share of a run before the part that is tested: levels fill up to their targets in it."""
KEPT: Final = (
    "ops_per_s", "write_amplification", "space_amplification", "stall_fraction", "longest_stall_s", "live_bytes",
    "device.write_bytes_per_s", "device.utilisation", "device.endurance_bytes", "device.flash_write_amplification",
    "cpu.cores", "cpu.background_busy_cores",
)  # fmt: skip
"""Numbers of summary.json that a trial keeps."""
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


@dataclass(frozen=True, kw_only=True)
class LoadBursts:
    """Bursts of the load."""

    factor: float = quantity("ratio", low=1.0)
    """Rate during a burst over the rate around it."""
    length: float = quantity("seconds", low=1.0)


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Settings of the search for the largest sustainable rate."""

    precision: float = quantity("ratio", 0.02, low=0.001, high=0.5)
    """Ratio, minus one, of the lowest rate that fails and the highest rate that holds, at the end of the search."""
    turnovers: float = quantity("ratio", 3.0, low=0.01)
    """Bytes that clients write in a run, in units of the bytes of the full tree."""
    longest: float = quantity("seconds", 86400.0, low=SHORTEST_S)
    """Longest simulated time of a run."""
    seeds: int = quantity("count", 2, low=1, high=20)
    """Seeds with which the found rate must hold."""
    most_memtables: float | None = quantity("count", None, low=100.0)
    """Largest simulated tree in memtables; a larger one is simulated with fewer levels (`fewer_levels`). None: all levels."""


@dataclass(frozen=True)
class Trial:
    """Result of one rate."""

    rate_per_s: float
    holds: bool
    reason: str
    """holds, or what fails: a quantity of `growths`, or a service level."""
    turnovers: float
    """Length of the last run in turnovers of the tree."""
    growths: tuple[QuantityGrowth, ...]
    levels: Mapping[str, float]
    """Values of the service levels."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Numbers of the summary (`KEPT`), and compactions: mean number of running compactions."""
    causes: Mapping[str, float] = field(default_factory=dict)
    """Stalled seconds by cause."""


def try_rate(
    store: PlannedStore, runs: PlanRuns, rate_per_s: float, levels: ServiceLevels, bursts: LoadBursts | None,
    settings: SearchSettings, seed: int = 1,
) -> Steps[Trial]:  # fmt: skip
    """Return whether the store sustains a rate: backlog and debt do not grow, and all service levels are met.

    A growing backlog and a broken service level end the trial at once. Growing debt may end at a new balance, with more
    data in the upper levels, so a longer run decides; at the greatest length an unclear growth counts only if it is
    significant (`QuantityGrowth.rises`).
    """
    trial = yield from _open_loop(store, runs, rate_per_s, levels, settings, _LENGTHS[0], seed)
    for length in _LENGTHS[1:]:
        if trial.reason not in ("debt", "l0", "tree", "unclear") or not _can_be_longer(store, rate_per_s, settings, length):
            break
        trial = yield from _open_loop(store, runs, rate_per_s, levels, settings, length, seed)
    if trial.reason == "unclear":
        rising = [g for g in trial.growths if g.rises]
        trial = _replaced(trial, not rising, max(rising, key=lambda g: g.share).quantity if rising else "holds")
    if trial.holds and bursts is not None:
        trial = yield from _with_recovery(trial, store, runs, levels, bursts, seed)
    return trial


def duration_s(store: PlannedStore, rate_per_s: float, settings: SearchSettings, length: float) -> float:
    """Return the simulated seconds of a run at a rate."""
    operations = length * store.operations(settings.turnovers)
    wanted_s = operations / rate_per_s if math.isfinite(operations) else READ_ONLY_S * length
    return float(f"{min(settings.longest, max(SHORTEST_S, wanted_s)):.4g}")


def _can_be_longer(store: PlannedStore, rate_per_s: float, settings: SearchSettings, length: float) -> bool:
    return duration_s(store, rate_per_s, settings, length) > duration_s(store, rate_per_s, settings, length / 2.0)


def _open_loop(
    store: PlannedStore, runs: PlanRuns, rate_per_s: float, levels: ServiceLevels, settings: SearchSettings, length: float,
    seed: int,
) -> Steps[Trial]:  # fmt: skip
    length_s = duration_s(store, rate_per_s, settings, length)
    summary, series = yield from runs.run(store.open_loop(rate_per_s, length_s, seed))
    from_s = _LATER * length_s
    found = counted(growths(series, summary, rate_per_s, store.round_bytes, from_s, leveled=store.leveled), series)
    values = measured(summary)
    missed = broken(values, levels)
    growing = [g for g in found if g.verdict is GrowthVerdict.GROWS]
    unclear = [g for g in found if g.verdict is GrowthVerdict.UNCLEAR]
    if any(g.quantity == "backlog" for g in growing):
        reason = "backlog"
    elif missed is not None:
        reason = missed
    elif growing:
        reason = max(growing, key=lambda g: g.share).quantity
    else:
        reason = "unclear" if unclear else "holds"
    turned = store.turnovers(length_s * rate_per_s)
    return Trial(rate_per_s, reason == "holds", reason, turned, found, values, _kept(summary, series), _causes(summary))


def counted(found: Sequence[QuantityGrowth], series: Mapping[str, Any]) -> tuple[QuantityGrowth, ...]:
    """Return the growths that count: that of the levels above the last only if the debt may grow too.

    Bytes above the target of a level are debt several times over. Levels that grow at a steady debt are below their targets, and
    fill up: a large tree does so for a tenth of a turnover, at any rate. A store that states no debt gives no such sign.
    """
    steady = any(g.quantity == "debt" and g.verdict is GrowthVerdict.STEADY for g in found)
    if not steady or not np.asarray(series["pending_bytes"]).any():
        return tuple(found)
    return tuple(g for g in found if g.quantity != "tree")


def _kept(summary: Mapping[str, Any], series: StoredTable) -> dict[str, float]:
    values = {name: value_of(summary, name) for name in KEPT}
    running = series["running_compactions"]
    later = running[len(running) // 2 :]
    return {**{k: v for k, v in values.items() if v is not None}, "compactions": float(later.mean()) if len(later) else 0.0}


def _causes(summary: Mapping[str, Any]) -> dict[str, float]:
    return {cause: float(s) for cause, s in (summary.get("stall_seconds") or {}).items() if s}


def _replaced(trial: Trial, holds: bool, reason: str, **levels: float) -> Trial:
    return Trial(
        trial.rate_per_s, holds, reason, trial.turnovers, trial.growths, {**trial.levels, **levels}, trial.values, trial.causes
    )


def _with_recovery(
    trial: Trial, store: PlannedStore, runs: PlanRuns, levels: ServiceLevels, bursts: LoadBursts, seed: int
) -> Steps[Trial]:
    """Add the time to recover from a burst; the trial fails if it is above its limit, or the burst breaks another level."""
    limit_s = levels.recovery or 0.0
    around_s = max(SHORTEST_S, 4.0 * bursts.length, 2.0 * limit_s)
    summary, series = yield from runs.run(store.burst(trial.rate_per_s, bursts.factor, bursts.length, around_s, seed))
    took_s = recovery_s(series, around_s, around_s + bursts.length)
    stall_s = max(trial.levels.get("longest_stall", 0.0), float(summary["longest_stall_s"]))
    changed = _replaced(trial, True, "holds", recovery=took_s, longest_stall=stall_s)
    missed = broken(changed.levels, levels)
    return changed if missed is None else _replaced(changed, False, missed)


def recovery_s(series: Mapping[str, Any], begins_s: float, ends_s: float) -> float:
    """Return the seconds after the end of a burst until backlog, L0 files and compaction debt are no higher than before.

    The level before is the highest value between half of the time before the burst and its begin. Infinity: the store has
    not recovered at the end of the run.
    """
    times = np.asarray(series["t_s"], dtype=np.float64)
    before = (times > _SETTLED * begins_s) & (times <= begins_s)
    after = times > ends_s
    took_s = 0.0
    for name in _RECOVERING:
        values = np.asarray(series[name], dtype=np.float64)
        usual = float(values[before].max()) if before.any() else 0.0
        above = np.flatnonzero(values[after] > usual)
        back = np.flatnonzero(values[after] <= usual)
        if not len(above):
            continue
        if not len(back):
            return math.inf
        took_s = max(took_s, float(times[after][back[0]]) - ends_s)
    return took_s


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


class Resource(Enum):
    """What is used up at the lowest rate that fails."""

    DRIVE = "drive"
    CORES = "cores"
    SLOTS = "slots"
    STALLS = "stalls"
    CLIENTS = "clients"
    NONE = ""
    """None was: the rate fails for another reason, such as a latency that the drive gives at any use."""


def resource(failed: Trial, limits: Mapping[str, float]) -> Resource:
    """Return the resource that is used up."""
    values, busy = failed.values, failed.values.get("device.utilisation", 0.0)
    cores, slots = limits.get("cores", 0.0), limits.get("slots", 0.0)
    if busy >= _BUSY:
        return Resource.DRIVE
    if cores and values.get("cpu.background_busy_cores", 0.0) >= _MANY * cores:
        return Resource.CORES
    if slots and values.get("compactions", 0.0) >= _MANY * slots:
        return Resource.SLOTS
    if failed.causes and values.get("stall_fraction", 0.0) >= _STALLED:
        return Resource.STALLS
    return Resource.CLIENTS if failed.reason == "backlog" else Resource.NONE


def cause(failed: Trial, limits: Mapping[str, float]) -> str:
    """Return the resource that is used up, or the kind of stalls, in words."""
    drive = "drive or its cap" if limits.get("caps") else "drive"
    share = f"{failed.values.get('device.utilisation', 0.0):.0%}"
    slots = limits.get("slots", 0.0)
    which = "the only compaction slot is" if slots == 1 else f"all {slots:.0f} compaction slots are"
    worst = max(failed.causes, key=lambda name: failed.causes[name], default="")
    stalls = _CAUSES.get(worst.partition("_")[0], worst)
    return {
        Resource.CORES: f"all {limits.get('cores', 0.0):.0f} cores busy with compactions",
        Resource.SLOTS: f"{which} busy ({drive} {share})",
        Resource.STALLS: f"{stalls} ({drive} {share})",
        Resource.CLIENTS: f"the {limits.get('threads', 0.0):.0f} client threads are busy ({drive} {share})",
    }.get(resource(failed, limits), f"{drive} busy {share}")

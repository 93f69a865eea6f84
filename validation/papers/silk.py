"""Claims of the SILK paper (Balmau et al., USENIX ATC 2019).

See (behaviour/evaluations.md, SILK's evaluation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lsmlab.sim.results.finished import finished
from lsmlab.validation.papers.claim import Claim, Measure, Outcome
from lsmlab.validation.papers.claim_data import claim
from lsmlab.validation.papers.silk_measures import (
    collapse_s,
    first_spike_s,
    flush_wait_share,
    latency,
    longest_l0_need_s,
    ratio,
    served,
    spike_correlation,
    spike_share,
    stalled,
    worst_second_s,
)
from lsmlab.validation.papers.silk_settings import DAY, HALVES, MOTIVATION, ONE, PAUSES, PEAKS, PRODUCTION
from lsmlab.validation.papers.silk_ycsb import YCSB

PAPER: Final = "silk"
def _of(measure: Callable[[Outcome], float], name: str) -> Measure:
    return lambda outcomes: measure(outcomes[name])


_P99 = latency("write", "p99")


def _production() -> tuple[Claim, ...]:
    runs = PRODUCTION
    names = {key: setting.name for key, setting in runs.items()}

    def against(id_: str, above: str, below: str) -> Claim:
        return claim(f"silk.production.{id_}", (runs[above], runs[below]), ratio(_P99, names[above], names[below]))

    return (
        against("p99_at", "at", "silk"),
        against("p99_rocksdb", "rocksdb", "silk"),
        against("p99_triad", "triad", "silk"),
        against("at_rocksdb", "rocksdb", "at"),
        against("at_triad", "triad", "at"),
        claim("silk.production.stall", (runs["silk"],), _of(stalled, names["silk"])),
        claim("silk.production.at_stall", (runs["at"],), _of(stalled, names["at"])),
        claim("silk.production.flush", (runs["silk"],), _of(flush_wait_share, names["silk"])),
        claim("silk.production.day", (DAY,), lambda o: worst_second_s(o[DAY.name], 0.75, 1.0)
              / worst_second_s(o[DAY.name], 0.0, 0.25)),
    )  # fmt: skip


def _motivation() -> tuple[Claim, ...]:
    runs = MOTIVATION
    names = {key: setting.name for key, setting in runs.items()}

    def control(which: str) -> Claim:
        measure = ratio(latency("write", which), names["rocksdb"], names["control"])
        return claim(f"silk.motivation.{which}", (runs["rocksdb"], runs["control"]), measure)

    def later(id_: str, above: str, below: str) -> Claim:
        return claim(f"silk.motivation.{id_}", (runs[above], runs[below]), ratio(collapse_s, names[above], names[below]))

    return (
        control("p99"),
        control("p50"),
        control("p90"),
        claim("silk.motivation.together", (runs["rocksdb"],), _of(spike_correlation, names["rocksdb"])),
        later("limits_75_50", "fixed75", "fixed50"),
        later("limits_90_75", "fixed90", "fixed75"),
        later("memory", "memory_long", "rocksdb_long"),
        claim("silk.motivation.memory_spikes", (runs["memory"],), _of(spike_share, names["memory"])),
        claim("silk.motivation.triad", (runs["triad"], runs["rocksdb"]), ratio(spike_share, names["triad"], names["rocksdb"])),
    )  # fmt: skip


def _bursts() -> tuple[Claim, ...]:
    peaks, halves, one = PEAKS, HALVES, ONE
    clean = tuple(
        claim(f"silk.peaks.{s}s", (peaks[str(s)],), _of(worst_second_s, peaks[str(s)].name))
        for s in (10, 50, 100)
    )  # fmt: skip

    def half(which: str) -> Claim:
        measure = ratio(worst_second_s, halves[which].name, halves["both"].name)
        return claim(f"silk.breakdown.{which}", (halves[which], halves["both"]), measure)

    return (
        *clean,
        claim("silk.peaks.rocksdb", (peaks["rocksdb"], peaks["50"]), ratio(_P99, peaks["rocksdb"].name, peaks["50"].name)),
        claim("silk.peaks.throughput", (peaks["50"], peaks["rocksdb"]), ratio(served, peaks["50"].name, peaks["rocksdb"].name)),
        half("bandwidth"),
        half("priorities"),
        claim("silk.one_peak.writes", (one["50"], one["90"]), ratio(first_spike_s, one["50"].name, one["90"].name)),
        claim("silk.ablation.preemption", (halves["unpreempted"], halves["both"]),
              ratio(longest_l0_need_s, halves["unpreempted"].name, halves["both"].name)),
        claim("silk.ablation.reads", (halves["reads"], halves["both"]),
              ratio(lambda o: float(o.summary["compaction_write_bytes"]), halves["reads"].name, halves["both"].name)),
        claim("silk.ablation.pause", (PAUSES,), lambda o: float(o[PAUSES.name].summary["halted_s"]) / _peak_s(o[PAUSES.name])),
        claim("silk.ablation.no_pause", (peaks["50"],), lambda o: _paused_share(o[peaks["50"].name])),
    )  # fmt: skip


def _peak_s(of: Outcome) -> float:
    load = of.summary["duration_s"]
    return float(load) * 20.0 / 30.0


def _paused_share(of: Outcome) -> float:
    """Return the share of the run for which jobs were halted beyond the time of L0 compactions (preemption)."""
    jobs = finished(of.jobs, "kind", "start_level", "start_s", "end_s", "halted_s")
    l0 = (jobs["kind"] == "compaction") & (jobs["start_level"] == 0)
    preempting = float((jobs["end_s"] - jobs["start_s"])[l0].sum())
    return max(0.0, float(jobs["halted_s"].sum()) - preempting) / float(of.summary["duration_s"])


CLAIMS: Final[tuple[Claim, ...]] = (*_production(), *_motivation(), *_bursts(), *YCSB)

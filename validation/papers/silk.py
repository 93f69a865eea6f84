"""SILK's published results as claims of Balmau et al., USENIX ATC 2019.

See (behaviour/evaluations.md, SILK's evaluation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from lsmlab.sim.results.finished import finished
from lsmlab.validation.papers.claim import Claim, Measure, Outcome
from lsmlab.validation.papers.silk_measures import (
    flush_wait_share,
    good_until_s,
    latency,
    ratio,
    served,
    spike_share,
    spikes_together,
    stalled,
    worst_second_s,
)
from lsmlab.validation.papers.silk_settings import DAY, HALVES, MOTIVATION, ONE, PAUSES, PEAKS, PRODUCTION
from lsmlab.validation.papers.silk_ycsb import YCSB

PAPER: Final = "silk"
CITATION: Final = "Balmau et al.: SILK: Preventing Latency Spikes in Log-Structured Merge Key-Value Stores. USENIX ATC 2019"

Outcomes = Mapping[str, Outcome]
_ORDER: Final = math.sqrt(10.0)
"""Half an order of magnitude either way: "two orders" is 32 to 316."""


def _orders(count: float) -> tuple[float, float]:
    return 10.0**count / _ORDER, 10.0**count * _ORDER


def _of(measure: Callable[[Outcome], float], name: str) -> Measure:
    return lambda outcomes: measure(outcomes[name])


_P99 = latency("write", "p99")
_STATED: Final = "the paper's words, half an order of magnitude either way"
_NO_STALL: Final = (
    "a memtable of 128 MiB fills in 14.6 s at 9.2 MB/s; beside ten compactions a flush still has 200/11 = 18 MB/s and ends "
    "in 7.4 s: memory never stalls the writers, they wait behind reads that share the drive"
)
_BURSTS: Final = (
    "a burst fills a memtable in 23.6 s (11.4 K/s of 458 B), RocksDB flushes it in 0.7 s, SILK in 1.2: memory stops nobody. "
    "P99 is that of reads beside compactions: 0.4 s without a limit, 13 ms with SILK's, 9 ms with the auto-tuned one"
)
_LEAST: Final = (
    "at its least, 10 MB/s, the limiter gives a flush 1 MiB in two refills (one is 1 MB, and compactions take what is left "
    "of the second): 5.2 MB/s, so 22.8 s of the 23.6 s in which a burst fills a memtable. It misses a stop by 3 %"
)
_TOGETHER: Final = (
    "when an L0 compaction ends, three deep ones begin. A refill of 15.4 MB keeps the drive busy for 15.4/430 + 15.4/530 = "
    "65 of 100 ms, in which a read takes 0.6 to 1 ms, so eight threads serve 8 / (0.5 x 0.8 ms) = 20 K op/s of 40: 1,300 "
    "operations wait 40 to 60 ms, after two refills in a row 0.1 s. With the limit on reads too it is 0.03 s"
)
_SHARED: Final = (
    "as a compaction among three a flush has 154/4 = 38 MB/s and ends in 3.5 s of the 6.5 s in which a memtable fills, and L0 "
    "has no limit: both runs have only reads beside compactions"
)
ONE_READ_IN_TEN: Final = (
    "with one read in ten eight threads serve 8 / (0.1 x 1 ms) = 80 K op/s beside three compactions, and a flush ends in 2.9 s "
    "of the 3.4 s in which a memtable fills: nothing waits in 300 s. With 50:50 the first three deep compactions are felt"
)
_BLIPS: Final = (
    "first spikes are reads of 10 to 17 ms behind compactions that one refill lets go together; the collapse is later: in "
    "1000 s (seed 1) memory or L0 first stop writers at 287 s with 50 MB/s, at 953 with 75, at 491 with 90"
)
_NO_NEED: Final = (
    "no writer waits for memory in either run (a flush ends in 1.8 s, a memtable fills in 13.6; 1.6 and 10.2 s with ten of "
    "100 MB): the first spike is that of reads beside compactions"
)

def _production() -> tuple[Claim, ...]:
    runs = PRODUCTION
    names = {key: setting.name for key, setting in runs.items()}
    load = "production-like bursts, 57:41:2, 2000 s"

    def against(id_: str, above: str, below: str, orders: float, published: str, mechanism: str) -> Claim:
        return Claim(
            f"silk.production.{id_}", f"P99 write of {above} over {below}, {load}", published, _orders(orders), 1.0,
            (runs[above], runs[below]), ratio(_P99, names[above], names[below]), mechanism, note=_BURSTS,
            tolerance_from=_STATED,
        )  # fmt: skip

    flushes = "flushes come first in the limiter and on a thread of their own; deep work waits for valleys"
    return (
        against("p99_at", "at", "silk", 2.0, "two orders of magnitude", flushes),
        against("p99_rocksdb", "rocksdb", "silk", 3.0, "three orders of magnitude", flushes),
        against("p99_triad", "triad", "silk", 3.0, "three orders of magnitude", flushes),
        against("at_rocksdb", "rocksdb", "at", 1.0, "one order of magnitude", "the limit spreads compactions over time"),
        against("at_triad", "triad", "at", 1.0, "one order of magnitude", "the limit spreads compactions over time"),
        Claim(
            "silk.production.stall", f"share of time in which SILK stalls, {load}", 0.0, (0.0, 1e-6), 0.01,
            (runs["silk"],), _of(stalled, names["silk"]), flushes, tolerance_from="the paper: none; 0.01 is the other's",
        ),
        Claim(
            "silk.production.at_stall", f"share of time in which the auto-tuned limiter stalls, {load}", 0.01,
            (0.005, 0.02), 0.0, (runs["at"],), _of(stalled, names["at"]),
            "its rate follows background demand, never the clients; a factor of two either way", note=_LEAST,
            tolerance_from="about 1 %",
        ),
        Claim(
            "silk.production.flush", f"longest wait for a flush to end by the time in which a memtable fills, {load}",
            "every memtable is flushed at once", (0.0, 1.0), 2.0, (runs["silk"],),
            _of(flush_wait_share, names["silk"]), flushes, tolerance_from="below 1 the next memtable is not full yet",
        ),
        Claim(
            "silk.production.day", "worst P99 of a second in the last quarter by that of the first, 3000 s", 1.0,
            (0.0, 2.0), 10.0, (DAY,), lambda o: worst_second_s(o[DAY.name], 0.75, 1.0)
            / worst_second_s(o[DAY.name], 0.0, 0.25), "valleys are long enough for the backlog of the peaks",
            note="3000 s are simulated instead of 24 hours", tolerance_from="stable, up to the draw of the bursts",
        ),
    )  # fmt: skip


_THREE_AT_ONCE: Final = (
    "three to seven compactions run at once for 10 and 13 % of the time (two seeds), and writes then wait behind reads of their "
    "worker: P90 is 0.6 and 1.9 ms, without compactions 0.07 ms"
)


def _motivation() -> tuple[Claim, ...]:
    runs = MOTIVATION
    names = {key: setting.name for key, setting in runs.items()}
    load = "18 K op/s, 50:50"

    def control(which: str, published: str, accepted: tuple[float, float], neutral: float) -> Claim:
        return Claim(
            f"silk.motivation.{which}", f"{which} write of RocksDB over a store without compactions, {load}", published,
            accepted, neutral, (runs["rocksdb"], runs["control"]),
            ratio(latency("write", which), names["rocksdb"], names["control"]),
            "spikes are coincidences of compactions: rare, so that only the tail moves",
            note="the control compacts nothing, the paper's drops full memtables; " + _THREE_AT_ONCE,
            tolerance_from="the paper's range",
        )  # fmt: skip

    def later(id_: str, setting: str, above: str, below: str, note: str = _BLIPS) -> Claim:
        return Claim(
            f"silk.motivation.{id_}", setting, "later", (1.05, math.inf), 1.0, (runs[above], runs[below]),
            ratio(good_until_s, names[above], names[below]),
            "the backlog that a limit leaves grows until L0 is full: at (W x user rate - limit)",
            note=note,
            tolerance_from="the order is stated, not a figure",
        )  # fmt: skip

    return (
        control("p99", "2 to 4 orders of magnitude", (1e2, 1e4), 1.0),
        control("p50", "unaffected", (0.8, 1.25), 2.0),
        control("p90", "unaffected", (0.8, 1.25), 2.0),
        Claim(
            "silk.motivation.together", f"correlation of P99 of reads and writes by the second in RocksDB, {load}",
            "reads and writes spike together", (0.5, 1.0), 0.0, (runs["rocksdb"],),
            _of(spikes_together, names["rocksdb"]), "reads wait in the worker threads behind writes that are blocked",
            tolerance_from="half of a perfect correlation",
        ),
        later("limits_75_50", f"first spike with a limit of 75 MB/s by that with 50, {load}", "fixed75", "fixed50"),
        later("limits_90_75", f"first spike with a limit of 90 MB/s by that with 75, {load}", "fixed90", "fixed75"),
        later("memory", f"first spike with 1 GB of memtables by that with 256 MB, {load}", "memory", "rocksdb", _NO_NEED),
        Claim(
            "silk.motivation.memory_spikes", f"share of seconds with P99 above 10 ms with 1 GB of memtables, {load}",
            "only postpones", (0.001, 1.0), 0.0, (runs["memory"],), _of(spike_share, names["memory"]),
            "memory takes a burst, not a rate", tolerance_from="spikes come, however many",
        ),
        Claim(
            "silk.motivation.triad", f"share of seconds with P99 above 10 ms, TRIAD over RocksDB, {load}",
            "frequent large spikes", (1.0, math.inf), 0.5, (runs["triad"], runs["rocksdb"]),
            ratio(spike_share, names["triad"], names["rocksdb"]),
            "postponed L0 compactions are larger and coincide with more deep ones", note=_NO_STALL,
            tolerance_from="at least as many",
        ),
    )  # fmt: skip


def _bursts() -> tuple[Claim, ...]:
    peaks, halves, one = PEAKS, HALVES, ONE
    clean = tuple(
        Claim(
            f"silk.peaks.{s}s", f"worst P99 write of a second, peaks of {s} s at 40 K op/s, valleys of 10 s, in seconds",
            "stays clean", (0.0, 0.01), 0.1, (peaks[str(s)],), _of(worst_second_s, peaks[str(s)].name),
            "deep compactions wait for the valleys",
            note=_TOGETHER,
            tolerance_from="10 ms: SILK's figures stay below",
        )
        for s in (10, 50, 100)
    )  # fmt: skip

    def half(which: str, why: str, note: str = "") -> Claim:
        return Claim(
            f"silk.breakdown.{which}", f"worst P99 write of a second, {which} only over both, peaks of 100 s",
            "does not sustain the load", (10.0, math.inf), 1.0, (halves[which], halves["both"]),
            ratio(worst_second_s, halves[which].name, halves["both"].name), why, note=note,
            tolerance_from="an order of magnitude",
        )  # fmt: skip

    return (
        *clean,
        Claim(
            "silk.peaks.rocksdb", "P99 write of RocksDB over SILK, 50:50, peaks of 50 s", "up to two orders of magnitude",
            (2.0, 316.0), 1.0, (peaks["rocksdb"], peaks["50"]), ratio(_P99, peaks["rocksdb"].name, peaks["50"].name),
            "flushes and L0 compactions come first", tolerance_from="from a factor of two to two orders and a half",
        ),
        Claim(
            "silk.peaks.throughput", "operations per second of SILK over RocksDB, 50:50, peaks of 50 s", 0.965,
            (0.93, 1.07), 0.5, (peaks["50"], peaks["rocksdb"]),
            ratio(served, peaks["50"].name, peaks["rocksdb"].name),
            "the same work in another order", tolerance_from="cost at most 7 %",
        ),
        half("bandwidth", "big compactions come due and starve flushes and L0 within the limit", _SHARED),
        half("priorities", "big compactions fight the clients for the device"),
        Claim(
            "silk.one_peak.writes", "first spike with 50:50 by that with 90:10, one peak without end", "sooner with 90:10",
            (1.05, math.inf), 1.0, (one["50"], one["90"]), ratio(good_until_s, one["50"].name, one["90"].name),
            "deferred deep work comes in the end, in proportion to the writes", note=ONE_READ_IN_TEN,
            tolerance_from="the order is stated",
        ),
        Claim(
            "silk.ablation.preemption", "longest L0 compaction without preemption over with it, peaks of 100 s",
            "slower", (1.0, math.inf), 0.8, (halves["unpreempted"], halves["both"]),
            ratio(_longest_l0_s, halves["unpreempted"].name, halves["both"].name),
            "L0 waits for a thread, and for locks on L1", tolerance_from="an ablation: at least as slow",
        ),
        Claim(
            "silk.ablation.reads", "compacted bytes with the limit on reads too, over writes only, peaks of 100 s", "fewer",
            (0.0, 0.95), 1.0, (halves["reads"], halves["both"]),
            ratio(lambda o: float(o.summary["compaction_write_bytes"]), halves["reads"].name, halves["both"].name),
            "the limit then pays for both directions of a merge", tolerance_from="an ablation: visible",
        ),
        Claim(
            "silk.ablation.pause", "seconds for which deep compactions were paused per second of a peak at C > 150 MB/s",
            "the pause becomes visible", (0.1, math.inf), 0.0, (PAUSES,),
            lambda o: float(o[PAUSES.name].summary["halted_s"]) / _peak_s(o[PAUSES.name]),
            "clients leave less than the floor", tolerance_from="an ablation: visible",
        ),
        Claim(
            "silk.ablation.no_pause", "the same in the paper's own long peaks: C is 41 MB/s", 0.0, (0.0, 0.05), 0.5,
            (peaks["50"],), lambda o: _paused_share(o[peaks["50"].name]), "T - C is never below the floor",
            tolerance_from="C is 40 MB/s: the pause branch is never reached",
        ),
    )  # fmt: skip


def _longest_l0_s(of: Outcome) -> float:
    jobs = finished(of.jobs, "kind", "start_level", "start_s", "end_s")
    chosen = (jobs["kind"] == "compaction") & (jobs["start_level"] == 0)
    return float((jobs["end_s"] - jobs["start_s"])[chosen].max()) if chosen.any() else 0.0


def _peak_s(of: Outcome) -> float:
    load = of.summary["duration_s"]
    return float(load) * 20.0 / 30.0


def _paused_share(of: Outcome) -> float:
    """Halted time that no preemption explains: of jobs that were halted while no L0 compaction ran."""
    jobs = finished(of.jobs, "kind", "start_level", "start_s", "end_s", "halted_s")
    l0 = (jobs["kind"] == "compaction") & (jobs["start_level"] == 0)
    preempting = float((jobs["end_s"] - jobs["start_s"])[l0].sum())
    return max(0.0, float(jobs["halted_s"].sum()) - preempting) / float(of.summary["duration_s"])


CLAIMS: Final[tuple[Claim, ...]] = (*_production(), *_motivation(), *_bursts(), *YCSB)

"""LDC's published outcomes (engines.md §6.4, §6.7) beside LevelDB, which the paper calls UDC.

The platform's drive, CPU and memory are unknown, and we have no absolute throughput of LevelDB there to fit
(configs/parameters/memblaze_q520.yaml): all claims are ratios. Sweeps run 3 of the paper's 10 million requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from lsmlab.validation.papers.claim import Claim, Measure, Outcome, Setting

PAPER: Final = "ldc"
CITATION: Final = "Chai et al.: LDC: A Lower-Level Driven Compaction Method to Optimize SSD-Oriented Key-Value Stores. ICDE 2019"
UDC: Final = "engine=leveldb"
LDC: Final = "engine=ldc"
SHORT: Final = "workload.operationcount=3M"
QUARTER: Final = "the figure with 25 % of its effect either way"
FANOUTS: Final = (3, 5, 10, 25, 50, 100)
THRESHOLDS: Final = (1, 2, 5, 10, 20, 40)
SKEWS: Final = (1, 2)
MIXES: Final = ("wh", "rwb", "rh")
SCANS: Final = ("scn_wh", "scn_rwb", "scn_rh")

Number = Callable[[Outcome], float]


def pair(mix: str) -> tuple[Setting, Setting]:
    """Both engines on a mix."""
    seeds = 1 if mix in ("tail", *SCANS) else 2
    return tuple(  # type: ignore[return-value]
        Setting(f"{name}_{mix}", (f"experiment=ldc_{mix}", engine), seeds) for name, engine in (("udc", UDC), ("ldc", LDC))
    )


def balanced(name: str, engine: str, *more: str) -> Setting:
    """An engine on the short balanced mix."""
    return Setting(name, ("experiment=ldc_rwb", engine, SHORT, *more), 2)


def skewed(name: str, engine: str, constant: int) -> Setting:
    """The balanced mix with puts and lookups of Zipfian keys; 0: uniform ones."""
    keys = ("workload.recordcount=3M", "workload.updateproportion=0.5", "workload.insertproportion=0")
    law = ("workload.requestdistribution=zipfian", f"workload.zipfian_constant={constant}") if constant else ()
    return balanced(f"{name}_zipf_{constant}", engine, *keys, *law)


def by_fanout(name: str, engine: str) -> tuple[Setting, ...]:
    """An engine at every fan-out of the sweep; LDC's threshold is the fan-out."""
    key = "engine.options.max_bytes_for_level_multiplier"
    return tuple(balanced(f"{name}_fanout_{k}", engine, f"{key}={k}") for k in FANOUTS)


def by_threshold() -> tuple[Setting, ...]:
    """LDC at every threshold of the sweep, at a fan-out of 10."""
    return tuple(balanced(f"threshold_{t}", LDC, f"engine.picker.threshold={t}") for t in THRESHOLDS)


def rate(run: Outcome) -> float:
    """Operations per second."""
    return float(run.summary["ops_per_s"])


def moved_bytes(run: Outcome) -> float:
    """Bytes that compactions read and wrote."""
    return float(run.summary["compaction_read_bytes"] + run.summary["compaction_write_bytes"])


def live_bytes(run: Outcome) -> float:
    """Bytes of all files at the end, frozen ones included."""
    return float(run.summary["live_bytes"])


def p999_s(run: Outcome) -> float:
    """P99.9 of writes."""
    return float(run.summary["write_latency_s"]["p999"])


def mean_read_s(run: Outcome) -> float:
    """Mean time of a lookup."""
    return float(run.summary["read_latency_s"]["mean"])


def gain(number: Number, *mixes: str, over: str = "udc", of: str = "ldc") -> Measure:
    """A number of one engine divided by the other's, averaged over mixes."""
    return lambda o: sum(number(o[f"{of}_{m}"]) / number(o[f"{over}_{m}"]) for m in mixes) / len(mixes)


def best(name: str, values: tuple[int, ...]) -> Measure:
    """The value at which throughput is highest."""
    return lambda o: float(max(values, key=lambda v: rate(o[f"{name}_{v}"])))


def grows(kind: str, low: int, high: int) -> Measure:
    """LDC's advantage at one value of a sweep, over that at another."""

    def measure(o: Mapping[str, Outcome]) -> float:
        at = {v: rate(o[f"ldc_{kind}_{v}"]) / rate(o[f"udc_{kind}_{v}"]) for v in (low, high)}
        return at[high] / at[low]

    return measure


def _io(mix: str, title: str) -> Claim:
    return Claim(
        f"ldc.{mix}.compaction_io", f"{title}, compaction I/O of LDC over UDC's", 0.5, (0.375, 0.625), 1.0, pair(mix),
        gain(moved_bytes, mix), "T_s slices of about b/k are rewritten with one file: 2b for b, not (k + 1)b",
        "§6.5 alone gives 1/k for the part below L0; with flushes into L1 and part-full levels the rules give about a third",
        "\"about half\" (§6.7): " + QUARTER,
    )  # fmt: skip


_SLEEP: Final = (
    "LevelDB sleeps 1 ms per write from 8 files of L0 on: P99.9 is 1 ms or more as soon as one write in a thousand meets that, "
    "and a few µs otherwise; 470 µs and 180 µs lie in between, where no rule of §1.2 and §6.2 puts a write"
)
_RO_ADAPTIVE: Final = Setting("adaptive_ro", ("experiment=ldc_ro", "engine=ldc_adaptive"), 2)

CLAIMS: Final[tuple[Claim, ...]] = (
    Claim(
        "ldc.tail.p999_write", "10 M inserts and 10 M lookups, P99.9 of UDC over LDC's", 2.62, (2.215, 3.025), 1.0,
        pair("tail"), gain(p999_s, "tail", over="ldc", of="udc"), "shorter jobs leave L0 emptier, so fewer writes sleep",
        _SLEEP, "469.66 -> 179.53 µs (§6.7): " + QUARTER,
    ),
    Claim(
        "ldc.wo.throughput", "write-only, throughput of LDC over UDC", 1.78, (1.585, 1.975), 1.0, pair("wo"),
        gain(rate, "wo"), "the one thread has less to do per byte, so L0 holds writers back for less time",
        "", "+78.0 % (§6.7): " + QUARTER,
    ),
    Claim(
        "ldc.mixes.throughput", "write-heavy, balanced, read-heavy: mean throughput of LDC over UDC", 1.567, (1.425, 1.709),
        1.0, tuple(s for m in MIXES for s in pair(m)), gain(rate, *MIXES),
        "as write-only, diluted by lookups that cost both engines the same",
        "throughput of a mix is harmonic in its parts (§6.5): the gain falls with the share of lookups, as their cost on the "
        "unknown host sets", "+56.7 % (§6.7): " + QUARTER,
    ),
    Claim(
        "ldc.scans.throughput", "the three scan mixes: mean throughput of LDC over UDC", 1.723, (1.542, 1.904), 1.0,
        tuple(s for m in SCANS for s in pair(m)), gain(rate, *SCANS),
        "writes gain as before; a scan merges the slices of every file that it touches",
        "with 1 GiB of page cache a scan of 100 pairs takes 0.4 to 0.7 ms in UDC here and 0.4 to 1.2 in LDC, so that writes "
        "hardly wait for compactions: sorted runs are read ahead, and each slice beside a file is one more; with all data in "
        "memory slices make a scan half as long again, which costs the balanced mix more than writes gain",
        "+72.3 % (§6.7): " + QUARTER,
    ),
    Claim(
        "ldc.ro.throughput", "read-only, throughput of LDC over UDC", 1.0, (0.95, 1.05), 0.5, pair("ro"), gain(rate, "ro"),
        "no writes, no links", "", "\"equal\" (§6.7): within 5 %; neutral: half of it",
    ),
    Claim(
        "ldc.ro.adaptive", "read-only, throughput of self-adapting LDC over UDC", 1.0, (0.95, 1.05), 0.5,
        (pair("ro")[0], _RO_ADAPTIVE), lambda o: rate(o["adaptive_ro"]) / rate(o["udc_ro"]),
        "T_s falls while lookups gain from it", "", "\"same throughput\" (§6.4): within 5 %; neutral: half of it",
    ),
    Claim(
        "ldc.rh.read_latency", "read-heavy, mean lookup time of LDC over UDC", 1.0, (0.75, 1.25), 2.0, pair("rh"),
        gain(mean_read_s, "rh"), "slices are probed, but filters keep their blocks out",
        "", "\"comparable\" (§6.4): within 25 %; neutral: twice as long",
    ),
    _io("wo", "write-only"), _io("wh", "write-heavy"), _io("rwb", "balanced"), _io("rh", "read-heavy"),
    Claim(
        "ldc.space", "balanced mix, bytes on the device of LDC over UDC, less 1", "at most +10 %", (-0.1, 0.10), 0.25,
        pair("rwb"), lambda o: gain(live_bytes, "rwb")(o) - 1.0,
        "a frozen file stays until its last slice is merged",
        "T_s files of the level above pass before a file is merged, so a frozen file lives for about T_s links: its merged "
        "slices are dead by then", "<= 10 % (§6.7); neutral: the paper's worst case, 25 %",
    ),
    Claim(
        "ldc.threshold.best", "balanced mix, T_s from 1 to 40 at a fan-out of 10: the best T_s over the fan-out", 1.0,
        (0.75, 1.25), 0.1, by_threshold(), lambda o: best("threshold", THRESHOLDS)(o) / 10.0,
        "fewer slices rewrite more of the lower level, more of them cost lookups and space",
        "in §6.2 nothing but lookups and space pays for a larger T_s, and with filters in memory a lookup pays a probe per "
        "slice: the optimum lies where these cost as much as merges, beyond k on this host",
        "\"best T_s = k\" (§6.7): 25 % either way; neutral: a merge per slice",
    ),
    Claim(
        "ldc.fanout.udc_best", "balanced mix, fan-outs 3 to 100: the best for UDC", 3.0, (2.25, 3.75), 10.0,
        by_fanout("udc", UDC), best("udc_fanout", FANOUTS), "each byte that moves down rewrites the fan-out times as many",
        "", "3 (§6.4): 25 % either way; neutral: LevelDB's 10",
    ),
    Claim(
        "ldc.fanout.ldc_best", "balanced mix, fan-outs 3 to 100: the best for LDC", 25.0, (18.75, 31.25), 10.0,
        by_fanout("ldc", LDC), best("ldc_fanout", FANOUTS), "a merge rewrites about 2b at any fan-out, and levels get fewer",
        "the best fan-out depends on how many levels the data need: 3 M requests here, 10 M in the paper",
        "about 25 (§6.4): 25 % either way; neutral: LevelDB's 10",
    ),
    Claim(
        "ldc.fanout.advantage", "balanced mix, LDC's advantage at fan-out 25 over that at 3", "grows with the fan-out",
        (1.1, 100.0), 1.0, (*by_fanout("udc", UDC), *by_fanout("ldc", LDC)), grows("fanout", 3, 25),
        "UDC's rewriting per byte grows with the fan-out, LDC's does not", "", "a statement (§6.7): by a tenth or more",
    ),
    Claim(
        "ldc.zipf.advantage", "balanced mix, LDC's advantage at Zipf 2 over that with uniform keys", "grows with skew",
        (1.02, 100.0), 1.0,
        tuple(skewed(name, engine, c) for c in (0, *SKEWS) for name, engine in (("udc", UDC), ("ldc", LDC))),
        grows("zipf", 0, 2), "hot ranges reach T_s sooner",
        "under Zipf 2 two thirds of all puts are of one key: L0's first merge drops nearly all of them, and there is hardly "
        "any compaction left to save", "a statement (§6.4)",
    ),
)  # fmt: skip

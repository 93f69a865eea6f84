"""Claims of the LDC paper (behaviour/evaluations.md, LDC's evaluation); the baseline UDC is LevelDB.

Drive, CPU and memory of the platform are unknown, and no absolute throughput of LevelDB on it is published to fit
(configs/parameters/memblaze_q520.yaml). So all claims are ratios. Sweeps run 3 of the paper's 10 million requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from lsmlab.validation.papers.claim import Claim, Measure, Outcome, Setting
from lsmlab.validation.papers.claim_data import claim

PAPER: Final = "ldc"
UDC: Final = "engine=leveldb"
LDC: Final = "engine=ldc"
_ENGINES: Final = (("udc", UDC), ("ldc", LDC))
SHORT: Final = "workload.operationcount=3M"
FANOUTS: Final = (3, 5, 10, 25, 50, 100)
THRESHOLDS: Final = (1, 2, 5, 10, 20, 40)
SKEWS: Final = (1, 2)
MIXES: Final = ("wh", "rwb", "rh")
SCANS: Final = ("scn_wh", "scn_rwb", "scn_rh")

Number = Callable[[Outcome], float]


def pair(mix: str) -> tuple[Setting, Setting]:
    """Return the settings of both engines on a mix."""
    seeds = 1 if mix in ("tail", *SCANS) else 2
    return tuple(  # type: ignore[return-value]
        Setting(f"{name}_{mix}", (f"experiment=ldc_{mix}", engine), seeds) for name, engine in _ENGINES
    )


def balanced(name: str, engine: str, *more: str) -> Setting:
    """Return an engine on the short balanced mix."""
    return Setting(name, ("experiment=ldc_rwb", engine, SHORT, *more), 2)


def skewed(name: str, engine: str, constant: int) -> Setting:
    """Return an engine on the short balanced mix with Zipfian keys; `constant` 0: uniform keys.

    The store contains its records, as YCSB loads them before a run that updates them.
    """
    keys = ("workload.loaded=true", "workload.recordcount=3M", "workload.updateproportion=0.5", "workload.insertproportion=0")
    law = ("workload.requestdistribution=zipfian", f"workload.zipfian_constant={constant}") if constant else ()
    return balanced(f"{name}_zipf_{constant}", engine, *keys, *law)


def by_fanout(name: str, engine: str) -> tuple[Setting, ...]:
    """Return an engine at every fan-out of the sweep; the threshold of LDC equals the fan-out."""
    key = "engine.options.max_bytes_for_level_multiplier"
    return tuple(balanced(f"{name}_fanout_{k}", engine, f"{key}={k}") for k in FANOUTS)


def by_threshold() -> tuple[Setting, ...]:
    """Return LDC at every threshold of the sweep, with a fan-out of 10."""
    return tuple(balanced(f"threshold_{t}", LDC, f"engine.picker.threshold={t}") for t in THRESHOLDS)


def rate(run: Outcome) -> float:
    """Return operations per second."""
    return float(run.summary["ops_per_s"])


def moved_bytes(run: Outcome) -> float:
    """Return the bytes that compactions read and wrote."""
    return float(run.summary["compaction_read_bytes"] + run.summary["compaction_write_bytes"])


def live_bytes(run: Outcome) -> float:
    """Return the bytes of all files at the end, including frozen files."""
    return float(run.summary["live_bytes"])


def p999_s(run: Outcome) -> float:
    """Return the P99.9 of all operations in seconds; the paper does not restrict it to reads or writes."""
    order = np.argsort(run.latency["upper_s"], kind="stable")
    upto = np.cumsum(run.latency["count"][order])
    return float(run.latency["upper_s"][order][np.searchsorted(upto, 0.999 * upto[-1])])


def mean_read_s(run: Outcome) -> float:
    """Return the mean latency of a lookup in seconds."""
    return float(run.summary["read_latency_s"]["mean"])


def gain(number: Number, *mixes: str, over: str = "udc", of: str = "ldc") -> Measure:
    """Return a measure: the number of engine `of` / that of engine `over`, averaged over mixes."""
    return lambda o: sum(number(o[f"{of}_{m}"]) / number(o[f"{over}_{m}"]) for m in mixes) / len(mixes)


def best(name: str, values: tuple[int, ...]) -> Measure:
    """Return a measure: the value of a sweep with the highest throughput."""
    return lambda o: float(max(values, key=lambda v: rate(o[f"{name}_{v}"])))


def grows(kind: str, low: int, high: int) -> Measure:
    """Return a measure: the throughput ratio LDC / UDC at value `high` of a sweep / that at value `low`."""

    def measure(o: Mapping[str, Outcome]) -> float:
        at = {v: rate(o[f"ldc_{kind}_{v}"]) / rate(o[f"udc_{kind}_{v}"]) for v in (low, high)}
        return at[high] / at[low]

    return measure


def _io(mix: str) -> Claim:
    return claim(f"ldc.{mix}.compaction_io", pair(mix), gain(moved_bytes, mix))


_RO_ADAPTIVE: Final = Setting("adaptive_ro", ("experiment=ldc_ro", "engine=ldc_adaptive"), 2)

CLAIMS: Final[tuple[Claim, ...]] = (
    claim("ldc.tail.p999", pair("tail"), gain(p999_s, "tail", over="ldc", of="udc")),
    claim("ldc.wo.throughput", pair("wo"), gain(rate, "wo")),
    claim("ldc.mixes.throughput", tuple(s for m in MIXES for s in pair(m)), gain(rate, *MIXES)),
    claim("ldc.scans.throughput", tuple(s for m in SCANS for s in pair(m)), gain(rate, *SCANS)),
    claim("ldc.ro.throughput", pair("ro"), gain(rate, "ro")),
    claim("ldc.ro.adaptive", (pair("ro")[0], _RO_ADAPTIVE), lambda o: rate(o["adaptive_ro"]) / rate(o["udc_ro"])),
    claim("ldc.rh.read_latency", pair("rh"), gain(mean_read_s, "rh")),
    *(_io(mix) for mix in ("wo", *MIXES, *SCANS)),
    claim("ldc.space", pair("rwb"), lambda o: gain(live_bytes, "rwb")(o) - 1.0),
    claim("ldc.threshold.best", by_threshold(), lambda o: best("threshold", THRESHOLDS)(o) / 10.0),
    claim("ldc.fanout.udc_best", by_fanout("udc", UDC), best("udc_fanout", FANOUTS)),
    claim("ldc.fanout.ldc_best", by_fanout("ldc", LDC), best("ldc_fanout", FANOUTS)),
    claim("ldc.fanout.advantage", (*by_fanout("udc", UDC), *by_fanout("ldc", LDC)), grows("fanout", 3, 25)),
    claim("ldc.zipf.advantage", tuple(skewed(name, engine, c) for c in (0, *SKEWS) for name, engine in _ENGINES),
          grows("zipf", 0, 2)),
)  # fmt: skip

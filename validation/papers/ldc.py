"""LDC's published outcomes (behaviour/evaluations.md, LDC's evaluation) beside LevelDB, which the paper calls UDC.

The platform's drive, CPU and memory are unknown, and we have no absolute throughput of LevelDB there to fit
(configs/parameters/memblaze_q520.yaml): all claims are ratios. Sweeps run 3 of the paper's 10 million requests.
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
    """Both engines on a mix."""
    seeds = 1 if mix in ("tail", *SCANS) else 2
    return tuple(  # type: ignore[return-value]
        Setting(f"{name}_{mix}", (f"experiment=ldc_{mix}", engine), seeds) for name, engine in _ENGINES
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
    """P99.9 of all operations: neither paper nor specification says that it is one kind's."""
    order = np.argsort(run.latency["upper_s"], kind="stable")
    upto = np.cumsum(run.latency["count"][order])
    return float(run.latency["upper_s"][order][np.searchsorted(upto, 0.999 * upto[-1])])


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

"""Settings of ADOC's evaluation, and measures for its claims.

See (behaviour/evaluations.md, ADOC's evaluation).

Stall time is the sum of slowdown and stop intervals, as the store's listener counts it. For SILK the settings use
`silk_code`, because the scripts of the evaluation (supermt/ADOC-Rocks-tracker) start the db_bench of the released code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from lsmlab.sim.results.finished import finished
from lsmlab.validation.papers.claim import Outcome, Setting

DEVICES: Final = ("pmem", "nvme", "sata", "hdd")
BANDWIDTH: Final = {"pmem": 2300, "nvme": 2700, "sata": 490, "hdd": 210}
"""Device bandwidth in SILK's configuration, MB/s; deep compactions pause when clients use 3/4 of it.

See (behaviour/evaluations.md, ADOC's evaluation).
"""
BOUND: Final = {"pmem": "2700MiB/s", "nvme": "2400MiB/s", "sata": "650MiB/s", "hdd": "350MiB/s"}
"""Upper bound of the auto-tuned limiter (background/rocksdb_at.md, What it does)."""
SWEEP: Final = (2, 4, 6, 8, 12, 20)
"""Numbers of threads; the paper uses 2 to 20 in steps of 2."""
INFINITE: Final = math.inf
ROCKSDB: Final = ("engine=adoc", "engine/tuner=none", "engine.name=rocksdb")
"""Overrides of scheme DF: RocksDB 7.5 with the evaluation's options, two threads and memtables of 64 MB."""
Runs = Mapping[str, Outcome]


def scheme(name: str, device: str) -> Setting:
    """Return the setting of a scheme on a device, for an hour."""
    own: tuple[str, ...] = (f"engine={name}",)
    if name == "rocksdb":
        own = ROCKSDB
    elif name == "rocksdb_at":
        own = ("engine=adoc", "engine/tuner=none", "engine.name=rocksdb_at",
               f"engine.options.rate_limiter_bytes_per_sec={BOUND[device]}",
               "engine.options.rate_limiter_auto_tuned=true")  # fmt: skip
    elif name.startswith("silk"):
        total = BANDWIDTH[device]
        own = (f"engine={name}", "engine/scheduler=silk_code", f"engine.scheduler.total_bandwidth={total}MB/s",
               f"engine.scheduler.pause_bandwidth={0.75 * total:g}MB/s")  # fmt: skip
    return Setting(f"{name}_{device}", ("experiment=adoc_fillrandom", f"device={device}", *own))


def threads(device: str, jobs: int) -> Setting:
    """Return RocksDB with `jobs` threads and 64 MB memtables: one hour; ten minutes on PM, as the authors' sweeps."""
    short = ("workload.duration=600s",) if device == "pmem" else ()
    if jobs == 2 and not short:
        return scheme("rocksdb", device)
    own = (*ROCKSDB, f"engine.options.max_background_jobs={jobs}", *short)
    return Setting(f"threads{jobs}_{device}", ("experiment=adoc_fillrandom", f"device={device}", *own))


def ycsb(name: str, workload: str) -> Setting:
    """Return a scheme under a YCSB workload on NVMe: the whole load, or ten minutes of a run."""
    own = scheme(name, "nvme").overrides[1:]
    length = () if workload == "load" else ("workload.duration=600s",)
    return Setting(f"{name}_ycsb_{workload}", ("experiment=adoc_ycsb", f"workload=ycsb_{workload}", *own, *length))


# --- measures of one run ----------------------------------------------------------------------------------------------


def ops(run: Outcome) -> float:
    """Return operations per second."""
    return float(run.summary["ops_per_s"])


def p99(run: Outcome) -> float:
    """Return the P99 of writes in seconds."""
    return float(run.summary["write_latency_s"]["p99"])


def stalled(run: Outcome, kinds: str = "") -> float:
    """Return seconds of slowdown and stop, of all causes or of those in `kinds` (memtable, l0, pending)."""
    cause, length = np.asarray(run.stalls["cause"]), np.asarray(run.stalls["end_s"]) - np.asarray(run.stalls["start_s"])
    mine = np.array([not kinds or str(c).split("_")[0] in kinds.split() for c in cause], dtype=np.bool_)
    return float(length[mine].sum()) if len(length) else 0.0


def job_speed(run: Outcome, kind: str, deep: bool = False) -> float:
    """Return bytes read and written by all jobs of a kind per second of job time, as in RocksDB's statistics."""
    jobs = finished(run.jobs, "kind", "start_level", "start_s", "merged_s", "read_bytes", "write_bytes")
    start = jobs["start_level"]
    mine = jobs["kind"] == kind
    if kind == "compaction":
        mine &= (start > 0) if deep else (start == 0)
    length = jobs["merged_s"] - jobs["start_s"]
    moved = jobs["read_bytes"] + jobs["write_bytes"]
    return float(moved[mine].sum() / length[mine].sum()) if mine.any() else math.nan


def of(value: Callable[[Outcome], float], name: str) -> Callable[[Runs], float]:
    """Return a measure: the value of one run."""

    def measure(runs: Runs) -> float:
        return value(runs[name])

    return measure


def ratio(value: Callable[[Outcome], float], above: str, below: str) -> Callable[[Runs], float]:
    """Return a measure: the value of run `above` / the value of run `below`."""

    def measure(runs: Runs) -> float:
        other = value(runs[below])
        return value(runs[above]) / other if other else math.nan

    return measure


def sweep_of(device: str) -> tuple[Setting, ...]:
    """Return the settings of the thread sweep on a device."""
    return tuple(threads(device, jobs) for jobs in SWEEP)


def knee(device: str) -> Callable[[Runs], float]:
    """Return a measure: the smallest number of threads with 95 % of the best throughput."""

    def measure(runs: Runs) -> float:
        rates = [ops(runs[s.name]) for s in sweep_of(device)]
        return float(next(jobs for jobs, rate in zip(SWEEP, rates, strict=True) if rate >= 0.95 * max(rates)))

    return measure


def ends(value: Callable[[Outcome], float], device: str) -> Callable[[Runs], float]:
    """Return a measure: the value at 20 threads / the value at 2 threads."""
    return ratio(value, threads(device, 20).name, threads(device, 2).name)


def best_over(
    value: Callable[[Outcome], float], first: str, second: str, best: Callable[[Sequence[float]], float]
) -> Callable[[Runs], float]:
    """Return a measure: the ratio of two schemes on the device that `best` selects (max or min)."""

    def measure(runs: Runs) -> float:
        found = [ratio(value, f"{first}_{d}", f"{second}_{d}")(runs) for d in DEVICES]
        return best([f for f in found if not math.isnan(f)])

    return measure


def on_all_devices(*names: str) -> tuple[Setting, ...]:
    """Return the settings of schemes on all devices."""
    return tuple(scheme(name, device) for name in names for device in DEVICES)


def smallest_gain(runs: Runs) -> float:
    """Return the throughput of ADOC / that of its better half, the smallest ratio of all devices."""
    return min(ops(runs[f"adoc_{d}"]) / max(ops(runs[f"adoc_t_{d}"]), ops(runs[f"adoc_b_{d}"])) for d in DEVICES)


def silk_order(runs: Runs) -> float:
    """Return the smallest throughput ratio SILK-O / SILK-P and SILK-P / SILK-D on PM and NVMe."""
    pairs = [("silk_o", "silk_p"), ("silk_p", "silk_d")]
    return min(ops(runs[f"{a}_{d}"]) / ops(runs[f"{b}_{d}"]) for a, b in pairs for d in ("pmem", "nvme"))


def ratio_to_silk(runs: Runs) -> float:
    """Return the throughput of DF and AT / that of SILK-D and SILK-P on NVMe, as geometric means."""
    own, silk = (math.sqrt(ops(runs[f"{a}_nvme"]) * ops(runs[f"{b}_nvme"])) for a, b in
                 (("rocksdb", "rocksdb_at"), ("silk_d", "silk_p")))  # fmt: skip
    return own / silk


def lowest_stalls(runs: Runs) -> float:
    """Return the memtable and L0 stall seconds of ADOC / the smallest of the other schemes, on NVMe."""
    others = [stalled(runs[f"{s}_nvme"], "memtable l0") for s in ("rocksdb", "rocksdb_at", "silk_d", "silk_p", "silk_o")]
    return stalled(runs["adoc_nvme"], "memtable l0") / min(others) if min(others) else math.nan


def redundancy_peak(runs: Runs) -> float:
    """Return the number of threads with the longest stalls by pending bytes, on NVMe."""
    seconds = [stalled(runs[s.name], "pending") for s in sweep_of("nvme")]
    return float(SWEEP[int(np.argmax(seconds))]) if any(seconds) else math.nan


def slowest_is_flush(runs: Runs) -> float:
    """Return the speed of flushes / that of the slowest kind of compaction, at 20 threads on NVMe."""
    run = runs[threads("nvme", 20).name]
    others = [job_speed(run, "compaction"), job_speed(run, "compaction", deep=True)]
    return job_speed(run, "flush") / min(o for o in others if not math.isnan(o))


def memtable_bytes(run: Outcome) -> float:
    """Return the mean size of all memtables in bytes; the active one counts with its full size."""
    sizes = run.series.get("option_write_buffer_size", run.summary["options"]["write_buffer_size"])
    return float(np.mean(np.asarray(sizes) * (1.0 + np.asarray(run.series["immutables"]))))


def more_pending(runs: Runs) -> float:
    """Return the stall seconds by pending bytes of ADOC minus the mean of SILK-P and SILK-O, on NVMe."""
    silk = [stalled(runs[f"silk_{scheme}_nvme"], "pending") for scheme in "po"]
    return stalled(runs["adoc_nvme"], "pending") - float(np.mean(silk))

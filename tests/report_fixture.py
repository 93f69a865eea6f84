"""A synthetic run directory in the format of a simulated run: fast to write, of any length, with or without each part.

The numbers are consistent as far as the pages use them (stalls have chains of earlier jobs, sums agree); they are not
simulated.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from lsmlab.sim.results.parquet import write_table
from lsmlab.sim.results.schema.columns import FORMAT
from lsmlab.sim.results.schema.run_tables import JOBS, LATENCY, SERIES, STALLS

CAUSES = ("memtable_stop", "l0_stop", "pending_stop", "memtable_slowdown", "l0_slowdown", "pending_slowdown")
CONFIG = (
    "engine:\n  version: '8.11'\n  options:\n    write_buffer_size: 64MiB\ndevice:\n  write_cap: {cap}\nseed: {seed}\n"
)
OPTIONS = {
    "write_buffer_size": 67108864, "max_write_buffer_number": 2, "level0_file_num_compaction_trigger": 4,
    "level0_slowdown_writes_trigger": 20, "level0_stop_writes_trigger": 36, "max_bytes_for_level_base": 268435456,
    "target_file_size_base": 67108864, "max_background_jobs": 2, "soft_pending_compaction_bytes_limit": 68719476736,
    "hard_pending_compaction_bytes_limit": 274877906944, "level_compaction_dynamic_level_bytes": True,
    "compression_per_level": ["none", "none", "lz4"], "delayed_write_rate": 16777216, "rate_limiter": None,
}  # fmt: skip


def write_run(
    directory: Path, *, seconds: int = 600, stalls: int = 40, jobs: int = 260, reads: bool = True, seed: int = 1,
    speed: float = 1.0, device: str = "nvme",
) -> Path:  # fmt: skip
    """Write a run with `seconds` rows, `jobs` jobs and `stalls` stall intervals. Return `directory`."""
    random = np.random.default_rng(seed)
    job_rows = _jobs(random, seconds, jobs)
    stall_rows = _stalls(random, seconds, stalls, job_rows)
    series = _series(random, seconds, stall_rows, job_rows, reads, speed)
    latency = _latency(series, reads, speed)
    summary = _summary(series, stall_rows, latency, seconds, seed, device)
    directory.mkdir(parents=True, exist_ok=True)
    config = CONFIG.format(cap=f"{speed:g}GB/s", seed=seed)
    (directory / "config.yaml").write_text(config, encoding="utf-8")
    (directory / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
    about = {"version": "0.1.0", "seed": seed, "config": config}
    write_table(directory, SERIES, series, about)
    for schema, rows in ((JOBS, job_rows), (STALLS, stall_rows), (LATENCY, latency)):
        write_table(directory, schema, schema.table(rows), about)
    return directory


def figures_of(page: str) -> dict[str, Any]:
    """Return the data of a page's figures by id."""
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return {figure["id"]: figure for figure in json.loads(found[1])}


def _jobs(random: np.random.Generator, seconds: int, wanted: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    step = seconds / max(wanted, 1)
    starts = np.sort(random.uniform(0, max(seconds - 1, 0), wanted))
    for start in starts:
        kind = str(random.choice(["flush", "compaction", "compaction", "trivial_move"], p=[0.5, 0.35, 0.1, 0.05]))
        level = -1 if kind == "flush" else int(random.choice([0, 0, 1, 2]))
        files = 1 if kind == "flush" else int(random.integers(1, 9))
        size = 0 if kind == "trivial_move" else files * 2**26
        width = {"trivial_move": 0.0, "flush": 1.0}.get(kind, 2 + files / 3)
        ran = width and step * float(random.uniform(0.4, 1.1)) * width
        rows.append({
            "job": len(rows) + 2, "kind": kind, "reason": "LevelL0FilesNum" if level == 0 else "LevelMaxLevelSize",
            "start_level": level, "output_level": level + 1, "queued_s": float(start) - 0.01, "start_s": float(start),
            "end_s": min(float(start) + ran, float(seconds)), "input_files": files,
            "input_files_output_level": files // 2,
            "output_files": files, "read_bytes": 0 if kind == "flush" else size, "read_bytes_output_level": size // 2,
            "write_bytes": int(size * 0.9), "entries_in": size / 100, "entries_out": size / 120, "score": 1.5,
            "parent": len(rows) + 1 if rows else -1, "shard": 0, "cpu_s": ran / 2, "subcompactions": 1,
            "merged_s": float(start), "moved_bytes": 0, "halted_s": 0.0, "pool": "", "unfinished": False,
        })  # fmt: skip
    return rows


def _stalls(random: np.random.Generator, seconds: int, wanted: int, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    starts = np.sort(random.uniform(0, seconds, wanted))
    ends = np.append(starts, seconds)[1:]
    job_starts = np.array([job["start_s"] for job in jobs])
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        length = float((end - start) * random.uniform(0.1, 0.8))
        last = int(np.searchsorted(job_starts, start))
        chain = jobs[max(0, last - int(random.integers(1, 6))) : last]
        rows.append({
            "stall": number, "cause": str(random.choice(CAUSES, p=[0.35, 0.05, 0.02, 0.08, 0.38, 0.12])),
            "start_s": float(start), "end_s": float(start) + length, "shard": 0, "lost_ops": 1000.0 * length,
            "chain_jobs": [job["job"] for job in chain],
            "chain_levels": len({job["start_level"] for job in chain}),
            "chain_bytes": sum(job["read_bytes"] + job["write_bytes"] for job in chain), "unfinished": False,
        })  # fmt: skip
    return rows


def _spread(seconds: int, rows: list[dict[str, Any]], weights: list[float]) -> np.ndarray:
    """Return the weight per second of intervals, each spread evenly over its duration."""
    result = np.zeros(seconds)
    for row, weight in zip(rows, weights, strict=True):
        first, last = int(row["start_s"]), min(int(row["end_s"]), seconds - 1)
        result[first : last + 1] += weight / (last - first + 1)
    return result


def _series(
    random: np.random.Generator, seconds: int, stalls: list[dict[str, Any]], jobs: list[dict[str, Any]], reads: bool,
    speed: float,
) -> dict[str, np.ndarray]:  # fmt: skip
    t = np.arange(1, seconds + 1, dtype=float)
    series: dict[str, np.ndarray] = {"t_s": t}
    for cause in CAUSES:
        mine = [s for s in stalls if s["cause"] == cause]
        series[f"stall_{cause}_s"] = np.minimum(1, _spread(seconds, mine, [s["end_s"] - s["start_s"] for s in mine]))
    stopped = np.minimum(1, sum(series[f"stall_{c}_s"] for c in CAUSES[:3]))
    slowed = np.minimum(1, sum(series[f"stall_{c}_s"] for c in CAUSES[3:]))
    series["write_ops"] = np.round(
        speed * 210_000 * (1 - stopped) * (1 - 0.7 * slowed) * random.normal(1, 0.03, seconds)
    )
    series["read_ops"] = np.round(20_000 * (1 - 0.4 * stopped) * random.normal(1, 0.02, seconds)) * reads
    series["user_bytes"] = series["write_ops"] * 116
    noise = random.lognormal(0, 0.15, seconds)
    series["write_p50_s"] = 4e-6 * noise / speed
    series["write_p99_s"] = np.where(stopped + slowed > 0.05, 2e-3 + 0.4 * stopped, 2.4e-5) * noise / speed
    series["write_max_s"] = series["write_p99_s"] * 4
    series["read_p50_s"], series["read_p99_s"] = 9e-5 * noise * reads, 6e-4 * noise * reads
    for side in ("read", "write"):
        for consumer, mine in (
            ("flush", [j for j in jobs if j["kind"] == "flush"]),
            ("l0", [j for j in jobs if j["kind"] == "compaction" and j["start_level"] == 0]),
            ("deeper", [j for j in jobs if j["kind"] == "compaction" and j["start_level"] > 0]),
        ):
            series[f"{side}_bytes_{consumer}_per_s"] = _spread(seconds, mine, [j[f"{side}_bytes"] for j in mine])
        client = series["user_bytes"] if side == "write" else series["read_ops"] * 4096.0
        series[f"{side}_bytes_client_per_s"] = client
    wave = 12 + 9 * np.sin(t / max(seconds / 23, 1)) + random.normal(0, 1, seconds) if jobs else np.zeros(seconds)
    series["l0_files"] = np.clip(np.round(wave + 8 * slowed), 0, 36)
    series["immutables"] = np.round(2 * stopped)
    series["pending_bytes"] = np.maximum(0, wave) * 2**31 * 2.2
    series["delayed_rate_bytes_per_s"] = np.where(slowed > 0, 16e6, 0)
    series["running_flushes"], series["running_compactions"] = np.round(stopped), np.round(slowed + 1)
    for level, (size, grows) in enumerate([(6e8, 0), (2.7e8, 0), (2.6e9, 1), (2e10, 1)]):
        growth = t / seconds if grows else np.ones(seconds)
        series[f"level_bytes_{level}"] = size * growth * random.normal(1, 0.04, seconds) * bool(jobs)
        series[f"level_files_{level}"] = np.ceil(series[f"level_bytes_{level}"] / 2**26)
    return series


def _latency(series: dict[str, np.ndarray], reads: bool, speed: float) -> list[dict[str, Any]]:
    upper = np.geomspace(1e-6, 20, 700)
    rows = []
    for op, middle in (("write", 4e-6 / speed), ("read", 9e-5 / speed)):
        if op == "read" and not reads:
            continue
        body = np.exp(-0.5 * (np.log(upper / middle) / 0.35) ** 2)
        tail = 6e-4 * np.exp(-0.5 * (np.log(upper / 0.02 * speed) / 2.0) ** 2)
        count = np.round((body + tail) / (body + tail).sum() * series[f"{op}_ops"].sum())
        rows += [{"op": op, "upper_s": float(u), "count": float(c)} for u, c in zip(upper, count, strict=True) if c]
    return rows


def _percentiles(latency: list[dict[str, Any]], op: str) -> dict[str, float] | None:
    mine = [row for row in latency if row["op"] == op]
    if not mine:
        return None
    upper, count = np.array([r["upper_s"] for r in mine]), np.array([r["count"] for r in mine])
    share = np.cumsum(count) / count.sum()
    wanted = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
    found = {name: float(upper[np.searchsorted(share, q)]) for name, q in wanted.items()}
    return {**found, "max": float(upper[-1]), "mean": float((upper * count).sum() / count.sum())}


def _group(stall: dict[str, Any]) -> dict[str, Any]:
    """Return the group of stalls that a stall is alone, as the stall analysis gives it."""
    chain = {"jobs": stall["chain_jobs"], "seconds": stall["end_s"] - stall["start_s"]}
    own = {name: stall[name] for name in ("cause", "start_s", "end_s", "shard", "lost_ops")}
    return {**own, "stalls": 1, "lost_share": 0.0, "chain": chain, "culprits": []}


def _summary(
    series: dict[str, np.ndarray], stalls: list[dict[str, Any]], latency: list[dict[str, Any]], seconds: int, seed: int,
    device: str,
) -> dict[str, Any]:  # fmt: skip
    ops = float(series["write_ops"].sum() + series["read_ops"].sum())
    user = float(series["user_bytes"].sum())
    lengths = {c: sum(s["end_s"] - s["start_s"] for s in stalls if s["cause"] == c) for c in CAUSES}
    written = [float(series[f"write_bytes_{c}_per_s"].sum()) for c in ("flush", "l0", "deeper")]
    groups = [_group(stall) for stall in sorted(stalls, key=lambda stall: -stall["lost_ops"])]
    lost = {cause: sum(s["lost_ops"] for s in stalls if s["cause"] == cause) for cause in {s["cause"] for s in stalls}}
    total = sum(lost.values())
    levels = [
        {"level": i, "files": int(series[f"level_files_{i}"][-1]), "bytes": int(series[f"level_bytes_{i}"][-1]),
         "target_bytes": target, "read_bytes": int(bytes_), "write_bytes": int(bytes_), "w_amp": 1.1 * i}
        for i, (target, bytes_) in enumerate(zip((0, 268435456, 2684354560), written, strict=True))
    ]  # fmt: skip
    return {
        "version": "0.1.0", "results_format": FORMAT, "seed": seed, "engine": "rocksdb", "engine_version": "8.11",
        "workload": "fillrandom", "duration_s": float(seconds),
        "ops": ops, "ops_per_s": ops / seconds,
        "write_ops_per_s": float(series["write_ops"].mean()),
        "read_ops_per_s": float(series["read_ops"].mean()), "user_bytes_written": user,
        "stall_seconds": lengths, "stall_count": {c: sum(s["cause"] == c for s in stalls) for c in CAUSES},
        "stall_fraction": sum(lengths.values()) / seconds, "episodes": groups[:20],
        "lost_operations": {"total": total, "share": total / (ops + total), "episodes": len(groups), "by_cause": lost},
        "bottleneck": {"resource": "unknown", "text": "", "uses": {}},
        "write_amplification": sum(written) / user if user else 0.0, "read_amplification": 1.9,
        "space_amplification": 1.13, "levels": levels, "write_latency_s": _percentiles(latency, "write"),
        "read_latency_s": _percentiles(latency, "read"), "options": OPTIONS,
        "compaction_stats": [{"Level": f"L{r['level']}", "Files": r["files"], "Size": r["bytes"]} for r in levels],
        "device_bytes_written": sum(written),
        "device": {"name": device, "utilisation": 0.62, "years_left": 3.7},
        "notes": ["max_background_jobs changed from 1 to 2: at least one slot for flushes"],
        "keys": {"mode": "sampled", "rate": 0.01, "error": 0.02},
    }  # fmt: skip

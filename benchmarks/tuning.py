"""Benchmark of `lsmlab tune`: the best of 100 runs against the best of a grid of 2,000 runs.

usage: python benchmarks/tuning.py        (not part of make bench: it takes minutes)

The store stalls behind a capped drive. Its space has 2,000 points: memtable size and number, background jobs, L0 trigger,
size of L1. Goal: throughput at full speed, measured with one and the same seed for grid and search.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SHARE = 0.95
"""Target: throughput of the search's best point over that of the grid's best."""
TRIALS = 50
"""Points of the search, each with two seeds: 100 runs."""
STORE = (
    "device=sata", "limits.write_cap=200MB/s", "workload.num=2M", "workload.value_size=400", "workload.duration=10s",
    "engine.options.target_file_size_base=4MiB", "engine.options.level0_slowdown_writes_trigger=12",
    "engine.options.level0_stop_writes_trigger=16",
)  # fmt: skip
SPACE = (
    "engine.options.write_buffer_size=1MiB,2MiB,4MiB,8MiB,16MiB", "engine.options.max_write_buffer_number=2,3,4,6",
    "engine.options.max_background_jobs=1,2,4,8,16", "engine.options.level0_file_num_compaction_trigger=2,4,6,8,10",
    "engine.options.max_bytes_for_level_base=4MiB,16MiB,64MiB,256MiB",
)  # fmt: skip


def main() -> int:
    """Print both results; return 1 if the search misses the target."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _timed("grid", folder, "sweep", *STORE, *SPACE, "--out", "grid")
        rows = json.loads(_lsmlab(folder, "results", "grid", "--json", "--show", "ops_per_s"))["rows"]
        rates = sorted(row["ops_per_s"] for row in rows)
        _timed("search", folder, "run", *STORE, "--out", "store")
        _timed("search", folder, "tune", "store", *SPACE, "--goal", "throughput", "--trials", str(TRIALS), "--out", "tuned")
        found: dict[str, Any] = json.loads((folder / "tuned" / "tuning.json").read_text(encoding="utf-8"))
        best = json.loads(_lsmlab(folder, "run", *STORE, *found["best"].split(" "), "--json", "--out", "best"))["ops_per_s"]
    below = sum(rate < best for rate in rates) / len(rates)
    share = best / rates[-1]
    print(f"grid of {len(rates)}: best {rates[-1]:,.0f} ops/s, median {rates[len(rates) // 2]:,.0f}, worst {rates[0]:,.0f}")
    print(f"search of {2 * TRIALS} runs: {best:,.0f} ops/s, better than {below:.1%} of the grid: {found['best']}")
    print(f"share of the grid's best: {share:.1%} of {SHARE:.0%}{'' if share >= SHARE else '  MISSED'}")
    return 0 if share >= SHARE else 1


def _lsmlab(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "lsmlab", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


def _timed(name: str, folder: Path, *arguments: str) -> None:
    began_s = time.perf_counter()
    _lsmlab(folder, *arguments, *(() if arguments[0] == "run" else ("-j", "2")), "--no-report")
    print(f"{name:10} {arguments[0]:6} {time.perf_counter() - began_s:6.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""Benchmark of a capacity plan: 60 candidates on two processes, with an empty run store and again.

usage: python benchmarks/plans.py        (not part of make bench: it takes minutes)
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET_S = 300.0
"""Target for the whole command, in seconds of wall time on two cores."""
PLAN = """
description: 60 candidates
start: 2026-11-01
workload: {rate: 6k, growth_per_year: 40%, daily: 1.5, num: 2M, value_size: 1000, read: 0.2, update: 0.8}
service_levels: {write_p999: 50ms, stalled: 5%}
candidates:
  device: [nvme, sata, aws_i4i_xlarge, samsung_pm9a3, aws_gp3]
  engine: [rocksdb, universal]
  options: [{}, {max_background_jobs: 4}, {max_background_jobs: 8, write_buffer_size: 32MiB}]
  machines: [1, 2]
"""


def main() -> int:
    """Print wall and CPU time of both plans; return 1 if the first misses its target."""
    met = True
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "plan.yaml").write_text(PLAN, encoding="utf-8")
        for name in ("60 candidates", "60 candidates again"):
            wall_s, cpu_s, runs = _timed(Path(place))
            missed = wall_s > TARGET_S
            met &= not missed
            print(
                f"{name:20} wall {wall_s:6.1f} s of {TARGET_S:.0f}, CPU {cpu_s:6.1f} s, {runs} runs simulated"
                f"{'  MISSED' if missed else ''}", flush=True,
            )  # fmt: skip
    return 0 if met else 1


def _timed(place: Path) -> tuple[float, float, int]:
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "lsmlab", "plan", "plan.yaml", "-j", "2", "--json", "--out", "answer"],
        cwd=place, env={**os.environ, "LSMLAB_RUNS": str(place / "store")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = json.loads(done.stdout)["candidates"]
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began_s, cpu_s, sum(row.get("simulated", 0) for row in rows)


if __name__ == "__main__":
    sys.exit(main())

"""Measure the speed of runs of many databases: 100 of them for 600 s, with a modest load each.

usage: python benchmarks/many_databases.py [COUNT]        (an idle machine)

Prints the seconds of real time by kind of load, and returns 1 if one of them takes longer than the target.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.simulation import Setting, simulate

TARGET_S: Final = 20.0
"""Real time that a run of 100 databases may take."""
SHARED: Final = ("shared.write_buffer_manager=1GiB", "shared.block_cache=1GiB")
LOADS: Final = {
    "writes": ("workload=constant", "workload.rate=500", "workload.read=0", "workload.update=1", "workload.num=200k"),
    "writes, one budget": (
        "workload=constant", "workload.rate=500", "workload.read=0", "workload.update=1", "workload.num=200k", *SHARED,
    ),
    "reads and writes": ("workload=constant", "workload.rate=1000", "workload.num=200k"),
    "reads and writes, one budget": ("workload=constant", "workload.rate=1000", "workload.num=200k", *SHARED),
}  # fmt: skip
"""Overrides of each load: operations per second and keys are those of one database."""


def main(count: int) -> int:
    """Run each load once."""
    slow = 0
    for name, overrides in LOADS.items():
        config = compose([
            *overrides, f"databases={{store: {{count: {count}}}}}", "workload.threads=1", "workload.duration=600s",
        ])  # fmt: skip
        start_s, cpu_s = time.perf_counter(), time.process_time()
        result = simulate(Setting.of(config))
        taken_s, cpu_s = time.perf_counter() - start_s, time.process_time() - cpu_s
        slow += taken_s > TARGET_S
        jobs = result.summary["flush_count"] + result.summary["compaction_count"]
        print(f"{name:30s} {count} databases, 600 s: {taken_s:6.1f} s{'' if taken_s <= TARGET_S else '  MISSED'}  "
              f"({cpu_s:.1f} s of CPU time, {jobs:,} jobs, {result.summary['ops_per_s']:,.0f} ops/s)", flush=True)  # fmt: skip
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))

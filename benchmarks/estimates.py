"""Benchmark of the estimates of cost: estimated and measured CPU seconds and memory of ten runs, each in its own process.

usage: python benchmarks/estimates.py
"""

from __future__ import annotations

import json
import subprocess
import sys

FACTOR = 3.0
"""Largest accepted ratio of estimate and measurement, in either direction."""
UPDATES = ("workload.read=0", "workload.update=1")
RUNS = (
    ("workload=constant", *UPDATES, "workload.duration=1h", "workload.rate=25k", "workload.num=50M"),
    ("workload=constant", "workload.duration=1h"),
    ("workload=constant", *UPDATES, "workload.shards=16", "workload.rate=100k", "workload.num=200M"),
    ("workload=full_speed", *UPDATES, "workload.num=200M", "workload.duration=600s", "engine.options.max_background_jobs=8"),
    ("workload=fillrandom", "workload.num=50M", "workload.value_size=400", "device=sata", "workload.duration=600s"),
    ("workload=constant", *UPDATES, "workload.rate=60k", "limits.write_cap=200MB/s", "workload.duration=300s"),
    ("experiment=throttled",),
    ("workload=ycsb_a", "workload.recordcount=10M", "workload.operationcount=20M"),
    ("engine=vlsm", "workload=constant", *UPDATES),
    ("engine=universal", "workload=constant", *UPDATES, "workload.num=50M"),
)  # fmt: skip
"""Overrides of each run; sizes, loads, engines and devices as different as users have."""
PROGRAM = """
import json, resource, sys, tempfile, time
from pathlib import Path
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.runs.estimate import estimate
from lsmlab.sim.simulation import Setting, simulate
config = compose(sys.argv[1:])
began = time.process_time()
with tempfile.TemporaryDirectory() as folder:
    simulate(Setting.of(config)).save(Path(folder))
spent_s = time.process_time() - began
memory_bytes = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
guess = estimate(config)
print(json.dumps([spent_s, memory_bytes, guess.seconds(), guess.memory_bytes]))
"""


def main() -> int:
    """Print a row per run; return 1 if an estimate is off by more than `FACTOR`."""
    missed = 0
    print(f"{'':88} CPU s: run  estimate   MB: run  estimate")
    for overrides in RUNS:
        done = subprocess.run([sys.executable, "-c", PROGRAM, *overrides], capture_output=True, text=True, check=True)
        spent_s, memory_bytes, guess_s, guess_bytes = json.loads(done.stdout)
        far = max(guess_s / spent_s, spent_s / guess_s, guess_bytes / memory_bytes, memory_bytes / guess_bytes) > FACTOR
        missed += far
        print(
            f"{' '.join(overrides)[:88]:88} {spent_s:10.2f} {guess_s:9.2f} {memory_bytes / 1e6:9.0f} {guess_bytes / 1e6:9.0f}"
            f"{'  MISSED' if far else ''}", flush=True,
        )  # fmt: skip
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

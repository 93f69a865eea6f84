"""Benchmark of the overhead of many runs: a composition, 96 tiny runs, a sweep of 1,000 of them, a grid of 160 stores.

usage: python benchmarks/many.py        (part of make bench)
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

COMPOSE_MS = 10.0
"""Target for one composition after the first one, in milliseconds of CPU time."""
FIRST_S, ALL_S = 2.0, 8.0
"""Targets for 96 tiny runs: wall time in seconds to the first line of progress, and to the end."""
GRID_S, GRID_CPU_S = 34.0, 65.0
"""Targets for the grid of 160 stores with two workers: wall and CPU seconds."""
RUN_MS = 50.0
"""Target for the CPU time of a tiny run in a sweep, in milliseconds."""
_REPEATS = 200
_SWEPT = ("seed=1", "device=nvme,sata", "engine.options.write_buffer_size=1MiB..500MiB", "workload.num=100")
_SEEDS = ",".join(str(n) for n in range(1, 49))
_TINY = ("device=nvme,sata", f"seed={_SEEDS}", "workload.num=20k", "workload.duration=2s")

_GRID = (
    "device=nvme", "workload=constant", "workload.read=0", "workload.update=1", "workload.num=100M",
    "workload.value_size=1000", "workload.duration=600s", "workload.rate=9843,24606,49213,98425,196850",
    "engine.options.max_background_jobs=2,4,8,16", "engine.options.write_buffer_size=64MiB,128MiB",
    "engine.options.level0_file_num_compaction_trigger=4,8", "device.write_bandwidth=500MB/s,3000MB/s",
)  # fmt: skip


def composition() -> bool:
    """Measure the CPU time of composing configurations that differ in values; return whether the target is met."""
    from lsmlab.sim.configuration.compose import compose

    def overrides(n: int) -> list[str]:
        return ["device=sata", f"workload.value_size={n}", f"engine.options.max_background_jobs={n % 7 + 1}"]

    compose(overrides(1))
    begun = time.process_time()
    for n in range(_REPEATS):
        compose(overrides(n + 1))
    spent_ms = (time.process_time() - begun) / _REPEATS * 1e3
    print(f"composition      {spent_ms:6.1f} ms CPU of {COMPOSE_MS:.0f}{_missed(spent_ms > COMPOSE_MS)}")
    return spent_ms <= COMPOSE_MS


def tiny_runs() -> bool:
    """Measure a comparison of 96 tiny runs, with an empty run store and again; return whether the targets are met."""
    met = True
    with tempfile.TemporaryDirectory() as place:
        for name in ("96 runs", "96 kept runs"):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            first_s, all_s = _timed(Path(place), name.replace(" ", "-"), ["compare", *_TINY])
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            missed = all_s > ALL_S or (first_s is not None and first_s > FIRST_S)
            progress = f"progress after {first_s:.1f} s of {FIRST_S:.0f}, " if first_s is not None else ""
            end = f"end after {all_s:.1f} s of {ALL_S:.0f}, CPU {cpu_s:.1f} s{_missed(missed)}"
            print(f"{name:16} {progress}{end}", flush=True)
            met &= not missed
    return met


def swept_runs() -> bool:
    """Measure a sweep of some 1,000 tiny runs: CPU time per run, all processes included; return whether the target is met."""
    options = ["workload.duration=10ms", "--design", "random", "--points", "250", "--replications", "4"]
    with tempfile.TemporaryDirectory() as place:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _timed(Path(place), "swept", ["sweep", *_SWEPT, *options])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        count = sum(1 for _ in Path(place, "swept").glob("*/summary.json"))
    run_ms = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / count * 1e3
    print(f"sweep of {count} runs  {run_ms:.0f} ms CPU per run of {RUN_MS:.0f}{_missed(run_ms > RUN_MS)}", flush=True)
    return run_ms <= RUN_MS


def grid() -> bool:
    """Wall and CPU time of 160 stores for 600 s: rate, job slots, memtable size, L0 trigger and bandwidth of the device."""
    with tempfile.TemporaryDirectory() as place:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _, all_s = _timed(Path(place), "grid", ["sweep", *_GRID])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    missed = all_s > GRID_S or cpu_s > GRID_CPU_S
    cpu = f"CPU {cpu_s:.1f} s of {GRID_CPU_S:.0f}, {cpu_s / (2 * all_s):.0%} of two cores"
    print(f"grid of 160      end after {all_s:.1f} s of {GRID_S:.0f}, {cpu}{_missed(missed)}")
    return not missed


def _timed(place: Path, out: str, command: Sequence[str]) -> tuple[float | None, float]:
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "lsmlab", *command, "-j", "2", "--no-report", "--out", out],
        cwd=place, env={**os.environ, "LSMLAB_RUNS": str(place / "store")}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        line = process.stderr.readline()
        first_s = time.perf_counter() - begun if line else None
        process.stderr.read()
    if process.returncode:
        raise SystemExit(f"the runs failed: exit code {process.returncode}")
    return first_s, time.perf_counter() - begun


def _missed(missed: bool) -> str:
    return "  MISSED" if missed else ""


if __name__ == "__main__":
    sys.exit(0 if all([composition(), tiny_runs(), swept_runs(), grid()]) else 1)

"""Benchmark of whole runs: CPU time of the process and of the simulation alone, and peak memory, with targets.

usage: python benchmarks/run.py [NAME ...]        (make bench)

Each case is one `lsmlab run --json` in its own process, on one core. CPU time and memory are those of this process,
including its start and the writing of its files.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A run with its targets."""

    name: str
    overrides: tuple[str, ...]
    cpu_s: float
    """Target for the CPU time of the whole process, in seconds."""
    simulation_s: float | None = None
    """Target for the CPU time of the simulation alone, in seconds."""
    memory_mb: float = 300.0


HOUR = ("device=nvme", "workload=fillrandom", "workload.value_size=1000", "workload.benchmark_write_rate_limit=25MB/s")
LOAD_A = (
    "device=nvme", "engine.options.max_background_jobs=8", "workload=ycsb_load", "workload.value_size=200",
    "workload.recordcount=350M", "workload.threads=1",
)  # fmt: skip
CASES = (
    Case("hour", (*HOUR, "workload.duration=3600s"), 1.5, 0.6),
    Case("day", (*HOUR, "workload.duration=86400s"), 30.0),
    Case("load_a", LOAD_A, 5.0),
    Case("load_a_4_shards", (*LOAD_A, "workload.shards=4"), 10.0),
    Case("terabyte", (*LOAD_A, "workload.recordcount=5G"), 25.0),
    Case(
        "throttled_90s",
        (
            "engine.version=7.8", "engine.preset=db_bench", "engine.options.max_background_jobs=4",
            "engine.options.write_buffer_size=4MiB", "engine.options.target_file_size_base=4MiB",
            "engine.options.max_bytes_for_level_base=16MiB", "device=nvme", "device.write_cap=80MiB/s",
            "workload=fillrandom", "workload.num=10M", "workload.duration=90s",
        ),
        0.5,
    ),
)  # fmt: skip


def measure(case: Case) -> int:
    """Run one case in this process and print its measurements as JSON; `run_all` starts a process for each case."""
    import contextlib
    import io

    import lsmlab.sim.simulation as simulation
    from lsmlab.sim.__main__ import main

    spent = [0.0]
    inner = simulation.run

    def timed(*args: object, **kwargs: object) -> object:
        begun = time.process_time()
        try:
            return inner(*args, **kwargs)  # type: ignore[arg-type]
        finally:
            spent[0] += time.process_time() - begun

    simulation.run = timed  # type: ignore[assignment]
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(out):
        code = main(["run", *case.overrides, "--json", "--out", f"{place}/run"])
    summary = json.loads(out.getvalue())
    print(
        json.dumps(
            {
                "code": code, "cpu_s": time.process_time(), "simulation_s": spent[0],
                "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "flushes": summary["flush_count"], "compactions": summary["compaction_count"],
                "simulated_s": summary["duration_s"], "write_amplification": summary["write_amplification"],
            }
        )
    )  # fmt: skip
    return int(code)


def run_all(names: list[str]) -> int:
    """Run the named cases (default: all), print a table and return the exit code: 1 if a target is missed."""
    chosen = [c for c in CASES if not names or c.name in names]
    missed = 0
    print(f"{'case':18} {'CPU s':>7} {'of':>5} {'sim s':>7} {'of':>5} {'MB':>5} {'of':>4}  what was simulated")
    for case in chosen:
        done = subprocess.run(
            [sys.executable, __file__, "--measure", case.name], capture_output=True, text=True, check=True
        )
        got = json.loads(done.stdout.splitlines()[-1])
        over = (
            got["cpu_s"] > case.cpu_s
            or (case.simulation_s is not None and got["simulation_s"] > case.simulation_s)
            or got["memory_mb"] > case.memory_mb
        )
        missed += over
        limit = f"{case.simulation_s:5.1f}" if case.simulation_s is not None else "    -"
        print(
            f"{case.name:18} {got['cpu_s']:7.2f} {case.cpu_s:5.1f} {got['simulation_s']:7.2f} {limit}"
            f" {got['memory_mb']:5.0f} {case.memory_mb:4.0f}  {got['simulated_s']:,.0f} s, {got['flushes']} flushes,"
            f" {got['compactions']} compactions, W-Amp {got['write_amplification']:.2f}{'  MISSED' if over else ''}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        sys.exit(measure(next(c for c in CASES if c.name == sys.argv[2])))
    sys.exit(run_all(sys.argv[1:]))

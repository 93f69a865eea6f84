"""Benchmark of whole runs: CPU time of the process and of the simulation alone, and peak memory, with targets.

usage: python benchmarks/run.py [--against REVISION] [NAME ...]        (make bench)

Each case is one `lsmlab run --json` in its own process, on one core. CPU time and memory are those of this process,
including its start and the writing of its files. `ms/job` is the CPU time of the simulated events per flush, compaction
and trivial move, without that of building a preloaded tree and of collecting results.
With `--against`, the sources of another git revision run each case right after this one, and the last column gives the
CPU time of that revision divided by this one's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("sim", "models", "configs", "validation", "reports")


@dataclass(frozen=True, slots=True)
class Case:
    """A run with its targets."""

    name: str
    overrides: tuple[str, ...]
    cpu_s: float | None
    """Target for the CPU time of the whole process, in seconds; with `beside`, as a multiple of that case's; None: none."""
    simulation_s: float | None = None
    """Target for the CPU time of the simulation alone, in seconds."""
    memory_mb: float = 300.0
    beside: str = ""
    """Case to whose CPU time `cpu_s` is relative; it comes before this case."""


def _at(rate_per_s: int, num: str, duration: str) -> tuple[str, ...]:
    """Overrides of an open loop of 1000-byte updates."""
    return (
        "device=nvme", "workload=constant", "workload.read=0", "workload.update=1", "workload.value_size=1000",
        f"workload.rate={rate_per_s}", f"workload.num={num}", f"workload.duration={duration}",
    )  # fmt: skip


EMPTY = "workload.preload=0"
OPEN_LOOP = _at(100_000, "100M", "600s")
EIGHT_JOBS = (*OPEN_LOOP, "engine.options.max_background_jobs=8")
HALF_READS = (*OPEN_LOOP, "workload.read=0.5", "workload.update=0.5")
LOAD = (
    "device=nvme", "engine.options.max_background_jobs=8", "workload=ycsb_load", "workload.value_size=200",
    "workload.threads=1",
)  # fmt: skip
CASES = (
    Case("start_up", ("workload.num=20k", "workload.duration=1s"), 0.3),
    Case("hour", (*_at(24_606, "50M", "3600s"), EMPTY), 1.5),
    Case("day", (*_at(24_606, "10G", "86400s"), EMPTY), 40.0),
    Case("week", (*_at(9_843, "1G", "604800s"), EMPTY), None, memory_mb=400.0),
    Case("hour_1_gb", _at(24_606, "1M", "3600s"), None),  # preloaded stores of three sizes: the cost per job is the same
    Case("hour_1_tb", _at(24_606, "1G", "3600s"), None),
    Case("hour_10_tb", _at(24_606, "10G", "3600s"), None, memory_mb=4000.0),
    Case("load_a_4_shards", (*LOAD, "workload.recordcount=350M", "workload.shards=4"), 10.0),
    Case("terabyte", (*LOAD, "workload.recordcount=5G"), 15.0),
    Case("open_loop", OPEN_LOOP, 1.2),
    Case("open_loop_write_cap", (*OPEN_LOOP, "device.write_cap=3000MB/s"), 1.2, beside="open_loop"),
    Case("half_reads", HALF_READS, 2.8),  # as 0.1.0 took
    Case("half_reads_write_cap", (*HALF_READS, "device.write_cap=3000MB/s"), 1.2, beside="half_reads"),
    Case(
        "half_reads_both_caps", (*HALF_READS, "device.write_cap=3000MB/s", "device.read_cap=3000MB/s"), 1.2,
        beside="half_reads",
    ),
    Case("eight_jobs", EIGHT_JOBS, None),
    Case(
        "eight_jobs_both_caps", (*EIGHT_JOBS, "device.write_cap=3000MB/s", "device.read_cap=3000MB/s"), 1.3,
        beside="eight_jobs",
    ),
    Case("open_loop_cap_binds", (*OPEN_LOOP, "device.write_cap=500MB/s"), None),
    Case(
        "throttled_90s",
        (
            "engine.version=7.8", "engine.preset=db_bench", "engine.options.max_background_jobs=4",
            "engine.options.write_buffer_size=4MiB", "engine.options.target_file_size_base=4MiB",
            "engine.options.max_bytes_for_level_base=16MiB", "device=nvme", "device.write_cap=80MiB/s",
            "workload=fillrandom", "workload.num=10M", "workload.duration=90s",
        ),
        0.9,
    ),
)  # fmt: skip


def measure(overrides: Sequence[str]) -> int:
    """Run one case in this process and print its measurements as JSON; `run_all` starts a process for each case."""
    import contextlib
    import io

    with contextlib.suppress(ImportError):  # an older revision has no such module
        from lsmlab.sim.runs.loading import load_simulation

        load_simulation()
    import lsmlab.sim.simulation as simulation
    from lsmlab.reports.cli.main import main
    from lsmlab.sim.phase import Phase

    spent = {"simulation_s": 0.0, "events_s": 0.0}
    simulation.simulate = _timed(simulation.simulate, spent, "simulation_s")
    Phase.run = _timed(Phase.run, spent, "events_s")  # type: ignore[method-assign]
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(out):
        os.environ["LSMLAB_RUNS"] = f"{place}/store"
        code = main(["run", *overrides, "--json", "--out", f"{place}/run"])
    summary = json.loads(out.getvalue())
    names = ("flush_count", "compaction_count", "trivial_move_count", "duration_s", "write_amplification")
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {"cpu_s": time.process_time(), **spent, "memory_mb": own.ru_maxrss / 1024}
            | {name: summary[name] for name in names}
        )
    )
    return int(code)


def _timed(function: Callable[..., Any], spent: dict[str, float], name: str) -> Callable[..., Any]:
    """Return the function with its CPU time added to `spent[name]`."""

    def timed(*args: object, **kwargs: object) -> Any:
        begun = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            spent[name] += time.process_time() - begun

    return timed


def _measured(case: Case, packages: Path | None = None) -> dict[str, Any]:
    """Run one case in a process of its own. `packages`: folder with the package `lsmlab` to run; None: the installed one."""
    found: dict[str, Any] = json.loads(_run_python(["--measure", *case.overrides], packages).splitlines()[-1])
    return found


def _run_python(arguments: Sequence[str], packages: Path | None) -> str:
    """Run this file with `--measure` in a process of its own and return its output."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    if packages is not None:
        environment["PYTHONPATH"] = str(packages)
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@contextmanager
def _sources(revision: str) -> Iterator[Path]:
    """Check out a revision beside the working tree; yield a folder in which its sources are the package `lsmlab`."""
    with tempfile.TemporaryDirectory() as place:
        tree, package = Path(place, "tree"), Path(place, "packages", "lsmlab")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
        try:
            package.mkdir(parents=True)
            for name in PACKAGES:
                (package / name).symlink_to(tree / name)
            yield package.parent
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def run_all(names: Sequence[str], other: Path | None) -> int:
    """Run the named cases (default: all), print a table and return the exit code: 1 if a target is missed."""
    unknown = set(names) - {case.name for case in CASES}
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}; cases: {', '.join(case.name for case in CASES)}")
    wanted = {name for case in CASES if not names or case.name in names for name in (case.name, case.beside)}
    cases = [case for case in CASES if case.name in wanted]
    for packages in (None,) if other is None else (None, other):
        _measured(CASES[0], packages)  # writes the bytecode files, which an installed package has
    missed = 0
    cpu_s: dict[str, float] = {}
    print(_HEAD)
    for case in cases:
        got = _measured(case)
        cpu_s[case.name] = got["cpu_s"]
        target = float("inf") if case.cpu_s is None else case.cpu_s
        limit_s = target * cpu_s[case.beside] if case.beside else target
        slow = got["simulation_s"] > (case.simulation_s if case.simulation_s is not None else float("inf"))
        over = got["cpu_s"] > limit_s or slow or got["memory_mb"] > case.memory_mb
        missed += over
        faster = f"{_measured(case, other)['cpu_s'] / got['cpu_s']:.1f}x" if other is not None else "-"
        print(_row(case, got, limit_s, faster), "  MISSED" if over else "", flush=True)
    return 1 if missed else 0


_HEAD = (
    f"{'case':21} {'CPU s':>7} {'of':>6} {'sim s':>7} {'of':>5} {'MB':>5} {'of':>4} {'ms/job':>6} {'faster':>7}"
    "  what was simulated"
)


def _row(case: Case, got: dict[str, Any], limit_s: float, faster: str) -> str:
    simulation = "-" if case.simulation_s is None else f"{case.simulation_s:.1f}"
    jobs = got["flush_count"] + got["compaction_count"] + got["trivial_move_count"]
    job_ms = f"{got['events_s'] / jobs * 1e3:.2f}" if jobs else "-"
    return (
        f"{case.name:21} {got['cpu_s']:7.2f} {limit_s:6.2f} {got['simulation_s']:7.2f} {simulation:>5}"
        f" {got['memory_mb']:5.0f} {case.memory_mb:4.0f} {job_ms:>6} {faster:>7}  {got['duration_s']:,.0f} s,"
        f" {got['flush_count']} flushes, {got['compaction_count']} compactions, W-Amp {got['write_amplification']:.2f}"
    )


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases to run (default: all)")
    parser.add_argument("--against", metavar="REVISION", help="git revision to measure in turn with the working tree")
    given = parser.parse_args()
    if given.against is None:
        return run_all(given.names, None)
    with _sources(given.against) as packages:
        return run_all(given.names, packages)


if __name__ == "__main__":
    sys.exit(measure(sys.argv[2:]) if sys.argv[1:2] == ["--measure"] else main())

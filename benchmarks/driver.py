"""Benchmark of the command that drives many workers: CPU time and memory per run, and queries of the index.

Workers of Dask have their run at once, so that the command, which has Dask's scheduler as with --on slurm, is the
bottleneck. What it can do in a second limits the number of cores that it can keep busy.

usage: python benchmarks/driver.py [RUNS]      (default: 10,000; part of make bench)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable
from functools import cache
from pathlib import Path
from typing import Any

RUN_MS = 10.0
"""Target for the CPU time of the command per run, in milliseconds: 1,000 cores with runs of ten seconds."""
RUN_BYTES = 10e3
"""Target for the memory of the command per run: 10^6 runs in 10 GB."""
QUERY_S = 1.0
"""Target for a query of 10,000 runs: wall time of `lsmlab results` in seconds."""
_WORKERS, _REPEATS = 2, 3
_WARM = 0.2
"""Share of the runs after which memory counts: before, it does not grow with the number of runs."""
_QUERIES = (("--where", "device=sata", "--sort", "ops_per_s:desc"), ("--by", "device", "--show", "ops_per_s"))


@cache
def _run(place: Path) -> Path:
    """Return the folder of a real run that this process has simulated in `place`."""
    from lsmlab.sim.configuration.compose import compose
    from lsmlab.sim.runs.key import run_key
    from lsmlab.sim.runs.task import Task, simulate_task

    config = compose(["device=sata", "workload.num=100k", "workload.duration=5s"])
    task = Task(run_key(config), config, place / str(os.getpid()))
    simulate_task(task)
    return task.root / task.key


def instantly(task: Any, _progress: object) -> Any:
    """Put the files of another run into the store in place of those of a task."""
    from lsmlab.sim.runs.store import ABOUT, RunStore
    from lsmlab.sim.runs.task import Attempt

    store = RunStore(task.root)
    with store.staging() as folder:
        for path in _run(task.root.parent / "real").iterdir():
            if path.name != ABOUT:
                (folder / path.name).hardlink_to(path)
        store.publish(folder, task.key, {"wall_s": 0.0})
    return Attempt()


def started(place: Path, _progress: object) -> None:
    """Import LSMLab and simulate the run in a worker."""
    _run(place)


class Instant:
    """Executor that does `instantly` in place of every work; it measures the command until the last run has ended."""

    def __init__(self, inner: Any, warm: int) -> None:
        self._inner, self._warm, self.count = inner, warm, inner.count
        self.used_bytes, self.wall_s, self.cpu_s = 0, 0.0, 0.0
        """Memory of the tasks after the first `warm`; time of all."""

    def run_tasks(self, _work: Any, tasks: Iterable[Any], watch: Any) -> Generator[Any, None, None]:
        """Yield the tasks, done by `instantly`."""
        import driver

        begun, begun_cpu = time.perf_counter(), time.process_time()
        for number, ended in enumerate(self._inner.run_tasks(driver.instantly, tasks, watch)):
            if number == self._warm:
                self.used_bytes = _memory_bytes()
            yield ended
        self.wall_s, self.cpu_s = time.perf_counter() - begun, time.process_time() - begun_cpu
        self.used_bytes = _memory_bytes() - self.used_bytes


def command(runs: int, place: Path) -> bool:
    """Measure the driver of a sweep; return whether the targets are met."""
    import driver  # this module by its name, so that workers can import its functions
    from distributed import LocalCluster
    from lsmlab.sim.runs.batch import Settings
    from lsmlab.sim.runs.places import open_executor
    from lsmlab.sim.runs.store import RunStore
    from lsmlab.sim.studies.baseline import Baseline
    from lsmlab.sim.studies.sweep.space import parse_space
    from lsmlab.sim.studies.sweep.sweep import Sweep, sweep

    space = parse_space(
        ["workload=constant", "device=nvme,sata", "engine.options.write_buffer_size=1MiB..500MiB", "workload.rate=1k/s..1M/s",
         "engine.options.max_background_jobs=1..64"]
    )  # fmt: skip
    asked = Sweep(Baseline("", space.fixed, ()), space, "random", runs // 2, (1, 2))
    store = RunStore(place / "store")
    store.root.mkdir()
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    with (
        LocalCluster(n_workers=_WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        open_executor(cluster.scheduler_address, None, store) as workers,
    ):
        import pyarrow.parquet  # noqa: F401  (its memory is no cost of a run)

        list(workers.run_tasks(driver.started, [place / "real"] * 2 * _WORKERS, lambda _i, _s: None))
        instant = Instant(workers, int(_WARM * asked.runs))
        sweep(asked, (), Settings(store, instant, quiet=True), place)
        per_run = instant.used_bytes / (1.0 - _WARM) / asked.runs
    cpu_ms = instant.cpu_s / asked.runs * 1e3
    print(
        f"command, {asked.runs:,} runs   {cpu_ms:.2f} ms CPU per run of {RUN_MS:.0f}{_missed(cpu_ms > RUN_MS)}, "
        f"{asked.runs / instant.wall_s:,.0f} runs/s, {per_run / 1e3:.1f} KB per run of {RUN_BYTES / 1e3:.0f}"
        f"{_missed(per_run > RUN_BYTES)}"
    )
    return cpu_ms <= RUN_MS and per_run <= RUN_BYTES


def queries(place: Path) -> bool:
    """Measure `lsmlab results` on the index; return whether the target is met."""
    met = True
    for query in _QUERIES:
        wall_s = min(_wall_s([sys.executable, "-m", "lsmlab", "results", str(place), *query]) for _ in range(_REPEATS))
        print(f"results {' '.join(query)}   {wall_s:.2f} s of {QUERY_S:.0f}{_missed(wall_s > QUERY_S)}")
        met &= wall_s <= QUERY_S
    return met


def _wall_s(line: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _memory_bytes() -> int:
    """Return the resident memory of this process (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _missed(missed: bool) -> str:
    return "  MISSED" if missed else ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
        met = [command(count, Path(folder)), queries(Path(folder))]
    sys.exit(0 if all(met) else 1)

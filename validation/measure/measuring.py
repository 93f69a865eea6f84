"""The steps of a measurement: the drive, then the cores, then the fit and the file."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.results.leftovers import replacing
from lsmlab.validation.calibrate.fit import Calibration, fit_runs
from lsmlab.validation.calibrate.recorded import RecordedRun, read_run
from lsmlab.validation.calibrate.solve import Equation, Solution
from lsmlab.validation.calibrate.terms import DurationRow, relative
from lsmlab.validation.measure import drive, drive_io
from lsmlab.validation.measure.busy import busy_facts, cpu_of_others_s, doubts, usable_cores
from lsmlab.validation.measure.drive import DriveFacts, drive_facts
from lsmlab.validation.measure.machine_file import MeasuredMachine, machine_text, stay_at_prior
from lsmlab.validation.measure.place import Disk, check_room, disk_below, remove_old, work_folder
from lsmlab.validation.measure.request import MeasureRequest
from lsmlab.validation.measure.stages import STORE_BYTES, Stage, chosen
from lsmlab.validation.recorder.command import bench_plan
from lsmlab.validation.recorder.drivers import DB_BENCH, ROCKSDICT, Driver
from lsmlab.validation.recorder.limits import CgroupCaps, DiskCounters
from lsmlab.validation.recorder.one_run import Budget, run_bench
from lsmlab.validation.recorder.speed import measure_speed

Began = Callable[[str, float], object]
"""Is told the name of each step and its estimated seconds, before it begins."""
_SPEED_S: Final = 3.0
"""Estimated time to measure the speed of the cores."""
_STAGE_TIME_S: Final = 120.0
"""Seconds after which a stage is stopped: its store is filled and its compactions are done long before on most drives."""
_CPU_CLASS: Final = "nvme"
"""Entry of configs/device with all constants of a fit, for drives whose class lacks some (a hard disk)."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """RocksDB that runs the stages."""

    driver: Driver
    command: list[str]
    release: str
    """major.minor"""


def find_tool(request: MeasureRequest) -> Tool | None:
    """Return db_bench, or else rocksdict; None with --drive-only. Raises InputError with the remedy if there is neither."""
    if request.drive_only:
        return None
    driver = DB_BENCH if request.db_bench is not None or shutil.which("db_bench") else ROCKSDICT
    try:
        command = driver.tool(request.db_bench, "", Path())
    except InputError as error:
        if request.db_bench is not None:
            raise
        raise InputError(
            f"the cores are measured with RocksDB, but db_bench is not on the PATH, and {error}; "
            "or measure the drive alone with --drive-only"
        ) from None
    release = driver.release(command)
    if not release:
        raise InputError(f"{command[0]}: prints no release with --version; give another db_bench with --db-bench PATH")
    return Tool(driver=driver, command=command, release=".".join(release.split(".")[:2]))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a request measures on this machine."""

    request: MeasureRequest
    disk: Disk
    tool: Tool | None
    cores: int
    stages: Sequence[tuple[Stage, float]]

    @property
    def seconds(self) -> float:
        """Estimated time."""
        return 2 * _SPEED_S + self.request.effort.seconds + sum(stage.estimated_s(s) for stage, s in self.stages)

    def text(self) -> str:
        """Return what would be done, for --dry-run."""
        drive_text = f"drive {self.disk.name}, constants of device={self.disk.device_class}"
        lines = [f"{self.request.place}: {drive_text}; {self.seconds:.0f} s"]
        lines += [f"  {' + '.join(p.name for p in step)}" for step in drive.steps(self.request.effort)]
        for stage, seconds in self.stages:
            assert self.tool is not None
            lines.append(f"  {stage.name}, {seconds:g} s: {stage.tells}")
            case = stage.case(self.tool.driver, self.tool.release, _CPU_CLASS, seconds, self.request.place)
            plan = bench_plan(case.planned(), Path("report.csv"), self.tool.driver)
            lines += [f"    {self.tool.driver.name} {shlex.join(flags)}" for flags in (*plan.prefill, plan.measured)]
        return "\n".join(lines) + "\n"


def plan_of(request: MeasureRequest) -> Plan:
    """Return what would be measured. Raises InputError for a folder, file or machine with which that is not possible."""
    request.check()
    check_room(request.place, 0)
    disk = disk_below(request.place)
    remove_old(request.place)
    check_room(request.place, request.needed_bytes)
    with temporary_files_in(request.place):
        tool = find_tool(request)
    cores = usable_cores()
    return Plan(
        request=request, disk=disk, tool=tool, cores=cores,
        stages=chosen(tool.driver, cores, quick=request.quick) if tool is not None else (),
    )  # fmt: skip


def measure(plan: Plan, began: Began) -> MeasuredMachine:
    """Measure the machine, write the file, and return what was found. All other files are removed at the end.

    Raises InputError if the drive fails, and KeyboardInterrupt after Ctrl-C or SIGTERM.
    """
    started = time.monotonic()
    with work_folder(plan.request.place) as work, temporary_files_in(work):
        began("speed of the cores", _SPEED_S)
        before, others_s = measure_speed(), cpu_of_others_s()
        with drive_io.FileDrive(work, plan.request.effort.file_bytes) as file:
            times = drive.take(file, plan.request.effort, began)
        runs, unknown = _runs(plan, work, began)
        began("speed of the cores", _SPEED_S)
        after = measure_speed()
        busy = busy_facts(cpu_of_others_s() - others_s, before, after)
    facts = drive_facts(times, compose([f"device={plan.disk.device_class}"])["device"])
    why = tuple(doubts(busy, os.cpu_count() or plan.cores))
    calibration = _calibration(plan, facts, runs, busy=bool(why))
    hardly = stay_at_prior(calibration.solution)
    found = MeasuredMachine(
        calibration=calibration, drive=facts, times=times, disk=plan.disk.name, seconds=time.monotonic() - started, busy=busy,
        doubts=why, unknown=(*facts.unknown, *unknown, *([hardly] if hardly else [])),
    )  # fmt: skip
    text = machine_text(found, datetime.now(UTC).date().isoformat())
    try:
        with replacing(plan.request.out) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {plan.request.out}: cannot be written ({error.strerror})") from None
    return found


def _runs(plan: Plan, work: Path, began: Began) -> tuple[list[RecordedRun], list[str]]:
    """Run all stages; return their runs, and what was not determined because a stage failed."""
    if plan.tool is None:
        return [], ["the costs of the cores: --drive-only"]
    runs, failed = [], []
    for stage, seconds in plan.stages:
        began(f"cores: {stage.tells}", stage.estimated_s(seconds))
        try:
            runs.append(_run(plan, plan.tool, stage, seconds, work))
        except InputError as error:
            failed.append(f"{stage.tells}: {error}")
    if not plan.tool.driver.reads_and_threads:
        failed.append("the costs of puts and gets: rocksdict calls RocksDB from Python, which costs more; install db_bench")
        runs = [replace(run, histograms={}, fills=()) for run in runs]
    return runs, failed


def _run(plan: Plan, tool: Tool, stage: Stage, seconds: float, work: Path) -> RecordedRun:
    out = work / stage.name / "1"
    case = stage.case(tool.driver, tool.release, _CPU_CLASS, seconds, work)
    commands = bench_plan(case.planned(), out / "report.csv", tool.driver)
    budget = Budget(_STAGE_TIME_S, STORE_BYTES)
    run_bench(tool.command, commands, CgroupCaps(), budget, work / "db", out, counting=_counting(plan.disk))
    config = case.config()
    config["host"]["cores"] = plan.cores
    return read_run(out, stage.name, config)


def _counting(disk: Disk) -> Any:
    """Return what counts the traffic of a run: the whole disk, because a cgroup needs root."""

    @contextmanager
    def counting(_name: str, _place: Path, *, needed: bool) -> Iterator[DiskCounters | None]:  # noqa: ARG001 (interface)
        counters = None
        if disk.entry is not None:
            with suppress(OSError, ValueError, IndexError):
                counters = DiskCounters(disk.entry)
        yield counters

    return counting


_OF_A_QUIET_MACHINE: Final = (
    "device writes", "device reads", "ends of jobs", "waits of jobs for cores", "fills of memtables",
    "time of reads",
)  # fmt: skip
"""Equations of times that other programs lengthen. On a busy machine, CPU times and the requests to the drive decide."""


def _calibration(plan: Plan, facts: DriveFacts, runs: Sequence[RecordedRun], *, busy: bool) -> Calibration:
    """Fit all constants: with the drive and the runs at once, or apart if the drive's class lacks constants of the runs."""
    without = _OF_A_QUIET_MACHINE if busy else ()
    entry = plan.disk.device_class
    further = [equation for equation in [put_cpu(runs)] if busy and equation is not None]
    equations: tuple[Equation, ...]
    solution: Solution
    if entry == "hdd" and runs:
        host_equations, host = fit_runs(_CPU_CLASS, runs, further, hold=True, without=without)
        drive_equations, device = fit_runs(entry, (), facts.equations, hold=True)
        equations, solution = (*host_equations, *drive_equations), _joined(host, device)
    else:
        equations, solution = fit_runs(entry, runs, (*facts.equations, *further), hold=True, without=without)
    days = datetime.now(UTC).date().isoformat()
    return Calibration(
        machine="measured", device=entry, cores=plan.cores, cases=tuple(run.case for run in runs), runs=tuple(runs),
        recorded=days, release=plan.tool.release if plan.tool is not None else "",
        digest=hashlib.sha256("".join(run.digest for run in runs).encode()).hexdigest(), equations=equations, solution=solution,
    )  # fmt: skip


def put_cpu(runs: Sequence[RecordedRun]) -> Equation | None:
    """Return the equation of the CPU time of puts: that of the process without its jobs, of runs with one writer and no reader.

    Other programs lengthen the time of a put much more than its CPU time. On a quiet machine its time is the better measurement:
    in seven calibration recordings of four machines, this CPU time was 6 to 27 % above the time per put of memtables that were
    filled without a stall, because the process does more than puts and what its jobs count.
    """
    rows = []
    for run in runs:
        if run.threads == 1 and "write" in run.histograms and "read" not in run.histograms and run.last.get("user_cpu_s"):
            cpu_s = run.last["user_cpu_s"] + run.last["system_cpu_s"] - sum(job.cpu_s for job in run.jobs)
            if cpu_s > 0.0:
                count = run.histograms["write"].count * min(1.0, run.last["second"] / run.duration_s)
                rows.append(DurationRow(run.write.times(count), run.host, cpu_s, run.name))
    return relative("CPU of puts", rows, _CPU_SCATTER)


_CPU_SCATTER: Final = 0.1


def _joined(host: Solution, device: Solution) -> Solution:
    """Return the constants of the host from one solution and those of the device from the other."""
    import numpy as np

    own = [i for i, c in enumerate(host.constants) if c.key.startswith("host.")]
    constants = (*(host.constants[i] for i in own), *device.constants)
    size, first = len(constants), len(own)
    correlation = np.eye(size)
    correlation[:first, :first] = host.correlation[np.ix_(own, own)]
    correlation[first:, first:] = device.correlation
    keys = {c.key for c in constants}
    return replace(
        host, constants=constants, values={k: v for k, v in (host.values | device.values).items() if k in keys},
        relative_errors={k: v for k, v in (host.relative_errors | device.relative_errors).items() if k in keys},
        correlation=correlation, singular_values=np.ones(size), directions=np.eye(size),
        residuals={**host.residuals, **device.residuals},
    )  # fmt: skip


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Let child processes put their temporary files into `folder`."""
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder.absolute())
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("TMPDIR", None)
        else:
            os.environ["TMPDIR"] = before

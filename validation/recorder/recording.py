"""Recordings of cases: what to record, and how, and the runs of each case with the files that they leave."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.studies.request import argument, option
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.recorder.command import bench_plan
from lsmlab.validation.recorder.drivers import DRIVERS, ROCKSDBJNI
from lsmlab.validation.recorder.keep import keep_repeat, machine_facts, write_block
from lsmlab.validation.recorder.limits import CgroupCaps
from lsmlab.validation.recorder.one_run import Budget, check_space, run_bench
from lsmlab.validation.recorder.speed import measure_speed, speed_facts, speeds_differ

Say = Callable[[str], object]


@dataclass(frozen=True, kw_only=True)
class RecordRequest:
    """Run real RocksDB for cases and store the measurements in their folders. The case's store, device, prefill and workload become flags of the driver; a cgroup sets the caps, which needs root. The database is deleted after each run. The numbers are written at the end of case.yaml, the raw files into the same folder."""  # noqa: E501 (help text)

    cases: tuple[Path, ...] = argument(
        "CASE", "a folder with a case.yaml (docs/reference/cases.md), or a folder above such folders", several=True
    )
    repeats: int = option(2, "runs of each case; their range is the noise floor (default: 2)", metavar="N", low=1)
    again: bool = option(False, "record also the cases that contain a recording, and replace it")
    driver: str = option(
        "db_bench", "db_bench (preset db_bench; the default), or with preset library: rocksdict, RocksDB 9.8 of the Python "
        "package (pip install 'lsmlab[real]'), or rocksdbjni, RocksDB 8 to 10 of Maven's jar (needs a JDK)",
        "--with", choices=tuple(DRIVERS),
    )  # fmt: skip
    db_bench: Path | None = option(
        None, "path of db_bench (default: searched on the PATH); its release must match the case", metavar="PATH"
    )
    jar: Path | None = option(
        None, "jar of org.rocksdb:rocksdbjni (default: newest of the case's release in ~/.m2/repository)", metavar="PATH"
    )
    scratch: Path | None = option(
        None, "folder of the database during a run, on the disk to be limited (default: system's temporary folder)",
        metavar="DIR",
    )  # fmt: skip
    max_disk: str = option("20GB", "stop a run when its database grows above this size (default: 20GB)", metavar="SIZE")
    max_time: str = option(
        "600s", "stop an invocation of the driver after this time (default: 600s)", metavar="TIME"
    )
    nice: int = option(0, "priority of the driver, -20 to 19 (default: 0)", metavar="N")
    dry_run: bool = option(False, "print the command lines and run nothing")

    def budget(self) -> Budget:
        """Return the limits of a run. Raises InputError for options that are not possible on this machine."""
        if self.jar is not None and self.driver != ROCKSDBJNI.name:
            raise InputError("--jar: only --with rocksdbjni takes a jar")
        if self.scratch is not None and not self.scratch.is_dir():
            raise InputError(f"--scratch {self.scratch}: no such folder")
        if self.nice < 0 and os.geteuid() != 0:
            raise InputError(f"--nice {self.nice}: a negative value needs root; give 0 to 19")
        return Budget(
            _quantity("--max-time", self.max_time, "seconds"), round(_quantity("--max-disk", self.max_disk, "bytes"))
        )


def _quantity(name: str, text: str, kind: str) -> float:
    try:
        return parse_quantity(text, kind)
    except InputError as error:
        raise InputError(f"{name} {text}: {error}") from None


def record_case(case: Case, request: RecordRequest, say: Say) -> None:
    """Record a case; an interruption keeps the finished repeats. `say` gets the lines of progress, or of a dry run.

    Raises InputError if the driver, the device or the disk cannot run the case.
    """
    budget, config = request.budget(), case.planned()
    limits, driver = _limits(config["device"]), DRIVERS[request.driver]
    with tempfile.TemporaryDirectory(prefix="lsmlab-record-", dir=request.scratch) as scratch:
        raw, database = Path(scratch) / "raw", Path(scratch) / "db"
        plan = bench_plan(config, raw / "report.csv", driver)
        if request.dry_run:
            say(f"{case.name}: {limits}\n")
            for flags in (*plan.prefill, plan.measured):
                say(f"  {driver.name} {shlex.join(flags)}\n")
            return
        program = {"--db-bench": request.db_bench, "--jar": request.jar}.get(driver.option)
        tool = driver.command(program, str(config["engine"]["version"]), Path(scratch) / "driver")
        check_space(Path(scratch), budget.disk_bytes)
        done: list[str] = []
        speeds: list[dict[str, float]] = []
        before = measure_speed()
        try:
            for number in range(1, request.repeats + 1):
                say(f"{case.name}: repeat {number} of {request.repeats} …\n")
                shutil.rmtree(raw, ignore_errors=True)
                run_bench(tool, plan, limits, budget, database, raw, nice=request.nice)
                after = measure_speed()
                keep_repeat(raw, case.directory / str(number), (database, raw), manifest=number == 1)
                speeds.append(speed_facts(before, after))
                done.append(str(number))
                before = after
            say(speeds_differ(speeds))
        finally:
            if done:
                facts = machine_facts() | {"speed": speeds, "command": shlex.join([driver.name, *plan.measured])}
                write_block(case.directory, done, facts)


def _limits(device: dict[str, Any]) -> CgroupCaps:
    keys = {"write_cap": "bytes_per_s", "read_cap": "bytes_per_s", "iops_cap": "per_s"}
    caps = [None if device.get(key) is None else round(parse_quantity(device[key], kind)) for key, kind in keys.items()]
    return CgroupCaps(*caps)

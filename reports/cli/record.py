"""The verb `record`: run real RocksDB for cases on this machine, on a device with known limits."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.reports.cli.arguments import LineParser
from lsmlab.sim.results.stopping import stoppable
from lsmlab.validation.casefiles.case import Case, find_cases, read_case
from lsmlab.validation.recorder.command import BenchPlan, bench_plan
from lsmlab.validation.recorder.drivers import DRIVERS
from lsmlab.validation.recorder.keep import is_recorded, keep_repeat, machine_facts, write_block
from lsmlab.validation.recorder.limits import CgroupCaps
from lsmlab.validation.recorder.one_run import Budget, check_space, run_bench
from lsmlab.validation.recorder.speed import measure_speed, speed_facts, speeds_differ

_INTERRUPTED: Final = 130
_HELP: Final = """Run real RocksDB for cases and store the measurements in their folders.

usage: lsmlab record CASE... [options]

  CASE is a folder with a case.yaml (docs/reference/cases.md), or a folder above such folders. The case's store, device,
  prefill and workload become flags of DRIVER; a cgroup sets the caps, which needs root. The database is deleted after
  each run. The numbers are written at the end of case.yaml, the raw files into the same folder.

  --repeats N      runs of each case; their range is the noise floor (default: 2)
  --again          record also the cases that contain a recording, and replace it
  --with DRIVER    db_bench (preset db_bench; the default), or with preset library: rocksdict, RocksDB 9.8 of the Python
                   package (pip install 'lsmlab[real]'), or rocksdbjni, RocksDB 8 to 10 of Maven's jar (needs a JDK)
  --db-bench PATH  path of db_bench (default: searched on the PATH); its release must match the case
  --jar PATH       jar of org.rocksdb:rocksdbjni (default: newest of the case's release in ~/.m2/repository)
  --scratch DIR    folder of the database during a run, on the disk to be limited (default: system's temporary folder)
  --max-disk SIZE  stop a run when its database grows above this size (default: 20GB)
  --max-time TIME  stop an invocation of the driver after this time (default: 600s)
  --nice N         priority of the driver, -20 to 19 (default: 0)
  --dry-run        print the command lines and run nothing
"""


def record(argv: list[str]) -> int:
    """Record the named cases.

    Returns 0; 2 if one of several cases failed (all others are recorded); 130 after an interrupt, which keeps the
    finished repeats.
    """
    if not argv or {"-h", "--help"} & set(argv):
        sys.stdout.write(_HELP)
        return 0
    given = _arguments(argv)
    cases = [read_case(path) for named in given.cases for path in find_cases(named)]
    failed = False
    with stoppable():
        try:
            for case in cases:
                if is_recorded(case.directory) and not given.again and not given.dry_run:
                    sys.stdout.write(f"{case.name}: recorded already; --again replaces it\n")
                    continue
                try:
                    _record_case(case, given)
                except InputError as error:
                    if len(cases) == 1:
                        raise
                    sys.stderr.write(f"lsmlab: {case.name}: {error}\n")
                    failed = True
        except KeyboardInterrupt:
            sys.stderr.write("\nInterrupted. Databases are removed; finished repeats are kept.\n")
            return _INTERRUPTED
    return 2 if failed else 0


def _record_case(case: Case, given: argparse.Namespace) -> None:
    config = case.planned()
    limits = _limits(config["device"])
    with tempfile.TemporaryDirectory(prefix="lsmlab-record-", dir=given.scratch) as scratch:
        raw, database = Path(scratch) / "raw", Path(scratch) / "db"
        driver = DRIVERS[given.driver]
        plan = bench_plan(config, raw / "report.csv", driver)
        if given.dry_run:
            _show(case, driver.name, plan, limits)
            return
        program = {"--db-bench": given.db_bench, "--jar": given.jar}.get(driver.option)
        tool = driver.command(program, str(config["engine"]["version"]), Path(scratch) / "driver")
        budget = Budget(given.max_time, given.max_disk)
        check_space(Path(scratch), budget.disk_bytes)
        done: list[str] = []
        speeds: list[dict[str, float]] = []
        before = measure_speed()
        try:
            for number in range(1, given.repeats + 1):
                sys.stdout.write(f"{case.name}: repeat {number} of {given.repeats} …\n")
                sys.stdout.flush()
                shutil.rmtree(raw, ignore_errors=True)
                run_bench(tool, plan, limits, budget, database, raw, nice=given.nice)
                after = measure_speed()
                keep_repeat(raw, case.directory / str(number), (database, raw), manifest=number == 1)
                speeds.append(speed_facts(before, after))
                done.append(str(number))
                before = after
            sys.stdout.write(speeds_differ(speeds))
        finally:
            if done:
                facts = machine_facts() | {"speed": speeds, "command": shlex.join([driver.name, *plan.measured])}
                write_block(case.directory, done, facts)


def _show(case: Case, driver: str, plan: BenchPlan, limits: CgroupCaps) -> None:
    sys.stdout.write(f"{case.name}: {limits}\n")
    for flags in (*plan.prefill, plan.measured):
        sys.stdout.write(f"  {driver} {shlex.join(flags)}\n")


def _limits(device: dict[str, Any]) -> CgroupCaps:
    def whole(key: str, kind: str) -> int | None:
        value = device.get(key)
        return None if value is None else round(parse_quantity(value, kind))

    return CgroupCaps(
        whole("write_cap", "bytes_per_s"), whole("read_cap", "bytes_per_s"), whole("iops_cap", "per_s")
    )


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = LineParser(prog="lsmlab record", add_help=False, allow_abbrev=False)
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--with", dest="driver", choices=tuple(DRIVERS), default="db_bench")
    parser.add_argument("--db-bench", type=Path)
    parser.add_argument("--jar", type=Path)
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--max-disk", default="20GB")
    parser.add_argument("--max-time", default="600s")
    parser.add_argument("--nice", type=int, default=0)
    given = parser.parse_args(argv)
    if given.repeats < 1:
        raise InputError(f"--repeats {given.repeats}: must be at least 1")
    if given.jar is not None and given.driver != "rocksdbjni":
        raise InputError("--jar: only --with rocksdbjni takes a jar")
    if given.scratch is not None and not given.scratch.is_dir():
        raise InputError(f"--scratch {given.scratch}: no such folder")
    given.max_disk = round(_quantity("--max-disk", given.max_disk, "bytes"))
    given.max_time = _quantity("--max-time", given.max_time, "seconds")
    if given.nice < 0 and os.geteuid() != 0:
        raise InputError(f"--nice {given.nice}: a negative value needs root; give 0 to 19")
    return given


def _quantity(option: str, text: str, kind: str) -> float:
    try:
        return parse_quantity(text, kind)
    except InputError as error:
        raise InputError(f"{option} {text}: {error}") from None

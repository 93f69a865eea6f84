"""Runs db_bench once: starts it in its cgroup, reads counters every second, and always removes the database."""

from __future__ import annotations

import contextlib
import csv
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.validation.recorder.command import BenchPlan
from lsmlab.validation.recorder.limits import Cgroup, CgroupCaps, DiskCounters, group

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_PDEATHSIG: Final = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
_POLL_S: Final = 1.0
_SPARE_BYTES: Final = 2 << 30
"""Free space that a recording leaves on the disk, whatever --max-disk is."""
Counting = Callable[..., AbstractContextManager["Cgroup | DiskCounters | None"]]
"""What counts the traffic of a run, and may limit it; called with a name, the place of the database, and `needed`."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of time and disk space of a run."""

    time_s: float
    """Seconds after which an invocation of the driver is killed and the recording fails."""
    disk_bytes: int
    """Largest size of the database."""


def run_bench(
    tool: Sequence[str], plan: BenchPlan, limits: CgroupCaps, budget: Budget, database: Path, out: Path, *, nice: int = 0,
    counting: Counting = group,
) -> None:
    """Fill and measure a store in `database`, then delete it; write LOG, OPTIONS, MANIFEST and outputs to `out`.

    `counting`: a cgroup, which may limit the device but needs root, or something else that counts only.

    Raises InputError if db_bench fails or exceeds `budget`, or if the disk has too little space.
    """
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(database, ignore_errors=True)
    database.mkdir(parents=True)
    try:
        check_space(database, budget.disk_bytes)
        for flags in plan.prefill:
            with counting(f"lsmlab-{os.getpid()}", database, needed=False) as unlimited:
                _watch([*tool, *flags, f"--db={database}"], unlimited, budget, database, out / "prefill.txt", None, nice)
        with counting(f"lsmlab-{os.getpid()}", database, needed=limits.any) as limited:
            if isinstance(limited, Cgroup):
                limited.limit(limits)
            command = [*tool, *plan.measured, f"--db={database}"]
            _watch(command, limited, budget, database, out / "stdout.txt", out / "counters.csv", nice)
        shutil.copyfile(database / "LOG", out / "LOG")
        shutil.copyfile(max(database.glob("OPTIONS-*")), out / "OPTIONS")
        edits = manifest_edits(max(database.glob("MANIFEST-*")))
        if edits is not None:
            (out / "MANIFEST.txt").write_text(edits)
    finally:
        shutil.rmtree(database, ignore_errors=True)


def check_space(place: Path, wanted_bytes: int) -> None:
    """Raise InputError if the disk that contains `place` has too little free space for a recording."""
    free = shutil.disk_usage(place).free
    if free < wanted_bytes + _SPARE_BYTES:
        raise InputError(
            f"{place}: {free / 1e9:.1f} GB free, but a recording may need {wanted_bytes / 1e9:.1f} GB and leaves "
            f"{_SPARE_BYTES / 1e9:.1f} GB free; choose another disk with --scratch or a smaller --max-disk"
        )


def _watch(
    command: Sequence[str], counter: Cgroup | DiskCounters | None, budget: Budget, database: Path, output: Path,
    counters: Path | None, nice: int,
) -> None:  # fmt: skip
    """Run `command` to its end and read its counters every second."""

    def prepare() -> None:
        os.setsid()  # own session: Ctrl-C reaches only the recorder, which then ends db_bench
        _end_with_parent()
        if nice:
            os.nice(nice)
            with contextlib.suppress(OSError):  # the new session's autogroup has its own nice value
                Path("/proc/self/autogroup").write_text(str(nice))
        if isinstance(counter, Cgroup):
            counter.enter()

    rows: list[dict[str, float]] = []
    with output.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, preexec_fn=prepare)
        started = time.monotonic()
        try:
            while True:
                try:
                    process.wait(max(0.0, started + (len(rows) + 1) * _POLL_S - time.monotonic()))
                    break
                except subprocess.TimeoutExpired:
                    rows.append(_reading(time.monotonic() - started, process.pid, counter, database))
                    _within(rows[-1], budget, database)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
    if process.returncode:
        last = (output.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
        raise InputError(f"{command[0]}: ended with status {process.returncode}: {last}")
    if counters is not None:
        with counters.open("w", newline="") as table:
            writer = csv.DictWriter(table, list(rows[0]) if rows else ["second"])
            writer.writeheader()
            writer.writerows(rows)


def _end_with_parent() -> None:
    """Let the kernel end this process when the recorder ends, also by kill -9 (Linux: PR_SET_PDEATHSIG)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PDEATHSIG, int(signal.SIGKILL))


def _within(row: Mapping[str, float], budget: Budget, database: Path) -> None:
    if row["second"] > budget.time_s:
        raise InputError(f"the driver ran longer than {budget.time_s:.0f} s and was stopped; raise --max-time")
    if row["database_bytes"] > budget.disk_bytes:
        limit = f"{budget.disk_bytes / 1e9:.1f} GB"
        raise InputError(f"{database}: larger than {limit}, the driver was stopped; raise --max-disk")


def _reading(second: float, pid: int, counter: Cgroup | DiskCounters | None, database: Path) -> dict[str, float]:
    """Return the counters at one moment; those of the device are left out if nothing counts it."""
    traffic = asdict(counter.traffic()) if counter is not None else {}
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        user, system = int(fields[11]) / _TICKS_PER_S, int(fields[12]) / _TICKS_PER_S
    except (OSError, IndexError):
        user = system = 0.0
    return {"second": round(second, 2), **traffic, "user_cpu_s": user, "system_cpu_s": system, **_files(database)}


def _files(database: Path) -> dict[str, int]:
    """Return the bytes of all files, and number and bytes of the blob files."""
    found = {"database_bytes": 0, "blob_files": 0, "blob_bytes": 0}
    for entry in os.scandir(database):
        try:
            size_bytes = entry.stat().st_size
        except FileNotFoundError:
            continue  # a compaction deleted the file in the meantime
        found["database_bytes"] += size_bytes
        if entry.name.endswith(".blob"):
            found["blob_files"] += 1
            found["blob_bytes"] += size_bytes
    return found


def manifest_edits(manifest: Path) -> str | None:
    """Return the version edits that `ldb` prints, without the final file listing; None if ldb fails or is missing."""
    ldb = shutil.which("ldb")
    if ldb is None:
        return None
    arguments = [ldb, "manifest_dump", f"--path={manifest}", "--verbose", "--hex"]
    dump = subprocess.run(arguments, capture_output=True, text=True, check=False)
    return None if dump.returncode else dump.stdout.split("--------------- Column family", 1)[0]

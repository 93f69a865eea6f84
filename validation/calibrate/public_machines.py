"""Fit the two other machines of the public runs: a desktop to its LOGs, a small PC to one row of a table.

usage: python -m lsmlab.validation.calibrate.public_machines [--data DIR] [--write]
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.costs.cost import Cost
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import compaction_cpu, flush_cpu
from lsmlab.models.costs.operations import write_cpu
from lsmlab.models.errors import InputError
from lsmlab.sim.simulation import Setting, simulate
from lsmlab.validation.calibrate.job_costs import job_cpu
from lsmlab.validation.calibrate.parameter_file import Constants, SetText, quantity_text, write_sessions, write_set
from lsmlab.validation.calibrate.public import ERRORS_FROM, drive_sources
from lsmlab.validation.calibrate.public_fits import ROTATES, host_of, solved
from lsmlab.validation.casefiles.public.cases import CONDITIONS, is_calibration, public_cases, session_of
from lsmlab.validation.casefiles.public.table import DATA, rows, runs_of
from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.reader import read_log
from lsmlab.validation.logs.timings import job_records as records
from lsmlab.validation.logs.timings.cache_phases import (
    CACHE_PAUSE_S,
    CachePhases,
    FirstPhase,
    cache_phases,
    first_phase,
    mean_phases,
)
from lsmlab.validation.logs.timings.job_records import JobLog
from lsmlab.validation.logs.timings.jobs import Job

_PROVENANCE: Final = "public runs named in CALIBRATION of validation/casefiles/public/cases.py"
_SMALL_PC_RUN: Final = "overwrite/9.8"
"""Run of the small PC to which its constants are fitted."""
_SMALL_PC_ENTRY: Final = 420.0
"""Bytes of key and value."""
_WRITING_S: Final = 1800.0
"""Duration of the small PC's run in seconds."""
_SMALL_PC_DRIVE: Final = "samsung_990_pro_2tb"
_PROPORTIONS: Final = ("compaction_record", "compaction_byte", "flush_record", "flush_byte")
"""Constants of the small PC whose proportions are those of the 40-thread machine."""
_ROUNDS: Final = 4
"""Simulations with which the write bandwidth of the small PC's drive is found."""
_SUSTAINED_SPREAD: Final = 45.0 * 2**20
"""Standard deviation of eight tests of this drive of 300 s each (2 MiB writes by 1 to 32 jobs, no fsync) in which the
SLC cache was full from the start: 704 to 828 MiB/s (fio output of mdcallag/mytools
bench/arc/dec25.fio.300secs/ser7)."""
_FLUSHES: Final = Host(flush_record=0.34e-6, flush_byte=0.9e-9)
"""CPU cost of the desktop's flushes with which their fit begins."""
_FAST: Final = "nvme"
"""Drive of the desktop on which most of a job's time is CPU time."""
_AWAKE: Final = 0.4
"""Smallest share of CPU time in a compaction's duration for the fit: on this machine those that sleep longer, in fsyncs beside
many others, need up to 2.3 times as much CPU time per entry."""
_FLUSH_ROUNDS: Final = 4
"""Rounds in which the CPU cost of flushes and the bandwidth of the drive are fitted in turn."""
_SCHEDULED: Final[dict[str, dict[str, float | str]]] = {
    "hdd": {"journal_behind_files": "false"}, "sata": {"fsync_queue": "48MiB", "journal_behind_files": "false"},
}  # fmt: skip
"""I/O scheduler of the desktop's drives: blocks of the journal do not wait for files (docs/decisions/0041)."""
_SLOWED: Final = 0.95
"""Mean rate, as a share of that of fast phases, up to which a session shows the room of an SLC cache: above it, the room is more
than the session wrote."""
_UNSTALLED: Final = 0.1
"""Quantile of the commits that gives the fsync latency: with 13 jobs most commits waited for another job."""


def desktop(data: Path) -> tuple[SetText, Mapping[str, Mapping[str, Mapping[str, float]]]]:
    """Fit the desktop (i7-8700K) to its LOGs; return its parameter set, and the constants of drives by session and device.

    Compactions give CPU costs, fsyncs and commits the devices' bandwidth and latency, and memtables filled without a
    stall the cost of a write. Raises InputError if there is no LOG of a calibration run.
    """
    logs: list[_DriveLog] = []
    fills: list[tuple[Cost, float]] = []
    index = {row["run_path"]: f"logs/{row['log']}" for row in rows(data / "logs_index.csv")}
    for mapping in runs_of("ablations", data):
        if not is_calibration(mapping["name"]):
            continue
        path, work = mapping["source"].split()[1].rstrip(":"), mapping["workload"]
        entry = work["key_size"] + work["value_size"]
        if path in index:
            read = read_log(data / index[path])
            log = records.job_log_of(read, jobs_of(read), entry)
            logs.append(_DriveLog(mapping["device"]["base"], session_of(mapping), log))
            fills += [(write_cpu(entry, logged=False, memtable_bytes=f.entries * entry), f.entry_s) for f in log.fills]
    if not logs:
        raise InputError(f"{data}: contains no LOG of a calibration run of the desktop; name another folder by --data")
    fixed = {"cores": 12.0, "job_start": 1e-4, "file_overhead": 1.5e-4}
    machine = Host(**fixed)
    merges = [
        (job_cpu(job, machine), cpu_s)
        for source in logs if source.device == _FAST for job, cpu_s in records.compaction_times(source.log)
        if cpu_s > _AWAKE * job.wall_s
    ]  # fmt: skip
    found = {
        **solved(fills, machine, ("host.write_op", "host.write_byte", "host.memtable_depth")), **solved(merges, machine),
    }  # fmt: skip
    for wal, write in (("wal_op", "write_op"), ("wal_byte", "write_byte")):  # the fit has their sums
        found[f"host.{wal}"] = _wal_share(wal, write) * found[f"host.{write}"]
        found[f"host.{write}"] -= found[f"host.{wal}"]
    fitted = {key.removeprefix("host."): value for key, value in found.items()}
    order = ("cores", "write_op", "write_byte", "memtable_depth", "wal_op", "wal_byte", "job_start", "file_overhead")
    host = {key: (fixed | fitted)[key] for key in dict.fromkeys((*order, *fitted))}
    more = [_DriveLog(s.device, s.session, s.log) for s in drive_sources(data, ("ablations-2",))]
    flushes = _FLUSHES
    for _ in range(_FLUSH_ROUNDS):
        devices, errors, sessions = _drives_of_desktop([*logs, *more], flushes)
        flushes = _flush_fit([source for source in logs if source.device == _FAST], sessions)
    host |= {"flush_record": flushes.flush_record, "flush_byte": flushes.flush_byte}
    return _set(
        "The desktop of the public parameter_influence runs (supermt/ADOC-Rocks-tracker).",
        "12 hardware threads, Intel Core i7-8700K", host, devices, errors, _DESKTOP,
    ), sessions  # fmt: skip


def _wal_share(wal: str, write: str) -> float:
    """Return the share of the WAL in a constant of a write, on the machine whose recordings have writes with and without one."""
    vm = host_of("recording_vm")
    logged_s, other_s = float(getattr(vm, wal)), float(getattr(vm, write))
    return logged_s / (other_s + logged_s)


class _DriveLog(NamedTuple):
    """Jobs of a LOG of the desktop, with its drive and session."""

    device: str
    session: str
    log: JobLog


def _flush_fit(logs: Sequence[_DriveLog], sessions: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Host:
    """Fit the CPU cost of flushes to their time from the start to the end of their file, less that of its fsync.

    The LOGs do not have the CPU time of flushes. The quickest flush of each run, one of the first, shares the drive with no other
    job, and its file finds room in the SLC cache.
    """
    measured = []
    for device, session, log in logs:
        drive = sessions[session][device]
        files = sorted(file for job in log.jobs for file in job.files)
        room = int(np.searchsorted(np.cumsum([size for _, size in files]), drive.get("slc_cache", math.inf)))
        full_s = files[room][0] if room < len(files) else math.inf
        early = (job for job in log.jobs if job.kind == "flush" and job.files[0][0] < full_s)
        job = min(early, key=lambda j: j.files[0][0] - j.start_s)
        finished_s, size = job.files[0]
        fsync_s = size / drive.get("slc_write_bandwidth", drive["write_bandwidth"])
        measured.append((job_cpu(job, _FLUSHES), finished_s - job.start_s - fsync_s))
    found = solved(measured, _FLUSHES, ("host.flush_record", "host.flush_byte"))
    return Host(flush_record=found["host.flush_record"], flush_byte=found["host.flush_byte"])


def _drives_of_desktop(
    sources: Sequence[_DriveLog], flushes: Host
) -> tuple[dict[str, dict[str, float | str]], dict[str, dict[str, float]], dict[str, dict[str, Mapping[str, float]]]]:
    """Return bandwidth and fsync latency of each drive, their spread between sessions and LOGs, and constants by session.

    `flushes`: host with the CPU cost of flushes.
    """

    def flush_cpu_s(job: Job) -> float:
        return job_cpu(job, flushes).seconds(flushes)

    devices: dict[str, dict[str, float | str]] = {}
    errors: dict[str, dict[str, float]] = {}
    sessions: dict[str, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for device in sorted({source.device for source in sources}):
        here = [source for source in sources if source.device == device]
        commits = [records.commit_s(source.log, _UNSTALLED) for source in here]
        commit = float(np.min(commits))
        rates: dict[str, list[float]] = defaultdict(list)
        most = records.most_fsyncs(rotates=device == ROTATES)
        for _, session, log in here:
            periods = records.busy_periods(log, flush_cpu_s, most_fsyncs=most)
            rates[session].append(math.log(records.bandwidth(periods, commit)))
        means = {session: statistics.mean(found) for session, found in sorted(rates.items())}
        phases = mean_phases([found for s in here if (found := cache_phases(s.log, flush_cpu_s)) is not None])
        firsts = {session: [first_phase(s.log, flush_cpu_s) for s in here if s.session == session] for session in means}
        for session, mean in means.items():
            sessions[session][device] = _drive_of_session(math.exp(mean), phases, firsts[session])
        rate = math.exp(statistics.mean(means.values()))
        drive = _drive_of_session(rate, None, [found for some in firsts.values() for found in some])
        devices[device] = {"fsync_latency": commit, **drive, **_SCHEDULED.get(device, {})}
        if device == ROTATES:
            devices[device]["read_bandwidth"] = rate
        spread = drive["write_bandwidth"] * statistics.stdev(means.values())
        errors[device] = {"write_bandwidth": spread, "fsync_latency": float(np.std(commits))}
    return devices, errors, sessions


def _drive_of_session(rate: float, phases: CachePhases | None, firsts: Sequence[FirstPhase | None]) -> dict[str, float]:
    """Return the constants of a drive that wrote `rate` bytes per second on average.

    Speeds and length of its slow phases are those of all sessions; the room of its SLC cache follows from the average. Without
    such `phases` the drive has a cache if all runs had a fast beginning (`firsts`).
    """
    if phases is None and firsts and None not in firsts:
        first = FirstPhase(*np.exp(np.log(np.array(firsts, dtype=np.float64)).mean(axis=0)).tolist())
        return {
            "write_bandwidth": first.slow * rate, "slc_write_bandwidth": first.fast * rate, "slc_cache": first.fast_bytes,
            "slc_idle": CACHE_PAUSE_S,
        }  # fmt: skip
    if phases is None or rate > _SLOWED * phases.fast_bytes_per_s or (room_bytes := phases.fast_bytes(rate)) <= 0.0:
        return {"write_bandwidth": rate}
    return {
        "write_bandwidth": phases.slow_bytes_per_s, "slc_write_bandwidth": phases.fast_bytes_per_s,
        "slc_cache": room_bytes, "slc_resume": 1.0, "slc_fold_bandwidth": room_bytes / phases.slow_s,
    }  # fmt: skip


def small_pc(data: Path, rounds: int = _ROUNDS) -> SetText:
    """Fit the small PC to totals of one run: time of writes outside stalls, CPU seconds of all jobs, their write rate.

    Totals do not separate costs per entry from costs per byte, nor flushes from compactions. These constants keep the
    proportions of the 40-thread machine. The tree is taken as no longer growing, so that compactions drop as many
    entries as flushes add. `rounds`: number of simulations that find the drive's write bandwidth.
    """
    version = _SMALL_PC_RUN.partition("/")[2]
    row = next(r for r in rows(data / "overwrite_one_machine.csv") if r["version"].startswith(f"{version}."))
    written = float(row["c_wgb"]) * 2**30 / (_SMALL_PC_ENTRY + 10.0)
    flushed = float(row["ops_sec"]) * _WRITING_S
    xeon = host_of("xeon_6230")
    costs = {key: getattr(xeon, key) for key in _PROPORTIONS}
    machine = Host(**costs)
    jobs = flush_cpu(machine, entries_in=flushed, entries_out=flushed, raw_bytes=flushed * _SMALL_PC_ENTRY)
    jobs += compaction_cpu(
        machine, entries_in=written, entries_out=written - flushed, raw_bytes=written * _SMALL_PC_ENTRY
    )
    scale = float(row["c_csecs"]) / jobs.seconds(machine)
    stalled = float(row["stall_pct"]) / 100.0 * float(row["uptime"]) / _WRITING_S
    write_s = (1.0 - stalled) / float(row["ops_sec"])
    vm = host_of("recording_vm")
    whole = write_s / write_cpu(_SMALL_PC_ENTRY, logged=True).seconds(vm)
    host = {
        "cores": 8.0, **{k: whole * getattr(vm, k) for k in ("write_op", "write_byte", "wal_op", "wal_byte")},
        "memtable_depth": 0.0, "job_start": 1e-4,
        "file_overhead": 1.5e-4,
    } | {k: cost * scale for k, cost in costs.items()}  # fmt: skip
    wrote = float(row["c_wgb"]) * 2**30 / float(row["uptime"])
    drive = {"write_bandwidth": _drive_rate(data, host, wrote, rounds), "slc_cache": 0.0}
    errors = {_SMALL_PC_DRIVE: {"write_bandwidth": _SUSTAINED_SPREAD}}
    return _set(
        "The small PC of the public overwrite runs (mdcallag/mytools, ser7).", "small PC, 8 cores",
        host, {_SMALL_PC_DRIVE: drive}, errors, _SMALL_PC,
    )  # fmt: skip


def _set(
    about: str, description: str, host: Constants, devices: Mapping[str, Constants], errors: Mapping[str, Constants],
    sources: Mapping[str, str],
) -> SetText:  # fmt: skip
    head = ("version: 2", f"description: {description}", f"provenance: {_PROVENANCE}")
    lines = (about, "Written by: python -m lsmlab.validation.calibrate.public_machines --write")
    return SetText(
        about=lines, head=head, host=host, devices=devices, host_errors={}, device_errors=errors,
        errors_from=ERRORS_FROM, sources=sources,
    )  # fmt: skip


def _drive_rate(data: Path, host: Mapping[str, float], wrote: float, rounds: int) -> float:
    """Return the write bandwidth of the small PC's drive at which the simulated jobs write `wrote` bytes per second.

    The bandwidth is higher than `wrote`, because jobs leave the drive idle while they use the CPU or wait for an fsync.
    """
    case = next(c for c in public_cases(data, ("overwrite",)) if c.name == _SMALL_PC_RUN)
    constants = [f"host.{k}={quantity_text(k, v)}" for k, v in host.items()]
    rate = wrote
    for _ in range(rounds):
        at = f"device.write_bandwidth={quantity_text('write_bandwidth', rate)}"
        summary = simulate(Setting.of(case.config([*constants, "device.slc_cache=0", at]))).summary
        jobs_wrote = summary["flush_bytes"] + summary["compaction_write_bytes"]
        rate *= wrote / (jobs_wrote / summary["duration_s"])
    return rate


_DESKTOP: Final = {
    "cores": "Intel's product page, 6 cores, 12 threads",
    "write_op": "time per entry of memtables that were filled without a stall, baseline runs, 100 and 1000 B",
    "write_byte": "as write_op",
    "memtable_depth": "as write_op, memtables of 64 and 512 MiB",
    "wal_op": "assumption: the share of recording_vm in write_op + wal_op; all these runs have a WAL",
    "wal_byte": "assumption: the share of recording_vm in write_byte + wal_byte",
    "job_start": "as xeon_6230",
    "file_overhead": "as xeon_6230",
    "compaction_record": "fit to compaction_time_cpu_micros of the baseline runs on NVMe, 100 and 1000 B, jobs that rarely sleep",
    "compaction_byte": "as compaction_record",
    "compaction_compare": "as compaction_record, by doublings of the sorted runs beyond two",
    "flush_record": "time from the start of the quickest flush to the end of its file on NVMe, less its fsync, 100 and 1000 B",
    "flush_byte": "as flush_record",
    "fsync_latency": "P10 of half the time from a flush file's creation to its commit",
    "write_bandwidth": "geometric mean over sessions of bytes per second with an fsync in progress, baseline runs",
    "nvme.write_bandwidth": "as slc_write_bandwidth, after the first gigabytes",
    "slc_write_bandwidth": "geometric mean over sessions of bytes per second with an fsync in progress, baseline runs, "
    "times the ratio of the first gigabytes of each run to all of it; docs/decisions/0045",
    "slc_cache": "bytes written before the drive slowed down, geometric mean over the runs; docs/decisions/0045",
    "slc_idle": "assumption: longer than all pauses of these runs, in none of which the cache got room again",
    "read_bandwidth": "assumption: equal to write_bandwidth",
    "fsync_queue": "64 requests of 768 KiB: the share of intra-L0 compactions that end before the second flush; "
    "docs/decisions/0041",
    "journal_behind_files": "memtables fill in 1.16 to 1.19 s on NVMe, SATA and hard disk, with and without commits; "
    "docs/decisions/0041",
}
_SMALL_PC: Final = {
    "cores": "AMD Ryzen 7 7840HS, 8 cores, SMT disabled (the author's description of this PC)",
    "write_op": "time per write outside stalls, 9.8.4, split as that of recording_vm; all these runs have a WAL",
    "write_byte": "as write_op",
    "wal_op": "as write_op",
    "wal_byte": "as write_op",
    "memtable_depth": "write_op is for this run's memtables",
    "job_start": "as xeon_6230",
    "file_overhead": "as xeon_6230",
    "compaction_record": "c_csecs of 9.8.4; proportions of record, byte, flush and compaction as xeon_6230",
    "compaction_byte": "as compaction_record",
    "flush_record": "as compaction_record",
    "flush_byte": "as compaction_record",
    "write_bandwidth": "rate at which the simulated jobs of 9.8.4 write c_wgb in its uptime",
    "slc_cache": "no SLC cache: with one of 225 GiB, 9.8.4 has no stall in its first minutes and an 11 % higher W-Amp",
}


def main(argv: list[str] | None = None) -> int:
    """Fit and print the constants; with --write replace the files. Return 0."""
    parser = argparse.ArgumentParser(prog="python -m lsmlab.validation.calibrate.public_machines", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write", action="store_true", help="replace the constants in the committed files")
    given = parser.parse_args(argv)
    text, sessions = desktop(given.data)
    for name, found in (("i7_8700k", text), ("small_pc", small_pc(given.data))):
        sys.stdout.write(f"{name}: {found.host} {found.devices}\n")
        if given.write:
            write_set(name, found)
    sys.stdout.write(f"{dict(sessions)}\n")
    if given.write:
        write_sessions(CONDITIONS, sessions)
    return 0


if __name__ == "__main__":
    sys.exit(main())

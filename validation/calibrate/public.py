"""Fit the machines of the public runs to their job records; write configs/parameters and the table of sessions.

usage: python -m lsmlab.validation.calibrate.public [--data DIR] [--write | --leave-group-out]

Only the LOGs of `CALIBRATION` in casefiles/public/cases.py are read: in each session the run with the fewest jobs or
the lowest rate. CPU costs and deletions come from all LOGs together, and their standard errors from leaving out one LOG
at a time (that of statistics_op from the drives). The bandwidth of a device is fitted per session, because the same
drive wrote 0.7 to 1.6 GB/s from week to week. The parameter set has the geometric mean over sessions and the spread
between them; the table has the bandwidth of each session, and those of the runs on a hard disk that followed each other.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml
from lsmlab.models.costs.host import Host
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.reports.cli.arguments import LineParser
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.progress import on_terminal
from lsmlab.validation.calibrate import public_fits as fits
from lsmlab.validation.calibrate.group_out import group_table
from lsmlab.validation.calibrate.parameter_file import SetText, write_sessions, write_set
from lsmlab.validation.calibrate.public_groups import leave_public_group_out, machine_cases
from lsmlab.validation.calibrate.tracks import Consecutive, Tracks
from lsmlab.validation.calibrate.unseen import READ_SOURCE, read_costs
from lsmlab.validation.casefiles.public.cases import CONDITIONS, is_calibration, session_of
from lsmlab.validation.casefiles.public.table import DATA, common, runs_of
from lsmlab.validation.casefiles.public.text import stdout_of
from lsmlab.validation.logs.text import read_text
from lsmlab.validation.logs.timings import job_records as records

_FIXED_DEVICES: Final[dict[str, dict[str, float | str]]] = {
    "pmem": {"layout": "interleaved2", "write_bandwidth": 2.76e9}, "hdd": {"seek": 0.0},
}  # fmt: skip
_FIXED: Final = {
    "cores": 40.0,
    "job_start": 1e-4,
    "file_overhead": 1.5e-4,
    "unlink_wal_byte": 2.5e-10,
}
_DISK: Final = Tracks(capacity_bytes=1e12, outer_bytes_per_s=189e6, inner_bytes_per_s=104e6)
"""The hard disk, an ST1000DM010 (ADOC's evaluation). Fastest of its LOGs, and speed of the LOG that reaches the innermost tracks
before the disk begins at the outer ones again (docs/decisions/0054)."""
_HOST: Final = Host(**_FIXED)
"""Host before the fit: constants that are not fitted have their final values."""
_ENTRY_BYTES: Final = 1016.0
"""Bytes of key and value in the runs that show the time of a write."""
_MEMTABLE_BYTES: Final = 2.0**26
"""Size of their memtables."""
_LIKE: Final = "i7_8700k"
"""Parameter set whose proportions split the time of a write: its runs had two sizes of entries and memtables."""
_SOURCES: Final = {
    "cores": "(behaviour/device-and-kernel.md, Bandwidth under RocksDB) [M4]",
    "job_start": "time from a flush commit to the compaction_started event that it causes, LOGs of 6.4: 0.1 ms",
    "file_overhead": "time from the last table_file_creation to compaction_finished on PM, per output file",
    "unlink_wal_byte": 'time from "Try to delete WAL files" to the next flush of the thread, LOGs of 6.4: 16 ms per 64 MB',
    "compaction_record": "fit to compaction_time_cpu_micros of 6.11, values of 100 and 1000 B, and to the time of 6.4's "
    "compactions on PM; on PM without the time of the copies to it",
    "compaction_byte": "as compaction_record",
    "compaction_compare": "as compaction_record, by doublings of the sorted runs beyond two",
    "cold_start": "as compaction_record, by number of output files, on devices where a compaction sleeps during fsyncs",
    "flush_record": "fit to the time of flushes minus their fsyncs, 6.4 (1000 B) and 6.11 on PM (100 and 1000 B)",
    "flush_byte": "as flush_record",
    "core_contention": "CPU per record of L0 compactions with 8 or more subcompactions against those with one, 6.4 on PM "
    "with 2 jobs",
    "write_op": "fit to the histograms of 6.4, writes of 1016 B below 580 us, in the proportions of i7_8700k",
    "write_byte": "as write_op",
    "memtable_depth": "as write_op",
    "wal_op": "as write_op",
    "wal_byte": "as write_op",
    "read_op": READ_SOURCE,
    "read_memtable": "as read_op",
    "read_memtable_depth": "as read_op",
    "read_run": "as read_op",
    "read_index": "as read_op",
    "index_depth": "as read_op",
    "read_block": "as read_op",
    "block_depth": "as read_op",
    "read_call": "as read_op",
    "sleep_penalty": "as write_op: mean slowdown of later writes per sleep of a delayed writer",
    "statistics_op": "fills of memtables without a stall, YCSB's loads (with statistics) less fillrandom; docs/decisions/0052",
    "unlink_byte": "median time between table_file_deletion events of one job",
    "fsync_latency": "half the median time from a flush file's creation to its commit (directory and manifest)",
    "write_bandwidth": "geometric mean over sessions of bytes per second with an fsync in progress",
    "stream_write_bandwidth": "fsyncs of flushes during which no compaction ran, 6.4 with 2 jobs",
    "hdd.seek": "bytes per second do not fall with the number of fsyncs in progress, LOGs of 2 to 20 jobs; docs/decisions/0041",
    "pmem.layout": "ADOC names 512 GB of PM, two modules of 256 GB; docs/decisions/0033",
    "hdd.read_bandwidth": "assumption: equal to write_bandwidth",
    "pmem.write_bandwidth": (
        "between the 2.3 GB/s that ADOC names and 3.22 GB/s, the highest second of iostat with 20 jobs "
        "(behaviour/device-and-kernel.md, Bandwidth under RocksDB) [M4]; docs/decisions/0033"
    ),
}
_ABOUT: Final = (
    "The 40-thread machine of the ADOC authors' public runs (supermt/ADOC-Rocks-tracker, supermt/quicksand_results).",
    "Written by: python -m lsmlab.validation.calibrate.public --write",
)
_HEAD: Final = (
    "version: 2",
    "description: 40 hardware threads, Intel Xeon Gold 6230, with its own NVMe SSD, SATA SSD, hard disk and persistent memory",
    "provenance: job records of 18 public LOGs of RocksDB 6.4 and 6.11, 2022 "
    "(CALIBRATION in validation/casefiles/public/cases.py)",
)
ERRORS_FROM: Final = "jackknife over LOGs; for devices the standard deviation between LOGs, sessions or tests"
_ERRORS_FROM: Final = f"{ERRORS_FROM}; for statistics_op the standard error of the mean over drives"


def sources(data: Path) -> list[fits.Source]:
    """Read the calibration runs of the 40-thread machine that have a LOG. Raises InputError if there is none."""
    found = []
    for kind in ("throttled", "ycsb", "rate-limited"):
        for mapping in runs_of(kind, data):
            if mapping.get("log") and is_calibration(mapping["name"]):
                source = _source(mapping, data, mapping["log"])
                if kind == "ycsb":  # the LOG continues with reads, which compete with compactions for caches
                    source.log.end_after(mapping["measured"]["duration_s"])
                found.append(source)
    if not found:
        raise InputError(f"{data}: contains no LOG of a calibration run; name another folder by --data")
    return found


def drive_sources(data: Path, kinds: Sequence[str] = ("throttled-2", "ycsb-2", "rate-limited-2")) -> list[fits.Source]:
    """Read the runs of public_runs_2 that tell the bandwidth of a drive in a session without another LOG (cases.py, `DRIVES`).

    `kinds`: sets of runs of one machine. Returns none without that folder.
    """
    if not data.with_name("public_runs_2").is_dir():
        return []
    return [_source(run, data, run["drive_log"]) for kind in kinds for run in runs_of(kind, data) if run.get("drive_log")]


def _source(mapping: Mapping[str, Any], data: Path, path: str) -> fits.Source:
    """Read the LOG at `path` from `data`, and db_bench's output beside it if there is one."""
    work, device = mapping["workload"], mapping["device"]
    log = records.job_log(data / path, work["key_size"] + work["value_size"])
    output = stdout_of(data, path)
    text = read_text(output) if output else ""
    counted = bool(mapping["store"]["options"].get("statistics"))
    capped = device.get("write_cap") is not None
    run_bytes = fits.written_bytes(log)
    return fits.Source(mapping["name"], device["base"], session_of(mapping), capped, counted, log, text, run_bytes)


def fit(data: Path) -> tuple[SetText, Mapping[str, Any]]:
    """Fit the 40-thread machine; return the parameter set xeon_6230 and the write bandwidths by session and device."""
    used, drives = sources(data), drive_sources(data)
    machine = fit_logs(used, drives)
    values = {drive: found.values for drive, found in machine.drives.items()}
    errors = {drive: found.errors for drive, found in machine.drives.items()}
    _print(used, machine.host.values, machine.host.errors, values, errors, machine.sessions)
    text = SetText(
        about=_ABOUT, head=_HEAD, host=_FIXED | machine.host.values,
        devices={drive: machine.drive_constants(drive) for drive in machine.drives},
        host_errors=machine.host.errors, device_errors=errors, errors_from=_ERRORS_FROM, sources=_SOURCES,
    )  # fmt: skip
    return text, machine.sessions


def fit_logs(used: Sequence[fits.Source], drives: Sequence[fits.Source]) -> fits.Machine:
    """Fit the machine to the LOGs of some runs. `drives`: LOGs that tell the bandwidth of a drive in a session only."""
    copies = fits.copies_fit(used)
    host = _host(used, copies)
    devices: dict[str, fits.Fit] = {}
    sessions: dict[str, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for device in sorted({s.device for s in used}):
        here = [s for s in used if s.device == device]
        if device == fits.SYNCHRONOUS:
            devices[device] = _commits(here)
            if copies.bytes_per_s is not None:
                devices[device].values["stream_write_bandwidth"] = copies.bytes_per_s
            continue
        timed = [s for s in here if s.session not in sessions or not s.capped]
        timed += [s for s in drives if s.device == device]
        fitted = replace(_HOST, **host.values)
        devices[device], rates = _drive(here, timed, fitted, copies)
        for session, rate in rates.items() if len(rates) > 1 else ():
            sessions[session][device] = {"write_bandwidth": rate}
        for source in here if device == fits.ROTATES else ():
            for label, rate in _consecutive(source, fitted, copies, devices[device]).items():
                sessions[source.session][f"{device}/{label}"] = {"write_bandwidth": rate}
    return fits.Machine(host, devices, sessions, _FIXED, _FIXED_DEVICES)


def _host(used: Sequence[fits.Source], copies: fits.Copies) -> fits.Fit:
    """Fit the constants of the host; those that no run shows are missing."""
    host = fits.Fit()
    merging = [s for s in used if copies.shows_compactions(s)]
    tied = fits.tied_costs("compaction", merging)
    relative = fits.compaction_fit(merging, _HOST, copies, 0.0, tied)
    awake = [s for s in used if s.log.io_statistics and s.device == fits.SYNCHRONOUS]  # threads that never sleep
    host.take(fits.jackknife(lambda left: fits.core_contention_fit(left, relative, _HOST), awake))
    core_contention = host.values.get("core_contention", _HOST.core_contention)
    host.take(fits.jackknife(lambda left: fits.compaction_fit(left, _HOST, copies, core_contention, tied), merging))
    timed = [s for s in used if s.log.io_statistics or (fits.mean_sync_s(s.output) and s.device == fits.SYNCHRONOUS)]
    tied_flushes = fits.tied_costs("flush", timed)
    host.take(fits.jackknife(lambda left: fits.flush_fit(left, _HOST, core_contention, tied_flushes), timed))
    host.tied = frozenset(key.removeprefix("host.") for key in (*tied, *tied_flushes))
    _take_writes(host, [s for s in used if s.name.startswith(("throttled", "ycsb"))], core_contention)
    reads = read_costs(replace(_HOST, **host.values))
    host.take(({f"host.{name}": value for name, value in reads.items()}, {}))
    host.take(fits.jackknife(fits.deletion_fit, used))
    return host


def _take_writes(host: fits.Fit, writers: Sequence[fits.Source], core_contention: float) -> None:
    """Add the costs of writes, which runs at full speed show."""
    statistics = fits.statistics_fit(writers)
    known_s = statistics[0].get("host.statistics_op")
    host.take(fits.jackknife(lambda left: fits.write_fit(left, _HOST, known_s), writers))
    host.take(statistics)
    beside = writers[0].contention_factor(core_contention) if writers else 1.0
    for found in (host.values, host.errors):
        for name in found.keys() & {"write_op", "statistics_op"}:
            found[name] /= beside
    if "write_op" not in host.values:
        return
    total_s = host.values["write_op"]
    parts = fits.write_parts(total_s, _ENTRY_BYTES, _MEMTABLE_BYTES, fits.host_of(_LIKE))
    host.take((parts, {}))
    if "write_op" in host.errors:
        host.errors["write_op"] *= host.values["write_op"] / total_s


def _commits(here: Sequence[fits.Source]) -> fits.Fit:
    """Fit the fsync latency of a device to the commits of flushes, in runs without a cap; nothing without such a run."""
    commits = fits.commits_s(here)
    if not len(commits):
        return fits.Fit()
    return fits.Fit({"fsync_latency": float(np.median(commits))}, {"fsync_latency": float(commits.std())})


def _drive(
    here: Sequence[fits.Source], timed: Sequence[fits.Source], host: Host, copies: fits.Copies
) -> tuple[fits.Fit, dict[str, float]]:
    """Fit a block device: fsync latency from the runs `here`, and write bandwidth by session from the runs `timed`.

    What no run shows is missing. An fsync then takes the time of the device's class (configs/device).
    """
    found, reading, device = _commits(here), copies.read_byte_s or 0.0, here[0].device
    commit_s = _commit_s(found, device)
    rates = {s.session: rate for s in timed if (rate := fits.bandwidth(s, host, commit_s, reading)) is not None}
    if not rates:
        return found, {}
    logs = np.log(np.array(list(rates.values())))
    bandwidth = float(np.exp(logs.mean()))
    if device == fits.ROTATES:  # assumed to read as fast as it writes
        found.values["read_bandwidth"] = bandwidth
    found.values["write_bandwidth"] = bandwidth
    if len(rates) > 1:
        found.errors["write_bandwidth"] = float(bandwidth * logs.std(ddof=1))
    return found, rates


def _consecutive(source: fits.Source, host: Host, copies: fits.Copies, drive: fits.Fit) -> dict[str, float]:
    """Return the bytes per second of the runs that followed each other on the hard disk, by label.

    `source`: LOG of a run. Empty if no other runs are known to have followed it, or if its LOG does not show its place.
    """
    runs = common()["consecutive"].get(source.session)
    if runs is None or runs["known"]["run"] != source.name:
        return {}
    periods = fits.fsync_periods(source, host, copies.read_byte_s or 0.0)
    if not len(periods):
        return {}
    seconds, written, commits = periods.T
    writing_s = records.without_commits(seconds, commits, _commit_s(drive, source.device))
    written_bytes = fits.written_bytes(source.log)
    first = _DISK.start_of(writing_s, written, written_bytes / _DISK.capacity_bytes)
    run_bytes = {str(label): source.run_bytes if gb is None else 1e9 * gb for label, gb in runs["written_gb"].items()}
    label = str(runs["known"]["label"])
    if label not in run_bytes:
        raise InputError(f"tables/common.yaml, consecutive: known: {label} is none of {', '.join(run_bytes)}; name one of these")
    return dict(Consecutive(run_bytes, label, first, written_bytes / source.run_bytes).speeds(_DISK))


def _commit_s(drive: fits.Fit, device: str) -> float:
    """Return the fsync latency of a drive in seconds: the fitted one, or that of its entry of configs/device."""
    fitted = drive.values.get("fsync_latency")
    return fitted if fitted is not None else parse_quantity(compose([f"device={device}"])["device"]["fsync_latency"], "seconds")


def _print(used: Sequence[fits.Source], *tables: Any) -> None:
    out = sys.stdout.write
    out("LOGs: " + ", ".join(s.name for s in used) + "\n")
    for table in tables:
        out(yaml.safe_dump(_plain(table), sort_keys=False))


def _plain(table: Any) -> Any:
    return {k: _plain(v) for k, v in table.items()} if isinstance(table, dict) else float(f"{table:.4g}")


def main(argv: list[str] | None = None) -> int:
    """Fit and print the constants, or the errors of groups that the fit has not seen. Return 0; 2 for bad input."""
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except InputError as error:
        sys.stderr.write(f"public: {error}\n")
        return 2


def _run(argv: Sequence[str]) -> int:
    parser = LineParser(
        prog="python -m lsmlab.validation.calibrate.public", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help=f"the folder public_runs ({DATA})")
    also = parser.add_mutually_exclusive_group()
    also.add_argument("--write", action="store_true", help="replace the constants in the committed files")
    also.add_argument(
        "--leave-group-out", action="store_true",
        help="instead of the constants, print the errors of each group of runs (a drive, a size of values, a kind of load) "
        "with constants fitted to all other LOGs; takes half an hour",
    )
    given = parser.parse_args(argv)
    if given.leave_group_out:
        used, drives = sources(given.data), drive_sources(given.data)
        groups = leave_public_group_out(machine_cases(given.data), used, drives, fit_logs, on_terminal)
        sys.stdout.write(group_table(list(groups)))
        return 0
    text, sessions = fit(given.data)
    if given.write:
        write_set("xeon_6230", text)
        write_sessions(CONDITIONS, sessions)
    return 0


if __name__ == "__main__":
    sys.exit(main())

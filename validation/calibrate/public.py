"""Fit the machines of the public runs to their job records; write configs/parameters and the table of sessions.

usage: python -m lsmlab.validation.calibrate.public [--data DIR] [--write]

Only the LOGs of `CALIBRATION` in public_cases.py are read: of each session the run with the fewest jobs or the lowest
rate. Processor costs and deletions come from all of them together, their standard errors from leaving one LOG out at a
time. A device's bandwidth is fitted per session, because the same drive wrote 0.7 to 1.6 GB/s from week to week; the
set holds the geometric mean and the spread between sessions, the table of sessions each one's own.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml
from lsmlab.models.errors import InputError
from lsmlab.validation.calibrate import job_records as records
from lsmlab.validation.calibrate.job_records import Array, JobLog
from lsmlab.validation.calibrate.parameter_file import write_sessions, write_set
from lsmlab.validation.log_text import read_text
from lsmlab.validation.public_cases import CONDITIONS, SETS, is_calibration, session_of
from lsmlab.validation.public_rows import DATA
from lsmlab.validation.public_text import stdout_of, write_buckets
from scipy.optimize import least_squares

_SYNCS: Final = re.compile(r"rocksdb\.table\.sync\.micros .* COUNT : (\d+) SUM : (\d+)")
_CROWD: Final = 16
"""Parts from which on a merge fills the machine."""
_BESIDE: Final = 1.4
"""Threads that run beside a merge or the writer in a run with two jobs: the others of writer, flush and merge."""
_SHORT_US: Final = 580.0
"""Writes up to here neither slept (1 ms) nor waited for a stop."""
_SLEEP_US: Final = 1900.0
_SYNCHRONOUS: Final = "pmem"
"""Its driver copies in the thread that asks, so fsyncs count as CPU there."""


_FIXED_DEVICES: Final = {"pmem": {"write_bandwidth": 3069 * 2.0**20}}
_FIXED: Final = {
    "cores": 40.0,
    "job_start": 1e-4,
    "file_overhead": 1.5e-4,
    "unlink_log_byte": 2.5e-10,
}
_SOURCES: Final = {
    "cores": "devices.md §5 [M4]",
    "job_start": "time from a flush commit to the compaction_started event that it causes, LOGs of 6.4: 0.1 ms",
    "file_overhead": "time from the last table_file_creation to compaction_finished on PM, per output file",
    "unlink_log_byte": 'from "Try to delete WAL files" to the next flush of the same thread, LOGs of 6.4: 16 ms per 64 MB',
    "compaction_record": "fit to compaction_time_cpu_micros of 6.11, values of 100 and 1000 B",
    "compaction_byte": "as compaction_record",
    "compaction_compare": "as compaction_record, by doublings of the merged runs beyond two",
    "flush_record": "fit to flush time less fsync, 6.4 (1000 B) and 6.11 on PM (100 and 1000 B)",
    "flush_byte": "as flush_record",
    "crowding": "CPU per record of L0 to L1 merges in 20 parts against merges in one, LOGs of 6.4 with 2 jobs",
    "write_op": "fit to the histograms of 6.4, writes of 1016 B below 580 us; the cost per byte cannot be told from it",
    "sleep_penalty": "as write_op: how much slower writes are, on average, per sleep of a delayed writer",
    "unlink_byte": "median time between table_file_deletion events of one job",
    "fsync_latency": "half the median time from a flush file's creation to its commit (directory and manifest)",
    "write_bandwidth": "geometric mean over sessions of bytes per time with an fsync in progress",
    "stream_write_bandwidth": "bytes per time with an fsync in progress, CPU as fitted",
    "hdd.read_bandwidth": "assumption: as it writes",
    "pmem.write_bandwidth": "devices.md §5 [M4], highest rate that iostat showed with 20 jobs",
}
_ABOUT: Final = (
    "The 40-thread machine of the ADOC authors' public runs (supermt/ADOC-Rocks-tracker, supermt/quicksand_results).",
    "Written by: python -m lsmlab.validation.calibrate.public --write",
)
_HEAD: Final = {
    "version": 2,
    "description": "40 hardware threads, Intel Xeon Gold 6230, with its own NVMe SSD, SATA SSD, hard disk and persistent memory",
    "provenance": "job records of 18 public LOGs of RocksDB 6.4 and 6.11, 2022 (CALIBRATION in validation/public_cases.py)",
}


@dataclass(slots=True)
class Source:
    """A calibration run: its LOG, and what it ran on."""

    name: str
    device: str
    session: str
    capped: bool
    log: JobLog
    output: str
    """What db_bench printed."""


def sources(data: Path) -> list[Source]:
    """The calibration runs of the 40-thread machine that have a LOG. Raises InputError if there is none."""
    found = []
    for kind in ("throttled", "ycsb", "rate-limited"):
        for mapping in SETS[kind](data):
            if mapping.get("log") and is_calibration(mapping["name"]):
                work, device = mapping["workload"], mapping["device"]
                log = records.job_log(data / mapping["log"], work["key_size"] + work["value_size"])
                output = stdout_of(data, mapping["log"])
                text = read_text(output) if output else ""
                capped = device.get("write_cap") is not None
                found.append(Source(mapping["name"], device["base"], session_of(mapping), capped, log, text))
    if not found:
        raise InputError(f"{data}: no LOG of a calibration run there")
    return found


def linear(x: Array, y: Array) -> Array:
    """Positive coefficients of y = x b with errors that are factors, of a heavy-tailed kind (SciPy, soft L1)."""
    start = np.maximum(np.linalg.lstsq(x / y[:, None], np.ones_like(y), rcond=None)[0], 1e-15)
    scale = np.maximum(start, 1e-13)

    def misfit(b: Array) -> Array:
        return np.asarray(np.log((x @ (b * scale)) / y), dtype=np.float64)

    found = least_squares(misfit, np.ones_like(scale), bounds=(1e-6, np.inf), loss="soft_l1", f_scale=0.1)
    return np.asarray(found.x * scale, dtype=np.float64)


def jackknife(fit: Callable[[Sequence[Source]], Array], used: Sequence[Source]) -> tuple[Array, Array]:
    """The fit on all sources, and its standard error from leaving one source out at a time."""
    value, n = fit(used), len(used)
    if n < 3:
        return value, np.full_like(value, np.nan)
    left_out = np.array([fit([s for s in used if s is not out]) for out in used])
    return value, np.sqrt((n - 1) / n * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))


def _stack(parts: Sequence[tuple[Array, Array]]) -> Array:
    return linear(np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]))


def merge_fit(used: Sequence[Source]) -> Array:
    """CPU of a merge per record, per byte of key and value, and per record and doubling of its runs beyond two."""
    return _stack([records.merge_costs(s.log) for s in used])


def flush_fit(used: Sequence[Source]) -> Array:
    """CPU of a flush per record and per byte of key and value."""
    return _stack([records.flush_costs(s.log, _mean_sync_s(s.output)) for s in used])


def _mean_sync_s(output: str) -> float | None:
    found = _SYNCS.search(output)
    return int(found[2]) / int(found[1]) / 1e6 if found and int(found[1]) else None


def deletion_fit(used: Sequence[Source]) -> Array:
    """Time per byte of a deleted table file."""
    rows = np.array([row for s in used for row in s.log.deletions])
    return np.array([np.median(rows[:, 1] / rows[:, 0])])


def crowding_fit(used: Sequence[Source], costs: Array) -> Array:
    """By how much a further running thread slows the others: merges in 16 parts and more against merges in one.

    `costs`: of a merge (`merge_fit`); merges in many parts are those of L0, which have more runs.
    """
    found = []
    for source in used:
        merges = [j for j in source.log.jobs if j.kind == "compaction" and j.cpu_s and j.records]
        crowd, alone = [j for j in merges if j.parts >= _CROWD], [j for j in merges if j.parts == 1]
        if crowd and alone:
            slower = records.slower_than(costs, crowd) / records.slower_than(costs, alone)
            threads = float(np.mean([j.parts for j in crowd])) + _BESIDE
            found.append((slower - 1.0) / (threads - 1.0 - slower * _BESIDE))
    return np.array([np.median(found)])


def write_fit(used: Sequence[Source]) -> Array:
    """Time of an undisturbed write, and what each sleep of a delayed writer costs in slower writes afterwards."""
    rows = []
    for source in used:
        buckets = write_buckets(source.output)
        total = sum(n for *_, n in buckets)
        short = sum(n * _mean_us(lo, hi) for lo, hi, n in buckets if hi <= _SHORT_US)
        sleeps = sum(n for _, hi, n in buckets if _SHORT_US < hi <= _SLEEP_US)
        rows.append((1.0, sleeps / total, short / total))
    table = np.array(rows) * np.array([1.0, 1.0, 1e-6])
    return linear(table[:, :2], table[:, 2])


def _mean_us(low: float, high: float) -> float:
    """Mean of a histogram's bucket (low, high]: times are whole microseconds, and short ones are common."""
    return (low + 1.0 + high) / 2.0 if high <= 22.0 else float(np.sqrt(low * high))


def bandwidth(source: Source, host: dict[str, float], commit_s: float) -> float:
    """Bytes per second of the device in a run without a cap, apart from one commit per journal transaction.

    Totals, not the typical period: a device's slow moments are part of what it can sustain.
    """
    merge = [host[f"compaction_{term}"] for term in ("record", "byte", "compare")]
    periods = records.busy_periods(source.log, merge, [host["flush_record"], host["flush_byte"]])
    seconds, size, commits = periods.sum(axis=0)
    return float(size / (seconds - commit_s * commits))


def fit(data: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameter set xeon_6230, and device bandwidths by session."""
    used = sources(data)
    host: dict[str, float] = {}
    errors: dict[str, float] = {}

    def take(names: Sequence[str], found: tuple[Array, Array]) -> None:
        for name, value, error in zip(names, *found, strict=True):
            host[name] = float(value)
            if np.isfinite(error):
                errors[name] = float(error)

    # YCSB's LOGs go on into its mix with reads, which compete with merges for caches
    plain = [s for s in used if not s.log.io_statistics and s.device != _SYNCHRONOUS and not s.name.startswith("ycsb")]
    merge = jackknife(merge_fit, plain)
    take(("compaction_record", "compaction_byte", "compaction_compare"), merge)
    timed = [s for s in used if s.log.io_statistics or (_mean_sync_s(s.output) and s.device == _SYNCHRONOUS)]
    take(("flush_record", "flush_byte"), jackknife(flush_fit, timed))
    take(("crowding",), jackknife(lambda left: crowding_fit(left, merge[0]), [s for s in used if s.log.io_statistics]))
    take(("write_op", "sleep_penalty"), jackknife(write_fit, [s for s in used if s.name.startswith("throttled")]))
    beside = 1.0 + host["crowding"] * _BESIDE
    host["write_op"], errors["write_op"] = host["write_op"] / beside, errors["write_op"] / beside
    take(("unlink_byte",), jackknife(deletion_fit, used))
    devices: dict[str, dict[str, float]] = defaultdict(dict)
    device_errors: dict[str, dict[str, float]] = defaultdict(dict)
    sessions: dict[str, dict[str, float]] = defaultdict(dict)
    for device in sorted({s.device for s in used}):
        here = [s for s in used if s.device == device]
        commits = np.array([records.commit_s(s.log) for s in here if not s.capped])
        devices[device]["fsync_latency"] = commit = float(np.median(commits))
        device_errors[device]["fsync_latency"] = float(commits.std())
        if device == _SYNCHRONOUS:
            key = "stream_write_bandwidth"
            # the copy is in the recorded CPU of a merge: only with the constants' CPU is what remains the fsync
            rates = {s.session: bandwidth(s, host, commit) for s in here if s.log.io_statistics}
        else:
            key = "write_bandwidth"
            if device == "hdd":
                devices[device]["read_bandwidth"] = 0.0
            rates = {s.session: bandwidth(s, host, commit) for s in here if s.session not in sessions or not s.capped}
        logs = np.log(np.array(list(rates.values())))
        devices[device][key] = float(np.exp(logs.mean()))
        if "read_bandwidth" in devices[device]:
            devices[device]["read_bandwidth"] = devices[device][key]
        if len(rates) > 1:
            device_errors[device][key] = float(devices[device][key] * logs.std(ddof=1))
            for session, rate in rates.items() if device != _SYNCHRONOUS else ():
                sessions[session][device] = rate
    _print(used, host, errors, devices, device_errors, sessions)
    content = {
        "host": _FIXED | host,
        "devices": {device: _FIXED_DEVICES.get(device, {}) | values for device, values in devices.items()},
        "standard_errors": {"host": errors, "devices": {d: dict(v) for d, v in device_errors.items()}},
        "sources": _SOURCES,
    }
    return content, sessions


def _print(used: Sequence[Source], *tables: Any) -> None:
    out = sys.stdout.write
    out("LOGs: " + ", ".join(s.name for s in used) + "\n")
    for table in tables:
        out(yaml.safe_dump(_plain(table), sort_keys=False))


def _plain(table: Any) -> Any:
    return {k: _plain(v) for k, v in table.items()} if isinstance(table, dict) else float(f"{table:.4g}")


def main(argv: list[str] | None = None) -> int:
    """Fit, print, and with --write replace the files."""
    parser = argparse.ArgumentParser(prog="python -m lsmlab.validation.calibrate.public", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write", action="store_true", help="replace the constants in the committed files")
    given = parser.parse_args(argv)
    content, sessions = fit(given.data)
    if given.write:
        write_set("xeon_6230", _ABOUT, _HEAD, content)
        write_sessions(CONDITIONS, sessions)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measured numbers of one recorded run, by their names in summary.json, and mean and range over repeats."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.models.text.files import read_text
from lsmlab.sim.results.job_sums import write_amplification
from lsmlab.validation.logs.bench_output import bench_output, recorded_file
from lsmlab.validation.logs.history.summary import summarise_log
from lsmlab.validation.logs.reader import read_log
from lsmlab.validation.logs.statistics_tables import ingested

_OPERATIONS: Final = {"write": "write", "read": "read", "seek": "scan"}
"""Operations of summary.json by their names in db_bench's output."""
_FROM_LOG: Final = (
    "write_amplification", "flush_count", "flush_bytes", "compaction_count", "trivial_move_count",
    "compaction_read_bytes", "compaction_write_bytes",
)  # fmt: skip


def read_outcome(folder: Path) -> dict[str, Any]:
    """Return the measured values of one repeat, from db_bench's output, the LOG and the counters.

    LOG and counters are cut at the end of the measured interval, because both continue until the store is closed.
    Raises InputError if db_bench's result line is missing.
    """
    path = recorded_file(folder, "stdout.txt")
    output = bench_output(read_text(path))
    duration_s, operations = output.first_result(path)
    measured: dict[str, Any] = {
        "duration_s": duration_s,
        "operations": operations,
        "ops_per_s": operations / duration_s,
    }
    if output.stall_fraction is not None:
        measured["stall_fraction"] = output.stall_fraction
    for kind, histogram in output.histograms.items():
        if kind in _OPERATIONS:
            measured[f"{_OPERATIONS[kind]}_latency_s"] = {**histogram.percentiles, "mean": histogram.mean_s}
    log = summarise_log(read_log(recorded_file(folder, "LOG")), duration_s)
    if log["ingested_files"]:  # their bytes stand in the statistics at the end of the output
        written = (log["flush_bytes"], log["compaction_write_bytes"])
        log["write_amplification"] = write_amplification(*written, ingested(read_log(path), "bytes"))
    measured |= {name: log[name] for name in _FROM_LOG if log.get(name) is not None}
    return measured | _counted(folder, duration_s)


def recorded_version(folder: Path) -> str:
    """Return the RocksDB release that db_bench printed; empty if it printed none."""
    return bench_output(read_text(recorded_file(folder, "stdout.txt"))).version


def combine(outcomes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return means over repeats and range / mean (the noise floor); one repeat gives no noise."""
    names = [n for n in outcomes[0] if all(n in o for o in outcomes)]
    means: dict[str, Any] = {}
    noise: dict[str, Any] = {}
    for name in names:
        values = [o[name] for o in outcomes]
        if isinstance(values[0], Mapping):
            means[name], noise[name] = combine(values)
            continue
        mean = statistics.fmean(values)
        means[name] = _short(mean)
        if len(values) > 1 and mean:
            noise[name] = float(f"{(max(values) - min(values)) / mean:.3g}")
    return means, noise


def _short(value: float) -> float | int:
    """Round to six significant digits; from 1e6, to whole numbers."""
    return round(value) if abs(value) >= 1e6 or value == int(value) else float(f"{value:.6g}")


def _counted(folder: Path, until_s: float) -> dict[str, Any]:
    """Return what the counters had at `until_s`: bytes written to and read from the device, and blob files if there are any.

    A value between two readings is interpolated.
    """
    rows = [
        {name: float(text) for name, text in row.items()}
        for row in csv.DictReader(io.StringIO(read_text(recorded_file(folder, "counters.csv"))))
    ]
    now = _at(rows, until_s)
    counted: dict[str, Any] = {}
    if now.get("read_bytes") or now.get("write_bytes"):  # both zero: older recordings without a cgroup
        counted = {"device_bytes_read": now["read_bytes"], "device_bytes_written": now["write_bytes"]}
    if now.get("blob_files"):
        counted["blobs"] = {"files": now["blob_files"], "bytes": now["blob_bytes"]}
    return counted


def _at(rows: Sequence[Mapping[str, float]], until_s: float) -> dict[str, float]:
    """Return the counters at a moment, which begin with 0; those of the last reading from there on. Nothing without readings."""
    before: Mapping[str, float] = {}
    for after in rows:
        if after["second"] >= until_s or after is rows[-1]:
            start_s = before.get("second", 0.0)
            share = min(1.0, (until_s - start_s) / max(1e-9, after["second"] - start_s))
            return {name: before.get(name, 0.0) + share * (value - before.get(name, 0.0)) for name, value in after.items()}
        before = after
    return {}

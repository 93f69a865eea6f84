"""Public runs of real RocksDB beside their simulation: a first look, before there is a scorecard.

usage: python -m lsmlab.validation.public_runs [rate-limited|throttled ...] [--data DIR]     (make validate)

The runs are others' (README of the data folder names them). One constant comes from them, the time of a write on their
machine (configs/host/xeon_gold_6230.yaml); their device names are classes, not models: `nvme` stands for "NVMe SSD".
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim import configure, run

DATA: Final = Path("../shared/data/public_runs")
"""Where the data lie beside a checkout."""
DEVICES: Final = {"NVMeSSD": "nvme", "SATASSD": "sata", "SATAHDD": "hdd", "PM": "pmem"}
MACHINE: Final = ("host=xeon_gold_6230", "device.page_cache=100GiB")
"""40 hardware threads; iostat showed device reads near zero, so compaction inputs came from the page cache."""
METRICS: Final = ("ops_per_s", "write_amplification", "flush_count", "compaction_count", "trivial_move_count")


@dataclass(frozen=True, slots=True)
class PublicRun:
    """One measured run: how to simulate it, and what was measured (names of summary.json)."""

    name: str
    overrides: tuple[str, ...]
    measured: Mapping[str, float]


def rate_limited(data: Path) -> Iterator[PublicRun]:
    """Fillrandom of 6.11 at 5, 15 and 30 MB/s, one flush and one compaction thread, four devices."""
    seen = set()
    for row in _rows(data / "rate_limited_and_ablations.csv"):
        if not row["path"].startswith("rate-limited"):
            continue
        length_s = round(float(row["log_span_s"]))
        key = (row["device"], row["value_size"], row["write_rate_limit"], round(length_s, -2))
        if key in seen:  # repeats of one configuration
            continue
        seen.add(key)
        yield PublicRun(
            name=f"{row['device']} {row['value_size']} B {int(row['write_rate_limit']) // 10**6} MB/s {length_s} s",
            overrides=(
                "engine.version=6.11", "engine.preset=db_bench", "engine.options.max_background_jobs=1",
                f"device={DEVICES[row['device']]}", f"workload.key_size={row['key_size']}",
                f"workload.value_size={row['value_size']}", f"workload.num={row['entries']}",
                f"workload.duration={length_s}s", f"workload.benchmark_write_rate_limit={row['write_rate_limit']}",
            ),
            measured=_measured(row, "ops_sec", "wa_events", "n_flush", "n_comp", "n_trivial_move"),
        )  # fmt: skip


def throttled(data: Path) -> Iterator[PublicRun]:
    """Fillrandom of 6.4 at full speed, the device's writes capped by a cgroup, 2 to 20 background jobs."""
    seen = set()
    for row in _rows(data / "throttled_fillrandom.csv"):
        key = (row["bw_limit_MiBps"], row["jobs"], row["entries_option"])
        if row["bench"] != "fillrandom" or not row["bw_limit_MiBps"] or row["device"] not in DEVICES or key in seen:
            continue
        seen.add(key)
        yield PublicRun(
            name=f"{row['bw_limit_MiBps']} MiB/s {row['jobs']} jobs {int(row['entries_option']) // 10**6} M",
            overrides=(
                "engine.version=6.4", "engine.preset=db_bench", f"engine.options.max_background_jobs={row['jobs']}",
                f"engine.options.max_subcompactions={row['opt_max_subcompactions'] or 20}",
                f"device={DEVICES[row['device']]}", f"device.write_cap={row['bw_limit_MiBps']}MiB/s",
                f"workload.key_size={row['key']}", f"workload.value_size={row['value']}",
                f"workload.num={row['entries_option']}",
            ),
            measured=_measured(row, "ops_sec", "w_amp_table", "n_flush", "n_compactions", "trivial_moves")
            | ({"stall_fraction": float(row["cum_stall_pct"]) / 100} if row["cum_stall_pct"] else {}),
        )  # fmt: skip


SETS: Final = {"rate-limited": rate_limited, "throttled": throttled}


def simulate(public: PublicRun) -> dict[str, Any]:
    """Summary of the run's simulation."""
    return run(configure(["workload=fillrandom", *MACHINE, *public.overrides])).summary


def main(argv: list[str] | None = None) -> int:
    """Print measured and simulated numbers of each run, and the median error of each metric."""
    parser = argparse.ArgumentParser(prog="python -m lsmlab.validation.public_runs", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"{', '.join(SETS)}; default: all")
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args(argv)
    for name in given.sets or SETS:
        if name not in SETS:
            raise InputError(f"{name}: no such set; choose from {', '.join(SETS)}")
        _report(name, given.data)
    return 0


def _report(name: str, data: Path) -> None:
    errors: dict[str, list[float]] = {metric: [] for metric in METRICS}
    stalls: list[float] = []
    out = sys.stdout.write
    out(f"{name}: measured > simulated\n")
    for public in SETS[name](data):
        summary = simulate(public)
        cells = []
        for metric, real in public.measured.items():
            if metric == "stall_fraction":
                stalls.append(summary[metric] - real)
            elif real > 0:
                errors[metric].append(summary[metric] / real - 1.0)
            cells.append(f"{metric} {real:.4g} > {summary[metric]:.4g}")
        out(f"  {public.name:28} {', '.join(cells)}\n")
        sys.stdout.flush()
    for metric, values in errors.items():
        if values:
            worst = max(values, key=abs)
            middle = statistics.median(abs(v) for v in values)
            bias = statistics.mean(values)
            out(f"  {metric}: median error {middle:.1%}, bias {bias:+.1%}, worst {worst:+.1%} of {len(values)} runs\n")
    if stalls:
        out(f"  stall_fraction: median error {100 * statistics.median(map(abs, stalls)):.1f} points\n")


def _rows(path: Path) -> Iterator[dict[str, str]]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the folder of the public runs with --data")
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def _measured(row: Mapping[str, str], *columns: str) -> dict[str, float]:
    return {metric: float(row[column]) for metric, column in zip(METRICS, columns, strict=True) if row[column]}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)

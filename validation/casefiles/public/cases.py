"""The public runs of real RocksDB as cases: everything that is scored of ../shared/data/public_runs.

The runs are others' (README of that folder names them); nothing of theirs is committed here. A row of a table becomes the
mapping that a case.yaml would hold. Repeats of one configuration become one case with the mean and the noise between
them. Rows of configurations in `CALIBRATION` were used to fit the machines' constants (configs/parameters); the others
are test rows, which no constant has seen.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from lsmlab.models.errors import InputError
from lsmlab.validation.casefiles.case import Case, case_from_mapping
from lsmlab.validation.casefiles.public.ablations import ablations
from lsmlab.validation.casefiles.public.rows import DATA, DEVICES, logs, options, rows
from lsmlab.validation.casefiles.public.tables import overwrite, tree_shape
from lsmlab.validation.casefiles.public.text import compaction_gib, write_histogram

CONDITIONS: Final = Path(__file__).with_name("sessions.yaml")
"""Write bandwidth of each device by session, fitted to the calibration runs by validation/calibrate/public.py."""
_SESSIONS: Final = {
    "bandwidth_limit/": "100GB, 11 March 2022",
    "list_all_threads/": "20GB, 14 March 2022",
    "disk_type_influence/": "20GB, 15 March 2022",
    "ycsb_test/": "ycsb, 18 March 2022",
    "rate-limited-fillrandom/pm_results_rate_limiting_600_1000": "1000 B, 6 March 2022",
    "rate-limited-fillrandom/": "100 B, 25 February 2022",
}
"""Days on which runs were made, by the beginning of their paths: a drive's write rate differs between them."""
CALIBRATION: Final = (
    "throttled/none-20M-2-", "throttled/2400-20M-2-", "throttled/4000-100M-2-", "ycsb/load-2-",
    "rate-limited/3600s-100B-5MBps-", "rate-limited/600s-1000B-5MBps-",
    "ablations/io_option_advance-defaults-", "ablations/l0_l1_inference-defaults-",
    "ablations/l0_l1_inference-write_buffer_size-536870912-nvme", "overwrite/9.8",
)  # fmt: skip
"""Beginnings of names: of each session the run with the fewest jobs or the lowest rate. The constants were fitted to
their job records; all other runs are test runs."""
_PAGE_CACHE: Final = "100GiB"
"""iostat showed device reads near zero: compaction inputs came from the page cache."""

Mappings = Iterator[dict[str, Any]]


def public_cases(data: Path = DATA, sets: tuple[str, ...] = ()) -> Iterator[Case]:
    """All public runs below `data`, or those of some sets. Raises InputError if the data are not there."""
    for name in sets or SETS:
        if name not in SETS:
            raise InputError(f"{name}: no such set of public runs; choose from {', '.join(SETS)}")
        for mapping in merged(SETS[name](data)):
            yield case_from_mapping(mapping, data)


def merged(mappings: Mappings) -> Mappings:
    """Repeats of one configuration as one mapping: means, and the range between repeats relative to the mean."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for mapping in mappings:
        groups[mapping["name"]].append(mapping)
    for name, group in groups.items():
        first = dict(group[0])
        first["part"] = "calibration" if is_calibration(name) else "test"
        logs = [m["log"] for m in group if m.get("log")]
        first.pop("log", None)
        if logs:
            first["log"] = logs[0] if len(logs) == 1 else logs
        if len(group) > 1:
            first["measured"], first["noise"] = _mean_and_range([m["measured"] for m in group])
        yield first


def is_calibration(name: str) -> bool:
    """Whether the constants were fitted to the job records of the case of this name."""
    return name.startswith(CALIBRATION)


def session_of(mapping: Mapping[str, Any]) -> str:
    """The session in which a run was made, by its mapping."""
    return _session(str(mapping["source"]).split()[1].rstrip(":"))


def _session(path: str) -> str:
    return next((session for beginning, session in _SESSIONS.items() if path.startswith(beginning)), "")


def throttled(data: Path) -> Mappings:
    """Fillrandom of 6.4 at full speed, 2 to 20 background jobs; device writes capped by a cgroup, or not."""
    found = logs(data)
    for row in rows(data / "throttled_fillrandom.csv"):
        if row["bench"] != "fillrandom":
            continue
        device, cap = DEVICES[row["device"]], row["bw_limit_MiBps"]
        seconds = float(row["entries_option"]) / float(row["ops_sec"])
        measured = {
            "ops_per_s": float(row["ops_sec"]),
            "duration_s": seconds,
            "write_amplification": float(row["wa_from_log_events"] or row["w_amp_table"]),
            "flush_count": int(row["n_flush"]),
            "compaction_count": int(row["n_compactions"]),
            "trivial_move_count": int(row["trivial_moves"]),
            "device_bytes_written": compaction_gib(row["cum_compaction"]) * 2**30,
            "stall_fraction": float(row["cum_stall_pct"]) / 100.0,
            "stall_count.l0_slowdown": int(row["log_l0_delay"]),
            "stall_count.memtable_stop": int(row["log_mem_stop"]),
            "stall_count.pending_slowdown": int(row["log_pend_delay"]),
        }
        size = f"{int(row['entries_option']) // 10**6}M"
        limit = f"{float(cap):.0f}" if cap else "none"
        yield {
            "name": f"throttled/{limit}-{size}-{row['jobs']}-{device}",
            "source": f"supermt/quicksand_results {row['path']}: RocksDB 6.4.0, device writes "
            + (f"throttled to {limit} MiB/s" if cap else "not throttled"),
            "store": {
                "version": "6.4",
                "preset": "db_bench",
                "options": options(row) | {"bloom_bits": 10, "max_subcompactions": int(row["opt_max_subcompactions"] or 20)},
            },
            "host": {"parameters": "xeon_6230"},
            "device": _device(device, row["path"]) | ({"write_cap": f"{limit}MiB/s"} if cap else {}),
            "workload": {
                "base": "fillrandom", "key_size": int(row["key"]), "value_size": int(row["value"]),
                "num": int(row["entries_option"]),
            },
            "measured": measured | write_histogram(data, found.get(row["path"])),
            "log": found.get(row["path"]),
        }  # fmt: skip


def ycsb(data: Path) -> Mappings:
    """YCSB's load by the same store with RocksDB's statistics on, four devices.

    It inserts each of 15 M records once: no merge of the LOGs drops an entry.
    The run phase that follows in the same process is in the tables' totals: only its LOG up to the load's end counts.
    """
    found = logs(data)
    for row in rows(data / "throttled_fillrandom.csv"):
        if row["bench"] != "ycsb_load":
            continue
        device, writes = DEVICES[row["device"]], 15_000_000
        measured = {"ops_per_s": float(row["ops_sec"]), "duration_s": writes / float(row["ops_sec"])}
        yield {
            "name": f"ycsb/load-{row['jobs']}-{device}",
            "source": f"supermt/quicksand_results {row['path']}: RocksDB 6.4.0, YCSB load, uniform",
            "store": {
                "version": "6.4",
                "preset": "db_bench",
                "options": options(row)
                | {"bloom_bits": 10, "max_subcompactions": int(row["opt_max_subcompactions"]), "statistics": True},
            },
            "host": {"parameters": "xeon_6230"},
            "device": _device(device, row["path"]),
            "workload": {
                "base": "filluniquerandom", "key_size": int(row["key"]), "value_size": int(row["value"]), "num": writes,
            },
            "measured": measured | write_histogram(data, found.get(row["path"])),
            "log": found.get(row["path"]),
        }  # fmt: skip


def rate_limited(data: Path) -> Mappings:
    """Fillrandom of 6.11 at 5, 15 and 30 MB/s, one flush and one compaction thread, four devices."""
    found = logs(data)
    for row in rows(data / "rate_limited_and_ablations.csv"):
        if not row["path"].startswith("rate-limited"):
            continue
        length_s = round(float(row["log_span_s"]), -2)
        mbps, device = int(row["write_rate_limit"]) // 10**6, DEVICES[row["device"]]
        measured = {
            "ops_per_s": float(row["ops_sec"]),
            "duration_s": length_s,
            "write_amplification": float(row["wa_events"]),
            "flush_count": int(row["n_flush"]),
            "compaction_count": int(row["n_comp"]),
            "trivial_move_count": int(row["n_trivial_move"]),
            "device_bytes_written": float(row["flush_bytes"]) + float(row["comp_out_bytes"]),
            "stall_count.l0_slowdown": int(row["log_l0_delay"]),
            "stall_count.memtable_stop": int(row["log_mem_stop"]),
            "stall_count.pending_slowdown": int(row["log_pend_delay"]),
        }
        yield {
            "name": f"rate-limited/{length_s:.0f}s-{row['value_size']}B-{mbps}MBps-{device}",
            "source": f"supermt/ADOC-Rocks-tracker {row['path']}: RocksDB 6.11.0, client writes limited",
            "store": {"version": "6.11", "preset": "db_bench", "options": options(row) | {"bloom_bits": 10, "statistics": True}},
            "host": {"parameters": "xeon_6230"},
            "device": _device(device, row["path"]),
            "workload": {
                "base": "fillrandom", "key_size": int(row["key_size"]), "value_size": int(row["value_size"]),
                "num": int(row["entries"]), "duration": f"{length_s:.0f}s",
                "benchmark_write_rate_limit": int(row["write_rate_limit"]),
            },
            "measured": measured,
            "log": found.get(row["path"]),
        }  # fmt: skip


SETS: Final = {
    "throttled": throttled,
    "ycsb": ycsb,
    "rate-limited": rate_limited,
    "ablations": ablations,
    "tree-shape": tree_shape,
    "overwrite": overwrite,
}

def _device(base: str, path: str) -> dict[str, Any]:
    """The device of a run of the 40-thread machine, in the condition of the run's session, under a kernel of 2022."""
    device: dict[str, Any] = {"base": base, "page_cache": _PAGE_CACHE, "throttle_kept_slices": 0}
    rate = _conditions().get(_session(path), {}).get(base)
    if rate is not None:
        device["write_bandwidth"] = rate
    return device


@cache
def _conditions() -> Mapping[str, Mapping[str, float]]:
    return yaml.safe_load(CONDITIONS.read_text(encoding="utf-8")) or {} if CONDITIONS.is_file() else {}


def _mean_and_range(runs: list[dict[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    mean, spread = {}, {}
    for key in runs[0]:
        values = [run[key] for run in runs if key in run]
        mean[key] = statistics.mean(values)
        if len(values) > 1 and mean[key]:
            spread[key] = (max(values) - min(values)) / mean[key]
    return mean, spread

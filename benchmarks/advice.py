"""Measure advice on real stores: record ten stores, import each LOG, take the first advice about options, record again.

usage: python benchmarks/advice.py [FOLDER]        (half an hour; db_bench 7.8 on the PATH, root for cgroups, an idle machine)

FOLDER keeps the recordings and the advice, and a later call goes on there. Nothing is fitted to these stores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

TARGET: Final = 8
"""Stores out of ten whose first advice must help as predicted, within the interval."""
DIRECT: Final = {"use_direct_reads": True, "use_direct_io_for_flush_and_compaction": True, "disable_wal": True}
SMALL: Final = {"write_buffer_size": "4MiB", "target_file_size_base": "4MiB", "max_bytes_for_level_base": "16MiB",
                "max_bytes_for_level_multiplier": 6, **DIRECT}  # fmt: skip
MEDIUM: Final = SMALL | {"write_buffer_size": "8MiB", "target_file_size_base": "8MiB", "max_bytes_for_level_base": "32MiB"}
CAP_80: Final = {"write_cap": "80MB/s", "read_cap": "80MB/s"}
FILL: Final = {"base": "fillrandom", "key_size": 16, "value_size": 200, "num": 20000000, "duration": "40s", "seed": 1}

STORES: Final[dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]] = {
    "two_jobs": (SMALL, CAP_80, FILL),
    "four_jobs_dynamic_levels": (SMALL | {"max_background_jobs": 4, "level_compaction_dynamic_level_bytes": True}, CAP_80, FILL),
    "four_jobs_160": (MEDIUM | {"max_background_jobs": 4}, {"write_cap": "160MB/s", "read_cap": "160MB/s"}, FILL),
    "no_cap": (MEDIUM, {}, FILL | {"num": 40000000}),
    "operations_1000": (SMALL | {"max_background_jobs": 4}, {"iops_cap": 1000}, FILL),
    "large_values": (MEDIUM, {"write_cap": "100MB/s", "read_cap": "100MB/s"}, FILL | {"value_size": 1000, "num": 4000000}),
    "early_stops": (
        SMALL | {"level0_file_num_compaction_trigger": 2, "level0_slowdown_writes_trigger": 6, "level0_stop_writes_trigger": 10},
        CAP_80, FILL,
    ),
    "low_pending_limits": (
        SMALL | {"soft_pending_compaction_bytes_limit": "96MiB", "hard_pending_compaction_bytes_limit": "192MiB"}, CAP_80, FILL,
    ),
    "fan_out_10": (SMALL | {"max_bytes_for_level_multiplier": 10, "max_write_buffer_number": 4}, CAP_80, FILL),
    "overwrites": (SMALL | {"max_background_jobs": 3}, CAP_80, FILL | {"num": 2000000}),
}  # fmt: skip


def main(folder: Path) -> int:
    """Measure all stores and print a line for each; return 1 if fewer than the target hold."""
    held = 0
    head = f"{'store':26s} {'recorded':>9s} {'simulated':>9s}  {'predicted change (90 %)':26s} {'measured':>9s}  advice"
    print(head, flush=True)
    for name, (options, device, workload) in STORES.items():
        before = _record(folder / name / "before", name, options, device, workload)
        advice = _advise(folder / name)
        first = next((one for one in advice["best"] if one["kind"] == "options"), None)
        if first is None:
            print(f"{name:26s} {before:9,.0f}  no advice about options", flush=True)
            continue
        gain = next(d for d in first["differences"] if d["metric"] == "ops_per_s")
        changes = dict(part.removeprefix("engine.options.").split("=", 1) for part in first["overrides"])
        changed = options | {key: yaml.safe_load(value) for key, value in changes.items()}
        after = _record(folder / name / "after", name, changed, device, workload)
        change = after / before - 1.0
        inside = gain["low"] <= change <= gain["high"]
        held += inside
        predicted = f"{gain['change']:+.1%} ({gain['low']:+.1%} to {gain['high']:+.1%})"
        print(f"{name:26s} {before:9,.0f} {gain['present']:9,.0f}  {predicted:26s} {change:+9.1%}{' ' if inside else '!'} "
              f"{' '.join(f'{k}={v}' for k, v in changes.items())}", flush=True)  # fmt: skip
    print(f"within the interval: {held} of {len(STORES)}{'' if held >= TARGET else f', target {TARGET}  MISSED'}")
    return 0 if held >= TARGET else 1


def _record(folder: Path, name: str, options: dict[str, Any], device: dict[str, Any], workload: dict[str, Any]) -> float:
    """Record one run of a store in `folder`, unless it holds one; return its operations per second."""
    path = folder / "case.yaml"
    if not path.exists():
        folder.mkdir(parents=True)
        store = {"engine": "rocksdb", "version": "7.8", "preset": "db_bench", "options": options}
        path.write_text(yaml.safe_dump({
            "name": name, "source": "own recording", "part": "test", "store": store,
            "host": {"parameters": "recording_vm"}, "device": {"base": "nvme", **device}, "workload": workload,
        }, sort_keys=False))  # fmt: skip
    if "measured" not in yaml.safe_load(path.read_text()):
        _lsmlab("record", str(folder), "--repeats", "1", "--nice", "-20")
    return float(yaml.safe_load(path.read_text())["measured"]["ops_per_s"])


def _advise(folder: Path) -> dict[str, Any]:
    """Import the LOG of a recorded store and return the advice for its throughput."""
    answer = folder / "advice" / "advice.json"
    if not answer.exists():
        run = folder / "before" / "1"
        log, options = (next(path for path in sorted(run.iterdir()) if path.name.startswith(name)) for name in ("LOG", "OPTIONS"))
        _lsmlab("import", str(log), str(options), "--out", str(folder / "imported"))
        _lsmlab("advise", str(folder / "imported"), "--goal", "throughput", "--set", "host.cores=2", "--out", str(answer.parent))
    found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return found


def _lsmlab(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "lsmlab", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"lsmlab {' '.join(arguments)}\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())))

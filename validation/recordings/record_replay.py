"""Record short runs of a real RocksDB for the replay tests: LOG, OPTIONS, manifest dump, command.

    python validation/recordings/record_replay.py SCRATCH OUT [NAME ...]

SCRATCH is a directory for the databases (each is deleted at the end of its run). The script creates one folder per run
in OUT. NAME is one of the runs in `RUNS` (default: all). Needs `db_bench` and `ldb` of RocksDB 7.8 on the PATH (Debian:
rocksdb-tools). A folder contains

- `meta.json`: the exact command, the tool's version and the workload parameters that a replay needs;
- `LOG.xz`: RocksDB's information log, with the database's path written as <db>;
- `MANIFEST.txt.xz`: the version edits that `ldb manifest_dump --verbose --hex` prints, without the final file listing;
- `OPTIONS.xz`: the newest OPTIONS file.

The runs are small on purpose: with memtables of one megabyte and low stall limits, a run of seconds has every kind of
stall and some hundred compactions, and its LOG and MANIFEST have a few hundred kilobytes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from lsmlab.validation.recorder.keep import write_xz
from lsmlab.validation.recorder.one_run import manifest_edits

MIB = 1 << 20

COMMON = {
    "benchmarks": "fillrandom",
    "threads": 1,
    "key_size": 16,
    "value_size": 100,
    "compression_type": "none",
    "disable_wal": 1,
    "write_buffer_size": MIB,
    "target_file_size_base": MIB,
    "max_bytes_for_level_base": 4 * MIB,
    "disable_auto_compactions": 0,
    "statistics": 0,
}

RUNS: dict[str, dict[str, int | str]] = {
    "static": {
        "seed": 7001,
        "num": 1_000_000,
        "writes": 1_600_000,
        "max_bytes_for_level_multiplier": 4,
        "max_background_jobs": 4,
        "max_write_buffer_number": 4,
        "level0_slowdown_writes_trigger": 8,
        "level0_stop_writes_trigger": 12,
        "soft_pending_compaction_bytes_limit": 24_000_000,
        "hard_pending_compaction_bytes_limit": 40_000_000,
    },
    "dynamic": {
        "seed": 7002,
        "num": 2_000_000,
        "writes": 1_600_000,
        "disable_wal": 0,
        "level_compaction_dynamic_level_bytes": "true",
        "max_bytes_for_level_multiplier": 5,
        "max_background_jobs": 3,
        "max_write_buffer_number": 2,
        "level0_slowdown_writes_trigger": 8,
        "level0_stop_writes_trigger": 12,
        "soft_pending_compaction_bytes_limit": 60_000_000,
        "hard_pending_compaction_bytes_limit": 100_000_000,
    },
    "parallel": {
        "seed": 7003,
        "num": 4_000_000,
        "writes": 2_000_000,
        "write_buffer_size": 2 * MIB,
        "max_bytes_for_level_multiplier": 4,
        "max_background_jobs": 8,
        "max_write_buffer_number": 5,
        "level0_slowdown_writes_trigger": 5,
        "level0_stop_writes_trigger": 6,
        "soft_pending_compaction_bytes_limit": 60_000_000,
        "hard_pending_compaction_bytes_limit": 120_000_000,
    },
}


def main(arguments: list[str]) -> int:
    """Record the runs named on the command line."""
    if len(arguments) < 2 or any(name not in RUNS for name in arguments[2:]):
        sys.stderr.write(f"usage: record_replay.py SCRATCH OUT [{' | '.join(RUNS)}]\n")
        return 2
    for name in arguments[2:] or RUNS:
        record(name, Path(arguments[0]), Path(arguments[1]) / name)
    return 0


def record(name: str, scratch: Path, out: Path) -> None:
    """Run db_bench with the flags of `name` and store the files of a recording in `out`."""
    flags = COMMON | RUNS[name]
    database = scratch / f"db_{name}"
    shutil.rmtree(database, ignore_errors=True)
    scratch.mkdir(parents=True, exist_ok=True)
    command = ["db_bench", *(f"--{flag}={value}" for flag, value in flags.items())]
    try:
        result = subprocess.run([*command, f"--db={database}"], check=True, capture_output=True, text=True)
        out.mkdir(parents=True, exist_ok=True)
        edits = manifest_edits(max(database.glob("MANIFEST-*")))
        if edits is None:
            raise SystemExit("ldb: not found, or it cannot read the MANIFEST; install rocksdb-tools")
        log = (database / "LOG").read_text(errors="replace")
        options = max(database.glob("OPTIONS-*")).read_text()
    finally:
        shutil.rmtree(database, ignore_errors=True)
    write_xz(out / "LOG.xz", log.replace(str(database), "<db>"))
    write_xz(out / "MANIFEST.txt.xz", edits.replace(str(database), "<db>"))
    write_xz(out / "OPTIONS.xz", options.replace(str(database), "<db>"))
    version = next((line.split(":", 1)[1].strip() for line in result.stderr.splitlines() if "RocksDB:" in line), "")
    meta = {
        "command": " ".join([*command, "--db=<db>"]),
        "rocksdb": version,
        "workload": {
            key: flags[key] for key in ("benchmarks", "seed", "num", "writes", "threads", "key_size", "value_size")
        },
        "result": next((line for line in result.stdout.splitlines() if line.startswith("fillrandom")), ""),
    }
    (out / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

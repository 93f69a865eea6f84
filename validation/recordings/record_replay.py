"""Record the short runs for the replay tests again, with the commands in their meta.json.

    python validation/recordings/record_replay.py SCRATCH OUT [NAME ...]

SCRATCH is a directory for the databases (each is deleted at the end of its run). The script creates one folder per run
in OUT. NAME is a recording beside this file (default: all). Needs `db_bench` and `ldb` of RocksDB 7.8 on the PATH (Debian:
rocksdb-tools). A folder contains

- `meta.json`: the exact command, the tool's version and the workload parameters that a replay needs;
- `LOG.xz`: RocksDB's information log, with the database's path written as <db>;
- `MANIFEST.txt.xz`: the version edits that `ldb manifest_dump --verbose --hex` prints, without the final file listing;
- `OPTIONS.xz`: the newest OPTIONS file.

The runs are small on purpose: with memtables of one megabyte and low stall limits, a run of seconds has every kind of
stall and some hundred compactions, and its LOG and MANIFEST have a few hundred kilobytes. For another run, write a
meta.json with its `command` and `workload`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lsmlab.models.text.files import read_text
from lsmlab.validation.recorder.command import BenchPlan
from lsmlab.validation.recorder.keep import write_xz
from lsmlab.validation.recorder.limits import CgroupCaps
from lsmlab.validation.recorder.one_run import Budget, run_bench

HERE = Path(__file__).parent
BUDGET = Budget(time_s=600.0, disk_bytes=10**9)


def main(arguments: list[str]) -> int:
    """Record the runs named on the command line."""
    known = sorted(path.parent.name for path in HERE.glob("*/meta.json"))
    if len(arguments) < 2 or any(name not in known for name in arguments[2:]):
        sys.stderr.write(f"usage: record_replay.py SCRATCH OUT [{' | '.join(known)}]\n")
        return 2
    for name in arguments[2:] or known:
        record(name, Path(arguments[0]), Path(arguments[1]) / name)
    return 0


def record(name: str, scratch: Path, out: Path) -> None:
    """Run db_bench with the command of `name` and store the files of a recording in `out`."""
    meta = json.loads((HERE / name / "meta.json").read_text())
    tool, *flags = meta["command"].split()
    database, raw = scratch / f"db_{name}", scratch / f"raw_{name}"
    plan = BenchPlan((), tuple(flag for flag in flags if flag != "--db=<db>"))
    run_bench([tool], plan, CgroupCaps(), BUDGET, database, raw)
    if not (raw / "MANIFEST.txt").is_file():
        raise SystemExit("ldb: not found, or it cannot read the MANIFEST; install rocksdb-tools")
    out.mkdir(parents=True, exist_ok=True)
    for file in ("LOG", "MANIFEST.txt", "OPTIONS"):
        write_xz(out / f"{file}.xz", read_text(raw / file).replace(str(database), "<db>"))
    lines = read_text(raw / "stdout.txt").splitlines()
    meta["rocksdb"] = next((line.split(":", 1)[1].strip() for line in lines if "RocksDB:" in line), "")
    meta["result"] = next((line for line in lines if line.startswith("fillrandom")), "")
    (out / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

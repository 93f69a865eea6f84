"""Compare Debian's db_bench 7.8.3, which is built with assertions, with release builds (docs/decisions/0048).

usage: python benchmarks/assertions.py JAR [ROUNDS]     (four minutes per round; an idle machine; extra `real`; a JDK)

JAR is org.rocksdb:rocksdbjni:7.8.3:jar:linux64 of Maven Central, a release build of the same version. Puts, flushes and
compactions of one case are recorded with both, in turns, because the speed of a virtual machine changes by the minute. Gets from
the block cache are compared with rocksdict 9.8, with which `read_costs.py` measured the costs of reads.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np
from read_costs import VALUE, found_us

CASE: Final = """
name: {name}
source: benchmarks/assertions.py
part: test
store:
  engine: rocksdb
  version: "7.8"
  preset: {preset}
  options:
    write_buffer_size: 4MiB
    target_file_size_base: 4MiB
    max_bytes_for_level_base: 16MiB
    max_bytes_for_level_multiplier: 6
    level_compaction_dynamic_level_bytes: false
    disable_wal: true
    use_direct_reads: true
    use_direct_io_for_flush_and_compaction: true
    compression: kNoCompression
device: {{base: nvme}}
workload: {{base: fillrandom, key_size: 16, value_size: {value}, num: 5000000, threads: 1, duration: 20s, seed: 1}}
"""
VALUES: Final = (200, 1000)
STORES_MB: Final = (12, 50, 200)
COLUMNS: Final = ("us per put", "flush us per entry", "compaction us per entry")
_EVENT: Final = re.compile(r"EVENT_LOG_v1 (\{.*\})")
_SWITCH: Final = re.compile(r"^(\S+) \w+ .*New memtable created", re.MULTILINE)
_FLUSHED: Final = re.compile(r"Flush lasted \d+ microseconds, and (\d+) cpu microseconds")
_GETS: Final = re.compile(r"readrandom\s*:\s*([\d.]+) micros")


def main(jar: Path, rounds: int) -> int:
    """Print each build's times per round and the ratios of their least times; return 0."""
    times: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for value in VALUES:
                for build in ("assertions", "release"):
                    for column, took_us in zip(COLUMNS, recorded(build, value, jar, Path(folder)), strict=True):
                        times[f"{value} B", column, build].append(took_us)
            for size_mb in STORES_MB:
                for build, get_us in (("assertions", bench_get_us), ("release", found_us)):
                    times[f"{size_mb} MB", "us per get", build].append(get_us(size_mb, f"{folder}/db"))
    for (what, column, build), found in times.items():
        if build == "release":
            with_assertions = times[what, column, "assertions"]
            print(f"{what:7s} {column:24s} assertions {_text(with_assertions)}  release {_text(found)}"
                  f"  ratio {min(with_assertions) / min(found):.2f}")  # fmt: skip
    return 0


def recorded(build: str, value: int, jar: Path, folder: Path) -> tuple[float, float, float]:
    """Return COLUMNS of one run: fastest sixth of the fills of a memtable, means of the jobs."""
    case = folder / f"{build}_{value}"
    shutil.rmtree(case, ignore_errors=True)
    case.mkdir()
    preset = "db_bench" if build == "assertions" else "library"
    (case / "case.yaml").write_text(CASE.format(name=case.name, preset=preset, value=value), encoding="utf-8")
    driver = [] if build == "assertions" else ["--with", "rocksdbjni", "--jar", str(jar)]
    command = [Path(sys.executable).parent / "lsmlab", "record", case, "--repeats", "1", *driver]
    subprocess.run(command, check=True, capture_output=True)
    with lzma.open(case / "1" / "LOG.xz", "rt", errors="replace") as log:
        text = log.read()
    return put_us(text), *job_us(text)


def put_us(log: str) -> float:
    """Return the microseconds per put of memtables that were filled without a stall."""
    switches = [datetime.strptime(at, "%Y/%m/%d-%H:%M:%S.%f").timestamp() for at in _SWITCH.findall(log)]
    entries = np.median([e["num_entries"] / e["num_memtables"] for e in _events(log, "flush_started")])
    return float(np.quantile(np.diff(switches), 1 / 6) / entries * 1e6)


def job_us(log: str) -> tuple[float, float]:
    """Return the CPU microseconds per entry of flushes and of compactions out of L0 and below."""
    flushes = np.array([int(us) for us in _FLUSHED.findall(log)], dtype=np.float64)
    flushed = sum(e["num_entries"] for e in _events(log, "flush_started"))
    done = [e for e in _events(log, "compaction_finished") if e["output_level"] >= 1]
    return float(flushes.sum()) / flushed, (
        sum(e["compaction_time_cpu_micros"] for e in done) / sum(e["num_input_records"] for e in done)
    )


def _events(log: str, name: str) -> Iterator[dict[str, float]]:
    return (e for e in map(json.loads, _EVENT.findall(log)) if e.get("event") == name)


def bench_get_us(size_mb: int, folder: str) -> float:
    """Return the microseconds per get of db_bench from the block cache, the second time."""
    shutil.rmtree(folder, ignore_errors=True)
    keys = size_mb * 10**6 // (16 + len(VALUE))
    flags = {
        "benchmarks": "fillseq,compact,readrandom,readrandom", "db": folder, "num": keys, "reads": 2 * keys, "key_size": 16,
        "value_size": len(VALUE), "bloom_bits": 10, "cache_size": 2**34, "compression_type": "none", "disable_wal": "true",
    }  # fmt: skip
    command = ["db_bench", *(f"--{name}={value}" for name, value in flags.items())]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(_GETS.findall(done.stdout)[-1])


def _text(times: list[float]) -> str:
    return ", ".join(f"{took:.2f}" for took in times)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3))

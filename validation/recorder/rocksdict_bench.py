"""db_bench in Python, on the RocksDB inside the package rocksdict: the flags, output and files that a recording needs.

Runs as a process of its own: `python -m lsmlab.validation.recorder.rocksdict_bench --benchmarks=fillrandom --db=DIR …`.
Writes come from one Python thread, so a put costs a few microseconds more than in db_bench; RocksDB itself is the same.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

_SETTERS: Final = {
    **{name: f"set_{name}" for name in (
        "write_buffer_size", "max_write_buffer_number", "min_write_buffer_number_to_merge", "target_file_size_base",
        "target_file_size_multiplier", "max_bytes_for_level_base", "num_levels", "max_bytes_for_level_multiplier",
        "level_compaction_dynamic_level_bytes", "max_background_jobs", "soft_pending_compaction_bytes_limit",
        "hard_pending_compaction_bytes_limit", "max_compaction_bytes", "use_direct_reads",
        "use_direct_io_for_flush_and_compaction", "bytes_per_sync", "arena_block_size",
    )},
    **{f"level0_{name}": f"set_level_zero_{name}" for name in (
        "file_num_compaction_trigger", "slowdown_writes_trigger", "stop_writes_trigger",
    )},
    "subcompactions": "set_max_subcompactions", "open_files": "set_max_open_files",
}  # fmt: skip
"""Method of rocksdict's Options for each flag of db_bench that sets one option."""
_KNOWN: Final = {
    "benchmarks", "db", "num", "duration", "writes", "seed", "key_size", "value_size", "threads", "histogram", "report_file",
    "report_interval_seconds", "report_bg_io_stats", "use_existing_db", "disable_wal", "sync", "compression_type", "batch_size",
    "rate_limiter_bytes_per_sec", "rate_limiter_refill_period_us", "benchmark_write_rate_limit", "value_size_distribution_type",
    "value_size_min", "value_size_max",
}  # fmt: skip
_FIXED: Final = {"threads": "1", "batch_size": "1", "value_size_distribution_type": "fixed", "compression_type": "none"}
"""Flags that take only this value here."""
_WRITES: Final = ("fillrandom", "overwrite")
_VALUES: Final = 64
"""Different values that are written in turn."""


def main(arguments: list[str]) -> int:
    """Run the benchmarks of a command line; return 0, or 1 for a flag that is not supported."""
    if "--version" in arguments:
        sys.stdout.write(f"rocksdict with RocksDB {_version()}\n")
        return 0
    flags = dict(argument.removeprefix("--").partition("=")[::2] for argument in arguments)
    refused = [f"--{name}" for name in flags if name not in _KNOWN and name not in _SETTERS]
    refused += [f"--{name}={flags[name]}" for name, value in _FIXED.items() if flags.get(name, value) != value]
    steps = flags["benchmarks"].split(",")
    refused += [f"--benchmarks={s}" for s in steps if s not in (*_WRITES, "stats", "flush", "waitforcompaction")]
    if refused:
        sys.stderr.write(f"rocksdict: {refused[0]} is not supported; take this part out of the case, or use db_bench\n")
        return 1
    database = _opened(flags)
    for step in steps:
        if step in _WRITES:
            _write(step, database, flags)
        elif step == "flush":
            database.flush()
        elif step == "waitforcompaction":
            _wait(database)
    if "stats" in steps:
        sys.stdout.write(f"\n{database.property_value('rocksdb.stats')}\n")
    database.close()
    return 0


def _opened(flags: Mapping[str, str]) -> Any:
    from rocksdict import DBCompressionType, Options, Rdict, WriteOptions

    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_compression_type(DBCompressionType.none())
    for name, setter in _SETTERS.items():
        if name in flags:
            getattr(options, setter)(_number(flags[name]))
    limit = int(float(flags.get("rate_limiter_bytes_per_sec", 0)))
    if limit:
        options.set_ratelimiter(limit, int(flags.get("rate_limiter_refill_period_us", 100_000)), 10)
    if flags.get("report_bg_io_stats") == "true":
        options.set_report_bg_io_stats(True)
    database = Rdict(flags["db"], options)
    writing = WriteOptions()
    writing.disable_wal = flags.get("disable_wal") == "true"
    writing.sync = flags.get("sync") == "true"
    database.set_write_options(writing)
    return database


def _write(name: str, database: Any, flags: Mapping[str, str]) -> None:
    """Put random keys for a time or a number of operations; print db_bench's lines and write its report file."""
    keys, end_s = int(float(flags["num"])), float(flags.get("duration", 0)) or float("inf")
    most = int(float(flags.get("writes", 0))) or (keys if end_s == float("inf") else sys.maxsize)
    size, pad = int(flags.get("value_size", 100)), b"0" * (int(flags.get("key_size", 16)) - 8)
    pace_s = (size + len(pad) + 8) / limit if (limit := float(flags.get("benchmark_write_rate_limit", 0))) else 0.0
    chance = random.Random(int(flags.get("seed", 1)))
    values = [chance.randbytes(size) for _ in range(_VALUES)]
    latencies, seconds = array("d"), [0]
    clock, put, draw = time.perf_counter, database.put, chance.randrange
    started = before = clock()
    while len(latencies) < most:
        put(draw(keys).to_bytes(8, "big") + pad, values[len(latencies) % _VALUES])
        now = clock()
        latencies.append(now - before)
        if now - started >= len(seconds):
            seconds += [0] * (int(now - started) + 1 - len(seconds))
        seconds[-1] += 1
        if now - started >= end_s:
            break
        if (ahead := len(latencies) * pace_s - (now - started)) > 0:
            time.sleep(ahead)
            now = clock()
        before = now
    _report(name, np.asarray(latencies), clock() - started)
    if "report_file" in flags:
        rows = "".join(f"{second},{done}\n" for second, done in enumerate(seconds[:-1], start=1))
        Path(flags["report_file"]).write_text(f"secs_elapsed,interval_qps\n{rows}", encoding="utf-8")


def _report(name: str, latencies_s: np.ndarray[Any, np.dtype[np.float64]], duration_s: float) -> None:
    us, count = latencies_s * 1e6, len(latencies_s)
    shares = dict(zip((50, 75, 99, 99.9, 99.99), np.percentile(us, (50, 75, 99, 99.9, 99.99)), strict=True))
    sys.stdout.write(
        f"RocksDB:    version {_version()}\n"
        f"{name:<12} : {1e6 * duration_s / count:11.3f} micros/op {count / duration_s:.0f} ops/sec {duration_s:.3f} seconds"
        f" {count} operations;\n"
        f"Microseconds per write:\nCount: {count} Average: {us.mean():.4f}  StdDev: {us.std():.2f}\n"
        f"Min: {us.min():.0f}  Median: {shares[50]:.4f}  Max: {us.max():.0f}\n"
        f"Percentiles: {' '.join(f'P{share:g}: {value:.2f}' for share, value in shares.items())}\n"
    )


def _wait(database: Any) -> None:
    while any(database.property_int_value(f"rocksdb.{name}") for name in ("compaction-pending", "num-running-compactions")):
        time.sleep(0.05)


def _version() -> str:
    """Return the release of RocksDB, from the LOG of an empty store."""
    from rocksdict import Rdict

    with tempfile.TemporaryDirectory(prefix="lsmlab-") as folder:
        Rdict(folder).close()
        found = re.search(r"RocksDB version: ([\d.]+)", (Path(folder) / "LOG").read_text(encoding="utf-8"))
    return found[1] if found else ""


def _number(text: str) -> int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    return float(text) if "." in text else int(text)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""Builds cases from recorded runs of ADOC's and SILK's released code and of LevelDB (../shared/data/real_engines).

Each run is a folder with its command, LOG, output and device limits (README of that folder). This repository contains
none of the data. Every folder of this form becomes a case, whatever its limits and load: the flags of the command are
the options of the store. The cases use the engines that model the released code, not the rules in the papers.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.costs.assertions import WARNING
from lsmlab.models.errors import InputError
from lsmlab.models.text.files import read_text
from lsmlab.validation.casefiles.case import Case, case_from_mapping
from lsmlab.validation.casefiles.real import means_and_ranges
from lsmlab.validation.casefiles.values import SLOW_OPS
from lsmlab.validation.logs.bench_output import BenchOutput, bench_output, recorded_file
from lsmlab.validation.logs.silk_driver import LEAST_LATENCY_S, WORKERS, block_read_s, offered_rates

DATA: Final = Path("../shared/data/real_engines")
"""Folder of the data, relative to the root of the source tree."""
STORES: Final = ("adoc", "silk", "leveldb")
_REPEAT: Final = re.compile(r"_rep\d+$")
_SECOND: Final = re.compile(r"^SEC,write,[\d.]+,(\d+)$", re.MULTILINE)
_OPTIONS: Final = (
    "write_buffer_size", "max_write_buffer_number", "max_bytes_for_level_base", "max_bytes_for_level_multiplier",
    "target_file_size_base", "max_background_jobs", "max_background_flushes", "max_background_compactions", "block_size",
    "bloom_bits", "cache_size", "level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger",
    "level0_stop_writes_trigger", "soft_pending_compaction_bytes_limit", "hard_pending_compaction_bytes_limit",
    "max_subcompactions", "rate_limiter_bytes_per_sec",
)  # fmt: skip
"""Flags of db_bench with the name of a RocksDB option."""
_SWITCHES: Final = ("disable_wal", "use_direct_reads", "use_direct_io_for_flush_and_compaction")
"""The same for options that are true or false."""
_LOADS: Final = {
    "adoc": (
        "key_size", "value_size", "num", "duration", "benchmark_write_rate_limit", "TEA_enable", "FEA_enable",
        "max_memtable_size", "core_num", "DOTA_tuning_gap",
    ),
    "silk": ("key_size", "value_size", "num", "duration", "dynamic_compaction_rate"),
    "leveldb": ("value_size", "num", "max_file_size"),
}  # fmt: skip
"""Flags of the load and of the engine's own policies, by store."""
_WITHOUT_EFFECT: Final = (
    "db", "report_file", "report_interval_seconds", "histogram", "stats_dump_period_sec", "seed", "open_files",
)  # fmt: skip
"""Flags that change nothing of the store's work; 1000 open files are more than LevelDB has."""
_ONLY: Final[Mapping[str, Mapping[str, str]]] = {
    "adoc": {"compression_type": "none", "threads": "1"},
    "silk": {
        "compression_type": "none", "threads": "15", "use_existing_db": "1", "stats_interval": "100",
        "stats_interval_seconds": "1", "SILK_bandwidth_check_interval": "10000",
    },
    "leveldb": {"compression": "0"},
}  # fmt: skip
"""Flags with the one value that is modelled. 15 threads of SILK's driver: five generators, eight workers, two others."""
_BENCHMARKS: Final = {"adoc": "fillrandom", "silk": "longpeak", "leveldb": "fillrandom"}
"""First benchmark of the command."""
_NOISE: Final = {
    "adoc/base": 0.001, "adoc/ADOC": 0.03, "adoc/T": 0.08, "adoc/B": 0.20, "silk/off": 0.03, "silk/silk2": 0.10,
    "silk/prio2": 0.10,
}  # fmt: skip
"""Range / mean of ops/s over repeats of one command (README). prio2 has no repeats; we take the value of silk2, which
has the same thread rules."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One recorded run (one folder)."""

    store: str
    directory: Path
    flags: Mapping[str, str]
    environment: Mapping[str, str]
    limits: Mapping[str, Any]
    cores: int
    version: str
    prefill: str
    """Command that filled the store before the run; empty for an empty store."""

    @property
    def name(self) -> str:
        """Name of the run without the number of the repeat, such as "adoc/bw60_wb8_T"."""
        return f"{self.store}/{_REPEAT.sub('', self.directory.name)}"

    @property
    def arm(self) -> str:
        """Last part of the name: the policies that were on."""
        return self.name.rpartition("_")[2]

    def text(self, name: str) -> str:
        """Read a text file, plain or compressed."""
        return read_text(recorded_file(self.directory, name))

    @property
    def device(self) -> dict[str, Any]:
        """Device entry and caps of the run."""
        caps = {"write_cap": self.limits.get("write_bps"), "read_cap": self.limits.get("read_bps")}
        iops = {"iops_cap": self.limits.get("write_iops")}
        return {"base": "nvme", **{key: int(v) for key, v in (caps | iops).items() if v}}


def real_engine_cases(data: Path = DATA) -> Iterator[Case | tuple[str, str]]:
    """Yield one case per configuration, with its repeats; (name, reason) for a folder that cannot become a case.

    Raises InputError if the data are missing.
    """
    if not data.is_dir():
        raise InputError(f"{data}: no such folder; put the recorded engines into ../shared/data/real_engines")
    groups: dict[str, list[_Run]] = {}
    for store in STORES:
        for path in sorted((data / store).glob("*/command.txt")):
            try:
                run = _read(store, path)
            except InputError as error:
                yield f"{store}/{path.parent.name}", str(error)
                continue
            groups.setdefault(run.name, []).append(run)
    for name, group in groups.items():
        try:
            yield _case(group, data)
        except InputError as error:
            yield name, str(error)
        except Exception as error:  # one damaged recording must not stop the scorecard
            yield name, f"{group[0].directory}: {_reason(error)}; copy or record this run again"


def _reason(error: Exception) -> str:
    missing = isinstance(error, KeyError)
    return f"the command sets no {error.args[0]}" if missing else f"a file cannot be read ({error})"


def _read(store: str, path: Path) -> _Run:
    try:
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        words = [w.partition("=") for w in shlex.split(first)]
        meta = json.loads((path.parent / "meta.json").read_text(encoding="utf-8"))
        return _Run(
            store, path.parent, {k[2:]: v for k, _, v in words if k.startswith("--")},
            {k: v for k, e, v in words if e and not k.startswith("--")}, meta["device_limits"], meta["cores"], meta["version"],
            str(meta.get("prefill") or ""),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path.parent}: command.txt or meta.json cannot be read ({error}); copy this run again") from None


def _refuse_unknown(run: _Run) -> None:
    """Raise InputError for a command that is not modelled: its benchmark, a flag or a value of a flag."""
    place, remedy = f"{run.directory}: command.txt", "this run cannot be simulated; remove its folder"
    benchmark = run.flags.get("benchmarks", "").partition(",")[0]
    if benchmark != _BENCHMARKS[run.store]:
        raise InputError(f"{place}: --benchmarks={benchmark}: not {_BENCHMARKS[run.store]}; {remedy}")
    known, only = ("benchmarks", *_OPTIONS, *_SWITCHES, *_LOADS[run.store], *_WITHOUT_EFFECT), _ONLY[run.store]
    for name, value in run.flags.items():
        if name not in known and only.get(name) != value:
            raise InputError(f"{place}: --{name}={value} is not modelled; {remedy}")


def _case(group: list[_Run], data: Path) -> Case:
    first = group[0]
    for run in group:
        _refuse_unknown(run)
    measured, noise = means_and_ranges([_MEASURED[r.store](r) for r in group])
    known = _NOISE.get(f"{first.store}/{first.arm}")
    of_rate = {"ops_per_s": known} if known is not None and len(group) == 1 else {}
    noise = {k: v for k, v in noise.items() if v} | of_rate
    logs = [str((r.directory / "LOG.gz").relative_to(data)) for r in group]
    reports = [str(p.relative_to(data)) for r in group if (p := r.directory / "report.csv").is_file()]
    mapping = {
        "name": first.name,
        "source": f"recorded run, {first.version}",
        "host": {"parameters": "recording_vm", "cores": first.cores, **_build(first)},
        **_CONFIGURATIONS[first.store](group),
        "measured": measured,
        "noise": noise,
        "log": logs,
        **({"series": reports} if reports else {}),
    }
    return case_from_mapping(mapping, data)


_NO_CHECKSUM_INSTRUCTION: Final = "Fast CRC32 supported: Not supported"
_CHECKSUM_BYTE: Final = "0.7ns"
"""CPU time per byte of a table-based CRC-32C. Compactions (compaction_time_cpu_micros) of the ADOC build need 0.69 ns,
its flushes ("Flush lasted …") 0.68 ns more than recording_vm per byte that they verify or checksum."""


def _build(run: _Run) -> dict[str, Any]:
    """Return the host constants in which the recorded program differs from the one of recording_vm.

    A program that does not warn of assertions counts as a release build. SILK's output has no warnings at all.
    """
    slow = run.store != "leveldb" and _NO_CHECKSUM_INSTRUCTION in run.text("LOG")
    asserted = WARNING in run.text("stdout.txt")
    return {"assertions": int(asserted)} | ({"checksum_byte": _CHECKSUM_BYTE} if slow else {})


def _options(run: _Run) -> dict[str, Any]:
    options: dict[str, Any] = {name: float(run.flags[name]) for name in _OPTIONS if name in run.flags}
    options = {name: int(v) if v == int(v) else v for name, v in options.items()}
    return options | {name: run.flags[name] in ("1", "true") for name in _SWITCHES if name in run.flags}


def _adoc(group: list[_Run]) -> dict[str, Any]:
    run = group[0]
    threads, batch = (run.flags.get(name) == "true" for name in ("TEA_enable", "FEA_enable"))
    engine = "adoc_code" if threads and batch else "adoc_code_t" if threads else "adoc_code_b" if batch else "rocksdb"
    store: dict[str, Any] = {"engine": engine, "version": "7.7", "preset": "db_bench", "options": _options(run)}
    if threads or batch:
        least = run.environment.get("ADOC_MIN_MEMTABLE")  # without it the code has its own minimum, that of adoc_code
        store |= {
            **({"tuner.least_batch": int(least)} if least else {}),
            "tuner.most_batch": int(run.flags["max_memtable_size"]),
            "tuner.most_threads": int(run.flags["core_num"]),
            "tuner.interval": f"{run.flags['DOTA_tuning_gap']}s",
        }
    workload = {
        "base": "fillrandom", "key_size": int(run.flags["key_size"]), "value_size": int(run.flags["value_size"]),
        "num": int(run.flags["num"]), "duration": f"{run.flags['duration']}s",
    }  # fmt: skip
    rate = run.flags.get("benchmark_write_rate_limit")
    if rate:
        workload["benchmark_write_rate_limit"] = int(rate)
    return {"store": store, "device": run.device, "workload": workload}


_SILK_KEY_BYTES: Final = 6
"""Key size in bytes: the driver writes decimal keys; raw_average_key_size of the LOG minus 8 bytes of sequence
number."""
_FILLED: Final = ((1, 5, 3.3e6), (2, 46, 3.55e6), (3, 305, 3.54e6))
"""(level, files, bytes per file) of the initial store of all SILK runs: lsm_state of the first flush; 1.26 GB in
total."""
_PREFILL: Final = ("LP_FILL=2000000", "--num=2000000", "--value_size=1000", "--write_buffer_size=4194304")
"""Words of the command that filled this store."""


def _silk(group: list[_Run]) -> dict[str, Any]:
    run = group[0]
    env, options = run.environment, _options(run)
    _refuse_other_modes(run)
    store: dict[str, Any] = {"engine": "rocksdb", "version": "5.7", "preset": "db_bench", "options": options}
    if env.get("SILK_OFF") != "1":
        limited = run.flags.get("dynamic_compaction_rate") == "true"
        if limited:
            options.pop("rate_limiter_bytes_per_sec", None)  # the rate before the first report: total_bandwidth
        store |= {
            "engine": "silk_code", **({} if limited else {"scheduler": "silk_code_prio"}),
            "scheduler.total_bandwidth": f"{env['SILK_T']}MB/s", "scheduler.pause_bandwidth": f"{env['SILK_PAUSE']}MB/s",
            "scheduler.least_bandwidth": f"{env['SILK_FLOOR']}MB/s", "scheduler.hysteresis": f"{env['SILK_HYST']}MB/s",
        }  # fmt: skip
    writes = int(env.get("LP_WRITE_PCT", "50")) / 100
    valley_rate, peak_rate = np.mean([offered_rates(r.text("stdout.txt"), env) for r in group], axis=0).tolist()
    workload = {
        "base": "peaks_valleys", "num": int(run.flags["num"]), "key_size": _SILK_KEY_BYTES,
        "value_size": int(run.flags["value_size"]), "read": 1.0 - writes, "update": writes, "threads": WORKERS,
        "queue_per_thread": True, "quiet": f"{env['LP_QUIET_S']}s", "valley": f"{env['LP_VALLEY_S']}s",
        "valley_rate": valley_rate, "peak": f"{env['LP_PEAK_S']}s", "peak_rate": peak_rate,
        "duration": f"{run.flags['duration']}s",
    }  # fmt: skip
    tree = [{"level": level, "size_bytes": size} for level, files, size in _FILLED for _ in range(files)]
    return {"store": store, "device": run.device | _block_reads(group), "workload": workload, "initial_tree": tree}


def _refuse_other_modes(run: _Run) -> None:
    """Raise InputError for a mode of SILK's driver that is not modelled, and for a store with another content."""
    env, place = run.environment, f"{run.directory}: command.txt"
    remedy = "this run cannot be simulated; remove its folder"
    if "LP_FILL" in env:
        raise InputError(f"{place}: LP_FILL={env['LP_FILL']}: the driver fills the store, without peaks and valleys; {remedy}")
    if (env.get("SILK_OFF") == "1") != (env.get("TRIAD_OFF") == "1"):
        raise InputError(f"{place}: one of SILK_OFF and TRIAD_OFF alone is not modelled; {remedy}")
    if env.get("SILK_OFF") == "1" and run.flags.get("dynamic_compaction_rate") == "true":
        raise InputError(f"{place}: SILK_OFF=1 with --dynamic_compaction_rate=true is not modelled; {remedy}")
    if not set(_PREFILL) <= set(run.prefill.split()):
        raise InputError(f"{run.directory}: meta.json: prefill: only a store filled by {' '.join(_PREFILL)} is known; {remedy}")


def _block_reads(group: list[_Run]) -> dict[str, str]:
    """Return the latency of a block read before the load began; another experiment used the disk at the same time."""
    found = [block_read_s(r.text("stdout.txt"), r.text("io_cpu.csv")) for r in group]
    known = [seconds for seconds in found if seconds is not None]
    return {"read_latency": f"{1e6 * float(np.mean(known)):.0f}us"} if known else {}


def _leveldb(group: list[_Run]) -> dict[str, Any]:
    run = group[0]
    options = {name: int(run.flags[name]) for name in ("write_buffer_size", "bloom_bits", "cache_size") if name in run.flags}
    if "max_file_size" in run.flags:
        options["target_file_size_base"] = int(run.flags["max_file_size"])
    workload = {
        "base": "fillrandom", "key_size": 16, "value_size": int(run.flags["value_size"]), "num": int(run.flags["num"]),
        "duration": f"{run.environment['LDB_WRITE_SECS']}s",
    }  # fmt: skip
    device = run.device | {"page_cache": "16GiB"}  # SST files pass through the page cache, which serves reads
    return {"store": {"engine": "leveldb", "options": options}, "device": device, "workload": workload}


def _adoc_measured(run: _Run) -> dict[str, float]:
    output = bench_output(run.text("stdout.txt"))
    result = next((result for result in output.results if result.name == "fillrandom"), None)
    if result is None or result.ops_per_s is None or result.seconds is None:
        raise InputError(f"{run.directory}: stdout.txt has no result line of fillrandom; copy or record this run again")
    return {"ops_per_s": result.ops_per_s, "duration_s": result.seconds, **_latency_and_stalls(output)}


def _silk_measured(run: _Run) -> dict[str, float]:
    rows = [line.split(",")[1] for line in run.text("report.csv").splitlines()[1:]]
    operations = [float(n) for n in rows]
    rate = sum(operations) / len(operations)
    output = bench_output(run.text("stdout.txt"))
    others = {k: v for k, v in _latency_and_stalls(output).items() if "latency" not in k or v >= LEAST_LATENCY_S}
    return {"ops_per_s": rate, "duration_s": float(run.flags["duration"]), **others}


def _latency_and_stalls(output: BenchOutput) -> dict[str, float]:
    writes = output.histograms.get("write")
    found = {f"write_latency_s.{name}": value for name, value in (writes.percentiles if writes else {}).items()}
    return found | ({} if output.stall_fraction is None else {"stall_fraction": output.stall_fraction})


def _leveldb_measured(run: _Run) -> dict[str, float]:
    seconds = [int(n) for n in _SECOND.findall(run.text("stdout.txt"))]
    length = float(run.environment["LDB_WRITE_SECS"])
    slow = sum(n < SLOW_OPS for n in seconds) / max(1, len(seconds))
    return {"ops_per_s": sum(seconds) / length, "duration_s": length, "slow_seconds": slow}


_CONFIGURATIONS: Final = {"adoc": _adoc, "silk": _silk, "leveldb": _leveldb}
_MEASURED: Final = {"adoc": _adoc_measured, "silk": _silk_measured, "leveldb": _leveldb_measured}

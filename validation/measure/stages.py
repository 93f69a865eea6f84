"""Short runs of real RocksDB, each chosen for constants of the host: what it stores, for how long, and what it determines.

The stores are small and their keys few, so that each stays below `STORE_BYTES` however fast the machine is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsmlab.validation.casefiles.case import Case, case_from_mapping
from lsmlab.validation.recorder.drivers import Driver

STORE_BYTES: Final = 4 << 30
"""Most bytes of a store."""
_START_S: Final = 2.0
"""Estimated time to start db_bench and to read what it leaves."""
_PREFILL_S: Final = 4.0
"""Estimated time to fill the store of a stage that reads."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One short run."""

    name: str
    tells: str
    """What it determines, in words."""
    load: Mapping[str, Any]
    """The `workload` of a case."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of RocksDB, beyond those of all stages."""
    prefill: int = 0
    """Entries that are stored before."""
    seconds: float
    quick: float | None = None
    """Seconds with --quick; None: left out."""
    threads: int = 1
    """Client threads; a stage with more than the machine has cores is left out."""

    def case(self, driver: Driver, release: str, device: str, seconds: float, folder: Path) -> Case:
        """Return the stage as a case of the recorder."""
        preset = {"engine": "rocksdb", "version": release, "preset": driver.preset}
        load = {"key_size": 16, "seed": 1, "threads": self.threads, **self.load}
        mapping: dict[str, Any] = {
            "name": self.name, "part": "calibration", "store": {**preset, "options": {**_OPTIONS, **self.options}},
            "device": {"base": device}, "workload": {**load, "duration": f"{seconds:g}s"},
        }  # fmt: skip
        if self.prefill:
            size = {key: load[key] for key in ("key_size", "value_size")}
            mapping["prefill"] = {"base": "fillrandom", **size, "num": self.prefill, "seed": 7}
        return case_from_mapping(mapping, folder)

    def estimated_s(self, seconds: float) -> float:
        """Return the estimated time of the stage with the start of its programs."""
        return seconds + _START_S + (_PREFILL_S if self.prefill else 0.0)


_OPTIONS: Final = {
    "write_buffer_size": "8MiB", "target_file_size_base": "8MiB", "max_bytes_for_level_base": "32MiB",
    "max_bytes_for_level_multiplier": 6, "disable_wal": True, "use_direct_reads": True,
    "use_direct_io_for_flush_and_compaction": True,
}  # fmt: skip
"""Direct I/O: through the page cache RocksDB does not measure the drive's times."""
_SMALL_TREE: Final = {"write_buffer_size": "4MiB", "target_file_size_base": "4MiB", "max_bytes_for_level_base": "16MiB"}
_KEPT: Final = {"cache_size": "1GiB"}
"""A block cache that holds all blocks."""
_FILTERS: Final = {"bloom_bits": 10}


def _fill(value_size: int, num: str) -> dict[str, Any]:
    return {"base": "fillrandom", "value_size": value_size, "num": num}


def _get(num: int) -> dict[str, Any]:
    return {"base": "readrandom", "value_size": 200, "num": num}


_READ: Final = 500_000
"""Entries of the stores that are read."""
_CACHED: Final = 250_000
"""Entries of those whose blocks are all cached, after a second of reads from the drive."""

STAGES: Final = (
    Stage(
        name="puts_v100", tells="puts, flushes and compactions by entry", load=_fill(100, "5M"), seconds=18.0, quick=7.0
    ),
    Stage(
        name="puts_v1000_wal", tells="the same by byte, and the WAL", load=_fill(1000, "1M"), options={"disable_wal": False},
        seconds=18.0, quick=7.0,
    ),
    Stage(
        name="puts_v400_mem32", tells="puts into larger memtables", load=_fill(400, "2M"),
        options={"write_buffer_size": "32MiB", "max_bytes_for_level_base": "128MiB"}, seconds=15.0,
    ),
    Stage(
        name="puts_v400_t2", tells="two writers", load=_fill(400, "2M"), options={"disable_wal": False}, seconds=12.0,
        threads=2,
    ),
    Stage(
        name="puts_v100_wal", tells="the WAL by entry", load=_fill(100, "5M"), options={"disable_wal": False}, seconds=12.0
    ),
    Stage(
        name="puts_limited", tells="delayed writers", load=_fill(200, "3M"),
        options={**_SMALL_TREE, "rate_limiter_bytes_per_sec": "40MB/s"}, seconds=20.0,
    ),
    Stage(
        name="gets_cached", tells="gets of cached blocks", load=_get(_CACHED), options={**_SMALL_TREE, **_KEPT}, prefill=_CACHED,
        seconds=8.0, quick=4.0,
    ),
    Stage(
        name="gets_cached_filters", tells="gets through filters", load=_get(_CACHED),
        options={**_SMALL_TREE, **_KEPT, **_FILTERS}, prefill=_CACHED, seconds=8.0,
    ),
    Stage(
        name="gets_drive", tells="gets from the drive", load=_get(_READ), options={**_SMALL_TREE, **_FILTERS}, prefill=_READ,
        seconds=10.0, quick=4.0,
    ),
    Stage(
        name="gets_drive_t2", tells="two readers", load=_get(_READ), options={**_SMALL_TREE, **_FILTERS}, prefill=_READ,
        seconds=8.0, threads=2,
    ),
    Stage(
        name="gets_beside_puts", tells="gets beside puts",
        load={"base": "readwhilewriting", "value_size": 200, "num": _READ, "benchmark_write_rate_limit": "4MB/s"},
        options={**_SMALL_TREE, **_FILTERS}, prefill=_READ, seconds=12.0,
    ),
)  # fmt: skip


def chosen(driver: Driver, cores: int, *, quick: bool) -> list[tuple[Stage, float]]:
    """Return the stages that this driver and machine can run, with their seconds."""
    found = []
    for stage in STAGES:
        seconds = stage.quick if quick else stage.seconds
        if seconds is not None and stage.threads <= cores and (driver.reads_and_threads or _writes_alone(stage)):
            found.append((stage, seconds))
    return found


def _writes_alone(stage: Stage) -> bool:
    return stage.threads == 1 and stage.load["base"] == "fillrandom"

"""Single changes that an advice tries: options of RocksDB, the machine, and other policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from lsmlab.models.devices.make import device_class_of

OPTIONS: Final = "engine.options"
_MIB: Final = 1 << 20
_SIZES: Final = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": _MIB, "KiB": 1 << 10}
_LEAST_SIZE: Final = 1 << 16
"""Whole numbers from here on are sizes, not counts."""


class ChangeKind(Enum):
    """Kinds of changes."""

    OPTIONS = "options"
    """Options of RocksDB: an OPTIONS file contains them."""
    COMPRESSION = "compression"
    """Options whose effect depends on how well the data compress, which a store without compression does not show."""
    MACHINE = "machine"
    """Another drive, host or limit."""
    POLICIES = "policies"
    """Another engine, most of them from research."""


@dataclass(frozen=True, slots=True)
class CandidateChange:
    """Change with the mechanism by which it may help."""

    overrides: tuple[str, ...]
    why: str
    kind: ChangeKind = ChangeKind.OPTIONS

    @property
    def name(self) -> str:
        """Return a short name without the prefix of RocksDB's options."""
        return " ".join(text.removeprefix(f"{OPTIONS}.") for text in self.overrides)

    @property
    def keys(self) -> set[str]:
        """Return the keys that the change sets."""
        return {text.partition("=")[0] for text in self.overrides}


def name_of(parts: Sequence[CandidateChange]) -> str:
    """Return the name of changes that are made together."""
    return " + ".join(part.name for part in parts)


def candidates(options: Mapping[str, Any], config: Mapping[str, Any], cores: float) -> list[CandidateChange]:
    """Return the changes to try. `options`: options in force in the present state, by RocksDB's names."""
    found = [*_memtables(options), *_jobs(options, cores), *_triggers(options), *_levels(options), *_io(options)]
    found += [*_machine(config, cores), *_policies(str((config.get("engine") or {}).get("name", "")))]
    return list({candidate.overrides: candidate for candidate in found}.values())


def _set(why: str, **values: object) -> CandidateChange:
    return CandidateChange(tuple(f"{OPTIONS}.{name}={_text(value)}" for name, value in values.items()), why)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value >= _LEAST_SIZE:
        return next((f"{value // size}{unit}" for unit, size in _SIZES.items() if value % size == 0), str(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _memtables(o: Mapping[str, Any]) -> Iterator[CandidateChange]:
    size, count = int(o["write_buffer_size"]), int(o["max_write_buffer_number"])
    yield _set("fewer and larger flushes, fewer L0 files", write_buffer_size=2 * size)
    yield _set("fewer and larger flushes, fewer L0 files", write_buffer_size=4 * size)
    yield _set("shorter flushes and smaller L0 compactions", write_buffer_size=max(64 << 10, size // 2))
    yield _set("room for writes while flushes wait", max_write_buffer_number=count + 2)
    if count < 4:
        yield _set("slowdown before the last memtable is full", max_write_buffer_number=4)
    if count > 2:
        yield _set("merges memtables before the flush", min_write_buffer_number_to_merge=2)


def _jobs(o: Mapping[str, Any], cores: float) -> Iterator[CandidateChange]:
    jobs = int(o["max_background_jobs"])
    for count in sorted({2 * jobs, max(2, int(cores)), max(2, jobs // 2)} - {jobs}):
        yield _set("more compactions side by side" if count > jobs else "flushes share the drive with fewer compactions",
                   max_background_jobs=count)  # fmt: skip
    if int(o["max_subcompactions"]) < 4:
        yield _set("L0 compactions with several threads", max_subcompactions=4)


def _triggers(o: Mapping[str, Any]) -> Iterator[CandidateChange]:
    trigger = int(o["level0_file_num_compaction_trigger"])
    slow, stop = int(o["level0_slowdown_writes_trigger"]), int(o["level0_stop_writes_trigger"])
    soft, hard = (int(o[f"{n}_pending_compaction_bytes_limit"]) for n in ("soft", "hard"))
    yield _set("larger L0 compactions, fewer rewrites of the base level", level0_file_num_compaction_trigger=2 * trigger)
    if trigger > 2:
        yield _set("smaller L0 compactions", level0_file_num_compaction_trigger=max(2, trigger // 2))
    if slow > 0:
        yield _set("writers are slowed later", level0_slowdown_writes_trigger=2 * slow, level0_stop_writes_trigger=2 * stop)
    if soft > 0:
        yield _set("writers are slowed later", soft_pending_compaction_bytes_limit=4 * soft,
                   hard_pending_compaction_bytes_limit=4 * hard)  # fmt: skip
    yield _set("milder slowdowns", delayed_write_rate=f"{_text(2 * int(o['delayed_write_rate']))}/s")


def _levels(o: Mapping[str, Any]) -> Iterator[CandidateChange]:
    base, ratio = int(o["max_bytes_for_level_base"]), float(o["max_bytes_for_level_multiplier"])
    in_l0 = int(o["write_buffer_size"]) * int(o["level0_file_num_compaction_trigger"])
    yield _set("fewer rewrites between the upper levels", max_bytes_for_level_base=4 * base)
    if in_l0 != base:
        yield _set("base level as large as L0", max_bytes_for_level_base=in_l0)
    yield _set("fewer bytes per level, more levels", max_bytes_for_level_multiplier=max(2.0, ratio / 2))
    dynamic = bool(o["level_compaction_dynamic_level_bytes"])
    why = "fixed level targets" if dynamic else "level targets that follow the last level"
    yield _set(why, level_compaction_dynamic_level_bytes=not dynamic)
    yield _set("larger SST files", target_file_size_base=2 * int(o["target_file_size_base"]))
    if o["compaction_style"] == "kCompactionStyleLevel":
        yield _set("fewer rewrites, more space", compaction_style="kCompactionStyleUniversal")
    if o["compaction_pri"] != "kMinOverlappingRatio":
        yield _set("files that overlap least first", compaction_pri="kMinOverlappingRatio")


def _io(o: Mapping[str, Any]) -> Iterator[CandidateChange]:
    if o["compression"] == "kNoCompression":
        why = "fewer bytes for CPU time, if the data compress by half"
        yield CandidateChange((f"{OPTIONS}.compression=kLZ4Compression",), why, ChangeKind.COMPRESSION)
    if not o["bytes_per_sync"]:
        yield _set("files reach the drive while they are written", bytes_per_sync=_MIB)
    if not o["use_direct_io_for_flush_and_compaction"]:
        yield _set("writes past the page cache", use_direct_io_for_flush_and_compaction=True)
    if not o["enable_pipelined_write"]:
        yield _set("WAL and memtable writes overlap", enable_pipelined_write=True)


def _machine(config: Mapping[str, Any], cores: float) -> Iterator[CandidateChange]:
    better = {"hdd": ("sata", "nvme"), "sata": ("nvme",)}
    for device in better.get(device_class_of(config.get("device") or {}), ("samsung_pm1743",)):
        yield CandidateChange((f"device={device}",), "a faster drive", ChangeKind.MACHINE)
    limits = config.get("limits") or {}
    if any(limits.get(key) is not None for key in ("write_cap", "read_cap", "iops_cap")):
        yield CandidateChange(("limits=none",), "no cap", ChangeKind.MACHINE)
    yield CandidateChange((f"host.cores={_text(2 * cores)}",), "more cores", ChangeKind.MACHINE)


def _policies(present: str) -> Iterator[CandidateChange]:
    silk = "SILK: flushes and L0 compactions before other compactions"
    yield CandidateChange(("engine/scheduler=silk",), silk, ChangeKind.POLICIES)
    yield CandidateChange(("engine/tuner=adoc",), "ADOC: threads and memtables follow the load", ChangeKind.POLICIES)
    if present != "vlsm":
        yield CandidateChange(("engine=vlsm",), "vLSM: short compaction chains, with its own sizes", ChangeKind.POLICIES)

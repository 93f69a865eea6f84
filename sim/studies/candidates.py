"""Single changes that an advice tries: options of RocksDB, the machine, and other policies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from lsmlab.models.devices.make import device_class_of
from lsmlab.models.engines.make import DEFAULT_FAMILY, family_names
from lsmlab.models.options.fields import DATABASE_OPTIONS
from lsmlab.models.options.values import flatten, plain, read_value
from lsmlab.sim.explain.bottleneck import Bottleneck

OPTIONS: Final = "engine.options"
_FAMILIES: Final = "++engine.families."
"""Head of an override of a column family's option, which the configuration need not have yet."""
_MIB: Final = 1 << 20
_SIZES: Final = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": _MIB, "KiB": 1 << 10}
_LEAST_SIZE: Final = 1 << 16
"""Whole numbers from here on are sizes, not counts."""


_AT_START: Final = frozenset((
    "min_write_buffer_number_to_merge", "compaction_pri", "use_direct_io_for_flush_and_compaction", "enable_pipelined_write",
))  # fmt: skip
"""Options that RocksDB reads only when it opens a store; SetOptions and SetDBOptions change the others at once."""
AT_ONCE: Final = "SetOptions, no restart"
"""Effort of a change that takes effect at once."""
RELIEVING: Final[Mapping[str, tuple[str, ...]]] = {
    Bottleneck.DEVICE_BANDWIDTH: ("device",),
    Bottleneck.DEVICE_REQUESTS: ("device",),
    Bottleneck.SYNC: ("device",),
    Bottleneck.CORES: ("host.cores",),
    Bottleneck.SLOTS: (f"{OPTIONS}.max_background_jobs", f"{OPTIONS}.max_subcompactions"),
    Bottleneck.L0_COMPACTION: (f"{OPTIONS}.max_subcompactions",),
    Bottleneck.COMPACTION_SPEED: (f"{OPTIONS}.max_subcompactions",),
    Bottleneck.MEMTABLES: (f"{OPTIONS}.max_write_buffer_number",),
}
"""Keys that relieve a bottleneck."""
_STALLS: Final = {"memtables": "memtable", "l0": "l0", "pending": "pending"}
"""Kind of stall that a topic concerns."""
_WHERE: Final = {
    "memtables": "because all memtables were full", "l0": "because of too many L0 files", "pending": "because of compaction debt",
}  # fmt: skip


class ChangeKind(Enum):
    """Kinds of changes, the cheap ones first."""

    OPTIONS = "options"
    """Options of RocksDB that take effect at once or at the next start: an OPTIONS file contains them."""
    COMPRESSION = "compression"
    """Options whose effect depends on how well the data compress, which a store without compression does not show."""
    MIGRATION = "migration"
    """Options of RocksDB that reorganize the files of the store."""
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
    about: str = ""
    """What of the present state it concerns: a key of `condition`."""

    @property
    def effort(self) -> str:
        """Return what it takes to make the change, in words."""
        if self.kind in (ChangeKind.OPTIONS, ChangeKind.COMPRESSION):
            options = {key.rpartition(".")[2] for key in self.keys}
            fixed = sorted(options & _AT_START)
            effort = f"restart: only then does RocksDB read {' and '.join(fixed)}" if fixed else AT_ONCE
            return effort + ("; old files change when they are compacted" if self.kind is ChangeKind.COMPRESSION else "")
        if self.kind is ChangeKind.MIGRATION:
            return "restart and reorganization of all files (a full compaction)"
        if self.kind is ChangeKind.POLICIES:
            return "another storage engine, to which the data move" if "engine" in self.keys else "changed code of the engine"
        if self.keys == {"device"}:
            return "a new drive, to which the data move"
        return "a larger machine or limit; restart"

    @property
    def name(self) -> str:
        """Return a short name without the prefix of RocksDB's options; a column family's option begins with the family's key."""
        return " ".join(_short(text) for text in self.overrides)

    @property
    def keys(self) -> set[str]:
        """Return the keys that the change sets."""
        return {text.partition("=")[0] for text in self.overrides}


def _short(override: str) -> str:
    """Return an override without the path of its option.

    >>> _short("engine.options.num_levels=5"), _short("++engine.families.lock.options.num_levels=5")
    ('num_levels=5', 'lock.num_levels=5')
    """
    key, equals, value = override.partition("=")
    if key.startswith(_FAMILIES):
        return f"{key.removeprefix(_FAMILIES).replace('.options.', '.', 1)}{equals}{value}"
    return override.removeprefix(f"{OPTIONS}.")


def name_of(parts: Sequence[CandidateChange]) -> str:
    """Return the name of changes that are made together."""
    return " + ".join(part.name for part in parts)


def candidates(
    options: Mapping[str, Any], config: Mapping[str, Any], cores: float, stalled: str = ""
) -> list[CandidateChange]:
    """Return the changes to try.

    `options`: options in force in the present state, by RocksDB's names; `stalled`: the column family beside default whose
    stalls hold writers back; "" for none. Its own sizes and triggers come first.
    """
    found = list(_of_family(options, config, stalled))
    found += [*_memtables(options), *_jobs(options, cores), *_triggers(options), *_levels(options), *_io(options)]
    found += [*_machine(config, cores), *_policies(str((config.get("engine") or {}).get("name", "")))]
    return list({candidate.overrides: candidate for candidate in found}.values())


def _of_family(options: Mapping[str, Any], config: Mapping[str, Any], name: str) -> Iterator[CandidateChange]:
    """Yield the changes of memtables, triggers and levels of one column family, whose options are those of `engine.families`."""
    engine = config.get("engine") or {}
    key = next((key for key, own in family_names(engine).items() if own == name), None)
    if key is None:
        return
    given = flatten((engine["families"][key] or {}).get("options") or {})
    own = {**options, **{option: plain(read_value(option, value)) for option, value in given.items()}}
    for change in (*_memtables(own), *_triggers(own), *_levels(own)):
        names = [text.removeprefix(f"{OPTIONS}.") for text in change.overrides]
        if not {text.partition("=")[0] for text in names} & DATABASE_OPTIONS:
            texts = tuple(f"{_FAMILIES}{key}.options.{text}" for text in names)
            yield replace(change, overrides=texts, why=f"column family {name}: {change.why}")


def most_stalled(summary: Mapping[str, Any]) -> str:
    """Return the column family whose stalls are most in a run; "" if that is default, or the run has one family."""
    families = summary.get("column_families") or {}
    counts = {name: sum((family.get("stall_count") or {}).values()) for name, family in families.items()}
    worst = max(counts, key=lambda name: counts[name], default="")
    return worst if counts.get(worst) and worst != DEFAULT_FAMILY else ""


def promising(found: Sequence[CandidateChange], resource: str, count: int) -> list[CandidateChange]:
    """Return the `count` most promising changes: those that relieve the bottleneck `resource`, then one of each topic in turn."""
    keys = RELIEVING.get(resource, ())
    first = [change for change in found if change.keys & set(keys)]
    topics: dict[str, list[CandidateChange]] = {}
    for change in found:
        topics.setdefault(change.about, []).append(change)
    turns = [change for one in itertools.zip_longest(*topics.values()) for change in one if change is not None]
    return list(dict.fromkeys((*first, *turns)))[:count]


def condition(about: str, summary: Mapping[str, Any]) -> str:
    """Return what a run showed of the part of the store that a change concerns, in words.

    `about`: memtables, jobs, l0, pending, levels, io, compression, device, limits, cores or policies.
    """
    stalls, duration_s = summary.get("stall_seconds") or {}, float(summary.get("duration_s") or 0.0)
    if about in _STALLS and duration_s:
        shares = {kind: float(stalls.get(f"{_STALLS[about]}_{kind}") or 0.0) / duration_s for kind in ("stop", "slowdown")}
        return f"writers stood still {shares['stop']:.1%} of the time and were slowed {shares['slowdown']:.1%} {_WHERE[about]}"
    if about == "jobs":
        waits = ((summary.get("bottleneck") or {}).get("waits") or {}).get("slot")
        jobs = (summary.get("options") or {}).get("max_background_jobs")
        share = f"{waits:.0%} of their time" if waits else "hardly"
        return f"the jobs behind the stalls waited {share} for a slot of max_background_jobs={jobs}"
    if about == "levels" and summary.get("write_amplification") is not None:
        return f"each user byte was written {summary['write_amplification']:.2f} times"
    if about == "cores" and (cpu := summary.get("cpu")):
        return f"flushes and compactions kept {cpu['background_busy_cores']:.1f} of {cpu['cores']:g} cores busy"
    if about in ("io", "device", "limits", "compression") and (device := summary.get("device")):
        use = f"the device was busy {device['utilisation']:.0%} of the time" if device.get("utilisation") is not None else ""
        return f"{use}, with {device['write_bytes_per_s'] / 1e6:,.0f} MB/s of writes".removeprefix(", with ")
    return f"writers were stopped or slowed {float(summary.get('stall_fraction') or 0.0):.1%} of the time"


def _set(about: str, why: str, kind: ChangeKind = ChangeKind.OPTIONS, **values: object) -> CandidateChange:
    texts = tuple(f"{OPTIONS}.{name}={_text(value)}" for name, value in values.items())
    return CandidateChange(texts, why, kind, about)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value >= _LEAST_SIZE:
        return next((f"{value // size}{unit}" for unit, size in _SIZES.items() if value % size == 0), str(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _memtables(o: Mapping[str, Any]) -> Iterator[CandidateChange]:
    size, count = int(o["write_buffer_size"]), int(o["max_write_buffer_number"])
    yield _set("memtables", "fewer and larger flushes, fewer L0 files", write_buffer_size=2 * size)
    yield _set("memtables", "fewer and larger flushes, fewer L0 files", write_buffer_size=4 * size)
    yield _set("memtables", "shorter flushes and smaller L0 compactions", write_buffer_size=max(64 << 10, size // 2))
    yield _set("memtables", "room for writes while flushes wait", max_write_buffer_number=count + 2)
    if count < 4:
        yield _set("memtables", "slowdown before the last memtable is full", max_write_buffer_number=4)
    if count > 2:
        yield _set("memtables", "merges memtables before the flush", min_write_buffer_number_to_merge=2)


def _jobs(o: Mapping[str, Any], cores: float) -> Iterator[CandidateChange]:
    jobs = int(o["max_background_jobs"])
    for count in sorted({2 * jobs, max(2, int(cores)), max(2, jobs // 2)} - {jobs}):
        yield _set("jobs", "more compactions side by side" if count > jobs else "flushes share the drive with fewer compactions",
                   max_background_jobs=count)  # fmt: skip
    if int(o["max_subcompactions"]) < 4:
        yield _set("jobs", "L0 compactions with several threads", max_subcompactions=4)


def _triggers(o: Mapping[str, Any]) -> Iterator[CandidateChange]:
    trigger = int(o["level0_file_num_compaction_trigger"])
    slow, stop = int(o["level0_slowdown_writes_trigger"]), int(o["level0_stop_writes_trigger"])
    soft, hard = (int(o[f"{n}_pending_compaction_bytes_limit"]) for n in ("soft", "hard"))
    yield _set("l0", "larger L0 compactions, fewer rewrites of the base level", level0_file_num_compaction_trigger=2 * trigger)
    if trigger > 2:
        yield _set("l0", "smaller L0 compactions", level0_file_num_compaction_trigger=max(2, trigger // 2))
    if slow > 0:
        yield _set("l0", "writers are slowed later", level0_slowdown_writes_trigger=2 * slow, level0_stop_writes_trigger=2 * stop)
    if soft > 0:
        yield _set("pending", "writers are slowed later", soft_pending_compaction_bytes_limit=4 * soft,
                   hard_pending_compaction_bytes_limit=4 * hard)  # fmt: skip
    yield _set("l0", "milder slowdowns", delayed_write_rate=f"{_text(2 * int(o['delayed_write_rate']))}/s")


def _levels(o: Mapping[str, Any]) -> Iterator[CandidateChange]:
    base, ratio = int(o["max_bytes_for_level_base"]), float(o["max_bytes_for_level_multiplier"])
    in_l0 = int(o["write_buffer_size"]) * int(o["level0_file_num_compaction_trigger"])
    yield _set("levels", "fewer rewrites between the upper levels", max_bytes_for_level_base=4 * base)
    if in_l0 != base:
        yield _set("levels", "base level as large as L0", max_bytes_for_level_base=in_l0)
    yield _set("levels", "fewer bytes per level, more levels", max_bytes_for_level_multiplier=max(2.0, ratio / 2))
    dynamic = bool(o["level_compaction_dynamic_level_bytes"])
    why = "fixed level targets" if dynamic else "level targets that follow the last level"
    yield _set("levels", why, ChangeKind.MIGRATION, level_compaction_dynamic_level_bytes=not dynamic)
    yield _set("levels", "larger SST files", target_file_size_base=2 * int(o["target_file_size_base"]))
    if o["compaction_style"] == "kCompactionStyleLevel":
        yield _set("levels", "fewer rewrites, more space", ChangeKind.MIGRATION, compaction_style="kCompactionStyleUniversal")
    if o["compaction_pri"] != "kMinOverlappingRatio":
        yield _set("levels", "files that overlap least first", compaction_pri="kMinOverlappingRatio")


def _io(o: Mapping[str, Any]) -> Iterator[CandidateChange]:
    if o["compression"] == "kNoCompression":
        why = "fewer bytes for CPU time, if the data compress by half"
        yield CandidateChange((f"{OPTIONS}.compression=kLZ4Compression",), why, ChangeKind.COMPRESSION, "compression")
    if not o["bytes_per_sync"]:
        yield _set("io", "files reach the drive while they are written", bytes_per_sync=_MIB)
    if not o["use_direct_io_for_flush_and_compaction"]:
        yield _set("io", "writes past the page cache", use_direct_io_for_flush_and_compaction=True)
    if not o["enable_pipelined_write"]:
        yield _set("io", "WAL and memtable writes overlap", enable_pipelined_write=True)


def _machine(config: Mapping[str, Any], cores: float) -> Iterator[CandidateChange]:
    better = {"hdd": ("sata", "nvme"), "sata": ("nvme",)}
    for device in better.get(device_class_of(config.get("device") or {}), ("samsung_pm1743",)):
        yield CandidateChange((f"device={device}",), "a faster drive", ChangeKind.MACHINE, "device")
    limits = config.get("limits") or {}
    if any(limits.get(key) is not None for key in ("write_cap", "read_cap", "iops_cap")):
        yield CandidateChange(("limits=none",), "no cap", ChangeKind.MACHINE, "limits")
    yield CandidateChange((f"host.cores={_text(2 * cores)}",), "more cores", ChangeKind.MACHINE, "cores")


def _policies(present: str) -> Iterator[CandidateChange]:
    found = {
        "engine/scheduler=silk": "SILK: flushes and L0 compactions before other compactions",
        "engine/tuner=adoc": "ADOC: threads and memtables follow the load",
    }
    if present != "vlsm":
        found["engine=vlsm"] = "vLSM: short compaction chains, with its own sizes"
    for override, why in found.items():
        yield CandidateChange((override,), why, ChangeKind.POLICIES, "policies")

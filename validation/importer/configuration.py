"""Store, machine, limits and load inferred from a LOG, as keys of the configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.costs.host import Host
from lsmlab.models.engines.make import DEFAULT_FAMILY
from lsmlab.models.options.options import OLDEST
from lsmlab.models.options.options_file import differing_options
from lsmlab.models.options.values import plain
from lsmlab.models.units import format_bytes
from lsmlab.models.version import Version
from lsmlab.sim.configuration.compose import NOT_GIVEN
from lsmlab.sim.yaml_text import to_yaml
from lsmlab.validation.calibrate.parameter_file import SetText
from lsmlab.validation.importer.clients import idle_clients
from lsmlab.validation.importer.device import ROTATING_S
from lsmlab.validation.importer.estimates import Estimate, Estimates, Observation, wal_is_used
from lsmlab.validation.importer.load import load_of
from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.importer.workload import InferredWorkload
from lsmlab.validation.logs.statistics_tables import ingested

NAME: Final = "imported"
"""Name of the experiment that offers the load which the store accepted."""
FULL_SPEED: Final = "imported_full_speed"
"""Name of the experiment with the same mix of operations, issued as fast as the store allows."""
_MOST_FAMILIES: Final = 99
"""Column families beside default that a configuration may have."""
_HELD_BACK: Final = 0.05
"""Share of time in stalls above which the accepted load may be smaller than the load that clients wanted to write."""
DRIVES: Final = {"nvme": "an NVMe drive", "sata": "a SATA SSD", "hdd": "a hard disk"}
"""Kinds of drives whose bandwidth and fsync latency can be inferred from a LOG; entries of configs/device. The
bandwidth of persistent memory depends on the number of threads there, so a fast NVMe drive represents it better."""
_CAPS: Final = {
    "device.write_limit": "write_cap", "device.read_limit": "read_cap", "device.iops_limit": "iops_cap",
}  # fmt: skip
"""Keys of the group `limits` by estimate."""
_CONSTANTS: Final = (
    "write_bandwidth", "read_bandwidth", "write_latency", "read_latency", "fsync_latency", "wal_fsync_latency",
    "slc_write_bandwidth", "slc_cache", "slc_idle",
)  # fmt: skip
"""Constants of the device that an estimate may give."""
_CACHE: Final = 2.0
"""Assumed page cache with buffered reads, as a multiple of the size of the store."""


@dataclass(frozen=True)
class Inferred:
    """Inferred store, machine and load, as keys of the configuration."""

    device_base: str
    """Entry of configs/device that gives the device properties which the LOG does not have."""
    engine: Mapping[str, Any]
    device: Mapping[str, Any]
    """Keys of the device group besides the constants of `parameters`: write cap (a limit) and page cache."""
    parameters: SetText
    """Parameter set: constants of host and of the device `NAME`, with standard errors."""
    load: Mapping[str, Any]
    """Entry sizes, keys, mix of operations and clients, without a schedule."""
    notes: Sequence[str]
    """Assumptions, one sentence each."""


def infer(reading: Reading, workload: InferredWorkload, rates: Estimates, kind: str | None = None) -> Inferred:
    """Infer the configuration from the files, with assumptions for the rest.

    `kind`: kind of drive, one of `DRIVES`, if known.
    """
    notes: list[str] = []
    commit = rates.get("device.fsync_latency")
    base = kind or ("hdd" if commit is not None and commit.value >= ROTATING_S else "nvme")
    if base == "hdd":
        rates = rates.without("device.slc_")
    engine = _engine(reading, rates, notes)
    ratio = workload.families.get(DEFAULT_FAMILY, workload).compression_ratio
    if ratio is not None:
        engine["compression_ratio"] = _ratio(ratio)
    families = _families(reading, workload, notes)
    if families:
        engine["families"] = families
    device = _device(reading, rates, base, notes)
    load = load_of(workload, notes)
    notes += _ingestion(reading)
    stalled = reading.summary.get("stall_fraction") or 0.0
    if stalled >= _HELD_BACK:
        notes.append(
            f"workload: stalls delayed writers {stalled:.0%} of the time: experiment={NAME} offers the load that the store "
            f"accepted, which may be less than the clients wanted to write; experiment={FULL_SPEED} writes at full speed"
        )
    gaps_s = [part.gap_us / 1e6 for part in reading.log.parts if part.gap_us]
    if gaps_s:
        notes.append(
            f"workload: {len(gaps_s)} {'gap' if len(gaps_s) == 1 else 'gaps'} between LOG files are left out "
            f"({sum(gaps_s):,.0f} s): the simulation goes on with the next file as if no time had passed"
        )
    cores = rates.get("host.cores")
    if cores is not None:
        notes.append(f"host.cores: {cores.value:g}, as jobs waited for each other while they computed")
    elif not any(one.name == "host.cores" for one in rates.alternative):
        notes.append("host.cores: the LOG does not contain the number of cores; that of host=default is assumed")
    return Inferred(base, engine, device, _parameters(reading, rates, base), load, notes)


def _ingestion(reading: Reading) -> list[str]:
    """Return a note on the files that the application ingested, by events or by the statistics; none without such files."""
    by_events = sum(job.output_files for job in reading.jobs.done("ingestion"))
    files = by_events or reading.summary.get("ingested_files")
    if not files:
        return []
    size, keys = (0.0 if by_events else ingested(reading.log, name) for name in ("bytes", "keys"))
    parts = [*([format_bytes(size)] if size else []), *([f"{keys:,.0f} keys"] if keys else [])]
    amount = f" ({', '.join(parts)})" if parts else ""
    unknown = "when they came" if keys else "their keys"
    return [
        f"load: the application ingested {files:,} files{amount}, which are not part of it; the LOG does not tell {unknown} "
        "(workload.actions ingests files)"
    ]


def limited_by_store(observation: Observation) -> bool:
    """Whether clients wrote as fast as the store allowed: it stalled them, and outside stalls they were not idle."""
    return observation.stalled_share >= _HELD_BACK and not idle_clients(observation)


def _engine(reading: Reading, rates: Estimates, notes: list[str]) -> dict[str, Any]:
    first = reading.family_options.get(DEFAULT_FAMILY, reading.options)
    option_values = first.overrides if first is not None else {}
    options = _nested({name: plain(value) for name, value in option_values.items()})
    if wal_is_used(reading) is False:
        options["disable_wal"] = True
        notes.append("engine.options.disable_wal: the LOG's statistics show no bytes in the WAL")
    limit = rates.get("device.write_limit")
    if reading.rate_limiter_unknown and limit is not None:
        options["rate_limiter_bytes_per_sec"] = round(limit.value)
        notes.append(f"engine.options.rate_limiter_bytes_per_sec: {_amount(limit)}, the limit that writes reached")
    elif reading.rate_limiter_unknown:
        notes.append("engine.options.rate_limiter_bytes_per_sec: the store has a rate limiter of unknown rate")
    options |= _blob_options(reading, notes)
    engine: dict[str, Any] = {"options": options}
    version = _version(reading, notes)
    if version is not None:
        engine = {"version": str(version), **engine}
    if reading.options is not None:
        engine["options_file"] = str(
            reading.options.source if reading.options.source != "options text" else reading.path
        )
    if reading.not_simulated:
        engine["not_simulated"] = [option.assignment for option in reading.not_simulated]
    return engine


def _blob_options(reading: Reading, notes: list[str]) -> dict[str, Any]:
    """Return the options of a store whose statistics or jobs show blob files, but whose files have no options of them.

    Which values are in blob files, and whether garbage is collected, must then be given. Compactions read blobs only to collect
    garbage (`CompactionIterator::GarbageCollectBlobIfNeeded`).
    """
    blobs = reading.summary.get("blobs")
    if not blobs or any("enable_blob_files" in options.overrides for options in reading.family_options.values()):
        return {}
    collects = bool(blobs["compaction_read_bytes"])
    found = {
        "enable_blob_files": True, "min_blob_size": NOT_GIVEN,
        "enable_blob_garbage_collection": True if collects else NOT_GIVEN,
    }  # fmt: skip
    asked = " and ".join(f"engine.options.{name}" for name, value in found.items() if value == NOT_GIVEN)
    notes.append(
        f"engine.options.enable_blob_files: the store has blob files{' and collects their garbage' if collects else ''}, but the "
        f"input has no options of them; set {asked}; the other options of blob files are RocksDB's defaults"
    )
    return found


def _families(reading: Reading, workload: InferredWorkload, notes: list[str]) -> dict[str, Any]:
    """Return `engine.families`: the options in which the other column families differ from default."""
    others = [name for name in reading.families if name != DEFAULT_FAMILY]
    if len(others) > _MOST_FAMILIES:
        notes.append(f"engine.families: of {len(others)} column families only those with load are simulated")
        others = [name for name in others if name in workload.families]
    first = reading.family_options.get(DEFAULT_FAMILY)
    families: dict[str, Any] = {}
    for name in others:
        options = reading.family_options.get(name)
        changes = _nested(differing_options(first, options)) if first is not None and options is not None else {}
        families[name] = {"options": changes} if changes else {}
        ratio = workload.families[name].compression_ratio if name in workload.families else None
        if ratio is not None:
            families[name]["compression_ratio"] = _ratio(ratio)
    loaded = list(workload.families) or [DEFAULT_FAMILY]
    idle = [name for name in reading.families if name not in loaded]
    if families and idle:
        notes.append(f"workload.families: the LOG has no flush of {', '.join(idle[:8])}; no load is simulated there")
    return families


def _ratio(compressed_by_raw: float) -> float:
    """Return a compression ratio as a configuration takes it."""
    return round(min(1.0, max(0.01, compressed_by_raw)), 4)


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Convert names with dots to nested mappings."""
    result: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        place = result
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return result


def _version(reading: Reading, notes: list[str]) -> Version | None:
    found = reading.version
    if found is None:
        notes.append("engine.version: the files do not contain it; the rules of the default version apply")
    elif found < OLDEST:
        notes.append(f"engine.version: RocksDB {found} is not modelled; the rules of the oldest release, {OLDEST}, apply")
        found = OLDEST
    return found


def _device(reading: Reading, rates: Estimates, base: str, notes: list[str]) -> dict[str, Any]:
    device: dict[str, Any] = {}
    written, caps = rates.get("device.write_bandwidth"), caps_of(rates.estimates, reading)
    known = written is not None and written.kind == "estimate"
    drive = DRIVES[base]
    for key, cap in caps.items():
        device[key] = round(cap.value)
        notes.append(f"limits.{key}: {_amount(cap)}, the limit that jobs reached")
    if caps:
        return device | _page_cache(reading, notes)
    cached = rates.get("device.slc_write_bandwidth")
    if known and written is not None and cached is not None:
        notes.append(f"device: {drive} that writes {_amount(cached)} into an SLC cache and {_amount(written)} when that is full")
    elif known and written is not None:
        notes.append(f"device: {drive} that writes {_amount(written)}; other properties are those of device={base}")
    elif written is not None:
        least = f"{written.value / 1e6:,.0f} MB/s or more"
        notes.append(f"device: {drive} (device={base}); the LOG shows only that the real drive writes {least}")
    return device | _page_cache(reading, notes)


def _page_cache(reading: Reading, notes: list[str]) -> dict[str, Any]:
    """Return the page cache of a store that reads through it, as keys of the device group."""
    largest = max((row["bytes"] or 0 for row in reading.summary["levels"]), default=0) * 10 // 9
    live = reading.summary.get("live_bytes") or largest
    if reading.option("use_direct_reads") or not live:
        return {}
    notes.append("device.page_cache: reads are buffered; a page cache of twice the size of the store is assumed")
    return {"page_cache": math.ceil(_CACHE * live / 2**30) * 2**30}


def caps_of(estimates: Sequence[Estimate], reading: Reading) -> dict[str, Estimate]:
    """Return the caps of the device by key of the group `limits`. A cap on writes may be that of a rate limiter."""
    limiter = reading.rate_limiter_unknown
    names = {name: key for name, key in _CAPS.items() if not (limiter and name == "device.write_limit")}
    return {names[estimate.name]: estimate for estimate in estimates if estimate.name in names}


def _amount(estimate: Estimate) -> str:
    scale, unit = (1.0, "operations/s") if estimate.unit == "1/s" else (1e6, "MB/s")
    error = f" ± {estimate.standard_error / scale:,.1f}" if estimate.standard_error else ""
    return f"{estimate.value / scale:,.1f}{error} {unit}"


def _parameters(reading: Reading, rates: Estimates, base: str) -> SetText:
    host, host_errors = _constants(rates, "host.")
    device, device_errors = _constants(rates, "device.", _CONSTANTS)
    sources = {estimate.name: estimate.basis for estimate in rates.estimates}
    if base == "hdd" and "write_bandwidth" in device and "read_bandwidth" not in device:
        device["read_bandwidth"] = device["write_bandwidth"]
        sources[f"{NAME}.read_bandwidth"] = "assumption: equal to write_bandwidth"
    head = {"version": 1, "description": f"the machine that wrote {reading.path.name}"}
    return SetText(
        about=("Written by: lsmlab import",),
        head=to_yaml(head, width=1000, unicode=True).splitlines(),
        host=host, devices={NAME: device} if device else {}, host_errors=host_errors,
        device_errors={NAME: device_errors} if device_errors else {},
        errors_from="from the spread between jobs or periods of this LOG; none for constants without such a spread",
        sources=sources, alternative=_alternative(reading, rates, device),
        alternative_from="limits that the LOG does not exclude, as [found, instead]",
    )  # fmt: skip


def _alternative(
    reading: Reading, rates: Estimates, device: Mapping[str, float]
) -> dict[str, tuple[float | None, float | None]]:
    """Return limits and cores according to the next hypothesis: value now and instead, by key of limits, device or host."""
    cores, other = rates.get("host.cores"), next((one for one in rates.alternative if one.name == "host.cores"), None)
    found: dict[str, tuple[float | None, float | None]] = {}
    if other is not None:
        found["host.cores"] = (Host().cores if cores is None else cores.value, other.value)
    limits = [one for one in rates.alternative if one is not other]
    if not limits or reading.rate_limiter_unknown:
        return found
    now = {key: float(round(cap.value)) for key, cap in caps_of(rates.estimates, reading).items()}
    instead = {key: float(round(cap.value)) for key, cap in caps_of(limits, reading).items()}
    found |= {f"limits.{key}": (now.get(key), instead.get(key)) for key in _CAPS.values() if key in now or key in instead}
    constants, _ = _constants(Estimates(tuple(limits)), "device.", _CONSTANTS)
    return found | {f"device.{key}": (device.get(key), value) for key, value in constants.items() if key in device}


def _constants(
    rates: Estimates, group: str, names: Sequence[str] = ()
) -> tuple[dict[str, float], dict[str, float]]:
    """Return values and standard errors of a group's estimates, all or those in `names`, without lower bounds."""
    values: dict[str, float] = {}
    errors: dict[str, float] = {}
    for estimate in rates.estimates:
        name = estimate.name.removeprefix(group)
        if name == estimate.name or (names and name not in names) or estimate.kind == "lower_bound":
            continue
        values[name] = float(f"{estimate.value:.4g}")
        if estimate.standard_error:
            errors[name] = float(f"{estimate.standard_error:.4g}")
    return values, errors

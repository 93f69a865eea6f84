"""A configuration that `lsmlab run` accepts, from what a log shows: an experiment, a parameter set and a trace of the load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final

from lsmlab.models.version import Version
from lsmlab.validation.importer.rates import Estimate, InferredRates
from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.importer.tables import log_is_used
from lsmlab.validation.importer.workload import InferredWorkload

NAME: Final = "imported"
_OLDEST: Final = Version(5, 7)
_MARGIN: Final = 1.1
"""Room in the key space for keys that the log's writes did not reach."""
_FEWEST_KEYS: Final = 1000
_HELD_BACK: Final = 0.05
"""Share of time in stalls from which the load that a log shows is not the load that clients wanted."""
_CACHE: Final = 2.0
"""Buffered reads: a page cache of so many times the largest size of the store is assumed."""


def write_configuration(
    reading: Reading, workload: InferredWorkload, rates: InferredRates, directory: Path, final: Path
) -> list[str]:
    """Write experiment/imported.yaml, parameters/imported.yaml and trace.csv into `directory`; returns what was assumed.

    `final` is the folder that the files will lie in: the experiment names its trace by it.
    """
    import yaml

    notes: list[str] = []
    for folder in ("experiment", "parameters"):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    parameters = _parameters(reading, rates)
    (directory / "parameters" / f"{NAME}.yaml").write_text(
        f"# Costs of the machine that wrote {reading.path.name}, fitted to the jobs in it.\n"
        + yaml.safe_dump(parameters, sort_keys=False, allow_unicode=True, width=120),
        encoding="utf-8",
    )
    load = _workload(workload, final, notes)
    held_back = reading.summary.get("stall_fraction") or 0.0
    if held_back >= _HELD_BACK:
        notes.append(
            f"workload: writers were held back {held_back:.0%} of the time: the trace is what the store took, they may have "
            "wanted more; raise workload.scale, or choose a closed-loop workload"
        )
    if "file" in load:
        rows = "".join(f"{t:.3f},{n:.3f}\n" for t, n in zip(workload.seconds, _operations(workload), strict=True))
        (directory / "trace.csv").write_text(f"seconds,operations\n{rows}", encoding="utf-8")
    sections = {
        "engine": _engine(reading, notes),
        "device": _device(reading, rates, notes),
        "host": {"parameters": NAME},
        "workload": load,
    }
    text = _experiment(reading, sections, notes, entry="trace" if "file" in load else "constant")
    (directory / "experiment" / f"{NAME}.yaml").write_text(text, encoding="utf-8")
    return notes


def _experiment(reading: Reading, sections: Mapping[str, Any], notes: Sequence[str], entry: str) -> str:
    import yaml

    lines = [
        "# @package _global_",
        f"# What {reading.path.name} shows of its store, machine and load, by lsmlab import.",
    ]
    lines += [f"# {note}" for note in notes]
    lines += [
        "defaults:", "  - override /engine: rocksdb", "  - override /device: nvme", "  - override /host: default",
        f"  - override /workload: {entry}", "", f"description: imported from {reading.path.name}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n" + yaml.safe_dump(dict(sections), sort_keys=False, allow_unicode=True, width=120)


def _engine(reading: Reading, notes: list[str]) -> dict[str, Any]:
    told = reading.options.overrides if reading.options is not None else {}
    options = _nested({name: plain(value) for name, value in told.items()})
    if log_is_used(reading) is False:
        options["disable_wal"] = True
        notes.append("engine.options.disable_wal: the log's statistics show no bytes in the write-ahead log")
    engine: dict[str, Any] = {"options": options}
    version = _version(reading, notes)
    if version is not None:
        engine = {"version": str(version), **engine}
    if reading.options is not None:
        engine["options_file"] = str(
            reading.options.source if reading.options.source != "options text" else reading.path
        )
    if reading.options is not None and reading.options.rate_limited:
        limit = options.get("rate_limiter_bytes_per_sec")
        if not limit:
            notes.append(
                "engine.options.rate_limiter_bytes_per_sec: the store has a rate limiter whose rate no file tells"
            )
    return engine


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Names with dots as mappings in mappings."""
    result: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        place = result
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return result


def _version(reading: Reading, notes: list[str]) -> Version | None:
    found = reading.options.version if reading.options is not None else None
    if found is None and reading.log.version:
        try:
            found = Version.parse(reading.log.version)
        except ValueError:
            found = None
    if found is None:
        notes.append("engine.version: the files do not tell it; the default's rules apply")
    elif found < _OLDEST:
        notes.append(f"engine.version: RocksDB {found} is older than the oldest rules known, {_OLDEST}; these apply")
        found = _OLDEST
    return found


def _device(reading: Reading, rates: InferredRates, notes: list[str]) -> dict[str, Any]:
    device: dict[str, Any] = {}
    written = rates.get("device.write_bandwidth")
    if written is not None and rates.write_limited:
        device["write_cap"] = round(written.value)
        notes.append(f"device.write_cap: {_amount(written)}, the limit that writes ran against")
    elif written is not None:
        least = f"{written.value / 1e6:,.0f} MB/s or more"
        notes.append(f"device: an NVMe drive of the catalogue; the log shows only that the real one can write {least}")
    if not reading.option("use_direct_reads"):
        largest = max((row["bytes"] or 0 for row in reading.summary["levels"]), default=0) * 10 // 9
        live = reading.summary.get("live_bytes") or largest
        if live:
            device["page_cache"] = math.ceil(_CACHE * live / 2**30) * 2**30
            notes.append("device.page_cache: reads are buffered; memory for twice the store is assumed")
    return device


def _amount(estimate: Estimate) -> str:
    error = f" ± {estimate.standard_error / 1e6:,.1f}" if estimate.standard_error else ""
    return f"{estimate.value / 1e6:,.1f}{error} MB/s"


def _parameters(reading: Reading, rates: InferredRates) -> dict[str, Any]:
    host = {
        e.name.removeprefix("host."): float(f"{e.value:.6g}") for e in rates.estimates if e.name.startswith("host.")
    }
    errors = {
        e.name.removeprefix("host."): float(f"{e.standard_error:.6g}")
        for e in rates.estimates
        if e.name.startswith("host.") and e.standard_error
    }
    return {
        "version": 1,
        "description": f"the machine that wrote {reading.path.name}",
        "provenance": "; ".join(f"{e.name}: {e.basis}" for e in rates.estimates if e.name.startswith("host."))
        or "nothing fitted",
        "host": host,
        "devices": {},
        "standard_errors": {"host": errors, "devices": {}},
    }


def _operations(workload: InferredWorkload) -> list[float]:
    ends = [*workload.seconds[1:], workload.until_s]
    return [rate * (b - a) for rate, a, b in zip(workload.rate_per_s, workload.seconds, ends, strict=True)]


def _workload(workload: InferredWorkload, final: Path, notes: list[str]) -> dict[str, Any]:
    load: dict[str, Any] = {}
    if len(workload.seconds) >= 2:
        load |= {"file": str(final / "trace.csv"), "loop": False, "duration": round(workload.until_s, 3)}
    else:
        notes.append(
            "workload: the log does not tell how many writes came when; set workload.rate and workload.duration"
        )
    if workload.key_bytes is not None and workload.value_bytes is not None:
        load |= {"key_size": round(workload.key_bytes, 2), "value_size": round(workload.value_bytes, 2)}
    else:
        notes.append(
            "workload: the log does not tell how large entries are; set workload.key_size and workload.value_size"
        )
    load |= _mix(workload)
    load |= _key_space(workload)
    if workload.threads is not None:
        load["threads"] = max(1, workload.threads)
    if not workload.reads and workload.writes:
        notes.append("workload: a LOG without RocksDB's tickers does not tell reads; none are simulated")
    return load


def _mix(workload: InferredWorkload) -> dict[str, float]:
    writes = 1.0 - workload.delete_share
    mix = {"read": 0.0, "update": 0.0, "insert": 0.0, "delete": round(workload.delete_share, 6)}
    mix["insert" if workload.pattern.startswith("insert") else "update"] = round(writes, 6)
    if workload.reads and workload.writes:
        mix["read"] = round(workload.reads / workload.writes, 6)
    return mix


def _key_space(workload: InferredWorkload) -> dict[str, Any]:
    if workload.pattern.startswith("insert"):
        total = workload.entries_before + workload.writes * _MARGIN
        order = "ordered" if workload.pattern == "insert_ordered" else "hashed"
        share = round(min(1.0, workload.entries_before / total), 6) if total else 0.0
        return {"num": max(_FEWEST_KEYS, round(total)), "preload": share, "insert_keys": order}
    if workload.pattern == "skewed" and workload.zipf_constant is not None:
        keys = max(workload.stored_keys, workload.entries_before)
        return {
            "num": max(_FEWEST_KEYS, round(keys)), "preload": float(workload.entries_before > 0),
            "distribution": "scrambled_zipfian", "zipfian_constant": round(workload.zipf_constant, 3),
        }  # fmt: skip
    keys = workload.keys or max(workload.writes, workload.entries_before, _FEWEST_KEYS)
    return {
        "num": max(_FEWEST_KEYS, round(keys)),
        "preload": float(workload.entries_before >= 0.5 * keys),
        "distribution": "uniform",
    }


def plain(value: Any) -> Any:
    """An option's value as YAML knows it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value

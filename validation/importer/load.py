"""Inferred load as keys of the workload group: entry sizes, keys, mix of operations, clients, schedule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lsmlab.validation.importer.families import as_overwrites
from lsmlab.validation.importer.workload import InferredWorkload

_MARGIN: Final = 1.1
"""Room for inserts in the key space, as a multiple of the LOG's writes."""
_FEWEST_KEYS: Final = 1000


def trace_text(workload: InferredWorkload) -> str:
    """Return the text of the trace of the load; empty if the LOG does not show the rate of writes."""
    if len(workload.seconds) < 2:
        return ""
    ends = [*workload.seconds[1:], workload.until_s]
    intervals = zip(workload.rate_per_s, workload.seconds, ends, strict=True)
    return "seconds,operations\n" + "".join(f"{a:.3f},{rate * (b - a):.3f}\n" for rate, a, b in intervals)


def schedule(workload: InferredWorkload, trace: Path | None) -> tuple[str, dict[str, Any]]:
    """Return the entry of configs/workload that repeats the load which the store accepted, and the entry's own keys.

    `trace`: file with the text of the trace; None: the keys contain the text.
    """
    if len(workload.seconds) < 2:
        return "constant", {}
    source = {"file": "", "rows": trace_text(workload)} if trace is None else {"file": str(trace)}
    return "trace", {**source, "loop": False, "duration": round(workload.until_s, 3)}


def full_speed(workload: InferredWorkload) -> tuple[str, dict[str, Any]]:
    """Return the entry of configs/workload with clients at full speed for as long as the LOG's, and the entry's own keys.

    A number of operations would end a faster alternative early, before its compactions have caught up with its writes.
    """
    if len(workload.seconds) >= 2:
        return "full_speed", {"duration": round(workload.until_s, 3)}
    return "full_speed", {"operations": round(workload.writes + workload.reads)} if workload.writes >= 1.0 else {}


def load_of(workload: InferredWorkload, notes: list[str]) -> dict[str, Any]:
    """Return the workload keys of both experiments: entry sizes, keys, mix, clients. Add assumptions to `notes`."""
    load: dict[str, Any] = {}
    if len(workload.seconds) < 2:
        notes.append(
            "workload: the LOG does not contain the rate of writes; set workload.rate and workload.duration"
        )
    if workload.key_bytes is not None and workload.value_bytes is not None:
        load |= {"key_size": round(workload.key_bytes, 2), "value_size": round(workload.value_bytes, 2)}
    else:
        notes.append(
            "workload: the LOG does not contain the size of entries; set workload.key_size and workload.value_size"
        )
    load |= _mix(workload)
    load |= _key_space(workload)
    if workload.families:
        load["families"] = _families(workload, load, notes)
    if workload.synced:
        load["sync"] = True
    if workload.threads is not None:
        load["threads"] = max(1, workload.threads)
    if not workload.reads and workload.writes:
        notes.append("workload: without RocksDB's tickers the LOG has no number of reads; none are simulated")
    return load


def _families(workload: InferredWorkload, load: Mapping[str, Any], notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return `workload.families`: shares of the writes, sizes and numbers of keys of the families in the LOG."""
    writes = sum(part.writes for part in workload.families.values()) or 1.0
    loads: dict[str, dict[str, Any]] = {}
    for name, part in workload.families.items():
        keys = loads[name] = {"writes": round(part.writes / writes, 6) if part.writes else 1.0}
        if part.key_bytes is not None and part.value_bytes is not None:
            keys |= {"key_size": round(part.key_bytes, 2), "value_size": round(part.value_bytes, 2)}
        if part.short_lived:
            keys["short_lived"] = True
        elif len(workload.families) > 1:
            alike = part.pattern.startswith("insert") == workload.pattern.startswith("insert")
            space = _key_space(part if alike else as_overwrites(part))
            keys["num"] = space["num"]
            if bool(space["preload"]) != bool(load["preload"]):
                notes.append(
                    f"workload.families.{name}: keys that exist at the start are simulated with the share of the whole workload, "
                    f"{load['preload']:g}; the LOG shows {space['preload']:g} for this family"
                )
    if workload.reads:
        notes.append("workload.families: the LOG has no reads by family; they are divided in proportion to the writes")
    return loads


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

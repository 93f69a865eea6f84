"""Load of a database: inferred for each column family and put together, and as keys of the workload group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.engines.make import DEFAULT_FAMILY
from lsmlab.models.tree.memtable import encoded_entry_bytes
from lsmlab.sim.configuration.compose import NOT_GIVEN
from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.importer.workload import InferredWorkload, client_threads, infer_workload, point_reads, set_rate
from lsmlab.validation.logs.history.jobs import LogJobs

_HALF: Final = (0.45, 0.55)
"""Share of deletes among the entries of a family whose keys are short-lived."""
_TOMBSTONES: Final = 0.9
"""Share of tombstones in the flushed files of such a family: nearly every put was deleted within its memtable."""
_NEW_KEYS: Final = 20.0
"""Keys per write of a family that only inserts, if other families overwrite: 2.5 % of its writes then meet an old key."""
_SAME_DELETES: Final = 0.05
"""Difference between the delete shares of families from which on a note names it."""
_MARGIN: Final = 1.1
"""Room for inserts in the key space, as a multiple of the LOG's writes."""
_FEWEST_KEYS: Final = 1000


def infer_database(reading: Reading) -> InferredWorkload:
    """Infer the load of all column families; `families` of the result is empty if all load is on the default family."""
    loaded = [name for name in reading.families if _was_flushed(reading, name)] or [reading.busiest_family]
    if len(loaded) > 1:
        parts = {name: _infer_family(family_reading(reading, name), name) for name in loaded}
        return _combine(reading, _extend_to_last_switch(parts))
    workload = infer_workload(reading)
    return workload if loaded == [DEFAULT_FAMILY] else replace(workload, families={loaded[0]: workload})


def family_reading(reading: Reading, name: str) -> Reading:
    """Return a reading with the jobs and files of one column family.

    Statistics of the whole database are left out, and the number of files at the open is unknown unless it was 0.
    """
    jobs = [job for job in reading.jobs.jobs if job.column_family == name]
    numbers = {number for job in jobs for files in job.inputs.values() for number in files}
    numbers |= {file.number for job in jobs for file in job.outputs}
    files = {number: file for number, file in reading.jobs.files.items() if number in numbers}
    openings = [replace(opening, sst_files=0 if opening.sst_files == 0 else None) for opening in reading.log.openings]
    log = replace(reading.log, openings=openings, dumps=[], statistics=[], bench_setup={})
    options = reading.family_options.get(name, reading.options)
    return replace(reading, log=log, jobs=LogJobs(jobs, files, [name]), options=options, report=None, notes=[])


def _was_flushed(reading: Reading, name: str) -> bool:
    return any(job.entries_in for job in reading.jobs.done("flush") if job.column_family == name)


def _infer_family(reading: Reading, name: str) -> InferredWorkload:
    """Infer the load of one column family from its own reading; its notes begin with the name."""
    part = infer_workload(reading)
    flushes = reading.jobs.done("flush")
    files = [file for job in flushes for file in job.outputs]
    entries, tombstones = sum(file.entries or 0 for file in files), sum(file.deletions for file in files)
    if not (_HALF[0] <= part.delete_share <= _HALF[1] and entries and tombstones >= _TOMBSTONES * entries):
        return replace(part, notes=[f"column family {name}: {note}" for note in part.notes])
    note = (
        f"column family {name}: half of the entries are deletes and its files contain tombstones only: each key is deleted "
        "soon after it was put (short_lived); the size of its values follows from total_data_size of its flushes"
    )
    value_bytes = _short_lived_value_bytes(part, sum(job.payload_bytes or 0 for job in flushes))
    return replace(
        part, short_lived=True, value_bytes=value_bytes, value_range_bytes=None, pattern="overwrite", keys=None,
        keys_error=None, overwrite_share=None, notes=[note],
    )  # fmt: skip


def _short_lived_value_bytes(part: InferredWorkload, payload_bytes: int) -> float:
    """Return the mean value size of puts that left only tombstones in files, from the bytes of their memtables."""
    puts = part.writes * (1.0 - part.delete_share)
    without_values = part.writes * encoded_entry_bytes(round(part.key_bytes or 16.0), 0)
    return max(0.0, (payload_bytes - without_values) / puts) if puts and payload_bytes else 0.0


def _extend_to_last_switch(parts: Mapping[str, InferredWorkload]) -> dict[str, InferredWorkload]:
    """Add the writes after each family's last memtable switch, up to the last switch of all families.

    They are in proportion to the writes of the family that was switched last, and at most a memtable.
    """
    switched = {name: part for name, part in parts.items() if len(part.fills)}
    if not switched:
        return dict(parts)
    last = max(switched.values(), key=lambda part: part.until_s)
    extended = dict(parts)
    for name, part in switched.items():
        before, after = _entries_between(last, 0.0, part.until_s), _entries_between(last, part.until_s, last.until_s)
        if part is last or before <= 0.0 or after <= 0.0:
            continue
        fills = [entries for _, _, entries in part.fills]
        more = min(sum(fills) / before * after, max(fills))
        extended[name] = replace(
            part, writes=part.writes + more, fills=[*part.fills, (part.until_s, last.until_s, more)], until_s=last.until_s
        )
    return extended


def _entries_between(part: InferredWorkload, start_s: float, end_s: float) -> float:
    """Return the entries written between two times, if each memtable is filled evenly."""
    start, end, entries = (np.array(column, dtype=np.float64) for column in zip(*part.fills, strict=True))
    shares = (np.minimum(end, end_s) - np.maximum(start, start_s)) / np.maximum(end - start, 1e-9)
    return float((entries * np.clip(shares, 0.0, 1.0)).sum())


def _combine(reading: Reading, parts: Mapping[str, InferredWorkload]) -> InferredWorkload:
    """Return the load of the database: sums over families, keys and sizes of the family with most bytes written."""
    main = max(parts.values(), key=lambda part: part.writes * part.write_bytes)
    lasting = [part for part in parts.values() if not part.short_lived]
    writes = sum(part.writes for part in lasting)
    database = replace(
        main,
        families=parts,
        short_lived=False,
        writes=float(sum(part.writes for part in parts.values())),
        delete_share=sum(part.writes * part.delete_share for part in lasting) / writes if writes else 0.0,
        reads=point_reads(reading.log, float(sum(part.writes for part in parts.values()))),
        threads=client_threads(reading.log),
        fills=[fill for part in parts.values() for fill in part.fills],
        notes=[note for part in parts.values() for note in part.notes],
    )
    set_rate(database, reading)
    _choose_pattern(database, main, lasting)
    if any(abs(part.delete_share - database.delete_share) > _SAME_DELETES for part in lasting):
        database.notes.append(
            f"workload: families differ in their share of deletes; {database.delete_share:.1%} is simulated in all but the "
            "short-lived ones"
        )
    return database


def _choose_pattern(database: InferredWorkload, main: InferredWorkload, lasting: Sequence[InferredWorkload]) -> None:
    """Set the one pattern in which simulated clients write to all families; note what differs from the LOG."""
    patterns = sorted({part.pattern for part in lasting})
    if len(patterns) < 2:
        return
    inserts = [pattern for pattern in patterns if pattern.startswith("insert")]
    remark = ""
    if inserts and inserts != patterns:
        remark = f"; families of new keys write to {_NEW_KEYS:g} times as many keys as they have writes"
        if database.pattern in inserts:
            database.pattern, database.keys = "overwrite", as_overwrites(main).keys
    database.notes.append(
        f"workload: families differ in their pattern of writes ({', '.join(patterns)}); {database.pattern} is simulated in "
        f"all{remark}"
    )


def as_overwrites(part: InferredWorkload) -> InferredWorkload:
    """Replace a load of new keys by overwrites of so many keys that few writes meet an old one."""
    return replace(part, pattern="overwrite", keys=part.entries_before + _NEW_KEYS * part.writes, keys_error=None)


def trace_text(workload: InferredWorkload) -> str:
    """Return the text of the trace of the load; empty if the LOG does not show the rate of writes.

    Its rows are operations: the writes of the LOG, and the reads in proportion to them.
    """
    if len(workload.seconds) < 2:
        return ""
    reads = (workload.reads + workload.scans) / workload.writes if workload.writes else 0.0
    rows = zip(workload.seconds, workload.operations * (1.0 + reads), strict=True)
    return "seconds,operations\n" + "".join(f"{seconds:.3f},{operations:.3f}\n" for seconds, operations in rows)


def schedule(workload: InferredWorkload, trace: Path | None) -> tuple[str, dict[str, Any]]:
    """Return the entry of configs/workload that repeats the load which the store accepted, and the entry's own keys.

    `trace`: file with the text of the trace; None: the keys contain the text.
    """
    if len(workload.seconds) < 2:
        return "constant", {"rate": NOT_GIVEN, "duration": NOT_GIVEN}
    source = {"file": "", "rows": trace_text(workload)} if trace is None else {"file": str(trace)}
    return "trace", {**source, "loop": False, "duration": round(workload.until_s, 3)}


def full_speed(workload: InferredWorkload) -> tuple[str, dict[str, Any]]:
    """Return the entry of configs/workload with clients at full speed for as long as the LOG's, and the entry's own keys.

    A number of operations would end a faster alternative early, before its compactions have caught up with its writes.
    """
    if len(workload.seconds) >= 2:
        return "full_speed", {"duration": round(workload.until_s, 3)}
    if workload.writes >= 1.0:
        return "full_speed", {"operations": round(workload.writes + workload.reads + workload.scans)}
    return "full_speed", {"duration": NOT_GIVEN}


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
        load |= {"key_size": NOT_GIVEN, "value_size": NOT_GIVEN}
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
    return load | dict(workload.from_trace)


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
    if workload.scans and workload.writes:
        mix["scan"] = round(workload.scans / workload.writes, 6)
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

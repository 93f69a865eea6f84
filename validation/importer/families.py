"""The load of a database with several column families: inferred for each family, then put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from lsmlab.models.engines.families import DEFAULT_FAMILY
from lsmlab.models.tree.memtable import encoded_entry_bytes
from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.importer.workload import InferredWorkload, client_threads, infer_workload, set_rate
from lsmlab.validation.logs.history.jobs import LogJobs

_HALF: Final = (0.45, 0.55)
"""Share of deletes among the entries of a family whose keys are short-lived …"""
_TOMBSTONES: Final = 0.9
"""… if its flushed files contain this share of tombstones: each put was deleted before its memtable was flushed."""
_NEW_KEYS: Final = 20.0
"""Keys per write of a family that only inserts, where other families overwrite: 2.5 % of its writes then meet an old key."""


def infer_database(reading: Reading) -> InferredWorkload:
    """Infer the load of all column families; `families` of the result is empty where all load is on the default family."""
    loaded = [name for name in reading.families if _flushed(reading, name)] or [reading.busiest_family]
    if len(loaded) > 1:
        parts = {name: _of_family(family_reading(reading, name), name) for name in loaded}
        return _together(reading, _to_the_end(parts))
    whole = infer_workload(reading)
    return whole if loaded == [DEFAULT_FAMILY] else replace(whole, families={loaded[0]: whole})


def family_reading(reading: Reading, name: str) -> Reading:
    """The files of a store as if they had the jobs of one column family only.

    Statistics of the whole database and the number of files at the open are left out, unless there were none.
    """
    jobs = [job for job in reading.jobs.jobs if job.column_family == name]
    numbers = {number for job in jobs for files in job.inputs.values() for number in files}
    numbers |= {file.number for job in jobs for file in job.outputs}
    files = {number: file for number, file in reading.jobs.files.items() if number in numbers}
    openings = [replace(o, sst_files=0 if o.sst_files == 0 else None) for o in reading.log.openings]
    log = replace(reading.log, openings=openings, dumps=[], tickers={}, bench_setup={})
    options = reading.family_options.get(name, reading.options)
    return replace(reading, log=log, jobs=LogJobs(jobs, files, [name]), options=options, report=None, notes=[])


def _flushed(reading: Reading, name: str) -> bool:
    return any(job.entries_in for job in reading.jobs.done("flush") if job.column_family == name)


def _of_family(reading: Reading, name: str) -> InferredWorkload:
    """Load of one column family; notes begin with its name."""
    found = infer_workload(reading)
    flushes = reading.jobs.done("flush")
    files = [file for job in flushes for file in job.outputs]
    entries = sum(file.entries or 0 for file in files)
    tombstones = sum(file.deletions for file in files)
    found.notes = [f"column family {name}: {note}" for note in found.notes]
    if _HALF[0] <= found.delete_share <= _HALF[1] and entries and tombstones >= _TOMBSTONES * entries:
        payload = sum(job.payload_bytes or 0 for job in flushes)
        found.short_lived, found.pattern = True, "overwrite"
        found.keys = found.keys_error = found.overwrite_share = found.value_range_bytes = None
        found.value_bytes = _short_lived_value(found, payload)
        found.notes = [
            f"column family {name}: half of the entries are deletes and its files contain tombstones only: each key is "
            "deleted soon after it was put (short_lived); the size of its values follows from total_data_size of flushes"
        ]
    return found


def _short_lived_value(found: InferredWorkload, payload_bytes: int) -> float:
    """Mean value of puts that left only tombstones in files, from the bytes that their memtables held."""
    puts = found.writes * (1.0 - found.delete_share)
    empty = encoded_entry_bytes(round(found.key_bytes or 16.0), 0)
    return max(0.0, (payload_bytes - found.writes * empty) / puts) if puts and payload_bytes else 0.0


def _to_the_end(parts: Mapping[str, InferredWorkload]) -> dict[str, InferredWorkload]:
    """Loads with the writes after the last memtable switch of each family, up to the last switch of all families.

    A family that switches seldom has written since; its writes are taken in proportion to those of the family that
    switched last, at most a memtable.
    """
    filled = {name: part for name, part in parts.items() if len(part.fills)}
    if not filled:
        return dict(parts)
    last = max(filled.values(), key=lambda part: part.until_s)
    found = dict(parts)
    for name, part in filled.items():
        before, after = (_between(last, *times) for times in ((0.0, part.until_s), (part.until_s, last.until_s)))
        if part is last or before <= 0.0 or after <= 0.0:
            continue
        known = float(sum(entries for _, _, entries in part.fills))
        more = min(known / before * after, max(entries for _, _, entries in part.fills))
        found[name] = replace(
            part, writes=part.writes + more, fills=[*part.fills, (part.until_s, last.until_s, more)], until_s=last.until_s
        )
    return found


def _between(load: InferredWorkload, start_s: float, end_s: float) -> float:
    """Entries that a load wrote between two times."""
    start, end, entries = (np.array(column, dtype=np.float64) for column in zip(*load.fills, strict=True))
    shares = (np.minimum(end, end_s) - np.maximum(start, start_s)) / np.maximum(end - start, 1e-9)
    return float((entries * np.clip(shares, 0.0, 1.0)).sum())


def _together(reading: Reading, parts: Mapping[str, InferredWorkload]) -> InferredWorkload:
    """The load of the database: sums over families, keys and sizes of the family that was given most bytes."""
    main = max(parts.values(), key=lambda part: part.writes * part.write_bytes)
    lasting = [part for part in parts.values() if not part.short_lived]
    writes = sum(part.writes for part in lasting)
    found = replace(
        main,
        families=parts,
        writes=float(sum(part.writes for part in parts.values())),
        delete_share=sum(part.writes * part.delete_share for part in lasting) / writes if writes else 0.0,
        reads=reading.log.tickers.get("rocksdb.number.keys.read", 0.0),
        threads=client_threads(reading.log),
        fills=[fill for part in parts.values() for fill in part.fills],
        notes=[note for part in parts.values() for note in part.notes],
    )
    set_rate(found, reading)
    _one_pattern(found, main, lasting)
    return found


def _one_pattern(found: InferredWorkload, main: InferredWorkload, lasting: Sequence[InferredWorkload]) -> None:
    """Choose the pattern of the whole workload: the simulator's clients do the same in all families."""
    patterns = {part.pattern for part in lasting}
    if len(patterns) < 2:
        return
    inserts = {pattern for pattern in patterns if pattern.startswith("insert")}
    if inserts and inserts != patterns and found.pattern in inserts:
        overwritten = overwriting(main)
        found.pattern, found.keys = overwritten.pattern, overwritten.keys
    found.notes.append(
        f"workload: families write in several patterns ({', '.join(sorted(patterns))}); all are simulated as "
        f"{found.pattern}, families of new keys as uniform writes to {_NEW_KEYS:g} times as many keys as they have writes"
    )


def overwriting(part: InferredWorkload) -> InferredWorkload:
    """A load of new keys as uniform overwrites of so many keys that few of its writes meet an old one."""
    return replace(part, pattern="overwrite", keys=part.entries_before + _NEW_KEYS * part.writes, keys_error=None)

"""Ingestion of files that were written outside of the store (DBImpl::IngestExternalFiles)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import simpy
from lsmlab.models.policies.decisions import StallCause
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.models.policies.rocksdb.ingest import IngestionPlace, ingestion_place, writes_seqno
from lsmlab.models.tree.files import KeyRange, SortedFile
from lsmlab.sim.machine.machine import Consumer, Machine
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.machine.steps import StepProgress, even_steps, with_file_ends
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.memtables import has_key
from lsmlab.sim.store.records import NO_JOB
from lsmlab.sim.store.version_edits import apply_edit

ExternalFiles = Mapping[ColumnFamily, Sequence[SortedFile]]
"""Files by the column family that is to have them."""


def ingest(
    database: Database, files: ExternalFiles, entries: Callable[[ColumnFamily], float],
    flush: Callable[[Sequence[ColumnFamily]], Events], *, move_files: bool,
) -> Events:  # fmt: skip
    """Ingest files in one call; none if the device has no room for their copies.

    No write is admitted from the look at the memtables to the commit. `entries`: gives the entries of a family's active
    memtable; `flush`: makes memtables of families immutable and waits for their flush; `move_files`: link the files, do not
    copy them.
    """
    if not move_files and not (yield from _copy(database.machine, [file for own in files.values() for file in own])):
        return
    yield from database.until(lambda: not database.blocked)  # a stalled writer leads the queue in which the call waits
    database.stop_writes(StallCause.INGESTION)
    overlapped = [family for family, own in files.items() if _needs_flush(family, entries(family), own)]
    if overlapped:
        yield from flush(overlapped)
    for family, own in files.items():
        written = own if writes_seqno(family.latest_options.version) else []
        for _ in [file for file in written if _place(family, file).overlaps]:
            yield from database.machine.commit()
    yield from database.commit_edit()
    for family, own in files.items():
        levels: dict[int, list[SortedFile]] = defaultdict(list)
        for file in own:
            levels[_place(family, file).level].append(file)
        apply_edit(family, NO_JOB, added=sorted(levels.items()))
        family.take_in(own)
    database.resume_writes(StallCause.INGESTION)


def _place(family: ColumnFamily, file: SortedFile) -> IngestionPlace:
    running = [job.running for job in family.compacting.jobs.values()]
    return ingestion_place(family.tree, family.picker, family.latest_options.version, running, file.lo, file.hi)


def _needs_flush(family: ColumnFamily, entries: float, files: Sequence[SortedFile]) -> bool:
    """Return whether a memtable has an entry in the range of a file (`ExternalSstFileIngestionJob::NeedsFlush`)."""
    weight = family.content.sample.weight
    return any(
        family.memtables.overlaps(entries, file.lo, file.hi)
        or any(has_key(m.keys, weight, file.lo, file.hi) for m in family.immutables)
        for file in files
    )


def _copy(machine: Machine, files: Sequence[SortedFile]) -> Generator[simpy.Event, Any, bool]:
    """Copy files into the store, past the rate limiter (`CopyFile`). Return whether the device had room.

    `SstFileWriter` drops its file from the page cache (`invalidate_page_cache`), so the device reads it.
    """
    machine = machine if machine.limiter is None else machine.with_limiter(None)
    progress = StepProgress()
    for file in files:
        pieces = math.ceil(file.size_bytes / (machine.piece_bytes or file.size_bytes))
        steps = even_steps(file.size_bytes, 0.0, file.size_bytes, pieces)
        yield from machine.run_steps(with_file_ends(steps, [file.size_bytes]), Consumer.FLUSH, Priority.HIGH, progress)
    machine.space.free(progress.write_bytes)  # `take_in` counts them
    return progress.failure is None


def external_files(database: Database, ranges: Sequence[KeyRange], files: int) -> ExternalFiles:
    """Return so many files of equal numbers of keys for each column family, with all keys of its range."""
    return {family: _files(family, keys, files) for family, keys in zip(database.families, ranges, strict=True)}


def _files(family: ColumnFamily, keys: KeyRange, files: int) -> list[SortedFile]:
    content, database = family.content, family.database
    codes = content.sample.codes()
    codes = codes[slice(*codes.searchsorted((keys.lo, keys.hi + 1)).tolist())]
    if not len(codes):
        return []
    stream, entries = content.stream(codes, None)
    cuts = sorted({len(codes) * i // files for i in range(1, files)} - {0})
    return content.files(stream, entries, None, cuts, database.file_numbers, database.env.now, level=family.tree.num_levels - 1)

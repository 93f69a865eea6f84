"""Ingestion of files that were written outside of the store (DBImpl::IngestExternalFiles); they are linked, not copied."""

from __future__ import annotations

from lsmlab.models.policies.rocksdb.ingest import ingestion_level
from lsmlab.models.tree.files import KeyRange, SortedFile
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.records import NO_JOB
from lsmlab.sim.store.version_edits import apply_edit


def ingest(family: ColumnFamily, keys: KeyRange, files: int) -> Events:
    """Ingest all keys of a range in so many files of equal numbers of keys; the memtable is flushed already."""
    for file in _external_files(family, keys, files):
        database = family.database
        yield from database.commit_edit()
        running = [job.running for job in family.compacting.jobs.values()]
        level = ingestion_level(family.tree, family.picker, running, file.lo, file.hi)
        apply_edit(family, NO_JOB, added=[(level, [file])])
        family.take_in([file])


def _external_files(family: ColumnFamily, keys: KeyRange, files: int) -> list[SortedFile]:
    """Return files with all keys of a range."""
    content, database = family.content, family.database
    codes = content.sample.codes()
    codes = codes[slice(*codes.searchsorted((keys.lo, keys.hi + 1)).tolist())]
    if not len(codes):
        return []
    stream, entries = content.stream(codes, None)
    cuts = sorted({len(codes) * i // files for i in range(1, files)} - {0})
    return content.files(stream, entries, None, cuts, database.file_numbers, database.env.now, level=family.tree.num_levels - 1)

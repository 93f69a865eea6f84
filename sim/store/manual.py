"""Manual compaction of a database (DBImpl::RunManualCompaction): its jobs one after the other, beside or instead of others."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.options.compact_range import CompactRangeOptions
from lsmlab.models.policies.decisions import NOTHING, RunningJob
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.manual import (
    ManualPick,
    ManualStep,
    after,
    files_in_range,
    manual_pick,
    manual_steps,
    refit_level,
)
from lsmlab.models.tree.files import KeyRange
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.database import Database


def compact_range(database: Database, request: CompactRangeOptions) -> Events:
    """Compact all keys of all column families; the memtables are flushed already."""
    for family in database.families:
        next_file = next(database.file_numbers)
        has_filter = family.latest_options.filter_ttl_s is not None
        steps = manual_steps(family.tree, family.picker, request, next_file, has_filter=has_filter)
        exclusive = request.exclusive(family.latest_options.version)
        for step in steps:
            yield from _run(database, family, step, exclusive=exclusive)
        if request.change_level:
            yield from _refit(database, family, request.target_level)
    database.schedule()


def _run(database: Database, family: ColumnFamily, step: ManualStep | None, *, exclusive: bool) -> Events:
    """Run the jobs of one step (RunManualCompaction)."""
    background = database.background
    background.exclusive += exclusive
    if exclusive:
        yield from database.until(lambda: database.view.compactions == 0)
    _, slots = background.scheduler.most_jobs()
    while step is not None:
        yield from database.until(lambda: database.view.compactions < slots)
        found = _next(family, step)
        if found.conflict:
            yield from database.job_end()
            continue
        if found.pick is None:
            break
        yield background.start_manual(family, found.pick)
        step = after(step, found)
    background.exclusive -= exclusive
    database.schedule()


def _next(family: ColumnFamily, step: ManualStep) -> ManualPick:
    running: Sequence[RunningJob] = [job.running for job in family.compacting.jobs.values()]
    return manual_pick(family.tree, family.picker, running, step, family.database.env.now)


def _refit(database: Database, family: ColumnFamily, target_level: int) -> Events:
    """Give the files of the deepest level another one, while no job runs."""
    background = database.background
    background.exclusive += 1
    yield from database.until(lambda: not database.view.jobs)
    picker = family.picker
    move = refit_level(family.tree, picker, target_level) if isinstance(picker, LeveledPicker) else NOTHING
    if move is not NOTHING:
        yield background.start_manual(family, move)
    background.exclusive -= 1


def delete_files_in_range(database: Database, ranges: Sequence[KeyRange]) -> Events:
    """Delete the files of each column family whose keys are all in its range (DeleteFilesInRange)."""
    for family, keys in zip(database.families, ranges, strict=True):
        drop = files_in_range(family.tree, keys.lo, keys.hi)
        if drop is not NOTHING:
            yield database.background.start_manual(family, drop)

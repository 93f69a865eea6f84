"""Entries that a flush or a compaction writes: those that its inputs hold, without what nobody can read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lsmlab.models.policies.decisions import Compaction
from lsmlab.models.tree.expiry import with_expired, write_times
from lsmlab.models.tree.files import KeyArray, KeyRange, SortedFile, Versions
from lsmlab.models.tree.merge import (
    Tombstones,
    held_elsewhere,
    merge_files,
    merge_runs,
    uncovered,
    without_dead_tombstones,
)
from lsmlab.models.tree.ranges import bottommost
from lsmlab.models.tree.versions import (
    newest_versions,
    note_versions,
    split_newest,
    versions_of,
    visible_versions,
    without_dead,
)
from lsmlab.sim.store.jobs.context import FamilyContext
from lsmlab.sim.store.memtables import Memtable


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Entries of a job's outputs."""

    keys: KeyArray
    """Distinct keys, ascending."""
    tombstones: Tombstones = None
    newest: Versions | None = None
    """The same with write times, where a compaction filter or snapshots ask for them."""
    older: Versions | None = None
    """Versions beside the newest ones that open snapshots see."""
    sequence_from_s: float = math.inf
    """Time from which on entries keep their sequence numbers (`note_versions`)."""

    @classmethod
    def of_versions(cls, found: Versions, sequence_from_s: float) -> Merged:
        """Return the entries of all versions that a job writes."""
        newest, older = split_newest(found)
        return cls(newest.keys, newest.deleted if newest.deleted.any() else None, newest, older, sequence_from_s)

    def note(self, files: Sequence[SortedFile]) -> None:
        """Let the output files know their versions and write times."""
        if self.newest is not None:
            note_versions(files, self.newest, self.older, self.sequence_from_s)


def merged_memtables(family: FamilyContext, memtables: Sequence[Memtable]) -> tuple[Merged, list[KeyRange]]:
    """Merge memtables, oldest first, for one flush. Return their entries and their range tombstones."""
    if (snapshots := family.database.snapshots) is not None:
        runs = [memtable.versions for memtable in reversed(memtables) if memtable.versions is not None]
        return Merged.of_versions(visible_versions(runs, snapshots.open_s), -math.inf), []
    ranges: list[KeyRange] = []
    plain = []
    for memtable in reversed(memtables):
        plain.append(uncovered(memtable.keys, memtable.tombstones, ranges))
        ranges += memtable.ranges
    single = family.latest_options.single_deletes
    return Merged(*(plain[0] if len(plain) == 1 else merge_runs(plain, single_deletes=single))), ranges


def merged_files(family: FamilyContext, pick: Compaction, inputs: Sequence[SortedFile]) -> Merged:
    """Merge the input files of a compaction, of which `inputs` is the list."""
    if family.database.snapshots is not None:
        return _visible_to_snapshots(family, pick, inputs, family.database.snapshots.open_s)
    keys, tombstones = merge_files(pick.inputs, single_deletes=family.latest_options.single_deletes)
    if not family.latest_options.notes_write_times:
        return Merged(*without_dead_tombstones(keys, tombstones, family.tree, pick.output_level, inputs))
    times = write_times(pick.inputs, keys)
    if (ttl_s := family.latest_options.filter_ttl_s) is not None:
        tombstones = with_expired(tombstones, times, family.database.env.now - ttl_s)
    kept, tombstones = without_dead_tombstones(keys, tombstones, family.tree, pick.output_level, inputs)
    return Merged(kept, tombstones, newest_versions(kept, tombstones, times[keys.searchsorted(kept)]))


def _visible_to_snapshots(
    family: FamilyContext, pick: Compaction, inputs: Sequence[SortedFile], snapshots_s: Sequence[float]
) -> Merged:  # fmt: skip
    tree, output = family.tree, pick.output_level
    runs = [versions for _, files in pick.inputs for file in files for versions in versions_of(file)]
    found = visible_versions(runs, snapshots_s)
    if (ttl_s := family.latest_options.filter_ttl_s) is not None:  # a filter asks for the newest version, snapshot or not
        newest, older = split_newest(found)
        expired = newest.times < family.database.env.now - ttl_s
        newest = newest._replace(deleted=newest.deleted | expired)
        found = newest if older is None else visible_versions([newest, older], snapshots_s)
    lo, hi = min(f.lo for f in inputs), max(f.hi for f in inputs)
    last = output > 0 and bottommost(tree, output, lo, hi)
    if output > 0:
        found = without_dead(found, lambda keys: held_elsewhere(keys, tree, output, inputs), snapshots_s, bottommost=last)
    visible_s = snapshots_s[0] if snapshots_s else math.inf
    return Merged.of_versions(found, visible_s if last else -math.inf)

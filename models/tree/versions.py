"""Versions of keys that open snapshots see: which of them a flush or a compaction writes.

Source: `CompactionIterator::NextFromInput`, db/compaction/compaction_iterator.cc; (behaviour/compaction-jobs.md, Snapshots).
Snapshots divide time into stripes; of the versions of a key in one stripe only the newest stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from lsmlab.models.tree.files import KeyArray, SortedFile, Versions
from lsmlab.models.tree.merge import Tombstones, first_of_equal
from numpy.typing import NDArray


def newest_versions(keys: KeyArray, tombstones: Tombstones, times: NDArray[np.float64] | float) -> Versions:
    """Return distinct keys as versions. `times`: write time in s of each, or of all of them."""
    deleted = np.zeros(len(keys), dtype=np.bool_) if tombstones is None else tombstones
    return Versions(keys, np.broadcast_to(np.asarray(times, dtype=np.float64), keys.shape), deleted)


def versions_of(file: SortedFile) -> list[Versions]:
    """Return all versions in a file, the newest of each key first."""
    newest = newest_versions(file.keys, file.tombstones, file.created_s if file.times is None else file.times)
    return [newest] if file.older is None else [newest, file.older]


def visible_versions(runs: Sequence[Versions], snapshots_s: Sequence[float]) -> Versions:
    """Merge runs, newest first, and keep the newest version of each key and those that a snapshot sees.

    `snapshots_s`: times in s at which the open snapshots were taken, ascending.
    """
    keys, times, deleted = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    order = np.lexsort((-times, keys))  # stable: of equal times the newest run's comes first
    keys, times, deleted = keys[order], times[order], deleted[order]
    keep = np.ones(len(keys), dtype=np.bool_)
    if len(keys):
        stripe = np.searchsorted(snapshots_s, times, side="left")
        keep = first_of_equal(keys)
        keep[1:] |= stripe[1:] != stripe[:-1]
    return Versions(keys, times, deleted).chosen(keep)


def without_dead(
    found: Versions, held_below: Callable[[KeyArray], NDArray[np.bool_]], snapshots_s: Sequence[float], *, bottommost: bool
) -> Versions:  # fmt: skip
    """Return versions without the tombstones that hide nothing any more.

    `held_below`: mask of keys that files which are no inputs may hold, at the output level or deeper. `bottommost`: whether the
    whole job has no data below it. A tombstone goes if nothing older of its key is left; one that the oldest snapshot does not
    see only in a bottommost job.
    """
    if not found.deleted.any():
        return found
    last = np.append(found.keys[1:] != found.keys[:-1], True)
    seen = found.times <= (snapshots_s[0] if snapshots_s else math.inf)
    dead = found.deleted & last & (seen | bottommost)
    dead[dead] = ~held_below(found.keys[dead])
    return found.chosen(~dead)


def split_newest(found: Versions) -> tuple[Versions, Versions | None]:
    """Return the newest version of each key, and all others; None if there are none."""
    newest = first_of_equal(found.keys)
    if newest.all():
        return found, None
    return found.chosen(newest), found.chosen(~newest)


def note_versions(files: Sequence[SortedFile], newest: Versions, older: Versions | None, sequence_from_s: float) -> None:
    """Give each of the new files of one job its part of the versions of the job.

    `sequence_from_s`: entries written later keep their sequence numbers; a bottommost compaction sets those of others to 0.
    """
    for file in files:
        own = newest.times[newest.keys.searchsorted(file.keys)]
        file.times, file.older = own, None if older is None else _between(older, file.lo, file.hi)
        later = own[own > sequence_from_s]
        file.newest_s = float(later.max()) if len(later) else -math.inf


def _between(versions: Versions, lo: int, hi: int) -> Versions | None:
    start, end = versions.keys.searchsorted((lo, hi + 1)).tolist()
    return versions.chosen(slice(start, end)) if end > start else None

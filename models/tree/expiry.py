"""Entries that a compaction filter drops by age: write times of keys, and expired puts as tombstones.

Source: `CompactionIterator::InvokeFilterIfNeeded`, db/compaction/compaction_iterator.cc: an entry that the filter removes becomes
a tombstone, which goes as any other one does (behaviour/compaction-jobs.md, Compaction filter).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.tree.merge import Tombstones
from numpy.typing import NDArray


def write_times(inputs: Sequence[tuple[int, Sequence[SortedFile]]], keys: KeyArray) -> NDArray[np.float64]:
    """Return the time in s at which the newest version of each key was flushed. Shape (len(keys),).

    `inputs`: (level, files) of the job that merges them into `keys`, newest first.
    """
    found = np.zeros(len(keys))
    for _, files in reversed(inputs):
        for file in reversed(files):
            if len(keys) and len(file.keys):
                at = np.minimum(keys.searchsorted(file.keys), len(keys) - 1)
                kept = keys[at] == file.keys
                found[at[kept]] = file.created_s if file.times is None else file.times[kept]
    return found


def with_expired(tombstones: Tombstones, times: NDArray[np.float64], before_s: float) -> Tombstones:
    """Return the tombstones with those of entries written before `before_s`."""
    expired = times < before_s
    if not expired.any():
        return tombstones
    return expired if tombstones is None else tombstones | expired

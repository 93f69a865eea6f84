"""Contents of full memtables of one column family. Hot keys may stay in memory instead of being flushed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from lsmlab.models.policies.decisions import Picker
from lsmlab.models.tree.files import NO_KEYS, KeyArray, KeyRange, Versions
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.memtable_history import NO_MEMORY, MemtableMemory
from lsmlab.models.tree.merge import Tombstones, merge_runs
from lsmlab.models.tree.versions import newest_versions, split_newest, visible_versions
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SCATTER: Final = 2_654_435_761
"""Multiplier of a hash of key codes."""
WRITE_BUFFER_FULL, WAL_FULL, MANAGER_FULL = "Write Buffer Full", "WAL Full", "Write Buffer Manager"
MANUAL_FLUSH, MANUAL_COMPACTION, INGESTION = "Manual Flush", "Manual Compaction", "External File Ingestion"
"""Reasons of a flush, as RocksDB's LOG names them (`GetFlushReasonString`)."""


class KeySource(Protocol):
    """Source of the keys that clients write."""

    def memtable(self, family: int, entries: float) -> tuple[KeyArray, Tombstones]:
        """Return the distinct keys of the next `entries` writes to column family number `family`, newest version each."""

    def memtable_with_counts(self, family: int, entries: float) -> tuple[KeyArray, Tombstones, Floats]:
        """Return the same as `memtable`, and the number of writes of each key."""


@dataclass(slots=True, eq=False)
class Memtable:
    """Immutable memtable: its content and the state of its flush."""

    entries: float
    keys: KeyArray
    tombstones: Tombstones
    wal_bytes: float
    """Size of the WAL that the memtable switch closed; 0 if there was none."""
    first_wal: int = 0
    """Number of the oldest WAL with data of the memtable."""
    memory: MemtableMemory = NO_MEMORY
    """Its memory, where something counts it."""
    reason: str = WRITE_BUFFER_FULL
    """Flush reason in RocksDB's LOG."""
    ranges: tuple[KeyRange, ...] = ()
    """Range tombstones, which the flush writes with the entries."""
    versions: Versions | None = None
    """Versions of the keys that snapshots saw while the memtable was active; None in a store without snapshots."""
    in_progress: bool = False
    done: bool = False
    """Whether the file is written and the commit waits for older memtables."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptHotKeys:
    """Hot keys that stayed in memory at the last memtable switch; the active memtable starts with them."""

    keys: KeyArray = field(default_factory=lambda: NO_KEYS)
    tombstones: Tombstones = None
    entries: float = 0.0
    """Number of real keys that the sampled `keys` represent; each takes the memory of one entry."""


class Memtables:
    """Contents of the active memtable of one column family, computed when it is full."""

    def __init__(self, number: int, source: KeySource, sample: KeySample) -> None:
        self._number = number
        self._source = source
        self._sample = sample
        self.kept_hot_keys = KeptHotKeys()
        self._deleted: list[tuple[KeyRange, float]] = []
        """Range tombstones of the active memtable, each with the entries that were written before it."""
        self._latest: KeyArray | None = None
        """Keys of the last memtable that became immutable; None before the first one."""
        self._snapshots: list[tuple[float, float]] = []
        """Times in s of snapshots that saw a part of the active memtable, each with the entries that were written before it."""

    @property
    def ranges(self) -> list[KeyRange]:
        """Range tombstones of the active memtable."""
        return [keys for keys, _ in self._deleted]

    def delete_range(self, keys: KeyRange, entries: float) -> None:
        """Write a range tombstone to the active memtable, which holds `entries`."""
        self._deleted.append((keys, entries))

    def take_snapshot(self, now_s: float, entries: float) -> None:
        """Note a snapshot, which sees the `entries` of the active memtable."""
        self._snapshots.append((now_s, entries))

    def _with_versions(self, entries: float, wal_bytes: float, now_s: float) -> Memtable:
        """Return a full memtable with the versions of its keys that the snapshots of its time saw."""
        taken, self._snapshots = self._snapshots, []
        runs, before = [], 0.0
        for time_s, written in (*taken, (now_s, entries)):
            if written > before:
                keys, tombstones = self._source.memtable(self._number, written - before)
                runs.append(newest_versions(keys, tombstones, time_s))
                before = written
        versions = visible_versions(runs[::-1], [time_s for time_s, _ in taken])
        newest, _ = split_newest(versions)
        tombstones = newest.deleted if newest.deleted.any() else None
        return Memtable(entries, newest.keys, tombstones, wal_bytes, versions=versions)

    def _with_ranges(self, memtable: Memtable) -> Memtable:
        """Return a full memtable with its range tombstones, and without the entries that they delete in it."""
        if not self._deleted:
            return memtable
        keys = memtable.keys
        keep = np.ones(len(keys), dtype=np.bool_)
        place = ((keys * _SCATTER) & 0xFFFF_FFFF) / 2.0**32  # where in the memtable a key was written last
        for one, before in self._deleted:
            keep &= (keys < one.lo) | (keys > one.hi) | (place >= before / max(memtable.entries, 1.0))
        memtable.keys, memtable.tombstones = keys[keep], _flags(memtable.tombstones, keep)
        memtable.ranges = tuple(one for one, _ in self._deleted)
        self._deleted = []
        return memtable

    def overlaps(self, entries: float, lo: int, hi: int) -> bool:
        """Return whether the active memtable, which holds `entries`, has one in [lo, hi] (`RangesOverlapWithMemtables`).

        Its keys are not known before it is full: taken are those of the memtable before it, and any key if there is none.
        """
        if any(one.lo <= hi and one.hi >= lo for one in self.ranges):
            return True
        return entries >= 1.0 and (self._latest is None or has_key(self._latest, self._sample.weight, lo, hi))

    def full(self, entries: float, wal_bytes: float, picker: Picker, now_s: float | None = None) -> Memtable | None:
        """Return the memtable to flush after `entries` writes; None if all its keys stay in memory.

        `picker` selects the keys that stay. They are written to the WAL again, so that the WAL of the flushed memtable can be
        deleted. `now_s`: present time in s in a store with snapshots, else None.
        """
        if now_s is not None:
            return self._with_versions(entries, wal_bytes, now_s)
        if not picker.keeps_hot_keys and not len(self.kept_hot_keys.keys):
            keys, tombstones = self._source.memtable(self._number, entries)
            self._latest = keys
            return self._with_ranges(Memtable(entries, keys, tombstones, wal_bytes))
        before = self.kept_hot_keys
        new, flags, updates = self._source.memtable_with_counts(self._number, entries)
        keys, tombstones = merge_runs([(new, flags), (before.keys, before.tombstones)])
        _, updates = sum_updates([(new, updates), (before.keys, np.ones(len(before.keys)))])
        weights = np.broadcast_to(np.asarray(self._sample.weights(keys), dtype=np.float64), keys.shape)
        hot = np.zeros(len(keys), dtype=np.bool_)
        if picker.keeps_hot_keys and len(keys):
            hot = picker.hot(updates, weights, entries + before.entries)
        self.kept_hot_keys = KeptHotKeys(keys[hot], _flags(tombstones, hot), float(weights[hot].sum()))
        if hot.all():
            return None
        cold = ~hot
        written = float((updates * weights)[cold].sum())
        logged = wal_bytes * (1.0 + before.entries / entries)
        return self._with_ranges(Memtable(written, keys[cold], _flags(tombstones, cold), logged))

    def all_keys(self, entries: float) -> Memtable | None:
        """Return a memtable with all keys in memory, hot keys included; None if there are none.

        `entries`: in the active memtable, including the hot keys with which it started.
        """
        before, self.kept_hot_keys = self.kept_hot_keys, KeptHotKeys()
        keys, tombstones = NO_KEYS, None
        if entries - before.entries >= 1.0:
            keys, tombstones = self._source.memtable(self._number, entries - before.entries)
        keys, tombstones = merge_runs([(keys, tombstones), (before.keys, before.tombstones)])
        if not len(keys) and not self._deleted:
            return None
        return self._with_ranges(Memtable(entries, keys, tombstones, 0.0))


def has_key(keys: KeyArray, weight: float, lo: int, hi: int) -> bool:
    """Return whether a memtable with the carried `keys`, each for `weight` real ones, has a key in [lo, hi].

    Between two carried keys the real ones lie evenly.
    """
    first, last = np.interp((lo, hi + 1), keys, np.arange(len(keys))) if len(keys) else (0.0, 0.0)
    return bool((last - first) * weight >= 1.0 or np.searchsorted(keys, hi, "right") > np.searchsorted(keys, lo))


def sum_updates(parts: Sequence[tuple[KeyArray, Floats]]) -> tuple[KeyArray, Floats]:
    """Return the distinct keys of all parts, ascending, and the sum of the updates of each key."""
    keys, where = np.unique(np.concatenate([k for k, _ in parts]), return_inverse=True)
    totals = np.zeros(len(keys))
    np.add.at(totals, where, np.concatenate([u for _, u in parts]))
    return keys, totals


def _flags(tombstones: Tombstones, chosen: NDArray[np.bool_]) -> Tombstones:
    if tombstones is None or not tombstones[chosen].any():
        return None
    return tombstones[chosen]

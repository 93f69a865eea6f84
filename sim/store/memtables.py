"""Full memtables of one store: what the clients wrote becomes what is flushed. Hot keys may stay in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from lsmlab.models.policies.flush_rules import KeepsHotKeys
from lsmlab.models.tree.content import KeyWeights
from lsmlab.models.tree.files import NO_KEYS, KeyArray
from lsmlab.models.tree.merge import Tombstones, merge_runs
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WRITE_BUFFER_FULL, WAL_FULL, MANAGER_FULL = "Write Buffer Full", "WAL Full", "Write Buffer Manager"
"""Reasons of a flush, as RocksDB's LOG names them (`GetFlushReasonString`)."""


class KeySource(Protocol):
    """Where a full memtable's content comes from."""

    def memtable(self, store: int, entries: float) -> tuple[KeyArray, Tombstones]:
        """Distinct keys that the next `entries` writes of store number `store` touch, newest version each."""

    def counted(self, store: int, entries: float) -> tuple[KeyArray, Tombstones, Floats]:
        """The same, and how often each key was written."""


@dataclass(slots=True, eq=False)
class Memtable:
    """A full memtable: what it holds, and whether a flush has taken it."""

    entries: float
    keys: KeyArray
    tombstones: Tombstones
    wal_bytes: float
    """Size of the WAL that was closed when it was switched; 0 without one."""
    first_wal: int = 0
    """Number of the WAL in which its data begin."""
    size_bytes: float = 0.0
    """Memory that it takes."""
    reason: str = WRITE_BUFFER_FULL
    """Reason of its flush, as RocksDB's LOG names it."""
    in_progress: bool = False
    done: bool = False
    """Flushed, waiting for older memtables to commit first."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Keys that the last flush left in memory: the active memtable has held them from its beginning."""

    keys: KeyArray = field(default_factory=lambda: NO_KEYS)
    tombstones: Tombstones = None
    entries: float = 0.0
    """Real keys that they stand for: each takes the room of one entry."""


class Memtables:
    """The active memtable of one store, each time that it is full."""

    def __init__(self, number: int, source: KeySource, sample: KeyWeights) -> None:
        self._number = number
        self._source = source
        self._sample = sample
        self.kept = Kept()

    def full(self, entries: float, wal_bytes: float, hot_keys: KeepsHotKeys | None) -> Memtable | None:
        """What is to be flushed of a memtable that took `entries` writes; None if all of it stays in memory.

        `hot_keys` says which keys stay; None: none does.
        Keys that stay are written to the log once more, so that the log of the memtable that is flushed can go.
        """
        if hot_keys is None and not len(self.kept.keys):
            keys, tombstones = self._source.memtable(self._number, entries)
            return Memtable(entries, keys, tombstones, wal_bytes)
        before = self.kept
        new, flags, updates = self._source.counted(self._number, entries)
        keys, tombstones = merge_runs([(new, flags), (before.keys, before.tombstones)])
        _, updates = sum_updates([(new, updates), (before.keys, np.ones(len(before.keys)))])
        weights = np.broadcast_to(np.asarray(self._sample.weights(keys), dtype=np.float64), keys.shape)
        hot = np.zeros(len(keys), dtype=np.bool_)
        if hot_keys is not None and len(keys):
            hot = hot_keys.hot(updates, weights, entries + before.entries)
        self.kept = Kept(keys[hot], _flags(tombstones, hot), float(weights[hot].sum()))
        if hot.all():
            return None
        cold = ~hot
        written = float((updates * weights)[cold].sum())
        logged = wal_bytes * (1.0 + before.entries / entries)
        return Memtable(written, keys[cold], _flags(tombstones, cold), logged)

    def rest(self, entries: float) -> Memtable | None:
        """Everything in memory, the memtable not being full; `entries` with those that were kept."""
        before, self.kept = self.kept, Kept()
        keys, tombstones = NO_KEYS, None
        if entries - before.entries >= 1.0:
            keys, tombstones = self._source.memtable(self._number, entries - before.entries)
        keys, tombstones = merge_runs([(keys, tombstones), (before.keys, before.tombstones)])
        return Memtable(entries, keys, tombstones, 0.0) if len(keys) else None


def sum_updates(parts: Sequence[tuple[KeyArray, Floats]]) -> tuple[KeyArray, Floats]:
    """Distinct keys of all parts, ascending, with their updates added up."""
    keys, where = np.unique(np.concatenate([k for k, _ in parts]), return_inverse=True)
    totals = np.zeros(len(keys))
    np.add.at(totals, where, np.concatenate([u for _, u in parts]))
    return keys, totals


def _flags(tombstones: Tombstones, chosen: NDArray[np.bool_]) -> Tombstones:
    if tombstones is None or not tombstones[chosen].any():
        return None
    return tombstones[chosen]

"""A dictionary that follows a run: the memtable that wrote each key last, and the version of each key in each file.

Files of a simulated store contain keys without values. The shadow repeats each flush and compaction on versions, newest
input first, so that a lookup in the tree can be compared with the dictionary: if a job puts a file in the wrong place,
merges in the wrong order or loses a key, some lookup finds an old version or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from lsmlab.models.policies.decisions import Compaction
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.jobs import compacting, flushing

Run = tuple[KeyArray, KeyArray]
"""Keys and the version of each."""


PRELOADED = -1
"""Version of keys in the store before the run."""


class Shadow:
    """Dictionary of one store, and the versions in its files."""

    def __init__(self) -> None:
        self.latest: dict[int, int] = {}
        self.deleted: set[int] = set()
        """Keys whose latest version is a tombstone."""
        self.versions: dict[int, KeyArray] = {}
        """Versions by file number, parallel to the file's keys."""
        self.memtables: dict[int, KeyArray] = {}
        """Versions by the id of a memtable's key array."""
        self._written = 0
        self._kept: list[Any] = []

    def wrote(self, keys: KeyArray, tombstones: Any) -> None:
        """Record the keys of a memtable that clients filled."""
        self.deleted -= set(keys.tolist())
        if tombstones is not None:
            self.deleted |= set(keys[tombstones].tolist())
        self.latest.update(dict.fromkeys(keys.tolist(), self._written))
        self._written += 1

    def full(self, keys: KeyArray) -> None:
        """Record the keys that a flush of a full memtable will write; others stay in memory (`memtables.kept_hot_keys`)."""
        self.memtables[id(keys)] = np.array([self.latest[key] for key in keys.tolist()])
        self._kept.append(keys)  # keeps the array alive, so that no other array gets its id

    def flushed(self, memtables: Sequence[KeyArray], file: SortedFile | None) -> None:
        """Record a flush of memtables, oldest first, into a file."""
        if file is not None:
            runs = [(k, self.memtables[id(k)]) for k in reversed(memtables)]
            self._note([file], runs)

    def merged(self, pick: Compaction, outputs: Sequence[SortedFile]) -> None:
        """Record a compaction, with the inputs in the order of the pick (newest first)."""
        self._note(outputs, [run for _, files in pick.inputs for f in files for run in self._runs(f)])

    def find(self, store: ColumnFamily, key: int) -> int | None:
        """Return the version that a lookup finds: memtables, L0, then every sorted run from newest to oldest."""
        if _position(store.memtables.kept_hot_keys.keys, key) is not None:
            return self.latest[key]  # rewritten into the active memtable from the last full one
        for memtable in reversed(store.immutables):
            at = _position(memtable.keys, key)
            if at is not None:
                return int(self.memtables[id(memtable.keys)][at])
        for file in store.tree.l0:
            found = self._in_file(file, key)
            if found is not None:
                return found
        for level in range(1, store.tree.num_levels):
            for run in store.tree.runs(level):
                file = run.files[min(int(run.hi.searchsorted(key)), len(run) - 1)]
                found = self._in_file(file, key)
                if found is not None:
                    return found
        return None

    def _in_file(self, file: SortedFile, key: int) -> int | None:
        for part in reversed(file.slices):
            at = _position(part.keys, key)
            if at is not None:
                return self._version(part.source, int(part.source.keys.searchsorted(part.keys[0])) + at)
        at = _position(file.keys, key)
        return None if at is None else self._version(file, at)

    def _version(self, file: SortedFile, at: int) -> int:
        versions = self.versions.get(file.number)
        return PRELOADED if versions is None else int(versions[at])

    def _runs(self, file: SortedFile) -> list[Run]:
        """Return a file's slices, newest first, then its own keys."""
        runs: list[Run] = []
        for part in reversed(file.slices):
            start = int(part.source.keys.searchsorted(part.keys[0]))
            whole = self.versions.get(part.source.number, np.full(len(part.source.keys), PRELOADED))
            runs.append((part.keys, whole[start : start + len(part.keys)]))
        return [*runs, (file.keys, self.versions.get(file.number, np.full(len(file.keys), PRELOADED)))]

    def _note(self, outputs: Sequence[SortedFile], runs: Sequence[Run]) -> None:
        keys = np.concatenate([k for k, _ in runs])
        versions = np.concatenate([v for _, v in runs])
        order = keys.argsort(kind="stable")  # of equal keys the newest run's comes first
        keys, versions = keys[order], versions[order]
        first = np.r_[True, keys[1:] != keys[:-1]]
        keys, versions = keys[first], versions[first]
        for file in outputs:
            self.versions[file.number] = versions[keys.searchsorted(file.keys)]


def _position(keys: KeyArray, key: int) -> int | None:
    at = int(keys.searchsorted(key))
    return at if at < len(keys) and keys[at] == key else None


def _followed(function: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
    """Return the function with a call of `note` on its result and its arguments after each call."""

    def followed(*arguments: Any) -> Any:
        result = function(*arguments)
        note(result, *arguments)
        return result

    return followed


@contextmanager
def shadowed(store: ColumnFamily) -> Iterator[Shadow]:
    """Follow all jobs of a store inside the context."""
    shadow = Shadow()

    def wrote(made: tuple[Any, ...], *_: Any) -> None:
        shadow.wrote(*made[:2])

    def full(taken: Any, *_: Any) -> None:
        if taken is not None:
            shadow.full(taken.keys)

    def flushed(work: Any, own: ColumnFamily, *_: Any) -> None:
        begun = [m for f in own.flushing._flushes for m in f.memtables]
        picked = [m for m in own.immutables if m.in_progress and m not in begun]
        shadow.flushed([m.keys for m in picked], work.file)

    def merged(work: Any, _: ColumnFamily, pick: Compaction) -> None:
        shadow.merged(pick, work.outputs)

    memtables = store.memtables
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, note in (
            (memtables._source, "memtable", wrote), (memtables._source, "memtable_with_counts", wrote),
            (memtables, "full", full), (memtables, "all_keys", full),
            (flushing, "flush_work", flushed), (compacting, "compaction_work", merged),
        ):  # fmt: skip
            patch.setattr(owner, name, _followed(getattr(owner, name), note))
        yield shadow

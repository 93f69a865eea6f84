"""Seek charges: count lookups that search a file in vain, for engines that compact such files (LevelDB).

Reads are a fluid, so charges are fractions: once per second a sample of the clients' read keys is looked up, and each
key is charged its part of the reads of that second (behaviour/leveldb.md, LevelDB seeks).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import simpy
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.machine.queues import Alarm
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.database import Database

if TYPE_CHECKING:
    from lsmlab.sim.clients.family_reads import FamilyReads

LOOK_S: Final = 1.0
"""Time between two samples. A file's allowance (100 lookups and more) lasts longer, or the thread is busy anyway."""
SCAN_PERIOD_BYTES: Final = float(1 << 20)
"""Mean bytes of keys and values between two charges of an iterator (config::kReadBytesPeriod)."""


class Seeks:
    """Charge the files of all families; queue a compaction when the allowance of a file is used up."""

    def __init__(
        self, env: simpy.Environment, databases: Sequence[Database], clients: ClientLoad, reads: FamilyReads,
        entry_bytes: float,
    ) -> None:  # fmt: skip
        """`entry_bytes`: bytes of key and value of an entry."""
        self._databases = databases
        self._clients = clients
        self._reads = reads
        self._entry_bytes = entry_bytes
        self._before = self._totals()
        self._alarm = Alarm(env, self._look)
        self._alarm.set(LOOK_S)

    def _totals(self) -> tuple[float, float]:
        """Point reads and scanned bytes of all clients so far."""
        self._clients.totals()  # updates the counters to the present time
        groups = self._clients.groups
        entries = sum(g.served * g.scan_share * g.spec.scan_length.mean for g in groups)
        return sum(g.served * g.read_share for g in groups), entries * self._entry_bytes

    def _look(self) -> None:
        totals = self._totals()
        families = sum(len(database.families) for database in self._databases)
        gets, scanned = ((b - a) / families for a, b in zip(self._before, totals, strict=True))
        self._before = totals
        for database in self._databases:
            for family in database.families:
                if self._charge(family, gets, scanned / SCAN_PERIOD_BYTES):
                    database.compaction_due(family)
        self._alarm.set(LOOK_S)

    def _charge(self, family: ColumnFamily, gets: float, samples: float) -> bool:
        """Charge the files of a family for `gets` point reads and `samples` samples of iterators.

        Return whether the allowance of a file is used up.
        """
        picker = family.latest_options.picker
        codes = self._reads.sample_codes(family.number).tolist()
        used_up: dict[int, tuple[int, SortedFile]] = {}
        for code in codes if gets + samples > 0.0 else ():
            if any(_holds(m.keys, code) for m in family.immutables):
                continue
            searched = files_at(family.tree, code)
            first = next(searched, None)
            if first is None or next(searched, None) is None:
                continue
            file = first[1]
            file.seeks += samples / len(codes) + (0.0 if _finds(file, code) else gets / len(codes))
            if file.seeks >= picker.allowed_seeks(file.size_bytes):
                used_up[file.number] = first
        family.tree.exhausted = list(used_up.values())
        return bool(used_up)


def files_at(tree: Tree, code: int) -> Iterator[tuple[int, SortedFile]]:
    """Files whose range, or the range of a slice, contains a key, in the order in which a lookup searches them."""
    for file in tree.l0:
        if file.lo <= code <= file.hi:
            yield 0, file
    for level in range(1, tree.num_levels):
        for run in tree.runs(level):
            file = run.files[min(int(run.hi.searchsorted(code)), len(run) - 1)]
            if file.lo <= code <= file.hi or any(s.lo <= code <= s.hi for s in file.slices):
                yield level, file


def _finds(file: SortedFile, code: int) -> bool:
    return _holds(file.keys, code) or any(_holds(s.keys, code) for s in file.slices)


def _holds(keys: KeyArray, code: int) -> bool:
    at = int(keys.searchsorted(code))
    return at < len(keys) and int(keys[at]) == code

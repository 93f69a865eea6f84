"""Records of a LOG, in memory up to a number and beyond it in a temporary file, so that memory does not follow the LOG.

The file has blocks of records in file order. Iteration in time order merges the blocks: lines that were logged late overlap
with few others, so few blocks are in memory at a time.
"""

from __future__ import annotations

import heapq
import marshal
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, BinaryIO, Final, Generic, TypeVar, cast

_MOST: Final = 50_000
"""Records in memory (30 MB); a LOG with more goes to a temporary file."""
_BLOCK: Final = 5_000
"""Records per block of the file."""


@dataclass(frozen=True, slots=True)
class Record:
    """Fields that all records have."""

    time_us: int
    """Time of the record: local wall clock in microseconds since 1970, from the line's own time stamp."""
    thread: str
    line: int
    """Line number in the file, from 1."""
    opening: int
    """Number of the open of the store that wrote the record, from 0. Job ids and file numbers are unique within one
    open."""


_R = TypeVar("_R", bound=Record)
_K = TypeVar("_K", bound=Record)


@dataclass(frozen=True, slots=True)
class _Block:
    """Place of a block in the file."""

    at: int
    length: int
    first: tuple[int, int]
    """Time and line of its earliest record."""
    last: Record
    """Its latest record."""


class RecordList(Generic[_R]):
    """Records of a LOG. Iteration is in the order of time, and for equal times in that of the file."""

    def __init__(self, records: Iterable[_R] = ()) -> None:
        self._recent = list(records)
        self._blocks: list[_Block] = []
        self._file: BinaryIO | None = None
        self._end = 0
        self._kinds: list[type[_R]] = []
        """Classes of the records in the file; its rows have their index."""
        self._getters: list[Callable[[_R], tuple[Any, ...]]] = []
        """By class: getter of a record's values in the order of its constructor."""
        self.last: _R | None = None
        """Latest record; known after `sort`."""
        self.sort()

    def __len__(self) -> int:
        return _BLOCK * len(self._blocks) + len(self._recent)

    def __iter__(self) -> Iterator[_R]:
        return cast("Iterator[_R]", self.of(object))

    def append(self, record: _R) -> None:
        """Add the next record of the file."""
        self._recent.append(record)
        if len(self._recent) >= (_BLOCK if self._blocks else _MOST):
            self._spill()

    def sort(self) -> None:
        """Order the records by time, after the last one was added."""
        if not self._blocks:
            self._recent.sort(key=_moment)
        latest = [*(cast(_R, block.last) for block in self._blocks), *self._recent]
        self.last = max(latest, key=_moment, default=None)

    def of(self, *kinds: type[_K]) -> Iterator[_K]:
        """Yield the records of these kinds in the order of time."""
        if not self._blocks:
            yield from (record for record in self._recent if isinstance(record, kinds))
            return
        waiting = sorted(self._blocks, key=lambda block: block.first, reverse=True)
        recent = iter(sorted((r for r in self._recent if isinstance(r, kinds)), key=_moment))
        heap: list[tuple[tuple[int, int], int, _K, Iterator[_K]]] = []
        """Of each block in memory: the place of its next record in time, its own place, this record, and those after it."""

        def enter(place: int, block: Iterator[_K]) -> None:
            if (record := next(block, None)) is not None:
                heapq.heappush(heap, (_moment(record), place, record, block))

        enter(self._end, recent)
        while heap or waiting:
            while waiting and (not heap or waiting[-1].first <= heap[0][0]):
                block = waiting.pop()
                enter(block.at, iter(sorted(self._read(block, *kinds), key=_moment)))
            if heap:
                _, place, record, rest = heapq.heappop(heap)
                yield record
                enter(place, rest)

    def in_file_order(self, *kinds: type[_K]) -> Iterator[_K]:
        """Yield the records of these kinds in the order of the file."""
        for block in self._blocks:
            yield from self._read(block, *kinds)
        yield from sorted((r for r in self._recent if isinstance(r, kinds)), key=attrgetter("line"))

    def move_back(self, first: int, by_us: int, applies: Callable[[_R], bool]) -> None:
        """Make the times of the records from index `first` on, in file order, earlier where `applies`; before `sort`."""

        def moved(record: _R) -> _R:
            return replace(record, time_us=record.time_us - by_us) if applies(record) else record

        for number in range(first // _BLOCK, len(self._blocks)):
            records = list(self._read(self._blocks[number], *self._kinds))
            begin = max(0, first - number * _BLOCK)
            self._blocks[number] = self._written([*records[:begin], *map(moved, records[begin:])])
        begin = max(0, first - _BLOCK * len(self._blocks))
        self._recent[begin:] = map(moved, self._recent[begin:])

    def _spill(self) -> None:
        """Write all complete blocks into the file."""
        whole = len(self._recent) // _BLOCK * _BLOCK
        self._blocks += [self._written(self._recent[i : i + _BLOCK]) for i in range(0, whole, _BLOCK)]
        del self._recent[:whole]

    def _written(self, records: list[_R]) -> _Block:
        if self._file is None:
            self._file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - open as long as the records are in use
        rows = []
        for record in records:
            if (kind := type(record)) not in self._kinds:
                self._kinds.append(kind)
                self._getters.append(attrgetter(*(f.name for f in fields(kind))))
            number = self._kinds.index(kind)
            rows.append((number, *self._getters[number](record)))
        packed = zlib.compress(marshal.dumps(rows), 1)
        self._file.seek(self._end)
        self._file.write(packed)
        self._end += len(packed)
        return _Block(self._end - len(packed), len(packed), min(map(_moment, records)), max(records, key=_moment))

    def _read(self, block: _Block, *kinds: type[_K]) -> Iterator[_K]:
        assert self._file is not None
        self._file.seek(block.at)
        classes: dict[int, Any] = {n: kind for n, kind in enumerate(self._kinds) if issubclass(kind, kinds)}
        rows: list[tuple[Any, ...]] = marshal.loads(zlib.decompress(self._file.read(block.length)))
        return (classes[row[0]](*row[1:]) for row in rows if row[0] in classes)


def _moment(record: Record) -> tuple[int, int]:
    return record.time_us, record.line

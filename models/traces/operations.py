"""Operations of a trace as arrays, and their collection from records within limits of number, memory and time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from numpy.typing import NDArray

MOST_OPERATIONS: Final = 20_000_000
"""Largest number of operations of a trace; each takes 33 bytes."""
MOST_KEY_BYTES: Final = 1 << 30
"""Largest size of all distinct keys of a trace together."""
MOST_ENTRY_BYTES: Final = (1 << 31) - 1
"""Largest size of a key or a value."""
_LONGEST_S: Final = 366 * 86_400.0
"""Longest time from the first to the last operation."""
_REORDERED_S: Final = 1.0
"""Time by which an operation may be older than one before it without a word: threads take their times apart."""
UNKNOWN: Final = -1
"""In place of a size that the trace does not contain."""
_ORDER_SEED: Final = 0
_FINEST: Final = 2.0**-52
"""Distance of places from which on they are equal."""


class Kind(IntEnum):
    """Kinds of operations."""

    GET = 0
    PUT = 1
    DELETE = 2
    MERGE = 3
    RANGE_DELETE = 4
    SEEK = 5


@dataclass(frozen=True, eq=False)
class Operations:
    """Operations in the order of the trace. All arrays have the shape (operations,)."""

    form: str
    """Format of the trace in words."""
    kind: NDArray[np.uint8]
    """`Kind` of each operation."""
    key: NDArray[np.int64]
    """Number of its key: 0 … keys - 1, in key order."""
    places: NDArray[np.float64]
    """Place of each distinct key in the key space, ascending in [0, 1). Shape (keys,)."""
    key_bytes: NDArray[np.int64]
    value_bytes: NDArray[np.int64]
    """Size of the value that a put or merge writes, or a get finds; `UNKNOWN` where the trace does not contain it."""
    time_s: NDArray[np.float64] | None
    """Time after the first operation, ascending; None for a trace without times."""
    begins_us: int | None
    """Time of the first operation on the clock of the machine; None if its origin is unknown."""
    complete: bool
    """Whether the trace has its end; otherwise the time at which tracing stopped is unknown."""
    write_batches: int
    """Number of write batches; 0 if the trace does not contain them."""
    families: dict[int, int]
    """Operations by number of the column family."""
    notes: tuple[str, ...]
    """What the trace does not tell, or what was read differently, one sentence each."""

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def keys(self) -> int:
        """Number of distinct keys."""
        return len(self.places)

    @property
    def length_s(self) -> float | None:
        """Time from the first to the last operation; None for a trace without times."""
        return None if self.time_s is None else float(self.time_s[-1])

    def counts(self) -> dict[Kind, int]:
        """Return the number of operations of each kind that occurs."""
        found = np.bincount(self.kind, minlength=len(Kind))
        return {kind: int(found[kind]) for kind in Kind if found[kind]}

    def of(self, *kinds: Kind) -> NDArray[np.bool_]:
        """Return which operations are of these kinds."""
        return np.isin(self.kind, [int(kind) for kind in kinds])


class OperationList:
    """Operations while they are read. Errors name the `source` and the record."""

    def __init__(self, source: str, unit: str = "record") -> None:
        """`unit`: what the number in an error counts, record or line."""
        self.source, self.unit = source, unit
        self.families: dict[int, int] = {}
        self._kind, self._key, self._time_us = array("B"), array("q"), array("q")
        self._key_bytes, self._value_bytes = array("q"), array("q")
        self._numbers: dict[bytes, int] = {}
        self._distinct_bytes = 0

    def __len__(self) -> int:
        return len(self._kind)

    def damaged(self, number: int, what: str) -> InputError:
        """Return the error of a record that cannot be read."""
        return InputError(
            f"{self.source}: {self.unit} {number:,} is damaged ({what}); give the part before it, or record the trace again"
        )

    def add(
        self, number: int, kind: Kind, key: bytes, value_bytes: int, time_us: int, *, family: int = 0,
        key_bytes: int | None = None, times: int = 1,
    ) -> None:  # fmt: skip
        """Add an operation, or several equal ones (`times`), of record `number`. Raises InputError beyond a limit.

        `key_bytes`: size of the real key, if `key` has another one.
        """
        size = len(key) if key_bytes is None else key_bytes
        if not 0 <= size <= MOST_ENTRY_BYTES or value_bytes > MOST_ENTRY_BYTES:
            raise self.damaged(number, f"a key of {size:,} B and a value of {value_bytes:,} B")
        if len(self._kind) + times > MOST_OPERATIONS:
            raise InputError(
                f"{self.source}: more than {MOST_OPERATIONS:,} operations, from {self.unit} {number:,} on; give the part before"
                " it, such as with head -c (RocksDB's trace) or head -n (text)"
            )
        after_s = (time_us - self._time_us[0]) / 1e6 if self._time_us else 0.0
        if not -_REORDERED_S <= after_s <= _LONGEST_S:
            raise self.damaged(number, f"its time is {after_s:,.0f} s after that of the first operation")
        self.families[family] = self.families.get(family, 0) + times
        rows = ((self._kind, int(kind)), (self._key, self._number(number, key, family)), (self._key_bytes, size),
                (self._value_bytes, value_bytes), (self._time_us, time_us))  # fmt: skip
        for column, value in rows:
            if times == 1:
                column.append(value)
            else:
                column.extend([value] * times)

    def _number(self, number: int, key: bytes, family: int) -> int:
        """Return the number of a key in the order in which keys occur; those of other families are other keys."""
        name = b"%08x" % family + key if family else key
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = len(self._numbers)
            self._distinct_bytes += len(name)
            if self._distinct_bytes > MOST_KEY_BYTES:
                raise InputError(
                    f"{self.source}: its distinct keys have more than {MOST_KEY_BYTES >> 20:,} MiB, from {self.unit}"
                    f" {number:,} on; give the part before it"
                )
        return found

    def finished(
        self, form: str, *, timed: bool = True, ordered: bool = True, absolute: bool = True, complete: bool = True,
        write_batches: int = 0, notes: tuple[str, ...] = (),
    ) -> Operations:  # fmt: skip
        """Return the operations. Raises InputError if there is none.

        `timed`: whether the records have times, `absolute`: whether these are times of day; `ordered`: whether the keys have
        the order of the store's. Without it the order is unknown, and keys are numbered at random.
        """
        if not self._kind:
            raise InputError(f"{self.source}: contains no operation; give a trace that was recorded while clients were active")
        names = sorted(self._numbers)
        ranks = np.empty(len(names), dtype=np.int64)
        ranks[[self._numbers[name] for name in names]] = np.arange(len(names), dtype=np.int64)
        if not ordered:
            ranks = np.random.default_rng(_ORDER_SEED).permutation(len(names)).astype(np.int64)[ranks]
        time_us = np.array(self._time_us, dtype=np.int64)
        latest_us = np.maximum.accumulate(time_us)
        back_s = float((latest_us - time_us).max()) / 1e6
        if back_s > _REORDERED_S:
            notes = (*notes, f"the clock of the trace went back by up to {back_s:,.0f} s; the time in between counts once")
        return Operations(
            form, np.array(self._kind, dtype=np.uint8), ranks[np.array(self._key, dtype=np.int64)],
            places_of(names) if ordered else _even(len(names)),
            np.array(self._key_bytes, dtype=np.int64), np.array(self._value_bytes, dtype=np.int64),
            (latest_us - latest_us[0]) / 1e6 if timed else None, int(time_us[0]) if timed and absolute else None, complete,
            write_batches, dict(sorted(self.families.items())), notes,
        )  # fmt: skip


def places_of(names: Sequence[bytes]) -> NDArray[np.float64]:
    """Return the places of ascending, distinct keys in the key space, in [0, 1).

    Keys of one length are numbers whose digits are the bytes that occur at each position, so numbers in binary, decimal or
    hexadecimal digits, and hashes, keep their distances. Keys of several lengths are spread evenly.

    >>> places_of([b"000", b"001", b"100", b"101"]).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    length = len(names[0])
    if not length or any(len(name) != length for name in names):
        return _even(len(names))
    table = np.frombuffer(b"".join(names), dtype=np.uint8).reshape(len(names), length)
    places, width = np.zeros(len(names)), 1.0
    for column in table.T:
        used = np.flatnonzero(np.bincount(column, minlength=256))
        if len(used) == 1:
            continue
        width /= len(used)
        places += width * used.searchsorted(column)
        if width < _FINEST:
            break
    return places


def _even(count: int) -> NDArray[np.float64]:
    return (np.arange(count) + 0.5) / count

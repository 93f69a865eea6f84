"""Row of the table of candidates: what it changes, why, what it relieves, and how a value follows from the present one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Final

from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.studies.present import Condition, Present, anywhere

_MIB: Final = 1 << 20
_LEAST_WRITE_BUFFER_BYTES: Final = 64 << 10
"""Smallest memtable of RocksDB (SanitizeCfOptions)."""


class ChangeKind(Enum):
    """Kinds of changes, the cheap ones first."""

    OPTIONS = "options"
    """Options of RocksDB that take effect at once or at the next start: an OPTIONS file contains them."""
    COMPRESSION = "compression"
    """Options whose effect depends on how well the data compress, which a store without compression does not show."""
    MIGRATION = "migration"
    """Options of RocksDB that reorganize the files of the store."""
    MACHINE = "machine"
    """Another drive, host or limit."""
    POLICIES = "policies"
    """Another engine, most of them from research."""
    APPLICATION = "application"
    """Another use of the store by its application."""


class Symptom(StrEnum):
    """What a change may relieve beside a bottleneck."""

    MEMTABLE_STALL = "memtable"
    """Writers were stopped or slowed because memtables were full."""
    L0_STALL = "l0"
    """Writers were stopped or slowed by files in L0."""
    PENDING_STALL = "pending"
    """Writers were stopped or slowed by compaction debt."""
    SMALL_FLUSHES = "small_flushes"
    """Most flushes are of memtables that were not full: a shared budget, or old WALs, forced them."""
    READS = "reads"
    """No write stall, and a load with reads: their cost decides."""
    CLIENTS = "clients"
    """No write stall, and operations that wait for a thread of the clients."""


Value = Callable[[Present, Any], Any]
"""New value from the present state and the present value of the key; None: no candidate."""
Relief = Bottleneck | Symptom


@dataclass(frozen=True)
class Row:
    """One row of the table of candidates."""

    changes: Mapping[str, Value]
    """New value by option, or by path of another key of the configuration."""
    why: str
    """Mechanism by which it may help."""
    relieves: Set[Relief] = frozenset()
    """What it gives more of, or ends: a bottleneck, or the cause of stalls."""
    spares: Set[Relief] = frozenset()
    """What it needs less of."""
    where: Condition = anywhere
    """Where it makes sense, beside the conditions of its options (`in_effect`)."""
    kind: ChangeKind = ChangeKind.OPTIONS
    restart: bool = False
    """Whether it makes an object of the store, such as a block cache, or does without it."""


def times(factor: float) -> Value:
    """Return a value multiplied by `factor`; a value of 0 or less, which means none or automatic, stays."""
    return lambda _, now: type(now)(now * factor) if now > 0 else now


def halved(least: float = 1) -> Value:
    """Return half a value, at least `least`."""
    return lambda _, now: max(type(now)(least), type(now)(now / 2)) if now > least else now


def plus(count: int) -> Value:
    """Return a value with `count` added."""
    return lambda _, now: now + count


def to(value: Any) -> Value:
    """Return one value in place of any other."""
    return lambda *_: value


def at_least(value: Any) -> Value:
    """Return a value that is raised to this one."""
    return lambda _, now: max(value, now)


def at_most(value: Any) -> Value:
    """Return a value that is lowered to this one."""
    return lambda _, now: min(value, now)


def from_none(value: Any) -> Value:
    """Return this value in place of 0, which means none."""
    return lambda _, now: now or value


def flipped(_: Present, now: Any) -> Any:
    """Return the other truth value."""
    return not now


def more_cores(present: Present, now: Any) -> Any:
    """Return the number of cores, if more than the present value."""
    return max(int(now), int(present.cores))


def fewer_cores(present: Present, now: Any) -> Any:
    """Return the number of cores (two at least), if less than the present value."""
    return min(int(now), max(2, int(present.cores))) if present.cores else now


def twice_cores(present: Present, _: Any) -> Any:
    """Return twice the number of cores."""
    return 2 * present.cores or None


def twice_threads(_: Present, now: Any) -> Any:
    """Return twice a number of threads of one of the two old options, of which -1 is one thread (DBImpl::GetBGJobLimits)."""
    return 2 * max(1, now)


def as_large_as_l0(present: Present, _: Any) -> Any:
    """Return the bytes of L0 at the start of its compaction; None if they are not known."""
    size, files = (present.options.get(name) for name in ("write_buffer_size", "level0_file_num_compaction_trigger"))
    return int(size) * int(files) if size and files else None


def longer_wals(present: Present, now: Any) -> Any:
    """Return four times the limit of all WALs; 0 means four times the memtables of all families (here of equal ones)."""
    size, count = (int(present.options.get(name) or 0) for name in ("write_buffer_size", "max_write_buffer_number"))
    return 4 * (now or 4 * size * count * present.families) or None


def above_present_writes(present: Present, _: Any) -> Any:
    """Return twice the present mean rate of writes to the device, in whole MiB/s; None if it is not known."""
    rate = (present.summary.get("device") or {}).get("write_bytes_per_s")
    return max(1, round(2.0 * rate / _MIB)) * _MIB if rate else None


def as_the_last_level(_: Present, now: Any) -> Any:
    """Return a list of codecs by level with the last one only, which then holds for all levels; None if there is none."""
    return [now[-1]] if now else None


def smaller_memtables(_: Present, now: Any) -> Any:
    """Return half the size of a memtable, within RocksDB's range."""
    return max(_LEAST_WRITE_BUFFER_BYTES, now // 2)

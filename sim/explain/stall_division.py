"""Division of the stalled time among what held it up: threads, locked files, device, cores, limits, or a job's own speed.

At each moment of a stall some work must end before the stall can end: the oldest flush for a memtable stall, the oldest
compaction out of L0 for an L0 stall, any compaction for a stall on pending bytes. If this work runs, the moment is divided
by the waits of the job; if not, the reason why it does not run has the moment. background/stalls.md has the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

import numpy as np
from lsmlab.sim.clients.latency import Floats
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Holder(StrEnum):
    """What held up a stall."""

    FLUSH_SLOTS = "flush_slots"
    """All flush threads were busy."""
    COMPACTION_SLOTS = "compaction_slots"
    """All compaction threads were busy with other work."""
    LATE_START = "late_start"
    """The compaction out of L0 ran, but began late: before the stall, all compaction threads were busy with other work."""
    LOCKED_FILES = "locked_files"
    """A thread was free, but another compaction had locked the files."""
    DEVICE = "device"
    WRITE_CAP = "write_cap"
    READ_CAP = "read_cap"
    IOPS_CAP = "iops_cap"
    LIMITER = "rate_limiter"
    CORES = "cores"
    SYNC = "fsync"
    PAUSED = "paused"
    """The scheduler had paused the job."""
    OWN_SPEED = "own_speed"
    """The job read, computed and wrote without a wait."""
    UNKNOWN = "unknown"
    """The job ran, and its waits are not recorded; or nothing recorded tells why it did not run."""
    THROTTLE = "throttle"
    """No job ran or waited that could end the stall, or a slowdown began before it was due."""
    ERROR = "background_error"
    MANAGER = "write_buffer_manager"
    """The memtables of all databases of a write buffer manager took its whole buffer."""


HOLDERS: Final = tuple(Holder)
NUMBER: Final = {holder: number for number, holder in enumerate(HOLDERS)}


class Work(IntEnum):
    """Work that must end before a stall can end."""

    FLUSH = 0
    L0_COMPACTION = 1
    COMPACTION = 2
    RECOVERY = 3
    """Recovery from a background error."""
    MEMORY = 4
    """Flushes of any database of the write buffer manager."""
    INGESTION = 5
    """A flush, if a memtable overlaps the files, and the commit to the MANIFEST."""


_WORK_OF: Final = {
    "memtable": Work.FLUSH, "l0": Work.L0_COMPACTION, "pending": Work.COMPACTION, "background": Work.RECOVERY,
    "write": Work.MEMORY, "ingestion": Work.INGESTION,
}  # fmt: skip


def work_of(cause: str) -> Work:
    """Return the work that a stall of this cause waits for."""
    return _WORK_OF[cause.partition("_")[0]]


class Slots(NamedTuple):
    """Threads of one database."""

    flushes: int
    compactions: int
    l0_trigger: int
    """Files in L0 from which a compaction out of L0 is due."""


@dataclass(frozen=True, slots=True)
class Stalls:
    """Stalls, one per row of each array."""

    database: Ints
    family: Ints
    start_s: Floats
    end_s: Floats
    work: Ints
    """`Work` that must end."""
    slowdown: Bools
    """Whether writers were slowed, not stopped."""
    stalled_s: Floats
    """Time to divide: the length of the stall, or the part of it that writers waited."""
    transfer: Ints
    """Number of the holder of reads and writes (`NUMBER`): the device, or the cap in fuller use than the device."""
    saturated: Bools
    """Whether that holder was in full use: reads and writes at full speed were then held up by it, too."""
    cores_saturated: Bools
    """Whether the cores were in full use: computing was then held up by them, too, for no other thread could help."""


WAITS: Final = ("device", "device_alone", "core", "limiter", "sync", "paused")
"""Parts of a job's time whose shares `Jobs.shares` has: waits, and reads and writes at full speed ("device_alone")."""
_STALLS_AT_ONCE: Final = 250
"""Stalls that are divided together: their moments, and the jobs at each of them, are in memory at the same time."""
_SAME_S: Final = 1e-6
"""Times that differ by less are the same: rounding errors."""
_HOLDER_OF: Final = {"core": Holder.CORES, "limiter": Holder.LIMITER, "sync": Holder.SYNC, "paused": Holder.PAUSED}


@dataclass(frozen=True, slots=True)
class Jobs:
    """Background jobs, one per row of each array; moves and other edits of metadata are left out."""

    database: Ints
    family: Ints
    queued_s: Floats
    """Time from which the request of the job waited for a thread; the start if that is not known."""
    start_s: Floats
    end_s: Floats
    flush: Bools
    works: Bools
    """Whether the end of the job can end a stall; a discarded job only occupies a thread."""
    start_level: Ints
    output_level: Ints
    known: Bools
    """Whether all waits of the job are recorded; not for a LOG, and not for a job that is unfinished at the end."""
    shares: Floats
    """Share of each job's time by wait. Shape (jobs, waits), in the order of `WAITS`; at most 1 per job."""


class Held(NamedTuple):
    """Pieces of stalled time; their seconds add up to those of all stalls."""

    stall: Ints
    """Row of the stall."""
    holder: Ints
    """Number of the holder (`NUMBER`)."""
    job: Ints
    """Row of the job that the holder held up, or that occupied the thread or had locked the files; -1: none."""
    seconds: Floats


def divide(stalls: Stalls, jobs: Jobs, slots: Slots | None) -> Held:
    """Divide the time of each stall; `slots`: threads per database, None if they are unknown."""
    pieces = [Held(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for database in sorted(set(stalls.database.tolist())):
        mine = np.flatnonzero(stalls.database == database)
        own = np.flatnonzero(jobs.database == database)
        own = own[np.argsort(jobs.start_s[own], kind="stable")]
        for some in np.split(mine, range(_STALLS_AT_ONCE, len(mine), _STALLS_AT_ONCE)):
            found = _Pieces()
            _of_database(stalls, some, jobs, own, slots, found)
            pieces.append(found.by_wait(stalls, jobs))
    return Held(*(np.concatenate(column) for column in zip(*pieces, strict=True)))


class _Running(NamedTuple):
    """Stalled time at which a job ran that had to end."""

    stall: Ints
    job: Ints
    free: Ints
    """Number of the holder of the job's time without a wait."""
    late_s: Floats
    """Time that the job was due before the stall while all threads were busy: it would have ended so much earlier."""
    seconds: Floats


class _Pieces:
    """Collector of pieces: those of running jobs, which are still to be divided by the job's waits, and all others."""

    def __init__(self) -> None:
        self._running: list[_Running] = []
        self._others: list[Held] = []

    def running(self, which: Bools | Ints, stall: Ints, job: Ints, free: Ints, late_s: Floats, seconds: Floats) -> None:
        """Add those moments of `which`."""
        self._running.append(_Running(stall[which], job[which], free[which], late_s[which], seconds[which]))

    def held(self, holder: Holder, stall: Ints, job: Ints, seconds: Floats) -> None:
        """Add moments of one holder."""
        self._others.append(Held(stall, np.full(len(stall), NUMBER[holder]), job, seconds))

    def by_wait(self, stalls: Stalls, jobs: Jobs) -> Held:
        """Return all pieces, those of running jobs divided by their waits."""
        pieces = list(self._others)
        if self._running:
            pieces += _by_wait(_joined(_Running(*map(np.concatenate, zip(*self._running, strict=True)))), stalls, jobs)
        if not pieces:
            return Held(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        return _summed(Held(*(np.concatenate(column) for column in zip(*pieces, strict=True))))


def _joined(ran: _Running) -> _Running:
    """Add up the moments of the same stall, job and holder."""
    jobs, holders = int(ran.job.max(initial=0)) + 1, len(HOLDERS)
    _, first, place = np.unique((ran.stall * jobs + ran.job) * holders + ran.free, return_index=True, return_inverse=True)
    total = np.asarray(np.bincount(place, ran.seconds, minlength=len(first)), dtype=np.float64)
    return _Running(ran.stall[first], ran.job[first], ran.free[first], ran.late_s[first], total)


def _by_wait(ran: _Running, stalls: Stalls, jobs: Jobs) -> list[Held]:
    """Divide the time of running jobs by their waits. A late start takes of the time without a recorded wait."""
    stall, job, shares = ran.stall, ran.job, jobs.shares[ran.job]
    free = np.where(stalls.cores_saturated[stall], NUMBER[Holder.CORES], ran.free)
    rest = np.where(jobs.known[job], free, NUMBER[Holder.UNKNOWN])
    pieces = [
        _with_time(Held(stall, _holder_of(wait, stalls, stall, free), job, ran.seconds * shares[:, number]))
        for number, wait in enumerate(WAITS)
    ]
    left_s = ran.seconds * np.maximum(0.0, 1.0 - shares.sum(axis=1))
    late_s = np.where(rest == NUMBER[Holder.CORES], 0.0, np.minimum(ran.late_s, left_s))
    late = np.full(len(stall), NUMBER[Holder.LATE_START])
    return [*pieces, _with_time(Held(stall, late, job, late_s)), _with_time(Held(stall, rest, job, left_s - late_s))]


def _with_time(held: Held) -> Held:
    """Return the pieces without those that have no time; most jobs have few of the waits."""
    some = held.seconds > 0.0
    return Held(held.stall[some], held.holder[some], held.job[some], held.seconds[some])


def _summed(held: Held) -> Held:
    """Add up the pieces of the same stall, holder and job, and leave out those without time."""
    stall, holder, job, seconds = _with_time(held)
    jobs = int(job.max(initial=-1)) + 2
    key, place = np.unique((stall * len(HOLDERS) + holder) * jobs + job + 1, return_inverse=True)
    total = np.asarray(np.bincount(place, seconds, minlength=len(key)), dtype=np.float64)
    return Held(key // jobs // len(HOLDERS), key // jobs % len(HOLDERS), key % jobs - 1, total)


def _holder_of(wait: str, stalls: Stalls, stall: Ints, free: Ints) -> Ints:
    """Return the number of the holder of a wait of jobs in stalls; `free`: that of their time without a wait."""
    transfer = stalls.transfer[stall]
    if wait == "device":
        return transfer
    if wait == "device_alone":
        result: Ints = np.where(stalls.saturated[stall], transfer, free)
        return result
    own = np.full(len(stall), NUMBER[_HOLDER_OF[wait]])
    if wait == "sync":  # the requests of an fsync wait in line for a cap
        own = np.where(transfer == NUMBER[Holder.DEVICE], own, transfer)
    return own


# --- moments of one database --------------------------------------------------------------------------------------------


class _Moments:
    """Times between two changes of the stalls and jobs of a database, those without a stall left out."""

    def __init__(self, stalls: Stalls, mine: Ints, jobs: Jobs, own: Ints) -> None:
        ends = (stalls.start_s[mine], stalls.end_s[mine], jobs.queued_s[own], jobs.start_s[own], jobs.end_s[own])
        self._edges = np.unique(np.concatenate(ends))
        first, last = (np.searchsorted(self._edges, at_s) for at_s in ends[:2])
        change = np.bincount(first, minlength=len(self._edges)) - np.bincount(last, minlength=len(self._edges))
        covered = np.cumsum(change)[:-1] > 0
        self._place = np.concatenate(([0], np.cumsum(covered)))
        self.length_s: Floats = np.diff(self._edges)[covered]

    def of(self, starts: Floats, ends: Floats) -> tuple[Ints, Ints]:
        """Return (row, moment) for each interval and moment in it, by row and moment."""
        first = self._place[np.searchsorted(self._edges, starts)]
        count = np.maximum(self._place[np.searchsorted(self._edges, ends)] - first, 0)
        rows = np.repeat(np.arange(len(starts)), count)
        at = np.arange(len(rows)) + np.repeat(first - (np.cumsum(count) - count), count)
        return rows, at


class _Stalled(NamedTuple):
    """Moments of stalls: one row per stall and moment in it."""

    stall: Ints
    at: Ints
    """Number of the moment."""
    key: Ints
    """Number of moment and column family."""
    work: Ints
    seconds: Floats


class _Present:
    """Jobs of a database that run or wait at each moment."""

    def __init__(self, moments: _Moments, jobs: Jobs, own: Ints, families: int) -> None:
        size, keys = len(moments.length_s), len(moments.length_s) * families
        row, when = moments.of(jobs.start_s[own], jobs.end_s[own])
        running = own[row]
        key, flush, works = when * families + jobs.family[running], jobs.flush[running], jobs.works[running]
        compacts = ~flush & works
        l0 = compacts & (jobs.start_level[running] == 0)
        holds = compacts & _at_base(jobs, own)[running]
        self.oldest_flush = _oldest(key[flush & works], running[flush & works], keys)
        self.oldest_flush_of_all = _oldest(when[flush & works], running[flush & works], size)
        """The same over all families: an ingestion may flush any."""
        self.oldest_l0 = _oldest(key[l0], running[l0], keys)
        self.flushes = _Group(when[flush], running[flush], size)
        self.compactions = _Group(when[~flush], running[~flush], size)
        self.of_family = _Group(key[compacts], running[compacts], keys)
        """Compactions by moment and family."""
        self.lockers = _Group(key[holds], running[holds], keys)
        """Compactions that hold files of the level below L0, by moment and family."""
        row, when = moments.of(jobs.queued_s[own], jobs.start_s[own])
        waiting = own[row]
        key, flush = when * families + jobs.family[waiting], jobs.flush[waiting]
        self.flush_waits = np.bincount(key[flush], minlength=keys) > 0
        self.compaction_waits = np.bincount(key[~flush], minlength=keys) > 0


def _of_database(stalls: Stalls, mine: Ints, jobs: Jobs, own: Ints, slots: Slots | None, found: _Pieces) -> None:
    """Add the pieces of the stalls `mine` of one database with its jobs `own`, which are sorted by start time."""
    moments = _Moments(stalls, mine, jobs, own)
    families = int(max(stalls.family[mine].max(initial=0), jobs.family[own].max(initial=0))) + 1
    row, at = moments.of(stalls.start_s[mine], stalls.end_s[mine])
    length_s = stalls.end_s[mine] - stalls.start_s[mine]
    per_s = np.divide(stalls.stalled_s[mine], length_s, out=np.zeros(len(mine)), where=length_s > 0.0)
    stall = mine[row]
    stalled = _Stalled(
        stall, at, at * families + stalls.family[stall], stalls.work[stall], moments.length_s[at] * per_s[row]
    )  # fmt: skip
    present = _Present(moments, jobs, own, families)
    most = slots or Slots(len(jobs.flush) + 1, len(jobs.flush) + 1, 1)

    ingests = stalled.work == Work.INGESTION
    for_flush = (stalled.work == Work.FLUSH) | ingests
    flush = np.where(ingests, present.oldest_flush_of_all[at], present.oldest_flush[stalled.key])
    flush_runs = for_flush & (flush >= 0)
    flush_slots = for_flush & ~flush_runs & (present.flushes.count[at] >= most.flushes)
    held = for_flush & ~flush_runs & ~flush_slots & ~ingests & present.flush_waits[stalled.key]  # a full L0 lets no flush start
    for_l0 = (stalled.work == Work.L0_COMPACTION) | held
    l0_runs = for_l0 & (present.oldest_l0[stalled.key] >= 0)
    for_any = stalled.work == Work.COMPACTION
    any_runs = for_any & (present.of_family.count[stalled.key] > 0)
    _add_running(stalls, jobs, own, slots, stalled, present, flush, (flush_runs, l0_runs, any_runs), found)

    left = (for_l0 & ~l0_runs) | (for_any & ~any_runs)
    busy = present.compactions.count[at]
    full = left & (busy > 0) & ((busy >= most.compactions) | present.compaction_waits[stalled.key])
    locked = left & ~full & (present.lockers.count[stalled.key] > 0) & (slots is not None)
    unclear = left & ~full & ~locked & (present.of_family.count[stalled.key] > 0)
    for holder, which, group, number in (
        (Holder.FLUSH_SLOTS, flush_slots, present.flushes, at), (Holder.COMPACTION_SLOTS, full, present.compactions, at),
        (Holder.LOCKED_FILES, locked, present.lockers, stalled.key),
        (Holder.UNKNOWN, unclear, present.of_family, stalled.key),
    ):  # fmt: skip
        pair, job, part = group.members(number, which)
        found.held(holder, stall[pair], job, stalled.seconds[pair] * part)
    error = stalled.work == Work.RECOVERY
    memory = stalled.work == Work.MEMORY
    commits = ingests & ~flush_runs & ~flush_slots
    nothing = ~(flush_runs | flush_slots | l0_runs | any_runs | full | locked | unclear | error | memory | commits)
    for holder, which in (
        (Holder.THROTTLE, nothing), (Holder.ERROR, error), (Holder.MANAGER, memory), (Holder.SYNC, commits),
    ):  # fmt: skip
        found.held(holder, stall[which], np.full(int(which.sum()), -1), stalled.seconds[which])


def _add_running(
    stalls: Stalls, jobs: Jobs, own: Ints, slots: Slots | None, stalled: _Stalled, present: _Present, flush: Ints,
    runs: tuple[Bools, Bools, Bools], found: _Pieces,
) -> None:  # fmt: skip
    """Add the moments at which the work ran: a flush, a compaction out of L0, or any compaction (`runs`).

    `flush`: the flush that must end at each moment.
    """
    stall, _, key, _, seconds = stalled
    flush_runs, l0_runs, any_runs = runs
    on_time, speed = np.zeros(len(stall)), NUMBER[Holder.OWN_SPEED]
    beside = np.where(present.flush_waits[key], NUMBER[Holder.FLUSH_SLOTS], speed)  # another flush could have run, too
    found.running(flush_runs, stall, flush, beside, on_time, seconds)

    pair, job, part = present.of_family.members(key, any_runs)
    beside = np.where(present.compaction_waits[key[pair]], NUMBER[Holder.COMPACTION_SLOTS], speed)
    found.running(np.arange(len(pair)), stall[pair], job, beside, on_time[pair], seconds[pair] * part)

    job, stall, seconds = present.oldest_l0[key[l0_runs]], stall[l0_runs], seconds[l0_runs]
    begins_s, late_s, early = stalls.start_s[stall], np.zeros(len(job)), np.zeros(len(job), dtype=np.bool_)
    if slots is not None and len(job):
        due_s = _due_s(jobs, own, slots.l0_trigger)[job]
        late_s = _late_s(jobs, own, slots.compactions, due_s, np.minimum(jobs.start_s[job], begins_s))
        early = stalls.slowdown[stall] & (due_s >= begins_s - _SAME_S)  # slowed before the store could act
    free = np.where(early, NUMBER[Holder.THROTTLE], speed)
    found.running(np.arange(len(job)), stall, job, free, late_s, seconds)


def _due_s(jobs: Jobs, own: Ints, l0_trigger: int) -> Floats:
    """Return the time at which each compaction out of L0 was due; infinity for other jobs.

    It is due once as many flushes have ended as L0 needs files for a compaction, counted from the start of the compaction
    out of L0 before it, and once that one has ended.
    """
    due_s = np.full(len(jobs.flush) + 1, np.inf)
    for family in sorted(set(jobs.family[own].tolist())):
        rows = own[(jobs.family[own] == family) & jobs.works[own]]
        flushed_s = np.sort(jobs.end_s[rows[jobs.flush[rows]]])
        l0 = rows[~jobs.flush[rows] & (jobs.start_level[rows] == 0)]
        before_s = np.concatenate(([-np.inf], jobs.start_s[l0[:-1]]))[: len(l0)]
        ended_s = np.concatenate(([-np.inf], np.maximum.accumulate(jobs.end_s[l0[:-1]])))[: len(l0)]
        enough = np.searchsorted(flushed_s, before_s, side="right") + l0_trigger - 1
        filled_s = np.concatenate((flushed_s, [np.inf]))[np.minimum(enough, len(flushed_s))]
        due_s[l0] = np.maximum(filled_s, ended_s)
    return due_s


def _late_s(jobs: Jobs, own: Ints, compactions: int, due_s: Floats, before_s: Floats) -> Floats:
    """Return the time between each `due_s` and `before_s` in which all threads for `compactions` were busy."""
    full = own[~jobs.flush[own]]
    times, order = _sorted_changes(jobs.start_s[full], jobs.end_s[full])
    change = np.concatenate((np.ones(len(full)), -np.ones(len(full))))[order]
    full_s = np.concatenate(([0.0], np.cumsum(np.diff(times) * (np.cumsum(change)[:-1] >= compactions))))
    result: Floats = np.interp(before_s, times, full_s) - np.interp(np.minimum(due_s, before_s), times, full_s)
    return result


def _sorted_changes(starts: Floats, ends: Floats) -> tuple[Floats, Ints]:
    """Return all starts and ends by time, and their order; at equal times an end comes first."""
    times = np.concatenate((starts, ends))
    order = np.lexsort((np.repeat((1, 0), len(starts)), times))
    return times[order], order


def _oldest(keys: Ints, jobs: Ints, size: int) -> Ints:
    """Return the first job of each key, -1 for a key without one. `jobs` are sorted by start time."""
    found = np.full(size, -1, dtype=np.int64)
    found[keys[::-1]] = jobs[::-1]  # of equal keys, the last assignment holds
    return found


class _Group:
    """Jobs by group, such as those that run at the same moment."""

    def __init__(self, groups: Ints, jobs: Ints, size: int) -> None:
        self.count: Ints = np.bincount(groups, minlength=size)
        self._first = np.cumsum(self.count) - self.count
        self._jobs = jobs[np.argsort(groups, kind="stable")]

    def members(self, groups: Ints, which: Bools) -> tuple[Ints, Ints, Floats]:
        """Return (row, job, 1 / jobs of the group) for each job in the group of each row of `groups` with `which`."""
        rows = np.flatnonzero(which)
        count = self.count[groups[rows]]
        first = np.repeat(self._first[groups[rows]] - (np.cumsum(count) - count), count)
        return np.repeat(rows, count), self._jobs[np.arange(len(first)) + first], 1.0 / np.repeat(count, count)


def _at_base(jobs: Jobs, own: Ints) -> Bools:
    """Return whether each job reads or writes the level into which the next compaction out of L0 of its family writes.

    Such a compaction locks files that a compaction out of L0 needs.
    """
    base = np.full(len(jobs.flush), -1, dtype=np.int64)
    out_of_l0 = ~jobs.flush & (jobs.start_level == 0) & (jobs.output_level > 0)
    for family in sorted(set(jobs.family[own].tolist())):
        rows = own[jobs.family[own] == family]
        l0 = rows[out_of_l0[rows]]
        if len(l0):
            after = np.minimum(np.searchsorted(jobs.start_s[l0], jobs.start_s[rows]), len(l0) - 1)
            base[rows] = jobs.output_level[l0][after]
    result: Bools = (base > 0) & ((jobs.start_level == base) | (jobs.output_level == base))
    return result

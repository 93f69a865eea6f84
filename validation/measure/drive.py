"""The requests by which a drive is measured, and the constants that follow from their times.

All requests of a stream follow each other, as those of a flush or compaction with direct I/O do, so their mean time is that of
`models/costs/cost.py`: latency plus bytes over bandwidth. The calibrator solves these equations, together with those of recorded
runs if there are any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
from lsmlab.models.costs.cost import fsyncs, reads, writes
from lsmlab.models.costs.host import Host
from lsmlab.models.errors import InputError
from lsmlab.validation.calibrate.solve import Array, Equation, Values
from lsmlab.validation.calibrate.terms import DurationRow, relative
from lsmlab.validation.measure.patterns import SMALL_BYTES, Drive, Pattern, Timing, Timings

KIB: Final = 1 << 10
MIB: Final = 1 << 20
RUN: Final = "drive"
"""Name of these requests among the runs of a fit."""
_SIZES: Final = (64 * KIB, 256 * KIB, MIB, 4 * MIB)
_STREAMS: Final = (2, 4)
_DEPTHS: Final = (1, 2, 4, 8, 16, 32)
_DEEP: Final = 16
"""Queue depth at which random requests of several sizes tell a limit on operations from one on bytes."""
_LARGER: Final = (16 * KIB, 64 * KIB)
_SMALLEST_BYTES: Final = _STREAMS[-1] * _SIZES[-1]
_BUFFERED_BYTES: Final = 256 * MIB
_BURST_BYTES: Final = 64 << 30
"""Most bytes that the search for the end of an SLC cache writes."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Length of a measurement of a drive."""

    file_bytes: int
    each_s: float
    """Seconds of each pattern."""
    burst_s: float
    """Seconds of the search for the end of an SLC cache or of a credit."""

    @property
    def seconds(self) -> float:
        """Estimated time of the whole measurement."""
        return sum(max(p.seconds for p in step) for step in steps(self)[1:]) + self.file_bytes / 500e6


FULL: Final = Effort(2 << 30, 1.8, 25.0)
QUICK: Final = Effort(512 << 20, 0.5, 5.0)


def steps(effort: Effort) -> list[tuple[Pattern, ...]]:
    """Return the patterns in their order; those of one step run at once. The first fills the file."""
    def named(direction: str, size: int, streams: int = 1, **more: Any) -> Pattern:
        name = f"{direction} {size // KIB} KiB x{streams}"
        name = f"random {name}" if more.get("random") else name
        return Pattern(
            name=name, writes=direction == "write", request_bytes=size, streams=streams, seconds=effort.each_s, **more
        )

    fill = Pattern(name="fill", writes=True, request_bytes=MIB, seconds=90.0, most_bytes=effort.file_bytes)
    burst = Pattern(
        name="burst", writes=True, request_bytes=MIB, seconds=effort.burst_s, streams=2, most_bytes=_BURST_BYTES
    )
    lone = [named(way, size) for way in ("write", "read") for size in _SIZES]
    several = [named(way, MIB, streams) for way in ("write", "read") for streams in _STREAMS]
    small = [named("read", SMALL_BYTES, depth, random=True) for depth in _DEPTHS]
    small += [named("write", SMALL_BYTES, depth, random=True) for depth in (1, _DEEP)]
    larger = [named(way, size, _DEEP, random=True) for way in ("read", "write") for size in _LARGER]
    synced = Pattern(name="fsync", writes=True, request_bytes=SMALL_BYTES, seconds=effort.each_s, synced=True)
    beside = Pattern(name="fsync beside writes", writes=True, request_bytes=SMALL_BYTES, seconds=effort.each_s, synced=True)
    mixed = [
        Pattern(name=f"{way} beside the other", writes=way == "write", request_bytes=MIB, seconds=effort.each_s)
        for way in ("read", "write")
    ]
    cached = [
        Pattern(
            name=f"cached {way}", writes=way == "write", request_bytes=MIB, seconds=effort.each_s, direct=False,
            most_bytes=_BUFFERED_BYTES,
        )
        for way in ("write", "read")
    ]  # fmt: skip
    alone = [lone[:4], several[:2], lone[4:], several[2:], small, larger, [synced], cached]
    one_by_one = [(pattern,) for group in alone for pattern in group]
    writer = Pattern(name="writes beside fsyncs", writes=True, request_bytes=MIB, seconds=effort.each_s)
    return [(fill,), (burst,), *one_by_one, tuple(mixed), (beside, writer)]


def take(drive: Drive, effort: Effort, done: Callable[[str, float], object]) -> dict[str, Timing]:
    """Perform all patterns and return their times by name. `done` is told each step's name and estimated seconds before it."""
    found: dict[str, Timing] = {}
    for step in steps(effort):
        done(f"drive: {' and '.join(p.name for p in step)}", min(max(p.seconds for p in step), effort.file_bytes / 500e6 + 30))
        for timing in drive.perform(step):
            found[timing.pattern.name] = timing
        if "fill" in found and len(found) == 1:  # a slow drive is read only where it was written
            drive.size_bytes = min(drive.size_bytes, int(found["fill"].bytes))
            if drive.size_bytes < _SMALLEST_BYTES:
                raise InputError("the drive is too slow or too busy: it did not write 16 MiB in 90 s; measure again later")
    return found


@dataclass(frozen=True, slots=True)
class DriveFacts:
    """What the times of requests say about a drive."""

    equations: tuple[Equation, ...]
    """Equations of the constants that the calibrator fits."""
    constants: Mapping[str, float] = field(default_factory=dict)
    """Further constants of the device, measured one by one, in base units."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """Their standard errors."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Caps, by key of the `limits` group."""
    notes: tuple[str, ...] = ()
    """Findings as sentences."""
    unknown: tuple[str, ...] = ()
    """What was not determined, as sentences."""


def drive_facts(times: Timings, known: Mapping[str, Any]) -> DriveFacts:
    """Return what `times` say. `known`: the `device` group of the drive's class, whose keys say which constants it has."""
    caps = separate_caps(times)
    constants: dict[str, float] = {}
    errors: dict[str, float] = {}
    notes, unknown = [*_described(times)], [*_beyond(times)]
    sync = times["fsync"]
    constants["wal_fsync_latency"], errors["wal_fsync_latency"] = sync.mean_s, sync.mean_s * relative_error(sync)
    burst = end_of_burst(times["burst"])
    if burst is not None:
        before, moved = burst
        text = f"writes were faster for the first {(moved + times['fill'].bytes) / 1e9:.1f} GB: {before / 1e6:,.0f} MB/s"
        notes.append(f"{text}; an SLC cache, or the credit of a volume")
        if "slc_cache" in known:
            constants |= {"slc_cache": moved + times["fill"].bytes, "slc_write_bandwidth": before}
    else:
        written = times["fill"].bytes + times["burst"].bytes
        unknown.append(f"the end of an SLC cache or credit: not seen within {written / 1e9:.0f} GB of writes")
    if caps:
        notes.append("reads and writes each keep their rate beside the other: a cap on each, not the time of a drive")
    else:
        constants |= {key: value for key, value in _plateaus(times).items() if key in known}
    if "seek" in known:
        turn_s = 60.0 / float(known["rpm"])
        constants["seek"] = max(1e-4, times[_name("read", SMALL_BYTES)].typical_s - turn_s / 2.0)
    operations = operations_cap(times)
    limits = {**caps, **({"iops_cap": operations} if operations else {})}
    if operations:
        notes.append(f"operations of all sizes end at {operations:,.0f} per second, for reads and for writes")
    equations = tuple(e for e in _equations(times, known, capped=bool(caps)) if e is not None)
    return DriveFacts(equations, constants, errors, limits, tuple(notes), tuple(unknown))


def _name(way: str, size: int, streams: int = 1, *, random: bool = True) -> str:
    return f"{'random ' if random else ''}{way} {size // KIB} KiB x{streams}"


def _equations(times: Timings, known: Mapping[str, Any], *, capped: bool) -> Iterator[Equation | None]:
    """Yield the equations of the constants that a device of this class has."""
    host = Host()
    for way, cost in (("write", writes), ("read", reads)):
        lone = [times[_name(way, size, random=False)] for size in _SIZES]
        rows = [DurationRow(cost(t.pattern.request_bytes, 1.0), host, t.typical_s, RUN) for t in lone]
        if not capped and f"{way}_latency" in known:
            yield relative(f"direct {way}s", rows, 0.1)
        elif not capped:  # a hard disk has no latency of a request, only bytes
            yield _equal(f"direct {way}s", f"device.{way}_bandwidth", one_stream_bandwidth(lone), 0.1)
    small = times[_name("read", SMALL_BYTES)]
    if "read_latency" in known and not by_this_program(small):
        seconds = max(small.typical_s - small.cpu_s / small.requests, 1e-6)  # the CPU time of a request is a cost of the host
        yield relative("small reads", [DurationRow(reads(SMALL_BYTES, 1.0), host, seconds, RUN)], 0.1)
    deep = max((times[_name("read", SMALL_BYTES, depth)] for depth in _DEPTHS), key=lambda t: t.per_s)
    if "read_iops" in known and not by_this_program(deep):
        yield _equal("small reads at once", "device.read_iops", deep.per_s, 0.1)
    yield relative("fsyncs", [DurationRow(fsyncs(1.0), host, times["fsync"].mean_s, RUN)], 0.3)


def _equal(name: str, key: str, measured: float, spread: float) -> Equation:
    """Return the equation constant = measured value, with a relative scatter."""

    def misses(values: Values) -> Array:
        return np.array([math.log(values[key] / measured) / spread])

    return Equation(name, misses, [RUN], (key,))


def _plateaus(times: Timings) -> dict[str, float]:
    """Return the bandwidth of several streams, and of one, where several move more than one can (`stream_*_bandwidth`)."""
    found: dict[str, float] = {}
    for way in ("write", "read"):
        one = one_stream_bandwidth([times[_name(way, size, random=False)] for size in _SIZES])
        most = max(times[_name(way, MIB, streams, random=False)].bytes_per_s for streams in _STREAMS)
        if most > _MORE * one:
            found |= {f"{way}_bandwidth": most, f"stream_{way}_bandwidth": one}
    return found


_MORE: Final = 1.25
"""Ratio of the rate of several streams to the bandwidth of one from which the two differ: noise is below it."""


def one_stream_bandwidth(lone: Sequence[Timing]) -> float:
    """Return the rate at which further bytes of a request are moved: the slope of its time over its size."""
    sizes = np.array([float(t.pattern.request_bytes) for t in lone])
    seconds = np.array([t.typical_s for t in lone])
    slope, _ = np.polyfit(sizes, seconds, 1, w=1.0 / seconds)
    return float(1.0 / max(slope, 1e-12))


def by_this_program(timing: Timing) -> bool:
    """Return whether this program, not the drive, limited the requests: Python runs on one core at a time."""
    return timing.cpu_s > _BUSY * timing.elapsed_s


_BUSY: Final = 0.75


def relative_error(timing: Timing) -> float:
    """Return the relative standard error of a mean, from the scatter of the rates over time; at least 2 %."""
    rates = np.array([rate for _, rate in timing.windows])
    if len(rates) < 2 or rates.mean() <= 0.0:
        return 0.1
    return max(0.02, float(rates.std(ddof=1) / rates.mean() / math.sqrt(len(rates))))


def end_of_burst(timing: Timing) -> tuple[float, float] | None:
    """Return (rate before, bytes until the drop) of writes that slow down once and stay slow; None for none.

    The time of the drop is the one for which two constant rates fit the logarithms of the rates best.
    """
    rates = np.maximum(np.array([rate for _, rate in timing.windows]), 1.0)
    logs = np.log(rates)
    best: tuple[float, int] | None = None
    for cut in range(_FEWEST, len(logs) - _FEWEST + 1):
        misfit = float(logs[:cut].var() * cut + logs[cut:].var() * (len(logs) - cut))
        if best is None or misfit < best[0]:
            best = misfit, cut
    if best is None:
        return None
    misfit, cut = best
    before, after = float(np.median(rates[:cut])), float(np.median(rates[cut:]))
    scatter = math.sqrt(misfit / len(logs))
    if after > _DROP * before or math.log(before / after) < 3.0 * scatter:
        return None
    width_s = timing.windows[1][0] - timing.windows[0][0]
    return before, float(rates[:cut].sum() * width_s)


_FEWEST: Final = 4
"""Fewest parts of the time before and after a drop."""
_DROP: Final = 0.75


def separate_caps(times: Timings) -> dict[str, float]:
    """Return caps on the bytes of reads and of writes: both keep their full rate beside each other, whatever their size.

    A drive divides its time between them instead.
    """
    caps: dict[str, float] = {}
    for way in ("read", "write"):
        alone = [times[_name(way, MIB, streams, random=False)].bytes_per_s for streams in (1, *_STREAMS)]
        alone.append(times[_name(way, 4 * MIB, random=False)].bytes_per_s)
        beside = times[f"{way} beside the other"].bytes_per_s
        if max(alone) > _SAME * min(alone) or beside < max(alone) / _SAME:
            return {}
        caps[f"{way}_cap"] = float(np.mean(alone))
    return caps


_SAME: Final = 1.06
"""Ratio of two rates up to which they count as the same limit."""


def operations_cap(times: Timings) -> float | None:
    """Return the limit on operations per second that holds for requests of all sizes, alike for reads and writes; else None."""
    rates: list[float] = []
    for way in ("read", "write"):
        for size in (SMALL_BYTES, *_LARGER):
            timing = times[_name(way, size, _DEEP)]
            if by_this_program(timing):
                return None
            rates.append(timing.per_s)
    return float(np.mean(rates)) if max(rates) <= _SAME**2 * min(rates) else None


def _described(times: Timings) -> Iterator[str]:
    """Yield findings that are no constants of the model."""
    alone, beside = times["fsync"], times["fsync beside writes"]
    yield f"an fsync takes {alone.mean_s * 1e3:.2f} ms alone and {beside.mean_s * 1e3:.2f} ms beside a writer"
    share = sum(
        times[f"{way} beside the other"].bytes_per_s / times[_name(way, MIB, random=False)].bytes_per_s
        for way in ("read", "write")
    )
    yield f"a reader and a writer at once move {share:.2f} times what one alone moves"
    depths = " ".join(f"{d}: {times[_name('read', SMALL_BYTES, d)].per_s:,.0f}" for d in _DEPTHS)
    yield f"random reads of 4 KiB per second by queue depth: {depths}"
    write, read = times["cached write"], times["cached read"]
    synced = f", and their fsync takes {write.synced_s:.2f} s" if write.synced_s is not None else ""
    yield (
        f"through the page cache, writes run at {write.bytes_per_s / 1e6:,.0f} MB/s and reads at "
        f"{read.bytes_per_s / 1e6:,.0f} MB/s{synced}"
    )


def _beyond(times: Timings) -> Iterator[str]:
    """Yield what was not determined because this program was the limit, or because rates still grow."""
    small = [times[_name("read", SMALL_BYTES, depth)] for depth in _DEPTHS]
    if any(map(by_this_program, small)):
        yield f"random reads at a deep queue: this program allows no more than {max(t.per_s for t in small):,.0f} per second"
    elif all(b.per_s > 1.1 * a.per_s for a, b in pairwise(small)):
        yield f"the most random reads per second: still growing at queue depth {_DEPTHS[-1]}"

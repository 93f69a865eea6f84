"""Checks of the simulator against theory: write amplification, garbage collection, queues."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.models.devices.flash import greedy_write_amplification
from lsmlab.sim.clients.latency import Unstalled, waiting_mixture
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.machine.sojourn import mean_sojourn_s
from lsmlab.sim.simulation import Setting, simulate


@dataclass(frozen=True, slots=True)
class TheoryCheck:
    """One number from theory and the same number from the simulator."""

    name: str
    expected: float
    found: float
    tolerance: float
    """Largest accepted relative difference."""
    source: str

    @property
    def holds(self) -> bool:
        """Whether the two numbers agree within the tolerance."""
        return abs(self.found - self.expected) <= self.tolerance * abs(self.expected) + 1e-12

    def as_json(self) -> dict[str, Any]:
        """Return the check for the JSON document."""
        return {
            "expected": self.expected, "found": self.found, "tolerance": self.tolerance, "holds": self.holds,
            "source": self.source,
        }  # fmt: skip


_SMALL: Final = (
    "engine.version=7.8", "device=pmem", "host.cores=32", "workload.value_size=1000", "workload.num=40000",
    "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=64MiB", "keys=exact", "workload.seed=1",
    "workload.benchmark_write_rate_limit=1MB/s", "engine.options.max_bytes_for_level_base=1GiB",
    "engine.options.max_compaction_bytes=100GiB",
)  # fmt: skip
"""Overrides for a slow writer: each compaction ends before the next flush, as the formulas assume."""


def all_checks() -> Iterator[TheoryCheck]:
    """Yield all checks, those with the shortest simulations first."""
    for checks in (_queues, _garbage_collection, _levelled, _universal, _fifo, _guide):
        yield from checks()


def _summary(*overrides: str) -> dict[str, Any]:
    return simulate(Setting.of(compose([*overrides]))).summary


# --- amplification ---------------------------------------------------------------------------------------------------


def merged_all(flushes: int, per_compaction: int, first: int) -> float:
    """Return the W-Amp of a store that flushes `flushes` memtables of distinct keys and always compacts all data.

    The first compaction starts after `first` flushes, each further one after `per_compaction` more flushes. A
    compaction writes all data flushed until then. So W-Amp = 1 + (sum of the sizes of all compactions, in flushes) /
    `flushes`.
    """
    written = sum(range(first, flushes + 1, per_compaction))
    return 1.0 + written / flushes


def _levelled() -> Iterator[TheoryCheck]:
    """Check one level below L0: every compaction rewrites the whole level."""
    for trigger in (2, 4, 8):
        found = _summary(
            *_SMALL, "workload=filluniquerandom", "engine.options.num_levels=2",
            f"engine.options.level0_file_num_compaction_trigger={trigger}",
        )  # fmt: skip
        expected = merged_all(found["flush_count"], trigger, trigger)
        yield TheoryCheck(
            f"levelled, one level, L0 trigger {trigger}: W-Amp", expected, found["write_amplification"], 0.01,
            "sum of the sizes of all compactions",
        )  # fmt: skip
    found = _summary(
        *_SMALL, "workload=overwrite", "workload.num=10000", "workload.writes=40000", "engine.options.num_levels=2"
    )
    yield TheoryCheck(
        "levelled, one level, overwrites of 10,000 keys: W-Amp", _overwritten(found), found["write_amplification"], 0.02,
        "each compaction writes all keys once",
    )  # fmt: skip


def _overwritten(summary: dict[str, Any]) -> float:
    """Return the W-Amp of a store that contains all of its keys: every compaction writes each key once."""
    per_flush = summary["flush_bytes"] / summary["flush_count"]
    whole = summary["levels"][-1]["bytes"]
    return 1.0 + float(summary["compaction_count"] * whole / (summary["flush_count"] * per_flush))


def _universal() -> Iterator[TheoryCheck]:
    """Check universal compaction with an unlimited size ratio: every compaction takes all sorted runs."""
    for trigger in (3, 6):
        found = _summary(
            *_SMALL, "engine=universal", "workload=filluniquerandom",
            f"engine.options.level0_file_num_compaction_trigger={trigger}",
            "engine.options.compaction_options_universal.size_ratio=1000000",
        )  # fmt: skip
        expected = merged_all(found["flush_count"], trigger - 1, trigger)
        yield TheoryCheck(
            f"universal, full compactions, trigger {trigger}: W-Amp", expected, found["write_amplification"], 0.01,
            "sum of the sizes of all compactions",
        )  # fmt: skip


def _fifo() -> Iterator[TheoryCheck]:
    """Check FIFO without compaction: W-Amp is 1, and the store is smaller than its limit by less than one file."""
    options = "engine.options.compaction_options_fifo"
    found = _summary(
        *_SMALL, "engine=fifo", "workload=filluniquerandom", f"{options}.max_table_files_size=10MiB",
        f"{options}.allow_compaction=false",
    )  # fmt: skip
    yield TheoryCheck("FIFO without compaction: W-Amp", 1.0, found["write_amplification"], 0.0, "nothing is rewritten")
    file = found["flush_bytes"] / found["flush_count"]
    limit = 10 * 2**20
    yield TheoryCheck(
        "FIFO without compaction: bytes kept", math.floor(limit / file) * file, found["live_bytes"],
        1.01 * file / limit, "limit minus at most one file",
    )  # fmt: skip


def _guide() -> Iterator[TheoryCheck]:
    """Check RocksDB's tuning guide: a level with fan-out T writes up to T + 1, on average T/2 + 1, times its input.

    A file overlaps T files of the next level when that level is full, and fewer before; RocksDB picks the file with the
    smallest overlap. So (T + 2) / 2 is an average and has a wide tolerance.
    """
    for fanout in (4, 10):
        found = _summary(
            "engine.version=7.8", "device=samsung_970_pro", "workload=fillrandom", "workload.value_size=400", "workload.num=10M",
            "engine.options.write_buffer_size=4MiB", "engine.options.target_file_size_base=4MiB",
            "engine.options.max_bytes_for_level_base=16MiB", f"engine.options.max_bytes_for_level_multiplier={fanout}",
            "workload.benchmark_write_rate_limit=20MB/s", "workload.duration=150s",
        )  # fmt: skip
        inner = [row for row in found["levels"][2:] if row["write_bytes"] > 0][:1]
        for row in inner:
            yield TheoryCheck(
                f"levelled, fan-out {fanout}: W-Amp of L{row['level']}", (fanout + 2) / 2, row["w_amp"], 0.5,
                "RocksDB tuning guide: on average half of the full overlap",
            )  # fmt: skip


# --- devices and queues ------------------------------------------------------------------------------------------------


def _garbage_collection() -> Iterator[TheoryCheck]:
    """Check the closed form of greedy garbage collection against a drive simulated page by page."""
    for utilisation in (0.6, 0.75, 0.85):
        yield TheoryCheck(
            f"flash garbage collection at {utilisation:.0%} full: pages programmed / written",
            measured_write_amplification(utilisation), greedy_write_amplification(utilisation), 0.04,
            "greedy collection simulated page by page",
        )  # fmt: skip


class PageDrive:
    """Flash drive with one open block; when no block is free, it collects the block with the fewest valid pages."""

    def __init__(self, utilisation: float, blocks: int = 128, pages: int = 128) -> None:
        # One block is always reserved as the target of copies and stores no data.
        self.logical_pages = round(utilisation * (blocks - 1) * pages)
        self.pages_per_block = pages
        self.programmed = 0
        self._place: list[tuple[int, int] | None] = [None] * self.logical_pages
        self._content: list[list[int]] = [[] for _ in range(blocks)]
        self._valid = [0] * blocks
        self._free = list(range(1, blocks))
        self._open = 0

    def write(self, page: int) -> None:
        """Write one logical page, then collect blocks until at least one block is free."""
        place = self._place[page]
        if place is not None:
            self._valid[place[0]] -= 1
        self._program(page)
        while len(self._free) < 1:
            self._collect()

    def _program(self, page: int) -> None:
        if len(self._content[self._open]) == self.pages_per_block:
            self._open = self._free.pop()
        block = self._content[self._open]
        self._place[page] = (self._open, len(block))
        block.append(page)
        self._valid[self._open] += 1
        self.programmed += 1

    def _collect(self) -> None:
        full = (b for b, c in enumerate(self._content) if len(c) == self.pages_per_block and b != self._open)
        victim = min(full, key=self._valid.__getitem__)
        kept = [page for slot, page in enumerate(self._content[victim]) if self._place[page] == (victim, slot)]
        self._content[victim] = []
        self._valid[victim] = 0
        self._free.append(victim)
        for page in kept:  # fewer pages than a block: a drive with spare space has a block with invalid pages
            self._program(page)


def measured_write_amplification(utilisation: float) -> float:
    """Return pages programmed per page written in the steady state of uniformly random writes."""
    drive = PageDrive(utilisation)
    rng = random.Random(1)
    for page in range(drive.logical_pages):
        drive.write(page)
    writes = 4 * drive.logical_pages
    for _ in range(writes):
        drive.write(rng.randrange(drive.logical_pages))
    start = drive.programmed
    for _ in range(writes):
        drive.write(rng.randrange(drive.logical_pages))
    return (drive.programmed - start) / writes


_AS_EXPONENTIAL: Final = 0.67294
"""Spread of a log-logistic time with a coefficient of variation of 1: tan(b) / b = 2, where b = spread * sqrt(3)."""


def _queues() -> Iterator[TheoryCheck]:
    """Check waiting times against Pollaczek and Khinchine, and shared cores against processor sharing."""
    for name, spread, variation in (("M/D/1", 0.0, 0.0), ("M/G/1 with the variation of M/M/1", _AS_EXPONENTIAL, 1.0)):
        for load in (0.3, 0.8):
            _, rows = waiting_mixture(Unstalled(1e6, 1e-3, spread), load, 1)
            found = float((rows[:, 1] * rows[:, 2:].mean(axis=1)).sum()) / 1e6
            expected = load * (1.0 + variation) / (2.0 * (1.0 - load)) * 1e-3
            yield TheoryCheck(f"{name} at load {load}: mean wait (s)", expected, found, 0.01, "Pollaczek and Khinchine")
    for service in ("exponential", "constant"):
        means = [mean_sojourn_s(service, 0.7, 6000, seed) for seed in range(10)]
        yield TheoryCheck(
            f"one shared core, {service} work at load 0.7: mean time (s)", 1.0 / 0.3, float(np.mean(means)),
            _half_width(means), "M/G/1 processor sharing: 1 / (1 - load)",
        )  # fmt: skip


def _half_width(values: Sequence[float]) -> float:
    """Return the half width of the 99 % interval of a mean of ten values, divided by the mean."""
    return float(3.25 * np.std(values, ddof=1) / math.sqrt(len(values)) / np.mean(values))

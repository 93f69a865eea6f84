"""In which order a job reads, computes and writes.

RocksDB overlaps none of the three within one thread. On an idle device only their sums count; where bytes are allowed
in bursts (a cap's slice, a rate limiter's refill) their order decides what of an allowance is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from lsmlab.models.sums import float_sum

BUFFER_BYTES: Final = 2.0**20
"""Written at once: writable_file_max_buffer_size, options.h."""
PIECES_PER_BURST: Final = 8.0
"""Pieces of a burst's allowance that are told apart; with 32 throughput under a cap is the same within 1 %."""


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of a job: read, then compute, then write."""

    read_bytes: float
    """Bytes that come from the device, not from the page cache."""
    cpu_s: float
    write_bytes: float
    ends_file: bool = False
    """An output file is complete with this step, and its fsync follows."""
    point_reads: float = 0.0
    """Values that are read from elsewhere, one block after the other, before the step is over."""


@dataclass(slots=True)
class Progress:
    """I/O of the steps that a job has done so far, over all of its threads."""

    steps: int = 0
    read_bytes: float = 0.0
    write_bytes: float = 0.0

    def done(self, step: Step) -> None:
        """Count one more step."""
        self.steps += 1
        self.read_bytes += step.read_bytes
        self.write_bytes += step.write_bytes

    def share_of(self, parts: Sequence[Sequence[Step]]) -> float:
        """Share of a job's work that is done: of the bytes to write, or of the steps where nothing is written."""
        to_write = float_sum(step.write_bytes for steps in parts for step in steps)
        share = self.write_bytes / to_write if to_write > 0.0 else self.steps / sum(map(len, parts))
        return min(1.0, share)


def even_steps(read_bytes: float, cpu_s: float, write_bytes: float, count: int) -> list[Step]:
    """`count` equal steps."""
    return [Step(read_bytes / count, cpu_s / count, write_bytes / count)] * count


def flush_steps(cpu_s: float, write_bytes: float, piece_bytes: float) -> list[Step]:
    """Compute and write in turn, a piece at a time."""
    return even_steps(0.0, cpu_s, write_bytes, max(1, math.ceil(write_bytes / piece_bytes)))


def with_file_ends(steps: Sequence[Step], sizes: Sequence[float]) -> list[Step]:
    """The same steps, marked where output files of these `sizes` end."""
    marked = list(steps)
    ends, written = np.cumsum(sizes), np.cumsum([step.write_bytes for step in steps])
    places = np.minimum(np.searchsorted(written, ends * (1.0 - _ROUNDING)), len(marked) - 1)
    for place in sorted(set(places.tolist())):
        marked[place] = replace(marked[place], ends_file=True)
    return marked


_ROUNDING: Final = 1e-9
"""Sums of floats differ by less."""


def with_halts(steps: Sequence[Step], chunk_bytes: float, *, whole_files: bool) -> list[Step]:
    """The same work in steps that move at most `chunk_bytes` in each direction, so that a job can be halted in between.

    `whole_files`: a file is written in one go when it is complete; only reading and computing are cut up.
    """
    cut: list[Step] = []
    for step in steps:
        size = max(step.read_bytes, step.write_bytes)
        count = max(1, math.ceil(size / chunk_bytes))
        read, cpu, write = step.read_bytes / count, step.cpu_s / count, step.write_bytes / count
        if whole_files:
            cut += [Step(read, cpu, 0.0)] * (count - 1)
            cut.append(Step(read, cpu, step.write_bytes, step.ends_file))
        else:
            cut += [Step(read, cpu, write)] * (count - 1)
            cut.append(Step(read, cpu, write, step.ends_file))
    return cut


def with_point_reads(steps: Sequence[Step], count: float) -> list[Step]:
    """The same work with so many values read from elsewhere, spread evenly over the steps."""
    return [replace(step, point_reads=count / len(steps)) for step in steps]


def compaction_steps(
    runs: Sequence[Sequence[float]], read_bytes: float, cpu_s: float, write_bytes: float, *, readahead_bytes: float,
    piece_bytes: float,
) -> list[Step]:  # fmt: skip
    """Steps of a merge whose inputs are each read ahead.

    `runs` holds the sizes of the files of each input run. Every file is read in portions of `readahead_bytes` by the
    merging thread itself, when the merge arrives there (FilePrefetchBuffer). Runs of one size arrive at the same
    moment, so a merge of twenty L0 files reads twenty portions before it writes the next byte. `read_bytes` of all that
    come from the device.
    """
    positions, portions = _refills(runs, readahead_bytes)
    total = float(portions.sum())
    if total == 0.0:
        return flush_steps(cpu_s, write_bytes, piece_bytes)
    portions *= read_bytes / total
    # portions within one buffer of output are read together: the order of the keys blurs by that much
    grain = min(1.0, BUFFER_BYTES / max(write_bytes, 1.0))
    starts = np.floor(positions / grain).astype(np.int64)
    order = np.argsort(starts, kind="stable")
    starts, portions = starts[order], portions[order]
    first = np.flatnonzero(np.r_[True, starts[1:] != starts[:-1]])
    reads = np.add.reduceat(portions, first)
    begins = np.minimum(1.0, starts[first] * grain)
    shares = np.diff(np.r_[begins, 1.0])
    steps: list[Step] = []
    for read, share in zip(reads.tolist(), shares.tolist(), strict=True):
        count = max(1, math.ceil(share * write_bytes / piece_bytes))
        cpu, write = share * cpu_s / count, share * write_bytes / count
        steps.append(Step(read, cpu, write))
        steps += [Step(0.0, cpu, write)] * (count - 1)
    return steps


def _refills(runs: Sequence[Sequence[float]], readahead_bytes: float) -> tuple[np.ndarray, np.ndarray]:
    """Where in the merge (0 to 1) each portion is read, and its bytes."""
    positions: list[float] = []
    portions: list[float] = []
    for sizes in runs:
        whole, before = float_sum(sizes), 0.0
        for size in sizes:
            at = 0.0
            while at < size:
                positions.append((before + at) / whole)
                portions.append(min(readahead_bytes, size - at))
                at += readahead_bytes
            before += size
    return np.array(positions), np.array(portions)

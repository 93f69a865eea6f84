"""Steps of a job: the order in which it reads, computes and writes.

RocksDB overlaps none of the three within one thread. On a device without a cap the duration depends on their sums only.
Under a cap or a rate limiter, which grant an allowance of bytes per slice or refill, the order determines how much of
each allowance the job leaves unused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.devices.capped import PAGE_BYTES
from lsmlab.models.policies.rocksdb.errors import WriteFailure
from lsmlab.sim.machine.space import DeviceSpace

BUFFER_BYTES: Final = 2.0**20
"""Bytes per write of a file: writable_file_max_buffer_size, options.h."""
PIECES_PER_BURST: Final = 8.0
"""Steps per allowance of a cap or rate limiter; with 32, the throughput under a cap is the same within 1 %."""


class Step(NamedTuple):
    """Step of a job: read, then compute, then write."""

    read_bytes: float
    """Bytes read from the device; reads from the page cache do not count."""
    cpu_s: float
    write_bytes: float
    ends_file: bool = False
    """Whether this step completes an output file; the fsync of the file follows."""
    point_reads: float = 0.0
    """Number of values that the step reads from WALs or blob files, one after the other."""
    point_read_bytes: float = PAGE_BYTES
    """Bytes of each of these reads."""
    cold: bool = False
    """Whether the step writes to `cold_device`."""
    cold_share: float = 0.0
    """Share of `read_bytes` that it reads from there."""


@dataclass(slots=True)
class JobWaits:
    """Waits of one job that are over, in s; several subcompactions add up theirs."""

    slot_wait_s: float = 0.0
    """Time that the request waited in its queue before the job started."""
    device_s: float = 0.0
    """Time that the threads waited for reads and writes of data."""
    device_alone_s: float = 0.0
    """Time that the same reads and writes take on the idle device without caps."""
    core_wait_s: float = 0.0
    """Time in which the threads could compute but had no core, or shared one."""
    limiter_wait_s: float = 0.0
    """Time that the threads waited for the rate limiter."""
    sync_wait_s: float = 0.0
    """Time to finish and commit the files: fsyncs of file ends, directory and MANIFEST, and waits for the journal."""


@dataclass(slots=True)
class StepProgress:
    """Steps, I/O and waits of all threads of a job so far."""

    steps: int = 0
    read_bytes: float = 0.0
    write_bytes: float = 0.0
    cold_write_bytes: float = 0.0
    """Part of `write_bytes` on `cold_device`."""
    waits: JobWaits = field(default_factory=JobWaits)
    fails_after_bytes: float = math.inf
    """Bytes written after which the next write ends in an I/O error."""
    failure: WriteFailure | None = None
    """Reason why a write of the job has failed; its threads then end."""

    def admitted(self, step: Step, space: DeviceSpace) -> Step:
        """Return a step with the bytes that it can write, and take their space; with fewer bytes, the job has failed."""
        size = step.write_bytes
        if self.failure is None and size <= space.free_bytes and self.write_bytes + size <= self.fails_after_bytes:
            space.take(size)
            return step
        written = 0.0
        if self.failure is None:
            left, free = self.fails_after_bytes - self.write_bytes, space.free_bytes
            self.failure = WriteFailure.IO_ERROR if left < free else WriteFailure.NO_SPACE
            written = max(0.0, min(left, free))
            space.take(written)
        return step._replace(write_bytes=written, ends_file=False)

    def done(self, step: Step) -> None:
        """Count one more step."""
        self.steps += 1
        self.read_bytes += step.read_bytes
        self.write_bytes += step.write_bytes
        if step.cold:
            self.cold_write_bytes += step.write_bytes

    def share_of(self, parts: Sequence[Sequence[Step]]) -> float:
        """Return the share of a job's work that is done: by bytes written, or by steps if the job writes nothing."""
        to_write = sum(step.write_bytes for steps in parts for step in steps)
        share = self.write_bytes / to_write if to_write > 0.0 else self.steps / sum(map(len, parts))
        return min(1.0, share)


def even_steps(read_bytes: float, cpu_s: float, write_bytes: float, count: int) -> list[Step]:
    """Return `count` equal steps with these totals."""
    return [Step(read_bytes / count, cpu_s / count, write_bytes / count)] * count


def flush_steps(cpu_s: float, write_bytes: float, piece_bytes: float) -> list[Step]:
    """Return equal steps that compute and write at most `piece_bytes` each."""
    return even_steps(0.0, cpu_s, write_bytes, max(1, math.ceil(write_bytes / piece_bytes)))


def with_file_ends(steps: Sequence[Step], sizes: Sequence[float]) -> list[Step]:
    """Return the same steps with `ends_file` set where output files of these `sizes` in bytes end."""
    marked = list(steps)
    ends, written = np.cumsum(sizes), np.cumsum([step.write_bytes for step in steps])
    for place in written.searchsorted(ends * (1.0 - _ROUNDING)).tolist():
        last = min(place, len(marked) - 1)
        marked[last] = marked[last]._replace(ends_file=True)
    return marked


_ROUNDING: Final = 1e-9
"""Relative tolerance for rounding errors of float sums."""


def split_at_halts(steps: Sequence[Step], chunk_bytes: float, *, whole_files: bool) -> list[Step]:
    """Split steps so that each reads and writes at most `chunk_bytes`; a job can be halted between two steps.

    `whole_files`: the fsync writes a complete file at once, so only reads and CPU time are split.
    """
    cut: list[Step] = []
    for step in steps:
        size = max(step.read_bytes, step.write_bytes)
        count = max(1, math.ceil(size / chunk_bytes))
        read, cpu, write = step.read_bytes / count, step.cpu_s / count, step.write_bytes / count
        first, last_bytes = (0.0, step.write_bytes) if whole_files else (write, write)
        part = Step(read, cpu, first, cold=step.cold, cold_share=step.cold_share)
        cut += [part] * (count - 1)
        cut.append(part._replace(write_bytes=last_bytes, ends_file=step.ends_file))
    return cut


def with_point_reads(steps: Sequence[Step], count: float, each_bytes: float = PAGE_BYTES) -> list[Step]:
    """Return the same steps with `count` point reads of `each_bytes` distributed evenly over them."""
    return [step._replace(point_reads=count / len(steps), point_read_bytes=each_bytes) for step in steps]


def compaction_steps(
    runs: Sequence[Sequence[float]], read_bytes: float, cpu_s: float, write_bytes: float, *, readahead_bytes: float,
    piece_bytes: float,
) -> list[Step]:  # fmt: skip
    """Return the steps of a k-way merge with read-ahead on each input file.

    `runs`: file sizes in bytes of each input sorted run; `read_bytes`: bytes of all inputs that are read from the device.
    The thread of the compaction reads each file in portions of `readahead_bytes`, whenever the merge has used up the
    previous portion (FilePrefetchBuffer). Sorted runs of equal size use up their portions at the same time, so a merge
    of twenty L0 files reads twenty portions before it writes the next byte.
    """
    positions, portions = _refills(runs, readahead_bytes)
    total = float(portions.sum())
    if total == 0.0:
        return flush_steps(cpu_s, write_bytes, piece_bytes)
    portions *= read_bytes / total
    # reads that fall within one piece of output belong to one step
    grain = min(1.0, piece_bytes / max(write_bytes, 1.0))
    starts = np.floor(positions / grain).astype(np.int64)
    order = np.argsort(starts, kind="stable")
    starts, portions = starts[order], portions[order]
    first = np.concatenate(([0], np.flatnonzero(starts[1:] != starts[:-1]) + 1))
    reads = np.add.reduceat(portions, first)
    begins = np.append(np.minimum(1.0, starts[first] * grain), 1.0)
    shares = begins[1:] - begins[:-1]
    steps: list[Step] = []
    for read, share in zip(reads.tolist(), shares.tolist(), strict=True):
        count = max(1, math.ceil(share * write_bytes / piece_bytes))
        cpu, write = share * cpu_s / count, share * write_bytes / count
        steps.append(Step(read, cpu, write))
        steps += [Step(0.0, cpu, write)] * (count - 1)
    return steps


def _refills(runs: Sequence[Sequence[float]], readahead_bytes: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the position in the merge (0 to 1) at which each portion is read, and the bytes of the portion."""
    positions: list[float] = []
    portions: list[float] = []
    for sizes in runs:
        whole, before = sum(sizes), 0.0
        for size in sizes:
            at = 0.0
            while at < size:
                positions.append((before + at) / whole)
                portions.append(min(readahead_bytes, size - at))
                at += readahead_bytes
            before += size
    return np.array(positions), np.array(portions)

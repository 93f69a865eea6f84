"""One group of clients in time: its demand, what it has been served, and what its operations met."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Clients
from lsmlab.sim.latency import Pieces
from lsmlab.sim.line import Line

NEVER: Final = math.inf


@dataclass(slots=True, eq=False)
class Group:
    """One group of clients in time."""

    spec: Clients
    write_share: float
    """Write operations per operation."""
    read_share: float
    scan_share: float
    closed: bool
    limit_per_s: float
    """Operations per second a closed-loop client allows itself; infinity if none."""
    starts: list[float]
    rates: list[float]
    operations: float
    segment: int = 0
    arriving: float = 0.0
    """Present arrival rate, ops/s (open loop)."""
    backlog: float = 0.0
    capacity: float = 0.0
    times: Sequence[Sequence[tuple[float, float]]] = ()
    """For each of `kinds`, as planned: (share, mean time) of those that need the device and of those that do not."""
    served_rate: float = 0.0
    runnable: float = 0.0
    """Its threads that want a core, on average."""
    arrived: float = 0.0
    served: float = 0.0
    finished: bool = False
    curve: array[float] = field(default_factory=lambda: array("d"))
    """Rows of (time, arrived, served)."""
    write_pieces: Pieces = field(default_factory=Pieces)
    read_pieces: Pieces = field(default_factory=Pieces)
    residual_s: float = 0.0
    """Open loop: what is left of an operation in progress when another arrives, on average over time; as planned."""
    line: Line = field(default_factory=Line)
    """Open loop: the line that chance makes before the threads, beside `backlog`."""
    undisturbed: dict[tuple[int, int, int, int], float] = field(default_factory=dict)
    """Operations by (write 0 / read 1 / scan 2, bucket of the mean, of the line's utilisation, of `residual_s`)."""
    kinds: tuple[tuple[int, float], ...] = field(init=False)
    """What the group does: (write 0 / read 1 / scan 2, how many of them per operation), those above 0."""

    def __post_init__(self) -> None:
        self.kinds = tuple((kind, share) for kind, share in enumerate(self.shares) if share > 0.0)

    @property
    def servers(self) -> int:
        """Threads that take from one line."""
        return 1 if self.spec.queue_per_thread else self.spec.threads

    @property
    def shares(self) -> tuple[float, float, float]:
        """Writes, point reads and scans per operation."""
        return self.write_share, self.read_share, self.scan_share


@dataclass(frozen=True, slots=True)
class WriteShape:
    """Sizes of the average write, in the places where RocksDB counts them (rocksdb.md §2.1)."""

    batch_bytes: float
    """Write-batch bytes per write: what the delay bucket counts."""
    user_bytes: float
    """Key and value bytes per write."""
    log_bytes: float
    """Bytes per write in the log file; 0 without a log."""
    memtable_entries: float
    """Writes that fill a memtable, as the store was opened."""
    key_bytes: int
    value_bytes: int
    """Mean size of a value, rounded."""
    delete_share: float
    """Deletes per write."""
    statistics: bool = False
    """Whether the store counts each write."""


def start_group(spec: Clients, until_s: float, rng: np.random.Generator, shape: WriteShape) -> Group:
    """The group at time 0; open-loop arrivals are drawn here for the whole run."""
    mix = spec.mix
    writes = mix.update + mix.insert + mix.delete + mix.read_modify_write
    reads = mix.read + mix.read_modify_write
    arrivals = spec.arrivals
    limit, starts, rates = NEVER, [], []
    if isinstance(arrivals, ClosedLoop):
        if arrivals.limit_bytes_per_s:
            limit = arrivals.limit_bytes_per_s / shape.user_bytes / max(writes, 1e-12)
        if arrivals.limit_ops_per_s:
            limit = min(limit, arrivals.limit_ops_per_s)
    else:
        times, values = arrivals.segments(until_s, rng)
        starts, rates = times.tolist(), values.tolist()
    return Group(
        spec=spec, write_share=writes, read_share=reads, scan_share=mix.scan,
        closed=isinstance(arrivals, ClosedLoop), limit_per_s=limit, starts=starts, rates=rates,
        operations=NEVER if spec.operations is None else float(spec.operations),
    )  # fmt: skip

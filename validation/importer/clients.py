"""Cost of one write for a client, from the memtables that were filled without a stall."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import (
    depth,
    group_share,
    group_wake_ups,
    synced_group,
    wal_fsync_factor,
    write_cpu,
)
from lsmlab.validation.importer.estimates import MEDIAN_BY_MEAN, Earlier, Estimate, Estimates, Observation, host_with
from lsmlab.validation.importer.reading import Floats
from lsmlab.validation.logs.history.fills import of_all_families, unstalled

_SST_READS: Final = "rocksdb.sst.read.micros"
_FEWEST_READS: Final = 1000
"""Least number of reads of SST files for a median."""
_READ_BYTES: Final = 1 << 18
"""Least bytes of a read of a compaction with direct I/O; its readahead has 2 MiB, but the end of a file is shorter."""
_FEWEST: Final = 8
"""Least number of memtables for an estimate."""
_IDLE_FACTOR: Final = 8.0
"""Clients count as idle if an unstalled write takes them more than this multiple of the default cost with a WAL."""
_DEPTH_RATIO: Final = 0.23
"""host.memtable_depth / host.write_op: geometric mean of 0.41 (i7_8700k), 0.25 (epyc_vm), 0.18 (zen5_vm) and 0.14 (emerald_vm) in
configs/parameters, the machines whose runs have several sizes of memtables."""
_DEPTH_WIDTH: Final = 0.46
"""Standard deviation of the logarithm of these four ratios."""
_DEPTH_BASIS: Final = "assumed: 0.23 of host.write_op, the mean of four machines; a LOG has one size"
_WAL_WIDTH: Final = 0.3
"""Spread of host.wal_op / host.write_op from machine to machine: 1.16 to 1.57 fitted, 2.3 measured once (docs/decisions/0037)."""
_STALLED_SHARE: Final = 0.05
"""Share of time in stalls from which clients are taken to write as fast as they can outside stalls."""
_FULL_SPEED: Final = 6.0
"""Without stalls, clients whose writes take up to this multiple of what the machine's compactions suggest are taken to write at
full speed. In recordings writers at full speed take up to 3.1 times as long (assertions, several threads on two cores), those
with a rate limit 14 times and more; this is between the two."""


def _free_writes_s(observation: Observation) -> Floats:
    """Return the seconds per entry of each memtable that was filled without a stall; empty if there are too few."""
    reading = observation.reading
    fills = unstalled(of_all_families(reading.fills), reading.stalls.intervals)
    free = np.array([f.entry_s for f in fills])
    return free if len(free) >= _FEWEST else np.empty(0)


def idle_clients(observation: Observation) -> bool:
    """Whether clients were idle outside stalls, so that they did not write as fast as the store allowed."""
    free = _free_writes_s(observation)
    return bool(len(free)) and float(np.median(free)) > _IDLE_FACTOR * (Host().write_op + Host().wal_op)


def write_op(observation: Observation, earlier: Earlier) -> Estimates:
    """Estimate host.write_op and the cost of the WAL in the default host's proportions, and host.memtable_depth.

    One size of memtable shows only the sum of write_op, memtable_depth and, with a WAL, wal_op. Clients that never wait for the
    store may be idle in part: their time per write is an upper bound of the cost. A machine on which compactions are slow has
    slow writes too. Up to `_FULL_SPEED` times that, the time is taken for the cost, with the difference as standard error;
    beyond, clients were idle.
    """
    free = _free_writes_s(observation)
    if not len(free) or idle_clients(observation) or observation.reading.writes_per_sync is not None:
        return Estimates()
    host = Host()
    entries = float(np.median([fill.entries for fill in observation.reading.fills]))
    entry_bytes = observation.entry_bytes
    bytes_s = write_cpu(entry_bytes, logged=observation.logged).seconds(replace(host, write_op=0.0, wal_op=0.0))
    usual_s = write_cpu(entry_bytes, logged=observation.logged).seconds(host) - bytes_s
    usual_s += depth(entries * entry_bytes) * _DEPTH_RATIO * host.write_op
    alone_s = float(np.median(free)) / group_share(observation.threads, 0.0)
    scale = max(alone_s - bytes_s, 0.1 * alone_s) / usual_s
    error = scale * float(MEDIAN_BY_MEAN * free.std(ddof=1) / np.sqrt(len(free)) / free.mean())
    basis = f"median time per entry of {len(free):,} memtables that were filled without a stall"
    machine = _merge_s(host_with(earlier), entry_bytes) / _merge_s(host, entry_bytes)
    if observation.stalled_share < _STALLED_SHARE:
        if scale > max(1.0, _FULL_SPEED * machine):
            taken = f"clients took {1e6 * float(np.median(free)):.3g} us per write and never waited"
            return Estimates(notes=(f"host.write_op: {taken}, so they were idle in part; that of host=default is used",))
        error = max(error, scale - machine)
    wal_error = error if observation.logged else _WAL_WIDTH * scale
    why = "the LOG shows only its sum with write_op" if observation.logged else "the LOG shows no writes with a WAL"
    memtable_depth = scale * _DEPTH_RATIO * host.write_op
    return Estimates((
        Estimate("host.write_op", scale * host.write_op, error * host.write_op, "s", "estimate", basis),
        _scaled("host.wal_op", scale * host.wal_op, wal_error * host.wal_op, why),
        Estimate("host.memtable_depth", memtable_depth, _DEPTH_WIDTH * memtable_depth, "s", "assumed", _DEPTH_BASIS),
    ))


def _merge_s(host: Host, entry_bytes: float) -> float:
    """Return the CPU seconds of a compaction per entry and its bytes."""
    return host.compaction_record + host.compaction_byte * entry_bytes


def wal_fsync(observation: Observation, _: Earlier) -> Estimates:
    """Estimate device.wal_fsync_latency of synced writes from the time between two fsyncs.

    That time also has the CPU time of the writes of one fsync, the wake-ups of their threads and the share of fsyncs that reach a
    new block of the WAL. These are those of the default host, because the fills of memtables show only the sum.
    """
    free = _free_writes_s(observation)
    if observation.reading.writes_per_sync is None or not len(free):
        return Estimates()
    host, each = Host(), synced_group(observation.threads)
    beside = write_cpu(observation.entry_bytes, logged=True).times(each) + group_wake_ups(observation.threads)
    factor = wal_fsync_factor(each * observation.entry_bytes)
    fsync_s = (each * float(np.median(free)) - beside.seconds(host)) / factor
    if fsync_s <= 0.0:
        return Estimates()
    error = each * float(MEDIAN_BY_MEAN * free.std(ddof=1) / np.sqrt(len(free))) / factor
    basis = f"median time per entry of {len(free):,} memtables that were filled without a stall, x {each:g} writes per fsync"
    return Estimates((Estimate("device.wal_fsync_latency", fsync_s, error, "s", "estimate", basis),))


def read_latency(observation: Observation, _: Earlier) -> Estimates:
    """Estimate device.read_latency from the times of the reads of SST files that the store counted (rocksdb.sst.read.micros).

    Clients wait for reads of a block, jobs for those of a readahead, of which there are few; so the median is that of a block.
    """
    found = [one.histograms[_SST_READS] for one in observation.reading.log.statistics if _SST_READS in one.histograms]
    largest = max(found, key=lambda one: one.get("COUNT", 0.0), default={})
    jobs = observation.reading.summary.get("compaction_read_bytes") or 0.0
    if observation.buffered_reads or "P50" not in largest or largest.get("COUNT", 0.0) < _FEWEST_READS + 2.0 * jobs / _READ_BYTES:
        return Estimates()
    basis = f"median of {largest['COUNT']:,.0f} reads of SST files (rocksdb.sst.read.micros)"
    return Estimates((Estimate("device.read_latency", largest["P50"] / 1e6, None, "s", "estimate", basis),))


def _scaled(constant: str, value: float, error: float, why: str) -> Estimate:
    basis = f"assumed: the default cost, scaled as host.write_op; {why}"
    return Estimate(constant, value, error, "s", "assumed", basis)

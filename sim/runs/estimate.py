"""Estimate of the CPU time and memory of a run before it starts, from counts that its configuration gives.

The CPU time of a run is proportional to the number of its background jobs (docs/background/speed.md). So the unit of the
estimate is one job on a device without a cap that binds; every other cost is a multiple of it. `job_seconds` measures the
unit on this machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from lsmlab.models.costs.operations import Searched, point_read_cpu, write_cpu
from lsmlab.models.devices.base import DeviceLoad
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import CompactionStyle
from lsmlab.models.workloads.arrivals import ClosedLoop, mean_rate
from lsmlab.models.workloads.base import Clients, WorkloadPhase
from lsmlab.sim.machine.make import io_style
from lsmlab.sim.process_memory import KEY_BYTES
from lsmlab.sim.setting import Setting
from lsmlab.sim.setup import FamilySetup, Setup, set_up

START: Final = 350.0
"""Cost of a run without jobs, in jobs: build its parts, compute and write its tables (measured, 0.15 s)."""
READS: Final = 1.1
"""Further cost of a job in a run with reads: each new version changes the blocks of a read (measured, 0.6 ms)."""
PIECE: Final = 0.16
"""Cost of a step on a device with a cap that binds, in jobs (measured, 65 us)."""
SECOND: Final = 0.02
"""Cost of a simulated second in the tables per second, in jobs (measured, 10 us)."""
KEY: Final = 1.0 / 4000.0
"""Cost of a sampled key that compactions read and write, in jobs (measured, 0.14 us)."""
PROCESS_BYTES: Final = 113e6
"""Memory of a process that simulates a small store (measured)."""
JOB_BYTES: Final = 700.0
"""Memory per job: its rows in the tables of jobs, events and states (measured)."""
_REFERENCE: Final = (
    "engine=rocksdb", "device=nvme", "host=default", "workload=constant", "workload.read=0", "workload.update=1",
    "seed=1",
)  # fmt: skip
"""Run that `job_seconds` times: one job per simulated second."""
_LONGEST_RUN_S: Final = 1e8
"""Simulated time at which a run without duration ends."""
_PUSHES: Final = 1.25
"""Compactions per flush and level below L1; more than one, because a picked file rarely has its full size."""
_WHOLE_FILES: Final = 0.2
"""Steps with buffered writes, whose fsync writes a whole file, as a share of those with direct writes (measured)."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Estimated cost of one run or, added up, of many."""

    work: float
    """CPU time, in background jobs."""
    memory_bytes: float
    """Largest memory of a process."""
    runs: int | None = None
    """Number of runs, which limits how many processes help; None: more than there are processes."""

    def seconds(self, processes: int = 1) -> float:
        """Return the wall time in s with this number of processes, each on a core of its own."""
        return self.work * job_seconds() / min(processes, self.runs or processes)

    def text(self, processes: int = 1) -> str:
        """Return the estimate as text, such as "about 40 s and 300 MB"."""
        size = self.memory_bytes
        memory = f"{_rounded(size / 1e6):,.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"
        return f"about {duration_text(self.seconds(processes))} and {memory}{' per process' if processes > 1 else ''}"


def estimate(config: Mapping[str, Any], allowed: tuple[str, ...] = ()) -> CostEstimate:
    """Estimate the cost of a configuration; a factor of 2 to 3 is usual. Raises InputError for one that cannot run."""
    setting = Setting.of(config, allowed)
    filled = [one.prefill.setting for one in (setting, *(d.setting for d in setting.databases)) if one.prefill is not None]
    phases = [expected(one) for one in (setting, *filled)]
    return CostEstimate(sum(map(_work, phases)) + START, max(map(_memory_bytes, phases)))


def total(estimates: Iterable[CostEstimate]) -> CostEstimate:
    """Return the cost of several runs: the sum of their work, the largest memory."""
    several = list(estimates)
    memory_bytes = max((e.memory_bytes for e in several), default=0.0)
    return CostEstimate(math.fsum(e.work for e in several), memory_bytes, max(1, len(several)))


@cache
def job_seconds() -> float:
    """Return the CPU seconds of one background job on this machine, from the difference of two short runs (0.5 s)."""
    from lsmlab.sim.configuration.compose import compose

    short, long = (compose([*_REFERENCE, f"workload.duration={seconds}s"]) for seconds in (30, 600))
    _cpu_seconds(short)  # loads modules and fills caches
    return (_cpu_seconds(long) - _cpu_seconds(short)) / (estimate(long).work - estimate(short).work)


def _cpu_seconds(config: Mapping[str, Any]) -> float:
    from lsmlab.sim.simulation import simulate

    began_s = time.process_time()
    simulate(Setting.of(config))
    return time.process_time() - began_s


def duration_text(duration_s: float) -> str:
    """Format an estimated duration: 40 s, 12 min, 3.5 h.

    >>> [duration_text(s) for s in (0.4, 42, 720, 12600)]
    ['1 s', '42 s', '12 min', '3.5 h']
    """
    if duration_s < 100:
        return f"{max(1.0, _rounded(duration_s)):.0f} s"
    return f"{_rounded(duration_s / 60):.0f} min" if duration_s < 6000 else f"{duration_s / 3600:.1f} h"


def _rounded(value: float) -> float:
    """Return the value with two significant digits."""
    return float(f"{value:.2g}") if math.isfinite(value) else value


def _work(run: Expected) -> float:
    jobs = run.jobs * (1.0 + (READS if run.reads else 0.0))
    work = jobs + PIECE * run.pieces + KEY * run.moved_keys + SECOND * run.duration_s
    if not math.isfinite(work):
        raise InputError("the cost of this run has no bound; give it a duration or a number of operations")
    return work


def _memory_bytes(run: Expected) -> float:
    return PROCESS_BYTES + KEY_BYTES * run.live_keys + JOB_BYTES * run.jobs


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected counts of one workload on its databases."""

    duration_s: float
    writes: float
    """Entries written by clients."""
    jobs: float
    """Flushes, compactions and moves."""
    pieces: float
    """Steps of jobs on a device with a cap that binds; 0 without one."""
    moved_keys: float
    """Sampled keys that compactions read and write."""
    live_keys: float
    """Sampled keys of all trees."""
    reads: bool
    """Whether clients read."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Expected shape of the tree of one database."""

    data_bytes: float
    """Bytes of the live data at the end."""
    levels: float
    """Levels below the first one with a size target, as a real number: log of their total growth by the multiplier."""
    write_amplification: float
    compactions_per_flush: float
    upper_bytes: float
    """Bytes of all sorted runs above the last one, when the tree is full."""


def expected(setting: Setting) -> Expected:
    """Return the expected counts of a run. Raises InputError if it does not fit in memory."""
    if setting.databases:
        each = [(expected(one.setting), one.entry.count) for one in setting.databases]
        sums = {
            name: sum(getattr(run, name) * count for run, count in each)
            for name in ("writes", "jobs", "pieces", "moved_keys", "live_keys")
        }
        return Expected(max(run.duration_s for run, _ in each), reads=any(run.reads for run, _ in each), **sums)
    setup = set_up(setting)
    family = max(setup.families, key=lambda f: f.share.writes)
    duration_s, writes, reads = _load(setup, family)
    shape = tree_shape(setup, family, writes)
    flushes = writes / family.shape.memtable_entries
    moved_bytes = writes * family.shape.user_bytes * shape.write_amplification * setup.engine.compression_ratio
    weight = max(1.0, family.sample.weight)
    entries = min(setup.workload.population, setup.workload.preload_keys + writes)
    return Expected(
        duration_s, writes, flushes * (1.0 + shape.compactions_per_flush), _pieces(setup, moved_bytes),
        moved_bytes / family.shape.user_bytes / weight, entries / weight, reads > 0.0,
    )  # fmt: skip


def tree_shape(setup: Setup, family: FamilySetup, writes: float) -> Shape:
    """Return the shape of a database's tree after `writes` entries to all databases."""
    engine, workload = family.engine, setup.workload
    options = engine.options
    entry = family.content.entry.put
    keys = min(workload.population, workload.preload_keys + writes) / workload.shards
    data = max(1.0, keys * entry)
    memtable = family.shape.memtable_entries * entry
    fanout = max(2.0, options.max_bytes_for_level_multiplier)
    base = max(float(options.max_bytes_for_level_base), memtable)
    levels = max(0.0, math.log(data / base) / math.log(fanout))
    trigger = max(1.0, float(options.level0_file_num_compaction_trigger))
    if options.compaction_style is not CompactionStyle.LEVEL:
        runs = max(1.0, math.log2(max(2.0, data / memtable)))
        return Shape(data, levels, 1.0 + runs, 1.0, data)
    files = max(1.0, memtable / max(1.0, float(options.target_file_size_base)))
    upper = trigger * memtable + min(data, data / fanout * fanout / (fanout - 1.0) + base)
    return Shape(data, levels, 2.0 + levels * fanout / 2.0, 1.0 / trigger + _PUSHES * levels * files, upper)


def _load(setup: Setup, family: FamilySetup) -> tuple[float, float, float]:
    """Return the duration in s, entries written, and reads of the whole run; of phases without clients only their waits."""
    rounds = [_round(setup, family, phase) for phase in setup.workload.rounds]
    waits_s = sum(phase.duration_s or 0.0 for phase in setup.workload.phases if not phase.clients)
    duration_s, writes, reads = (sum(column) for column in zip(*rounds, strict=True))
    return duration_s + waits_s, writes, reads


def _round(setup: Setup, family: FamilySetup, phase: WorkloadPhase) -> tuple[float, float, float]:
    """Return the same of one phase with clients."""
    until_s = phase.duration_s if phase.duration_s is not None else _LONGEST_RUN_S
    rates = [(group, _rate_per_s(group, setup, until_s)) for group in phase.clients]
    ends = [g.operations / rate for g, rate in rates if g.operations is not None and rate > 0.0 and not g.background]
    duration_s = min(until_s, max(ends, default=until_s))
    writes_per_s = sum(group.mix.writes * rate for group, rate in rates)
    limit = _write_limit(setup, family, writes_per_s * duration_s)
    slower = min(1.0, limit / writes_per_s) if writes_per_s > 0.0 else 1.0
    if slower < 1.0 and ends:  # a fixed number of operations takes longer
        duration_s = min(until_s, duration_s / slower)
    reads = sum((1.0 - group.mix.writes) * rate for group, rate in rates) * duration_s
    return duration_s, writes_per_s * slower * duration_s, reads


def _rate_per_s(group: Clients, setup: Setup, until_s: float) -> float:
    """Return the operations per second of a group if the store never stalls."""
    arrivals, host = group.arrivals, setup.host
    if not isinstance(arrivals, ClosedLoop):
        return mean_rate(arrivals, min(until_s, 86400.0), np.random.default_rng(0))
    device = setup.setting.device.device
    load = DeviceLoad(client_read_iops=1.0, client_read_bytes=float(setup.engine.options.block_size))
    block_s = device.allocate(device.initial(), load).client_read_latency_s
    block_s += point_read_cpu(Searched(runs=1.0, blocks=1.0, calls=1.0, requests=1.0), host).seconds(host)
    gets, writes = group.mix.gets + group.mix.scan, group.mix.writes
    options = setup.engine.options
    write = write_cpu(
        setup.workload.entry_bytes, logged=not options.disable_wal, statistics=options.statistics,
        memtable_bytes=options.write_buffer_size,
    )  # fmt: skip
    op_s = gets * block_s + writes * write.seconds(host) + host.write_op * group.client_work
    rate = min(group.threads, host.cores if gets == 0.0 else group.threads) / op_s if op_s > 0.0 else 0.0
    rate = min(rate, arrivals.limit_ops_per_s or math.inf)
    if arrivals.limit_bytes_per_s and writes:
        rate = min(rate, arrivals.limit_bytes_per_s / setup.workload.entry_bytes / writes)
    return rate


def _write_limit(setup: Setup, family: FamilySetup, writes: float) -> float:
    """Return the entries per second that the jobs of all databases can compact, with `writes` entries in the tree."""
    device = setup.setting.device.device
    options, host, entry = family.engine.options, setup.host, max(1.0, family.content.entry.put)
    alone = device.allocate(device.initial(), DeviceLoad(readers=1)), device.allocate(device.initial(), DeviceLoad(writers=1))
    cpu_s = host.compaction_byte + host.compaction_record / entry
    thread = 1.0 / (1.0 / alone[0].read_bytes_per_s + cpu_s + 1.0 / alone[1].write_bytes_per_s)
    _, compactions = family.engine.scheduler().most_jobs()
    shape = tree_shape(setup, family, writes)
    threads = setup.workload.shards * compactions
    total = min(threads * options.max_subcompactions * thread, device.peaks().write_bytes_per_s)
    # one compaction at a time moves L0 to L1
    in_l0 = setup.workload.shards * options.max_subcompactions * thread / 2.0
    return min(total / shape.write_amplification, in_l0) / entry


def _pieces(setup: Setup, moved_bytes: float) -> float:
    style = io_style(setup.engine.options, setup.setting.devices, setup.engine.scheduler().limiter())
    if style.piece_bytes is None:
        return 0.0
    return moved_bytes / style.piece_bytes * (_WHOLE_FILES if style.whole_files else 1.0)



"""Recorded run of db_bench: jobs of its LOG, histograms and counters, for the fits of CPU and device constants."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.costs.assertions import WARNING, of_build
from lsmlab.models.costs.cost import Cost
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import Searched, point_read_cpu, write_cpu
from lsmlab.models.engines.table_reads import TableReads
from lsmlab.models.errors import InputError
from lsmlab.models.text.files import read_text
from lsmlab.models.units import build, parse_quantity
from lsmlab.models.workloads.reads import TableClass, false_positive_rate
from lsmlab.sim.machine.make import DIRECT_READAHEAD_BYTES
from lsmlab.validation.calibrate.searched_runs import SortedRun, manifest_of, searches, sorted_runs, whole_run
from lsmlab.validation.logs.bench_output import Histogram, bench_output, recorded_file
from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.fills import Fill, unstalled_fills
from lsmlab.validation.logs.reader import log_of
from lsmlab.validation.logs.records import RocksDbLog
from lsmlab.validation.logs.timings.timed_jobs import TimedJob, timed_jobs

FILES: Final = ("LOG", "stdout.txt", "counters.csv")
"""Files that each repeat of a recorded case must have."""


@dataclass(frozen=True)
class RecordedRun:
    """One repeat of a recorded case."""

    name: str
    """Case and repeat, such as cpu_v100/1."""
    case: str
    config: Mapping[str, Any]
    """Configuration of the case."""
    duration_s: float
    operations: int
    stall_s: float
    jobs: tuple[TimedJob, ...]
    histograms: Mapping[str, Histogram]
    """Histograms by kind of operation: "write", "read", "seek"."""
    counters: tuple[Mapping[str, float], ...]
    """Counters of process and device, one row per second."""
    fills: tuple[Fill, ...]
    """Memtables that were filled without a stall; times in microseconds on the clock of `jobs`."""
    files_per_level: tuple[tuple[int, ...], ...]
    """Files per level after each flush or compaction."""
    sorted_runs: tuple[SortedRun, ...]
    """Sorted runs at the end, newest first; empty if unknown."""
    found_share: float
    """Share of the reads whose key existed."""
    assertions: bool
    """Whether db_bench was built with assertions."""
    digest: str
    """SHA-256 of the files that were read, and of the MANIFEST dump, which gives the ranges of the files of an idle store."""

    @property
    def workload(self) -> Mapping[str, Any]:
        """The `workload` group."""
        group: Mapping[str, Any] = self.config["workload"]
        return group

    @property
    def readahead_bytes(self) -> int:
        """Bytes of a compaction's direct read of an input file; 0 with buffered reads."""
        options = self.config["engine"]["options"]
        given = int(parse_quantity(options.get("compaction_readahead_size") or 0, "bytes"))
        return (given or DIRECT_READAHEAD_BYTES) if options.get("use_direct_reads") else 0

    @property
    def entry_bytes(self) -> float:
        """Bytes of key and value of one entry."""
        return _entry_bytes(self.config)

    @property
    def threads(self) -> int:
        """Number of client threads of the main benchmark."""
        return int(self.workload.get("threads") or 1)

    @property
    def cores(self) -> float:
        """Number of cores of the machine."""
        return float(self.config["host"]["cores"])

    @cached_property
    def host(self) -> Host:
        """Host in the case's configuration with the run's build of RocksDB, for the constants that no fit estimates."""
        about = ("description", "parameters")
        values = {key: value for key, value in self.config["host"].items() if key not in about}
        return of_build(build(Host, values | {"assertions": float(self.assertions)}, "host"))

    @property
    def write(self) -> Cost:
        """CPU cost of one write."""
        statistics = bool(self.config["engine"]["options"].get("statistics"))
        return write_cpu(
            self.entry_bytes, logged=self.logged, statistics=statistics, memtable_bytes=self.memtable_bytes
        )  # fmt: skip

    @property
    def memtable_bytes(self) -> float:
        """Median bytes of keys and values in a flushed memtable."""
        return float(np.median([job.raw_bytes for job in self.jobs if job.kind == "flush"] or [0.0]))

    @property
    def read(self) -> Cost:
        """CPU cost of one point read with direct reads: each block that is not in the block cache is a request to the device."""
        requests, found = self.requests_per_read, self.searches
        searched = Searched(
            memtables=float("write" in self.histograms), runs=self.runs_per_read, blocks=sum(group.blocks for group in found),
            block_doublings=TableReads().index_searches(found).block_doublings, calls=requests, requests=requests,
        )  # fmt: skip
        return point_read_cpu(searched, self.host)

    @cached_property
    def requests_per_read(self) -> float:
        """Requests to the device per read; counted if no job reads, or else one per key that exists (a small block cache)."""
        if self.jobs or "reads" not in self.last:
            return self.found_share
        return self.last["reads"] / self.histograms["read"].count

    @cached_property
    def searches(self) -> list[TableClass]:
        """Searches of a get in each sorted run, newest first.

        Beside jobs, the runs above the last one count as often as the LOG had further runs on average in its states of the tree.
        """
        *upper, last = self.sorted_runs or (whole_run(0.0),)
        if self.files_per_level:
            mean = float(np.mean([state[0] + sum(n > 0 for n in state[1:]) for state in self.files_per_level]))
            upper, further = upper or [whole_run(0.0)], max(0.0, mean - 1.0)
            upper = [run._replace(number=further / len(upper)) for run in upper]
        bits = max(0.0, float(self.config["engine"]["options"].get("bloom_bits") or 0.0))
        return searches((*upper, last), self.found_share, false_positive_rate(bits))

    @property
    def runs_per_read(self) -> float:
        """Mean number of sorted runs that a get searches."""
        return sum(group.per_read for group in self.searches)

    @property
    def sleeps_in_fsync(self) -> bool:
        """Whether jobs write through the page cache, and therefore sleep during the fsync of a file."""
        return not self.config["engine"]["options"].get("use_direct_io_for_flush_and_compaction")

    @property
    def logged(self) -> bool:
        """Whether writes go to the WAL."""
        return not self.config["engine"]["options"].get("disable_wal")

    @property
    def capped(self) -> bool:
        """Whether the device had a cap on bandwidth or on I/O operations."""
        return any(self.config["device"].get(key) is not None for key in ("write_cap", "read_cap", "iops_cap"))

    @property
    def limited(self) -> bool:
        """Whether RocksDB's rate limiter was on."""
        return bool(self.config["engine"]["options"].get("rate_limiter_bytes_per_sec"))

    @property
    def last(self) -> Mapping[str, float]:
        """Last row of the counters; empty if there is none."""
        return self.counters[-1] if self.counters else {}

    def of(self, kind: str) -> list[TimedJob]:
        """Return the jobs of this kind: "flush" or "compaction"."""
        return [job for job in self.jobs if job.kind == kind]


def read_run(folder: Path, case: str, config: Mapping[str, Any]) -> RecordedRun:
    """Read one repeat of a recorded case. Raises InputError if a file is missing, unreadable or has no result."""
    paths = [recorded_file(folder, name) for name in FILES]
    log_text, printed, counters = (read_text(path) for path in paths)
    digest = hashlib.sha256()
    manifest = manifest_of(folder)
    for text in (log_text, printed, counters, *([read_text(manifest)] if manifest else [])):
        digest.update(text.encode("utf-8", errors="replace"))
    output = bench_output(printed)
    duration_s, operations = output.first_result(paths[1])
    log = log_of(paths[0], log_text)
    history = jobs_of(log)
    entry_bytes = _entry_bytes(config)
    jobs = [job for job in timed_jobs(history.jobs, log.zone_us, lambda _: entry_bytes) if job.wall_s]
    histograms = output.histograms
    if int(config["workload"].get("batch_size") or 1) > 1 and "read" in histograms:
        raise InputError(f"{paths[1]}: latencies are those of MultiGets; constants are fitted to gets (readrandom)")
    if "read" not in histograms and not any(job.kind == "flush" for job in jobs):
        raise InputError(f"{paths[0]}: contains no finished flush; record the case again for a longer time")
    return RecordedRun(
        name=f"{case}/{folder.name}", case=case, config=config, duration_s=duration_s, operations=operations,
        stall_s=output.stall_s,
        jobs=tuple(jobs), histograms=histograms, counters=_counters(counters, paths[2]),
        fills=tuple(unstalled_fills(log, history.done("flush"))), files_per_level=_files_per_level(log),
        sorted_runs=sorted_runs(folder, log, config, idle=not jobs),
        found_share=output.found_share,
        assertions=WARNING in printed, digest=digest.hexdigest(),
    )  # fmt: skip


def _files_per_level(log: RocksDbLog) -> tuple[tuple[int, ...], ...]:
    counts = (event.counts("lsm_state") for event in log.events())
    return tuple(state for state in counts if state is not None)


def _entry_bytes(config: Mapping[str, Any]) -> float:
    return sum(parse_quantity(config["workload"][key], "bytes") for key in ("key_size", "value_size"))


def _counters(text: str, path: Path) -> tuple[Mapping[str, float], ...]:
    try:
        return tuple({key: float(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(text)))
    except (TypeError, ValueError):
        raise InputError(f"{path}: not a table of numbers; record the case again") from None

"""What a recorded run tells about processor and device: job records of its LOG, histograms, counters.

RocksDB 7.8 measures per job: `compaction_time_cpu_micros` and the "Flush lasted" line count the thread's CPU time,
`file_write_nanos` the time in write calls (with direct I/O that of the device), `file_fsync_nanos` that of fsyncs
(with direct I/O only the directory's). The LOG is scanned for the few lines that matter, not read as a whole.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.validation.log_text import read_text
from lsmlab.validation.rocksdb_log import parse_event

FILES: Final = ("LOG", "stdout.txt", "counters.csv")
"""What a repeat must have left."""
_FLUSH: Final = re.compile(r"\[JOB (\d+)\] Flush lasted (\d+) microseconds, and (\d+) cpu microseconds")
_RESULT: Final = re.compile(r"^(\w+) +: +[\d.]+ micros/op \d+ ops/sec ([\d.]+) seconds (\d+) operations", re.M)
_STALL: Final = re.compile(r"Cumulative stall: (\d+):(\d+):([\d.]+) H:M:S")
_HISTOGRAM: Final = re.compile(r"^Microseconds per (\w+):\n(.*?)(?=\n\n|\nMicroseconds|\Z)", re.M | re.S)
_AVERAGE: Final = re.compile(r"Count: (\d+) Average: ([\d.]+)")
_FOUND: Final = re.compile(r"\((\d+) of (\d+) found\)")
_BUCKET: Final = re.compile(r"[\[(] *(\d+), +(\d+) \] +(\d+)")


@dataclass(slots=True)
class Job:
    """One flush or compaction."""

    kind: str = ""
    start_s: float = 0.0
    end_s: float = 0.0
    """When it said that it was finished."""
    records: float = 0.0
    read_bytes: float = 0.0
    write_bytes: float = 0.0
    outputs: int = 0
    runs: int = 1
    """Sorted runs that were merged."""
    dropped: float = 0.0
    """Records that a merge read and did not write."""
    parts: int = 1
    wall_s: float = 0.0
    """Without the commit."""
    cpu_s: float = 0.0
    write_s: float = 0.0
    """In write calls."""
    sync_s: float = 0.0
    """In fsync calls."""
    deleted_s: list[float] = field(default_factory=list)
    """When it deleted its inputs, one after the other."""

    @property
    def work_end_s(self) -> float:
        """End of the part that `wall_s` measures."""
        return self.start_s + self.wall_s


@dataclass(frozen=True, slots=True)
class Histogram:
    """Latencies as db_bench prints them."""

    count: int
    mean_s: float
    buckets: tuple[tuple[float, float, int], ...]
    """Above, up to (both in microseconds), how many."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One repeat of a recorded case."""

    name: str
    """Case and repeat, such as cpu_v100/1."""
    case: str
    config: Mapping[str, Any]
    """The case's configuration."""
    duration_s: float
    operations: int
    stall_s: float
    jobs: tuple[Job, ...]
    histograms: Mapping[str, Histogram]
    """By "write", "read", "seek"."""
    counters: tuple[Mapping[str, float], ...]
    """One row per second."""
    files_per_level: tuple[tuple[int, ...], ...]
    """After each flush or compaction."""
    found_share: float
    """Of the reads, those that found their key."""
    digest: str
    """Of the files that were read."""

    @property
    def workload(self) -> Mapping[str, Any]:
        """The `workload` group."""
        group: Mapping[str, Any] = self.config["workload"]
        return group

    @property
    def entry_bytes(self) -> float:
        """Key and value of one entry."""
        from lsmlab.models.units import parse_quantity

        return sum(parse_quantity(self.workload[key], "bytes") for key in ("key_size", "value_size"))

    @property
    def threads(self) -> int:
        """Client threads of the main benchmark."""
        return int(self.workload.get("threads") or 1)

    @property
    def logged(self) -> bool:
        """Whether writes go through the write-ahead log."""
        return not self.config["engine"]["options"].get("disable_wal")

    @property
    def capped(self) -> bool:
        """Whether a cap stood over the device."""
        return any(self.config["device"].get(key) is not None for key in ("write_cap", "read_cap", "iops_cap"))

    @property
    def limited(self) -> bool:
        """Whether RocksDB's rate limiter was on."""
        return bool(self.config["engine"]["options"].get("rate_limiter_bytes_per_sec"))

    @property
    def last(self) -> Mapping[str, float]:
        """The counters at their end."""
        return self.counters[-1] if self.counters else {}

    def of(self, kind: str) -> list[Job]:
        """Its flushes or compactions."""
        return [job for job in self.jobs if job.kind == kind]


def read_run(folder: Path, case: str, config: Mapping[str, Any]) -> RecordedRun:
    """Read one repeat. Raises InputError that names the file and the remedy."""
    paths = [find_file(folder, name) for name in FILES]
    log, output, counters = (read_text(path) for path in paths)
    digest = hashlib.sha256()
    for text in (log, output, counters):
        digest.update(text.encode("utf-8", errors="replace"))
    result = _RESULT.search(output)
    if result is None:
        raise InputError(f"{paths[1]}: db_bench printed no result; record the case again")
    jobs, states = _jobs(log)
    if not any(job.kind == "flush" for job in jobs):
        raise InputError(f"{paths[0]}: no finished flush in it; record the case again, for longer")
    stall, reads = _STALL.search(output), _FOUND.search(output)
    return RecordedRun(
        name=f"{case}/{folder.name}", case=case, config=config, duration_s=float(result[2]), operations=int(result[3]),
        stall_s=sum(float(x) * u for x, u in zip(stall.groups(), (3600.0, 60.0, 1.0), strict=True)) if stall else 0.0,
        jobs=tuple(jobs), histograms=_histograms(output), counters=_counters(counters, paths[2]),
        files_per_level=tuple(states), found_share=int(reads[1]) / max(1, int(reads[2])) if reads else 1.0,
        digest=digest.hexdigest(),
    )  # fmt: skip


def find_file(folder: Path, name: str) -> Path:
    """A file of a repeat, plain or packed. Raises InputError if it is not there."""
    for end in ("", ".xz", ".gz"):
        if (folder / f"{name}{end}").is_file():
            return folder / f"{name}{end}"
    raise InputError(f"{folder}: {name} is missing; 'lsmlab record --again' makes it")


def _jobs(log: str) -> tuple[list[Job], list[tuple[int, ...]]]:
    """Finished jobs by start, and the files per level after each of them."""
    jobs: dict[int, Job] = defaultdict(Job)
    states: list[tuple[int, ...]] = []
    for line in log.split("\n"):
        at = line.find("EVENT_LOG_v1 ")
        if at < 0:
            if (found := _FLUSH.search(line)) is not None:
                job = jobs[int(found[1])]
                job.wall_s, job.cpu_s = int(found[2]) / 1e6, int(found[3]) / 1e6
            continue
        data, _ = parse_event(line[at + 13 :])
        if isinstance(data.get("job"), int) and isinstance(data.get("time_micros"), int):
            _take(jobs[data["job"]], data)
            state = data.get("lsm_state")
            if isinstance(state, list):
                states.append(tuple(int(n) for n in state))
    done = [job for job in jobs.values() if job.kind and job.end_s and job.wall_s and job.outputs]
    return sorted(done, key=lambda job: job.start_s), states


def _take(job: Job, data: Mapping[str, Any]) -> None:
    now_s, name = data["time_micros"] / 1e6, data.get("event")
    if name == "flush_started":
        job.kind, job.start_s, job.records = "flush", now_s, float(data.get("num_entries", 0))
    elif name == "compaction_started":
        job.kind, job.start_s, job.read_bytes = "compaction", now_s, float(data.get("input_data_size", 0))
        levels = {key: files for key, files in data.items() if key.startswith("files_L")}
        job.runs = max(1, sum(len(files) if key == "files_L0" else 1 for key, files in levels.items()))
    elif name == "table_file_creation":
        job.write_bytes += float(data.get("file_size", 0))
        job.outputs += 1
    elif name == "table_file_deletion":
        job.deleted_s.append(now_s)
    elif name == "flush_finished":
        job.end_s = now_s
    elif name == "compaction_finished":
        job.end_s = now_s
        job.wall_s = data.get("compaction_time_micros", 0) / 1e6
        job.cpu_s = data.get("compaction_time_cpu_micros", 0) / 1e6
        job.records, job.parts = float(data.get("num_input_records", 0)), int(data.get("num_subcompactions", 1))
        job.dropped = job.records - float(data.get("num_output_records", job.records))
    if name in ("flush_finished", "compaction_finished"):
        job.write_s = (data.get("file_write_nanos", 0) + data.get("file_prepare_write_nanos", 0)) / 1e9
        job.sync_s = data.get("file_fsync_nanos", 0) / 1e9


def _histograms(output: str) -> dict[str, Histogram]:
    found = {}
    for kind, body in _HISTOGRAM.findall(output):
        head = _AVERAGE.search(body)
        if head is not None:
            buckets = tuple((float(a), float(b), int(n)) for a, b, n in _BUCKET.findall(body))
            found[kind] = Histogram(int(head[1]), float(head[2]) * 1e-6, buckets)
    return found


def _counters(text: str, path: Path) -> tuple[Mapping[str, float], ...]:
    try:
        return tuple({key: float(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(text)))
    except (TypeError, ValueError):
        raise InputError(f"{path}: not a table of numbers; record the case again") from None

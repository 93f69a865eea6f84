"""Flushes and compactions as a LOG tells of them, for fits.

RocksDB measures per job: `compaction_time_cpu_micros` and the "Flush lasted" line (of 7.8, not of 6.11) count the thread's
CPU time; with report_bg_io_stats `file_write_nanos` is the time in write calls (with direct I/O that of the device, else
that of copies into the page cache), `file_fsync_nanos` that in fsyncs (with direct I/O only the directory's). The text is
searched for the few lines that matter, not read as a whole (rocksdb_log.py): fits need neither stamps nor stalls.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.models.costs.host import Host, effort
from lsmlab.validation.logs.json_text import parse_event

_EVENT: Final = re.compile(r"EVENT_LOG_v1 (.*)")
_FLUSH: Final = re.compile(r"\[JOB (\d+)\] Flush lasted (\d+) microseconds, and (\d+) cpu microseconds")


@dataclass(slots=True)
class Job:
    """One flush or compaction."""

    kind: str = ""
    start_s: float = 0.0
    end_s: float = 0.0
    """When it said that it was finished: of the merge; of a flush its commit."""
    records: float = 0.0
    raw_bytes: float = 0.0
    """Keys and values that went in."""
    read_bytes: float = 0.0
    output_bytes: float = 0.0
    """Of a merge, as it says itself: with files that it did not finish when the store closed."""
    runs: int = 1
    """Sorted runs that were merged."""
    dropped: float = 0.0
    """Records that a merge read and did not write."""
    parts: int = 1
    wall_s: float = 0.0
    """Without the commit; 0 where the LOG does not tell."""
    cpu_s: float = 0.0
    """0 where the LOG does not tell."""
    write_s: float = 0.0
    """In write calls, where the LOG has I/O statistics."""
    prepare_s: float = 0.0
    """In calls that make room for writes."""
    sync_s: float | None = None
    """In fsync calls, where the LOG has I/O statistics."""
    files: list[tuple[float, float]] = field(default_factory=list)
    """Output files: when finished, bytes."""
    deleted_s: list[float] = field(default_factory=list)
    """When it deleted its inputs, one after the other."""

    @property
    def work_end_s(self) -> float:
        """End of the part that `wall_s` measures."""
        return self.start_s + self.wall_s

    @property
    def writing_s(self) -> float:
        """In write calls, and those that make room for them."""
        return self.write_s + self.prepare_s

    @property
    def write_bytes(self) -> float:
        """Of its output files."""
        return sum(size for _, size in self.files)


def compaction_terms(job: Job) -> tuple[float, float, float]:
    """What a merge's CPU is made of: records, raw bytes, and records times the doublings of its runs beyond two.

    Records that it dropped count for `Host.compaction_dropped`, and so do their bytes.
    """
    share = effort(job.records, job.records - job.dropped, Host().compaction_dropped)
    return job.records * share, job.raw_bytes * share, job.records * math.log2(max(job.runs, 2) / 2.0)


def read_jobs(text: str, entry_bytes: float) -> tuple[list[Job], list[dict[str, Any]]]:
    """Finished jobs by start, and the events of all jobs by time. `entry_bytes` are key and value of one entry.

    An event has at least `event`, `job` and `time_micros`, and no `table_properties`; of one that the logger cut off it has
    what could be recovered. Times are UTC, whatever the stamps' zone.
    """
    events = _events(text)
    jobs: dict[int, Job] = defaultdict(Job)
    for data in events:
        _take(jobs[data["job"]], data)
    for found in _FLUSH.finditer(text):
        job = jobs[int(found[1])]
        job.wall_s, job.cpu_s = int(found[2]) / 1e6, int(found[3]) / 1e6
    done = [job for job in jobs.values() if job.kind and job.end_s and job.files]
    for job in done:
        job.raw_bytes = job.records * entry_bytes
    return sorted(done, key=lambda job: job.start_s), events


def _events(text: str) -> list[dict[str, Any]]:
    events = []
    for line in _EVENT.finditer(text):
        data, _ = parse_event(line[1])
        if isinstance(data.get("job"), int) and isinstance(data.get("time_micros"), int) and "event" in data:
            data.pop("table_properties", None)  # most of what the events hold
            events.append(data)
    return sorted(events, key=lambda data: data["time_micros"])  # lines from under the DB mutex come late


def _take(job: Job, data: Mapping[str, Any]) -> None:
    now_s, name = data["time_micros"] / 1e6, data["event"]
    if name == "flush_started":
        job.kind, job.start_s, job.records = "flush", now_s, float(data.get("num_entries", 0))
    elif name == "compaction_started":
        job.kind, job.start_s, job.read_bytes = "compaction", now_s, float(data.get("input_data_size", 0))
        levels = {key: files for key, files in data.items() if key.startswith("files_L")}
        job.runs = max(1, sum(len(files) if key == "files_L0" else 1 for key, files in levels.items()))
    elif name == "table_file_creation" and "file_size" in data:
        job.files.append((now_s, float(data["file_size"])))
    elif name == "table_file_deletion":
        job.deleted_s.append(now_s)
    elif name == "flush_finished":
        job.end_s = now_s
        _take_times(job, data)
    elif name == "compaction_finished" and "compaction_time_cpu_micros" in data:
        job.end_s = now_s
        job.wall_s, job.cpu_s = data["compaction_time_micros"] / 1e6, data["compaction_time_cpu_micros"] / 1e6
        job.records, job.parts = float(data.get("num_input_records", 0)), int(data.get("num_subcompactions", 1))
        job.output_bytes = float(data.get("total_output_size", 0))
        job.dropped = job.records - float(data.get("num_output_records", job.records))
        _take_times(job, data)


def _take_times(job: Job, data: Mapping[str, Any]) -> None:
    """I/O statistics."""
    job.write_s, job.prepare_s = data.get("file_write_nanos", 0) / 1e9, data.get("file_prepare_write_nanos", 0) / 1e9
    if "file_fsync_nanos" in data:
        job.sync_s = data["file_fsync_nanos"] / 1e9

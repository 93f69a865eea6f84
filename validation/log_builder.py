"""The background jobs of a store, put together from its LOG.

Most numbers stand in a LOG twice: in an event and in a line of text, or as a sum over the files that a job made. Each is
taken from the witness that another one confirms; what no two agree on is counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from lsmlab.validation.log_jobs import LogFile, LogJob, LogJobs
from lsmlab.validation.log_records import (
    DeletedLine,
    DroppingLine,
    Event,
    InstalledLine,
    JobLine,
    MovedLine,
    MovingLine,
    Record,
    ReleasedLine,
    RocksDbLog,
    StartSummary,
)

_INPUTS: Final = re.compile(r"(\d+)@(\d+)")
_TO_LEVEL: Final = re.compile(r"files to L(\d+)")
_COMPACTED: Final = re.compile(r"Compacted .*=> (\d+) bytes")
_GENERATED: Final = re.compile(r"Generated table #(\d+): (\d+) keys, (\d+) bytes")
_FLUSHED: Final = re.compile(r"Level-0 flush table #(\d+): (\d+) bytes (.*)")
_RECORDS: Final = re.compile(r"records in: (\d+), records dropped: (\d+)")
_MEGABYTES: Final = re.compile(r"MB in\(([\d.]+), ([\d.]+)")
_LISTED: Final = re.compile(r"(\d+)\((\d+)([KMG]?B)\)")
_UNITS: Final = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_ABORTED: Final = re.compile(
    r"Shutdown in progress|Column family dropped|Corruption|IO error|Aborted|Incomplete|Busy|paused"
)


def jobs_of(log: RocksDbLog) -> LogJobs:
    """Put the jobs of a log together."""
    return _Builder(log.closing_us).build(log.records)


@dataclass(slots=True)
class _Witness:
    """What the lines of text say about a job."""

    first: Record | None = None
    family: str = ""
    level: int | None = None
    inputs: dict[int, int] = field(default_factory=dict)
    write_bytes: int | None = None
    generated: dict[int, tuple[int, int]] = field(default_factory=dict)
    flushed: dict[int, tuple[int, str]] = field(default_factory=dict)


class _Builder:
    def __init__(self, closing_us: dict[int, int]) -> None:
        self.closing_us = closing_us
        self.released: set[int] = set()
        self.result = LogJobs()
        self.active: dict[tuple[int, int], list[LogJob]] = defaultdict(list)
        self.by_thread: dict[tuple[int, str], LogJob] = {}
        self.witness: dict[tuple[int, int], _Witness] = defaultdict(_Witness)
        self.installed: dict[str, InstalledLine] = {}
        self.moving: dict[str, list[MovingLine]] = defaultdict(list)
        self.moves: dict[str, LogJob] = {}
        self.dropping: dict[str, list[int]] = defaultdict(list)
        self.places: dict[int, int] = {}
        """Level of each file, as far as the log tells."""
        self.summaries: dict[str, StartSummary] = {}
        self.recovering = False
        self.families: dict[str, None] = {}

    def build(self, records: Iterable[Record]) -> LogJobs:
        for record in records:
            if isinstance(record, Event):
                reader = _EVENTS.get(record.name)
                if reader is not None:
                    reader(self, record)
            elif isinstance(record, JobLine):
                self._told(record)
            elif isinstance(record, InstalledLine):
                self.installed[record.thread] = record
            elif isinstance(record, MovingLine):
                self.moving[record.thread].append(record)
            elif isinstance(record, MovedLine):
                self._moved(record)
            elif isinstance(record, ReleasedLine):
                self.released.add(record.file)
            elif isinstance(record, DroppingLine):
                self.dropping[record.thread].append(record.file)
            elif isinstance(record, DeletedLine):
                self._deleted(record)
            elif isinstance(record, StartSummary):
                self.summaries[record.thread] = record
                self._listed(record.inputs)
        for jobs in self.active.values():
            self.result.problems["unfinished"] += len(jobs)
        self.result.jobs.sort(key=lambda j: (j.start_us, j.job))
        self.result.families = list(self.families) or ["default"]
        return self.result

    def _told(self, line: JobLine) -> None:
        told = self.witness[line.opening, line.job]
        text = line.text
        if text.startswith(("Flushing", "Compacting")):
            told.first, told.family = line, line.column_family
        if text.startswith("Compact") and (found := _TO_LEVEL.search(text)):
            told.level = int(found[1])
            told.inputs = {int(level): int(n) for n, level in _INPUTS.findall(text)}
        if found := _COMPACTED.match(text):
            told.write_bytes = int(found[1])
        elif found := _GENERATED.match(text):
            told.generated[int(found[1])] = (int(found[2]), int(found[3]))
        elif found := _FLUSHED.match(text):
            told.flushed[int(found[1])] = (int(found[2]), found[3])

    def _listed(self, inputs: str) -> None:
        """Rounded sizes of files that were made before the log began."""
        for number, size, unit in _LISTED.findall(inputs):
            if int(number) not in self.result.files:
                self.result.files[int(number)] = LogFile(int(number), int(size) * _UNITS[unit], exact=False)

    def _begin(self, event: Event, kind: str) -> LogJob:
        told = self.witness.get((event.opening, event.job), _Witness())
        job = LogJob(event.job, kind, event.opening, event.thread, event.time_us, line=event.line)
        job.column_family = str(event.data.get("cf_name") or told.family or "default")
        self.families[job.column_family] = None
        self.result.jobs.append(job)
        self.active[event.opening, event.job].append(job)
        before = self.by_thread.get((event.opening, event.thread)) if event.thread else None
        if before is not None and before.status == "unfinished" and before.job != event.job:
            self.result.problems["missing_ends"] += 1
            self._forget(before)
        self.by_thread[event.opening, event.thread] = job
        return job

    def _forget(self, job: LogJob) -> None:
        running = self.active[job.opening, job.job]
        if job in running:
            running.remove(job)

    def _flush_started(self, event: Event) -> None:
        job = self._begin(event, "flush")
        job.reason = str(event.data.get("flush_reason", ""))
        job.output_level = 0
        entries = event.whole("num_entries")
        job.entries_in = (event.whole("total_num_input_entries") or 0) if entries is None else entries
        job.deletes_in = event.whole("num_deletes") or 0
        job.memtables = event.whole("num_memtables") or 1
        job.payload_bytes = event.whole("total_data_size")

    def _compaction_started(self, event: Event) -> None:
        job = self._begin(event, "compaction")
        job.reason = str(event.data.get("compaction_reason", ""))
        score = event.data.get("score")
        job.score = float(score) if isinstance(score, int | float) else 0.0
        for name in event.data:
            if name.startswith("files_L") and name[7:].isdigit():
                job.inputs[int(name[7:])] = event.counts(name) or ()
        job.read_bytes = event.whole("input_data_size") or 0
        summary = self.summaries.pop(event.thread, None)
        job.summary = summary.inputs if summary else ""
        told = self.witness.get((event.opening, event.job))
        if told is not None and told.level is not None:
            job.output_level = told.level
        self._inputs(job)

    def _inputs(self, job: LogJob) -> None:
        if not job.inputs and job.summary:  # the event is cut off or lost: the summary names the files without levels
            listed = [tuple(int(n) for n, _, _ in _LISTED.findall(part)) for part in job.summary.split("], ")]
            told = self.witness.get((job.opening, job.job), _Witness())
            job.inputs = dict(zip(told.inputs, listed, strict=False))
        job.start_level = min(job.inputs, default=-1)
        files = self.result.files
        known = 0
        exact = bool(job.inputs)
        for level, numbers in job.inputs.items():
            infos = [files[n] for n in numbers if n in files]
            if len(infos) == len(numbers):
                job.input_bytes[level] = sum(f.size_bytes for f in infos)
                known += job.input_bytes[level]
                exact &= all(f.exact for f in infos)
            else:
                exact = False
        if exact and known != job.read_bytes:
            self.result.problems["contradictions" if job.read_bytes else "unknown_numbers"] += 1
            job.read_bytes = known
        elif job.read_bytes and len(job.input_bytes) == len(job.inputs):
            self._adjust(job, known)

    @staticmethod
    def _adjust(job: LogJob, known: int) -> None:
        """Spread the rounding of sizes over the levels, so that they add up to the bytes read."""
        if known:
            scale = job.read_bytes / known
            job.input_bytes = {level: round(size * scale) for level, size in job.input_bytes.items()}

    def _created(self, event: Event) -> None:
        number, size = event.whole("file_number"), event.whole("file_size")
        told = self.witness.get((event.opening, event.job), _Witness())
        witness = told.generated.get(number or -1, (None, None))[1]
        if number is not None and number in told.flushed:
            witness = told.flushed[number][0]
        if witness is not None and size != witness:
            self.result.problems["contradictions"] += 1
        if number is None:
            self.result.problems["unknown_numbers"] += 1
            return
        info = _file_of(event, number, size if size is not None else (witness or 0))
        self.result.files[number] = info
        family = str(event.data.get("cf_name") or "default")
        self.families[family] = None
        running = self.active.get((event.opening, event.job))
        if running:
            running[-1].outputs.append(info)
            if running[-1].kind == "flush":
                running[-1].column_family = family
        elif self.recovering or event.job <= 1:
            self._recovered(event, info, family)
        else:
            self.result.problems["orphan_files"] += 1

    def _recovered(self, event: Event, info: LogFile, family: str) -> None:
        job = LogJob(event.job, "recovery", event.opening, event.thread, event.time_us, event.time_us, family)
        job.output_level, job.outputs, job.output_files, job.write_bytes = 0, [info], 1, info.size_bytes
        job.entries_in = job.entries_out = info.entries or 0
        job.reason, job.status, job.line = "Recovery", "ok", event.line
        self.result.jobs.append(job)

    def _ended(self, event: Event, kind: str) -> LogJob:
        running = [j for j in self.active.get((event.opening, event.job), ()) if j.kind == kind]
        if running:
            job = running[-1]
            self._forget(job)
        else:
            self.result.problems["missing_starts"] += 1
            job = self._begin(event, kind)
            self._forget(job)
            told = self.witness.get((event.opening, event.job))
            if told is not None:
                job.start_us = told.first.time_us if told.first else job.start_us
                job.output_level = told.level if told.level is not None else job.output_level
        job.end_us, job.line, job.status = event.time_us, event.line, "ok"
        job.lsm_state = event.counts("lsm_state")
        return job

    def _flush_finished(self, event: Event) -> None:
        job = self._ended(event, "flush")
        job.output_level = 0
        job.immutables = event.whole("immutable_memtables")
        told = self.witness.get((event.opening, event.job), _Witness())
        lost = [n for n in told.flushed if n not in self.result.files and told.flushed[n][0] > 0]
        for number in lost:  # the event of a file is lost, but not the line
            self.result.problems["contradictions"] += 1
            self.result.files[number] = LogFile(number, told.flushed[number][0])
            job.outputs.append(self.result.files[number])
        job.output_files = len(job.outputs)
        self.places.update((f.number, 0) for f in job.outputs)
        job.write_bytes = sum(f.size_bytes for f in job.outputs)
        job.entries_out = sum(f.entries or 0 for f in job.outputs)
        if not job.outputs and not told.flushed:
            self.result.problems["unknown_numbers"] += 1
        closing = self.closing_us.get(event.opening)
        late = closing is not None and event.time_us >= closing
        if late and self.released and not any(f.number in self.released for f in job.outputs):
            job.status = "aborted"
        if any("OK" not in words for _, words in told.flushed.values()):
            job.status = "aborted"

    def _compaction_finished(self, event: Event) -> None:
        job = self._ended(event, "compaction")
        told = self.witness.get((event.opening, event.job), _Witness())
        line = self.installed.pop(event.thread, None)
        if line is not None and abs(line.time_us - event.time_us) > 10**6:
            line = None
        if line is not None and _ABORTED.search(line.text):
            job.status = "aborted"
            self._thrown_away(job, event)
            return
        levels = [event.whole("output_level"), told.level]
        job.output_level = self._agreed(levels, default=job.output_level)
        job.output_files = self._agreed(
            [event.whole("num_output_files"), len(job.outputs) or None, len(told.generated) or None]
        )
        self.places.update((f.number, job.output_level) for f in job.outputs)
        sizes = [sum(f.size_bytes for f in job.outputs) or None, sum(s for _, s in told.generated.values()) or None]
        job.write_bytes = self._agreed([event.whole("total_output_size"), told.write_bytes, *sizes])
        job.subcompactions = event.whole("num_subcompactions") or 1
        told_in, told_out = _records(line, event, job.subcompactions)
        entries = [sum(f.entries or 0 for f in job.outputs) or None, sum(n for n, _ in told.generated.values()) or None]
        job.entries_in = self._agreed([event.whole("num_input_records"), told_in])
        job.entries_out = self._agreed([event.whole("num_output_records"), told_out, *entries])
        wall, cpu = event.whole("compaction_time_micros"), event.whole("compaction_time_cpu_micros")
        job.wall_s = wall / 1e6 if wall is not None else None
        job.cpu_s = cpu / 1e6 if cpu is not None else None
        if line is not None:
            job.lsm_state = job.lsm_state or line.lsm_state
            self._megabytes(job, line.text)

    @staticmethod
    def _thrown_away(job: LogJob, event: Event) -> None:
        """What an aborted compaction had done: its witnesses need not agree, since it may have stopped anywhere."""
        job.output_level = event.whole("output_level") or job.output_level
        job.output_files = event.whole("num_output_files") or len(job.outputs)
        job.write_bytes = event.whole("total_output_size") or 0
        job.entries_in = event.whole("num_input_records") or 0
        job.entries_out = event.whole("num_output_records") or 0
        job.wall_s = (event.whole("compaction_time_micros") or 0) / 1e6

    def _megabytes(self, job: LogJob, text: str) -> None:
        """Bytes read by level from the rounded megabytes of the text, where files are not known."""
        found = _MEGABYTES.search(text)
        if found is None or len(job.input_bytes) == len(job.inputs) > 0:
            return
        above, same = (round(float(n) * _UNITS["MB"]) for n in found.groups())
        if not job.read_bytes:
            self.result.problems["unknown_numbers"] += 1
            job.read_bytes = above + same
        elif above + same:
            above, same = (round(n * job.read_bytes / (above + same)) for n in (above, same))
        start = job.start_level if job.start_level >= 0 else max(0, job.output_level - 1)
        job.start_level = start
        job.input_bytes = {job.output_level: same}
        if start != job.output_level:
            job.input_bytes[start] = above

    def _agreed(self, witnesses: list[int | None], default: int = 0) -> int:
        """The number that most witnesses tell; the first of them where they all differ."""
        told = [n for n in witnesses if n is not None]
        if not told:
            self.result.problems["unknown_numbers"] += 1
            return default
        if len(set(told)) == 1:
            return told[0]
        self.result.problems["contradictions"] += 1
        return Counter(told).most_common(1)[0][0]

    def _trivial_move(self, event: Event) -> None:
        moved = self.moving.pop(event.thread, [])
        job = LogJob(event.job, "trivial_move", event.opening, event.thread, event.time_us, event.time_us)
        job.column_family = moved[0].column_family if moved else str(event.data.get("cf_name", "default"))
        self.families[job.column_family] = None
        files = {m.file: m for m in moved}
        for m in moved:
            self.result.files.setdefault(m.file, LogFile(m.file, m.size_bytes))
        job.output_level = self._agreed([event.whole("destination_level"), moved[0].level if moved else None], -1)
        job.moved_bytes = self._agreed(
            [event.whole("total_files_size"), sum(m.size_bytes for m in moved) if moved else None]
        )
        job.output_files = self._agreed([event.whole("files"), len(files) if moved else None])
        job.start_us = min([event.time_us, *(m.time_us for m in moved)])
        before = [self.places[n] for n in files if n in self.places]
        job.start_level = before[0] if before else max(0, job.output_level - 1)
        job.inputs = {job.start_level: tuple(files)}
        self.places.update(dict.fromkeys(files, job.output_level))
        job.reason, job.status, job.line = "", "ok", event.line
        self.result.jobs.append(job)
        self.moves[event.thread] = job

    def _moved(self, line: MovedLine) -> None:
        job = self.moves.pop(line.thread, None)
        if job is None or (job.output_files, job.moved_bytes) != (line.files, line.size_bytes):
            self.result.problems["missing_starts" if job is None else "contradictions"] += 1
        if job is not None:
            job.lsm_state = line.lsm_state

    def _deleted(self, line: DeletedLine) -> None:
        """FIFO's way to make room; the job has no event of its own, and no number."""
        numbers = self.dropping.pop(line.thread, [])
        job = LogJob(-1, "drop", line.opening, line.thread, line.time_us, line.time_us, line.column_family)
        job.inputs, job.start_level, job.status, job.line = {0: tuple(numbers)}, 0, "ok", line.line
        if len(numbers) != line.files:
            self.result.problems["contradictions"] += 1
        known = [self.result.files[n].size_bytes for n in numbers if n in self.result.files]
        job.moved_bytes, job.reason = sum(known), "FIFO"
        self.result.jobs.append(job)

    def _recovery(self, event: Event) -> None:
        self.recovering = event.name == "recovery_started"


_EVENTS: Final = {
    "flush_started": _Builder._flush_started,
    "flush_finished": _Builder._flush_finished,
    "compaction_started": _Builder._compaction_started,
    "compaction_finished": _Builder._compaction_finished,
    "table_file_creation": _Builder._created,
    "trivial_move": _Builder._trivial_move,
    "recovery_started": _Builder._recovery,
    "recovery_finished": _Builder._recovery,
}


def _records(line: InstalledLine | None, event: Event, subcompactions: int) -> tuple[int | None, int | None]:
    """Entries in and out as the line of text tells them; 6.4 leaves out one of each subcompaction but the first."""
    found = _RECORDS.search(line.text) if line else None
    if found is None:
        return None, None
    entries_in, entries_out = int(found[1]), int(found[1]) - int(found[2])
    stated_in, stated_out = event.whole("num_input_records"), event.whole("num_output_records")
    if stated_in is not None and 0 < stated_in - entries_in < subcompactions:
        entries_in = stated_in
    if stated_out is not None and 0 < stated_out - entries_out < subcompactions:
        entries_out = stated_out
    return entries_in, entries_out


def _file_of(event: Event, number: int, size: int) -> LogFile:
    properties = event.data.get("table_properties")
    told = properties if isinstance(properties, dict) else event.data

    def whole(name: str) -> int | None:
        value = told.get(name)
        if isinstance(value, str) and value.isdigit():
            return int(value)
        return value if isinstance(value, int) else None

    return LogFile(
        number,
        size,
        whole("num_entries"),
        whole("num_deletions") or whole("kDeletedKeys") or 0,
        whole("raw_key_size") or 0,
        whole("raw_value_size") or 0,
        whole("data_size") or 0,
    )

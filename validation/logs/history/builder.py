"""Builder of a store's background jobs from its LOG.

A LOG has most numbers several times: in an event, in a text line, and as a sum over the output files of a job. The
number on which most sources agree is used, and disagreements are counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from lsmlab.models.tree.blobs import BLOB_FRAME_BYTES
from lsmlab.validation.logs.history.jobs import LogBlobFile, LogFile, LogJob, LogJobs, packed
from lsmlab.validation.logs.history.moves import Moves
from lsmlab.validation.logs.history.witness import (
    JobText,
    aborted,
    blob_bytes_read,
    file_of,
    flush_times_s,
    listed_files,
    megabytes_read,
    text_entries,
)
from lsmlab.validation.logs.record_list import Record
from lsmlab.validation.logs.records import (
    MOST_LEVELS,
    DeletedLine,
    DroppingLine,
    Event,
    InstalledLine,
    JobLine,
    MovedLine,
    MovingLine,
    Opening,
    ReleasedLine,
    RocksDbLog,
    StartSummary,
    whole_number,
)

_NEAR_US: Final = 10**6
"""Longest time between the two lines of the end of a compaction."""


def jobs_of(log: RocksDbLog) -> LogJobs:
    """Build the jobs of a LOG from its records."""
    jobs = _Builder(log.openings).build(log.records)
    if log.options.get("atomic_flush") in ("1", "true"):  # the flushes of a job print the state before their joint commit
        for job in jobs.done("flush"):
            job.lsm_state = None
    return jobs


class _Builder:
    def __init__(self, openings: Sequence[Opening]) -> None:
        self.openings = openings
        self.released: set[int] = set()
        self.result = LogJobs()
        self.active: dict[tuple[int, int], list[LogJob]] = defaultdict(list)
        self.last: dict[tuple[int, int], LogJob] = {}
        """By (opening, job id): the job that started last, running or ended."""
        self.by_thread: dict[tuple[int, str], LogJob] = {}
        self.job_texts: dict[tuple[int, int], JobText] = defaultdict(JobText)
        """By (opening, job id): numbers from the text lines of the jobs that have not ended."""
        self.flush_times_s: dict[tuple[int, int], tuple[float, float]] = {}
        """By (opening, job id): duration and CPU time of a flush."""
        self.installed: list[InstalledLine] = []
        """Lines whose event is still to come."""
        self.ranges: dict[int, int] = {}
        """Range tombstones of the files that have any."""
        self.places: dict[int, int] = {}
        """Level of each file, where the LOG shows it."""
        self.moves = Moves(self.result, self.places)
        self.summaries: dict[str, StartSummary] = {}
        self.recovering = False
        self.families: dict[str, None] = {}

    def build(self, records: Iterable[Record]) -> LogJobs:
        for record in records:
            if isinstance(record, Event):
                reader = _EVENTS.get(record.name)
                if reader is not None:
                    reader(self, record)
                if record.name in _ENDS and (record.opening, record.job) not in self.active:
                    self.job_texts.pop((record.opening, record.job), None)  # a third of the memory for a large LOG
            elif isinstance(record, JobLine):
                self.job_texts[record.opening, record.job].read_line(record)
                if times_s := flush_times_s(record.text):
                    self.flush_times_s[record.opening, record.job] = times_s
            elif isinstance(record, InstalledLine):
                self.installed.append(record)
            elif isinstance(record, MovingLine):
                self.moves.moving(record)
            elif isinstance(record, MovedLine):
                self.moves.moved(record)
            elif isinstance(record, ReleasedLine):
                self.released.add(record.file)
            elif isinstance(record, DroppingLine):
                self.moves.dropping(record)
            elif isinstance(record, DeletedLine):
                self.moves.deleted(record)
            elif isinstance(record, StartSummary):
                if record.thread:
                    self.summaries[record.thread] = record
                for file in (file for level in listed_files(record.inputs) for file in level):
                    self.result.files.setdefault(file.number, file)  # rounded size of a file from before the LOG
        for jobs in self.active.values():
            self.result.problems["unfinished"] += len(jobs)
        for job in self.result.jobs:
            if job.kind == "flush":
                job.wall_s, job.cpu_s = self.flush_times_s.get((job.opening, job.job), (job.wall_s, job.cpu_s))
        self.result.jobs.sort(key=lambda j: (j.start_us, j.job))
        self.result.families = list(self.families) or ["default"]
        return self.result

    def _begin(self, event: Event, kind: str) -> LogJob:
        text_lines = self._texts(event)
        job = LogJob(event.job, kind, event.opening, event.thread, event.time_us, line=event.line)
        job.column_family = str(event.data.get("cf_name") or text_lines.family or "default")
        self.families[job.column_family] = None
        self.result.jobs.append(job)
        self.active[event.opening, event.job].append(job)
        self.last[event.opening, event.job] = job
        before = self.by_thread.get((event.opening, event.thread)) if event.thread else None
        if before is not None and before.status == "unfinished" and before.job != event.job:
            self.result.problems["missing_ends"] += 1
            self._forget(before)
        self.by_thread[event.opening, event.thread] = job
        return job

    def _texts(self, job: Event | LogJob) -> JobText:
        """Return the numbers from the text lines of a job, or of the job of an event."""
        return self.job_texts.get((job.opening, job.job)) or JobText()

    def _forget(self, job: LogJob) -> None:
        key = (job.opening, job.job)
        kept = [other for other in self.active.pop(key, []) if other is not job]
        if kept:
            self.active[key] = kept

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
        job.score = event.number("score") or 0.0
        inputs: dict[int, tuple[int, ...]] = {}
        for name in event.data:
            level = whole_number(name[7:]) if name.startswith("files_L") else None
            if level is not None and level < MOST_LEVELS:
                inputs[level] = event.counts(name) or ()
        job.read_bytes = event.whole("input_data_size") or 0
        summary = self.summaries.pop(event.thread, None)
        level = self._texts(event).level
        job.output_level = job.output_level if level is None else level
        self._inputs(job, inputs, summary.inputs if summary else "")

    def _inputs(self, job: LogJob, inputs: dict[int, tuple[int, ...]], summary: str) -> None:
        if not inputs and summary:  # the event is cut off or lost; the summary has files without levels
            listed = [tuple(f.number for f in level) for level in listed_files(summary)]
            text_lines = self._texts(job)
            inputs = dict(zip(text_lines.inputs, listed, strict=False))
        job.inputs = packed(inputs)
        job.start_level = min(inputs, default=-1)
        files = self.result.files
        known = 0
        exact = bool(inputs)
        sizes: dict[int, int] = {}
        for level, numbers in inputs.items():
            infos = [files[n] for n in numbers if n in files]
            if len(infos) == len(numbers):
                sizes[level] = sum(f.size_bytes for f in infos)
                known += sizes[level]
                exact &= all(f.exact for f in infos)
            else:
                exact = False
        if exact and known != job.read_bytes:
            self.result.problems["contradictions" if job.read_bytes else "unknown_numbers"] += 1
            job.read_bytes = known
        elif job.read_bytes and known and len(sizes) == len(inputs):  # rounded sizes do not add up to the bytes read
            sizes = {level: round(size * (job.read_bytes / known)) for level, size in sizes.items()}
        job.input_bytes = packed(sizes)

    def _created(self, event: Event) -> None:
        number, size = event.whole("file_number"), event.whole("file_size")
        text_lines = self._texts(event)
        _, witness = text_lines.files.get(number or -1, (None, None))
        if witness is not None and size != witness:
            self.result.problems["contradictions"] += 1
        if number is None:
            self.result.problems["unknown_numbers"] += 1
            return
        info, ranges = file_of(event, number, size if size is not None else (witness or 0))
        self.result.files[number] = info
        if ranges:
            self.ranges[number] = ranges
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

    def _blob_file_created(self, event: Event) -> None:
        if not str(event.data.get("status", "OK")).startswith("OK"):
            return
        number, size = event.whole("file_number"), event.whole("total_blob_bytes") or 0
        if number is not None:
            self.result.blob_files[number] = LogBlobFile(size + BLOB_FRAME_BYTES, event.time_us)
        if running := self.active.get((event.opening, event.job)):
            job = running[-1]
            if number is not None:
                self.result.blob_files[number].job = job
            job.blob_files += 1
            job.blobs += event.whole("total_blob_count") or 0
            job.blob_write_bytes += size

    def _blob_file_deleted(self, event: Event) -> None:
        number = event.whole("file_number")
        if number in self.result.blob_files:
            self.result.blob_files[number].deleted_us = event.time_us
        elif number is not None and number < min(self.result.blob_files, default=number + 1):
            self.result.old_blob_files_deleted_us.append(event.time_us)

    def _blobs_of_lines(self, job: LogJob, text_lines: JobText) -> None:
        """Set the blob files of a job from its text lines, if it has no events of them (before 6.25, or lost)."""
        if job.blob_files < len(text_lines.blob_files):
            job.blob_files = len(text_lines.blob_files)
            job.blobs, job.blob_write_bytes = (sum(column) for column in zip(*text_lines.blob_files.values(), strict=True))

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
            text_lines = self._texts(event)
            job.start_us = text_lines.first.time_us if text_lines.first else job.start_us
            job.output_level = text_lines.level if text_lines.level is not None else job.output_level
        job.end_us, job.line, job.status = event.time_us, event.line, "ok"
        job.lsm_state = event.counts("lsm_state")
        return job

    def _flush_finished(self, event: Event) -> None:
        job = self._ended(event, "flush")
        job.output_level = 0
        job.immutables = event.whole("immutable_memtables")
        _io_times(job, event)
        text_lines = self._texts(event)
        for number, (_, size) in text_lines.files.items():
            if number not in self.result.files and size > 0:  # the table_file_creation event is lost, the text line is not
                self.result.problems["contradictions"] += 1
                self.result.files[number] = LogFile(number, size)
                job.outputs.append(self.result.files[number])
        job.output_files = len(job.outputs)
        self._blobs_of_lines(job, text_lines)
        self.places.update((f.number, 0) for f in job.outputs)
        job.write_bytes = sum(f.size_bytes for f in job.outputs)
        job.entries_out = sum(f.entries or 0 for f in job.outputs)
        if not job.outputs and not text_lines.files:
            self.result.problems["unknown_numbers"] += 1
        closing = self.openings[event.opening].closing_us
        late = closing is not None and event.time_us >= closing
        lost = late and self.released and not any(f.number in self.released for f in job.outputs)
        if lost or text_lines.failed:
            job.status = "aborted"

    def _compaction_finished(self, event: Event) -> None:
        job = self._ended(event, "compaction")
        wall, cpu = event.whole("compaction_time_micros"), event.whole("compaction_time_cpu_micros")
        job.wall_s = wall / 1e6 if wall is not None else None
        if wall is not None and event.time_us - wall < job.start_us:  # the LOG begins after the job, or lacks its start
            job.start_us = event.time_us - wall
        job.cpu_s = cpu / 1e6 if cpu is not None else None
        job.subcompactions = event.whole("num_subcompactions") or 1
        _io_times(job, event)
        text_lines = self._texts(event)
        self._blobs_of_lines(job, text_lines)
        told = event.whole("num_blob_output_files") or 0
        if told > job.blob_files:  # events and lines of some are lost
            job.blob_files, job.blob_write_bytes = told, event.whole("total_blob_output_size") or 0
        line = self._installed(event)
        if line is not None and aborted(job, event, line):
            return
        levels = [event.level("output_level"), text_lines.level]
        most_frequent = self.result.most_frequent
        job.output_level = most_frequent(levels, default=job.output_level)
        generated = text_lines.files.values()
        sizes = [sum(f.size_bytes for f in job.outputs) or None, sum(s for _, s in generated) or None]
        generated_entries = sum(n for n, _ in generated) - sum(self.ranges.get(number, 0) for number in text_lines.files)
        entries = [sum(f.entries or 0 for f in job.outputs) or None, generated_entries or None]
        counts = [len(job.outputs) or None, len(text_lines.files) or None]
        files, size = event.whole("num_output_files"), event.whole("total_output_size")
        if size is not None and size not in sizes and (files or 0) > max(len(job.outputs), len(generated)):
            sizes, entries, counts = [], [], []  # the events and lines of some files are lost: what is left is not the whole
            self.result.problems["unknown_numbers"] += 1
        job.output_files = most_frequent([files, *counts])
        self.places.update((f.number, job.output_level) for f in job.outputs)
        both = text_lines.write_bytes  # SST files and blob files
        text_bytes = None if both is None else max(0, both - job.blob_write_bytes)
        job.write_bytes = most_frequent([size, text_bytes, *sizes])
        text_entries_in, text_entries_out = text_entries(line, event, job.subcompactions)
        job.entries_in = most_frequent([event.whole("num_input_records"), text_entries_in])
        job.entries_out = most_frequent([event.whole("num_output_records"), text_entries_out, *entries])
        if line is not None:
            job.lsm_state = job.lsm_state or line.lsm_state
            self._megabytes(job, line.text)
            blob_bytes = blob_bytes_read(line.text)
            job.blob_read_bytes, job.blob_read_known = blob_bytes or 0, blob_bytes is not None

    def _installed(self, event: Event) -> InstalledLine | None:
        """Return the line of the end of a compaction before its event: that of its thread, or with the same files per level."""
        near = [line for line in self.installed if abs(line.time_us - event.time_us) <= _NEAR_US]
        files = event.counts("lsm_state")
        mine = [line for line in near if (line.thread == event.thread if event.thread else line.lsm_state == files)]
        found = mine[-1] if mine else None
        self.installed = [line for line in near if line is not found and (not event.thread or line.thread != event.thread)]
        return found

    def _megabytes(self, job: LogJob, text: str) -> None:
        """Set the input bytes by level from the rounded megabytes in the text, if sizes of input files are unknown."""
        found = megabytes_read(text)
        if found is None or len(job.input_bytes) == len(job.inputs) > 0:
            return
        above, same = found
        if not job.read_bytes:
            self.result.problems["unknown_numbers"] += 1
            job.read_bytes = above + same
        elif above + same:
            above, same = (round(n * job.read_bytes / (above + same)) for n in (above, same))
        start = job.start_level if job.start_level >= 0 else max(0, job.output_level - 1)
        job.start_level = start
        sizes = {job.output_level: same}
        if start != job.output_level:
            sizes[start] = above
        job.input_bytes = packed(sizes)

    def _trivial_move(self, event: Event) -> None:
        self.families[self.moves.trivial_move(event)] = None

    def _ingested(self, event: Event) -> None:
        if len(self.families) < 2:  # the event does not name the column family
            self.moves.ingested(event, next(iter(self.families), "default"))

    def _deleted(self, event: Event) -> None:
        job = self.last.get((event.opening, event.job))
        if job is not None:
            job.deletions += 1

    def _recovery(self, event: Event) -> None:
        self.recovering = event.name == "recovery_started"


def _io_times(job: LogJob, event: Event) -> None:
    """Set the job's times in system calls, which report_bg_io_stats adds to the event at the end of a job."""
    sync, write = event.whole("file_fsync_nanos"), event.whole("file_write_nanos")
    if sync is not None:
        job.sync_s = sync / 1e9
    if write is not None:
        job.write_s = write / 1e9
    job.prepare_s = (event.whole("file_prepare_write_nanos") or 0) / 1e9


_ENDS: Final = ("flush_finished", "compaction_finished")
_EVENTS: Final = {
    "flush_started": _Builder._flush_started,
    "flush_finished": _Builder._flush_finished,
    "compaction_started": _Builder._compaction_started,
    "compaction_finished": _Builder._compaction_finished,
    "table_file_creation": _Builder._created,
    "table_file_deletion": _Builder._deleted,
    "blob_file_creation": _Builder._blob_file_created,
    "blob_file_deletion": _Builder._blob_file_deleted,
    "trivial_move": _Builder._trivial_move,
    "ingest_finished": _Builder._ingested,
    "recovery_started": _Builder._recovery,
    "recovery_finished": _Builder._recovery,
}

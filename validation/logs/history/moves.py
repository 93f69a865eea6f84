"""Commits that rewrite no file: trivial moves, FIFO's deletions, and ingestions."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from lsmlab.validation.logs.history.jobs import LogFile, LogJob, LogJobs
from lsmlab.validation.logs.records import (
    MOST_LEVELS,
    DeletedLine,
    DroppingLine,
    Event,
    MovedLine,
    MovingLine,
    whole_number,
)

_NUMBER: Final = re.compile(r"(\d+)\.sst$")


class Moves:
    """Builder of these commits, from events and the lines around them on the same thread."""

    def __init__(self, result: LogJobs, places: dict[int, int]) -> None:
        self._result = result
        self._places = places
        """Level of each file, where the LOG shows it; trivial moves update it."""
        self._moving: dict[str, list[MovingLine]] = defaultdict(list)
        self._moves: dict[str, LogJob] = {}
        self._dropping: dict[str, list[int]] = defaultdict(list)

    def moving(self, line: MovingLine) -> None:
        """Record a file that is about to be moved."""
        self._moving[line.thread].append(line)

    def trivial_move(self, event: Event) -> str:
        """Add the job of a trivial_move event; return its column family."""
        moved = self._moving.pop(event.thread, [])
        result = self._result
        job = LogJob(event.job, "trivial_move", event.opening, event.thread, event.time_us, event.time_us)
        job.column_family = moved[0].column_family if moved else str(event.data.get("cf_name", "default"))
        files = {m.file: m for m in moved}
        for m in moved:
            result.files.setdefault(m.file, LogFile(m.file, m.size_bytes))
        sizes = sum(m.size_bytes for m in moved) if moved else None
        levels = [event.level("destination_level"), moved[0].level if moved else None]
        job.output_level = result.most_frequent(levels, default=-1)
        job.moved_bytes = result.most_frequent([event.whole("total_files_size"), sizes])
        job.output_files = result.most_frequent([event.whole("files"), len(files) if moved else None])
        job.start_us = min([event.time_us, *(m.time_us for m in moved)])
        before = [self._places[n] for n in files if n in self._places]
        job.start_level = before[0] if before else max(0, job.output_level - 1)
        job.inputs = {job.start_level: tuple(files)}
        self._places.update(dict.fromkeys(files, job.output_level))
        job.status, job.line = "ok", event.line
        result.jobs.append(job)
        self._moves[event.thread] = job
        return job.column_family

    def moved(self, line: MovedLine) -> None:
        """Add the files per level, from the line after the event, to the trivial move."""
        job = self._moves.pop(line.thread, None)
        if job is None or (job.output_files, job.moved_bytes) != (line.files, line.size_bytes):
            self._result.problems["missing_starts" if job is None else "contradictions"] += 1
        if job is not None:
            job.lsm_state = line.lsm_state

    def ingested(self, event: Event, family: str) -> None:
        """Add a job for each level that an ingest_finished event names. `family`: its column family, which it does not tell."""
        words = event.data.get("files_ingested")
        files: dict[int, list[int]] = defaultdict(list)
        for path, level in zip(words[1::4], words[3::4], strict=False) if isinstance(words, list) else ():
            found = _NUMBER.search(str(path))
            number = whole_number(found[1]) if found else None
            if number is not None and isinstance(level, int) and 0 <= level < MOST_LEVELS:
                files[level].append(number)
        for level, numbers in files.items():
            job = LogJob(-1, "ingestion", event.opening, event.thread, event.time_us, event.time_us, family)
            job.output_level, job.output_files, job.status, job.line = level, len(numbers), "ok", event.line
            self._places.update(dict.fromkeys(numbers, level))
            self._result.jobs.append(job)
        if files:
            self._result.jobs[-1].lsm_state = event.counts("lsm_state")

    def dropping(self, line: DroppingLine) -> None:
        """Record a file that FIFO compaction is about to delete."""
        self._dropping[line.thread].append(line.file)

    def deleted(self, line: DeletedLine) -> None:
        """Add the job in which FIFO compaction deleted files; it has no event and no job id."""
        numbers = self._dropping.pop(line.thread, [])
        job = LogJob(-1, "drop", line.opening, line.thread, line.time_us, line.time_us, line.column_family)
        job.inputs, job.start_level, job.status, job.line = {0: tuple(numbers)}, 0, "ok", line.line
        if len(numbers) != line.files:
            self._result.problems["contradictions"] += 1
        known = [self._result.files[n].size_bytes for n in numbers if n in self._result.files]
        job.moved_bytes, job.reason = sum(known), "FIFO"
        self._result.jobs.append(job)

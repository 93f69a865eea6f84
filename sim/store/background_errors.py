"""Background errors of one database: effects of failed jobs, and the recovery from a full device.

`lsmlab.models.policies.rocksdb.errors` has RocksDB's rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lsmlab.models.policies.decisions import Compaction, StallCause
from lsmlab.models.policies.rocksdb.errors import POLL_S, Severity, WriteFailure, has_room, severity
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.store.jobs.context import DatabaseContext

_ORDER: Final = tuple(Severity)
"""Severities from the lowest: an error of a higher one replaces that of a lower one."""


@dataclass(slots=True)
class ErrorRecord:
    """Failed job, or error of a database from its begin to the recovery."""

    start_s: float
    failure: WriteFailure
    flush: bool
    severity: Severity
    end_s: float | None = None
    """Time of the recovery; None: not recovered at the end of the run."""


class BackgroundErrors:
    """Error of a database (`ErrorHandler::bg_error_`) and its recovery."""

    def __init__(self, database: DatabaseContext) -> None:
        self._database = database
        self.severity = Severity.NONE
        """Severity of the present error; NONE: no error."""
        self.records: list[ErrorRecord] = []
        self._needed_bytes = 0.0
        """Free space that ends a soft error: inputs of the compactions that ran when it began (`free_space_trigger_`)."""
        self._recovering = False
        self._polls = False

    def job_failed(self, failure: WriteFailure, *, flush: bool) -> None:
        """Set the error that the failed write of a flush or compaction causes."""
        database, now_s = self._database, self._database.env.now
        found = severity(database.first_options[0], failure, flush=flush)
        self.records.append(ErrorRecord(now_s, failure, flush, found, now_s if found is Severity.NONE else None))
        if self._recovering and found is Severity.HARD:  # the flush of the recovery has failed
            self._recovering = False
            database.stop_for_error()
            return
        if _ORDER.index(found) <= _ORDER.index(self.severity):
            return
        self.severity = found
        if found is Severity.SOFT:
            self._needed_bytes = float(sum(database.compaction_inputs()))
        else:
            database.stop_for_error()
        if found is not Severity.FATAL and not self._polls:
            database.env.process(self._poll())

    def admits(self, pick: Compaction) -> bool:
        """Return whether a compaction may start: without an error always, else only if its output has room."""
        if self.severity is Severity.NONE:
            return True
        size = sum(f.size_bytes for _, files in pick.inputs for f in files)
        database = self._database
        reserved = sum(database.compaction_inputs()) - size
        free, buffer = database.machine.space.free_bytes, database.first_options[1].write_buffer_size
        return has_room(free, float(size), float(reserved), float(buffer))

    def memory_freed(self) -> None:
        """End the recovery from a hard error once all memtables are flushed (`DBImpl::ResumeImpl`)."""
        if self._recovering and not self._database.has_immutables:
            self._clear()
            self._database.resume_writes(StallCause.BACKGROUND_ERROR)

    def _poll(self) -> Events:
        """Look for free space every `POLL_S` until the error is over (`SstFileManagerImpl::ClearError`)."""
        self._polls = True
        database = self._database
        while self.severity in (Severity.SOFT, Severity.HARD):
            free = database.machine.space.free_bytes
            if self.severity is Severity.SOFT:
                if free >= self._needed_bytes:
                    self._clear()
                    break
            elif not self._recovering and free >= database.first_options[1].write_buffer_size:
                self._recovering = True
                database.start_jobs_again()
                self.memory_freed()
            yield database.env.timeout(POLL_S)
        self._polls = False

    def _clear(self) -> None:
        self.severity, self._recovering = Severity.NONE, False
        for record in self.records:
            if record.end_s is None:
                record.end_s = self._database.env.now
